"""Ask for a torch that has files for the Python of a text, and whose CUDA its driver runs.

A command that installs a release without a file ends with "No matching distribution", and what it
removed before is then gone. A build for a newer CUDA than the driver's finds no GPU.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.contradicted import (
    builds_of,
    driver_for,
    has_code,
    has_python_file,
)
from fadoctor.judging.explain.fixes.companions import PYTORCH_INDEXES, TABLE
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.packages import BESIDE_TORCH, TORCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.judging.engine.scope import Scope

# torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0 --index-url https://.../whl/cu128
_TRIO = re.compile(
    r"(?<![\w-])torch==(?P<torch>\d[\d.]{2,8}) torchvision==(?P<torchvision>\d[\d.]{2,8})"
    r"(?: torchaudio==(?P<torchaudio>\d[\d.]{2,8}))? --index-url "
    + re.escape(PYTORCH_INDEXES)
    + r"(?P<build>cu\d{3})(?!\w)",
    re.ASCII,
)
_PIN = re.compile(r"(?<![\w-])torch==(?P<torch>\d[\d.]{1,8}\d)(?![\w.]*[*<>])", re.ASCII)
_INDEXES, _BUILD = "torch-cuda-index", "build"
# .../whl/cu128 | torch==2.8.0+cu128
_LABEL = re.compile(r"(?:whl/|\+)(?P<build>cu\d{3})(?!\w)", re.ASCII)
_RUNS = re.compile(r"\bpip3? install\b", re.ASCII)
_DRIVER = re.compile(r"(?i)\bdriver\b", re.ASCII)
# A fix that makes an environment chooses its Python itself.
_OTHER_PYTHON = re.compile(
    r"\bpython ?=?3\.\d|\bpy -3\.|--python 3\.|\bpython3\.\d|\bvenv --", re.ASCII
)

# .../whl/cu126 | torch==2.6.0: advice about other releases, which was written for the first one
_OTHER_RELEASE = re.compile(r"whl/cu\d{3}|(?<![\w-])torch==\d", re.ASCII)


class _Here:
    """The Python, the driver and the system of a text, and what torch's tables say of them."""

    def __init__(self, scope: Scope) -> None:
        self._matrix = scope.matrix
        self._environment = scope.environment
        version = fact_text(scope.environment.fact("python.version"), "")
        self.python = version_part(version, "minor") or "" if version else ""

    def has_file(self, torch: str) -> bool | None:
        """Return whether a release has a file for this Python; None: unknown."""
        return has_python_file(torch, self._environment, self._matrix)

    def instead(self, torch: str, build: str) -> dict[str, str]:
        """Return the nearest release with a file, what goes with it and its index; {}: none."""
        known = sorted({*self._releases()}, key=version_key)
        newer = [each for each in known if version_key(each) > version_key(torch)]
        older = [each for each in reversed(known) if version_key(each) < version_key(torch)]
        return self.first_of((torch, *newer, *older), build)

    def first_of(self, releases: Iterable[str], build: str) -> dict[str, str]:
        """Return the first release that can be installed and runs here; {}: none."""
        for release in releases:
            has_file = self.has_file(release)
            if has_file is False or (self.python and not has_file):
                continue
            fits = self._matrix.find(TABLE, {"torch": Known(release, "asked")})
            index = self._index(release, build)
            beside = {name: fact_text(fits.cell(name), "") for name in BESIDE_TORCH}
            if index and all(beside.values()) and self._runs(release, index):
                return {TORCH: release, **beside, _BUILD: index}
        return {}

    def driver_for(self, build: str) -> str:
        """Return the driver that a build needs, where the one that is named is older; else ""."""
        return driver_for(build[2:-1], self._environment, self._matrix)

    def _index(self, release: str, build: str) -> str:
        """Return the index for a release whose builds this driver runs, "" where none is known."""
        where = {"version": Known(release, "asked"), "build": Known(build, "asked")}
        found = self._matrix.find(_INDEXES, where)
        all_of_it = found.cell("all")
        others = all_of_it.value if isinstance(all_of_it, Known) else ()
        words = others if isinstance(others, tuple) else ()
        named = sorted(map(str, words), reverse=True)
        fitting = (each for each in (fact_text(found.cell("index"), ""), *named) if each)
        return next((each for each in fitting if not self.driver_for(each)), "")

    def _releases(self) -> Iterator[str]:
        for row in self._matrix.tables[TABLE].rows:
            yield from cell_words(row[TORCH])

    def _runs(self, torch: str, build: str) -> bool:
        """Return whether a build has code for the GPU, where the text names one."""
        if "gpu[0].compute_capability" not in self._environment.facts:
            return True
        rows = builds_of(torch, build, self._environment, self._matrix)
        return any(has_code(row, self._environment, self._matrix) for row in rows or ())


