"""What all tests share: a clean environment, and markers that need something of the machine."""

from __future__ import annotations

import compileall
import gc
import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

for _finder in sys.meta_path:
    # As that of a plugin, pytest would rewrite the assertions of our whole package, which has none.
    getattr(_finder, "_must_rewrite", set()).discard("fadoctor")
    getattr(_finder, "_marked_for_rewrite_cache", {}).clear()

from tests.browser import Browser, installed  # noqa: E402
from tests.tools.draw import named_seed  # noqa: E402
from tests.uv import UV  # noqa: E402
from tests.work import examples  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# A busy machine is no fault of what is tested. With a seed each run tries the same inputs.
settings.register_profile(
    "patient", deadline=None, max_examples=examples(100), derandomize=bool(named_seed())
)
settings.load_profile("patient")

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers have a core each, torch's tensors are small

_INHERITED: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
for _name in ("SIGHUP", "SIGQUIT"):
    if hasattr(signal, _name):
        _INHERITED[getattr(signal, _name)] = signal.SIG_DFL
for _number, _handler in _INHERITED.items():
    # What a shell starts in the background, or nohup, ignores them, and so would our children.
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

_SCRUBBED = (
    "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "COLUMNS", "FADOCTOR_PYTHON",
    "FORCE_COLOR", "LD_LIBRARY_PATH", "NO_COLOR", "PYTHONPATH", "TERM", "TRITON_INTERPRET",
    "VIRTUAL_ENV", "VLLM_ATTENTION_BACKEND",
)  # fmt: skip
"""Variables that would change what is read or printed."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Compile modules once, as an installer does: tests start some hundred processes.

    Containers often set PYTHONDONTWRITEBYTECODE, and each start would compile a checkout again.
    A named seed decides the order of the tests, too.
    """
    sys.dont_write_bytecode = False
    if (seed := named_seed()) and config.getoption("randomly_seed", None) == "default":
        config.option.randomly_seed = zlib.crc32(seed.encode())
    if not hasattr(config, "workerinput"):
        _refuse_another_checkout()
        _keep_files_in_memory()
        compileall.compile_dir(Path(__file__).parents[1] / "fadoctor", quiet=2, workers=1)


_MEMORY = Path("/dev/shm")
_ENOUGH = 4 << 30
"""Bytes that must be free there; the tests write a few hundred MB."""


def _keep_files_in_memory() -> None:
    """Let tests write their files to memory, where there is enough: to disk takes half a minute.

    Not where installers run for real: they link files from their caches, which are on a disk.
    """
    asked = set(os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(","))
    if not asked & {"network", "ray", "slurm"} and os.access(_MEMORY, os.W_OK | os.X_OK):
        found = os.statvfs(_MEMORY)
        if found.f_bavail * found.f_frsize >= _ENOUGH and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def _refuse_another_checkout() -> None:
    """End where programs that tests start would import the package of another checkout."""
    ours = Path(__file__).parents[1] / "fadoctor" / "__init__.py"
    program = [sys.executable, "-c", "import fadoctor; print(fadoctor.__file__)"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        program, check=False, capture_output=True, text=True, cwd=Path.home(), env=env
    )
    theirs = Path(done.stdout.strip())
    if done.returncode == 0 and not ours.samefile(theirs):
        raise pytest.UsageError(
            f"these tests are of {ours.parent}, and {sys.executable} imports {theirs.parent}: "
            "install this checkout, as README.md says"
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without the garbage collector, which took a third of the time: what is made stays.

    So it need not look at it in the tests either, nor as often as it does: a tenth of their time.
    """
    gc.disable()
    try:
        _translate_a_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 100)
        gc.enable()


def _translate_a_share(config: pytest.Config) -> None:
    """Import a worker's share of the test files before all of them.

    Each worker collects all files, and pytest rewrites the assertions of each that it has not kept:
    in a clean clone each of three workers would do so, side by side, for the same file at the same
    time. So each begins with files that are its own, and finds those of the others done.
    """
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    if not worker:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), int(worker["workercount"])
    for name in sorted(_test_modules(config))[number % count :: count]:
        # What is skipped or fails here does so again where it is collected, and is told there.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


def _test_modules(config: pytest.Config) -> Iterator[str]:
    """Yield the names of the modules with tests below the folders that were asked for."""
    for argument in config.args:
        for path in (config.invocation_params.dir / argument).rglob("test_*.py"):
            if path.is_relative_to(config.rootpath):
                yield ".".join(path.relative_to(config.rootpath).with_suffix("").parts)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the garbage collector look rarely, and never at the tests themselves.

    They are ten thousand objects that stay, and what they make is mostly freed without it: looking
    took a fifth of the time.
    """
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)


