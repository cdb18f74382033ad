"""A log of a build held against an environment in which no build is foreseen."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.diagnose import Judged
from fadoctor.judging.engine.judge import judge
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.model.environment import Environment, Target
from fadoctor.model.explanation import Agreement
from fadoctor.model.fact import Absent, Fact, Known, Value

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge

GNU = "host_config.h:143: unsupported GNU version! gcc versions later than 13 are not supported!"
PACKAGING = (
    "Getting requirements to build wheel: flash-attn\n"
    "ModuleNotFoundError: No module named 'packaging'"
)
ARCH = "nvcc fatal : Unsupported gpu architecture 'compute_120'"
KILLED = "FAILED: flash_fwd_hdim64.o\nnvcc error : 'cicc' died due to signal 9 (Kill signal)"
OLD_NVCC = "RuntimeError: FlashAttention is only supported on CUDA 11.7 and above."
UNSET = "OSError: CUDA_HOME environment variable is not set. Please set it to its folder."
NO_NVCC = "RuntimeError: flash_attn was requested, but nvcc was not found."
MISMATCH = "Installed CUDA version 11.8 does not match the version torch was compiled with 12.4"

TORCH: dict[str, Value | None] = {"torch.version": "2.6.0", "torch.cuda": "12.4"}
NOTHING: dict[str, Value | None] = {"toolkit.nvcc.version": None, "toolkit.count": 0}
ASIDE: dict[str, Value | None] = {
    "toolkit.nvcc.version": None, "toolkit.count": 1, "toolkit[0].nvcc": "/opt/cuda/bin/nvcc",
    "toolkit[0].origin": "system", "env.CUDA_HOME": None,
}  # fmt: skip


def beside(facts: dict[str, Value | None]) -> Environment:
    named: dict[str, Fact] = {
        name: Absent("test") if value is None else Known(value, "test")
        for name, value in facts.items()
    }
    return Environment("0", Target("environment", "/v", "--python"), named)


def held(knowledge: Knowledge, log: str, facts: dict[str, Value | None]) -> Explanation:
    judged = Judged(beside({"host.os": "linux", **TORCH, **facts}), knowledge)
    return explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge, judged)


@pytest.mark.parametrize(
    ("log", "facts", "told"),
    [
        (GNU, {"toolkit.nvcc.version": "12.4", "toolkit.gcc.version": "14.2.1"}, "gcc is 14.2.1"),
        (PACKAGING, {"packages.installed": {"wheel": "0.45.1"}}, "packaging (not installed)"),
        (MISMATCH, {"toolkit.nvcc.version": "11.8"}, "is CUDA 11.8, but torch 2.6.0"),
        (UNSET, NOTHING, "build-nvcc-missing: There is no CUDA toolkit here"),
        (UNSET, ASIDE, "although there is one: /opt/cuda/bin/nvcc"),
        (NO_NVCC, NOTHING, "There is no CUDA toolkit here"),
        (NO_NVCC, ASIDE, "cuda-home-unset: The build finds no nvcc"),
        (
            ARCH,
            {"toolkit.nvcc.version": "12.4", "gpu.count": 1, "gpu[0].visible": True,
             "gpu[0].compute_capability": "12.0"},
            "GPU: 12.0",
        ),
        (KILLED, {"env.MAX_JOBS": "16", "host.memory_bytes": 32 << 30}, "MAX_JOBS=16"),
        (
            OLD_NVCC,
            {"toolkit.nvcc.version": "11.5", "flash_attn.version": "2.8.3"},
            "nvcc is 11.5, but flash-attn 2.8.3",
        ),
    ],
)  # fmt: skip
def test_an_environment_confirms_what_a_log_shows_though_it_foresees_no_build(
    knowledge: Knowledge, log: str, facts: dict[str, Value | None], told: str
) -> None:
    (check,) = held(knowledge, log, facts).checks
    assert check.agreement is Agreement.CONFIRMED
    assert told in check.detail


@pytest.mark.parametrize(
    ("log", "facts"),
    [
        (GNU, {"toolkit.nvcc.version": "12.4", "toolkit.gcc.version": "13.3.0"}),
        (MISMATCH, {"toolkit.nvcc.version": "12.6"}),
        (UNSET, {"toolkit.nvcc.version": "12.4", "toolkit.count": 1}),
        (NO_NVCC, {"toolkit.nvcc.version": "12.4", "toolkit.count": 1}),
    ],
)
def test_an_environment_without_the_state_has_been_repaired(
    knowledge: Knowledge, log: str, facts: dict[str, Value | None]
) -> None:
    (check,) = held(knowledge, log, facts).checks
    assert check.agreement is Agreement.REFUTED
    assert "repaired since" in check.detail


@pytest.mark.parametrize(
    ("log", "facts"),
    [
        (
            PACKAGING,
            {"packages.installed": {"packaging": "25.0", "wheel": "0.45", "setuptools": "80.9"}},
        ),
        (
            ARCH,
            {"toolkit.nvcc.version": "12.8", "gpu.count": 1, "gpu[0].visible": True,
             "gpu[0].compute_capability": "12.0", "env.TORCH_CUDA_ARCH_LIST": "8.0"},
        ),
        (KILLED, {"env.MAX_JOBS": "2", "host.memory_bytes": 32 << 30}),
        (OLD_NVCC, {"toolkit.nvcc.version": "12.1", "flash_attn.version": "2.8.3"}),
    ],
)  # fmt: skip
def test_one_of_several_ways_refutes_no_log(
    knowledge: Knowledge, log: str, facts: dict[str, Value | None]
) -> None:
    report = held(knowledge, log, facts)
    assert report.checks[0].agreement is Agreement.OPEN
    assert "neither show nor contradict it" in report.checks[0].detail
    assert report.findings[0].confidence.value == "high"


def test_facts_alone_weigh_less_than_a_log_and_need_an_occasion(knowledge: Knowledge) -> None:
    facts: dict[str, Value | None] = {
        "host.os": "linux",
        **TORCH,
        "toolkit.nvcc.version": "12.4",
        "toolkit.gcc.version": "14.2.1",
    }
    assert "gcc-too-new" not in {each.rule_id for each in judge(beside(facts), knowledge).findings}
    forced = beside({**facts, "env.FLASH_ATTENTION_FORCE_BUILD": "TRUE"})
    found = {each.rule_id: each for each in judge(forced, knowledge).findings}["gcc-too-new"]
    assert (found.severity.value, found.confidence.value) == ("note", "medium")
    assert [fix.id for fix in found.fixes] == ["older-gcc", "newer-toolkit"]


def test_a_log_is_no_evidence_beside_its_own_lines(knowledge: Knowledge) -> None:
    facts: dict[str, Value | None] = {
        "toolkit.nvcc.version": "12.4",
        "toolkit.gcc.version": "14.2.1",
    }
    (finding,) = held(knowledge, GNU, facts).findings
    named = [each.fact for each in finding.evidence]
    assert "toolkit.gcc.version" in named
    assert not [name for name in named if name.startswith("log.")]
