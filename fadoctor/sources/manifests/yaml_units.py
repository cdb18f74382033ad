"""What YAML installs, by machine: jobs of workflows, services, containers, tasks of a cloud.

A unit is what one machine or container runs: the mapping that holds scripts, or the one above a
list of steps. Its lists of packages count as well.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.place import Place
from fadoctor.sources.manifests.planned import Setting
from fadoctor.syntax.tree import DEPTH_LIMIT, NODE_LIMIT, Node
from fadoctor.syntax.yaml_documents import read_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.source import Source

_SCRIPTS = ("before_script", "setup", "setup_commands", "initialization_commands", "run", "script",
            "scripts", "bash", "cmd", "commands")  # fmt: skip
"""Keys whose text, or list of texts, is a script of the shell, in the order in which they run."""
_STARTS = ("entrypoint", "command", "args", "arguments")
_STEPS = frozenset(("steps", "tasks", "stages"))
_LISTS = frozenset(("requirements", "python_packages", "pip_packages", "pip"))
"""Keys of lists of requirements: Truss, cog, the runtime environment of Ray."""
_IMAGES = ("image", "image_id", "container")
_ENVIRONMENT = ("env", "environment", "envs")
_SHELLS = frozenset(("sh", "bash", "zsh", "dash"))
_EXPRESSION = re.compile(r"\$\{\{[^{}\n]{0,300}\}\}")
_BLOCK = re.compile(r"[|>][+\-0-9]{0,2}\s*(?:#.*)?$")
# 3.11, py311, python3.11
_PYTHON = re.compile(r"(?:py(?:thon)?)?(3)\.?(\d{1,2})")


class Unit:
    """One machine or container."""

    def __init__(self, name: str, line: int) -> None:
        """Begin with nothing."""
        self.name, self.line = name, line
        self.rows: dict[int, str] = {}
        """Line -> the text of scripts that stands there."""
        self.wishes: list[tuple[str, Place]] = []
        self.notes: list[tuple[int, str]] = []
        self.image: Setting | None = None
        self.python: Setting | None = None
        self.variables: dict[str, str | None] = {}
        self.is_bare = False
        """Whether it begins with a Python and nothing else that is judged."""


class _Held(msgspec.Struct, frozen=True):
    node: Node
    key: str
    owner: Unit | None
    """The unit that steps belong to."""
    variables: dict[str, str | None]
    image: Setting | None
    depth: int


def read_units(source: Source) -> list[Unit]:
    """Return the units of a file that run or list something; InputError where it is no YAML."""
    rows = source.text.split("\n")
    found: list[Unit] = []
    for document in read_documents(source):
        waiting = [_Held(document, "", None, {}, None, 0)]
        met = 0
        seen: set[int] = set()  # an alias leads to what was read before
        while waiting and met < NODE_LIMIT:
            held = waiting.pop()
            met += 1
            if id(held.node.value) in seen:
                continue
            seen.add(id(held.node.value))
            if held.node.mapping:
                unit = _of_mapping(source, held, rows)
                if unit.rows or unit.wishes:
                    found += [] if unit in found else [unit]
                held = msgspec.structs.replace(
                    held, variables=unit.variables, image=unit.image, owner=unit
                )
            waiting += reversed(list(_below(held)))
    return found


def _below(held: _Held) -> Iterator[_Held]:
    """Yield what lies in a mapping or a list; steps belong to who lists them."""
    if held.depth >= DEPTH_LIMIT:
        return
    for key, each in held.node.mapping.items():
        if isinstance(each.value, dict | tuple):
            owner = held.owner if key.lower() in _STEPS else None
            yield _Held(each, key, owner, held.variables, held.image, held.depth + 1)
    for each in held.node.items:
        if isinstance(each.value, dict | tuple):
            yield msgspec.structs.replace(held, node=each, depth=held.depth + 1)


def _of_mapping(source: Source, held: _Held, rows: list[str]) -> Unit:
    """Return the unit of a mapping, with what it adds to it."""
    unit = held.owner if held.owner is not None and held.key.lower() in _STEPS else None
    by_key = {key.lower(): node for key, node in held.node.mapping.items()}
    if unit is None:
        unit = Unit(_name(held, by_key), held.node.line)
        unit.image = held.image
    unit.variables = {**held.variables, **unit.variables, **_variables(by_key)}
    for key in _IMAGES:
        node = by_key.get(key)
        inner = node.get("image") if node is not None and node.mapping else node
        if inner is not None and isinstance(inner.scalar, str):
            place = Place(source.name, inner.line, inner.column)
            unit.image = Setting(inner.scalar.removeprefix("docker:"), place)
    _lists(source, unit, by_key)
    scripts = list(_scripts(by_key))
    is_maybe = "if" in by_key or "when" in by_key
    for node in scripts:
        line = node.line + bool(_BLOCK.search(_row(rows, node.line)))
        text = _EXPRESSION.sub("${EXPRESSION}", str(node.scalar))
        if is_maybe:
            unit.notes.append((line, text))
            continue
        for at, row in enumerate(text.split("\n")):
            before = unit.rows.get(line + at, "")
            unit.rows[line + at] = f"{before}; {row}" if before.strip() else row
    return unit


def _row(rows: list[str], line: int) -> str:
    return rows[line - 1] if 0 < line <= len(rows) else ""


def _name(held: _Held, by_key: dict[str, Node]) -> str:
    named = by_key.get("name")
    said = named.scalar if named is not None and isinstance(named.scalar, str) else ""
    return (said or held.key or "this file")[:60]


def _variables(by_key: dict[str, Node]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for key in _ENVIRONMENT:
        node = by_key.get(key)
        for name, value in node.mapping.items() if node is not None else ():
            text = value.scalar
            is_plain = text is not None and not isinstance(text, bool) and "${{" not in str(text)
            found[name] = str(text) if is_plain else None
    return found


def _lists(source: Source, unit: Unit, by_key: dict[str, Node]) -> None:
    """Take the packages and the Python that a mapping lists."""
    for name in sorted(_LISTS & by_key.keys()):
        listed = by_key[name].get("packages") if by_key[name].mapping else by_key[name]
        for item in listed.items if listed is not None else ():
            if isinstance(item.scalar, str):
                unit.wishes.append((item.scalar, Place(source.name, item.line, item.column)))
    python = by_key.get("python_version")
    found = _PYTHON.fullmatch(str(python.scalar)) if python is not None else None
    if python is not None and found:
        place = Place(source.name, python.line, python.column)
        unit.python = Setting(f"=={found[1]}.{found[2]}.*", place)


def _scripts(by_key: dict[str, Node]) -> Iterator[Node]:
    """Yield texts for the shell, each where it stands; a command of words as one text."""
    for key in _SCRIPTS:
        node = by_key.get(key)
        for text in (node, *node.items) if node is not None else ():
            if isinstance(text.scalar, str):
                yield text
    words: list[Node] = []
    for key in _STARTS:
        node = by_key.get(key)
        if node is not None and isinstance(node.scalar, str):
            yield node
        elif node is not None:
            words += [item for item in node.items if item.scalar is not None]
    if not words:
        return
    last = words[-1]
    is_given = str(words[0].scalar).rpartition("/")[2] in _SHELLS and len(words) > 1
    if is_given and isinstance(last.scalar, str) and any(c.isspace() for c in last.scalar):
        yield last
    else:
        joined = " ".join(shlex.quote(str(item.scalar)) for item in words)
        yield msgspec.structs.replace(words[0], value=joined)
