"""Time the knowledge base: loading it, and evaluating environments against it.

Usage: python bench/knowledge.py [--runs N] [--profile]

Medians of repeated runs in this process, after one warm-up; loading also as a whole process, as
a ratio to ``python -c pass``. Rules are cloned to show how the cost grows with their number. Run it
on a quiet machine, with .pyc files: ``python -m compileall fadoctor``.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in
from fadoctor.judging.diagnose import diagnose  # noqa: E402 -- the checkout that this file stands in
from fadoctor.judging.engine.judge import judge  # noqa: E402
from fadoctor.judging.verdicts.predict import predict  # noqa: E402
from fadoctor.judging.verdicts.recommendation import recommend  # noqa: E402
from fadoctor.knowledge.matrix.kernels import Kernels  # noqa: E402
from fadoctor.knowledge.matrix.load import COMPILED, Stamped, load_knowledge  # noqa: E402
from fadoctor.knowledge.matrix.query import Matrix  # noqa: E402
from fadoctor.model.catalogue import LATER, build_catalogue  # noqa: E402
from fadoctor.model.environment import Environment, Target  # noqa: E402
from fadoctor.model.fact import Absent, Fact, Known  # noqa: E402
from fadoctor.model.packages import PACKAGES  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.rule import Knowledge

LOADING_BAR_MS = 10.0
EVALUATING_BAR_MS = 3.0
COPIES = (1, 4, 16)
ENVIRONMENTS = (1, 10, 100)

_LOADING = "from fadoctor.knowledge.matrix.load import load_knowledge; load_knowledge()"
_IMPORTS = "import fadoctor.knowledge.matrix.load"

_MACHINE: dict[str, bool | int | str | dict[str, str]] = {
    "host.os": "linux",
    "host.platform": "linux_x86_64",
    "host.libc": "glibc",
    "host.glibc": "2.35",
    "python.version": "3.11.7",
    "python.tag": "cp311",
    "python.abi_tag": "cp311",
    "python.implementation": "cpython",
    "python.headers": "/usr/include/python3.11/Python.h",
    "driver.version": "580.95.05",
    "driver.library": "libcuda.so.1",
    "driver.device_nodes": True,
    "driver.forward_compat": False,
    "gpu.count": 1,
    "gpu.visible_count": 1,
    "gpu[0].name": "NVIDIA A100-SXM4-80GB",
    "gpu[0].vendor": "nvidia",
    "gpu[0].compute_capability": "8.0",
    "gpu[0].visible": True,
    "toolkit.count": 0,
    "packages.duplicated": {},
    "packages.broken": {},
    "torch.build": "pypi",
    "torch.cuda": "12.8",
    "torch.cxx11_abi": True,
    "flash_attn.extension": "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so",
    "flash_attn.interface": True,
    "flash_attn.namespace_only": False,
    "flash_attn.wheel.origin": "official",
    "flash_attn.wheel.torch": "2.8",
    "flash_attn.wheel.cuda": "cu12",
    "flash_attn.wheel.cuda_major": "12",
    "flash_attn.wheel.cxx11_abi": True,
    "flash_attn.wheel.python": "cp311",
    "torch.loads": True,
    "triton.loads": True,
    "flash_attn.loads": True,
    "flash_attn.binary.cxx11_abi": True,
    "flash_attn.binary.cuda_major": "12",
    "flash_attn.binary.code": {"8.0 9.0 10.0 12.0": "73"},
    "xformers.loads": True,
    "xformers.binary.cuda_major": "12",
    "xformers.binary.code": {"8.0 9.0a 8.0+PTX@8.7": "11"},
    "bitsandbytes.loads": True,
    "bitsandbytes.binary.code": {"linked: 7.5 8.0 9.0": "1", "relocatable: 7.5 8.0 9.0": "6"},
}
_INSTALLED: dict[str, tuple[str, dict[str, str]]] = {
    "torch": ("2.8.0", {"triton": "==3.4.0"}),
    "triton": ("3.4.0", {}),
    "flash_attn": ("2.8.3", {"torch": "", "einops": ""}),
    "xformers": ("0.0.32.post2", {"torch": "==2.8.0"}),
    "transformers": ("4.57.1", {}),
    "accelerate": ("1.10.1", {}),
    "peft": ("0.17.1", {}),
    "bitsandbytes": ("0.48.1", {}),
    "numpy": ("2.2.6", {}),
}
"""A healthy machine for fine-tuning. Versions only fill the table; nothing is judged here."""


def environment(number: int = 0) -> Environment:
    """Return the facts of one such machine; the number makes its sources differ from others'."""
    source = f"machine {number}"
    catalogue = build_catalogue().values()
    known = {spec.name for spec in catalogue if "[]" not in spec.name and spec.provider != LATER}
    read = {spec.name for spec in catalogue if spec.provider == "binaries"}
    details = {n for n in known if n.partition(".")[0] in PACKAGES and not n.endswith(".version")}
    facts: dict[str, Fact] = dict.fromkeys(sorted(known - details | read), Absent(source))
    facts |= {name: Known(value, source) for name, value in _MACHINE.items()}
    for key, (version, requires) in _INSTALLED.items():
        facts[f"{key}.version"] = Known(version, source)
        facts[f"{key}.distribution"] = Known(key.replace("_", "-"), source)
        facts[f"{key}.requires"] = Known(requires, source)
        facts[f"{key}.requires_python"] = Known(">=3.9", source)
        facts[f"{key}.missing_files"] = Known(0, source)
        facts[f"{key}.direct_url"] = Absent(source)
        facts[f"{key}.editable"] = Known(value=False, source=source)
    return Environment("0", Target("facts", source, source), facts)


