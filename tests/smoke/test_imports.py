"""The proof by import, under a real interpreter, with packages that are none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.judging.verdicts.measurements import import_disagreements, with_foreseen
from fadoctor.judging.verdicts.root_causes import find_root_causes
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment
from fadoctor.model.fact import Known
from fadoctor.model.finding import Confidence, Finding, Severity
from fadoctor.model.smoke import ImportProof, SmokeRun
from fadoctor.model.verdict import Measured
from fadoctor.processes.run import run
from fadoctor.proof.smoke import imports
from fadoctor.proof.smoke.imports import entries, run_imports
from tests.smoke.smoke_recordings import TARGET, judge

if TYPE_CHECKING:
    from pathlib import Path

KNOWLEDGE = load_knowledge()
INSTALLED = {
    "trl": "1.16.0",
    "peft": "0.17.1",
    "accelerate": "1.15.0",
    "unsloth": "2026.10.9",
    "axolotl": "0.5.0",
    "sglang": "0.4.0",
}


def environment(installed: dict[str, str], **facts: Any) -> Environment:
    known = {name.replace("__", "."): Known(value, "test") for name, value in facts.items()}
    there = Known(installed, "test")
    return Environment("0", TARGET, {"packages.installed": there, **known})


def write(folder: Path, **packages: str) -> None:
    for name, text in packages.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(text, "utf-8")


def imported(folder: Path, *names: str, **facts: Any) -> dict[str, ImportProof]:
    here = environment({name: INSTALLED[name] for name in names}, **facts)
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    wanted = entries(here, KNOWLEDGE.tables)
    return {p.module: p for p in run_imports(here, wanted, environ, run, judge())}


TRL = """
print('{"event": "end", "step": "", "schema": 1}')
SFTTrainer = SFTConfig = DPOTrainer = 1
"""
PEFT = "from transformers import HybridCache\n"


def test_what_imports_and_what_does_not(tmp_path: Path) -> None:
    """What a package prints is no event, and each cause is that of the symptoms of explain."""
    write(tmp_path, trl=TRL, peft=PEFT, transformers="")
    found = imported(tmp_path, "trl", "peft")
    assert found["trl"].measured is Measured.PASSED
    assert "trl:SFTTrainer" in found["trl"].detail
    assert found["peft"].measured is Measured.FAILED
    assert found["peft"].rule_id == "peft-hybrid-cache"
    assert found["peft"].detail.startswith("peft: ImportError: cannot import name 'HybridCache'")


def test_a_name_that_a_program_imports_next(tmp_path: Path) -> None:
    lazy = "def __getattr__(name):\n    raise AttributeError(f'it is lazy about {name}')\n"
    write(tmp_path, trl=lazy)
    found = imported(tmp_path, "trl")["trl"]
    assert (found.measured, found.step) == (Measured.FAILED, "trl:SFTTrainer")


def test_what_this_release_does_not_have(tmp_path: Path) -> None:
    """Names come and go with releases: what an older trl has not is no failure of its import."""
    old = (
        "def __getattr__(name):\n    raise AttributeError(f'module trl has no attribute {name}')\n"
    )
    write(tmp_path, trl="SFTTrainer = 1", peft=old.replace("trl", "peft"))
    found = imported(tmp_path, "trl", "peft")
    assert [each.measured for each in found.values()] == [Measured.PASSED, Measured.PASSED]
    assert found["trl"].detail.startswith("trl, trl:SFTTrainer in ")
    assert found["peft"].detail.startswith("peft in ")


def test_a_part_that_a_release_does_not_have(tmp_path: Path) -> None:
    write(tmp_path, axolotl="", sglang="import axolotl.cli.main")
    found = imported(tmp_path, "axolotl", "sglang")
    assert found["axolotl"].measured is Measured.PASSED
    assert found["sglang"].measured is Measured.FAILED  # it is another package's


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os; os._exit(3)", "trl: exited with status 3"),
        ("import os; os.kill(os.getpid(), 11)", "trl: died of SIGSEGV"),
        ("import sys; sys.exit('no')", "trl: SystemExit: no"),
    ],
)
def test_a_module_that_ends_the_process(tmp_path: Path, text: str, says: str) -> None:
    write(tmp_path, trl=text)
    found = imported(tmp_path, "trl")["trl"]
    assert (found.measured, found.detail) == (Measured.FAILED, says)


def test_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "IMPORT_S", 1.0)
    write(tmp_path, trl="import time; time.sleep(60)", accelerate="Accelerator = 1")
    found = imported(tmp_path, "trl", "accelerate")
    assert "gave no answer within 1 s" in found["trl"].detail
    assert found["accelerate"].measured is Measured.PASSED


def test_what_wants_a_gpu_where_there_is_none_declines(tmp_path: Path) -> None:
    says = "raise NotImplementedError('Unsloth cannot find any torch accelerator? You need a GPU.')"
    write(tmp_path, unsloth=says)
    without: dict[str, Any] = {"gpu.visible_count": 0}
    assert imported(tmp_path, "unsloth", **without)["unsloth"].measured is Measured.REFUSED
    with_one: dict[str, Any] = {"gpu.visible_count": 1}
    assert imported(tmp_path, "unsloth", **with_one)["unsloth"].measured is Measured.FAILED


def test_nothing_is_run_in_an_environment_that_was_only_found() -> None:
    found_only = msgspec.structs.replace(TARGET, may_run=False)
    here = msgspec.structs.replace(environment({"trl": "1.16.0"}), target=found_only)
    wanted = entries(here, KNOWLEDGE.tables)
    [proof] = run_imports(here, wanted, {}, lambda _: pytest.fail("it ran"), judge())
    assert proof.measured is Measured.NOT_RUN


def proof(measured: Measured, message: str = "") -> ImportProof:
    return ImportProof("peft", "peft", "0.17.1", measured, "says", message=message)


def finding(rule_id: str) -> Finding:
    return Finding(
        rule_id, Severity.ERROR, Confidence.HIGH, "t", "m", "w", "peft", (), (), (), (), "f"
    )


@pytest.mark.parametrize(
    ("measured", "foretold", "says"),
    [
        (Measured.PASSED, "requirement-missing", "peft 0.17.1"),
        (Measured.FAILED, "", "Cannot be imported, although fadoctor predicted that it can"),
        (Measured.FAILED, "requirement-missing", ""),
        (Measured.PASSED, "", ""),
        (Measured.PASSED, "package-duplicated", ""),
    ],
)
def test_prediction_and_import_are_held_against_each_other(
    measured: Measured, foretold: str, says: str
) -> None:
    smoke = SmokeRun((), imports=(proof(measured),))
    smoke = with_foreseen(smoke, [finding(foretold)] if foretold else [])
    assert bool(list(import_disagreements(smoke))) == bool(says)
    matrix = Matrix(KNOWLEDGE.tables)
    found = find_root_causes(smoke, KNOWLEDGE, environment({}), matrix)
    assert says in "".join(each.message for each in found)
