"""Plans by the Hub: the exact pair, its cost, and where it is not proposed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.errors import UsageError
from fadoctor.model.plan import Plan, PlanOutcome
from fadoctor.repair.plan.written.advice_proof import FixProver, Standing
from fadoctor.report.plan_text import render
from fadoctor.sources.targets.derived import derive
from tests.states.starts import STARTS, start
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import golden, plan, session

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "580.65.06")
T4 = ("Tesla T4", "7.5", "580.65.06")
V100 = ("Tesla V100-SXM2-16GB", "7.0", "580.65.06")
ALONE = "transformers alone"
NEWEST = "a transformers whose kernels nobody can install"
OLD = "transformers that asks for kernels that are gone"
CONFIG = {"config.framework": "transformers", "config.attention": "flash_attention_2"}


def given(name: str, gpu: tuple[str, str, str] = A100, **facts: Any) -> Environment:
    """Return a start with more facts; ``__`` stands for a dot."""
    found = start(name, gpu)
    new = {key.replace("__", "."): fact_of(value) for key, value in facts.items()}
    found = msgspec.structs.replace(found, facts={**found.facts, **new})
    return derive(found, session().matrix)


def configured(name: str, gpu: tuple[str, str, str] = A100, **facts: Any) -> Environment:
    """Return a start whose configuration asks for flash_attention_2."""
    return given(name, gpu, **{key.replace(".", "__"): v for key, v in CONFIG.items()}, **facts)


BUILD = "torch-stable-abi210-cu130-x86_64-linux"
KERNEL = "kernels-community/flash-attn2@v4"
CACHE: dict[str, Any] = {
    "hub__kernels": {KERNEL: BUILD},
    "hub__archs": {f"{KERNEL} {BUILD}": "8.0 9.0 10.0"},
    "hub__offline": (KERNEL,),
    "hub__metadata": {f"{KERNEL} {BUILD}": "id name version license backend digest python-depends"},
    "hub__needs": {},
}
"""A cache with a kernel that transformers 5.22 takes."""


def installed(found: Plan) -> tuple[str, ...]:
    """Return everything that a plan installs."""
    return tuple(item for action in found.actions if action.argv for item in action.requirements)


def findings_of(environment: Environment) -> tuple[Finding, ...]:
    """Return what the rules find, with all fixes."""
    from fadoctor.judging.diagnose import foresee  # noqa: PLC0415 -- one test alone

    return foresee(environment, session().knowledge).assessment.findings


def test_a_configuration_gets_the_pair_with_its_cost() -> None:
    """`pip install kernels` takes one that no transformers accepts; the pair is said exactly."""
    found = plan(configured(ALONE))
    assert installed(found) == ("kernels==0.17.2", "transformers==5.22.2")
    text = " ".join(render(found).split())
    assert "which needs the network once: 0.45 GB" in text
    assert "not a program that imports flash_attn" in text
    assert found.proof.clean


def test_a_transformers_whose_kernels_nobody_can_install_moves() -> None:
    """5.23 asks for kernels 0.18, which the index does not have."""
    found = plan(configured(NEWEST))
    assert set(installed(found)) == {"kernels==0.17.2", "transformers==5.22.2"}


@pytest.mark.long
def test_another_major_of_transformers_has_to_be_asked_for() -> None:
    assert not any(item.startswith("transformers") for item in installed(plan(configured(OLD))))
    asked = installed(plan(given(OLD), want=("hub-fa2",)))
    assert {"kernels==0.17.2", "transformers==5.22.2"} <= set(asked)
    assert any(item.startswith("huggingface-hub==") for item in asked)


HEALTHY = "linux-a100-healthy"


@pytest.mark.long
def test_what_breaks_beside_the_pair_moves_with_it() -> None:
    """peft 0.17 does not import beside transformers 5: the plan was refused for it, unsaid."""
    found = plan(golden(HEALTHY), want=("hub-fa2",))
    names = {re.split("[=<>]", item)[0] for item in installed(found)}
    assert {"torch", "transformers", "kernels", "peft", "liger-kernel"} <= names
    assert found.proof.clean
    assert found.conflicts == ()


@pytest.mark.long
@pytest.mark.parametrize(
    ("kept", "because"),
    [
        ("torch", ("torch 2.8.0 stays as it is",)),
        ("transformers", ("transformers 4.56.2 stays as it is",)),
        ("peft", ("peft 0.17.1 stays as it is", "peft 0.17.1 cannot be imported with")),
    ],
)
def test_the_reason_is_what_was_to_stay(kept: str, because: tuple[str, ...]) -> None:
    found = plan(golden(HEALTHY), want=("hub-fa2",), keep=(kept,))
    [conflict] = found.conflicts
    assert len(conflict.because) <= len(because) + 1  # peft says so itself, too
    for said, beginning in zip(conflict.because, because, strict=False):
        assert beginning in said
    assert conflict.alternatives[0].give_up == f"let {kept} change"


def test_a_plain_wheel_of_the_authors_goes_before_the_hub() -> None:
    STARTS["torch 2.8"] = (
        "torch 2.8.0 12.8", "triton 3.4.0", "transformers 5.22.2", "huggingface_hub 2.1.1",
    )  # fmt: skip
    try:
        found = plan(configured("torch 2.8"))
    finally:
        del STARTS["torch 2.8"]
    assert "Dao-AILab" in next(action.url for action in found.actions if action.url)
    assert not any(item.startswith("kernels") for item in installed(found))


def test_no_hub_forbids_it() -> None:
    found = plan(configured(ALONE), no_hub=True)
    assert installed(found) == ()
    assert "no kernel is fetched from the Hub" in found.wishes
    with pytest.raises(UsageError, match="--want hub-fa2 and --no-hub exclude each other"):
        plan(given(ALONE), want=("hub-fa2",), no_hub=True)


@pytest.mark.parametrize("gpu", [T4, V100])
def test_no_kernel_is_for_turing_and_volta(gpu: tuple[str, str, str]) -> None:
    assert not any(item.startswith("kernels") for item in installed(plan(configured(ALONE, gpu))))
    found = plan(given(ALONE, gpu), want=("hub-fa2",))
    assert not any(item.startswith("kernels") for item in installed(found))
    [conflict] = [each for each in found.conflicts if each.wish.startswith("hub-fa2")]
    assert (
        "no known release of FlashAttention-2 from the Hub has kernels for it" in conflict.because
    )
    assert any("own attention" in way.give_up for way in conflict.alternatives)


@pytest.mark.long
def test_offline_only_what_lies_in_the_cache() -> None:
    offline: dict[str, Any] = {"env__HF_HUB_OFFLINE": "1"}
    assert installed(plan(configured(ALONE, **offline))) == ()
    found = plan(given(ALONE, **offline), want=("hub-fa2",))
    [conflict] = found.conflicts
    assert "HF_HUB_OFFLINE forbids asking the Hub" in conflict.because[0]
    assert conflict.alternatives[0].give_up == "unset HF_HUB_OFFLINE"
    cached = given(ALONE, **CACHE, **offline)
    found = plan(cached, want=("hub-fa2",))
    assert installed(found) == ("kernels==0.17.2", "transformers==5.22.2")
    assert found.outcome is PlanOutcome.REPAIRS
    assert found.proof.unknown == ()
    unnamed = given(ALONE, **{**CACHE, "hub__offline": ()}, **offline)
    assert installed(plan(unnamed, want=("hub-fa2",))) == ()


def test_where_the_package_is_asked_for_the_hub_is_another_way() -> None:
    """torch 2.14 has no wheel: the plan moves torch, and says what would do without that."""
    found = plan(given(NEWEST), want=("flash-attn",))
    assert any(change.distribution == "torch" for change in found.changes)
    [way] = found.alternatives
    assert "let transformers take it from the Hub" in way.give_up
    assert {(c.distribution, c.after) for c in way.changes} == {
        ("transformers", "5.22.2"), ("kernels", "0.17.2"),
    }  # fmt: skip
    assert "Or let transformers take it from the Hub" in render(found)
    assert plan(given(NEWEST), want=("flash-attn",), no_hub=True).alternatives == ()


def test_a_conflict_names_the_hub_among_what_would_do() -> None:
    found = plan(given(NEWEST), want=("flash-attn",), keep=("torch",))
    [conflict] = found.conflicts
    assert any("from the Hub" in way.give_up for way in conflict.alternatives)
    found = plan(given(NEWEST), want=("flash-attn",), keep=("torch",), no_hub=True)
    assert any(
        "(without --no-hub)" in way.give_up
        for conflict in found.conflicts
        for way in conflict.alternatives
    )


def test_what_works_from_the_cache_stands_in_for_a_broken_flash_attn() -> None:
    """Beside torch 2.14 there is no file: flash-attn goes, torch stays."""
    broken = given(
        NEWEST,
        **CACHE,
        flash_attn__version="2.8.3", flash_attn__distribution="flash-attn",
        flash_attn__loads=False, flash_attn__binary__file="$site/flash_attn_2_cuda.so",
        flash_attn__binary__failure="undefined-symbol",
        packages__installed={
            "torch": "2.14.0", "triton": "3.8.0", "transformers": "5.23.0",
            "huggingface-hub": "2.1.1", "flash-attn": "2.8.3", "einops": "0.8.1",
        },
    )  # fmt: skip
    found = plan(broken)
    changes = {change.distribution: change.after for change in found.changes}
    assert changes == {"flash-attn": "", "transformers": "5.22.2", "kernels": "0.17.2"}
    assert found.proof.clean
    without = plan(broken, no_hub=True)
    assert "kernels" not in {change.distribution for change in without.changes}


@pytest.mark.parametrize(
    ("environment", "standing"),
    [
        (configured(ALONE), Standing.PROVED),
        (configured(ALONE, T4), Standing.REFUTED),
        (configured(ALONE, env__HF_HUB_OFFLINE="1"), Standing.REFUTED),
    ],
)
def test_a_report_shows_the_fix_only_where_it_helps(
    environment: Environment, standing: Standing
) -> None:
    """A T4 was told to install kernels, of which none is for it."""
    from fadoctor.judging.diagnose import foresee  # noqa: PLC0415 -- as above

    [finding] = [f for f in findings_of(environment) if f.rule_id == "hf-fa2-not-installed"]
    [fix] = [fix for fix in finding.fixes if fix.id == "install-kernels"]
    assert fix.steps[0].items == ("transformers==5.22.2", "kernels==0.17.2")
    prover = FixProver(foresee(environment, session().knowledge), session())
    assert prover.prove(finding, fix).standing is standing