_ON_DEMAND = {
    "network": "needs a package index",
    "long": "takes long",
    "weekly": "takes long in all",
    "slurm": "starts a Slurm of sixteen nodes",
    "launchers": "runs pdsh, clush and Open MPI",
    "ray": "starts a Ray cluster, from the package index",
}
"""Markers of tests that run where they are asked for: in .ci/run, once a week, and by hand."""

_LEFT_OUT = pytest.StashKey[Counter[str]]()
"""How many tests were left out, by the marker that asks for them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose among sets of parameters: which always run, which are long, and which are weekly.

    Of a test marked `sampled` each fourth always runs, the one after it is long, and the others are
    weekly. Of one marked `thinned` each third is as it is, and the others are weekly. They come in
    the order that the seed gives them: a run by hand chooses others each time, and .ci/run, which
    names its seed, the same ones. Without pytest-randomly they come as they are written.
    """
    counts: Counter[str] = Counter()
    for item in items:
        sampled, thinned = map(item.get_closest_marker, ("sampled", "thinned"))
        name = item.nodeid.partition("[")[0]
        if sampled is not None and (place := counts[name] % sampled.kwargs.get("every", 4)):
            item.add_marker(pytest.mark.long if place == 1 else pytest.mark.weekly)
        if thinned is not None and counts[name] % thinned.kwargs.get("every", 3):
            item.add_marker(pytest.mark.weekly)
        counts[name] += 1
    _leave_out(config, items)


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what nobody asked for: each skip would be a run and a report, ten thousand times."""
    required = set(os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(","))
    not_asked = [marker for marker in _ON_DEMAND if marker not in required]
    left_out = Counter[str]()
    kept = []
    for item in items:
        missing = next((each for each in not_asked if item.get_closest_marker(each)), None)
        if missing is None:
            kept.append(item)
        else:
            left_out[missing] += 1
    config.stash[_LEFT_OUT] = left_out
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = dict(left_out)
    items[:] = kept


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what the workers left out; all leave out the same."""
    node.config.stash[_LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out"))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which tests were left out, and what asks for them."""
    for marker, count in sorted(config.stash.get(_LEFT_OUT, Counter[str]()).items()):
        terminalreporter.write_line(
            f"left out: {count} ({_ON_DEMAND[marker]}; set FADOCTOR_TESTS_REQUIRE={marker})"
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return one process more than there are cores: some tests wait for a child or a time limit."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else _cores() + 1


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which tests keep what programs keep in a home."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Chromium with its driver and axe, installed once."""
    return installed(tmp_path_factory.mktemp("browser"))


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, cache_home: Path) -> None:
    for name in _SCRUBBED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    monkeypatch.setenv("XDG_DATA_HOME", str(cache_home / "data"))


@pytest.fixture
def uv_on_path(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let programs find the uv of the environment that runs the tests, and none of its others."""
    if not UV:
        pytest.skip("no uv")
    folder = tmp_path_factory.mktemp("uv")
    (folder / "uv").symlink_to(UV)
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))


def _hindrance(marker: str) -> str:
    """Return why tests with a marker cannot run here, "" where they can."""
    if marker == "torch" and importlib.util.find_spec("torch") is None:
        return "torch is not installed in the environment that runs the tests"
    if marker == "gcc" and shutil.which("gcc") is None:
        return "no gcc to compile the stub drivers"
    if marker == "flash_attn" and not os.environ.get("FADOCTOR_TESTS_FLASH_ATTN"):
        return "FADOCTOR_TESTS_FLASH_ATTN names no interpreter with flash-attn (docs/smoke.md)"
    if marker == "gpu" and not os.path.exists("/dev/nvidia0"):  # noqa: PTH110 -- a device
        return "no NVIDIA GPU"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here; fail instead where the caller requires it."""
    required = os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
    for marker in ("torch", "gcc", "flash_attn", "gpu"):
        if item.get_closest_marker(marker) is not None and (reason := _hindrance(marker)):
            if marker in required:
                pytest.fail(f"required: {reason}", pytrace=False)
            pytest.skip(reason)
