"""How pip is started beside the program of a log: as it was typed there, or by paths in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.judging.explain.fixes.shells import is_powershell
from fadoctor.model.fact import Known
from fadoctor.syntax.likely_lines import likely, matches, stands
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

# Folders have names of any script, and none of the characters that a shell acts on.
_FOLDERS = r"(?:[\w .()+!,@#~=\u00a1-\u1fff\u2e80-\uffdc-]{1,60}[\\/]{1,2})"
# D:\\a\\venv\\Lib\\site-packages\\torch\\__init__.py | "E:/app/runtime/lib/site-packages/torch"
_IN_LIB = (
    r"(?<![\w/.-])(?P<root>[A-Za-z]:[\\/]{1,2}" + _FOLDERS + r"{0,9}[\w.+-]{1,40})"
    r"[\\/]{1,2}[Ll]ib[\\/]{1,2}"
)
_SITE = compiled(_IN_LIB + r"site-packages[\\/]")
# F:\\app\\env\\lib\\threading.py: a Python that has its own standard library is no venv
_LIBRARY = compiled(
    _IN_LIB + r"(?:threading|runpy|subprocess|contextlib|asyncio|concurrent"
    r"|multiprocessing|importlib|queue|socket|ssl)\b(?=\.py|[\\/])"
)
# A line that begins with it started the program; one that goes on with -m pip may be another one.
# Python executable:  G:\\app\\pylibs\\python.exe | venv "C:\\webui\\venv\\Scripts\\Python.exe"
_TOLD = compiled(
    r"(?:(?i:executable)\W{1,6}|^\W{0,2}venv \"|(?i:python) ?:? {1,4}\"?|^ {0,4}\"?)"
    r"(?P<python>[A-Za-z]:[\\/]{1,2}" + _FOLDERS + r"{1,9}[Pp]ython3?\.exe)"
    r"(?!\"? -m (?:pip|venv|uv)\b)"
)
# ... with D:\\ui\\venv\\Scripts\\python.exe, torch 2.7: the Python of an environment, anywhere
# C:\\pinokio\\api\\x.git\\app\\env\\Scripts\\activate: beside it is the Python
_ENVIRONMENT = compiled(
    r"(?<![\w\\/.-])(?P<folder>[A-Za-z]:[\\/]{1,2}" + _FOLDERS + r"{0,9}\.?v?env[\w.-]{0,20}"
    r"[\\/]{1,2}(?i:scripts)[\\/]{1,2})(?:(?P<file>[Pp]ython3?\.exe)(?!\"? -m (?:pip|venv|uv)\b)"
    r"|[Aa]ctivate(?:\.(?:bat|ps1))?(?=[\s\"'`;&]|$))"
)
# PS C:\\AI\\Wan2GP> .\\env_uv\\Scripts\\activate.bat: below the folder of the prompt
_ACTIVATED = compiled(
    r"^\s{0,8}(?:PS )?(?P<at>[A-Za-z]:[\\/]{1,2}" + _FOLDERS + r"{0,9}[^\\/\n<>|\"?*]{0,60})> ?"
    r"(?:call |& )?\"?(?:\.[\\/])?(?P<env>(?:[\w.-]{1,40}[\\/]{1,2}){1,3}(?i:scripts)[\\/]{1,2})"
    r"(?i:activate)(?:\.(?:bat|ps1))?(?=[\s\"'`;&]|$)"
)
# /home/ada/.local/share/pipx/venvs/scribe/lib/python3.10/site-packages
_PIPX = compiled(r"[\\/]pipx[\\/]{1,2}venvs[\\/]{1,2}(?P<program>[\w.-]{1,60})[\\/]")
# a folder that Windows does not hide by its dot was made by a tool of Unix: .venv, .scribe
_VENV = compiled(r"(?i)^\.?v?envs?[\w.-]{0,20}$|(?:[_.-]|^)v?env$|^\.[a-z][\w-]{1,30}$")
_BUNDLED = compiled(r"(?i)^python[\w.-]{0,20}$|runtime|embed|^py\d|pylibs")
# python_env: a venv of some programs, an embedded Python of others
_EITHER = compiled(r"(?i)^python[_-]?env$")
_CONDA = compiled(r"(?i)conda|[\\/]envs[\\/]|mamba|installer_files")
_INSTALLER = compiled(r"(?i)installer_files|pinokio")
"""Folders of programs whose environment is opened in another way."""
_ROAMING = compiled(r"(?i)[\\/]roaming[\\/]|windowsapps")
_PLAIN = compiled(r"[\w:.\\/-]{1,300}")
# "/home/ada/ComfyUI/venv/lib/python3.12/site-packages/torch/__init__.py". uv's .venv has no pip,
# and images (/opt, /app, /usr) have theirs on the PATH.
_UNIX = compiled(
    r"(?<![\w/.-])(?P<root>(?!/(?:app|usr|venv)/|/opt/(?:[\w.-]{1,60}/){1,2}lib/)(?:/[\w.()+@-]{1,60}){2,12})"
    r"/lib/python3\.\d{1,2}/site-packages/"
)
_UNIX_VENV = compiled(r"^(?:v?env|venv[\w-]{0,20}|[\w-]{0,20}[_-]venv)$")
_OF_VENVS = compiled(r"/\.?(?:virtual|v)envs/[\w.-]{1,60}$")
# "/home/ada/tune/lib/python3.11/site-packages/torch/__init__.py": an environment of any name
_UNIX_ROOT = compiled(
    r"(?<![\w/.~-])(?P<root>(?:/[\w.()+@-]{1,60}){1,12})/lib/python3\.\d{1,2}/site-packages/"
)
# What the system, an image, a cluster or a tool keeps for itself: pip is started otherwise there
_OF_OTHERS = compiled(
    r"^/(?:usr|opt|app|apps|venv|tmp|var|run|snap|nix|gnu|sw|software|cvmfs|cm|path|build|private"
    r"|Library|Applications|System)(?:/|$)"
    r"|/(?:\.local|\.cache|\.pixi|\.nix[\w-]{0,20}|\.pyenv|Cellar|overlay|conda-bld|pinokio"
    r"|installer_files|[\w.-]{1,40}\.(?:framework|app|runfiles))(?:/|$)"
)
# /home/ada/miniconda3: conda's first environment is active where conda is
_UNIX_CONDA_ENV = compiled(
    r"(?P<above>/[\w./()+@-]{0,200}(?i:conda|mamba|forge)[\w./()+@-]{0,80})/envs/(?P<name>[\w.+-]{1,60})$"
)
_UNIX_CONDA = compiled(
    r"(?i)/\.?(?:(?:mini|ana|micro)?conda|mambaforge|miniforge|mamba|micromamba)\d?$"
)
_PROMPT = compiled(r"^\s{0,8}\((?P<name>[\w. -]{1,40})\) ?(?:\S{1,80} ?)?[$#%>]")
# .../site-packages/pdm/installers/manager.py: the Python of a tool is not the project's
_OF_A_TOOL = compiled(r"[\\/]site-packages[\\/]{1,2}(?:pdm|poetry|hatch|pipenv|uv)[\\/]")
# venv ./venv/bin/python: what a start script prints of the Python that it takes
_TOLD_OF_SCRIPT = compiled(r"^\W{0,2}venv (?P<python>(?:\./|/)?[\w./@+-]{0,120}/bin/python3?)\s*$")
# (venv) ada@box:~$ | (py312) $: the environment is active where commands are typed
_ACTIVE = compiled(r"^\s{0,8}\([\w. -]{1,40}\) ?(?:\S{1,80} ?)?[$#%>] ?")

# poetry run pip install x
# $ uv pip install torch | E:\ui\python_embeded\python.exe -m pip install x | pip3 install y
_TYPED = compiled(
    r"(?<![^\s>$#`(])(?P<how>"
    r"(?:\"[A-Za-z]:\\[^\"\n]{3,120}python(?:\.exe)?\"|[\w.\\/:~+-]{0,120}(?:python[\d.]{0,4}(?:\.exe)?|py))"
    r" (?:-[\w.]{1,6} ){0,3}-m pip|uv pip|(?:poetry|pipenv|pdm|hatch) run (?:python3? -m )?pip"
    r"|pip[\d.]{0,4}) (?:un)?install (?P<rest>[^\n]{0,200})"
)
# $ uv pip list: what lists packages by uv installs them by it
_LISTED_BY_UV = compiled(r"(?<![^\s>$#`(])uv pip (?:list|freeze|show|tree|check)\b")
# Using Python 3.12.10 environment at: _env_trellis2 | Using CPython 3.11 environment at /opt/venv
_OF_UV = compiled(
    r"Using C?Python 3\.\d{1,2}(?:\.\w{1,6})? environment at:? "
    r"(?P<folder>[^\n|\"'`]{1,160}?)\s{0,4}$"
)
# uv's environments have no pip of their own
_RUNS_UV = compiled(r"\buv (?:pip|add|sync|run|venv|lock)\b|Using Python [\d.]{3,9} environment at")
_FOLDER = compiled(r"[\w .()+@~:/\\-]{1,160}")
_MODULE, _EXE = " -m pip", "\\python.exe"
_SLASHES = "\\/"
_OWN_OF_UV, _OF_SYSTEM = ".venv", frozenset({"/usr", "/usr/local"})
# [notice] To update, run: python.exe -m pip install --upgrade pip
_OF_PIP_ITSELF = compiled(r"--upgrade pip\b|-U pip\b")


def pip_by_path(lines: Sequence[str]) -> str:
    """Return how pip is started beside the program of a log, "" where its paths do not say."""
    python = own_python(lines)
    if python.startswith('"') and is_powershell(lines):
        python = f"& {python}"
    return own_pip(lines) or (f"{python}{_MODULE}" if python else "")


def whole_pip(pip: str, lines: Sequence[str]) -> str:
    """Return a start of pip by a folder of the program with the whole path that a log shows."""
    below = pip.removesuffix(_MODULE).casefold()
    if not below.endswith(_EXE) or not below[:1].isalpha() or ":" in below:
        return pip
    path = own_python(lines).strip('"').casefold()
    return pip_by_path(lines) if path.endswith(f"\\{below}") else pip


def own_pip(lines: Sequence[str]) -> str:
    """Return how pip of a program is started that pipx installed, "" where a log shows none."""
    programs = {own["program"] for own in matches(_PIPX, lines)}
    return f"pipx runpip {programs.pop()}" if len(programs) == 1 else ""


def typed_pip(lines: Sequence[str]) -> str:
    """Return how a log's commands start pip, "" where they start it as `pip` or in several ways."""
    found = {each["how"] for each in _typed(lines)}
    if not found and stands(_LISTED_BY_UV, lines):
        return "uv pip"
    return "" if len(found) != 1 or found == {"pip"} else found.pop()


