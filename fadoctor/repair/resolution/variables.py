"""Releases that a variable holds: ``torch==${TORCH_VERSION}`` changes where that is given a value.

Where more than one place uses a variable, the release is written in its place instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.repair.resolution.requirement_line import command_with_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.model.place import Place

# ${TORCH_VERSION}, $TORCH_VERSION, ${TORCH_VERSION:-2.6.0}
_USE = r"\$(?:\{(?P<{0}>\w{{1,60}})(?::?-[^}}\n]{{0,60}})?\}|(?P<{0}_>\w{{1,60}}))"


def _use(name: str) -> str:
    return _USE.replace("{0}", name).replace("{{", "{").replace("}}", "}")


# ==${TORCH_VERSION}+${CUDA}, ==${TORCH_VERSION}+cu121
_ASKED = re.compile(
    rf"(?:\[[^\]\n]{{0,80}}\])?\s?==\s?(?P<value>{_use('version')}"
    rf"(?P<label>\+(?:{_use('build')}|[\w.]{{1,20}}))?)(?![\w.$+-])"
)
# --index-url https://download.pytorch.org/whl/${CUDA}, -i $TORCH_INDEX
_INDEX = re.compile(
    r"(?:--extra-index-url|--index-url|-i)[ =]\s{0,9}[\"']?"
    rf"(?P<before>https?://[\w./-]{{1,200}}/)?{_use('index')}/?(?=[\s\"']|$)"
)
_WHEELS = "/whl/"
_URL = "://"


class _Given(NamedTuple):
    """Where a variable gets a value."""

    name: str
    line: int
    """From 0."""
    start: int
    end: int
    value: str


def take_variable(
    lines: list[str],
    at: tuple[Place, int],
    change: tuple[str, str, str],
    moved: Callable[[Place, int], None],
) -> bool:
    """Ask for another release in a command that takes it from a variable; say whether it does.

    With the index, where another variable of the command names that. `at`: where it is asked for,
    and in which column that is now; `moved` hears how much longer its line becomes.
    """
    (place, column), (name, wanted, index) = at, change
    exact = wanted.partition("==")[2]
    line = lines[place.line - 1]
    start = column - 1 + (line[column - 1 : column] in {'"', "'"})
    word = re.compile("[-_.]+".join(map(re.escape, name.split("-"))), re.IGNORECASE)
    named = word.match(line, start)
    asked = _ASKED.match(line, named.end()) if named else None
    if asked is None or not exact:
        return False
    public, _, label = exact.partition("+")
    given, held = (_given(lines, asked[key] or asked[f"{key}_"]) for key in ("version", "build"))
    is_labelled = asked["label"] is not None or not index or (given and "+" in given.value)
    new = public if asked["label"] is not None or not is_labelled else exact
    is_used_here = given is not None and _uses(lines, given.name) == 1
    text = asked["value"].partition("+")[0] if is_used_here else new
    if given is not None and is_used_here:
        _set(lines, given, new)
    if asked["label"] is not None and label:
        text += asked["label"] if held else f"+{label}"
        if held is not None:
            _set(lines, held, label)
    here = lines[place.line - 1]
    before = len(here)
    here = here[: asked.start("value")] + text + here[asked.end("value") :]
    moved(place, len(here) - before)
    routed = command_on_index(lines, place.line - 1, (here, column), index) if index else None
    lines[place.line - 1] = routed or here
    moved(msgspec.structs.replace(place, column=0), len(routed or here) - len(here))
    return True


def command_on_index(lines: list[str], at: int, written: tuple[str, int], index: str) -> str | None:
    """Return a line whose command names an index: by its variable, or beside what it names.

    `written`: the line as it would be, and the column of what is asked for.
    """
    line, column = written
    return line if _indexed(lines, at, index) else command_with_index(line, column, index)


def _key(found: re.Match[str], name: str) -> str:
    return name if found[name] else f"{name}_"


def _given(lines: list[str], name: str | None) -> _Given | None:
    """Return where a variable gets its value; None where that is nowhere, or in several places."""
    if not name:
        return None
    sets = re.compile(
        rf"^\s{{0,20}}(?:(?:ARG|ENV|export)\s{{1,9}})?(?:[\w]{{1,60}}=\S{{1,200}}\s{{1,9}}){{0,9}}"
        rf"{re.escape(name)}(?:=|(?<=\bENV {re.escape(name)})\s)[\"']?"
        r"(?P<value>[^\s\"'$\\]{1,300})"
    )
    found = [
        _Given(name, number, each.start("value"), each.end("value"), each["value"])
        for number, line in enumerate(lines)
        if (each := sets.match(line))
    ]
    return found[0] if len(found) == 1 else None


def _uses(lines: list[str], name: str) -> int:
    use = re.compile(rf"\$(?:\{{{re.escape(name)}\b|{re.escape(name)}\b)")
    return sum(len(use.findall(line)) for line in lines)


def _set(lines: list[str], given: _Given, value: str) -> None:
    line = lines[given.line]
    lines[given.line] = line[: given.start] + value + line[given.end :]


def _indexed(lines: list[str], at: int, index: str) -> bool:
    """Let the variable of a command's index name another one; say whether it has such."""
    url, label = index.rstrip("/"), index.rstrip("/").rpartition("/")[2]
    for number in _of_command(lines, at):
        found = _INDEX.search(lines[number])
        if found is None:
            continue
        given = _given(lines, found[_key(found, "index")])
        is_whole = found["before"] is None
        if given is None or is_whole is not (_URL in given.value):
            continue
        _set(lines, given, url if is_whole else label)
        return True
    return False


def _of_command(lines: list[str], at: int) -> Iterator[int]:
    """Yield the lines of the instruction that a line belongs to."""
    first = at
    while first and lines[first - 1].rstrip().endswith("\\"):
        first -= 1
    for number in range(first, len(lines)):
        yield number
        if not lines[number].rstrip().endswith("\\"):
            return