def median_ms(work: Callable[[], object], runs: int) -> float:
    """Return the median wall time of a piece of work, ms, after one run that warms up."""
    work()
    times = []
    for _ in range(runs):
        started = time.process_time()
        work()
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times)


def processes_ms(programs: dict[str, str], runs: int) -> dict[str, list[float]]:
    """Return the wall times of whole processes, ms, interleaved, the first round left out."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for run in range(runs + 1):
        for name, program in programs.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
            if run:
                times[name].append((time.perf_counter() - started) * 1000)
    return times


def cloned(knowledge: Knowledge, copies: int) -> Knowledge:
    """Return the knowledge with every rule several times over, each under an id of its own."""
    rules = [
        rule if copy == 0 else msgspec.structs.replace(rule, id=f"{rule.id}-{copy}")
        for copy in range(copies)
        for rule in knowledge.rules
    ]
    return msgspec.structs.replace(knowledge, rules=tuple(rules))


def show_loading(runs: int, bars: Bars) -> None:
    """Print what loading costs in this process, in its parts, and as a whole process."""
    measure = partial(median_ms, load_knowledge, runs)
    loading, told = bars.held("loading", measure, LOADING_BAR_MS)
    data = (COMPILED / "knowledge.json").read_bytes()
    decoding = median_ms(lambda: msgspec.json.decode(data, type=Stamped), runs)
    print(f"load_knowledge()             {loading:8.2f} ms   {told}")
    print(f"  decoding {len(data) // 1024:4} KiB of JSON  {decoding:8.2f} ms")
    programs = {
        "python -c pass": "pass",
        "import msgspec": "import msgspec",
        "our imports too": _IMPORTS,
        "loading too": _LOADING,
    }
    times = processes_ms(programs, max(runs // 4, 5))
    bare = times["python -c pass"]
    for name, values in times.items():
        ratio = statistics.median(v / b for v, b in zip(values, bare, strict=True))
        print(f"process: {name:19} {statistics.median(values):8.1f} ms   {ratio:.2f} x bare python")


def show_evaluating(knowledge: Knowledge, runs: int, bars: Bars) -> None:
    """Print what one environment costs, in its parts."""
    one = environment()
    measure = partial(median_ms, partial(diagnose, one, knowledge), runs)
    whole, told = bars.held("evaluating", measure, EVALUATING_BAR_MS)
    print(f"diagnose() one environment   {whole:8.2f} ms   {told}")
    assessment = judge(one, knowledge)
    kernels = Kernels(one, Matrix(knowledge.tables))
    parts: dict[str, Callable[[], object]] = {
        f"judge {len(knowledge.rules)} rules": lambda: judge(one, knowledge),
        "predict the verdicts": lambda: predict(kernels, assessment),
        "recommend": lambda: recommend(kernels),
    }
    for name, work in parts.items():
        print(f"  {name:26} {median_ms(work, runs):8.2f} ms")


def show_growth(knowledge: Knowledge, runs: int) -> None:
    """Print how the cost grows with the rules and with the environments."""
    one = environment()
    for copies in COPIES:
        many = cloned(knowledge, copies)
        elapsed = median_ms(partial(judge, one, many), max(runs // copies, 3))
        print(f"judge x{copies:<2} ({len(many.rules):4} rules)      {elapsed:8.2f} ms")
    for count in ENVIRONMENTS:
        machines = [environment(number) for number in range(count)]
        elapsed = median_ms(partial(_diagnose_all, machines, knowledge), max(runs // count, 3))
        each = elapsed / count
        print(f"diagnose {count:3} environments    {elapsed:8.2f} ms   {each:.2f} ms each")


def _diagnose_all(machines: list[Environment], knowledge: Knowledge) -> None:
    for machine in machines:
        diagnose(machine, knowledge)


def profile(knowledge: Knowledge) -> None:
    """Print where the time of a hundred evaluations goes."""
    one = environment()
    diagnose(one, knowledge)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(100):
        diagnose(one, knowledge)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(18)


def main() -> int:
    """Print all measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--profile", action="store_true", help="show where evaluating spends it")
    options = parser.parse_args()
    knowledge = load_knowledge()
    bars = Bars()
    show_loading(options.runs, bars)
    show_evaluating(knowledge, options.runs, bars)
    show_growth(knowledge, options.runs)
    if options.profile:
        profile(knowledge)
    return bars.end()


if __name__ == "__main__":
    sys.exit(main())
