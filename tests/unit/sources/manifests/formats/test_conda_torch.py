from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.formats.conda_build import is_cpu
from fadoctor.sources.manifests.formats.environment_yml import read
from tests.unit.sources.manifests.given import by_name, given

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest


def environment(channels: str, *packages: str) -> Manifest:
    rows = "".join(f"  - {each}\n" for each in packages)
    return read(given(f"channels: [{channels}]\ndependencies:\n{rows}", "environment.yml"))


def cuda(manifest: Manifest) -> str:
    found = manifest.facts.get("torch.cuda")
    return found.value if found else ""


@pytest.mark.parametrize(
    ("channels", "packages", "torch", "version"),
    [
        ("pytorch", ("python=3.8", "pytorch=1.9", "cudatoolkit=11.1"), "==1.9.1", "11.1"),
        ("pytorch", ("pytorch==1.12.1", "cudatoolkit=11.3"), "==1.12.1", "11.3"),
        ("pytorch", ("python=3.6", "pytorch", "cudatoolkit=10.2"), ">=1.5.0,<=1.10.2", "10.2"),
        ("pytorch", ("torchvision=0.12.0", "pytorch", "cudatoolkit=11.5"), "==1.11.0", "11.5"),
        # the newest torch asks for no cudatoolkit
        ("pytorch", ("python=3.9", "pytorch", "cudatoolkit=11.3"), "", ""),
        # which of two channels has it is open
        ("conda-forge, pytorch", ("pytorch=1.9", "cudatoolkit=11.1"), "==1.9.*", ""),
        ("defaults, pytorch", ("pytorch=1.9", "cudatoolkit=10.2"), "==1.9.*", ""),
        # channel defaults has no cudatoolkit 11.1, nor a torch for it
        ("defaults, pytorch", ("pytorch=1.9", "cudatoolkit=11.1"), "==1.9.*", "11.1"),
        ("nvidia, pytorch", ("pytorch", "pytorch-cuda=12.4"), ">=2.4.0,<=2.5.1", "12.4"),
        # an older torch does not ask for pytorch-cuda
        ("pytorch, nvidia", ("pytorch=1.11", "pytorch-cuda=11.7"), "==1.11.*", ""),
    ],
)
def test_what_decides_on_the_cuda_of_torch(
    channels: str, packages: tuple[str, ...], torch: str, version: str
) -> None:
    found = environment(channels, *packages)
    assert (by_name(found)["torch"].specifier, cuda(found)) == (torch, version)


@pytest.mark.parametrize(
    ("channels", "packages", "expected"),
    [
        ("pytorch", ("pytorch==1.8.0", "cudatoolkit=11.3"), True),
        ("nvidia, pytorch", ("pytorch=1.9.0", "cudatoolkit=11.3"), True),
        ("pytorch", ("pytorch==2.1.0", "cpuonly"), True),
        ("pytorch", ("pytorch==1.10.0", "cudatoolkit=11.3"), False),
        ("conda-forge", ("pytorch==1.8.0", "cudatoolkit=11.3"), False),
    ],
)
def test_without_a_build_for_that_cuda_torch_is_one_for_the_cpu(
    channels: str, packages: tuple[str, ...], *, expected: bool
) -> None:
    assert is_cpu(by_name(environment(channels, *packages))["torch"].build) is expected


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        ("py3.8_cpu_0", True),
        ("cpu_generic_py312h1234567_0", True),
        ("cuda126_py312h1234567_0", False),
        ("py3.8_cuda11.1_cudnn8.0.5_0", False),
        ("", False),
    ],
)
def test_builds_for_the_cpu(build: str, *, expected: bool) -> None:
    assert is_cpu(build) is expected


@pytest.mark.parametrize(
    ("channels", "packages", "name", "why"),
    [
        ("pytorch, defaults", ("pytorch", "pytorch-cuda=11.8"), "pytorch-cuda", "channel nvidia"),
        ("pytorch, nvidia", ("pytorch=1.13", "pytorch-cuda=11.8"), "pytorch-cuda", "11.6 and 11.7"),
        ("pytorch, nvidia", ("pytorch", "pytorch-cuda=12.8"), "pytorch-cuda", "ends with 12.4"),
        ("pytorch", ("pytorch", "cudatoolkit=12.1"), "cudatoolkit", "ends with 11.8"),
    ],
)
def test_what_conda_cannot_solve(
    channels: str, packages: tuple[str, ...], name: str, why: str
) -> None:
    assert why in environment(channels, *packages).refused[name]


@pytest.mark.parametrize(
    ("channels", "packages"),
    [
        ("pytorch, nvidia", ("pytorch=2.1", "pytorch-cuda=12.1")),
        ("pytorch, nvidia, conda-forge", ("pytorch=1.13", "pytorch-cuda=11.8")),
        ("pytorch, conda-forge", ("pytorch=2.4", "pytorch-cuda=12.4")),
        ("pytorch-nightly, nvidia", ("pytorch", "pytorch-cuda=12.8")),
        ("pytorch, my-lab", ("pytorch", "pytorch-cuda=11.7")),
        ("pytorch", ("pytorch=1.12", "cudatoolkit=11.6")),
    ],
)
def test_what_conda_may_solve(channels: str, packages: tuple[str, ...]) -> None:
    assert not environment(channels, *packages).refused


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        (("python=3.9", "pytorch", "cudatoolkit=11.3"), True),
        (("pytorch=2.1", "cudatoolkit=11.8"), True),
        (("pytorch=1.12", "cudatoolkit=11.3"), False),
        (("pytorch=2.1", "cudatoolkit=11.8", "pytorch-cuda=11.8"), False),
        (("pytorch=2.1",), False),
    ],
)
def test_a_cudatoolkit_that_decides_nothing(packages: tuple[str, ...], *, expected: bool) -> None:
    notes = environment("pytorch", *packages).notes
    assert any("does not choose the build" in each for each in notes) is expected
