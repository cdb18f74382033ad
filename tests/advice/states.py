"""States in which rules fire: their own cases, alone and on whole machines, and recorded hosts."""

from __future__ import annotations

import os
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.diagnose import Prognosis, foresee
from fadoctor.judging.engine.cases import case_environment
from fadoctor.model.finding import Outcome
from tests.catalogue.environments import Torches
from tests.golden import cases as golden_cases
from tests.history.environments import environment, stacks
from tests.hosts import recording
from tests.properties.worlds import cases, knowledge, of_case
from tests.states.enumeration import Space, made
from tests.unit.judging.engine.builders import ABSENT, fact_of
from tests.unit.repair.plan.problems import golden as golden_environment
from tests.unit.repair.plan.problems import session, with_package
from tests.work import in_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment

MACHINES = (
    ("V100", "flash_attn"), ("T4", "xformers"), ("A100", "flash_attn"), ("RTX 4090", "flash_attn"),
    ("H100", "flash_attn_3"), ("RTX 5090", "flash_attn"), ("B200", "flash_attn_4"),
)  # fmt: skip
"""GPU and attention package of the machines on which the facts of a case come true."""

SEED = 12
_ASKED = os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
WHOLE = "whole-fixes" in _ASKED


def by_effort(always: int, asked: int, whole: int) -> int:
    """Return how many to try: always, by `fixes` (.ci/run), by `whole-fixes` (once a week)."""
    if WHOLE:
        return whole
    return asked if "fixes" in _ASKED else always


MADE = by_effort(40, 120, 300)
"""States of the enumeration that are tried, at random."""


