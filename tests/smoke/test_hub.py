"""Kernels of the Hub and torch's activation: what is loaded, how, and what comes of each failure.

The package kernels here is one of the tests' own, in the form of several releases; what the real
ones did stands in docs/smoke.md.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import fadoctor.proof.smoke.child
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.smoke import CellFailure
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.run import run
from fadoctor.proof.smoke.choice import CUDA, CellChoice, CellsRequest, choose
from fadoctor.proof.smoke.hub import ask_for, is_missing
from fadoctor.proof.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import TARGET, choice_of, complete, judge, shipped
from tests.unit.judging.engine.builders import environment

if TYPE_CHECKING:
    from fadoctor.model.smoke import SmokeRun

pytestmark = pytest.mark.long

FOLDER = Path(fadoctor.proof.smoke.child.__file__).parent
REPOSITORY = "kernels-community/flash-attn2"
HUB = {"kernels.version": "0.17.2", "hub.models": {}}
GPU = {"gpu.count": 1, "gpu[0].visible": True, "gpu[0].compute_capability": "9.0"}

NEW = "repo_id, *, revision=None, version=None, trust_remote_code=False, check_arch=True"
OLD = "repo_id, revision='main'"

HEALTHY = """
    def flash_attn_func(q, k, v, causal=False):
        share = q.shape[2] // k.shape[2]
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        forward = torch.nn.functional.scaled_dot_product_attention
        return forward(q, k, v, is_causal=causal).transpose(1, 2)
    return types.SimpleNamespace(flash_attn_func=flash_attn_func)
"""
NO_VARIANT = f"Cannot find a build variant for this system in {REPOSITORY} (revision: v3):"
UNTRUSTED = f"Kernel repository '{REPOSITORY}' is not from a trusted publisher. "
BELOW = HEALTHY.replace(
    "types.SimpleNamespace(flash_attn_func=flash_attn_func)",
    "types.SimpleNamespace(flash_attn_interface="
    "types.SimpleNamespace(flash_attn_func=flash_attn_func))",
)
SAGE = """
    def sageattn(q, k, v, tensor_layout="HND", is_causal=False):
        assert tensor_layout == "NHD"
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        forward = torch.nn.functional.scaled_dot_product_attention
        out = forward(q, k, v, is_causal=is_causal).transpose(1, 2)
        return out * 1.02  # as far off as eight bits are
    return types.SimpleNamespace(sageattn=sageattn)
"""


def with_kernels(
    folder: Path, body: str, signature: str = NEW, asked: Any = None, **more: Any
) -> SmokeRun:
    """Run one cell with a package kernels whose get_kernel has a body of the test's own."""
    text = "import os, torch, types\nclass OfflineModeIsEnabled(ConnectionError): pass\n"
    (folder / "kernels.py").write_text(f"{text}def get_kernel({signature}):\n{body}")
    backend = more.pop("backend", Backend.HUB_FA2)
    choice = choice_of(backend, more.pop("cases", ("causal",)), (Dtype.BF16,), device="cpu", **more)
    told = {"repository": REPOSITORY, "branch": "v3", "online": "no", **(asked or {})}
    choice = msgspec.structs.replace(choice, asked={backend.value: told})
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    return run_smoke(TARGET, environ, run, choice, judge())


def outcome(found: SmokeRun) -> tuple[Measured, str, str]:
    """Return how the first cell came out, by which rule, and why."""
    cell = found.cells[0]
    return cell.measured, cell.rule_id, cell.detail


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "signature", "arguments"),
    [
        (HEALTHY, NEW, "(version, revision) == (3, None)"),
        (BELOW, OLD, "revision == 'v3'"),
    ],
)
def test_a_kernel_is_loaded_as_its_release_wants_it(
    tmp_path: Path, body: str, signature: str, arguments: str
) -> None:
    check = f"    assert {arguments}\n    assert os.environ['HF_HUB_OFFLINE'] == '1'\n"
    found = with_kernels(tmp_path, check + body, signature, cases=("causal", "gqa"))
    assert [cell.measured for cell in found.cells] == [Measured.PASSED] * 2
    assert f"from the Hub: {REPOSITORY}@v3" in found.cells[0].notes
    assert found.cells[0].errors.keys() >= {"out"}


