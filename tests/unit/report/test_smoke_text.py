"""Text and JUnit of a smoke run: what stands in the table, what is left out where it is narrow."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import msgspec

from fadoctor.model.environment import Target
from fadoctor.model.report import RulesInfo
from fadoctor.model.smoke import (
    NO_DEVICE,
    CellFailure,
    ImportProof,
    SmokeCell,
    SmokeReport,
    SmokeSummary,
    Speed,
)
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted
from fadoctor.report import smoke_junit, smoke_text
from fadoctor.report.style import Style

TARGET = Target("environment", "/env", "--python")
FAST = Speed(0.5, 1.5, 120.0, 100.0, 64 << 20)
SLOW = Speed(2.0, 6.0, 30.0, 25.0, 640 << 20)
ERRORS = {"out": 2e-3, "dq": 3e-3, "dk": 4e-3, "dv": 1e-3}


def cell(backend: Backend = Backend.FA2, **fields: Any) -> SmokeCell:
    plain = {
        "device": "cuda:0",
        "device_name": "NVIDIA A100",
        "compute_capability": "8.0",
        "dtype": Dtype.BF16,
        "case": "causal",
        "measured": Measured.PASSED,
        "detail": "fine",
        "errors": ERRORS,
        "speed": FAST,
    }
    return SmokeCell(**{**plain, **fields}, backend=backend)


def report(*cells: SmokeCell) -> SmokeReport:
    counted = [sum(c.measured is each for c in cells) for each in Measured]
    return SmokeReport(
        "1", RulesInfo("2", "3"), TARGET, "2.8.0", True, cells, (), SmokeSummary(*counted)
    )


MATH = cell(Backend.SDPA_MATH, speed=SLOW, errors={"out": 1e-3, "dq": 1e-3})


def table(width: int, *cells: SmokeCell, **style: Any) -> list[list[str]]:
    text = smoke_text.render(report(*cells), Style(width=width, **style))
    return [line.split() for line in text[text.index("Environment:") :].splitlines()]


def test_speed_and_error_stand_beside_the_plain_form() -> None:
    titles, mine, plain = table(160, cell(), MATH)[4:7]
    assert " ".join(titles).endswith("fwd ms bwd ms speed/math err/math TFLOP/s peak MiB")
    assert mine == [
        "fa2", "bf16", "causal", "passed", "2.0e-03", "4.0e-03", "0.50", "1.50", "x4.0", "x2.0",
        "120", "64",
    ]  # fmt: skip
    assert plain[-2:] == ["30", "640"]
    assert "x" not in " ".join(plain)[12:]


def test_forward_alone_is_not_compared_with_forward_and_backward() -> None:
    forward = cell(Backend.VLLM_FA, speed=Speed(0.5))
    assert not any(word.startswith("x4") for word in table(160, forward, MATH)[5])


def test_least_important_columns_go_first() -> None:
    assert table(100, cell(), MATH)[4][-1] == "TFLOP/s"
    assert table(90, cell(), MATH)[4][-1] == "speed/math"
    assert table(60, cell(), MATH)[4][-2:] == ["grad", "err"]
    assert [len(row) for row in table(10, cell(), MATH) if row[:1] == ["fa2"]] == [5]


def test_prediction_has_a_column_where_there_is_one() -> None:
    mine = cell(predicted=Predicted.WORKS)
    assert "predicted" in table(120, mine)[4]
    assert "predicted" not in table(120, cell())[4]


def test_device_says_what_it_is() -> None:
    text = smoke_text.render(report(cell()), Style(width=100))
    assert "cuda:0 NVIDIA A100, compute capability 8.0" in text
    on_cpu = cell(device="cpu", device_name="CPU x86_64", compute_capability="")
    text = smoke_text.render(report(on_cpu), Style(width=100))
    assert "CPU x86_64, no GPU" in text
    nowhere = cell(device=NO_DEVICE, device_name=NO_DEVICE, compute_capability="")
    assert "Nothing was run on any device" in smoke_text.render(report(nowhere), Style(width=100))


def test_reasons_are_said_once() -> None:
    failed: dict[str, Any] = {
        "measured": Measured.FAILED,
        "detail": "forward: boom",
        "rule_id": "some-rule",
    }
    cells = [cell(case=case, **failed) for case in ("full", "causal")]
    text = smoke_text.render(report(*cells), Style(width=100))
    assert "failed: fa2 bf16 full/causal: forward: boom (some-rule)" in text
    assert text.count("boom") == 1


def test_backend_of_which_nothing_ran_is_named_without_its_cells() -> None:
    idle: dict[str, Any] = {"measured": Measured.NOT_RUN, "speed": None, "errors": {}}
    cells = [
        cell(Backend.FA3, detail="not installed", **idle),
        cell(case="kvcache", detail="too old", **idle),
        cell(),
    ]
    text = smoke_text.render(report(*cells), Style(width=100))
    assert "not run: fa3: not installed" in text
    assert "not run: fa2 bf16 kvcache: too old" in text


def test_note_about_how_cells_were_run_is_said_once() -> None:
    cells = [cell(case=case, notes=("mended",)) for case in ("full", "causal")]
    text = smoke_text.render(report(*cells), Style(width=100))
    assert text.count("note: fa2 bf16 full/causal: mended") == 1


def test_quiet_leaves_healthy_devices_out() -> None:
    text = smoke_text.render(report(cell()), Style(width=100, quiet=True))
    assert "fa2" not in text
    assert "1 passed" in text


def test_colour_only_repeats_the_words() -> None:
    plain = smoke_text.render(report(cell(), MATH), Style(width=100))
    coloured = smoke_text.render(report(cell(), MATH), Style(width=100, colour=True))
    assert "\x1b[32mpassed\x1b[0m" in coloured
    assert "\x1b" not in plain


def test_junit_carries_time_reason_and_message() -> None:
    failed = cell(
        case="full",
        measured=Measured.FAILED,
        detail="boom",
        failure=CellFailure.SIGNAL,
        message="a\x1b\nb",
    )
    refused = cell(dtype=Dtype.FP32, measured=Measured.REFUSED, detail="no fp32")
    suite = ET.fromstring(smoke_junit.render(report(cell(), failed, refused)))[0]  # noqa: S314
    passed, broken, skipped = suite.iter("testcase")
    assert (passed.get("classname"), passed.get("name")) == ("cuda:0.fa2", "bf16 causal")
    assert passed.get("time") == "0.002000"
    [failure] = broken
    assert (failure.get("type"), failure.get("message"), failure.text) == (
        "signal",
        "boom",
        "a?\nb",
    )
    assert skipped[0].get("message") == "refused: no fp32"
    assert suite.get("skipped") == "1"


def test_report_survives_json() -> None:
    document = report(cell(), MATH)
    assert msgspec.json.decode(msgspec.json.encode(document), type=SmokeReport) == document


def test_one_reason_for_all_cells_is_said_once() -> None:
    """66 rows that said `failed` stood above it."""
    fate = {"measured": Measured.FAILED, "detail": "torch has no code for it", "rule_id": "a-rule"}
    cells = [
        cell(backend, case=case, speed=None, errors={}, **fate)
        for backend in (Backend.FA2, Backend.SDPA_MATH)
        for case in ("full", "causal", "gqa", "long", "hdim128", "hdim256")
    ]
    text = smoke_text.render(report(*cells), Style(width=100))
    assert "failed, all 12 cells: torch has no code for it (a-rule)" in text
    assert "backends: fa2, sdpa-math" in text
    assert "causal" not in text
    other = smoke_text.render(report(*cells[:-1], cell()), Style(width=100))
    assert other.count("failed") > len(cells) - 1


IMPORTS = (
    ImportProof("trl", "trl", "1.16.0", Measured.PASSED, "trl in 2.0 s", seconds=2.0),
    ImportProof("peft", "peft", "0.17.1", Measured.FAILED, "peft: ImportError: no", "peft", "x"),
    ImportProof("vllm", "vllm", "0.33.0", Measured.NOT_RUN, "it may not be run"),
)


def test_imports_are_told_behind_the_cells() -> None:
    told = msgspec.structs.replace(report(cell()), imports=IMPORTS)
    text = smoke_text.render(told, Style(width=100))
    assert "  failed: peft 0.17.1: peft: ImportError: no (x)\n" in text
    assert "  passed: trl 1.16.0: trl in 2.0 s\n" in text
    assert "trl" not in smoke_text.render(told, Style(width=100, quiet=True))


def test_imports_are_a_suite_of_junit() -> None:
    told = msgspec.structs.replace(report(cell()), imports=IMPORTS)
    text = smoke_junit.render(told)
    suite = ET.fromstring(text).findall("testsuite")[-1]  # noqa: S314 -- our own output
    assert (suite.get("name"), suite.get("failures"), suite.get("skipped")) == ("imports", "1", "1")
    assert [case.get("name") for case in suite] == ["trl", "peft", "vllm"]


def test_the_answer_comes_first() -> None:
    """It stood in the last line, below every cell."""

    def first(*cells: SmokeCell, **changes: Any) -> str:
        document = msgspec.structs.replace(report(*cells), **changes)
        return smoke_text.render(document, Style(width=200)).splitlines()[0]

    assert first(MATH, cell()) == "✓ Attention works on NVIDIA A100: sdpa-math, fa2."
    failed = cell(measured=Measured.FAILED, detail="nan")
    assert first(MATH, failed) == "✗ Attention fails on NVIDIA A100: fa2 bf16."
    idle: dict[str, Any] = {"measured": Measured.NOT_RUN, "errors": {}, "speed": None}
    plain = cell(Backend.SDPA_MATH, detail="torch is not installed", **idle)
    other = cell(detail="flash-attn is not installed", **idle)
    said = first(other, plain, gpu_tested=False)
    assert said == "? No attention was run: torch is not installed. No GPU was tested."
    broken = ImportProof("peft", "peft", "0.17.1", Measured.FAILED, "ImportError")
    assert first(imports=(broken,)) == "✗ Packages cannot be imported: peft."
