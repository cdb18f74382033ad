"""No fix installs what the text around an error excludes: another vendor's build, another system's.

Each rule's own logs are read behind lines that say where they come from; every fix of every finding
is held against that.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fadoctor.judging.engine.suite import cases_of, is_log, load_suite, outcome_of
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.vendor import Vendor
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import ASSUMED_PLATFORM
from fadoctor.model.fact import fact_text
from fadoctor.model.finding import Outcome
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class World(NamedTuple):
    """What a text says of a machine, and what no fix may hold there."""

    says: str
    system: str
    vendor: str
    never: str
    """What no step may hold, advice included."""
    commands: str = ""
    """What no command may hold."""
    from_pypi: frozenset[str] = frozenset()
    """Packages whose files on PyPI are for other machines."""


OF_CUDA = frozenset({"torch", "torchvision", "torchaudio", "xformers", "vllm"})
UNIX = (
    r"\bexport |\bunset |\bsudo\b|\bapt(?:-get)?\b|(?<![\w-])rm -"
    r"|\bsource (?!add|=)|\bLD_[A-Z]|\bldconfig\b"
)
CUDA = r"whl/(?:nightly/)?cu\d|\+cu1\d\d"
WORLDS = {
    "amd-linux": World(
        "Ubuntu 22.04, AMD Radeon RX 7900 XTX, torch 2.9.1+rocm6.4", "linux", "amd",
        CUDA, r"\bCUDA_HOME\b|winget|triton-windows", OF_CUDA,
    ),
    "amd-windows": World(
        "Windows 11, AMD Radeon RX 7900 XTX, torch 2.9.1+rocm7.2", "windows", "amd",
        CUDA, rf"{UNIX}|\bCUDA_HOME\b", OF_CUDA,
    ),
    "intel": World(
        "Windows 11, Intel Arc B580, torch 2.9.1+xpu", "windows", "intel",
        f"{CUDA}|whl/rocm|triton-windows", rf"{UNIX}|\bCUDA_HOME\b", OF_CUDA,
    ),
    "mac": World(
        "macOS 15.1 on Apple Silicon, torch 2.9.1", "macos", "",
        f"{CUDA}|whl/rocm", r"\bCUDA_HOME\b|apt-get|triton-windows",
        frozenset({"xformers", "flash-attn", "triton", "bitsandbytes"}),
    ),
    "windows": World(
        "Windows 11, NVIDIA GeForce RTX 4090, torch 2.9.1+cu128", "windows", "nvidia",
        r"whl/rocm|repo\.amd\.com", UNIX, frozenset({"torch", "triton"}),
    ),
    "linux": World(
        "Ubuntu 22.04, NVIDIA GeForce RTX 4090, torch 2.9.1+cu128", "linux", "nvidia",
        r"whl/rocm|repo\.amd\.com", r"triton-windows|winget|\$env:|\.exe\b|python_embeded",
    ),
    "two-vendors": World(
        "My RTX 3060 is in the other machine, here is an RX 7900 XTX. Windows 11", "windows", "",
        rf"{CUDA}|whl/rocm|repo\.amd\.com", UNIX, frozenset({"torch"}),
    ),
}  # fmt: skip

SUITE = load_suite()
CASES = sorted(
    (file.rule.id, str(case["log"]))
    for file in SUITE.shipped.values()
    for case in cases_of(file)
    if is_log(case) and outcome_of(case) is Outcome.FAIL
)


def lines_of(text: str) -> tuple[Line, ...]:
    return tuple(Line(n, line, "") for n, line in enumerate(text.splitlines(), 1))


def suits_world(log: str, name: str) -> bool:
    """Return whether a log names no other system and no other vendor than a world does."""
    knowledge, world = SUITE.knowledge, WORLDS[name]
    said = facts_of(lines_of(log), "a.log", Matrix(knowledge.tables)).environment
    is_assumed = said.fact("host.platform").source == ASSUMED_PLATFORM
    system = "" if is_assumed else fact_text(said.fact("host.os"), "")
    if re.search(r"/tmp/pip-(?:install|build-env)-|@[\w.-]{1,60}:[~/].{0,80}\$ ", log):
        system = "linux"  # a folder or a prompt of Linux, whatever is said before it
    return system in ("", world.system) and Vendor(lines_of(log), knowledge).name in (
        "",
        world.vendor,
    )


def faults(name: str, log: str) -> Iterator[str]:
    """Yield what fixes hold that the world excludes."""
    knowledge, world = SUITE.knowledge, WORLDS[name]
    if world.system == "windows" and "WSL" in log:
        world = world._replace(commands="")  # they are typed in WSL's Linux
    text = f"{world.says}\n\n{log}\n"
    for finding in explain(read_log(io.BytesIO(text.encode()), "a", knowledge), knowledge).findings:
        for fix in finding.fixes:
            yield from (f"{finding.rule_id} {fix.id}: {why}" for why in _excluded(fix, world))


def _excluded(fix: Fix, world: World) -> Iterator[str]:
    for step in fix.steps:
        text = f"{step.text} {step.index}"
        yield from re.findall(world.never, text)
        if step.kind is not StepKind.ADVICE and world.commands:
            yield from re.findall(world.commands, text)
        yield from _from_pypi(step, world)


def _from_pypi(step: Step, world: World) -> Iterator[str]:
    if step.kind is not StepKind.INSTALL or step.index:
        return
    for item in step.items:
        name = re.split(r"[\[=<>~! ]", item, maxsplit=1)[0]
        if name in world.from_pypi:
            yield f"{item} from PyPI"


SLICES = 60


@pytest.mark.sampled(every=SLICES)
@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("world", WORLDS)
def test_no_fix_is_for_another_machine(world: str, part: int) -> None:
    found = {
        fault
        for _, log in CASES[part::SLICES]
        if suits_world(log, world)
        for fault in faults(world, log)
    }
    assert sorted(found) == []


def test_a_fix_for_another_machine_is_found() -> None:
    """The check itself: a build for CUDA beside a torch of AMD."""
    index = "https://download.pytorch.org/whl/cu128"
    of_cuda = Step(StepKind.INSTALL, f"pip install --index-url {index} torch", ("torch",), index)
    of_pypi = Step(StepKind.INSTALL, "pip install vllm==0.11.0", ("vllm==0.11.0",))
    fix = Fix("x", "Install it", Safety.SAFE, (of_cuda, of_pypi))
    assert set(_excluded(fix, WORLDS["amd-linux"])) == {"whl/cu1", "vllm==0.11.0 from PyPI"}