@cache
def machines() -> tuple[Environment, ...]:
    """Return whole machines, some of every age of torch."""
    every = sorted(stacks())
    chosen = every[:: max(1, len(every) // len(MACHINES))][-len(MACHINES) :]
    return tuple(
        environment(stacks()[stack], package, (gpu,), knowledge())
        for stack, (gpu, package) in zip(chosen, MACHINES, strict=True)
    )


@cache
def whole() -> tuple[Environment, ...]:
    """Return recorded hosts, golden cases and states of the enumeration."""
    found = [golden_cases.environment(name) for name in golden_cases.names()]
    for name in recording.names():
        with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
            found.append(recording.read(name, Path(folder).resolve()))
    return (*found, *enumerated(MADE))


def enumerated(count: int) -> Iterator[Environment]:
    """Yield states of the enumeration at random."""
    tables = session().candidates.tables
    space = Space(knowledge(), Torches(tables), tuple(session().candidates.files.wheels.official()))
    chance = random.Random(SEED)  # noqa: S311 -- not for secrets
    while count:
        state = space.member(tuple(chance.randrange(10**9) for _ in range(7)))
        if state is not None:
            count -= 1
            yield made(state, space)


PIN = {"nvidia-cutlass-dsl": ">=4.6.2", "quack-kernels": ">=0.5.3", "apache-tvm-ffi": ""}
FA2_FILE = "$site/vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so"
BLACKWELL = {"gpu[0].name": "NVIDIA GeForce RTX 5090", "gpu[0].compute_capability": "12.0"}
NO_TORCH: dict[str, Any] = {
    "torch.version": None, "torch.build": None, "torch.cuda": None, "torch.requires": None,
    "torch.loads": None, "flash_attn.version": None,
}  # fmt: skip
NEW_DRIVER = {"driver.version": "580.95.05", "driver.cuda": "13.0", "bitsandbytes.version": None}
LOST_LIBRARY = {
    "flash_attn.binary.failure": "missing-library", "flash_attn.binary.cause": "cuda-runtime",
    "flash_attn.binary.missing_library": "libcudart.so.12",
}  # fmt: skip
CUDA_12 = {
    "nvidia-cudnn-cu12": "==9.10.2.21", "nvidia-nccl-cu12": "==2.27.3",
    "nvidia-nvshmem-cu12": "==3.3.20",
}  # fmt: skip
BOTH_CUDAS = {
    "nvidia-cudnn-cu12": "9.10.2.21", "nvidia-cudnn-cu13": "9.13.0.50",
    "nvidia-nvshmem-cu12": "3.3.20", "nvidia-nvshmem-cu13": "3.3.24",
}  # fmt: skip


def _torch_fails(failure: str, cause: str | None, nccl: str = "") -> tuple[Any, ...]:
    """Return a torch whose own extension does not load."""
    needs = {nccl: "==2.27.7"} if nccl else {}
    facts = {"torch.binary.file": "$site/torch/_C.so", "torch.binary.failure": failure,
             "torch.binary.cause": cause, "torch.loads": False}  # fmt: skip
    return "torch", "2.8.0", needs, facts


RAW: dict[str, tuple[tuple[str, str, dict[str, str], dict[str, Any]], ...]] = {
    "requirement-unmet": (
        ("trl", "1.16.0", {"accelerate": ">=1.12,<2", "transformers": ">=4.57,<5"}, {}),
        ("llamafactory", "0.9.4", {"trl": "<=0.22.0,>=0.8.6", "peft": "<=0.17.0,>=0.14.0"}, {}),
        ("sglang", "0.5.23", {"torch": "==2.8.1"}, {"vllm.version": "0.11.0"}),
    ),
    "requirement-missing": (("flash_attn_4", "4.0.0b36", PIN, {}),),
    "kernel-image-missing-ext": (
        ("causal_conv1d", "1.5.0", {}, {"causal_conv1d.binary.code": {"7.0": "3"}}),
    ),
    "kernels-jit-only": (
        ("causal_conv1d", "1.5.0", {}, {"causal_conv1d.binary.code": {"7.0+PTX@8.4": "3"}}),
    ),
    "ptx-driver-too-old": (
        ("causal_conv1d", "1.5.0", {}, {"causal_conv1d.binary.code": {"7.0+PTX@9.0": "3"}}),
    ),
    "abi-undefined-symbol": (_torch_fails("undefined-symbol", "torch-function"),),
    "abi-undefined-symbol-nccl": (
        _torch_fails("undefined-symbol", "nccl", "nvidia-nccl-cu12"),
        _torch_fails("undefined-symbol", "nccl", "nvidia-nccl-cu13"),
    ),
    "extension-damaged": (_torch_fails("truncated", None),),
    "pair-unfit": (
        ("vllm", "0.9.0", {}, {"trl.version": "0.27.0"}),
        ("vllm", "0.12.0", {}, {"trl.version": "0.24.0"}),
    ),
    "vllm-fa-kernel-missing": (
        ("vllm", "0.8.5", {}, {**BLACKWELL, "vllm.fa2.file": FA2_FILE,
                               "vllm.fa2.code": {"8.0 9.0": "72"}}),
    ),
    "unsloth-fa2-broken": (
        ("unsloth", "2026.10.9", {}, {"flash_attn.extension": None, "flash_attn.interface": True}),
    ),
    "vllm-backend-deprecated": (
        ("vllm", "0.14.0", {}, {"env.VLLM_ATTENTION_BACKEND": "XFORMERS"}),
        ("vllm", "0.14.0", {}, {"env.VLLM_FLASH_ATTN_VERSION": "2"}),
    ),
    "torch-missing": (
        ("xformers", "0.0.32", {"torch": "==2.8.0"}, NO_TORCH),
        ("flash_attn", "2.8.3", {"torch": ""}, {**NO_TORCH, "flash_attn.wheel.torch": "2.8"}),
    ),
    "libcudart-missing": (
        ("flash_attn", "2.8.2", {}, {**LOST_LIBRARY, "flash_attn.loads": False}),
        ("flash_attn", "2.8.2", {}, {**LOST_LIBRARY, "flash_attn.loads": False,
                                     "python.abi_tag": "cp314t"}),
    ),
    "cuda-major-mix": (
        ("causal_conv1d", "1.5.0", {}, {
            "causal_conv1d.loads": False,
            "causal_conv1d.binary.failure": "missing-library",
            "causal_conv1d.binary.cause": "cuda-runtime",
            "causal_conv1d.binary.cuda_major": "13",
        }),
    ),
    "torchvision-torch-mismatch": tuple(
        (name, version, {"torch": "==2.7.1"}, {
            "torch.build": build, "torch.version": f"2.8.0+{build}" if build != "pypi" else "2.8.0",
            f"{name}.loads": False, f"{name}.binary.file": f"$site/{name}.so",
            f"{name}.binary.failure": "undefined-symbol",
            f"{name}.binary.cause": "torch-function",
        })
        for name, version in (("torchvision", "0.22.1"), ("torchaudio", "2.7.1"))
        for build in ("pypi", "cu126")
    ),
    "xformers-torch-mismatch": (
        ("xformers", "0.0.31", {"torch": "==2.7.1"}, {"torch.version": "2.10.0", **NEW_DRIVER}),
    ),
    "nvidia-wheels-overlap": (
        ("torch", "2.8.0", CUDA_12, {"packages.nvidia": BOTH_CUDAS, "torch.cuda": "12.8"}),
        ("torch", "2.9.0", {"nvidia-cudnn-cu13": "==9.13.0.50", "nvidia-nccl-cu13": "==2.27.7"},
         {"packages.nvidia": BOTH_CUDAS, "torch.cuda": "13.0", "torch.build": "cu130"}),
    ),
    "kernel-image-missing-fa2": (
        ("flash_attn", "2.7.4.post1", {}, {**BLACKWELL, "flash_attn.binary.code": {"8.0 9.0": "3"},
                                           "flash_attn.binary.arch_list": ["8.0", "9.0"]}),
    ),
}  # fmt: skip
"""Rule -> package, release, what it requires, other facts: what follows from these is derived."""


def raw(rule_id: str) -> Iterator[Environment]:
    """Yield states of which only what is read is given: cases give what follows from it, too."""
    for package, version, requires, facts in RAW.get(rule_id, ()):
        found = with_package(golden_environment("linux-a100-healthy"), package, version, requires)
        files = {f"{package}.binary.file": f"$site/{package}_cuda.so"}
        given = {**(files if package == "causal_conv1d" else {}), **facts}
        new = {name: fact_of(ABSENT if value is None else value) for name, value in given.items()}
        yield msgspec.structs.replace(found, facts={**found.facts, **new})


def of_rule(rule_id: str) -> Iterator[Environment]:
    """Yield states in which a rule may fire: its cases on machines, alone, and whole machines."""
    yield from raw(rule_id)
    mine = [
        case for rule, case in cases() if rule.id == rule_id and case.expect.outcome is Outcome.FAIL
    ]
    for machine in machines():
        for case in mine:
            facts = {**machine.facts, **case_environment(case).facts}
            yield msgspec.structs.replace(machine, facts=facts)
    yield from map(of_case, mine)


@cache
def foreseen_whole() -> tuple[Prognosis, ...]:
    """Return what the facts of the whole machines say."""
    return tuple(foresee(each, session().knowledge) for each in whole())
