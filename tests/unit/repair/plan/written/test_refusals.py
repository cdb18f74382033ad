"""What works instead, where a package for attention cannot be installed."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from tests.states.starts import start
from tests.unit.repair.plan.problems import golden, plan

GPU = ("NVIDIA GeForce RTX 4090", "8.9", "580.65.06")


def notes(platform: str, want: str = "flash-attn") -> str:
    there = start("empty", GPU, "3.11")
    facts = {**there.facts, "host.platform": Known(platform, "test")}
    return " ".join(plan(msgspec.structs.replace(there, facts=facts), want=(want,)).notes)


def test_windows_on_arm_has_torch_s_own_attention() -> None:
    found = notes("win_arm64")
    assert 'attn_implementation="sdpa"' in found
    assert "third party" not in found
    assert notes("win_amd64").count("sdpa") == 0  # there a plan is made


def test_macos_has_no_cuda() -> None:
    found = notes("macosx_14_0_arm64")
    assert "macOS does not have" in found
    assert "third party" not in found


def test_a_mac_is_told_of_its_own_gpu() -> None:
    """It has no GPU that a package for attention runs on, and was told of its CPU alone."""
    there = msgspec.structs.replace(start("torch 2.11", GPU, "3.12"), overlays=("--gpu none",))
    gone = {"gpu.count": Known(0, "test"), "gpu.visible_count": Known(0, "test")}
    facts = {**there.facts, **gone, "host.platform": Known("macosx_arm64", "test")}
    found = plan(msgspec.structs.replace(there, facts=facts), want=("flash-attn",))
    assert "mps" in " ".join(found.notes)
    assert "works on a CPU" not in " ".join(found.notes)


@pytest.mark.long
def test_a_server_for_newer_gpus_is_refused_with_the_one_that_starts() -> None:
    old = ("Tesla V100-SXM2-16GB", "7.0", "580.65.06")
    found = plan(start("empty", old, "3.11"), want=("sglang",))
    told = " ".join(found.notes)
    assert not found.changes
    assert "sglang needs compute capability 7.5 or newer; the GPU here has 7.0" in told
    assert "<0.20 supports compute capability 7.0" in told
    assert "needs compute" not in " ".join(
        plan(start("empty", GPU, "3.11"), want=("sglang",)).notes
    )


def test_what_can_be_planned_needs_no_word() -> None:
    assert "sdpa" not in notes("linux_x86_64")
    assert "sdpa" not in notes("win_amd64", "transformers")


def test_without_a_gpu_torch_s_own_attention_is_named_and_nothing_installed() -> None:
    there = msgspec.structs.replace(start("torch 2.11", GPU), overlays=("--gpu none",))
    facts = {**there.facts, "gpu.count": Known(0, "test"), "gpu.visible_count": Known(0, "test")}
    found = plan(msgspec.structs.replace(there, facts=facts), want=("flash-attn",))
    assert not found.changes
    assert "run on GPUs only" in " ".join(found.notes)


def test_a_release_that_no_table_has_is_refused_with_those_that_can_be_planned() -> None:
    """It requires its torch in an extra: a torch alone would be gigabytes for nothing."""
    found = plan(start("empty", GPU, "3.11"), want=("sglang==0.4.7",))
    assert not found.changes
    assert "the tables do not list the torch that sglang==0.4.7 requires" in " ".join(found.notes)
    known = plan(start("empty", GPU, "3.11"), want=("sglang==0.5.20",))
    assert known.changes
    assert "no table" not in " ".join(known.notes)


def test_a_third_party_s_file_is_for_the_torch_that_is_there() -> None:
    """The newest one was named, for a torch that nobody has yet."""
    there = start("torch 2.6 with vision and audio", GPU, "3.11")
    told = {"host.platform": Known("win_amd64", "test"), "torch.cxx11_abi": Unknown("?", "test")}
    found = plan(
        msgspec.structs.replace(there, facts={**there.facts, **told}), want=("flash-attn",)
    )
    [action] = found.actions
    assert "torch2.6-cp311-cp311-win_amd64.whl" in action.url
    assert any("third party" in said for said in action.side_effects)


@pytest.mark.parametrize(
    ("gfx", "words"),
    [
        ("gfx942", "compile for gfx942 with hipcc"),
        ("gfx1100", "Triton backend needs FLASH_ATTENTION_TRITON_AMD_ENABLE"),
    ],
)
def test_an_amd_gpu_gets_no_cuda_and_the_way_of_rocm(gfx: str, words: str) -> None:
    """All that was said was that flash-attn fails."""
    there = start("empty", GPU, "3.11")
    amd = {"gpu[0].vendor": "amd", "gpu[0].gfx": gfx, "gpu[0].name": "AMD"}
    gone = {"gpu[0].compute_capability": Absent("test"), "driver.version": Absent("test")}
    facts = {**there.facts, **gone, **{name: Known(value, "test") for name, value in amd.items()}}
    found = plan(msgspec.structs.replace(there, facts=facts), want=("flash-attn",))
    assert not any("cu1" in change.after for change in found.changes)
    assert words in " ".join(found.notes)
    assert 'attn_implementation="sdpa"' in " ".join(found.notes)


@pytest.mark.parametrize("name", ["unsloth", "vllm", "sglang"])
def test_without_a_gpu_a_framework_that_needs_one_replaces_no_torch(name: str) -> None:
    """The torch of the CPU made way for gigabytes, and the plan said that all was right."""
    there = msgspec.structs.replace(start("CPU torch", GPU), overlays=("--gpu none",))
    facts = {**there.facts, "gpu.count": Known(0, "test"), "gpu.visible_count": Known(0, "test")}
    found = plan(msgspec.structs.replace(there, facts=facts), want=(name,))
    assert not found.changes
    assert f"{name} needs a GPU: to plan for another machine" in " ".join(found.notes)


@pytest.mark.long
def test_a_framework_without_a_file_for_the_platform_is_refused_for_that() -> None:
    found = notes("macosx_arm64", "vllm")
    assert "no known release of vllm has a prebuilt wheel for macosx_arm64" in found
    assert 'attn_implementation="sdpa"' in found
    assert "--gpu" not in found
    assert "WSL" not in found
    assert "win_amd64; those for linux_x86_64 run in WSL 2" in notes("win_amd64", "vllm")
    assert "prebuilt" not in notes("linux_x86_64", "vllm")


@pytest.mark.parametrize(("build", "count"), [("other", 3), ("pypi", 0)])
def test_an_own_build_of_torch_is_asked_for_its_abi(build: str, count: int) -> None:
    """conda's was refused every file, with no word about why."""
    there = start("torch 2.6 with vision and audio", GPU, "3.11")
    told = {"torch.build": Known(build, "test"), "torch.cxx11_abi": Unknown("not read", "test")}
    found = plan(
        msgspec.structs.replace(there, facts={**there.facts, **told}), want=("flash-attn",)
    )
    notes = [note for note in found.notes if "C++ ABI" in note or "if that prints" in note]
    assert len(notes) == count
    for note in notes[1:]:
        assert f"cxx11abi{'TRUE' if 'prints True' in note else 'FALSE'}-cp311" in note


