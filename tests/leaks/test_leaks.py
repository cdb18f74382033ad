"""Every plant through every command in every format: the number of leaks is printed, and is zero.

Without the repair that came with this test, 5,697 leaks of 344 plants were counted.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix import load
from tests.leaks import more_ways, ways
from tests.leaks.people import identities
from tests.leaks.plants import credentials

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.leaks.plants import Plant

WAYS = {
    "explain": ways.through_explain,
    "facts": ways.through_facts,
    "paste": ways.through_paste,
    "fleet": ways.through_fleet,
    "trace": ways.through_trace,
    "smoke": more_ways.through_smoke,
    "mcp": more_ways.through_mcp,
    "reasons": more_ways.through_reasons,
}
OF_CREDENTIALS = {
    **WAYS,
    "api": more_ways.through_api,
    "words": more_ways.through_words,
}
"""What programs get, and what is said on standard error, is not for sharing: it names people."""


ALL, A_FEW = "all", "one of each kind"
MANY = (A_FEW, pytest.param(ALL, marks=pytest.mark.weekly))
"""How many plants go through a command."""


def chosen(plants: tuple[Plant, ...], many: str) -> tuple[Plant, ...]:
    """Return all plants, or the first of each kind."""
    first = {plant.kind: plant for plant in plants[::-1]}.values()
    return plants if many == ALL else tuple(first)


@pytest.fixture(autouse=True)
def _rules_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "load_knowledge", cache(load.load_knowledge))


def none_of(found: Iterable[ways.Leak], plants: tuple[Plant, ...], what: str) -> None:
    leaked = list(found)
    sys.stdout.write(f"{what}: {len(leaked)} leaks of {len(plants)} plants\n")
    assert leaked[:5] == []


def test_there_are_many_plants() -> None:
    assert len(credentials()) >= 300
    assert len({plant.kind for plant in credentials()}) >= 80
    assert len(identities()) >= 190


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("way", OF_CREDENTIALS)
def test_no_credential_is_shown(way: str, many: str, tmp_path: Path) -> None:
    plants = chosen(credentials(), many)
    none_of(OF_CREDENTIALS[way](plants, tmp_path, redact=False), plants, way)


@pytest.mark.parametrize("many", MANY)
def test_run_shows_no_credential(many: str) -> None:
    plants = chosen(credentials(), many)
    none_of(ways.through_run(plants), plants, "run")


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("way", WAYS)
def test_redacted_nobody_is_named(way: str, many: str, tmp_path: Path) -> None:
    plants = chosen(identities(), many)
    none_of(WAYS[way](plants, tmp_path, redact=True), plants, f"{way} --redact")


def test_a_leak_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count is worth nothing if it could not be another number."""
    monkeypatch.setattr("fadoctor.sources.logs.cleaning.hide_in_lines", list)
    monkeypatch.setattr("fadoctor.judging.explain.evidence.quote", lambda text, *_: text)
    monkeypatch.setattr(
        "fadoctor.interfaces.cli.support.without_credentials", lambda document: document
    )
    assert len(list(ways.through_explain(credentials()[:8], tmp_path, redact=False))) > 8
