"""Environments as people have them, planted on disk: what `check` and `fix --dry-run` say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.binaries.elf_writer import Spec, elf_file
from tests.cli.environments import add_package, add_torch, make_environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ON_X86 = 'platform_system == "Linux" and platform_machine == "x86_64"'


def said(run: Run, *arguments: str) -> Any:
    """Return a report or a plan as plain data."""
    result = run(*arguments, "--format", "json")
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def found(report: Any) -> set[str]:
    return {finding["rule_id"] for finding in report["findings"]}


def test_markers_are_decided_for_the_platform_that_is_assumed(run: Run, tmp_path: Path) -> None:
    """Regression: an image for aarch64 was told to install what only x86_64 requires."""
    site = make_environment(tmp_path)
    add_torch(
        site, "2.8.0", None, f"triton==3.4.0; {ON_X86}", f"nvidia-nccl-cu12==2.27.3; {ON_X86}"
    )
    meant = ("check", "--site-packages", str(site), "--gpu", "none", "--platform")
    assert {"triton-missing", "requirement-unmet"} & found(said(run, *meant, "linux_x86_64"))
    assert not found(said(run, *meant, "linux_aarch64"))


def test_markers_are_decided_for_the_python_that_is_assumed(run: Run, tmp_path: Path) -> None:
    """Regression: another Python was assumed, and the requirements of this one were judged."""
    site = make_environment(tmp_path)
    add_torch(site, "2.5.1", "12.4", 'triton==3.1.0; python_version < "3.13"')
    meant = ("check", "--site-packages", str(site), "--gpu", "A100", "--driver", "570.86.15")
    assert "triton-missing" in found(said(run, *meant, "--python-version", "3.12"))
    assert not found(said(run, *meant, "--python-version", "3.13"))


@pytest.mark.long
def test_saved_facts_are_decided_again_for_what_is_assumed(run: Run, tmp_path: Path) -> None:
    """Regression: saved facts were judged by the platform and the Python that had been read."""
    site = make_environment(tmp_path)
    add_torch(site, "2.8.0", None, f"triton==3.4.0; {ON_X86}", "filelock")
    add_package(site, "datasets", "4.0.0", 'numpy<2; python_version < "3.9"', "filelock")
    saved = tmp_path / "facts.json"
    here = ("--site-packages", str(site), "--gpu", "none", "--platform", "linux_x86_64")
    saved.write_text(run("facts", *here, "--python-version", "3.12").stdout)
    meant = ("check", "--facts", str(saved), "--platform")
    assert "triton-missing" in found(said(run, *meant, "linux_x86_64"))
    assert "triton-missing" not in found(said(run, *meant, "linux_aarch64"))

    def unmet(python: str) -> str:
        report = said(run, *meant, "linux_x86_64", "--python-version", python)
        return str([each["message"] for each in report["findings"]])

    assert "numpy" in unmet("3.8")
    assert "numpy" not in unmet("3.12")


def test_saved_facts_without_the_conditions_say_so(run: Run, tmp_path: Path) -> None:
    site = make_environment(tmp_path)
    add_torch(site, "2.8.0", None, f"triton==3.4.0; {ON_X86}")
    saved = tmp_path / "facts.json"
    facts = json.loads(run("facts", "--site-packages", str(site), "--gpu", "none").stdout)
    kept = {k: v for k, v in facts["facts"].items() if not k.endswith("requires_lines")}
    saved.write_text(json.dumps(facts | {"facts": kept}))
    report = said(run, "check", "--facts", str(saved), "--platform", "linux_aarch64")
    assert "do not contain the conditions" in str(report["target"]["notes"])


@pytest.mark.long
def test_what_nothing_asks_for_is_no_reason_for_another_torch(run: Run, tmp_path: Path) -> None:
    """Regression: `check` found nothing, and `fix` moved torch by nine releases for flex."""
    site = make_environment(tmp_path)
    add_torch(site, "2.5.1", "12.4", 'triton==3.1.0; python_version < "3.13"')
    meant = ("--site-packages", str(site), "--gpu", "A100", "--driver", "570.86.15")
    assumed = ("--python-version", "3.13", "--platform", "linux_x86_64")
    report = said(run, "check", *meant, *assumed)
    flex = [each for each in report["verdicts"] if each["backend"] == "flex"]
    assert {each["predicted"] for each in flex} == {"fails"}
    assert not found(report)
    assert said(run, "fix", "--dry-run", *meant, *assumed)["actions"] == []


@pytest.mark.long
def test_a_torch_for_intel_computes_on_no_nvidia_gpu(run: Run, tmp_path: Path) -> None:
    """Regression: no finding, and "use bf16 with sdpa-flash" on an A100."""
    site = make_environment(tmp_path)
    add_torch(site, "2.8.0+xpu", None)
    add_package(site, "pytorch-triton-xpu", "3.4.0")
    version = site / "torch" / "version.py"
    version.write_text(version.read_text() + "xpu: Optional[str] = '20250101'\n")
    meant = ("--python", str(tmp_path), "--gpu", "A100", "--driver", "570.86.15")
    report = said(run, "check", *meant, "--no-smoke")
    assert "torch-other-vendor" in found(report)
    assert not {each["predicted"] for each in report["verdicts"]} & {"works"}
    [uninstall, install] = said(run, "fix", "--dry-run", *meant)["actions"]
    assert "pytorch-triton-xpu" in str(uninstall)
    assert "torch==2.8.0" in str(install)


def planned(run: Run, tmp_path: Path, text: str, *assumed: str, command: str = "check") -> Any:
    """Return what is said of a requirements.txt on an assumed machine, Linux if nothing else."""
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    options = ("--dry-run",) if command == "fix" else ()
    machine = assumed if "--platform" in assumed else ("--platform", "linux_x86_64", *assumed)
    return said(run, command, *options, "--requirements", str(file), *machine)


@pytest.mark.long
def test_a_release_without_a_file_for_the_python_is_told(run: Run, tmp_path: Path) -> None:
    """Regression: no finding, and every cell works, for a torch that pip finds no file of."""
    assumed = ("--gpu", "A100", "--driver", "570.86.15", "--python-version")
    report = planned(run, tmp_path, "torch==2.8.0\n", *assumed, "3.14")
    assert "python-unsupported" in found(report)
    assert not {each["predicted"] for each in report["verdicts"]} & {"works"}
    assert not found(planned(run, tmp_path, "torch==2.8.0\n", *assumed, "3.13"))


@pytest.mark.long
def test_a_file_for_intel_is_told_before_it_is_installed(run: Run, tmp_path: Path) -> None:
    """Regression: what the index xpu serves was taken for a build that nobody knows."""
    text = "--index-url https://download.pytorch.org/whl/xpu\ntorch==2.8.0\n"
    assumed = ("--python-version", "3.12", "--driver", "570.86.15", "--gpu")
    assert "torch-other-vendor" in found(planned(run, tmp_path, text, *assumed, "A100"))
    assert not found(planned(run, tmp_path, text, *assumed, "none"))


@pytest.mark.long
def test_what_only_old_releases_do_is_no_reason_to_go_back(run: Run, tmp_path: Path) -> None:
    """Regression: for a V100 torch went from 2.11 to 2.6, since flex is known to work there."""
    assumed = ("--gpu", "V100", "--driver", "580.65.06", "--python-version", "3.11")
    plan = planned(run, tmp_path, "torch==2.11.0\n", *assumed, command="fix")
    assert "torch==2.11.0+cu126" in plan["actions"][0]["requirements"]


@pytest.mark.long
def test_what_pypi_has_for_windows_is_told(run: Run, tmp_path: Path) -> None:
    """Regression: nobody had written down that it has no CUDA there, and all stayed open."""
    machine = ("--platform", "win_amd64", "--python-version", "3.11", "--driver", "572.16")
    report = planned(run, tmp_path, "torch==2.8.0\n", *machine, "--gpu", "RTX 4090")
    assert found(report) == {"torch-cpu-only"}
    assert not found(planned(run, tmp_path, "torch==2.8.0\n", *machine, "--gpu", "none"))


def test_what_is_lacking_comes_and_nothing_else_moves(run: Run, tmp_path: Path) -> None:
    """Regression: FlashAttention-4 without its compiler went to another beta as well."""
    site = make_environment(tmp_path)
    add_torch(site, "2.9.1", "12.8", "triton==3.5.1")
    add_package(site, "triton", "3.5.1")
    (site / "triton" / "_C").mkdir(parents=True)
    (site / "triton" / "_C" / "libtriton.so").write_bytes(elf_file(Spec()))
    needs = ("nvidia-cutlass-dsl>=4.5.2", "torch-c-dlpack-ext", "quack-kernels>=0.5.0")
    add_package(site, "flash-attn-4", "4.0.0b16", "torch", *needs)
    add_package(site, "quack-kernels", "0.5.0", "nvidia-cutlass-dsl>=4.5.2")
    (site / "flash_attn" / "cute").mkdir(parents=True)
    (site / "flash_attn" / "cute" / "__init__.py").write_text("")
    meant = ("--python", str(tmp_path), "--gpu", "H100", "--driver", "580.65.06")
    plan = said(run, "fix", "--dry-run", *meant)
    names = [text.partition("=")[0] for each in plan["actions"] for text in each["requirements"]]
    assert sorted(names) == ["nvidia-cutlass-dsl", "torch-c-dlpack-ext"]