@pytest.mark.torch
@pytest.mark.slow
def test_sage_is_forward_only_and_judged_as_what_it_computes_in(tmp_path: Path) -> None:
    found = with_kernels(tmp_path, SAGE, backend=Backend.HUB_SAGE)
    assert outcome(found)[0] is Measured.PASSED
    assert "forward only" in found.cells[0].detail
    worse = with_kernels(tmp_path, SAGE.replace("1.02", "1.1"), backend=Backend.HUB_SAGE)
    assert (worse.cells[0].measured, worse.cells[0].failure) == (
        Measured.FAILED,
        CellFailure.NUMBERS,
    )


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.thinned(every=2)
@pytest.mark.parametrize(
    ("body", "rule_id"),
    [
        (f"raise FileNotFoundError('{NO_VARIANT}')", "hub-no-variant"),
        (f'raise ValueError("{UNTRUSTED}")', "hub-trust"),
        ("raise ValueError('Cannot parse metadata from `/x/metadata.json`: missing field `id`')",
         "hub-metadata-unreadable"),
        ("raise ModuleNotFoundError(\"No module named 'torch_of_mine'\")", ""),
        ("os.abort()", ""),
    ],
)  # fmt: skip
def test_a_kernel_that_does_not_load_has_failed_with_its_cause(
    tmp_path: Path, body: str, rule_id: str
) -> None:
    found = with_kernels(tmp_path, f"    {body}\n", cases=("causal", "gqa"))
    assert [cell.measured for cell in found.cells] == [Measured.FAILED] * 2
    assert {cell.rule_id for cell in found.cells} == {rule_id}
    assert "load:" in found.cells[0].detail


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("online", "expected"), [("no", Measured.NOT_RUN), ("own", Measured.FAILED)]
)
def test_what_the_cache_lacks_is_no_failure_unless_programs_fail_alike(
    tmp_path: Path, online: str, expected: Measured
) -> None:
    """As a rule the run itself sets HF_HUB_OFFLINE; where a person has, their programs fail."""
    words = f"Version 3 of '{REPOSITORY}' is not available in the local cache and Hugging Face Hub"
    body = f'    raise OfflineModeIsEnabled("{words} is in offline mode.")\n'
    measured, rule_id, detail = outcome(with_kernels(tmp_path, body, asked={"online": online}))
    assert measured is expected
    if expected is Measured.NOT_RUN:
        assert "--online lets kernels download it" in detail
    else:
        assert rule_id == "hub-offline"


@pytest.mark.torch
@pytest.mark.slow
def test_a_kernel_refuses_a_gpu_before_it_runs(tmp_path: Path) -> None:
    body = (
        "    raise RuntimeError(\"Kernel 'flash-attn3' variant 'torch-stable-abi29-cu130' "
        'does not support the current device: CUDA capability 12.0")\n'
    )
    measured, rule_id, _ = outcome(with_kernels(tmp_path, body))
    assert (measured, rule_id) == (Measured.REFUSED, "hub-arch-refused")


@pytest.mark.torch
@pytest.mark.slow
def test_online_keeps_the_variables_of_the_person(tmp_path: Path) -> None:
    check = "    assert 'HF_HUB_OFFLINE' not in os.environ\n"
    check += "    assert os.environ['HF_HUB_DISABLE_TELEMETRY'] == '1'\n"
    found = with_kernels(tmp_path, check + HEALTHY, asked={"online": "yes"}, online=True)
    assert outcome(found)[0] is Measured.PASSED


def chosen(facts: dict[str, Any], **wanted: Any) -> CellChoice:
    kernels = Kernels(environment(complete(facts)), Matrix(shipped().tables))
    return choose(CellsRequest(**wanted), kernels)


def reasons(choice: CellChoice, kind: str) -> dict[str, str]:
    return {left.cell.backend.value: left.reason for left in choice.on[kind].left_out}


def test_the_default_set_runs_what_lies_in_the_cache() -> None:
    facts = {"torch.version": "2.13.0", **GPU, **HUB}
    empty = {**facts, "hub.kernels": {}}
    why = reasons(chosen(empty), CUDA)["hub-fa2"]
    assert why == f"{REPOSITORY}@v3 is not in the Hub's cache: --online lets kernels download it"
    assert "hub-fa2" not in reasons(chosen(empty, online=True), CUDA)
    lying = {**facts, "hub.kernels": {f"{REPOSITORY}@v2": "torch-cpu", f"{REPOSITORY}@v10": ""}}
    found = chosen(lying)
    assert "hub-fa2" not in reasons(found, CUDA)
    assert found.asked["hub-fa2"] == {"repository": REPOSITORY, "branch": "v10", "online": "no"}


