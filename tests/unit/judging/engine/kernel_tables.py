"""A small world of three backends: the tables that verdicts and recommendations ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.judging.engine.judge import judge
from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from tests.unit.judging.engine.builders import environment, knowledge, table

if TYPE_CHECKING:
    from fadoctor.model.rule import Rule
    from fadoctor.model.verdict import Verdict

BACKENDS = table(
    "backends",
    {"backend": "word"},
    {"package": "text", "needs": "list", "since": "version"},
    [
        {"backend": "fa2", "package": "flash_attn", "needs": "torch"},
        {"backend": "fa3", "package": "flash_attn_3", "needs": "torch"},
        {"backend": "sdpa-flash", "package": "torch"},
        {"backend": "sdpa-math", "package": "torch", "since": "2.0"},
        {"backend": "fa-rotary", "package": "flash_attn", "needs": "torch triton"},
    ],
    complete=True,
)

NEW, OLD = ">=8.0,<9999", "<8.0"


def support(
    backend: str, version: str, cc: str, dtypes: str, answer: Any, **more: str
) -> dict[str, Any]:
    keys = {"backend": backend, "version": version, "cc": cc, "dtype": dtypes}
    return {**keys, "support": answer, **more}


SUPPORT = table(
    "kernel-support",
    {"backend": "word", "version": "range", "cc": "range", "dtype": "word"},
    {"support": "text", "rule": "text", "note": "text"},
    [
        support("fa2", ">=2", OLD, "bf16 fp16", "fails", rule="gpu-too-old", note="needs Ampere"),
        support("fa2", ">=2", NEW, "bf16 fp16", "works"),
        support("fa2", ">=2", "*", "fp32", "fails"),
        support("fa3", ">=3", "==9.0", "bf16 fp8", "works"),
        support("sdpa-flash", "*", NEW, "bf16 fp16", "works"),
        support("sdpa-flash", "*", OLD, "bf16", "fails", rule="bf16-missing"),
        support("sdpa-flash", "*", OLD, "fp16", {"unknown": "nobody has measured it"}),
        support("sdpa-math", "*", OLD, "bf16", "fails", rule="bf16-missing"),
        support("sdpa-math", "*", NEW, "bf16", "works"),
        support("sdpa-math", "*", "*", "fp16 fp32", "works", note="slow"),
        support("fa-rotary", "*", NEW, "bf16", "works"),
    ],
)


def setting(
    framework: str, version: str, cell: tuple[str, str, str], **settings: str
) -> dict[str, Any]:
    """Return a row; the cell is backend, dtype and compute capability."""
    keys = zip(("backend", "dtype", "cc"), cell, strict=True)
    return {"framework": framework, "version": version, **dict(keys), "settings": settings}


FA2_BF16 = {"attn_implementation": '"flash_attention_2"', "dtype": "torch.bfloat16"}
FA2_ON_ALL = ("fa2", "bf16", "*")
SETTINGS = table(
    "framework-settings",
    {"framework": "word", "version": "range", "backend": "word", "dtype": "word", "cc": "range"},
    {"settings": "mapping"},
    [
        setting("transformers", ">=4.56", FA2_ON_ALL, **FA2_BF16),
        setting("transformers", "<4.56", FA2_ON_ALL, torch_dtype="torch.bfloat16"),
        setting("vllm", "*", ("fa2", "bf16", "<9.0"), VLLM_ATTENTION_BACKEND="FLASH_ATTN"),
        setting("vllm", "*", ("fa2", "bf16", ">=9.0"), note="chosen by itself"),
        setting("unsloth", "*", ("sdpa-math", "fp16", "*"), dtype="torch.float16"),
    ],
)

NEEDS = table(
    "kernel-support-needs",
    {"backend": "word", "needs": "word", "version": "range", "cc": "range", "dtype": "word"},
    {"support": "text", "rule": "text", "note": "text"},
    [support("fa-rotary", "<3", NEW, "bf16", "fails", rule="old-triton", needs="triton")],
)

HERE = table(
    "kernel-support-os",
    {"backend": "word", "os": "word", "version": "range"},
    {"support": "text", "rule": "text", "note": "text"},
    [],
    complete=True,
)

TABLES = (BACKENDS, SUPPORT, SETTINGS, NEEDS, HERE)

INSTALLED: dict[str, Any] = {
    "torch.version": "2.6.0",
    "flash_attn.version": "2.7.4",
    "flash_attn_3.version": None,
    "triton.version": "3.2.0",
    "transformers.version": None,
    "vllm.version": None,
    "unsloth.version": None,
    "llamafactory.version": None,
}


def on(*capabilities: Any, **facts: Any) -> dict[str, Any]:
    """Return facts of a machine with these GPUs, all visible."""
    found: dict[str, Any] = {**INSTALLED, "gpu.count": len(capabilities)}
    for index, capability in enumerate(capabilities):
        found[f"gpu[{index}].name"] = f"GPU {capability}"
        found[f"gpu[{index}].compute_capability"] = capability
        found[f"gpu[{index}].visible"] = True
    return {**found, **{name.replace("__", "."): value for name, value in facts.items()}}


def kernels(facts: dict[str, Any]) -> Kernels:
    return Kernels(environment(facts), Matrix({each.table: each for each in TABLES}))


def verdicts(facts: dict[str, Any], *rules: Rule) -> dict[tuple[str, str, str], Verdict]:
    """Return (first word of the GPU, backend, dtype) -> verdict."""
    assessment = judge(environment(facts), knowledge(*rules, tables=TABLES))
    found = predict(kernels(facts), assessment)
    return {(v.gpu.split()[0], v.backend.value, v.dtype.value): v for v in found}
