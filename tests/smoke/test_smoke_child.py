"""The worker itself, under a real interpreter, with a torch that plays accidents."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fadoctor.smoke.child
from fadoctor.model.verdict import Measured
from fadoctor.probes.run import run
from fadoctor.smoke import events, parent
from fadoctor.smoke.child import _fadoctor_smoke as child
from fadoctor.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import FAKE_TORCH, TARGET

if TYPE_CHECKING:
    from fadoctor.model.environment import Target
    from fadoctor.smoke.cells import SmokeRun

REFUSED, FAILED, NOT_RUN = Measured.REFUSED, Measured.FAILED, Measured.NOT_RUN
FakeTorch = Callable[..., dict[str, str]]


@pytest.fixture
def target() -> Target:
    return TARGET


@pytest.fixture
def fake_torch(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Return a function that writes a fake torch and gives the environment that finds it."""

    def write(attention: str = "pass", *, gpus: int = 0, extra: str = "") -> dict[str, str]:
        text = FAKE_TORCH.replace("{attention}", attention).replace("{gpus}", str(gpus))
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch" / "__init__.py").write_text(text.replace("{extra}", extra))
        return {**os.environ, "PYTHONPATH": str(tmp_path)}

    return write


def measured(found: SmokeRun) -> list[Measured]:
    return [cell.measured for cell in found.cells]


def test_noise_on_stdout_and_a_refusal(target: Target, fake_torch: FakeTorch) -> None:
    """The fake prints a line that looks like an event; it goes to stdout, where nobody looks."""
    found = run_smoke(target, fake_torch("warnings.warn('too old a GPU')"), run)
    assert measured(found) == [REFUSED] * 3
    assert found.problem == ""
    assert found.torch_version == "9.9+fake"
    assert found.cells[0].detail.endswith("too old a GPU")


def test_crash_in_one_dtype(target: Target, fake_torch: FakeTorch) -> None:
    crash = "if q.dtype == float16: os.kill(os.getpid(), signal.SIGSEGV)"
    found = run_smoke(target, fake_torch(crash), run)
    assert measured(found) == [REFUSED, FAILED, REFUSED]
    assert found.problem == "cpu sdpa-flash fp16: the worker died of SIGSEGV"


def test_exit_in_one_dtype(target: Target, fake_torch: FakeTorch) -> None:
    found = run_smoke(target, fake_torch("if q.dtype == bfloat16: sys.exit(3)"), run)
    assert measured(found) == [FAILED, REFUSED, REFUSED]
    assert "exited with status 3" in found.cells[0].detail


def test_hang_is_ended(target: Target, fake_torch: FakeTorch) -> None:
    hang = "if q.dtype == float16: time.sleep(60)"
    found = run_smoke(target, fake_torch(hang), run, timeout_s=2)
    assert measured(found) == [REFUSED, FAILED, NOT_RUN]
    assert "gave no answer" in found.cells[1].detail


