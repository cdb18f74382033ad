"""Spend ten minutes of a GPU well: run everything that only a GPU can answer, and keep it.

Usage: python tools/on_a_gpu.py [--python TARGET] [--out FOLDER] [--budget SECONDS]
           [--flash-attn-source FOLDER] [--build-budget SECONDS] [--page FILE] [--step NAME]...
           [--pretend]
       python tools/on_a_gpu.py --from FOLDER --page FILE      (only the page, of what was kept)

Needs a GPU and an environment with torch; nvcc where flash-attn is to be built; no network. Runs,
the most telling first: facts, check, the default set of smoke, injected faults, small programs
under trace whose answer is known, and every cell of what is installed (all dtypes, fp8, triton,
what compiles last); compares predictions with measurements and times with what the GPU can do.
Each step has a limit, and all of them `--budget` (600 s): what finds no time is said to be left
out. A build of flash-attn has `--build-budget` (1800 s) beside it.
Results are files of FOLDER (default: on-a-gpu), `steps.json` first; each step is a line of
`results.jsonl` as soon as it has ended, and SIGTERM or Ctrl-C leaves the page of what is known.
--pretend does the same on the CPU, where faults only raise what a GPU would: it tests this script
and nothing else.

Ends with 1 where a step did not come out as it should, or a result contradicts the tables.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

NEEDED = ("msgspec", "typer", "rich")
"""What fadoctor itself needs: this interpreter must have it, the target need not."""

if __name__ == "__main__" and [name for name in NEEDED if importlib.util.find_spec(name) is None]:
    sys.exit(
        f"{sys.executable} lacks what fadoctor needs ({', '.join(NEEDED)}): run this by an "
        "interpreter in which fadoctor is installed, and name yours by --python"
    )

from tools import gpu_build, gpu_faults, gpu_judge, gpu_trace  # noqa: E402
from tools.gpu_page import render  # noqa: E402

DTYPES = ("bf16", "fp16", "fp32", "fp8")
_TAIL = 2000
_TERMINATED = 128 + 15


class Step(NamedTuple):
    """One command."""

    name: str
    argv: list[str]
    limit_s: float
    env: dict[str, str] | None = None
    codes: tuple[int, ...] = (0,)
    """Exit codes that are as they should be."""
    own_budget: bool = False
    """Whether its limit holds beside the budget of all."""


class Session:
    """What was run so far, in a folder, within a budget."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Begin with an empty record."""
        self.options = options
        self.folder: Path = options.out
        self.ends = time.monotonic() + options.budget
        self.steps: list[dict[str, Any]] = []
        self.device = "cpu" if options.pretend else "all"

    def fadoctor(self, command: str, *words: str) -> list[str]:
        """Return the argv of a command of this checkout, about the target."""
        python = str(self.options.python)
        return [sys.executable, "-m", "fadoctor", command, "--python", python, *words]

    def smoke(self, *words: str) -> list[str]:
        """Return the argv of a smoke run as JSON."""
        return self.fadoctor(
            "smoke", "--device", self.device, "--format", "json", "--redact", *words
        )

    def run(self, step: Step) -> Any:
        """Run a step; keep its output in a file and how it went in the record; return its JSON."""
        if self.left_out(step.name):
            return None
        left = step.limit_s if step.own_budget else self.ends - time.monotonic()
        entry: dict[str, Any] = {"name": step.name, "command": step.argv[1:]}
        self.steps.append(entry)
        if left < 1:
            entry["problem"] = "left out: the budget was used up"
            self.note(entry)
            return None
        sys.stderr.write(f"{step.name} (at most {min(left, step.limit_s):.0f} s)\n")
        started = time.monotonic()
        code, out, err = execute(step, min(left, step.limit_s))
        entry.update(code=code, seconds=round(time.monotonic() - started, 1))
        if code not in step.codes:
            entry["problem"] = "ran out of time" if code is None else f"exit code {code}"
        if err:
            entry["stderr"] = err[-_TAIL:]
        self.note(entry)
        file = self.folder / f"{step.name.replace(' ', '-')}.txt"
        try:
            found = json.loads(out)
        except ValueError:
            file.write_text(out, encoding="utf-8")
            return None
        file = file.with_suffix(".json")
        file.write_text(out, encoding="utf-8")
        entry["file"] = file.name
        return found

    def note(self, entry: dict[str, Any]) -> None:
        """Append what became of a step, at once."""
        with (self.folder / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def left_out(self, name: str) -> bool:
        """Tell whether nobody asked for a step."""
        return bool(self.options.step) and name not in self.options.step

    def save(self) -> None:
        """Write the record."""
        text = json.dumps({"pretended": self.options.pretend, "steps": self.steps}, indent=1)
        (self.folder / "steps.json").write_text(text + "\n", encoding="utf-8")


def execute(step: Step, limit_s: float) -> tuple[int | None, str, str]:
    """Run a command; return its exit code (None: out of time), output and errors."""
    env = {**(step.env or os.environ), "PYTHONDONTWRITEBYTECODE": "1"}
    child = subprocess.Popen(
        step.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", env=env, cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    try:
        out, err = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        child.terminate()  # fadoctor ends its workers then, and tells what it knows
        try:
            out, err = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
        return None, out, err
    except BaseException:
        child.terminate()
        raise
    return child.returncode, out, err


def take_measurements(session: Session) -> None:
    """Run what tells most: facts, check, the default set."""
    session.run(Step("facts", session.fadoctor("facts", "--redact"), 60))
    plain = ("--format", "json", "--redact", "--fail-on", "never")
    session.run(Step("check", session.fadoctor("check", *plain), 120))
    session.run(Step("smoke default", session.smoke("--total", "150"), 180))


def run_every_cell(session: Session) -> None:
    """Run every cell of what is installed; what compiles on the spot stands last."""
    dtypes = [word for name in DTYPES for word in ("--dtype", name)]
    words = ("--thorough", *dtypes, "--total", "270")
    session.run(Step("smoke thorough", session.smoke(*words), 300))


def inject_faults(session: Session) -> None:
    """Let each fault strike a worker, and see whether it is told as what it is."""
    for fault in gpu_faults.FAULTS:
        folder = session.folder / "faults" / fault.name.replace(" ", "-")
        gpu_faults.plant(fault, folder, pretend=session.options.pretend)
        env = {**os.environ, "PYTHONPATH": str(folder.resolve())}
        words = ("--backend", "sdpa-flash", "--dtype", "bf16", "--timeout", "10")
        name = f"fault {fault.name}"
        found = session.run(Step(name, session.smoke(*words), 90, env, codes=(0, 1, 3)))
        entry = session.steps[-1] if session.steps else {"name": ""}
        if entry["name"] == name and "problem" not in entry:
            cells = found["cells"] if found else []
            pretend = session.options.pretend
            entry["problem"] = gpu_faults.verdict(fault, cells, pretend=pretend)


def occupy(session: Session) -> None:
    """Let another program hold the first GPU's memory: its cells are not run then, and say why."""
    name = "fault occupied"
    if session.options.pretend or session.left_out(name):
        return
    with subprocess.Popen(
        [str(session.options.python), "-c", gpu_faults.HOG],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as hog:  # fmt: skip
        try:
            full = hog.stdout is not None and hog.stdout.readline() == "full\n"
            words = ("--backend", "sdpa-flash", "--dtype", "bf16", "--device", "cuda:0")
            found = session.run(Step(name, session.smoke(*words), 90, codes=(3,)))
        finally:
            hog.kill()
    said = [
        cell["detail"] for cell in (found or {}).get("cells", ()) if "occupied" in cell["detail"]
    ]
    if not full:
        session.steps[-1]["problem"] = "the memory could not be filled"
    elif not said:
        session.steps[-1].setdefault("problem", "no cell says that the GPU is occupied")


def trace_programs(session: Session) -> None:
    """Trace small programs, and see whether each is told as what it is."""
    device = "cpu" if session.options.pretend else "cuda"
    folder = session.folder / "trace"
    folder.mkdir(parents=True, exist_ok=True)
    for case in gpu_trace.CASES:
        if session.left_out(f"trace {case.name}"):
            continue
        script = folder / f"{case.name.replace(' ', '-')}.py"
        script.write_text(gpu_trace.HEAD + case.code + "\n", encoding="utf-8")
        kept = script.with_suffix(".json")
        words = ["trace", "--format", "json", "--redact", "--output", str(kept), "--"]
        program = [str(session.options.python), str(script), device]
        argv = [sys.executable, "-m", "fadoctor", *words, *program]
        session.run(Step(f"trace {case.name}", argv, 60))
        if kept.is_file():
            found = json.loads(kept.read_text(encoding="utf-8"))
            gpu = "" if session.options.pretend else capability_of(session)
            said = gpu_trace.problem(case, found, gpu, pretend=session.options.pretend)
            if said:
                session.steps[-1].setdefault("problem", said)


def build_flash_attn(session: Session, source: Path) -> None:
    """Build flash-attn for this GPU and one head dimension, and run the default set with it."""
    wheels, site = session.folder / "wheels", session.folder / "built"
    capability = capability_of(session)
    if hindrance := gpu_build.hindrance(capability):
        session.steps.append({"name": "build flash-attn", "command": [], "problem": hindrance})
        return
    try:
        copy = gpu_build.reduce(source, session.folder)
    except gpu_build.SourceError as error:
        session.steps.append({"name": "build flash-attn", "command": [], "problem": str(error)})
        return
    argv = gpu_build.command(str(session.options.python), copy, wheels)
    env = gpu_build.environment(capability)
    limit_s = session.options.build_budget
    session.run(Step("build flash-attn", argv, limit_s, env, own_budget=True))
    if not gpu_build.unpack(wheels, site):
        if session.steps:
            session.steps[-1].setdefault("problem", "no wheel came of it")
        return
    env = {**os.environ, "PYTHONPATH": str(site.resolve())}
    words = ("--backend", "fa2", "--dtype", "bf16", "--dtype", "fp16")
    step = Step(
        "smoke built flash-attn", session.smoke(*words), 120, env, codes=(0, 1), own_budget=True
    )
    found = session.run(step)
    if said := gpu_build.problem(found["cells"] if found else ()):
        session.steps[-1].setdefault("problem", said)


def capability_of(session: Session) -> str:
    """Return the compute capability that torch gave for the first GPU, empty where it gave none."""
    file = session.folder / "smoke-default.json"
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"] if file.is_file() else []
    return next((cell["compute_capability"] for cell in cells if cell["compute_capability"]), "")


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--out", type=Path, default=Path("on-a-gpu"))
    parser.add_argument("--budget", type=float, default=600.0)
    parser.add_argument("--flash-attn-source", type=Path)
    parser.add_argument("--build-budget", type=float, default=1800.0)
    parser.add_argument("--step", action="append", help="Only this step. Repeatable.")
    parser.add_argument("--from", dest="kept", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--pretend", action="store_true")
    return parser.parse_args()


def run_all(session: Session) -> int:
    """Run every step; return how the script ends. A signal ends it with what is known."""

    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    source = session.options.flash_attn_source
    try:
        take_measurements(session)
        inject_faults(session)
        trace_programs(session)
        run_every_cell(session)
        occupy(session)
        if source:
            build_flash_attn(session, source.resolve())
    except KeyboardInterrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if session.steps:
            session.steps[-1].setdefault("problem", "ended from outside")
        return _TERMINATED
    finally:
        session.save()
    return int(any(step.get("problem") for step in session.steps))


def main() -> None:
    """Run everything, then write the page."""
    options = parse()
    folder = options.kept or options.out
    code = 0
    if options.kept is None:
        options.out = options.out.resolve()
        options.out.mkdir(parents=True, exist_ok=True)
        code = run_all(Session(options))
    page = render(folder)
    code = code or int(bool(gpu_judge.contradictions(folder)))
    if options.page:
        options.page.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)
    sys.exit(code)


if __name__ == "__main__":
    main()