def uv_options(lines: Sequence[str]) -> str | None:
    """Return how uv is told the environment that it used, "" where it finds it; None without."""
    folder = _folder_of_uv(lines)
    if not folder:
        return None
    if folder in _OF_SYSTEM:
        return "--system"
    written = f'"{folder}"' if " " in folder else folder
    return "" if folder == _OWN_OF_UV else f"--python {written}"


def uv_python(lines: Sequence[str], system: object) -> str:
    """Return how the Python of the environment is started that uv used, "" where it is not shown.

    `system`: the fact that names the operating system.
    """
    folder = _folder_of_uv(lines)
    if not folder or folder in _OF_SYSTEM:
        return ""
    on_windows = "\\" in folder or (isinstance(system, Known) and system.value == "windows")
    path = (
        rf"{folder.rstrip(_SLASHES)}\Scripts\python.exe" if on_windows else f"{folder}/bin/python"
    )
    return path if _PLAIN.fullmatch(path) else f'"{path}"'


def _folder_of_uv(lines: Sequence[str]) -> str:
    """Return the one environment that uv used, "" where it is not shown or cannot be written."""
    found = {each["folder"] for each in matches(_OF_UV, lines)}
    folder = found.pop() if len(found) == 1 else ""
    return folder if _FOLDER.fullmatch(folder) else ""


