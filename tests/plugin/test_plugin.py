"""The plug-in of pytest, in runs of pytest of their own."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from fadoctor.interfaces.commands.backends import Backends, cell_of
from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Environment
from fadoctor.model.errors import UsageError

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"

PATIENT = """
import msgspec
import pytest
from fadoctor.interfaces.commands import backends
from fadoctor.interfaces.commands.backends import Backends
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict

calls = []


def found():
    def verdict(gpu, backend, dtype, predicted, *because):
        return Verdict(gpu, backend, "1", dtype, predicted, because, Measured.NOT_RUN, "")
    calls.append(1)
    assert len(calls) == 1, "asked once"
    v100 = "gpu[0] Tesla V100"
    return Backends(
        (
            verdict(v100, Backend.FA2, Dtype.BF16, Predicted.FAILS, "gpu-too-old-fa2"),
            verdict(v100, Backend.SDPA_EFFICIENT, Dtype.FP16, Predicted.WORKS),
            verdict(v100, Backend.SDPA_CUDNN, Dtype.FP16, Predicted.UNKNOWN),
        ),
        {"gpu-too-old-fa2": "GPU too old"},
        "",
    )


backends.of_this_interpreter = found
"""

TESTS = """
import pytest

@pytest.mark.attention("fa2", "bf16")
def test_old(): pass

@pytest.mark.attention("sdpa-efficient", dtype="fp16")
def test_good(): pass

@pytest.mark.attention("sdpa-efficient", "fp16")
@pytest.mark.attention("sdpa-cudnn", "fp16")
def test_open(): pass

@pytest.mark.attention("sdpa-efficient")
def test_no_such_cell(): pass

@pytest.mark.attention("fa3")
def test_absent(): pass

def test_fixture(attention_backends):
    assert dict(attention_backends) == {"sdpa-efficient": ("fp16",)}
    assert attention_backends.why_not("sdpa-efficient", "fp16") == ""
"""


def pytest_run(folder: Path, tests: str, *options: str, conftest: str = PATIENT) -> str:
    """Run pytest on a file and return what it prints."""
    (folder / "conftest.py").write_text(conftest)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(textwrap.dedent(tests))
    argv = [sys.executable, "-m", "pytest", "-rA", "--strict-markers", "-p", "no:cacheprovider",
            "-p", "fadoctor.pytest_plugin", *options]  # fmt: skip
    # once by its name, and not again by the entry point of an installed fadoctor
    env = {"PYTHONPATH": str(ROOT), "COLUMNS": "300", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=120, cwd=folder, env=env
    )
    return run.stdout + run.stderr


def summary(text: str) -> dict[str, str]:
    """Return name or line of a test -> the word and the reason of pytest's summary."""
    lines = text.rsplit("short test summary info", maxsplit=1)[-1].splitlines()[1:-1]
    found = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        name, _, reason = rest.partition(" - ")
        if word == "SKIPPED":
            name, _, reason = re.sub(r"^\[\d+\] ", "", rest).partition(": ")
        found[name.removeprefix("test_it.py::")] = f"{word} {reason}".strip()
    return found


def test_marked_tests_are_skipped_with_the_reason_of_the_verdict(tmp_path: Path) -> None:
    found = summary(pytest_run(tmp_path, TESTS))
    passed = [name for name, word in found.items() if word == "PASSED"]
    assert sorted(passed) == ["test_fixture", "test_good"]
    assert sorted(reason for reason in found.values() if reason != "PASSED") == [
        "SKIPPED fa2 bf16 fails on gpu[0] Tesla V100: GPU too old (gpu-too-old-fa2)",
        "SKIPPED fa3 bf16: fa3 is not installed here",
        "SKIPPED sdpa-cudnn fp16 unknown on gpu[0] Tesla V100: no source says",
        "SKIPPED sdpa-efficient bf16: sdpa-efficient has no bf16 kernels",
    ]


@pytest.mark.long
def test_where_they_are_required_they_fail_and_where_they_shall_run_they_do(tmp_path: Path) -> None:
    found = summary(pytest_run(tmp_path, TESTS, "--attention=require"))
    words = {name: text.split()[0] for name, text in found.items()}
    assert words.pop("test_good") == words.pop("test_fixture") == "PASSED"
    assert set(words.values()) == {"ERROR"}
    assert len(words) == 4
    assert "required by --attention=require: fa2 bf16 fails" in found["test_old"]
    ran = summary(pytest_run(tmp_path, TESTS, "--attention=run"))
    assert set(ran.values()) == {"PASSED"}


