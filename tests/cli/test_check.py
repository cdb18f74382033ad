"""`check` on planted environments: what it finds, says and returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.cli.environments import add_flash_attn, add_package, add_torch, make_environment

if TYPE_CHECKING:
    from tests.cli.conftest import Run

Check = Callable[..., Any]
SCHEMA = Path(__file__).parents[2] / "rules" / "schema" / "report.schema.json"


def ids(report: Any, severity: str = "error") -> list[str]:
    return [f["rule_id"] for f in report["findings"] if f["severity"] == severity]


def verdict(report: Any, backend: str, dtype: str) -> Any:
    found = [v for v in report["verdicts"] if (v["backend"], v["dtype"]) == (backend, dtype)]
    assert len(found) == 1
    return found[0]


def test_report_fits_the_shipped_schema(check: Check, stack: Path) -> None:
    report = check("--python", str(stack), "--gpu", "V100")
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))


def test_v100_cannot_run_fa2_and_gets_float16_with_sdpa(check: Check, stack: Path) -> None:
    report = check("--python", str(stack), "--gpu", "V100", "--driver", "570.124.06")
    assert "gpu-too-old-fa2" in ids(report)
    for dtype in ("bf16", "fp16", "fp32"):
        assert verdict(report, "fa2", dtype)["predicted"] == "fails"
    assert verdict(report, "sdpa-efficient", "fp16")["predicted"] == "works"
    advice = report["recommendation"]
    assert (advice["dtype"], advice["backend"][:4]) == ("fp16", "sdpa")
    assert set(advice["settings"]) == {"transformers", "vllm", "llamafactory", "unsloth"}
    assert "sdpa" in advice["settings"]["transformers"]["attn_implementation"]


def test_a100_runs_fa2_in_bf16(check: Check, stack: Path) -> None:
    report = check("--python", str(stack), "--gpu", "A100", "--driver", "570.124.06")
    assert ids(report) == []
    assert verdict(report, "fa2", "bf16")["predicted"] == "works"
    assert verdict(report, "fa2", "fp32")["predicted"] == "fails"
    advice = report["recommendation"]
    assert (advice["dtype"], advice["backend"]) == ("bf16", "fa2")
    assert "flash_attention_2" in advice["settings"]["transformers"]["attn_implementation"]


def test_a_driver_that_is_not_known_leaves_verdicts_unknown(check: Check, stack: Path) -> None:
    report = check("--python", str(stack), "--gpu", "A100")
    assert verdict(report, "fa2", "bf16")["predicted"] == "unknown"
    assert "driver-too-old" in [each["rule_id"] for each in report["unknown"]]
    assert report["environment"]["driver.version"]["state"] == "unknown"


@pytest.mark.parametrize(
    ("gpu", "fa2", "dtype"),
    [("T4", "fails", "fp16"), ("H100", "works", "bf16"), ("sm_89", "works", "bf16")],
)
def test_other_gpus(check: Check, stack: Path, gpu: str, fa2: str, dtype: str) -> None:
    report = check("--python", str(stack), "--gpu", gpu, "--driver", "570.124.06")
    assert verdict(report, "fa2", "fp16")["predicted"] == fa2
    assert report["recommendation"]["dtype"] == dtype


def test_rtx_5090_needs_a_torch_with_its_code(check: Check, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "old")
    add_torch(site, "2.6.0", "12.4")
    report = check("--python", str(tmp_path / "old"), "--gpu", "RTX 5090", "--driver", "580.95.05")
    assert ids(report) == ["torch-arch-unsupported"]
    assert verdict(report, "sdpa-math", "fp16")["predicted"] == "fails"
    site = make_environment(tmp_path / "cu128")
    add_torch(site, "2.7.1+cu128", "12.8")
    report = check("--python", str(tmp_path / "cu128"), "--gpu", "RTX 5090", "--driver", "580.95")
    assert ids(report) == []


@pytest.mark.long
def test_minor_version_compatibility_of_drivers(check: Check, stack: Path) -> None:
    fine = check("--python", str(stack), "--gpu", "A100", "--driver", "535.183.01")
    assert ids(fine) == []
    old = check("--python", str(stack), "--gpu", "A100", "--driver", "470.82.01")
    assert ids(old) == ["driver-too-old"]


def test_two_gpus_get_what_works_on_both(check: Check, stack: Path) -> None:
    report = check(
        "--python", str(stack), "--gpu", "A100", "--gpu", "V100", "--driver", "570.124.06"
    )
    assert report["recommendation"]["dtype"] == "fp16"
    [finding] = report["findings"]
    assert (finding["rule_id"], finding["severity"]) == ("weaker-gpu-visible", "warning")
    assert (finding["subject"], finding["consequences"]) == ("gpu[1]", ["gpu-too-old-fa2"])


def test_cpu_torch_on_a_cpu_machine_is_silent(check: Check, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.13.0+cpu", None)
    report = check("--python", str(tmp_path / "env"), "--gpu", "none")
    assert report["findings"] == []
    assert report["recommendation"] is None


def test_a_foreign_build_stays_unknown(check: Check, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.6.0a0+df5bbc09d1.nv24.12", "12.6")
    report = check("--python", str(tmp_path / "env"), "--gpu", "V100", "--driver", "570.124.06")
    assert "torch-arch-unsupported" not in ids(report)
    assert "torch-arch-unsupported" in [each["rule_id"] for each in report["unknown"]]


def test_wheel_of_another_torch_is_found_by_its_recorded_name(check: Check, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    url = (
        "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/flash_attn-2.8.3"
        "%2Bcu12torch2.5cxx11abiTRUE-cp311-cp311-linux_x86_64.whl"
    )
    add_flash_attn(site, "2.8.3", url)
    report = check("--python", str(tmp_path / "env"), "--gpu", "A100", "--driver", "570.124.06")
    assert "wheel-torch-mismatch" in ids(report)
    assert verdict(report, "fa2", "bf16")["predicted"] == "fails"
    assert verdict(report, "sdpa-flash", "bf16")["predicted"] == "works"


def test_triton_that_torch_does_not_pin(check: Check, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8", 'triton==3.4.0; platform_system == "Linux"')
    add_package(site, "triton", "3.1.0")
    report = check("--python", str(tmp_path / "env"), "--gpu", "A100", "--driver", "570.124.06")
    assert "triton-torch-version" in [finding["rule_id"] for finding in report["findings"]]


@pytest.mark.long
def test_flash_attn_without_its_extension(check: Check, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    add_flash_attn(site, "2.8.3", extension=False)
    report = check("--python", str(tmp_path / "env"), "--gpu", "A100", "--driver", "570.124.06")
    assert "fa-extension-missing" in ids(report)
    assert verdict(report, "fa2", "bf16")["because"] == ["fa-extension-missing"]


@pytest.mark.long
def test_replayed_facts_give_the_same_bytes_elsewhere(
    run: Run, stack: Path, tmp_path: Path
) -> None:
    arguments = ("--python", str(stack), "--gpu", "V100", "--gpu", "H100")
    direct = run("check", "--format", "json", "--no-smoke", *arguments)
    saved = run("facts", "--format", "json", *arguments)
    assert saved.returncode == 0
    replayed = run("check", "--format", "json", "--facts", "-", input=saved.stdout, cwd=tmp_path)
    first, second = json.loads(direct.stdout), json.loads(replayed.stdout)
    for part in ("findings", "unknown", "verdicts", "recommendation", "environment", "summary"):
        assert json.dumps(first[part]) == json.dumps(second[part])
    again = run("check", "--format", "json", "--facts", "-", input=direct.stdout)
    assert json.loads(again.stdout)["findings"] == first["findings"]


def test_unknown_rule_to_ignore_is_refused(run: Run, stack: Path) -> None:
    result = run("check", "--no-smoke", "--python", str(stack), "--ignore", "gpu-too-odl-fa2")
    assert (result.returncode, result.stdout) == (2, "")
    assert "gpu-too-odl-fa2" in result.stderr


def test_a_retired_id_hides_what_speaks_of_it_now(run: Run, stack: Path) -> None:
    base = ("check", "--no-smoke", "--python", str(stack), "--ignore")
    result = run(*base, "trl-requirement-unmet")
    assert result.returncode != 2
    assert "trl-requirement-unmet is retired: requirement-unmet replaces it" in result.stderr
    assert result.stdout == run(*base, "requirement-unmet").stdout


def test_exit_codes(run: Run, stack: Path) -> None:
    base = ("check", "--no-smoke", "--python", str(stack), "--driver", "570.124.06", "--gpu")
    assert run(*base, "A100").returncode == 0
    assert run(*base, "V100").returncode == 1
    assert run(*base, "V100", "--exit-zero").returncode == 0
    assert run(*base, "V100", "--fail-on", "never").returncode == 0
    assert run(*base, "V100", "--ignore", "gpu-too-old-fa2").returncode == 0
    strict = run("check", "--no-smoke", "--python", str(stack), "--gpu", "A100", "--strict")
    assert strict.returncode == 3


def test_strict_is_no_green_light_where_there_was_nothing_to_look_at(
    run: Run, tmp_path: Path
) -> None:
    """CI that examined the wrong environment must not be told that all is well."""
    empty, other = tmp_path / "empty", tmp_path / "other"
    make_environment(empty)
    add_package(make_environment(other), "transformers", "4.55.0")
    for folder, words in ((empty, "None of the packages"), (other, "torch is not installed")):
        base = ("check", "--no-smoke", "--python", str(folder))
        result = run(*base, "--strict", "--fail-on", "never")
        assert (result.returncode, words in result.stdout) == (3, True)
        assert words in run(*base, "--quiet").stdout


def test_strict_is_no_green_light_where_the_smoke_run_could_not_start(
    run: Run, stack: Path
) -> None:
    python = stack / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    result = run("check", "--smoke", "--python", str(stack), "--strict", "--fail-on", "never")
    assert result.returncode == 3
    assert "smoke-run-incomplete" in result.stdout


def test_an_environment_that_was_only_found_is_read_and_not_run(run: Run, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "project" / ".venv")
    add_torch(site, "2.8.0", "12.8")
    python = tmp_path / "project" / ".venv" / "bin" / "python"
    python.unlink()
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    python.chmod(0o755)
    (tmp_path / "project" / "sub").mkdir()
    result = run("check", "--exit-zero", cwd=tmp_path / "project" / "sub")
    assert "torch 2.8.0" in result.stdout
    assert "--python" in result.stdout
    assert not (tmp_path / "was-run").exists()


@pytest.mark.long
def test_debug_says_why_each_rule_came_out_as_it_did(run: Run) -> None:
    facts = Path(__file__).parents[1] / "golden" / "linux-v100-torch210" / "facts.json"
    document = json.loads(facts.read_text(encoding="utf-8"))
    document["facts"]["driver.version"]["source"] = "https://kim:s3cr3tpassw0rd@example.org"
    told = json.dumps(document)
    plain, debug = (run("check", "--facts", "-", *more, input=told) for more in ((), ("--debug",)))
    assert (debug.stdout, debug.returncode) == (plain.stdout, plain.returncode)
    lines = debug.stderr.splitlines()
    found = (
        "fadoctor.rules: gpu-too-old-fa2 for gpu[0]: Found, severity error: all conditions hold."
    )
    assert found in lines
    head = "fadoctor.rules: driver-too-old for environment: Not found. This is false: "
    assert any(line.startswith(f"{head}driver.version is below needed_driver (") for line in lines)
    assert "s3cr3tpassw0rd" not in debug.stderr
    redacted = run("check", "--facts", "-", "--debug", "--redact", input=told).stderr
    assert "example.org" not in redacted
    assert found in redacted
    assert "fadoctor.rules" not in plain.stderr
