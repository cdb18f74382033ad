"""What transformers' Trainer takes and holds, and which fields trl's configurations alone have.

Programs replace methods of the Trainer, and use what it binds while it trains. Neither is part of
what makes an object, which the tables of names have.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.names.attributes import classes_of
from tools.refresh.spans.span import Span, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.refresh.wheel import Wheel

METHODS, NAMES, FIELDS = "trainer-methods", "trainer-names", "trl-config-fields"
OLDEST = {"transformers": Version("4.36.0"), "trl": Version("0.9.2")}
TRAINER = "transformers/trainer.py"
ARGUMENTS = "transformers/training_args.py"

_CONFIGS = re.compile(r"trl/trainer/\w{1,60}_config\.py")
_NAME = re.compile(r"[a-z_]\w{2,60}")
_OPEN = "**"


@dataclass(frozen=True)
class Held:
    """What one release has."""

    methods: dict[str, frozenset[str]] = field(default_factory=dict)
    """Method -> its parameters; one that takes any has ``**`` among them."""
    names: frozenset[str] = frozenset()
    """What a method binds on the object after it was made."""
    fields: dict[str, frozenset[str]] = field(default_factory=dict)
    """Configuration -> its fields."""


def read_trainer(wheel: Wheel) -> Held:
    """Return what the Trainer of a release of transformers has, and fields of its arguments."""
    found = trainer_in(wheel.text(TRAINER))
    made = classes_of(wheel.text(ARGUMENTS)).get("TrainingArguments")
    fields = made.maker.names if made is not None else frozenset[str]()
    return Held(found.methods, found.names, {"TrainingArguments": fields})


def trainer_in(source: str) -> Held:
    """Return the methods of the Trainer in a source, and what they bind later."""
    found = next(
        (each for each in ast.parse(source).body
         if isinstance(each, ast.ClassDef) and each.name == "Trainer"), None)  # fmt: skip
    if found is None:
        return Held()
    methods = {
        each.name: frozenset(_parameters(each))
        for each in found.body
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("__")
    }
    made = classes_of(source)["Trainer"].names
    return Held(methods, frozenset(_bound(found)) - made)


def _parameters(method: ast.FunctionDef) -> Iterator[str]:
    takes = method.args
    yield from (each.arg for each in (*takes.args[1:], *takes.kwonlyargs))
    if takes.kwarg is not None:
        yield _OPEN


def _bound(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                yield each.attr
            case _:
                pass


def read_configs(wheel: Wheel) -> Held:
    """Return the configurations of a release of trl, and their fields."""
    fields: dict[str, frozenset[str]] = {}
    for path in wheel.names:
        if _CONFIGS.fullmatch(path):
            fields |= {
                name: body.maker.names
                for name, body in classes_of(wheel.text(path)).items()
                if name.endswith("Config") and body.maker.names
            }
    return Held(fields=fields)


def method_rows(held: Mapping[Version, Held]) -> list[str]:
    """Return which parameters came to a method that was there before, and which went."""
    rows: list[str] = []
    methods = sorted({name for each in held.values() for name in each.methods})
    for method in methods:
        there = {v: each.methods[method] for v, each in held.items() if method in each.methods}
        every = frozenset[str]().union(*there.values()) - {_OPEN}
        had = {v: every if _OPEN in names else names for v, names in there.items()}
        rows += [_row(f"method: {method}, argument", span, held) for span in spans(had)]
    return rows


def name_rows(held: Mapping[Version, Held]) -> list[str]:
    """Return what the Trainer binds later in some releases, and in others never."""
    had = {v: frozenset(filter(_NAME.fullmatch, each.names)) for v, each in held.items()}
    return [_row("name", span, held) for span in spans(had)]


def field_rows(configs: Mapping[Version, Held], trainers: Mapping[Version, Held]) -> list[str]:
    """Return the fields that only configurations of trl have, and which these are."""
    common = frozenset[str]().union(
        *(names for each in trainers.values() for names in each.fields.values())
    )
    owners: dict[str, set[str]] = {}
    for each in configs.values():
        for config, names in each.fields.items():
            for name in names - common:
                owners.setdefault(name, set()).add(config)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(owners):
        groups.setdefault(tuple(sorted(owners[name])), []).append(name)
    return [
        f"  - {{name: {' '.join(names)}, configs: {' '.join(found)}}}\n"
        for found, names in sorted(groups.items())
    ]


def _row(keys: str, span: Span, held: Mapping[Version, Held]) -> str:
    cells = [f"{keys}: {' '.join(span.names)}"]
    if span.first is not None:
        before = max(version for version in held if version < span.first)
        cells.append(f'first: {span.first}, before: {before}, below: "{span.first.major + 1}"')
    if span.last is not None and span.gone is not None:
        cells.append(f'last: {span.last}, gone: {span.gone}, under: "{span.gone.major + 1}"')
    return f"  - {{{', '.join(cells)}}}\n"
