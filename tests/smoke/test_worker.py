"""The worker itself, under a real interpreter, with a torch that is none."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import fadoctor.smoke.child
from fadoctor.model.smoke import NO_DEVICE, SmokeRun
from fadoctor.model.verdict import Dtype, Measured
from fadoctor.processes.run import run
from fadoctor.smoke import events
from fadoctor.smoke.catalogue import CATALOGUE, TRAPS
from fadoctor.smoke.child import _fadoctor_worker as worker
from fadoctor.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import TARGET, choice_of, judge, write_fake_torch

REFUSED, FAILED, NOT_RUN = Measured.REFUSED, Measured.FAILED, Measured.NOT_RUN
FOLDER = Path(fadoctor.smoke.child.__file__).parent
SCRIPTS = sorted(FOLDER.glob("_fadoctor_*.py"))
TESTED = {"torch", "flash_attn", "flash_attn_interface", "xformers", "vllm", "triton", "numpy"}


def smoke_with(folder: Path, attention: str = "pass", *, gpus: int = 0, **more: Any) -> SmokeRun:
    extra = more.pop("extra", "")
    write_fake_torch(folder, attention, gpus, extra)
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    return run_smoke(TARGET, environ, run, choice_of(**more), judge())


def measured(found: SmokeRun) -> list[Measured]:
    return [cell.measured for cell in found.cells]


def test_noise_on_stdout_and_a_refusal(tmp_path: Path) -> None:
    """The fake prints a line that looks like an event; it goes to stdout, where nobody looks."""
    found = smoke_with(tmp_path, "warnings.warn('too old a GPU')")
    assert measured(found) == [REFUSED] * 3
    assert found.problem == ""
    assert found.torch_version == "9.9+fake"
    assert found.cells[0].detail.endswith("too old a GPU")
    assert found.cells[0].rule_id == "sdpa-no-available-kernel"


def test_gpu_that_cannot_be_described_is_tried(tmp_path: Path) -> None:
    found = smoke_with(tmp_path, gpus=1, extra="del cuda.get_device_properties")
    assert found.cells[0].device_name == "GPU 0"
    assert measured(found) == [REFUSED] * 3


def test_rocm_numbers_are_no_compute_capability(tmp_path: Path) -> None:
    found = smoke_with(tmp_path, gpus=1, extra="version.hip = '6.2'")
    assert found.cells[0].compute_capability == ""


def test_warning_of_the_gpu_search_is_kept(tmp_path: Path) -> None:
    warning = "driver too old (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)"
    extra = f"cuda.is_available = lambda: bool(warnings.warn({warning!r}))"
    found = smoke_with(tmp_path, extra=extra)
    assert found.cuda_note == "driver too old"
    assert found.cells[0].device == "cpu"


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("auto", ["cuda:0", "cuda:1"]),
        ("all", ["cuda:0", "cuda:1"]),
        ("cuda", ["cuda:0"]),
        ("cuda:1", ["cuda:1"]),
        ("cpu", ["cpu"]),
    ],
)
def test_device_that_is_asked_for(tmp_path: Path, device: str, expected: list[str]) -> None:
    found = smoke_with(tmp_path, gpus=2, device=device)
    assert list(dict.fromkeys(cell.device for cell in found.cells)) == expected
    assert measured(found) == [REFUSED] * 3 * len(expected)


@pytest.mark.parametrize(
    ("device", "problem"),
    [
        ("cuda", "torch sees no GPU"),
        ("all", "torch sees no GPU"),
        ("cuda:7", "torch sees no cuda:7"),
    ],
)
def test_device_that_is_not_there(tmp_path: Path, device: str, problem: str) -> None:
    found = smoke_with(tmp_path, device=device)
    assert measured(found) == [NOT_RUN] * 3
    assert (found.problem, found.cells[0].detail) == (problem, problem)
    assert not found.gpu_tested


@pytest.mark.parametrize(
    ("extra", "expected", "problem"),
    [
        ("raise ImportError('undefined symbol: _ZN3c10')", FAILED, "undefined symbol"),
        ("raise ModuleNotFoundError('no numpy', name='numpy')", FAILED, "no numpy"),
        ("raise ModuleNotFoundError('no torch', name='torch')", NOT_RUN, "there is no torch"),
        ("raise ImportError(chr(0xdcff))", FAILED, "ImportError: ?"),
        ("os.kill(os.getpid(), signal.SIGABRT)", FAILED, "SIGABRT"),
        ("del cuda", FAILED, "no attribute 'cuda'"),
    ],
)
def test_import_that_goes_wrong(
    tmp_path: Path, extra: str, expected: Measured, problem: str
) -> None:
    found = smoke_with(tmp_path, extra=extra)
    assert measured(found) == [expected] * 3
    assert problem in found.problem
    assert found.cells[0].device == NO_DEVICE


def test_missing_library_of_torch_is_explained(tmp_path: Path) -> None:
    words = "libcudart.so.12: cannot open shared object file: No such file or directory"
    found = smoke_with(tmp_path, extra=f"raise ImportError({words!r})")
    assert {cell.rule_id for cell in found.cells} == {"libcudart-missing"}


def test_torch_without_attention(tmp_path: Path) -> None:
    found = smoke_with(tmp_path, extra="del nn.functional.scaled_dot_product_attention")
    assert measured(found) == [NOT_RUN] * 3
    assert "has no scaled_dot_product_attention" in found.cells[0].detail


def test_torch_without_a_dtype(tmp_path: Path) -> None:
    found = smoke_with(tmp_path, dtypes=(Dtype.FP8,))
    assert measured(found) == [NOT_RUN]
    assert "this torch has no float8_e4m3fn" in found.cells[0].detail


def test_search_path_ends_with_our_folder_and_lacks_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its end our folder shadows nothing of the target."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    log = tmp_path / "log"
    extra = f"open({str(log)!r}, 'w').write(os.pathsep.join(map(os.path.realpath, sys.path)))"
    smoke_with(tmp_path, extra=extra)
    folders = log.read_text().split(":")
    assert folders.index(str(FOLDER.resolve())) == len(folders) - 1
    assert str(tmp_path.resolve()) in folders
    assert str(here.resolve()) not in folders


def test_no_core_dump_and_no_byte_code(tmp_path: Path) -> None:
    log = tmp_path / "log"
    extra = f"import resource; open({str(log)!r}, 'w').write(str(resource.getrlimit(4)))"
    smoke_with(tmp_path, extra=extra)
    assert log.read_text() == "(0, 0)"
    assert not (tmp_path / "torch" / "__pycache__").exists()


def test_scripts_speak_the_grammar_of_python_3_8() -> None:
    for script in SCRIPTS:
        ast.parse(script.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_import_the_standard_library_and_what_they_test(script: Path) -> None:
    nodes = list(ast.walk(ast.parse(script.read_text())))
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    roots = {name.split(".")[0] for name in names}
    foreign = {root for root in roots if not root.startswith("_fadoctor_")}
    assert foreign - sys.stdlib_module_names <= TESTED
    assert {f"{root}.py" for root in roots - foreign} <= {path.name for path in SCRIPTS}


def test_both_sides_agree() -> None:
    assert worker.SCHEMA == events.SCHEMA
    assert worker.DEVICE_LIMIT == events.DEVICE_LIMIT


def test_catalogue_and_files_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    import _fadoctor_attention as attention  # noqa: PLC0415

    modules = {entry.module for entry in CATALOGUE}
    shared = {"worker", "numbers", "attention", "interpreted", "triton_kernel"}
    assert {path.stem for path in SCRIPTS} == modules | {f"_fadoctor_{name}" for name in shared}
    named = {case for entry in CATALOGUE for case in (*entry.cases, *entry.thorough)}
    own = {"rotary", "layer-norm", "cross-entropy", "matmul"}
    assert named - own == set(attention.SHAPES)
    assert {name for name, shape in attention.SHAPES.items() if shape.inputs} == set(TRAPS)
