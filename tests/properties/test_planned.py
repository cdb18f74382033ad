"""An environment that is planned is judged as the same one installed, as far as files allow."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.diagnose import foresee
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.finding import Outcome
from fadoctor.repair.resolution.judge import foresee_planned
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_source
from fadoctor.sources.manifests.source import Source
from tests.advice.states import enumerated, foreseen_whole
from tests.properties.locks import mapping_of, pinned, text_of, uv_lock
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment

pytestmark = pytest.mark.property

INSTALLATIONS = (
    "packages.", ".location", ".editable", ".installer", ".missing_files", ".requires_python",
    ".namespace_only", ".interface", ".extension", "toolkit.ptxas", ".wheel.tags", ".unmet",
    ".missing",
)  # fmt: skip
"""What only something that is installed has: no file says it."""

SAID = ("version", "distribution", "build", "cuda", "hip", "cxx11_abi", "direct_url",
        "wheel.torch", "wheel.cuda", "wheel.cuda_major", "wheel.cxx11_abi",
        "wheel.origin")  # fmt: skip


def planned(environment: Environment, text: str, name: str) -> Environment:
    from pathlib import Path  # noqa: PLC0415 -- a name, of no file

    manifest = read_source(Source(name, text, Path(name)))
    return planned_environment(environment, [manifest], session().matrix)


def states() -> list[Prognosis]:
    """Return states whose torch is one of an index: others no file can ask for."""
    found = [*foreseen_whole(), *(foresee(e, session().knowledge) for e in enumerated(20))]
    return [
        each
        for each in found
        if text_of(each.environment, "torch.build") not in ("other", "")
        and not isinstance(each.environment.fact("packages.installed"), Unknown)
    ]


@cache
def pairs() -> tuple[tuple[Prognosis, Environment], ...]:
    return tuple(
        (each, planned(each.environment, pinned(each.environment), "requirements.txt"))
        for each in states()
    )


def needs_an_installation(judgement: Judgement) -> bool:
    return any(part in name for name in judgement.scope.read for part in INSTALLATIONS)


def has_no_such_metadata(installed: Prognosis, plan: Environment, judgement: Judgement) -> bool:
    """Return whether a state says that torch requires a triton which its release does not.

    States are made for every Python; torch 2.3 asks for a triton below 3.12 only.
    """
    if "torch.requires" not in judgement.scope.read:
        return False
    stated = mapping_of(installed.environment, "torch.requires")
    known = plan.fact("torch.requires")
    return isinstance(known, Known) and "triton" in stated and known.value == {}


@pytest.mark.long
def test_files_say_what_the_installed_say() -> None:
    assert len(pairs()) > 30
    wrong = []
    for installed, plan in pairs():
        for name in (f"{p}.{n}" for p in ("torch", "triton", "flash_attn", "xformers", "vllm")
                     for n in SAID):  # fmt: skip
            here, there = installed.environment.fact(name), plan.fact(name)
            if isinstance(here, Unknown) or isinstance(there, Unknown):
                continue
            values = [getattr(fact, "value", None) for fact in (here, there)]
            label = getattr(plan.fact("torch.build"), "value", "")
            if name.startswith("torch.") and label == "other":  # git8907517 names no builder
                continue
            if name == "flash_attn.version":  # the label is in the name of the file alone
                values = [str(value).partition("+")[0] for value in values]
            if name == "torch.hip":  # a label says the release of ROCm, the module its build
                values = [value and ".".join(value.split(".")[:2]) for value in values]
            if values[0] != values[1]:
                wrong.append((installed.environment.target.label, name, here, there))
    assert wrong == []


@pytest.mark.long
def test_what_needs_no_files_is_found_in_both_and_what_needs_them_is_undecided() -> None:
    lost, invented, decided = [], [], 0
    for installed, plan in pairs():
        found = foresee(plan, session().knowledge).assessment
        outcomes = {(j.rule.id, j.subject): j.outcome for j in found.judgements}
        undecided = {each.rule_id for each in found.unknown}
        for judgement in installed.assessment.judgements:
            key = (judgement.rule.id, judgement.subject)
            outcome = outcomes.get(key, Outcome.NOT_APPLICABLE)
            if needs_an_installation(judgement) or has_no_such_metadata(installed, plan, judgement):
                continue
            label = installed.environment.target.label
            if judgement.outcome is Outcome.FAIL:
                decided += outcome is Outcome.FAIL
                if outcome is not Outcome.FAIL and judgement.rule.id not in undecided:
                    lost.append((label, *key, outcome))
            is_overruled = judgement.reason == "overruled by evidence"
            if judgement.outcome is Outcome.PASS and not is_overruled and outcome is Outcome.FAIL:
                invented.append((label, *key))
    assert lost == []
    assert invented == []
    assert decided > 50


@pytest.mark.long
def test_nothing_that_works_by_label_is_known_to_fail() -> None:
    """Verdicts take labels: where both decide a cell from the same versions, they agree."""
    wrong = []
    for installed, plan in pairs()[::4]:
        cells = {
            (v.gpu, v.backend, v.dtype): v.predicted.value
            for v in foresee_planned(plan, session().knowledge).shown.verdicts
            # METADATA of recorded hosts name less than the real ones, which the tables hold.
            if v.because != ("requirement-missing",)
        }
        for verdict in installed.verdicts:
            there = cells.get((verdict.gpu, verdict.backend, verdict.dtype), "unknown")
            by_rules = all(_is_by_label(installed, rule_id) for rule_id in verdict.because)
            if verdict.predicted.value == "works" and there == "fails" and by_rules:
                wrong.append((installed.environment.target.label, verdict.backend, verdict.dtype))
    assert wrong == []


def _is_by_label(prognosis: Prognosis, rule_id: str) -> bool:
    mine = [j for j in prognosis.assessment.judgements if j.rule.id == rule_id]
    return not any(needs_an_installation(judgement) for judgement in mine)


@pytest.mark.long
def test_a_lock_of_uv_says_the_same_as_pins() -> None:
    for installed, plan in pairs()[::5]:
        lock = planned(installed.environment, uv_lock(installed.environment), "uv.lock")
        for name in (f"{p}.{n}" for p in ("torch", "triton", "flash_attn") for n in SAID):
            here, there = plan.fact(name), lock.fact(name)
            assert type(here) is type(there), name
            if isinstance(here, Known) and isinstance(there, Known):
                assert here.value == there.value