def test_exception_on_the_cpu_leaves_the_worker_alive(
    target: Target, fake_torch: FakeTorch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    boom = "if q.dtype == bfloat16: raise ValueError('boom')"
    counting = f"open({str(log)!r}, 'a').write('started ')"
    found = run_smoke(target, fake_torch(boom, extra=counting), run)
    assert measured(found) == [FAILED, REFUSED, REFUSED]
    assert found.cells[0].detail.endswith("forward: ValueError: boom")
    assert log.read_text() == "started "


def test_poisoned_gpu_gets_a_new_worker(
    target: Target, fake_torch: FakeTorch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    illegal = "if q.dtype == bfloat16: raise RuntimeError('CUDA error: illegal memory access')"
    counting = f"open({str(log)!r}, 'a').write(os.environ['CUDA_DEVICE_ORDER'] + ' ')"
    found = run_smoke(target, fake_torch(illegal, gpus=1, extra=counting), run)
    assert measured(found) == [FAILED, REFUSED, REFUSED]
    assert log.read_text() == "PCI_BUS_ID PCI_BUS_ID "


def test_every_visible_gpu_gets_its_cells(target: Target, fake_torch: FakeTorch) -> None:
    found = run_smoke(target, fake_torch(gpus=2), run)
    assert [cell.device for cell in found.cells] == ["cuda:0"] * 3 + ["cuda:1"] * 3
    assert found.cells[3].compute_capability == "8.1"
    assert found.cuda_available
    assert found.gpu_tested


def test_gpu_that_cannot_be_described_is_tried(target: Target, fake_torch: FakeTorch) -> None:
    found = run_smoke(target, fake_torch(gpus=1, extra="del cuda.get_device_properties"), run)
    assert found.cells[0].device_name == "GPU 0"
    assert measured(found) == [REFUSED] * 3


def test_rocm_numbers_are_no_compute_capability(target: Target, fake_torch: FakeTorch) -> None:
    found = run_smoke(target, fake_torch(gpus=1, extra="version.hip = '6.2'"), run)
    assert found.cells[0].compute_capability == ""


def test_warning_of_the_gpu_search_is_kept(target: Target, fake_torch: FakeTorch) -> None:
    warning = "driver too old (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)"
    extra = f"cuda.is_available = lambda: bool(warnings.warn({warning!r}))"
    found = run_smoke(target, fake_torch(extra=extra), run)
    assert found.cuda_note == "driver too old"
    assert found.cells[0].device == "cpu"


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
    target: Target, fake_torch: FakeTorch, extra: str, expected: Measured, problem: str
) -> None:
    found = run_smoke(target, fake_torch(extra=extra), run)
    assert measured(found) == [expected] * 3
    assert problem in found.problem


def test_torch_without_attention(target: Target, fake_torch: FakeTorch) -> None:
    extra = "del nn.functional.scaled_dot_product_attention"
    found = run_smoke(target, fake_torch(extra=extra), run)
    assert measured(found) == [NOT_RUN] * 3
    assert "has no scaled_dot_product_attention" in found.problem


def test_neither_the_current_folder_nor_ours_is_on_the_path(
    target: Target, fake_torch: FakeTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    log = tmp_path / "log"
    extra = f"open({str(log)!r}, 'w').write(os.pathsep.join(map(os.path.realpath, sys.path)))"
    run_smoke(target, fake_torch(extra=extra), run)
    folders = log.read_text().split(":")
    assert str(tmp_path.resolve()) in folders
    assert str(here.resolve()) not in folders
    assert str(Path(child.__file__).resolve().parent) not in folders


def test_no_core_dump_and_no_byte_code(
    target: Target, fake_torch: FakeTorch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    extra = f"import resource; open({str(log)!r}, 'w').write(str(resource.getrlimit(4)))"
    run_smoke(target, fake_torch(extra=extra), run)
    assert log.read_text() == "(0, 0)"
    assert not (tmp_path / "torch" / "__pycache__").exists()


def test_worker_speaks_the_grammar_of_python_3_8() -> None:
    folder = Path(fadoctor.smoke.child.__file__).parent
    for script in folder.glob("_fadoctor_*.py"):
        ast.parse(script.read_text(), feature_version=(3, 8))


def test_worker_imports_nothing_of_ours() -> None:
    tree = ast.parse(Path(child.__file__).read_text())
    nodes = list(ast.walk(tree))
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    outside = {n for n in names if n.split(".")[0] not in sys.stdlib_module_names}
    assert outside == {"torch", "torch.nn.attention"}


def test_both_sides_agree() -> None:
    assert child.SCHEMA == events.SCHEMA
    assert child.DEVICE_LIMIT == events.DEVICE_LIMIT
    assert {backend.value for backend in parent.BACKENDS} == set(child.SDPA)
    assert {dtype.value for dtype in parent.DTYPES} == set(child.DTYPES)
