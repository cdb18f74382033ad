"""Plans for whole environments: what is changed, what is left alone, and what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Known
from fadoctor.model.plan import ActionKind, Plan, PlanOutcome, Proof
from fadoctor.repair.plan.planner import hiding
from tests.unit.repair.plan.problems import golden, plan, with_package, without

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

MISMATCH, BLACKWELL = "linux-4090-wheel-mismatch", "linux-5090-torch26"
PYTHON_314: dict[str, Any] = {
    "python__version": "3.14.0",
    "python__tag": "cp314",
    "python__abi_tag": "cp314",
    "python__ext_suffix": ".cpython-314-x86_64-linux-gnu.so",
    "torch__wheel__tags": ("cp314-cp314-manylinux_2_28_x86_64",),
}
HEALTHY, VOLTA, BOTH = "linux-a100-healthy", "linux-v100-torch210", "linux-v100-and-a100"


def changed(found: Plan) -> dict[str, str]:
    return {change.distribution: change.after for change in found.changes}


def kinds(found: Plan) -> list[ActionKind]:
    return [action.kind for action in found.actions]


def test_what_works_is_left_alone() -> None:
    found = plan(golden(HEALTHY))
    assert (found.outcome, found.actions, found.proof) == (PlanOutcome.NOTHING, (), Proof())


def test_a_wrong_wheel_is_replaced_and_nothing_else() -> None:
    found = plan(golden(MISMATCH))
    assert found.outcome is PlanOutcome.REPAIRS
    assert list(changed(found)) == ["flash-attn"]
    assert found.proof.clean


def test_a_torch_without_code_for_the_gpu_moves_with_its_triton_and_wheel() -> None:
    found = plan(golden(BLACKWELL))
    assert found.outcome is PlanOutcome.REPAIRS
    assert set(changed(found)) == {"torch", "triton", "flash-attn", "sympy"}
    first = found.actions[0]
    assert first.kind is ActionKind.INSTALL  # torch before what is made for it
    assert first.requirements[0].startswith("torch==")
    assert "torch-arch-unsupported" in first.findings


def test_the_nearest_torch_with_code_for_the_gpu_comes_not_the_newest() -> None:
    assert changed(plan(golden(BLACKWELL)))["torch"] == "2.7.1+cu128"  # of 2.6.0


def test_a_torch_that_was_moved_from_under_what_is_compiled_for_it_goes_back() -> None:
    """Another vLLM would be as large a step, and more of what is beside it would follow."""
    needs = {"torch": "==2.7.1", "compressed-tensors": "==0.10.2", "xgrammar": "==0.1.21"}
    here = with_package(without(golden(HEALTHY), "flash_attn"), "vllm", "0.10.0", needs)
    here = with_package(here, "compressed_tensors", "0.10.2")
    here = with_package(here, "xgrammar", "0.1.21")
    assert changed(plan(here)).keys() == {"torch", "triton", "sympy"}


def test_what_the_gpu_cannot_do_is_removed_with_its_settings() -> None:
    found = plan(golden(VOLTA))
    assert changed(found) == {"flash-attn": ""}
    assert found.proof.clean
    assert ActionKind.SETTING in kinds(found)
    removal = next(a for a in found.actions if a.kind is ActionKind.UNINSTALL)
    assert any("sdpa" in effect for effect in removal.side_effects)


def test_triton_is_never_removed_for_a_gpu() -> None:
    """The advice that is found everywhere for V100: it repairs nothing."""
    for name in (VOLTA, BLACKWELL, MISMATCH):
        assert changed(plan(golden(name))).get("triton") != ""


def test_a_package_stays_for_the_gpu_that_can_use_it() -> None:
    """Removing flash-attn for the V100 would take it from the A100 beside it."""
    found = plan(golden(BOTH))
    assert changed(found) == {}
    assert found.outcome is PlanOutcome.PARTIAL
    assert found.proof.by_setting == ("gpu-too-old-fa2",)


def test_system_problems_are_for_a_person() -> None:
    found = plan(golden("linux-t4-container-no-libcuda"))
    assert found.outcome is PlanOutcome.PARTIAL
    assert found.proof.errors == ("driver-lib-missing-container",)
    assert all(not action.argv for action in found.actions)
    assert ActionKind.SYSTEM in kinds(found)


@pytest.mark.parametrize("name", ["linux-t4-container-no-libcuda", VOLTA, BOTH, BLACKWELL])
def test_hiding_what_is_found_changes_no_step_of_a_plan(name: str) -> None:
    found = plan(golden(name))
    ids = {*found.proof.errors, *(each for action in found.actions for each in action.findings)}
    hidden = hiding(found, tuple(ids))
    assert hidden.changes == found.changes
    assert list(hidden.actions) == [action for action in found.actions if action.is_step]
    assert hidden.proof.errors == ()
    assert hiding(found, ()) is found


def test_where_all_that_is_left_is_hidden_nothing_is_left() -> None:
    found = plan(golden("linux-t4-container-no-libcuda"))
    assert hiding(found, ("driver-too-old",)) == found
    assert hiding(found, ("driver-lib-missing-container",)).outcome is PlanOutcome.NOTHING


def test_variables_are_unset_before_packages_are_judged() -> None:
    vllm = with_package(golden(HEALTHY), "vllm", "0.33.0", {"torch": "==2.8.0"})
    variable = {"env.VLLM_ATTENTION_BACKEND": Known("XFORMERS", "test")}
    found = plan(msgspec.structs.replace(vllm, facts={**vllm.facts, **variable}))
    [action] = [action for action in found.actions if action.env]
    assert action.kind is ActionKind.UNSET
    assert action.env == {"VLLM_ATTENTION_BACKEND": ""}
    assert "vllm-backend-removed" not in found.proof.errors


def test_what_is_wanted_and_missing_is_installed() -> None:
    found = plan(without(golden(HEALTHY), "flash_attn"), want=("flash-attn",))
    assert found.outcome is PlanOutcome.REPAIRS
    assert set(changed(found)) == {"flash-attn"}


def test_the_same_release_is_removed_before_it_is_installed_again() -> None:
    """The installer would find that it is there already."""
    before = with_package(golden(HEALTHY), "xformers", "0.0.32.post2", {"torch": "==2.8.0"})
    before = msgspec.structs.replace(
        before, facts={**before.facts, "xformers.extension": Absent("no file _C")}
    )
    found = plan(before)
    assert found.outcome is PlanOutcome.REPAIRS
    assert changed(found)["xformers"] == "0.0.32.post2"
    assert kinds(found)[:2] == [ActionKind.UNINSTALL, ActionKind.INSTALL]
    assert "xformers-no-cuda-ext" in found.actions[1].findings


def test_what_is_kept_is_kept() -> None:
    found = plan(golden(BLACKWELL), keep=("torch",))
    assert "torch" not in changed(found)
    [conflict] = found.conflicts
    assert conflict.because == ("torch 2.6.0 stays as it is",)
    assert conflict.alternatives[0].changes[0].distribution == "torch"


def test_compiling_is_only_offered() -> None:
    """Python 3.14 has no file for torch 2.8: without leave to compile that is the end."""
    environment = golden(HEALTHY, **PYTHON_314)
    found = plan(environment, keep=("torch",))
    assert ActionKind.BUILD not in kinds(found)
    [conflict] = found.conflicts
    ways = [alternative.give_up for alternative in conflict.alternatives]
    assert "compile it here (--allow-build)" in ways
    assert any("own attention" in way for way in ways)


def test_a_build_says_what_it_needs() -> None:
    environment = golden(
        HEALTHY, **PYTHON_314,
        toolkit__nvcc__version="12.8", toolkit__gxx__version="13.2",
        host__cores=32, host__memory_bytes=64 << 30,
    )  # fmt: skip
    found = plan(environment, keep=("torch",), allow_build=True)
    [build] = [action for action in found.actions if action.kind is ActionKind.BUILD]
    assert build.env["FLASH_ATTN_CUDA_ARCHS"] == "80"
    assert build.env["MAX_JOBS"] == "7"  # 64 GiB, nine for each
    assert "--no-build-isolation" in build.argv
    tools = found.actions[found.actions.index(build) - 1]
    assert set(tools.requirements) <= {"packaging", "setuptools", "wheel", "psutil"}
    assert found.proof.clean


def test_packages_of_other_makers_are_called_so() -> None:
    found = plan(golden(MISMATCH, **PYTHON_314))
    files = [action for action in found.actions if action.url]
    assert files
    assert all(
        any("third party" in effect for effect in action.side_effects)
        for action in files
        if "Dao-AILab" not in action.url
    )


def test_without_a_gpu_nothing_is_wished_of_one() -> None:
    environment = golden("no-driver-laptop")
    assert plan(environment).outcome is PlanOutcome.NOTHING


def test_names_that_nobody_knows_are_refused() -> None:
    with pytest.raises(UsageError, match="--want"):
        plan(golden(HEALTHY), want=("flash-atention",))


def test_an_externally_managed_environment_gets_a_new_one() -> None:
    found = plan(golden(MISMATCH), fresh=".venv-new")
    assert found.actions[0].kind is ActionKind.VENV
    commands = [action.argv for action in found.actions if action.argv][1:]
    assert all(argv[0] == ".venv-new/bin/python" for argv in commands)
    assert any("torch==2.8.0" in argv for argv in commands)
    assert not [a for a in found.actions if a.kind is ActionKind.UNINSTALL]


def test_followers_move_along() -> None:
    """A package that pins torch, and whose releases no table knows: the installer chooses one."""
    environment = golden(BLACKWELL)
    requirements = {"torchtext": {"torch": "==2.6.0"}}
    installed = dict(environment.facts["packages.installed"].value, torchtext="0.18.0")  # type: ignore[union-attr, arg-type]
    found = plan(golden(BLACKWELL, packages__installed=installed), requirements=requirements)
    assert changed(found)["torchtext"] == "what the installer finds"
    assert found.proof.requirements == ()
    [install] = [action for action in found.actions if action.kind is ActionKind.INSTALL]
    # one resolution: it cannot take torch back; no release from before what is installed
    assert "torchtext>=0.18.0" in install.requirements


BESIDE = {"torchvision": "0.21.0", "torchaudio": "2.6.0"}


def with_beside(environment: Environment, versions: dict[str, str]) -> Environment:
    """Return an environment with torchvision and torchaudio for torch 2.6.0."""
    for name, version in versions.items():
        environment = with_package(environment, name, version, {"torch": "==2.6.0"})
    return environment


def test_torchvision_and_torchaudio_move_with_torch_in_one_command() -> None:
    """Two commands, the second without versions, took torch back."""
    found = plan(with_beside(golden(BLACKWELL), BESIDE))
    [install] = [action for action in found.actions if action.kind is ActionKind.INSTALL]
    torch = changed(found)["torch"]
    pins = {item.partition("==")[0]: item.partition("==")[2] for item in install.requirements}
    assert (pins["torch"], pins["torchaudio"]) == (torch, torch)
    assert pins["torchvision"].partition("+")[2] == torch.partition("+")[2]
    assert found.proof.clean


@pytest.mark.parametrize(
    ("build", "cuda", "versions", "expected"),
    [
        ("pypi", "12.4", {"torchvision": "0.21.0", "torchaudio": "2.6.0"}, {}),
        ("pypi", "12.4", {"torchvision": "0.20.1"}, {"torchvision": "0.21.0"}),
        ("pypi", "12.4", {"torchvision": "0.21.0+cpu"}, {"torchvision": "0.21.0"}),
        ("cu118", "11.8", {"torchaudio": "2.6.0"}, {"torchaudio": "2.6.0+cu118"}),
        ("cu126", "12.6", {"torchaudio": "2.6.0+cu124"}, {}),
        ("other", "12.4", {"torchvision": "0.20.1"}, {}),
    ],
)
def test_torchvision_and_torchaudio_of_another_torch_are_repaired(
    build: str, cuda: str, versions: dict[str, str], expected: dict[str, str]
) -> None:
    """Also where nothing else is wrong; a build of the same CUDA major is left alone."""
    local = "" if build == "pypi" else f"+{build}"
    environment = golden(
        HEALTHY, torch__version=f"2.6.0{local}", torch__build=build, torch__cuda=cuda,
        torch__requires={"triton": "==3.2.0"}, triton__version="3.2.0",
    )  # fmt: skip
    found = plan(with_beside(environment, versions), keep=("torch", "triton", "flash-attn"))
    assert {name: changed(found)[name] for name in versions if name in changed(found)} == expected


def test_a_build_is_replaced_by_what_the_installer_does_not_take_for_it() -> None:
    """torchvision 0.21.0+cpu satisfies the torchvision==0.21.0 that is asked for."""
    environment = golden(
        HEALTHY, torch__version="2.6.0", torch__cuda="12.4",
        torch__requires={"triton": "==3.2.0"}, triton__version="3.2.0",
    )  # fmt: skip
    found = plan(
        with_beside(environment, {"torchvision": "0.21.0+cpu"}),
        keep=("torch", "triton", "flash-attn"),
    )
    removal, install = (action for action in found.actions if action.argv)
    assert removal.requirements == ("torchvision",)
    assert install.requirements == ("torchvision==0.21.0",)


@pytest.mark.long
@pytest.mark.slow
def test_facts_of_a_hostile_environment_do_not_reach_a_command() -> None:
    bad = "1; touch /tmp/x"
    environment = golden(
        MISMATCH, packages__installed={"flash-attn": bad, "torch": "2.8.0", "x\n\x1b": "1"},
        flash_attn__distribution="--index-url=http://evil",
    )  # fmt: skip
    found = plan(environment)
    text = repr([(action.argv, action.undo) for action in found.actions])
    assert "touch" not in text
    assert "evil" not in text


@pytest.mark.parametrize(
    ("package", "version", "requires", "kept"),
    [
        # each recipe was published; every part of it is kept as it says
        ("unsloth", "2024.10.7", {"transformers": "<4.45.0"}, {"transformers": "4.46.0"}),
        ("vllm", "0.11.0", {"torch": "==2.8.0"}, {"torch": "2.7.1"}),
        ("xformers", "0.0.29.post3", {"torch": "==2.6.0"}, {"torch": "2.8.0"}),
    ],
)
def test_published_recipes_that_cannot_be(
    package: str, version: str, requires: dict[str, str], kept: dict[str, str]
) -> None:
    environment = with_package(golden(HEALTHY), package, version, requires)
    for name, there in kept.items():
        environment = with_package(environment, name, there)
    found = plan(environment, keep=(package, *kept))
    assert found.outcome in (PlanOutcome.IMPOSSIBLE, PlanOutcome.PARTIAL)
    because = " ".join(text for conflict in found.conflicts for text in conflict.because)
    assert f"{package} requires {next(iter(requires))}" in because


@pytest.mark.parametrize("capability", ["7.0", "7.5"])
def test_flash_attn_on_volta_and_turing_cannot_be(capability: str) -> None:
    environment = golden(VOLTA, **{"gpu[0]__compute_capability": capability})
    found = plan(environment, want=("flash-attn",))
    [conflict] = [c for c in found.conflicts if c.wish.startswith("fa2")]
    assert f"compute capability {capability}" in conflict.because[0]
    assert changed(found).get("flash-attn", "") == ""


def test_for_rocm_only_advice_is_given() -> None:
    """The tables hold releases for CUDA: one of those would be the worst of repairs."""
    amd = {"gpu[0]__vendor": "amd", "gpu[0]__compute_capability": None, "gpu[0]__gfx": "gfx942",
           "torch__build": "rocm", "torch__hip": "6.2", "torch__cuda": None}  # fmt: skip
    found = plan(golden(MISMATCH, **amd))
    assert found.changes == ()
    assert all(not action.kind.is_run for action in found.actions)
    assert any("AMD's GPUs" in note for note in found.notes)


def test_an_own_build_of_torch_is_not_replaced() -> None:
    found = plan(golden(BLACKWELL, torch__build="other", torch__version="2.6.0a0+nv25.01"))
    assert "torch" not in changed(found)


def test_what_conda_installed_is_named() -> None:
    found = plan(golden(MISMATCH, flash_attn__installer="conda"))
    assert any("conda remove" in note for note in found.notes)


def test_undoing_by_hand_takes_the_file_that_it_was() -> None:
    url = "https://e.org/flash_attn-2.7.3-cp311-cp311-linux_x86_64.whl"
    [action] = plan(golden(MISMATCH, flash_attn__direct_url=url)).actions
    assert f"'flash-attn @ {url}'" in action.undo
    [other] = plan(golden(MISMATCH, flash_attn__direct_url="https://e.org/x y; z.whl")).actions
    assert "z.whl" not in other.undo


def test_undoing_by_hand_takes_the_index_that_torch_was_from() -> None:
    before = golden(BLACKWELL, torch__version="2.6.0+cu124", torch__build="cu124")
    installed = before.facts["packages.installed"]
    assert isinstance(installed, Known)
    there = {**installed.value, "torch": "2.6.0+cu124"}  # type: ignore[dict-item] # a mapping
    facts = {**before.facts, "packages.installed": Known(there, "test")}
    first = plan(msgspec.structs.replace(before, facts=facts)).actions
    undo = next(action.undo for action in first if "torch==2.6.0+cu124" in action.undo)
    assert "--index-url https://download.pytorch.org/whl/cu124" in undo


def test_a_range_that_a_fix_asks_for_is_installed_as_one_exact_release() -> None:
    """An installer took transformers 5 for ``>=4.55.2``; 4.55.2 was what had been judged."""
    environment = with_package(golden("linux-a100-healthy"), "transformers", "4.53.0")
    needs = {"transformers": ">=4.55.2"}
    made = plan(with_package(environment, "vllm", "0.11.0", needs), keep=("vllm", "torch"))
    items = [i for action in made.actions if action.kind.is_run for i in action.requirements]
    [release] = [item.partition("==")[2] for item in items if item.startswith("transformers")]
    assert is_in(release, ">=4.55.2,<5") is True, items


def hidden(package: str, version: str) -> dict[str, Any]:
    """Return the facts of a package that PYTHONPATH hides."""
    return {
        "packages__hidden": {package: f"1.0 instead of {version}"},
        "packages__hidden_by": ("/opt/modules",),
        "packages__hidden_how": ("PYTHONPATH",),
        "env__PYTHONPATH": "/opt/modules",
        "python__installer": "venv",
        f"{package}__hidden_version": version,
    }


def test_where_the_environments_torch_is_hidden_no_package_is_changed() -> None:
    """What is imported without PYTHONPATH was not read: nobody can say what it needs."""
    found = plan(golden(MISMATCH, **hidden("torch", "2.6.0")))
    assert kinds(found) == [ActionKind.UNSET]
    assert (found.conflicts, found.proof.lost) == ((), ())
    assert any("run fadoctor again" in note for note in found.notes)


def test_another_package_that_is_hidden_is_no_reason_to_plan_nothing() -> None:
    found = plan(golden(MISMATCH, **hidden("transformers", "4.57.1")))
    assert ActionKind.UNSET in kinds(found)
    assert "wheel-torch-mismatch" not in found.proof.errors
    assert any(action.requirements for action in found.actions)
