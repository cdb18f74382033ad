"""Environments that people have, in a line each, as facts: where a plan starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Absent, Known
from fadoctor.model.packages import EXTENSIONS, PACKAGES, RELEASES
from fadoctor.sources.targets.derived import derive
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import golden, session, with_package

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

STARTS: dict[str, tuple[str, ...]] = {
    "empty": (),
    "torch 2.6 with vision and audio": (
        "torch 2.6.0 12.4", "triton 3.2.0", "torchvision 0.21.0", "torchaudio 2.6.0",
    ),
    "torch of another index": (
        "torch 2.8.0+cu126 12.6", "triton 3.4.0", "torchvision 0.23.0+cu126",
        "xformers 0.0.32.post2",
    ),
    "CPU torch": ("torch 2.6.0+cpu -", "torchvision 0.21.0+cpu", "torchaudio 2.6.0+cpu"),
    "CPU torch of 2.9": ("torch 2.9.1+cpu -", "torchvision 0.24.1+cpu"),
    "vLLM": (
        "torch 2.8.0 12.8", "triton 3.4.0", "torchvision 0.23.0", "torchaudio 2.8.0",
        "xformers 0.0.32.post1", "vllm 0.11.0", "transformers 4.57.1", "einops 0.8.1",
        "huggingface_hub 0.36.0", "numpy 2.0.2",
    ),
    "vLLM after a torch upgrade": (
        "torch 2.10.0 12.8", "triton 3.6.0", "torchvision 0.23.0", "torchaudio 2.8.0",
        "xformers 0.0.32.post1", "vllm 0.11.0", "transformers 4.57.1", "einops 0.8.1",
        "huggingface_hub 0.36.0", "numpy 2.0.2",
    ),
    "torch 2.11": (
        "torch 2.11.0 13.0", "triton 3.6.0", "torchvision 0.26.0", "torchaudio 2.11.0",
    ),
    "xformers of PyPI beside CUDA 13": (
        "torch 2.13.0 13.0", "triton 3.7.1", "torchvision 0.28.0", "xformers 0.0.35",
    ),
    "vision of another torch": (
        "torch 2.7.1 12.6", "triton 3.3.1", "torchvision 0.21.0", "torchaudio 2.6.0",
        "xformers 0.0.31",
    ),
    "missing triton": ("torch 2.8.0 12.8", "torchvision 0.23.0"),
    "transformers alone": (
        "torch 2.13.0 13.0", "triton 3.7.1", "transformers 5.22.2", "huggingface_hub 1.31.0",
    ),
    "a transformers whose kernels nobody can install": (
        "torch 2.14.0 13.0", "triton 3.8.0", "transformers 5.23.0", "huggingface_hub 2.1.1",
    ),
    "transformers that asks for kernels that are gone": (
        "torch 2.8.0 12.8", "triton 3.4.0", "transformers 4.57.1", "huggingface_hub 0.36.0",
    ),
    "old torch": ("torch 2.3.1 12.1", "triton 2.3.1", "xformers 0.0.27", "torchaudio 2.3.1"),
}  # fmt: skip
"""Name -> packages with versions; torch with its CUDA, ``-`` for none."""


def start(name: str, gpu: tuple[str, str, str], python: str = "3.12") -> Environment:
    """Return one of them on a machine: GPU, compute capability and driver."""
    found = golden("linux-a100-healthy", **_machine(gpu, python))
    gone = {fact: Absent("test") for fact in found.facts if fact.partition(".")[0] in PACKAGES}
    gone |= {f"{package}.version": Absent("test") for package in PACKAGES}
    new = {"packages.installed": fact_of({}), "packages.nvidia": fact_of({})}
    found = msgspec.structs.replace(found, facts={**found.facts, **gone, **new})
    for line in STARTS[name]:
        package, version, *more = line.split()
        found = with_package(found, package, version, requires_of(package, version))
        there = {f"{package}.binary.file": fact_of(f"{package}/_C.so")}
        there |= {f"{package}.binary.failure": Absent("test")}
        if package == "triton":
            there |= {"triton.binary.needed": fact_of(("libc.so.6",))}
        if package in EXTENSIONS:
            found = msgspec.structs.replace(found, facts={**found.facts, **there})
        if package == "xformers":
            there = {"xformers.extension": fact_of("_C.so"), "xformers.direct_url": Absent("test")}
            found = msgspec.structs.replace(found, facts={**found.facts, **there})
        if package == "torch":
            found = msgspec.structs.replace(
                found, facts={**found.facts, **_torch(version, more[0])}
            )
    return derive(found, session().matrix)


def requires_of(package: str, version: str) -> dict[str, str]:
    """Return what a release requires, by the tables."""
    release = version_part(version, "base") if package.startswith("torch") else version
    if package == "torch":
        [row] = [
            row
            for row in session().matrix.tables["torch-releases"].rows
            if release in str(row["version"]).split() and row["platform"] == "linux_x86_64"
        ]
        return {"triton": str(row["triton"])} if not version.endswith("+cpu") else {}
    if package == "transformers":
        keys = {"version": fact_of(version)}
        needs = session().matrix.find("transformers-hub-library", keys).cell("needs")
        return {"huggingface-hub": str(needs.value)} if isinstance(needs, Known) else {}
    for choice in session().candidates.listed.every(package) if package in RELEASES else ():
        if choice.version == release:
            requires = choice.facts[f"{package}.requires"]
            return dict(requires.value)  # type: ignore[union-attr, arg-type]
    return {}


def _machine(gpu: tuple[str, str, str], python: str) -> dict[str, object]:
    name, capability, driver = gpu
    tag = python.replace(".", "")
    return {
        "gpu[0]__name": name,
        "gpu[0]__compute_capability": capability,
        "driver__version": driver,
        "driver__library_version": driver,
        "python__version": f"{python}.3",
        "python__tag": f"cp{tag}",
        "python__abi_tag": f"cp{tag}",
        "python__ext_suffix": f".cpython-{tag}-x86_64-linux-gnu.so",
        "host__glibc": "2.35",
    }


def _torch(version: str, cuda: str) -> dict[str, object]:
    facts = {
        "torch.build": version_part(version, "local") or "pypi",
        "torch.cuda": None if cuda == "-" else cuda,
        "torch.hip": None,
        "torch.cxx11_abi": True,
    }
    return {name: fact_of(value) for name, value in facts.items()}
