"""What a log shows of the machine: a toolkit, the driver's library, a Python, an image, an ABI."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.judging.explain.fixes.situations import LINE, LINES
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.either import Either
from fadoctor.syntax.likely_lines import likely, likely_numbers
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# /usr/local/cuda-12.4 | C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4
_VERSIONED = compiled(
    r"(?<![\w/.:-])(?P<folder>/(?:usr/local|opt)/cuda-(?P<posix>\d{1,2}\.\d))(?![\w.-])"
    r"|(?P<drive>[A-Za-z]:\\[\w \\().-]{0,60}CUDA\\v(?P<windows>\d{1,2}\.\d))(?![\w.])"
)
# $ ls /usr/local: bin cuda-12.1 lib
_LISTED = compiled(r"(?<![\w/.-])cuda-(?P<version>\d{1,2}\.\d)(?![\w.-])")
_LIST_OF_USR_LOCAL = compiled(r"\bls(?: -\w{1,6})? /usr/local\b(?!/)")
# /usr/local/cuda-12.1/bin/nvcc, alone in its line: what `which nvcc` prints
_NVCC = compiled(r"^\s{0,8}(?P<folder>(?:/[\w.+-]{1,60}){1,8})/bin/nvcc\s{0,4}$")
_SYSTEM = frozenset({"/usr", "", "/usr/local"})
_GONE = compiled(
    r"(?i)no such file|not found|cannot find|can.?t find|does(?: not|n.t) exist|remov|delete|deleti"
    r"|uninstall|non-existent|\bmissing\b"
)
#         libcuda.so.1 (libc6,x86-64) => /lib64/libcuda.so.1 | Possible files are located at ['/x']
_LIBCUDA = compiled(
    r"(?:libcuda\.so\.1 \(libc6,(?:x86-64|AArch64)[^)\n]{0,40}\) => |located at \['|^\s{0,4})"
    r"(?P<file>(?:/[\w.+-]{1,60}){1,8}/libcuda\.so\.1)(?![\w.])"
)
_OTHER_LIBCUDA = compiled(r"/compat/|/stubs/|i386|/lib32/")
# (venv) $ which python, and its answer in the next line | Python executable: C:\\a\\python.exe
_WHICH = compiled(r"\bwhich python3?\s{0,4}$")
_POSIX_PYTHON = compiled(
    r"^\s{0,4}(?P<python>(?:/[\w.+-]{1,60}){1,9}/bin/python[\d.]{0,5})\s{0,4}$"
)
_EXECUTABLE = compiled(
    r"(?i:python executable|sys\.executable)\W{1,6}"
    r"(?P<python>(?:/[\w.+-]{1,60}){1,9}/bin/python[\d.]{0,5}|[A-Za-z]:\\[^\n\"'<>|:]{1,200}?\\python\.exe)"
)
# FROM nvidia/cuda:12.1.1-cudnn8-runtime-ubuntu22.04 | pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime
_IMAGE = compiled(
    r"(?<![\w./-])(?P<cuda>nvidia/cuda:\d{1,2}\.\d\.\d(?:-cudnn\d?)?)-(?:runtime|base)"
    r"(?P<system>-[a-z]{2,12}\d[\d.]{0,5})"
    r"|(?<![\w./-])(?P<torch>pytorch/pytorch:\d\.\d{1,2}\.\d-cuda\d{1,2}\.\d-cudnn\d)-runtime(?![\w-])"
)

# uname -m: aarch64 | on a GH200 | DGX Spark | vllm 0.3.2 on arm
_ARM = Either(
    r"(?i)\baarch64\b(?![\w.-]{0,40}\.whl)|(?<!\w)g[bh]\d{2,3}\b|\bdgx spark\b|\bjetson\b"
    r"|\b(?:on|under) (?:an? )?arm(?:64)?\b(?!-)"
)
# undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs: the extension has the old ABI, torch not
_LACKED = compiled(r"undefined symbol: (?P<symbol>_ZNK?\d{0,2}\w{0,12}(?:c10|at|torch)\d\w{2,200})")
_OLD_STRING = compiled(r"(?:[EKR]|\d_)Ss(?:b|_)?$")
_NEW_STRING = "__cxx11"


def names_arm(lines: Sequence[str]) -> bool:
    """Return whether a log speaks of a machine with ARM's processor and NVIDIA's GPU."""
    return _names_arm(tuple(lines))


@lru_cache(maxsize=1)
def _names_arm(lines: tuple[str, ...]) -> bool:
    return _ARM.stands_in(lines)


def shown_abi(lines: Sequence[str]) -> bool | None:
    """Return whether torch has the new C++ ABI, as a symbol shows that it lacks; None without."""
    symbols = {symbol for line in likely(lines, _LACKED) for symbol in _LACKED.findall(line)}
    asks_new = any(_NEW_STRING in symbol for symbol in symbols)
    asks_old = any(map(_OLD_STRING.search, symbols))
    return asks_old if asks_new != asks_old else None


def shown_places(lines: Sequence[str], cuda: str) -> dict[str, Fact]:
    """Return the toolkit, libcuda, Python and image with nvcc that a log shows or implies.

    `cuda`: that of torch, "" where it is not known.
    """
    texts = [line[:LINE] for line in ends_of(lines, LINES)]
    return {
        "log.toolkit": _fact(_toolkit(texts, cuda), "toolkit that fits torch"),
        "log.libcuda": _fact(_only(_libcudas(texts)), "one libcuda.so.1"),
        "log.python": _fact(_only(_pythons(texts)), "one Python that runs"),
        "log.devel_image": _fact(_only(_images(texts)), "one image without nvcc"),
    }


def _fact(found: str, what: str) -> Fact:
    return Known(found, "the log") if found else Absent(f"the log shows no {what}")


def _only(found: Iterable[str]) -> str:
    """Return what is found where it is one, "" otherwise."""
    different = tuple(dict.fromkeys(found))
    return different[0] if len(different) == 1 else ""


def _toolkit(lines: Sequence[str], cuda: str) -> str:
    """Return the folder of the one toolkit of torch's CUDA; without a torch, of the only one."""
    shown: dict[str, str] = {}
    gone: set[str] = set()
    for line in likely(lines, _VERSIONED, _LIST_OF_USR_LOCAL, _NVCC):
        if not (found := dict(_toolkits(line))):
            continue
        if _GONE.search(line):
            gone |= found.keys()
        shown |= found
    there = {folder: version for folder, version in shown.items() if folder not in gone}
    if not cuda:
        return _only(there)
    same = [folder for folder, version in there.items() if version == cuda]
    near = [folder for folder, version in there.items() if _major(version) == _major(cuda)]
    return _only(same) or _only(near)


