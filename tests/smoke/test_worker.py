"""The worker itself, under a real interpreter, with a torch that is none."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import fadoctor.proof.smoke.child
from fadoctor.model.smoke import NO_DEVICE, SmokeRun
from fadoctor.model.smoke_catalogue import CATALOGUE, LIKE, TRAPS
from fadoctor.model.verdict import Dtype, Measured
from fadoctor.processes.run import run
from fadoctor.proof.smoke import events
from fadoctor.proof.smoke.child import _fadoctor_worker as worker
from fadoctor.proof.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import TARGET, choice_of, judge, write_fake_torch

REFUSED, FAILED, NOT_RUN = Measured.REFUSED, Measured.FAILED, Measured.NOT_RUN
FOLDER = Path(fadoctor.proof.smoke.child.__file__).parent
SCRIPTS = sorted(FOLDER.glob("_fadoctor_*.py"))
TESTED = {
    "torch",
    "flash_attn",
    "flash_attn_interface",
    "xformers",
    "vllm",
    "triton",
    "numpy",
    "kernels",
}


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


def test_torch_whose_own_kernel_does_not_run_is_asked_once(tmp_path: Path) -> None:
    """The line of the probe is what tells torch's own code from an extension's."""
    log = tmp_path / "log"
    extra = (
        f"open({str(log)!r}, 'a').write('started ')\n"
        "def ones(count, device):\n"
        "    raise RuntimeError('CUDA error: no kernel image is available for execution on the '\n"
        "                       'device')\n"
    )
    found = smoke_with(tmp_path, gpus=2, extra=extra)
    assert measured(found) == [FAILED] * 6
    assert log.read_text().split() == ["started"] * 2  # a worker for each GPU
    assert "not even a kernel of torch itself runs on it" in found.cells[0].detail


def test_line_of_the_first_kernel_names_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.ones is a builtin: the last frame of the traceback is the worker's own."""
    told: dict[str, Any] = {}

    def ones(_count: int, device: str) -> None:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

    cuda = types.SimpleNamespace(set_device=lambda _device: None)
    log = types.SimpleNamespace(emit=lambda event, **fields: told.update(fields, event=event))
    monkeypatch.setattr(worker, "leave", sys.exit)
    with pytest.raises(SystemExit):
        worker.run_first_kernel(types.SimpleNamespace(ones=ones, cuda=cuda), log, "cuda:0")  # type: ignore[arg-type]  # stubs
    assert told["event"] == "device-failed"
    assert told["memory"] is None
    above, frame, below = told["exception"]["trace"].partition(f'  File "{__file__}"')
    assert frame
    without = above + below[below.index("RuntimeError: ") :]
    assert judge().cause_of(without) == "kernel-image-missing-torch"


def test_torch_that_adds_wrongly_is_not_asked_further(tmp_path: Path) -> None:
    extra = "ones = lambda count, device: types.SimpleNamespace(sum=lambda: 3.0)"
    found = smoke_with(tmp_path, gpus=1, extra=extra)
    assert measured(found) == [FAILED] * 3
    assert "1 + 1 gives 3.0 on cuda:0" in found.cells[0].detail


def test_torch_without_grouped_heads_lacks_them(tmp_path: Path) -> None:
    extra = (
        "def old(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None): pass\n"
        "nn.functional.scaled_dot_product_attention = old"
    )
    found = smoke_with(tmp_path, cases=("gqa",), extra=extra)
    assert measured(found) == [NOT_RUN] * 3
    assert "this torch has no grouped heads here" in found.cells[0].detail


def test_other_type_errors_are_failures(tmp_path: Path) -> None:
    found = smoke_with(tmp_path, "raise TypeError('not for enable_gqa')", cases=("causal",))
    assert measured(found) == [FAILED] * 3


def test_cache_that_takes_no_new_token_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """FlashAttention-3 from v2.7.0 to v2.7.2: q, k_cache, v_cache and no k, v."""
    monkeypatch.syspath_prepend(FOLDER)
    tested = importlib.import_module("_fadoctor_flash_attn")

    def old(q: Any, k_cache: Any, v_cache: Any, cache_seqlens: Any = None) -> None:
        """Append nothing."""

    def new(q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None) -> None:
        """Append k and v."""

    with pytest.raises(tested.LackingError, match="appends no token"):
        tested.decode(None, None, old)
    assert tested.takes(new, "k")
    assert tested.takes(lambda *_, **__: None, "k")
    assert tested.takes(max, "k")  # a builtin that cannot be looked at


