"""What a fix does to facts: the installer is foreseen as far as the tables know releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.repair.plan.states.fix_state import After, FixState
from tests.unit.repair.plan.problems import golden, session

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

HOST = "linux-4090-wheel-mismatch"


def install(*items: str, options: tuple[str, ...] = (), index: str = "") -> Step:
    return Step(StepKind.INSTALL, "", items, index, options)


def after(environment: Environment, *steps: Step) -> After:
    return FixState(session()).after(environment, Fix("one", "One", steps=steps))


def value(found: After, name: str) -> object:
    fact = found.environment.fact(name)
    return fact.value if isinstance(fact, Known) else fact.__class__


def test_a_torch_brings_the_triton_that_it_pins() -> None:
    found = after(golden(HOST), install("torch==2.9.1"))
    assert (value(found, "torch.version"), value(found, "triton.version")) == ("2.9.1", "3.5.1")


def test_a_build_of_an_index_is_taken_from_there() -> None:
    index = "https://download.pytorch.org/whl/cu126"
    found = after(golden(HOST), install("torch==2.8.0+cu126", index=index))
    assert (value(found, "torch.build"), value(found, "torch.cuda")) == ("cu126", "12.6")


def test_a_build_is_known_where_the_python_is_not() -> None:
    """A Dockerfile's image seldom says its Python, and vLLM's files are for one CUDA alone."""
    host = golden(HOST, python__version=None, vllm__version="0.27.1")
    index = "https://download.pytorch.org/whl/cu126"
    found = after(host, install("torch==2.13.0+cu126", index=index))
    assert (value(found, "torch.build"), value(found, "torch.cuda")) == ("cu126", "12.6")


def test_what_satisfies_a_requirement_stays() -> None:
    """pip takes 2.8.0+cpu for the 2.8.0 that it is asked for, and does nothing."""
    host = golden(HOST, torch__version="2.8.0+cpu", torch__build="cpu", torch__cuda=None)
    assert value(after(host, install("torch==2.8.0")), "torch.version") == "2.8.0+cpu"
    again = after(host, Step(StepKind.UNINSTALL, "", ("torch",)), install("torch==2.8.0"))
    assert value(again, "torch.build") == "pypi"
    forced = after(host, install("torch==2.8.0", options=("--force-reinstall",)))
    assert value(forced, "torch.build") == "pypi"


def test_the_file_that_setup_asks_for() -> None:
    found = after(golden(HOST), install("flash-attn==2.8.3.post1"))
    assert (value(found, "flash_attn.wheel.torch"), found.cannot) == ("2.8", "")


def test_without_a_file_it_compiles_or_cannot() -> None:
    """The fix of an audit: flash-attn again under a torch whose C++ its sources are too old for."""
    host = golden(HOST, torch__version="2.15.0", torch__cuda="13.0")
    found = after(host, install("flash-attn==2.8.3"))
    assert "newer C++" in found.cannot
    assert value(found, "flash_attn.version") == value(after(host), "flash_attn.version")


@pytest.mark.parametrize("name", ["flash-attn", "Flash_Attn"])
def test_what_is_removed_is_absent(name: str) -> None:
    found = after(golden(HOST), Step(StepKind.UNINSTALL, "", (name,)))
    assert value(found, "flash_attn.version") is Absent


def test_removing_one_distribution_leaves_another_of_the_package() -> None:
    host = golden(HOST, triton__distribution="triton-windows")
    found = after(host, Step(StepKind.UNINSTALL, "", ("triton",)))
    assert value(found, "triton.version") == value(after(host), "triton.version")


def test_nvidia_wheels_change_in_their_own_list() -> None:
    host = golden(
        HOST, packages__nvidia={"nvidia-cudnn-cu12": "9.1.0.70", "nvidia-cudnn-cu13": "9"}
    )
    gone = Step(StepKind.UNINSTALL, "", ("nvidia-cudnn-cu13",))
    found = after(host, gone, install("nvidia-cudnn-cu12==9.10.2.21"))
    assert value(found, "packages.nvidia") == {"nvidia-cudnn-cu12": "9.10.2.21"}


def test_variables_and_declared_effects() -> None:
    set_ = Step(StepKind.SET, "", ("MAX_JOBS=2",))
    unset = Step(StepKind.UNSET, "", ("LD_LIBRARY_PATH",))
    told = Step(StepKind.ADVICE, "Update.", effects={"driver.version": "580.65.06"})
    every = Step(StepKind.SYSTEM, "run", effects={"gpu[].visible": True})
    found = after(golden(HOST), set_, unset, told, every)
    names = ("env.MAX_JOBS", "env.LD_LIBRARY_PATH", "driver.version", "gpu[0].visible")
    assert [value(found, name) for name in names] == ["2", Absent, "580.65.06", True]


def test_prose_is_told_from_what_changes_facts() -> None:
    prose = Step(StepKind.ADVICE, "Restart.")
    setting = Step(StepKind.SETTING, "x", effects={"config.attention": "sdpa"})
    host = golden(HOST)
    assert after(host, prose).says_nothing
    assert after(host, prose, install("einops==0.8.1")).has_prose
    assert after(host, setting, prose).is_setting
    assert not after(host, setting, install("einops==0.8.1")).is_setting


def test_of_a_range_that_ends_the_newest_release_comes() -> None:
    """Seen: a range was judged as its oldest release, which the others refuse, and not told."""
    found = after(golden(HOST), install("peft>=0.7.0,<=0.17.1"))
    assert value(found, "peft.version") == "0.17.1"