def _major(version: str) -> str:
    return (version_part(version, "major") or "") if version else ""


def _toolkits(line: str) -> Iterable[tuple[str, str]]:
    """Yield the folders of toolkits in a line, and the version in their names, "" without one."""
    for found in _VERSIONED.finditer(line):
        yield (found["folder"] or found["drive"], found["posix"] or found["windows"])
    if _LIST_OF_USR_LOCAL.search(line):
        for found in _LISTED.finditer(line):
            yield (f"/usr/local/cuda-{found['version']}", found["version"])
    nvcc = _NVCC.search(line)
    if nvcc and nvcc["folder"] not in _SYSTEM and not _VERSIONED.search(line):
        yield (nvcc["folder"], "")


def _libcudas(lines: Sequence[str]) -> Iterable[str]:
    for line in likely(lines, _LIBCUDA):
        for found in _LIBCUDA.finditer(line):
            if not _OTHER_LIBCUDA.search(found["file"]):
                yield found["file"]


def _pythons(lines: Sequence[str]) -> Iterable[str]:
    asked = {number + 1 for number in likely_numbers(lines, _WHICH)}
    for number in sorted(asked.union(likely_numbers(lines, _EXECUTABLE)) - {len(lines)}):
        before, line = lines[number - 1] if number else "", lines[number]
        told = _EXECUTABLE.search(line) or (_WHICH.search(before) and _POSIX_PYTHON.search(line))
        if told:
            path = told["python"]
            yield f'"{path}"' if " " in path else path


def _images(lines: Sequence[str]) -> Iterable[str]:
    for line in likely(lines, _IMAGE):
        for found in _IMAGE.finditer(line):
            yield f"{found['torch'] or found['cuda']}-devel{found['system'] or ''}"