@pytest.mark.parametrize(
    ("changes", "is_said"),
    [
        ({"flash_attn__version": "2.7.4.post1", "flash_attn__wheel__prebuilt": False}, True),
        ({"flash_attn__version": "2.7.4.post1"}, False),
        ({"flash_attn__wheel__prebuilt": True}, False),
        ({"flash_attn__wheel__prebuilt": False, "python__abi_tag": "cp38"}, False),
        (
            {
                "flash_attn__version": "2.7.4.post1",
                "flash_attn__wheel__prebuilt": False,
                "gpu[0]__vendor": "amd",
            },
            False,
        ),
    ],
)
def test_what_is_compiled_where_another_release_has_a_wheel_is_named(
    changes: dict[str, object], *, is_said: bool
) -> None:
    """Without isolation to compile it may be meant, so that nothing was said of it at all."""
    told = [note for note in plan(golden("linux-a100-healthy", **changes)).notes if "wheel" in note]
    assert bool(told) == is_said
    assert all(
        "flash-attn 2.7.4.post1 has no prebuilt wheel" in each and "2.8.3.post1 has one" in each
        for each in told
    )


@pytest.mark.parametrize("name", ["vllm", "flash-attn"])
def test_a_torch_for_the_cpu_stays_where_no_gpu_was_found(name: str) -> None:
    """It made way for gigabytes that nothing there can run."""
    there = start("CPU torch", GPU)
    facts = {**there.facts, "gpu.count": Known(0, "test"), "gpu.visible_count": Known(0, "test")}
    assert not plan(msgspec.structs.replace(there, facts=facts), want=(name,)).changes


def test_what_needs_a_gpu_is_named_where_none_was_found() -> None:
    """It was planned, and the plan said that it has no package that needs a GPU."""
    there = start("torch 2.6 with vision and audio", GPU)
    facts = {**there.facts, "gpu.count": Known(0, "test"), "gpu.visible_count": Known(0, "test")}
    found = plan(msgspec.structs.replace(there, facts=facts), want=("flash-attn",))
    told = " ".join(found.notes)
    assert found.changes
    assert "flash-attn needs one: the plan does not prove that it runs" in told
    assert "has and proves no package" not in told


def test_nobody_is_sent_to_a_file_that_has_no_kernels_for_the_gpu() -> None:
    there = start("torch 2.6 with vision and audio", ("GTX 1660 Ti", "7.5", "566.36"), "3.11")
    told = {"host.platform": Known("win_amd64", "test")}
    found = plan(
        msgspec.structs.replace(there, facts={**there.facts, **told}), want=("flash-attn",)
    )
    assert not any("third party" in note for note in found.notes)


@pytest.mark.parametrize(("capability", "is_told"), [("6.0", True), ("7.5", False)])
def test_a_gpu_that_a_package_s_authors_do_not_support_is_told(
    capability: str, *, is_told: bool
) -> None:
    there = start("torch 2.6 with vision and audio", ("Tesla", capability, "560.35.03"), "3.11")
    found = plan(there, want=("unsloth",))
    told = [each for each in found.proof.unknown if each.startswith("unsloth: its authors")]
    assert bool(told) is is_told