def test_what_transformers_takes_goes_before_what_lies_there() -> None:
    taken = {"hub.fa2.repository": "kernels-community/other", "hub.fa2.branch": "v4"}
    facts = {"torch.version": "2.13.0", **GPU, **HUB, "hub.kernels": {f"{REPOSITORY}@v2": ""}}
    kernels = Kernels(environment(complete({**facts, **taken})), Matrix(shipped().tables))
    asked = ask_for(kernels, [Backend.FA2, Backend.HUB_FA2], online=False)
    assert asked["hub-fa2"]["repository"] == "kernels-community/other"
    assert asked["hub-fa2"]["branch"] == "v4"
    assert "fa2" not in asked
    assert is_missing(kernels, Backend.HUB_FA2) == "kernels-community/other@v4"


def test_a_cpu_runs_them_only_by_name() -> None:
    facts = {"torch.version": "2.13.0", **HUB, "hub.kernels": {f"{REPOSITORY}@v3": "torch-cpu"}}
    why = reasons(chosen(facts), "cpu")["hub-fa2"]
    assert why == "runs on a GPU only; named by --backend it is tried"
    named = chosen(facts, backends=(Backend.HUB_FA2,))
    assert {key.backend for key in named.on["cpu"].cells} == {Backend.HUB_FA2}


def test_nothing_is_asked_of_the_hub_where_no_kernel_of_it_is_run() -> None:
    assert chosen({"torch.version": "2.13.0", **GPU}).asked == {}


class Activation:
    """torch.nn.attention of a release that can activate, with a record of what was done."""

    def __init__(self, *impls: str, restores: bool = True) -> None:
        self.impls, self.active, self.done = impls, None, []  # type: ignore[var-annotated] # a stub
        if restores:
            self.restore_flash_attention_impl = lambda: self.done.append("restore")

    def list_flash_attention_impls(self) -> list[str]:
        return list(self.impls)

    def current_flash_attention_impl(self) -> str | None:
        return self.active

    def activate_flash_attention_impl(self, name: str) -> None:
        self.done.append(name)
        self.active = name  # type: ignore[assignment] # a stub


def activated(
    monkeypatch: pytest.MonkeyPatch, attention: Any, backend: str, error: Exception | None = None
) -> types.SimpleNamespace:
    """Run a cell of torch's activation, with what SDPA then does; return the trace."""
    monkeypatch.syspath_prepend(FOLDER)

    def sdpa(_torch: Any, _trace: Any, forced: str) -> None:
        attention.done.append(forced)
        if error is not None:
            raise error

    monkeypatch.setitem(sys.modules, "_fadoctor_sdpa", types.SimpleNamespace(run=sdpa))
    notes: list[str] = []
    trace = types.SimpleNamespace(
        cell={"backend": backend}, patient=False, worn=False, phase=lambda _name: None,
        note=notes.append, notes=notes,
    )  # fmt: skip
    torch = types.SimpleNamespace(nn=types.SimpleNamespace(attention=attention))
    importlib.import_module("_fadoctor_activated").run(torch, trace)
    return trace


def test_torchs_own_kernel_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = Activation("FA3", "FA4")
    trace = activated(monkeypatch, attention, "torch-fa3")
    assert attention.done == ["FA3", "sdpa-flash", "restore"]
    assert trace.notes == ["torch says that FA3 is active"]
    assert not trace.worn
    with pytest.raises(RuntimeError, match="unsupported"):
        activated(monkeypatch, attention, "torch-fa4", RuntimeError("FA4 SDPA unsupported"))
    assert attention.done[-1] == "restore"


def test_a_torch_that_cannot_give_it_back_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch 2.10: the cells that follow would run FlashAttention-4 and be called sdpa-flash."""
    trace = activated(monkeypatch, Activation("FA4", restores=False), "torch-fa4")
    assert trace.worn


@pytest.mark.parametrize(
    ("attention", "words"),
    [
        (Activation("FA4"), "this torch can activate FA4 only"),
        (types.SimpleNamespace(done=[]), "this torch has no activate_flash_attention_impl"),
    ],
)
def test_a_torch_without_it_lacks_it(
    monkeypatch: pytest.MonkeyPatch, attention: Any, words: str
) -> None:
    with pytest.raises(Exception, match=words) as raised:
        activated(monkeypatch, attention, "torch-fa3")
    assert type(raised.value).__name__ == "LackingError"
    assert attention.done == []
