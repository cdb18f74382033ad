"""What a Python script installs: images of Modal, and pip as it is started by ``subprocess``.

Each image is a machine of its own: its calls become the commands that Modal runs for them.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from fadoctor.model.place import Place
from fadoctor.sources.manifests.commands.install_options import is_installer
from fadoctor.sources.manifests.commands.python_helpers import Helper, filled, helper_of
from fadoctor.sources.manifests.formats.yaml_units import Unit
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.scripts.python_calls import read_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.scripts.python_calls import Argument, ArgumentValue, Found

_BARE = ("debian_slim", "micromamba")
"""Images of Modal that hold Python and nothing that is judged."""
_BASES = (*_BARE, "from_registry", "from_aws_ecr", "from_gcp_artifact_registry")
_PIP = {
    "pip_install": "pip install", "uv_pip_install": "uv pip install",
    "micromamba_install": "micromamba install",
}  # fmt: skip
_FILES = {
    "pip_install_from_requirements": "pip install -r", "poetry_install_from_file": "poetry install",
    "uv_sync": "uv sync",
}  # fmt: skip
_LISTED = ("ImageSpec", "python_packages", "add_python_packages", "pypi", "pypi_base")
"""Calls of Flyte, bentoml, Beam and Metaflow that are given a list of packages."""
_SESSION = {"<session>.install": "pip install", "<session>.conda_install": "conda install -y"}
"""Calls of nox -> the command that each runs."""
_FUNCTION = re.compile(r"[ \t]{0,12}(?:async[ \t]{1,9})?def[ \t]")
_COMMANDS = ("run_commands", "dockerfile_commands")
_SUBPROCESS = ("run", "Popen", "call", "check_call", "check_output")
_SHELL = ("system", "popen")
_WANTED = frozenset(
    (
        *_BASES,
        *_PIP,
        *_FILES,
        *_LISTED,
        *_COMMANDS,
        "env",
        "install",
        "conda_install",
        *_SUBPROCESS,
        *_SHELL,
    )
)
_STARTERS = frozenset(
    (*(f"subprocess.{name}" for name in _SUBPROCESS), *(f"os.{name}" for name in _SHELL))
)
_INDEXES = {
    "index_url": "--index-url", "extra_index_url": "--extra-index-url",
    "find_links": "--find-links",
}  # fmt: skip
_OPEN = "${value}"


def read_script_units(source: Source) -> list[Unit]:
    """Return the images of a script, and the script itself where it starts pip.

    InputError where it is no Python. Starts one process, which has limits on time and memory.
    """
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    images: dict[tuple[int, int], Unit] = {}
    chains: list[tuple[str, Unit]] = []
    itself = Unit("this file", 1)
    listed: list[Unit] = []
    sessions: dict[int, Unit] = {}
    functions = [at for at, row in enumerate(text.split("\n"), 1) if _FUNCTION.match(row)]
    found = read_calls(text, source.name, _WANTED).found
    helpers = list(_helpers(text, found))
    inside = {id(call) for call, _ in helpers}
    for words, condition in _calls_of(text, source, [helper for _, helper in helpers]):
        _run(itself, words, condition)
    for call in sorted(found, key=lambda one: (one.line, one.column, len(one.name))):
        if id(call) in inside:
            continue
        if call.name in _STARTERS:
            _start(itself, call)
        elif call.name in _SESSION:
            _in_session(sessions, functions, call)
        elif call.name.rpartition(".")[2] in _LISTED:
            listed.append(_listed(source, call))
        elif call.form == "call":
            _add_to_image(source, call, images, chains)
    units = (*images.values(), *listed, *sessions.values(), itself)
    return [unit for unit in units if unit.rows or unit.notes or unit.wishes]


def _listed(source: Source, call: Found) -> Unit:
    """Return the machine of a call that is given packages, by position or under their name."""
    unit = Unit(f"the call at line {call.line}", call.line)
    given = call.argument("packages")
    items = given.value.items if given is not None else ()
    texts = [
        (
            each.line,
            f"{each.key}=={_word(each.value)}" if isinstance(each.key, str) else _word(each.value),
        )
        for each in items
    ]
    for line, text in texts or _texts(call):
        if not text.startswith("-") and "$" not in text:
            unit.wishes.append((text, Place(source.name, line or call.line, 1)))
    python = call.argument("python", "python_version")
    if python is not None and isinstance(python.value.literal, str):
        minor = ".".join(python.value.literal.removeprefix("python").split(".")[:2])
        unit.python = Setting(f"=={minor}.*", Place(source.name, python.line, python.column))
    return unit


def _in_session(sessions: dict[int, Unit], functions: list[int], call: Found) -> None:
    """Add what nox installs to its session: a function, whose environment begins bare."""
    begin = max((line for line in functions if line < call.line), default=1)
    unit = sessions.setdefault(begin, Unit(f"the session at line {begin}", begin))
    unit.is_bare = True
    _run(unit, [(call.line, _SESSION[call.name]), *_quoted(call)], call.condition)


def _quoted(call: Found) -> Iterator[tuple[int, str]]:
    for line, text in _texts(call):
        yield line, shlex.quote(text) if "$" not in text else text


def _add_to_image(
    source: Source,
    call: Found,
    images: dict[tuple[int, int], Unit],
    chains: list[tuple[str, Unit]],
) -> None:
    """Add what one call of a chain does to its image; a variable goes on with an image before."""
    key = (call.line, call.column)
    unit = images.get(key)
    if unit is None:
        before = next((unit for name, unit in reversed(chains) if name in call.of), None)
        if before is None and not call.name.partition("(")[0].startswith("modal.Image."):
            return
        unit = images[key] = Unit(f"the image at line {call.line}", call.line)
        if before is not None:
            unit.rows, unit.variables = dict(before.rows), dict(before.variables)
            unit.notes, unit.image, unit.python = list(before.notes), before.image, before.python
            unit.is_bare = before.is_bare
    _do(source, unit, call)
    chains.append((call.name, unit))


def _do(source: Source, unit: Unit, call: Found) -> None:
    last = call.name.rpartition(".")[2]
    if last in _BASES:
        _begin(source, unit, call, last)
    elif last == "env":
        given = call.argument(0, "vars")
        for item in given.value.items if given is not None else ():
            known = item.value.kind == "literal"
            unit.variables[str(item.key)] = str(item.value.literal) if known else None
    elif last in _COMMANDS:
        for line, text in _texts(call):
            _run(unit, [(line, text.removeprefix("RUN "))], call.condition)
    else:
        _run(unit, list(_installing(call, last)), call.condition)


def _begin(source: Source, unit: Unit, call: Found, last: str) -> None:
    """Note the image that is built on, and its Python."""
    unit.is_bare = last in _BARE
    named = call.argument(0, "tag")
    if not unit.is_bare and named is not None:
        place = Place(source.name, named.line, named.column)
        unit.image = Setting(_word(named.value), place)
    python = call.argument("python_version", "add_python", *([0] if unit.is_bare else []))
    if python is not None and python.value.kind == "literal" and python.value.literal:
        place = Place(source.name, python.line, python.column)
        unit.python = Setting(f"=={python.value.literal}.*", place)


def _installing(call: Found, last: str) -> Iterator[tuple[int, str]]:
    """Yield the words of the command that a call comes to, each with its line."""
    texts = list(_quoted(call))
    yield (texts[0][0] if texts else call.line), _PIP.get(last) or _FILES[last]
    yield from texts
    for key, option in _INDEXES.items():
        given = call.argument(key)
        if given is not None and given.value.literal is not None:
            yield given.line, f"{option} {shlex.quote(str(given.value.literal))}"
    channels = call.argument("channels")
    for each in channels.value.items if channels is not None else ():
        yield each.line, f"-c {shlex.quote(_word(each.value))}"
    more = call.argument("extra_options")
    if more is not None:
        yield more.line, _word(more.value)
    if call.open:
        yield call.line, _OPEN


def _texts(call: Found) -> Iterator[tuple[int, str]]:
    """Yield the texts of a call that are given by position, those of lists among them."""
    for given in call.arguments:
        if not isinstance(given.key, int):
            continue
        items: Iterable[Argument] = given.value.items or (given,)
        for item in items:
            yield item.line or given.line, _word(item.value)


def _word(value: ArgumentValue) -> str:
    if value.name == "sys.executable":
        return "python"
    return str(value.literal) if value.kind == "literal" else value.text or _OPEN


def _start(unit: Unit, call: Found) -> None:
    """Note a command that the script starts itself, where it installs something."""
    rows = _started(call)
    if is_installer(" ".join(text for _, text in rows)):
        _run(unit, rows, call.condition)


def _started(call: Found) -> list[tuple[int, str]]:
    """Return the words of the command that a call starts, each with its line."""
    given = call.argument(0, "args")
    if given is None:
        return []
    words = [(each.line or given.line, _word(each.value)) for each in given.value.items]
    quoted = [(line, word if "$" in word else shlex.quote(word)) for line, word in words]
    return quoted or [(given.line, _word(given.value))]


def _helpers(text: str, found: Iterable[Found]) -> Iterator[tuple[Found, Helper]]:
    """Yield the commands that install what their function is given, with that function."""
    for call in found:
        rows = _started(call) if call.name in _STARTERS else []
        if any(_OPEN in word for _, word in rows) and re.search(r"\bpip\b", str(rows)):
            helper = helper_of(text, call, rows)
            if helper is not None:
                yield call, helper


def _calls_of(
    text: str, source: Source, helpers: list[Helper]
) -> Iterator[tuple[list[tuple[int, str]], str]]:
    """Yield the commands that calls of helpers come to, and the condition of each."""
    if not helpers:
        return
    by_name = {helper.name: helper for helper in helpers}
    calls = read_calls(text, source.name, frozenset(by_name)).found
    for call in sorted(calls, key=lambda one: (one.line, one.column)):
        helper = by_name.get(call.name.strip("<>"))
        if helper is None or call.form != "call":
            continue
        words = filled(helper, call, _texts)
        if words is None:
            words = [(call.line, word) for _, word in helper.words]
        if is_installer(" ".join(word for _, word in words)):
            yield words, call.condition or helper.condition


def _run(unit: Unit, words: list[tuple[int, str]], condition: str) -> None:
    """Note a command over its lines; one that may not run as a note."""
    if condition:
        unit.notes.append((words[0][0], " ".join(text for _, text in words)))
        return
    rows: dict[int, list[str]] = {}
    line = 0
    for at, text in words:
        line = max(line, at)
        rows.setdefault(line, []).append(text)
    last = next(reversed(unit.rows), 0)
    if any(at in unit.rows for at in rows if at != last):  # the order counts more than the line
        rows = {last: [text for _, text in words]}
        line = last
    for at, texts in rows.items():
        row = " ".join(texts) + ("" if at == line else " \\")
        before = unit.rows.get(at, "")
        unit.rows[at] = f"{before}; {row}" if before else row