def for_this_python(fixes: tuple[Fix, ...], scope: Scope, texts: Sequence[str]) -> tuple[Fix, ...]:
    """Return fixes whose commands ask for a torch that has a file for the Python of a text.

    The CUDA of its build is one that the driver of the text runs; where none is, the driver comes
    first.
    """
    here = _Here(scope)
    text = "\n".join(texts)
    return tuple(_driver_first(_fitting(fix, here, text), here) for fix in fixes)


def _fitting(fix: Fix, here: _Here, text: str) -> Fix:
    chooses_python = any(_OTHER_PYTHON.search(step.text) for step in fix.steps)
    steps = fix.steps
    for step in fix.steps:
        found = _TRIO.search(step.text)
        if found is None:
            continue
        has_none = not chooses_python and here.has_file(found["torch"]) is False
        if not has_none and not here.driver_for(found["build"]):
            continue
        is_named = found["torch"] in text
        better = (
            here.first_of((found["torch"],), found["build"])
            if is_named
            else here.instead(found["torch"], found["build"])
        )
        if better:
            kept = (each for each in steps if each is step or not _OTHER_RELEASE.search(each.text))
            steps = tuple(_replaced(each, found, better) if each is step else each for each in kept)
    if steps is not fix.steps:
        fix = msgspec.structs.replace(fix, steps=steps)
    wanted = () if chooses_python else _asked(fix)
    without = next((each for each in wanted if here.has_file(each) is False), "")
    if not without:
        return fix
    # Before all others: the first may remove the torch that is there.
    return msgspec.structs.replace(fix, steps=(_says(without, here.python), *fix.steps))


def _asked(fix: Fix) -> Iterator[str]:
    """Yield the releases of torch that the commands of a fix ask for, of any vendor."""
    for step in fix.steps:
        if step.kind is not StepKind.ADVICE or _TRIO.search(step.text):
            yield from (each["torch"] for each in _PIN.finditer(step.text))


def _driver_first(fix: Fix, here: _Here) -> Fix:
    """Return a fix that begins with the driver that its commands need, where it speaks of none."""
    texts = [
        f"{step.text} {step.index}"
        for step in fix.steps
        if step.kind is not StepKind.ADVICE or _RUNS.search(step.text)
    ]
    labels = {each["build"] for text in texts for each in _LABEL.finditer(text)}
    floors = {build: here.driver_for(build) for build in labels}
    if not floors or not all(floors.values()) or _DRIVER.search(_words(fix)):
        return fix
    build = min(floors)
    says = (
        f"First install NVIDIA driver {floors[build]} or newer on the host, and restart it: "
        f"the driver that is there does not run CUDA {build[2:-1]}."
    )
    return msgspec.structs.replace(fix, steps=(Step(StepKind.ADVICE, says), *fix.steps))


def _words(fix: Fix) -> str:
    return " ".join((fix.title, *(step.text for step in fix.steps)))


def _says(torch: str, python: str) -> Step:
    says = f"torch {torch} has no file for Python {python}: first make an environment with"
    return Step(StepKind.ADVICE, f"{says} a Python that has one, such as 3.12.")


def _replaced(step: Step, found: re.Match[str], better: dict[str, str]) -> Step:
    text = found[0]
    for name in BESIDE_TORCH:
        if found[name]:
            text = text.replace(f"{name}=={found[name]}", f"{name}=={better[name]}")
    text = text.replace(f"torch=={found['torch']}", f"torch=={better[TORCH]}", 1)
    text = text.removesuffix(found["build"]) + better[_BUILD]
    whole = step.text.replace(found[0], text)
    items = tuple(
        f"{name}=={better[name]}" if name in better else item
        for item in step.items
        for name in (item.partition("==")[0],)
    )
    index = PYTORCH_INDEXES + better[_BUILD] if step.index else step.index
    return msgspec.structs.replace(step, text=whole, items=items, index=index)
