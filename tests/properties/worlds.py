"""Realistic environments: those of the rules' cases, of the history, and one upon the other."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st

from fadoctor.judging.engine.cases import Case, case_environment, read_case
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from tests.history.environments import ATTENTION, GPUS, environment, stacks
from tests.shipped import compiled
from tests.work import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge, Rule

FEW = settings(max_examples=examples(30), deadline=None, derandomize=True, database=None)
BRINGING = ("torch", "triton", *ATTENTION)
LOST = Unknown("nobody could look", "property")


def knowledge() -> Knowledge:
    """Return all rules and tables."""
    return compiled().knowledge


@cache
def cases() -> tuple[tuple[Rule, Case], ...]:
    """Return every case that is about an environment, with its rule."""
    rules = {rule.id: rule for rule in knowledge().rules if rule.when}
    found = [(rule, raw) for name, rule in rules.items() for raw in compiled().cases[name]]
    return tuple((rule, read_case(raw)) for rule, raw in found if "log" not in raw)


def of_case(case: Case) -> Environment:
    """Return the environment of a case as probes would give it: every fact there, most Absent."""
    said = case_environment(case)
    indexed = {name.partition(".")[0] for name in said.facts if "[" in name}
    facts: dict[str, Fact] = dict.fromkeys(_names(indexed), Absent("case"))
    return msgspec.structs.replace(said, facts={**facts, **said.facts})


def _names(indexed: set[str]) -> list[str]:
    """Return the names of the catalogue, those of lists for each member that there is."""
    plain = [name for name in build_catalogue() if "[]" not in name]
    lists = [name.partition("[].")[::2] for name in build_catalogue() if "[]" in name]
    return plain + [f"{one}.{noun}" for one in indexed for kind, noun in lists if kind in one]


def with_fact(world: Environment, name: str, fact: Fact) -> Environment:
    """Return an environment in which one fact is another one."""
    return msgspec.structs.replace(world, facts={**world.facts, name: fact})


def without(world: Environment, name: str, *, unread: bool) -> Environment:
    """Return an environment that has lost a fact: nobody could look, or nobody did."""
    if unread or name.startswith("env."):  # a variable that nobody names is not set
        return with_fact(world, name, LOST)
    facts = {key: fact for key, fact in world.facts.items() if key != name}
    return msgspec.structs.replace(world, facts=facts)


def history() -> st.SearchStrategy[Environment]:
    """Return environments of the history: a torch release, one attention package, some GPUs."""
    gpus = st.lists(st.sampled_from(GPUS), min_size=1, max_size=2, unique=True)
    return st.builds(
        lambda torch, package, names: environment(
            stacks()[torch], package, tuple(names), knowledge()
        ),
        st.sampled_from(sorted(stacks())),
        st.sampled_from(("", *ATTENTION)),
        gpus,
    )


def patched() -> st.SearchStrategy[Environment]:
    """Return environments of the history in which the facts of a case have come true."""
    return st.builds(_upon, history(), st.sampled_from(cases()).map(lambda each: each[1]))


def _upon(world: Environment, case: Case) -> Environment:
    return msgspec.structs.replace(world, facts={**world.facts, **case_environment(case).facts})


def emptied() -> st.SearchStrategy[Environment]:
    """Return environments of the history without torch or without triton."""
    gone = st.sampled_from(["torch.version", "triton.version"])
    return st.builds(lambda world, name: with_fact(world, name, Absent("gone")), history(), gone)


def worlds() -> st.SearchStrategy[Environment]:
    """Return environments of every kind."""
    alone = st.sampled_from(cases()).map(lambda each: of_case(each[1]))
    return patched() | alone | history() | emptied()


def read_facts(world: Environment, judgements: Iterable[Judgement]) -> list[str]:
    """Return the facts that rules have read there, and those on which verdicts rest."""
    read = {name for each in judgements for name in each.scope.read}
    verdicts = {f"{package}.version" for package in BRINGING}
    verdicts |= {name for name in world.facts if name.startswith(("gpu", "hub."))}
    return sorted((read | verdicts) & world.facts.keys()) or ["gpu.count"]


@cache
def unrelated() -> tuple[str, ...]:
    """Return the facts that no rule reads and on which no verdict rests."""
    text = json.dumps(msgspec.to_builtins(knowledge().rules))
    names = [name.replace("[]", "[0]") for name in build_catalogue()]
    return tuple(name for name in names if not _is_read(name, text))


def _is_read(name: str, text: str) -> bool:
    prefix, _, rest = name.partition(".")
    ways = [name, f"package.{rest}", f"{prefix.replace('[0]', '')}.{rest}"]
    versions = rest in ("version", "compute_capability", "visible", "name", "count")
    whole = name.startswith(("gpu", "env.", "hub."))
    return versions or whole or any(way in text for way in ways)


ANYTHING: st.SearchStrategy[Any] = st.sampled_from(
    [Known("1.0", "x"), Known(value=True, source="x"), Known({}, "x"), Absent("x"), LOST]
)