def test_a_mark_that_nobody_knows_fails_the_test_and_is_no_skip(tmp_path: Path) -> None:
    marks = {
        '"fa22"': "there is no backend 'fa22'. Did you mean fa2",
        '"flash_attention_2"': "no backend 'flash_attention_2'. Did you mean fa2?",
        '"sdpa"': "Did you mean sdpa-flash, sdpa-efficient, sdpa-cudnn, sdpa-math?",
        '"fa2", "int8"': "there is no dtype 'int8'",
        "": "missing 1 required positional argument",
        '"fa2", "bf16", "fp16"': "takes from 1 to 2 positional arguments",
    }
    tests = "\n".join(
        f"@pytest.mark.attention({mark})\ndef test_{number}(): pass\n"
        for number, mark in enumerate(marks)
    )
    found = summary(pytest_run(tmp_path, f"import pytest\n{tests}", "--attention=run"))
    assert [says in found[f"test_{n}"] for n, says in enumerate(marks.values())] == [True] * 6


def test_nothing_is_loaded_where_nothing_asks(tmp_path: Path) -> None:
    conftest = """
import sys
def pytest_sessionfinish():
    print("LOADED", sorted(name for name in sys.modules if name.startswith("fadoctor")))
"""
    text = pytest_run(tmp_path, "def test_it(): pass\n", "-s", conftest=conftest)
    assert "1 passed" in text
    assert "LOADED ['fadoctor', 'fadoctor.pytest_plugin']" in text


@pytest.mark.torch
@pytest.mark.long
def test_a_test_that_fails_shows_the_attention_it_ran(tmp_path: Path) -> None:
    test = """
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attend

    def test_wrong(attention_trace):
        q = torch.zeros(1, 2, 8, 16, dtype=torch.bfloat16)
        attend(q, q, q)
        assert not attention_trace.report()

    def test_mixed(attention_trace):
        q = torch.zeros(1, 2, 8, 16, dtype=torch.bfloat16)
        attend(q.float(), q, q)
    """
    text = pytest_run(tmp_path, test)
    assert summary(text)["test_wrong"].startswith("FAILED")
    assert "same dtype" in summary(text)["test_mixed"]
    assert "_fadoctor_trace_" not in text  # an error stands where it is raised, in their code
    assert "fadoctor trace" in text
    assert "bfloat16" in text


def test_the_plugin_itself_imports_nothing_but_pytest() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import fadoctor.pytest_plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    argv = [sys.executable, "-c", code]
    run = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["fadoctor", "fadoctor.pytest_plugin"]


def test_pytest_finds_it_by_its_entry_point() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\nfadoctor = "fadoctor.pytest_plugin"\n' in text


@pytest.mark.long
def test_this_interpreter_is_asked_for_real(tmp_path: Path) -> None:
    test = """
    import sys, pytest

    @pytest.mark.attention("fa1")
    def test_it(): pass

    def test_torch_is_not_imported(attention_backends):
        assert "torch" not in sys.modules
        assert attention_backends.why_not("fa1", "bf16")
    """
    text = pytest_run(tmp_path, test, conftest="")
    assert "1 passed, 1 skipped" in text


def backends_of(case: str) -> Backends:
    facts = (GOLDEN / case / "facts.json").read_bytes()
    environment = msgspec.json.decode(facts, type=Environment)
    report = diagnose(environment, load_knowledge())
    return Backends(report.verdicts, {}, "no GPU")


def test_what_works_works_on_every_gpu() -> None:
    assert "bf16" in backends_of("linux-a100-healthy")["fa2"]
    both = backends_of("linux-v100-and-a100")
    assert "fa2" not in both
    assert "fp16" in both["sdpa-efficient"]
    assert "bf16" not in both["sdpa-efficient"]
    assert "on gpu[0]" in both.why_not("fa2", "bf16")


def test_without_a_gpu_the_reason_is_that() -> None:
    nothing = Backends((), {}, "There is no GPU here.")
    assert len(nothing) == 0
    assert nothing.why_not("fa2", "bf16") == "fa2 bf16: There is no GPU here."
    with pytest.raises(UsageError):
        cell_of("fa2", "int8")
    assert cell_of("fa2", "torch.bfloat16") == cell_of("fa2")


@pytest.mark.long
def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert "1 passed, 2 skipped" in pytest_run(tmp_path, example)
