"""What has to be there before the first command of a fix can run, and after it stays as it is.

A command that reads torch ends at once where torch is what is missing. A release that was installed
in place of the one that a list pins is replaced when the list is installed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.contradicted import default_build
from fadoctor.judging.explain.fixes.companions import PYTORCH_INDEXES, TABLE
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Absent, Known, fact_text
from fadoctor.model.fix import Step, StepKind
from fadoctor.model.packages import BESIDE_TORCH, TORCH
from fadoctor.syntax.likely_lines import stands
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from fadoctor.judging.engine.scope import Scope
    from fadoctor.model.fix import Fix

_WHEELS = "flash-attn-for-torch"
# python -c "import sys, torch as t; ..." | v('torch') of importlib.metadata
_READS_TORCH = compiled(
    r" -c \"[^\n]{0,80}?(?:\bimport (?:[\w, ]{1,40}, )?torch\b"
    r"|[^\n]{0,120}?\bv(?:ersion)?\('torch'\))"
)
_BRINGS_TORCH = compiled(r"(?i)\binstall (?:\S{1,40} ){0,4}torch\b|(?<![\w-])torch==\d")
_MISSING = compiled(r"No module named ['\"]?torch['\"]?(?![\w.])|not found: torch(?![\w-])")
# Collecting flash_attn==2.7.4.post1 (from -r requirements.txt (line 3))
_PINNED = compiled(
    r"(?P<name>[A-Za-z][\w.-]{1,60})==(?P<version>\d[\w.]{0,30})[^\n]{0,60}? "
    r"\(from -r (?P<list>[\w./\\-]{1,120}?)(?: \(line \d{1,5}\))?\)"
)
_OF_A_LIST = " (from -r "
# a command that chooses the release of a file itself
_CHOOSES = compiled(r" -c \"import sys, subprocess as s\b")
_LABEL = "+"


def with_what_is_needed(
    fixes: tuple[Fix, ...], scope: Scope, texts: Sequence[str], *, cuda: bool
) -> tuple[Fix, ...]:
    """Return fixes with torch before a command that reads it, and with the lists that pin.

    `cuda`: whether the builds of torch for CUDA serve the GPU of the text.
    """
    torch = _torch(scope) if cuda and _is_missing(scope, texts) else ""
    pinning = (text for text in texts if _OF_A_LIST in text)
    pins = {_folded(each["name"]): each for text in pinning for each in _PINNED.finditer(text)}
    return tuple(_pinned(_torch_first(fix, torch), pins) for fix in fixes)


def _is_missing(scope: Scope, texts: Sequence[str]) -> bool:
    torch = scope.environment.fact("torch.version")
    if isinstance(torch, Known):
        return False
    return isinstance(torch, Absent) or stands(_MISSING, texts)


def _torch(scope: Scope) -> str:
    """Return the command for a torch for which flash-attn has wheels, "" where none is known."""
    tables = scope.matrix.tables
    if _WHEELS not in tables or TABLE not in tables or not _is_for_cuda(scope):
        return ""
    minors = [str(r["torch"]) for r in tables[_WHEELS].rows if len(cell_words(r["python"])) > 1]
    usual = max(minors, key=version_key, default="")
    rows = ((each, row) for row in tables[TABLE].rows for each in cell_words(row[TORCH]))
    fits = {each: row for each, row in rows if version_part(each, "minor") == usual}
    if not fits:
        return ""
    torch = max(fits, key=version_key)
    beside = " ".join(f"{name}=={fits[torch][name]}" for name in BESIDE_TORCH)
    build = default_build(torch, scope.matrix)
    return f"pip install torch=={torch} {beside} --index-url {PYTORCH_INDEXES}{build}"


def _is_for_cuda(scope: Scope) -> bool:
    platform = fact_text(scope.environment.fact("host.platform"), "linux")
    return platform.startswith(("linux", "win"))


def _torch_first(fix: Fix, torch: str) -> Fix:
    at = next((at for at, step in enumerate(fix.steps) if step.kind is not StepKind.ADVICE), None)
    if not torch or at is None or not _READS_TORCH.search(fix.steps[at].text):
        return fix
    if any(_BRINGS_TORCH.search(step.text) for step in fix.steps[:at]):
        return fix
    says = f"If torch itself is missing, install it first: {torch}"
    return msgspec.structs.replace(fix, steps=(Step(StepKind.ADVICE, says), *fix.steps))


def _pinned(fix: Fix, pins: Mapping[str, re.Match[str]]) -> Fix:
    """Return a fix that says which list pins another release of what it installs."""
    says = next(filter(None, (_said_of(step, pins) for step in fix.steps)), "")
    steps = (*fix.steps, Step(StepKind.ADVICE, says)) if says else fix.steps
    return msgspec.structs.replace(fix, steps=steps)


def _said_of(step: Step, pins: Mapping[str, re.Match[str]]) -> str:
    """Return what is to be changed in a list after a step, "" for nothing."""
    for item in step.items if step.kind is StepKind.INSTALL else ():
        name, _, version = item.partition("==")
        pin = pins.get(_folded(name))
        if pin is not None and version and version.partition(_LABEL)[0] != pin["version"]:
            return (
                f"Write {name}=={version} in {pin['list']} in place of {pin['version']}, "
                "or pip takes that one again."
            )
    if step.kind is StepKind.SYSTEM and _CHOOSES.search(step.text):
        text = _folded(step.text)
        found = (pin for name, pin in pins.items() if f"/{name}-" in text)
        if (pin := next(found, None)) is not None:
            return (
                f"Then leave {pin['name']}=={pin['version']} out of {pin['list']}, "
                "and install the rest from it."
            )
    return ""


def _folded(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
