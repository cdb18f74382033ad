"""Ask for a torch that has files for the Python of a text, where a fix names one that has none.

A command that installs a release without a file ends with "No matching distribution", and what it
removed before is then gone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.contradicted import builds_of, has_code, has_python_file
from fadoctor.judging.explain.companions import PYTORCH_INDEXES, TABLE
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.packages import BESIDE_TORCH, TORCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.judging.engine.scope import Scope

# torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0 --index-url https://.../whl/cu128
_TRIO = re.compile(
    r"(?<![\w-])torch==(?P<torch>\d[\d.]{2,8}) torchvision==(?P<torchvision>\d[\d.]{2,8})"
    r"(?: torchaudio==(?P<torchaudio>\d[\d.]{2,8}))? --index-url "
    + re.escape(PYTORCH_INDEXES)
    + r"(?P<build>cu\d{3})(?!\w)",
    re.ASCII,
)
_INDEXES, _BUILD = "torch-cuda-index", "build"
# A fix that makes an environment chooses its Python itself.
_OTHER_PYTHON = re.compile(
    r"\bpython ?=?3\.\d|\bpy -3\.|--python 3\.|\bpython3\.\d|\bvenv --", re.ASCII
)

# .../whl/cu126 | torch==2.6.0: advice about other releases, which was written for the first one
_OTHER_RELEASE = re.compile(r"whl/cu\d{3}|(?<![\w-])torch==\d", re.ASCII)


class _Here:
    """The Python and the system of a text, and what torch's tables say of them."""

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
        for release in (*newer, *older):
            if not self.has_file(release):
                continue
            fits = self._matrix.find(TABLE, {"torch": Known(release, "asked")})
            where = {"version": Known(release, "asked"), "build": Known(build, "asked")}
            index = fact_text(self._matrix.find(_INDEXES, where).cell("index"), "")
            beside = {name: fact_text(fits.cell(name), "") for name in BESIDE_TORCH}
            if index and all(beside.values()) and self._runs(release, index):
                return {TORCH: release, **beside, _BUILD: index}
        return {}

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
    """Return fixes whose commands ask for a torch that has a file for the Python of a text."""
    here = _Here(scope)
    if not here.python:
        return fixes
    return tuple(_fitting(fix, here, "\n".join(texts)) for fix in fixes)


def _fitting(fix: Fix, here: _Here, text: str) -> Fix:
    if any(_OTHER_PYTHON.search(step.text) for step in fix.steps):
        return fix
    steps = fix.steps
    for step in fix.steps:
        found = _TRIO.search(step.text)
        if found is None or here.has_file(found["torch"]) is not False:
            continue
        better = here.instead(found["torch"], found["build"])
        if not better or found["torch"] in text:
            # Before all others: the first may remove the torch that is there.
            return msgspec.structs.replace(fix, steps=(_says(found["torch"], here.python), *steps))
        kept = (each for each in steps if each is step or not _OTHER_RELEASE.search(each.text))
        steps = tuple(_replaced(each, found, better) if each is step else each for each in kept)
    return fix if steps is fix.steps else msgspec.structs.replace(fix, steps=steps)


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