def is_of_uv(lines: Iterable[str]) -> bool:
    """Return whether a log or its commands show uv, whatever environment it used."""
    return stands(_RUNS_UV, lines)


def is_of_system(lines: Sequence[str]) -> bool:
    """Return whether uv installs into the system's Python in each command of a log."""
    typed = list(_typed(lines))
    return bool(typed) and all("--system" in each["rest"].split() for each in typed)


def _typed(lines: Sequence[str]) -> Iterator[re.Match[str]]:
    return (each for each in matches(_TYPED, lines) if not _OF_PIP_ITSELF.search(each["rest"]))


def own_python(lines: Sequence[str]) -> str:
    """Return how the Python of a log is started, "" where it shows none, several or conda's."""
    if stands(_OF_A_TOOL, lines):
        return ""
    whole = {_written(own["root"]).casefold() for own in matches(_LIBRARY, lines)}
    shown = (*_pythons(lines, whole), _python_of_unix(lines))
    found = {path.casefold(): path for path in shown if path}
    if len(found) != 1:
        return ""
    path = next(iter(found.values()))
    return path if _PLAIN.fullmatch(path) else f'"{path}"'


def own_conda(lines: Sequence[str]) -> str:
    """Return how conda's environment of a log is activated, "" where none is shown.

    Its Python is not started by its path: conda's DLLs are found only where it is active.
    """
    if name := _conda_of_unix(lines):
        return name
    found: dict[str, str] = {}
    for site in matches(_SITE, lines):
        root = _written(site["root"])
        if not _CONDA.search(root) or _INSTALLER.search(root):
            return ""
        found[root.casefold()] = root
    root = found.popitem()[1] if len(found) == 1 else ""
    above, _, name = root.rpartition("\\")
    if above.casefold().endswith("\\envs"):
        return f"conda activate {name}"
    return f'conda activate "{root}"' if root else ""


