"""Releases that a platform has no file of, and what they require on some platforms alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.model.plan import ActionKind
from fadoctor.sources.targets.derived import derive
from tests.states.starts import start
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import plan, session

if TYPE_CHECKING:
    from fadoctor.model.plan import Plan

H100 = ("NVIDIA H100 80GB HBM3", "9.0", "580.65.06")
T4 = ("Tesla T4", "7.5", "525.60.13")
ARM, INTEL = "linux_aarch64", "linux_x86_64"


@pytest.fixture
def published() -> ReadyMadeFiles:
    return ReadyMadeFiles(session().matrix)


@pytest.mark.parametrize(
    ("name", "version", "platform", "expected"),
    [
        ("xformers", "0.0.35", ARM, False),
        ("xformers", "0.0.35", INTEL, True),
        ("xformers", "0.0.99", ARM, True),
        ("vllm", "0.10.1", ARM, False),
        ("vllm", "0.10.2", ARM, True),
        ("vllm", "0.10.2", "win_amd64", False),
        ("peft", "0.18.0", ARM, True),
        ("xformers", "0.0.35", "", True),
    ],
)
def test_files_by_platform(
    published: ReadyMadeFiles, name: str, version: str, platform: str, *, expected: bool
) -> None:
    assert published.has_file(name, version, InstalledWhere(platform)) is expected


def test_a_requirement_with_a_marker_is_left_out_elsewhere(published: ReadyMadeFiles) -> None:
    needs = {"torch": ">=2.4", "xformers": ">=0.0.27"}
    assert published.required("unsloth", "2026.1.2", needs, INTEL) == needs
    assert published.required("unsloth", "2026.1.2", needs, ARM) == {"torch": ">=2.4"}
    assert published.required("unsloth", "2025.3.19", needs, ARM) == needs


def test_a_release_can_be_had_where_what_it_pins_can(published: ReadyMadeFiles) -> None:
    needs = {"xformers": "==0.0.35"}
    assert published.can_be_had("somebody", "1.0", needs, InstalledWhere(INTEL))
    assert not published.can_be_had("somebody", "1.0", needs, InstalledWhere(ARM))


def test_files_by_python(published: ReadyMadeFiles) -> None:
    """sglang pins outlines 0.1.11, and that a part without a file for Python 3.13."""
    needs = {"outlines": "==0.1.11"}
    assert published.can_be_had("sglang", "0.5.20", needs, InstalledWhere(INTEL, "3.12"))
    assert not published.can_be_had("sglang", "0.5.20", needs, InstalledWhere(INTEL, "3.13"))
    assert published.can_be_had("sglang", "0.5.20", needs, InstalledWhere(INTEL))


def _planned(platform: str, *want: str) -> Plan:
    found = start("empty", H100, "3.11")
    told = {"host.platform": platform, "host.machine": platform.partition("_")[2]}
    facts = {**found.facts, **{name: fact_of(value) for name, value in told.items()}}
    return plan(derive(msgspec.structs.replace(found, facts=facts), session().matrix), want=want)


def _names(found: Plan) -> set[str]:
    return {change.distribution for change in found.changes if change.after}


def test_unsloth_comes_without_xformers_where_there_is_none() -> None:
    """uv refused the line that was printed: xformers 0.0.35 has no file for aarch64."""
    assert "xformers" in _names(_planned(INTEL, "unsloth"))
    found = _names(_planned(ARM, "unsloth"))
    assert "unsloth" in found
    assert "xformers" not in found


def test_what_has_no_file_is_not_planned() -> None:
    assert "xformers" not in _names(_planned(ARM, "xformers"))


def test_what_a_pinned_release_requires_bounds_the_others() -> None:
    """uv refused the line: quack-kernels 0.2.4, which sglang pins, needs a cutlass below 4.4."""
    found = plan(start("empty", T4, "3.11"), want=("sglang",))
    items = {item for action in found.actions for item in action.requirements}
    assert "quack-kernels==0.2.4" in items
    assert "nvidia-cutlass-dsl==4.3.5" in items


def test_a_range_is_told_as_a_range() -> None:
    """The plan said datasets 2.16.0, and the command took 4.0.0: the lowest that it admits."""
    before = start("torch 2.6 with vision and audio", H100, "3.11")
    installed = dict(before.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    facts = {
        "packages.installed": {**installed, "verl": "0.9.1", "ray": "2.30.0"},
        "requirer.count": 1,
        "requirer[0].distribution": "verl",
        "requirer[0].version": "0.9.1",
        "requirer[0].requires": {"ray": ">=2.41.0,<3"},
    }
    known = {name: fact_of(value) for name, value in facts.items()}
    there = msgspec.structs.replace(before, facts={**before.facts, **known})
    found = plan(derive(there, session().matrix))
    [action] = [each for each in found.actions if each.kind is ActionKind.INSTALL]
    ranges = {item for item in action.requirements if "==" not in item and " @ " not in item}
    told = {change.distribution + change.after for change in found.changes}
    assert ranges
    assert ranges <= told
