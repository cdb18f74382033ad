"""Jetsons: builds for ARM servers run on few of them, and no table lists NVIDIA's own."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.knowledge.matrix.wheels import OFFICIAL, WheelRequest
from fadoctor.model.fact import Known, Unknown
from fadoctor.sources.targets.gpu_code import gpu_code
from tests.unit.repair.plan.problems import golden, plan, session

_CPU: dict[str, object] = {
    "torch__version": "2.8.0",
    "torch__build": "cpu",
    "torch__cuda": None,
    "torch__requires": {},
}


def jetson(gpu: str, capability: str, cuda: str | None) -> dict[str, object]:
    """Return what a Jetson changes: ``cuda`` is that of its JetPack."""
    return {
        "gpu[0]__name": gpu,
        "gpu[0]__compute_capability": capability,
        "host__platform": "linux_aarch64",
        "host__machine": "aarch64",
        "host__tegra": True,
        "driver__version": None,
        "driver__cuda": cuda,
    }


def builds(gpu: str, capability: str, cuda: str | None) -> set[str]:
    """Return the versions of torch that could be planned on a Jetson."""
    found = golden("linux-a100-healthy", **_CPU, **jetson(gpu, capability, cuda))
    return {choice.version for choice in session().candidates.torch(found)}


@pytest.mark.parametrize(
    ("gpu", "capability", "cuda"),
    [
        ("Orin", "8.7", "12.6"),  # JetPack 6
        ("Orin", "8.7", None),
        ("Xavier", "7.2", "11.4"),
        ("Jetson TX2", "6.2", None),
    ],
)
def test_no_build_for_servers_is_planned_that_has_no_code_for_a_jetson(
    gpu: str, capability: str, cuda: str | None
) -> None:
    """PyPI's torch was planned for an Orin with JetPack 6, which cannot start it."""
    assert builds(gpu, capability, cuda) == set()


def test_an_orin_takes_builds_for_servers_from_cuda_13_2_on() -> None:
    found = builds("Orin", "8.7", "13.2")
    assert "2.15.0" in found
    assert found.isdisjoint({"2.11.0", "2.13.0", "2.14.1"})


@pytest.mark.parametrize("cuda", ["13.0", None])
def test_thor_takes_what_has_code_for_it(cuda: str | None) -> None:
    found = builds("Thor", "11.0", cuda)
    assert {"2.11.0", "2.15.0"} <= found
    assert not any(version.startswith("2.8") for version in found)


def test_what_is_left_to_a_person_is_said() -> None:
    environment = golden("linux-a100-healthy", **_CPU, **jetson("Orin", "8.7", "12.6"))
    found = plan(environment)
    assert not any(change.distribution == "torch" for change in found.changes)
    assert any("known torch build for this Jetson" in note for note in found.notes)
    assert any("JetPack" in action.text for action in found.actions)


def test_vllm_for_servers_is_none_for_a_jetson() -> None:
    """It was planned beside NVIDIA's own torch, because its requirement of torch was met."""
    own = {"torch__version": "2.8.0", "torch__build": "other", "torch__cuda": "12.6"}
    there = {**own, "torch__requires": {}, **jetson("Orin", "8.7", "12.6")}
    found = plan(golden("linux-a100-healthy", **there), want=("vllm",))
    assert not any(change.distribution == "vllm" for change in found.changes)
    assert any("vllm:latest-jetson-orin" in note for note in found.notes)


def test_no_build_is_planned_for_a_jetson_whose_gpu_nobody_names() -> None:
    """A text shows the kernel of a Jetson and no GPU: builds for servers were let through."""
    environment = golden("linux-a100-healthy", **_CPU, **jetson("Orin", "8.7", "12.6"))
    gone = {name: Unknown("the text does not say", "test") for name in _OF_GPU}
    environment = msgspec.structs.replace(
        environment,
        facts={n: f for n, f in environment.facts.items() if not n.startswith("gpu[")} | gone,
    )
    assert session().candidates.torch(environment) == ()
    found = plan(environment)
    assert not any(change.distribution == "torch" for change in found.changes)
    assert any("jetson-ai-lab" in action.text for action in found.actions)


@pytest.mark.parametrize(
    ("gpu", "capability", "is_ruled_out"),
    [("Thor", "11.0", True), ("GB10", "12.1", False), ("GH200", "9.0", False)],
)
def test_a_file_that_cannot_have_code_for_the_gpu_is_ruled_out(
    gpu: str, capability: str, *, is_ruled_out: bool
) -> None:
    """The authors' file for ARM came to a Thor: none of its nvccs makes code for 11.0."""
    environment = golden("linux-a100-healthy", **jetson(gpu, capability, "13.0"))
    files = session().candidates.files
    request = WheelRequest("2.10", "13.0", "cp312", "linux_aarch64", cxx11_abi=True)
    file = next(each for each in files.wheels.fitting(request) if each.source == OFFICIAL)
    code = files.sure_code(environment, file)
    assert bool(code) is (is_ruled_out or capability == "9.0")
    facts = {**environment.facts, **code}
    lacking = gpu_code(
        msgspec.structs.replace(environment, facts=facts), session().matrix, ("flash_attn",)
    ).get("flash_attn.binary.no_code_for")
    assert (isinstance(lacking, Known) and lacking.value == (capability,)) is is_ruled_out


_OF_GPU = ("gpu.count", "gpu.visible_count")
