"""What YAML installs, by machine: jobs of workflows, services, containers, tasks of a cloud.

A unit is what one machine or container runs: the mapping that holds scripts, or the one above a
list of steps. Its lists of packages count as well.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.place import Place
from fadoctor.sources.manifests.planned import Setting
from fadoctor.syntax.yaml_documents import read_documents, read_embedded
from fadoctor.syntax.yaml_walk import descend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.source import Source
    from fadoctor.syntax.tree import Node

_SCRIPTS = ("before_script", "setup", "setup_commands", "initialization_commands", "run", "script",
            "scripts", "bash", "cmd", "commands", "oncreatecommand", "updatecontentcommand",
            "postcreatecommand", "poststartcommand", "runcmd", "user_data", "startup_script",
            "metadata_startup_script")  # fmt: skip
"""Keys whose text, or list of texts, is a script of the shell, in the order in which they run."""
_STARTS = ("entrypoint", "command", "args", "arguments")
_STEPS = frozenset(("steps", "tasks", "stages"))
_MAPPINGS = frozenset(("python", "ansible.builtin.pip"))
_LISTS = frozenset(("requirements", "python_packages", "pip_packages", "pip", *_MAPPINGS))
"""Keys of lists of requirements: Truss, cog, the runtime environment of Ray, bentoml, Ansible."""
_IMAGES = ("image", "image_id", "container")
_ENVIRONMENT = ("env", "environment", "envs")
_SHELLS = frozenset(("sh", "bash", "zsh", "dash"))
_EXPRESSION = re.compile(r"\$\{\{[^{}\n]{0,300}\}\}")
# ${{ matrix.torch }}, ${{ env.TORCH }}
_NAMED = re.compile(r"\$\{\{\s{0,9}((?:matrix|env)\.[\w-]{1,80})\s{0,9}\}\}")
_BLOCK = re.compile(r"(?:[|>][+\-0-9]{0,2}\s*(?:#.*)?|<<-?\w{1,40}\s*)$")
# 3.11, py311, python3.11
_HOSTED = re.compile(r"(?:ubuntu|windows|macos)-[\w.-]{1,40}")
"""Machines of GitHub itself, which begin anew for each job."""
_IMAGES_OF_JOBS = frozenset(("container", "image"))
_PYTHON = re.compile(r"(?:py(?:thon)?)?(3)\.?(\d{1,2})")


# ${IMAGE:-vllm/vllm-openai:v0.10.0}: what compose and shells take where nobody sets the variable
_DEFAULTED = re.compile(r"\$\{\w{1,80}:?-([^{}$\n]{0,200})\}")


class Build(msgspec.Struct, frozen=True):
    """The Dockerfile that a machine is built from, by compose or a development container."""

    file: str
    """Path relative to the file that names it."""
    place: Place
    target: str = ""
    """Name of the stage; "" for the last one."""
    arguments: dict[str, str | None] = {}
    """Build arguments that are given; None where only a run would tell."""


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
        self.build: Build | None = None
        self.python: Setting | None = None
        self.variables: dict[str, str | None] = {}
        self.has_image = False
        """Whether it names the image itself."""
        self.is_bare = False
        """Whether it begins with a Python and nothing else that is judged."""


class _Held(msgspec.Struct, frozen=True):
    """What the mappings above have said."""

    owner: Unit | None = None
    """The unit that steps below belong to."""
    variables: dict[str, str | None] = {}
    image: Setting | None = None


def read_units(source: Source) -> list[Unit]:
    """Return the units of a file that run or list something; InputError where it is no YAML."""
    rows = source.text.split("\n")
    found: list[Unit] = []

    def enter(node: Node, key: str, held: _Held) -> _Held:
        unit = _of_mapping(source, node, key, held, rows)
        return _Held(unit, unit.variables, unit.image)

    documents = list(read_documents(source))
    within = [each for document in documents for each in read_embedded(source, document)]
    for document in (*documents, *within):
        for _, held in descend(document, _Held(), enter):
            unit = held.owner
            if unit is not None and unit not in found and _says_something(unit):
                found.append(unit)
    return found


def _says_something(unit: Unit) -> bool:
    return bool(unit.rows or unit.wishes or unit.build or (unit.image and unit.has_image))


def _of_mapping(source: Source, node: Node, key: str, held: _Held, rows: list[str]) -> Unit:
    """Return the unit of a mapping, with what it adds to it; steps belong to who lists them."""
    unit = held.owner if key.lower() in _STEPS else None
    by_key = {name.lower(): each for name, each in node.mapping.items()}
    if unit is None:
        unit = Unit(_name(key, by_key), node.line)
        unit.image = held.image
    unit.variables = {**held.variables, **unit.variables, **_variables(by_key)}
    for name in _IMAGES:
        named = by_key.get(name)
        inner = named.get("image") if named is not None and named.mapping else named
        if inner is not None and isinstance(inner.scalar, str):
            place = Place(source.name, inner.line, inner.column)
            image = _DEFAULTED.sub(r"\1", inner.scalar.removeprefix("docker:"))
            unit.image, unit.has_image = Setting(image, place), True
    if (build := by_key.get("build")) is not None:
        unit.build = _build(source, build)
        if unit.build is not None:
            unit.image = None  # it names what is built
    _lists(source, unit, by_key)
    _of_workflow(source, unit, by_key)
    is_maybe = "if" in by_key or "when" in by_key
    for script in list(_scripts(by_key)):
        line = script.line + bool(_BLOCK.search(_row(rows, script.line)))
        text = _worked_out(str(script.scalar), unit.variables)
        if is_maybe:
            unit.notes.append((line, text))
            continue
        for at, row in enumerate(text.split("\n")):
            before = unit.rows.get(line + at, "")
            unit.rows[line + at] = f"{before}; {row}" if before.strip() else row
    return unit


def _build(source: Source, node: Node) -> Build | None:
    """Return the Dockerfile that ``build`` names: a folder, or a mapping with one."""
    by_key = {name.lower(): each for name, each in node.mapping.items()}
    place = Place(source.name, node.line, node.column)
    context = _text(by_key.get("context")) or _text(node) or "."
    if "://" in context or "$" in context or (node.mapping and not by_key.keys() & _OF_BUILD):
        return None
    # a development container names the Dockerfile from its own folder, compose from the context
    is_own = source.name.endswith("devcontainer.json")
    file = _text(by_key.get("dockerfile")) or "Dockerfile"
    given = by_key.get("args")
    arguments = {} if given is None else _arguments(given)
    path = posixpath.normpath(file if is_own else posixpath.join(context, file))
    return Build(path, place, _text(by_key.get("target")), arguments)


_OF_BUILD = frozenset(("context", "dockerfile", "target", "args"))


def _text(node: Node | None) -> str:
    return node.scalar if node is not None and isinstance(node.scalar, str) else ""


def _arguments(node: Node) -> dict[str, str | None]:
    """Return build arguments: a mapping, or a list of ``NAME=value``."""
    listed = (str(item.scalar).partition("=") for item in node.items if item.scalar is not None)
    found = {name: value if sign else None for name, sign, value in listed}
    for name, each in node.mapping.items():
        found[name] = None if each.scalar is None else str(each.scalar)
    filled = {name: value and _DEFAULTED.sub(r"\1", value) for name, value in found.items()}
    return {name: None if value and "$" in value else value for name, value in filled.items()}


def _worked_out(text: str, variables: dict[str, str | None]) -> str:
    """Return a script with the values of ``${{ matrix.torch }}`` and ``${{ env.TORCH }}``."""

    def value(found: re.Match[str]) -> str:
        named = _NAMED.fullmatch(found[0])
        known = variables.get(named[1].removeprefix("env.")) if named else None
        return known if known is not None else "${EXPRESSION}"

    return _EXPRESSION.sub(value, text)


def _row(rows: list[str], line: int) -> str:
    return rows[line - 1] if 0 < line <= len(rows) else ""


def _name(key: str, by_key: dict[str, Node]) -> str:
    named = by_key.get("name")
    said = named.scalar if named is not None and isinstance(named.scalar, str) else ""
    return (said or key or "this file")[:60]


def _variables(by_key: dict[str, Node]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for key in _ENVIRONMENT:
        node = by_key.get(key)
        for name, value in node.mapping.items() if node is not None else ():
            text = value.scalar
            is_plain = text is not None and not isinstance(text, bool) and "${{" not in str(text)
            found[name] = str(text) if is_plain else None
    strategy = by_key.get("strategy")
    return {**found, **(_matrix(strategy) if strategy is not None else {})}


def _matrix(strategy: Node) -> dict[str, str | None]:
    """Return the axes of a matrix that have one value: of the others each run has its own."""
    matrix = strategy.get("matrix")
    axes = dict(matrix.mapping) if matrix is not None else {}
    included = axes.pop("include", None)
    axes.pop("exclude", None)
    if included is not None and len(included.items) == 1:
        axes |= included.items[0].mapping
    values = {name: node.items or (node,) for name, node in axes.items()}
    return {
        f"matrix.{name}": str(given[0].scalar)
        for name, given in values.items()
        if len(given) == 1 and given[0].scalar is not None
    }


def _lists(source: Source, unit: Unit, by_key: dict[str, Node]) -> None:
    """Take the packages and the Python that a mapping lists."""
    for name in sorted(_LISTS & by_key.keys()):
        node = by_key[name]
        if node.mapping:  # of bentoml, of Ansible
            listed = node.get("packages") or node.get("name")
        else:
            listed = node if name not in _MAPPINGS else None
        for item in (listed, *listed.items) if listed is not None else ():
            if isinstance(item.scalar, str):
                unit.wishes.append((item.scalar, Place(source.name, item.line, item.column)))
    python = by_key.get("python_version")
    found = _PYTHON.fullmatch(str(python.scalar)) if python is not None else None
    if python is not None and found:
        place = Place(source.name, python.line, python.column)
        unit.python = Setting(f"=={found[1]}.{found[2]}.*", place)


def _of_workflow(source: Source, unit: Unit, by_key: dict[str, Node]) -> None:
    """Take what a job of GitHub says of its machine, and the Python that a step sets up."""
    runner = by_key.get("runs-on")
    if runner is not None:
        is_hosted = _HOSTED.fullmatch(str(runner.scalar)) is not None
        unit.is_bare = is_hosted and not _IMAGES_OF_JOBS & by_key.keys()
    uses, given = by_key.get("uses"), by_key.get("with")
    if uses is None or given is None or "setup-" not in str(uses.scalar):
        return
    python = given.get("python-version")
    said = _worked_out(str(python.scalar), unit.variables) if python is not None else ""
    found = _PYTHON.fullmatch(said)
    if python is not None and found:
        place = Place(source.name, python.line, python.column)
        unit.python = Setting(f"=={found[1]}.{found[2]}.*", place)


def _scripts(by_key: dict[str, Node]) -> Iterator[Node]:
    """Yield texts for the shell, each where it stands; a command of words as one text."""
    of_argo = ("source",) if "command" in by_key else ()
    for key in (*_SCRIPTS, *of_argo):
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