class Clock:
    """A GPU's events over a fake clock: a call takes `device_ms` there and `host_ms` in Python."""

    def __init__(self, device_ms: float, host_ms: float) -> None:
        self.device_ms, self.host_ms = device_ms, host_ms
        self.host = self.device = 0.0
        self.calls = 0
        self.cuda = self
        self.notes: list[str] = []
        self.found: dict[str, float] = {}

    def call(self) -> None:
        self.calls += 1
        self.host += self.host_ms
        self.device = max(self.device, self.host) + self.device_ms

    def Event(self, *, enable_timing: bool) -> Any:  # noqa: N802 -- torch's name
        clock = self

        class Event:
            def record(self) -> None:
                self.at = max(clock.device, clock.host)

            def synchronize(self) -> None:
                clock.host = max(clock.host, self.at)

            def elapsed_time(self, end: Any) -> float:
                return float(end.at - self.at)

        assert enable_timing
        return Event()

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.mark.parametrize(
    ("device_ms", "host_ms", "expected", "launch_bound"),
    [(1.0, 0.05, 1.0, False), (0.01, 0.05, 0.05, True), (500.0, 0.05, 500.0, False)],
    ids=["the GPU is busy", "the GPU waits", "a slow kernel"],
)
def test_times_of_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
    device_ms: float,
    host_ms: float,
    expected: float,
    launch_bound: bool,  # noqa: FBT001
) -> None:
    """Many calls between two events: Python's launch of one does not count as its time."""
    monkeypatch.syspath_prepend(FOLDER)
    numbers = importlib.import_module("_fadoctor_numbers")
    clock = Clock(device_ms, host_ms)
    trace = type("Trace", (), {"device": "cuda:0", "found": clock.found, "note": clock.note})
    monkeypatch.setattr(numbers.time, "perf_counter", lambda: clock.host / 1000)
    numbers.keep_time(clock, trace, "forward_ms", clock.call)
    assert clock.found["forward_ms"] == pytest.approx(expected, rel=0.1)
    assert (len(clock.notes) == 1) is launch_bound
    assert clock.calls < 200


def test_what_compiles_has_the_limit_for_each_phase() -> None:
    beats: list[str] = []
    log = types.SimpleNamespace(
        emit=lambda event, **_: beats.append(event), beat=lambda: beats.append("beat")
    )
    trace = worker.Trace(log, "cuda:0", {"backend": "flex", "dtype": "bf16", "case": "full"})  # type: ignore[arg-type]  # a stub
    trace.phase("forward")
    trace.patient = True
    trace.phase("backward")
    assert beats == ["phase", "beat", "phase"]


def test_precision_is_pinned() -> None:
    """Also where a torch has none of these switches."""

    class Switch:
        allow_tf32 = True

    class Torch:
        backends = type("B", (), {"cuda": type("C", (), {"matmul": Switch()}), "cudnn": Switch()})

    worker.pin_precision(Torch)
    assert not Torch.backends.cuda.matmul.allow_tf32  # type: ignore[attr-defined]
    assert not Torch.backends.cudnn.allow_tf32  # type: ignore[attr-defined]
    worker.pin_precision(None)


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
    import _fadoctor_shapes as shapes  # noqa: PLC0415

    modules = {entry.module for entry in CATALOGUE}
    shared = {"worker", "imports", "numbers", "attention", "shapes", "interpreted", "triton_kernel"}
    assert {path.stem for path in SCRIPTS} == modules | {f"_fadoctor_{name}" for name in shared}
    named = {case for entry in CATALOGUE for case in (*entry.cases, *entry.thorough)} | {*LIKE}
    own = {"rotary", "layer-norm", "cross-entropy", "matmul"}
    assert named - own == set(shapes.SHAPES)
    assert {name for name, shape in shapes.SHAPES.items() if shape.inputs} == set(TRAPS)


def test_an_argument_without_a_default_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """hopper at v2.7.3 and v2.7.4 takes no packed sequences without seqused_q and seqused_k."""
    monkeypatch.syspath_prepend(FOLDER)
    ways = importlib.import_module("_fadoctor_flash_attn")

    def old(q: object, seqused_q: object, longest: int = 0) -> None: ...

    def new(q: object, seqused_q: object = None, **more: object) -> None: ...

    assert ways.requires(old, "seqused_q")
    assert not any(ways.requires(new, name) for name in ("seqused_q", "seqused_k", "more"))
    assert not ways.requires(old, "longest")
    assert not ways.requires(print, "seqused_q")
