"""What a release that comes asks of packages that nobody decides about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Known
from fadoctor.repair.plan.choices.choice import keep
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.states.follow_ups import aftermath
from fadoctor.sources.targets.derived import derive
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, problem, session, with_package
from tests.unit.repair.plan.test_planner import changed

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

H100 = ("NVIDIA H100 80GB HBM3", "9.0", "570.86.15")
RTX_5090 = ("NVIDIA GeForce RTX 5090", "12.0", "580.65.06")
HUB = "huggingface-hub"
K80 = ("Tesla K80", "3.7", "470.256.02")


@pytest.mark.long
def test_what_the_coming_release_refuses_moves_by_name() -> None:
    """pip took tokenizers back, which the command did not name."""
    found = with_package(start("vLLM", H100), "transformers", "5.22.2", {"tokenizers": ""})
    installed = dict(found.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    installed |= {"tokenizers": "0.23.3", "huggingface-hub": "2.1.1"}
    facts = {**found.facts, "packages.installed": Known(installed, "test")}
    found = derive(msgspec.structs.replace(found, facts=facts), session().matrix)
    after = changed(plan(found, want=("transformers<5",)))
    assert after["transformers"].startswith("4.")
    assert after["tokenizers"] == "0.22.2"


def test_what_an_installer_brings_moves_nothing_that_stays() -> None:
    """The newest datasets refuses this huggingface-hub, and with it went transformers."""
    after = changed(plan(start("vLLM", H100), want=("trl",)))
    assert after.keys() == {"accelerate", "datasets", "trl"}
    assert after["datasets"].startswith("5.0.")


def test_what_waits_for_another_that_moves_is_named_too() -> None:
    """No tokenizers that its transformers takes goes with the huggingface-hub that leaves."""
    found = start("transformers alone", H100)
    installed = dict(found.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    installed |= {"tokenizers": "0.23.3", "huggingface-hub": "2.1.1"}
    facts = {**found.facts, "packages.installed": Known(installed, "test")}
    found = derive(msgspec.structs.replace(found, facts=facts), session().matrix)
    after = changed(plan(found, want=("vllm==0.19.1",)))
    assert after["huggingface-hub"].startswith("1.")
    assert after["tokenizers"] == "0.22.2"


@pytest.mark.parametrize(
    ("installed", "version", "said"),
    [
        ("protobuf", "6.31.1", ">=5.29.6"),
        ("aiohttp", "3.11.18", ">=3.13.3"),
    ],
)
def test_what_a_server_asks_beside_attention_is_named(
    installed: str, version: str, said: str
) -> None:
    """The installer moved it, and the plan did not say so."""
    found = start("empty", H100)
    facts = {**found.facts, "packages.installed": Known({installed: version}, "test")}
    found = derive(msgspec.structs.replace(found, facts=facts), session().matrix)
    after = changed(plan(found, want=("vllm==0.16.0",)))
    assert said in after[installed]
    assert "six" not in after


@pytest.mark.long
def test_torch_does_not_move_away_from_what_an_extra_pins() -> None:
    there = start("torch 2.6 with vision and audio", RTX_5090)
    there = with_package(there, "sglang", "0.4.6.post5", {"requests": ""})
    alone = changed(plan(there))
    assert "sglang" not in alone
    pinned = changed(plan(there, requirements={"sglang": {"torch": "==2.6.0"}}))
    needs = session().candidates.helpers.needs("sglang", pinned["sglang"])
    assert needs["torch"] == f"=={pinned['torch']}"


def test_a_driver_that_ends_the_gpu_is_no_advice() -> None:
    """A driver of branch 525 was, for triton: it no longer supports a K80."""
    facts = {"triton.distribution": Known("triton", "test")}
    there = start("torch 2.6 with vision and audio", K80)
    found = plan(msgspec.structs.replace(there, facts={**there.facts, **facts}))
    assert found.actions
    assert not any("525" in action.text for action in found.actions)


def test_of_a_range_the_newest_release_comes_not_the_oldest() -> None:
    """What the oldest one asks for took dill and fsspec back, below what others ask for."""
    needs = {"datasets": "<=3.6.0,>=2.16.0"}
    there = with_package(start("torch 2.6 with vision and audio", H100), "llamafactory", "0.9.3")
    installed = dict(there.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    installed |= {"datasets": "4.4.1", "dill": "0.3.8", "fsspec": "2025.3.0"}
    facts = {"packages.installed": installed, "llamafactory.requires": needs}
    known = {name: Known(value, "test") for name, value in facts.items()}
    there = msgspec.structs.replace(there, facts={**there.facts, **known})
    found = plan(derive(there, session().matrix))
    assert changed(found) == {"datasets": "3.6.0"}


def test_another_file_of_the_same_release_comes_before_a_newer_release() -> None:
    """The newest came, where somebody had chosen one that has a file that fits, too."""
    there = with_package(start("missing triton", H100), "flash_attn", "2.8.1", {"torch": ""})
    known = {
        "flash_attn.wheel.torch": Known("2.7", "test"),
        "flash_attn.loads": Known(value=False, source="test"),
    }
    there = msgspec.structs.replace(there, facts={**there.facts, **known})
    assert changed(plan(there, want=("flash-attn",)))["flash-attn"] == "2.8.1"


def _with(environment: Environment, **more: str) -> Environment:
    """Return an environment with more distributions that nobody decides about."""
    installed = dict(environment.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    installed |= {name.replace("_", "-"): version for name, version in more.items()}
    facts = {**environment.facts, "packages.installed": Known(installed, "test")}
    return derive(msgspec.structs.replace(environment, facts=facts), session().matrix)


def test_what_moves_along_asks_for_others_in_turn() -> None:
    """vLLM pins numba, which takes no numpy after its time: uv took numpy back unsaid."""
    there = _with(start("torch 2.6 with vision and audio", H100), numba="0.65.1", numpy="2.4.6")
    facts = {"numpy.version": Known("2.4.6", "test")}
    found = plan(msgspec.structs.replace(there, facts={**there.facts, **facts}), want=("vllm<0.9",))
    after = changed(found)
    assert after["vllm"].startswith("0.8.5")
    assert after["numba"] == "0.61.2"
    assert after["numpy"] == "2.2.6"
    assert found.proof.requirements == ()


def test_a_missing_numpy_is_named_where_what_stays_takes_none_of_the_newest() -> None:
    """uv resolves what comes alone: it brought a NumPy that the numba of vLLM refuses."""
    there = _with(start("torch 2.6 with vision and audio", H100), numba="0.61.2")
    needs = {"numba": {"numpy": "<2.3,>=1.24"}}
    assert changed(plan(there, want=("peft",), requirements=needs))["numpy"] == "2.2.6"
    assert "numpy" not in changed(plan(there, want=("peft",)))


def test_what_comes_new_moves_what_is_there_by_name() -> None:
    """unsloth brings datasets, of which no release takes the newest fsspec."""
    there = _with(start("torch 2.6 with vision and audio", H100), fsspec="2026.9.0")
    after = changed(plan(there, want=("unsloth==2025.11.4",)))
    assert after["unsloth"] == "2025.11.4"
    assert after["fsspec"] == "<=2025.9.0,>=2023.1.0"
    assert "datasets" not in after


def test_what_an_asker_that_moves_asked_for_is_over() -> None:
    """transformers 5 asks for another huggingface-hub, and vLLM for transformers 4."""
    found = with_package(start("vLLM", H100), "vllm", "0.15.1", {"transformers": "<5,>=4.56.0"})
    found = with_package(found, "transformers", "5.9.0", {"huggingface-hub": "<2.0,>=1.5.0"})
    installed = dict(found.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    facts = {**found.facts, "packages.installed": Known(installed | {HUB: "1.4.1"}, "test")}
    facts |= {"huggingface_hub.version": Known("1.4.1", "test")}
    after = changed(plan(derive(msgspec.structs.replace(found, facts=facts), session().matrix)))
    assert (after["transformers"], after[HUB]) == ("4.57.6", "0.36.2")


def test_a_range_is_one_release_once_who_refused_it_has_moved() -> None:
    """tokenizers 0.22 refuses huggingface-hub 1, and follows transformers afterwards."""
    found = start("transformers that asks for kernels that are gone", H100)
    found = with_package(found, "peft", "0.17.1", {HUB: ">=0.25.0"})
    there = dict(found.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    facts = {**found.facts, "packages.installed": Known(there | {"tokenizers": "0.22.0"}, "test")}
    found = derive(msgspec.structs.replace(found, facts=facts), session().matrix)
    after = changed(plan(found, want=("transformers>=5.0",)))
    assert after[HUB][0].isdigit()
    assert after["tokenizers"] == "0.23.3"


def test_what_a_new_package_moves_is_no_reason_for_another_framework() -> None:
    """numba was missing, and takes no numpy after its time: vLLM moved to be rid of the two."""
    there = _with(start("vLLM", H100), numpy="2.5.5")
    made = problem(there)
    numba = offer("numba==0.61.2")
    assert numba is not None
    state = {**{name: keep(name) for name in made.packages}, "numba": numba}
    found = aftermath(made, state, made.session.post.after(made.environment, [numba]))
    assert [each.requirement for each in found.followers if each.distribution == "numpy"] == [
        "numpy==2.2.6"
    ]
    assert found.replaced == 0


@pytest.mark.long
def test_a_package_that_is_broken_does_not_move_to_a_release_of_no_table() -> None:
    """Its bound admitted the very release that is broken, and the plan said that all is well."""
    there = with_package(start("torch 2.11", H100), "flash_attn", "2.8.3")
    installed = dict(there.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    installed |= {"lm-suite": "0.9.4", "deepspeed": "0.17.6"}
    facts = {**there.facts, "packages.installed": Known(installed, "test")}
    there = msgspec.structs.replace(there, facts=facts)
    asks = {"flash-attn": "==2.8.3"}
    whole = plan(there, want=("flash-attn<2.8.3",), requirements={"lm-suite": asks})
    assert changed(whole)["lm-suite"] == "what the installer finds"
    asks |= {"deepspeed": "==0.18.6"}
    broken = plan(there, want=("flash-attn<2.8.3",), requirements={"lm-suite": asks})
    assert "lm-suite" not in changed(broken)
