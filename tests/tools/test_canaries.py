"""Environments that uv locked: what is right for each was written down beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.knowledge.matrix.load import load_apart, load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from tools.canaries import cli

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.rule import Knowledge

ENVIRONMENTS = [each for each in cli.environments() if (cli.LOCKS / f"{each['name']}.txt").exists()]
NEWER = [each for each in ENVIRONMENTS if "newer" in each]


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load_knowledge()


@pytest.fixture(scope="module")
def matrix(knowledge: Knowledge) -> Matrix:
    return Matrix(load_apart(knowledge.tables))


def alarms(answer: cli.Answer) -> list[str]:
    return sorted(each.split()[1] for each in answer["findings"] if not each.startswith("note "))


def test_there_are_enough_of_each_kind() -> None:
    assert len(ENVIRONMENTS) >= 40
    assert len(NEWER) >= 30
    assert len({each["kind"] for each in ENVIRONMENTS}) == 6
    assert {each.get("platform", cli.LINUX) for each in ENVIRONMENTS} == cli.PLATFORMS.keys()


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda each: each["name"])
def test_a_lock_gets_the_alarms_that_are_right_and_no_others(
    environment: dict[str, Any], knowledge: Knowledge, matrix: Matrix
) -> None:
    found = cli.answer(environment, knowledge, matrix)
    assert alarms(found) == sorted(environment.get("finds", []))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("environment", NEWER, ids=lambda each: each["name"])
def test_a_release_that_no_table_has_raises_no_alarm(
    environment: dict[str, Any], knowledge: Knowledge, matrix: Matrix
) -> None:
    found = alarms(cli.answer(environment, knowledge, matrix, newer=True))
    assert set(found) <= set(environment.get("finds", []))


def test_what_differs_is_named_with_its_environment() -> None:
    before = {"a": {"findings": ["note x (y)"], "cells": ["fa2 bf16: works"]}}
    after = {"a": {"findings": ["error z (y)"], "cells": ["fa2 bf16: works"]}}
    assert list(cli.differences(before, after)) == [
        "a: no longer note x (y)",
        "a: now error z (y)",
    ]
    assert list(cli.differences(before, before)) == []


def test_the_exit_code_says_whether_answers_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text('{"a": {"findings": [], "cells": []}}', "utf-8")
    two.write_text('{"a": {"findings": ["error z (y)"], "cells": []}}', "utf-8")
    assert cli.main(["compare", str(one), str(one)]) == 0
    assert cli.main(["compare", str(one), str(two)]) == 1
    assert capsys.readouterr().out == "a: now error z (y)\n"


def test_one_package_is_made_newer() -> None:
    text = "torch==2.13.0\nnumpy==2.0.0\n"
    assert cli.with_newer(text, "numpy==9.0.0") == "torch==2.13.0\nnumpy==9.0.0\n"
    assert cli.with_newer(text, "trl==9.0.0").endswith("trl==9.0.0\n")


@pytest.mark.long
@pytest.mark.parametrize(
    "folder",
    ["sixty", *(pytest.param(each, marks=pytest.mark.weekly) for each in ("second", "third"))],
)
def test_sixty_environments_get_the_alarms_that_are_right_and_no_others(folder: str) -> None:
    """Also with one package in a release that no table has: then nothing is claimed either."""
    sixty = cli.HERE / folder
    assert sum("newer" in each for each in cli.environments(sixty)) >= 30
    assert len(list((sixty / "locks").iterdir())) == len(cli.environments(sixty)) >= 60
    assert list(cli.unexpected(sixty)) == []


def test_an_alarm_that_nobody_wrote_down_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "environments.yaml").write_text(
        "environments:\n  - {name: a, finds: [right, gone]}\n", "utf-8"
    )
    findings = ["error right (x)", "warning new (x)", "note small (x)"]
    answer: cli.Answer = {"findings": findings, "cells": ["fa2 bf16: works"]}

    def judged(*, newer: bool, folder: Path) -> dict[str, cli.Answer]:
        assert folder == tmp_path
        return {} if newer else {"a": answer}

    monkeypatch.setattr(cli, "judged", judged)
    assert list(cli.unexpected(tmp_path)) == ["a: new", "a: no gone"]


def test_a_claim_about_a_release_that_no_table_has_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "environments.yaml").write_text("environments:\n  - {name: a, newer: x==9}\n")

    def judged(*, newer: bool, folder: Path) -> dict[str, cli.Answer]:
        assert folder == tmp_path
        cells = ["fa2 bf16: works", "flex bf16: " + ("works" if newer else "unknown")]
        return {"a": {"findings": [], "cells": cells}}

    monkeypatch.setattr(cli, "judged", judged)
    assert list(cli.unexpected(tmp_path)) == ["a with x==9: claims flex bf16: works"]