def own_folder(lines: Sequence[str]) -> str:
    """Return where the Python of a log is whose start its folder leaves open, "" for none."""
    unix, windows = _roots_of_unix(lines), _roots_of_windows(lines)
    if len(unix) + len(windows) != 1:
        return ""
    if windows:
        root = windows.pop()
        if _CONDA.search(root) or _ROAMING.search(root) or _INSTALLER.search(root):
            return ""
        return (
            f"Use the Python in {root}: in a venv it is Scripts\\python.exe, otherwise python.exe, "
            "each with -m pip."
        )
    root = unix.pop()
    if _is_active(lines) or not root.endswith(f"/{_OWN_OF_UV}"):
        return ""
    return (
        f"Use the Python in {root}: {root}/bin/python -m pip, or with uv, uv pip install "
        f"--python {root}."
    )


def _roots_of_windows(lines: Sequence[str]) -> set[str]:
    return {_written(site["root"]) for site in matches(_SITE, lines)}


def _roots_of_unix(lines: Sequence[str]) -> set[str]:
    """Return the folders of environments that paths name, without those of systems and tools."""
    roots = {each["root"] for each in matches(_UNIX_ROOT, lines)}
    return {root for root in roots if not _OF_OTHERS.search(root)}


def _conda_of_unix(lines: Sequence[str]) -> str:
    """Return how conda's environment is activated that paths of Unix name, "" for none."""
    roots = _roots_of_unix(lines)
    own = _UNIX_CONDA_ENV.search(roots.pop()) if len(roots) == 1 else None
    if own is None or any(
        prompt["name"] == own["name"]
        for prompt in map(_PROMPT.match, likely(lines, _PROMPT))
        if prompt
    ):
        return ""
    return f"{'micromamba' if 'micromamba' in own['above'] else 'conda'} activate {own['name']}"


def _python_of_unix(lines: Sequence[str]) -> str:
    """Return the Python of the one environment that paths of Unix name, whatever its name is.

    "" for conda's, which are activated, and for one that uv makes without pip.
    """
    roots = _roots_of_unix(lines)
    root = roots.pop() if len(roots) == 1 else ""
    if not root or root.endswith(f"/{_OWN_OF_UV}") or _is_active(lines):
        return ""
    if _UNIX_CONDA_ENV.search(root) or _UNIX_CONDA.search(root):
        return ""
    return f"{root}/bin/python"


def _pythons(lines: Sequence[str], whole: AbstractSet[str]) -> Iterator[str]:
    is_active = _is_active(lines)
    for line in likely(lines, _TOLD, _ENVIRONMENT, _ACTIVATED, _TOLD_OF_SCRIPT, _SITE, _UNIX):
        yield from _told_in(line)
        for site in _SITE.finditer(line):
            yield from _of_root(_written(site["root"]), whole)
        for site in () if is_active else _UNIX.finditer(line):
            if _UNIX_VENV.search(site["root"].rpartition("/")[2]) or _OF_VENVS.search(site["root"]):
                yield f"{site['root']}/bin/python"


def _told_in(line: str) -> Iterator[str]:
    """Yield the Pythons that a line names, or whose environments it activates."""
    for said in _TOLD.finditer(line):
        if not _CONDA.search(said["python"]) and not _ROAMING.search(said["python"]):
            yield _written(said["python"])
    for named in _ENVIRONMENT.finditer(line):
        if not _CONDA.search(named["folder"]):
            yield _written(named["folder"]) + (named["file"] or "python.exe")
    if (below := _ACTIVATED.match(line)) and not _CONDA.search(below[0]):
        yield _written(f"{below['at'].rstrip(_SLASHES)}/{below['env']}python.exe")
    if script := _TOLD_OF_SCRIPT.match(line):
        yield script["python"]


def _of_root(root: str, whole: AbstractSet[str]) -> Iterator[str]:
    """Yield the Python of a folder of site-packages: a venv's, or one that lies in it.

    `whole`: folders that hold a standard library, in small letters.
    """
    name = root.rpartition("\\")[2]
    if _CONDA.search(root) or _ROAMING.search(root):
        return
    if root.casefold() in whole:
        yield rf"{root}\python.exe"
    elif _EITHER.search(name):
        return
    elif _VENV.search(name):
        yield rf"{root}\Scripts\python.exe"
    elif _BUNDLED.search(name):
        yield rf"{root}\python.exe"


def _is_active(lines: Sequence[str]) -> bool:
    """Return whether a log shows a prompt with the name of an environment."""
    return any(map(_ACTIVE.match, likely(lines, _ACTIVE)))


def _written(path: str) -> str:
    """Return a path with single backslashes, as Windows writes it."""
    return re.sub(r"[\\/]{1,4}", r"\\", path)
