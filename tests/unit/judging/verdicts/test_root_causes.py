"""Findings out of a smoke run: one for each root cause, and where prediction and run disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.judging.diagnose import conclude, conclude_smoke, diagnose, foresee
from fadoctor.model.smoke import SmokeCell, SmokeRun
from fadoctor.model.verdict import Backend, Dtype, Measured
from tests.smoke.smoke_recordings import complete, shipped
from tests.unit.judging.engine.builders import environment

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding

A100 = {
    "gpu.count": 1,
    "gpu[0].name": "NVIDIA A100",
    "gpu[0].visible": True,
    "gpu[0].vendor": "nvidia",
    "gpu[0].compute_capability": "8.0",
    "gpu[0].memory_bytes": 80 << 30,
    "gpu[0].mig": False,
    "driver.version": "570.124.06",
    "driver.cuda": "12.8",
    "host.os": "linux",
    "torch.cuda": "12.8",
    "torch.build": "pypi",
    "torch.version": "2.8.0",
    "flash_attn.version": "2.8.3",
}
KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def cell(measured: Measured, **fields: Any) -> SmokeCell:
    plain = {"device_name": "NVIDIA A100", "compute_capability": "8.0", "detail": "seen"}
    names = {"backend": Backend.FA2, "dtype": Dtype.BF16, "case": "causal"}
    return SmokeCell(**{"device": "cuda:0", **plain, **names, **fields}, measured=measured)


def findings(*cells: SmokeCell) -> dict[str, Finding]:
    report = conclude_smoke(foresee(environment(complete(A100)), shipped()), SmokeRun(cells))
    return {finding.rule_id: finding for finding in report.findings}


def test_cells_with_the_same_root_cause_are_one_finding() -> None:
    message = f"File flash_attn/flash_attn_interface.py\n{KERNEL}"
    cells = [cell(Measured.FAILED, message=message, case=case) for case in ("full", "causal")]
    found = findings(*cells)
    assert set(found) == {"kernel-image-missing-fa2", "prediction-contradicted"}
    evidence = found["kernel-image-missing-fa2"].evidence
    assert [each.fact for each in evidence] == [
        "smoke cuda:0 fa2 bf16 full",
        "smoke cuda:0 fa2 bf16 causal",
    ]
    assert found["kernel-image-missing-fa2"].fixes


def test_agreement_is_no_finding() -> None:
    refused = cell(Measured.REFUSED, dtype=Dtype.FP32, message="only support fp16 and bf16")
    assert findings(cell(Measured.PASSED), refused) == {}


def test_failure_against_the_prediction_is_a_finding() -> None:
    found = findings(cell(Measured.FAILED))["prediction-contradicted"]
    assert found.message == "Predicted to work, but it did not: cuda:0 fa2 bf16 causal."
    assert found.severity.value == "warning"


def test_success_against_the_prediction_is_a_finding() -> None:
    cells = [cell(Measured.PASSED, dtype=Dtype.FP32, case=str(n)) for n in range(6)]
    found = findings(*cells)["prediction-contradicted"]
    assert found.message.startswith("Predicted to fail, but it computed the right numbers: cuda:0")
    assert "and 2 more" in found.message
    assert len(found.evidence) == 6


def test_check_joins_findings_of_the_run() -> None:
    run = SmokeRun(
        (cell(Measured.FAILED, message=f"File flash_attn/flash_attn_interface.py\n{KERNEL}"),)
    )
    prognosis = foresee(environment(complete(A100)), shipped(), ("prediction-contradicted",))
    report = conclude(prognosis, run)
    shown = [finding.rule_id for finding in report.findings]
    foreseen = [finding.rule_id for finding in conclude(prognosis).findings]
    assert set(shown) - set(foreseen) == {"kernel-image-missing-fa2"}
    assert report.summary.error == conclude(prognosis).summary.error + 1


def test_what_the_facts_tell_is_not_told_twice() -> None:
    facts = {**A100, "gpu[0].compute_capability": "7.0", "gpu[0].name": "Tesla V100"}
    words = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    run = SmokeRun((cell(Measured.FAILED, compute_capability="7.0", message=words),))
    report = diagnose(environment(complete(facts)), shipped(), run)
    ids = [finding.rule_id for finding in report.findings]
    assert ids.count("gpu-too-old-fa2") == 1


def test_counts_of_a_smoke_report() -> None:
    cells = (cell(Measured.PASSED), cell(Measured.NOT_RUN), cell(Measured.NOT_RUN, case="full"))
    report = conclude_smoke(foresee(environment(complete(A100)), shipped()), SmokeRun(cells))
    total = report.summary
    assert (total.passed, total.refused, total.failed, total.not_run) == (1, 0, 0, 2)
    assert report.gpu_tested
