"""Name the index whose torch has code for the one GPU that a log names, where a fix names another.

A fix for many GPUs names the index of a newer CUDA, whose builds have no code for older ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import Known, fact_text
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.engine.scope import Scope
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fix import Fix, Step

BUILDS, ARCHITECTURES = "torch-builds", "architectures"

_CAPABILITY = "compute_capability"
_PLATFORMS = {"windows": "win_amd64"}
"""The platform where a log names a system alone; elsewhere it is Linux on x86_64."""
_LINUX = "linux_x86_64"

_INDEX = compiled(r"whl/(?P<build>cu\d{2,3})(?![\w.])")
_TORCH = compiled(r"(?<![\w-])torch==(?P<version>\d\.\d{1,2}\.\d)(?![\d*])")
_NAMES_CUDA = compiled(r"\bCUDA \d|\bcu1\d")


def for_this_gpu(fixes: tuple[Fix, ...], scope: Scope) -> tuple[Fix, ...]:
    """Return fixes whose indexes of torch have code for the one GPU that is known."""
    if not any(_INDEX.search(text) for fix in fixes for text in _texts(fix)):
        return fixes
    capability = _capability(scope)
    runs = scope.matrix.find(ARCHITECTURES, {"cc": Known(capability, "the log")}).cell("runs")
    if not capability or not isinstance(runs, Known):
        return fixes
    able = frozenset(map(str, cell_words(runs.value)))
    return tuple(_suiting(fix, able, _platform(scope), scope.matrix) for fix in fixes)


def _suiting(fix: Fix, able: frozenset[str], platform: str, matrix: Matrix) -> Fix:
    if _NAMES_CUDA.search(fix.title):
        return fix
    steps = list(fix.steps)
    for place, step in enumerate(steps):
        named = {each["build"] for text in _said(step) for each in _INDEX.finditer(text)}
        if len(named) != 1:  # one for each kind of GPU
            continue
        build = named.pop()
        held = dict(_held(platform, _release(fix, build, platform, matrix), matrix))
        others = sorted((name for name, has in held.items() if has & able), key=_number)
        if build in held and not held[build] & able and others:
            steps[place] = _by_index(step, build, others[-1])
    return msgspec.structs.replace(fix, steps=tuple(steps))


def _by_index(step: Step, build: str, other: str) -> Step:
    def by_other(text: str) -> str:
        return text.replace(f"whl/{build}", f"whl/{other}").replace(f"+{build}", f"+{other}")

    return msgspec.structs.replace(
        step,
        text=by_other(step.text),
        index=by_other(step.index),
        items=tuple(map(by_other, step.items)),
    )


def _release(fix: Fix, build: str, platform: str, matrix: Matrix) -> str:
    """Return the torch that a fix installs; without one the newest of its index."""
    pinned = [each["version"] for text in _texts(fix) for each in _TORCH.finditer(text)]
    if pinned:
        return pinned[0]
    newest = ""
    for row in matrix.tables[BUILDS].rows:
        if build in cell_words(row["build"]) and platform in cell_words(row["platform"]):
            for version in cell_words(row["version"]):
                newest = version if not newest or is_older(newest, version) else newest
    return newest


def _held(platform: str, version: str, matrix: Matrix) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the builds of a release for a platform, each with what it has machine code for."""
    for row in matrix.tables[BUILDS].rows:
        if version in cell_words(row["version"]) and platform in cell_words(row["platform"]):
            for build in cell_words(row["build"]):
                if build.startswith("cu"):
                    yield build, frozenset(map(str, cell_words(row.get("sm"))))


def _capability(scope: Scope) -> str:
    """Return the compute capability of all GPUs that are known; empty where there are several."""
    facts = scope.environment.facts
    found = {
        str(fact.value)
        for name, fact in facts.items()
        if name.endswith(_CAPABILITY) and isinstance(fact, Known)
    }
    return found.pop() if len(found) == 1 else ""


def _platform(scope: Scope) -> str:
    platform = fact_text(scope.environment.fact("host.platform"), "")
    system = fact_text(scope.environment.fact("host.os"), "")
    return platform or _PLATFORMS.get(system, _LINUX)


def _number(build: str) -> int:
    return int(build.removeprefix("cu"))


def _texts(fix: Fix) -> Iterator[str]:
    for step in fix.steps:
        yield from _said(step)


def _said(step: Step) -> tuple[str, ...]:
    return (step.text, step.index, *step.items)
