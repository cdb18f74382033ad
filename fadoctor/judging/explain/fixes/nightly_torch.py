"""Put the release of torch before a wheel that is built for one, beside a nightly torch.

No wheel is built for torch 2.8.0.dev20250314+cu128: names and functions change from night to night.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.fixes import command
from fadoctor.judging.explain.fixes.companions import PYTORCH_INDEXES
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.fix import Safety, Step, StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from fadoctor.judging.engine.scope import Scope
    from fadoctor.model.fix import Fix

BUILDS = "torch-builds"

_NIGHTLY = compiled(r"(?P<release>\d{1,2}\.\d{1,2}\.\d{1,2})\.?dev\d{8}\+(?P<build>cu\d{3})")
_SAYS = "torch {} is a nightly build, for which no wheel is built: its release has some."
_BREAKS = "Compiled packages that were built for the nightly torch must be replaced."
_INSTALLS = (StepKind.INSTALL, StepKind.SYSTEM)


def on_a_release(fixes: tuple[Fix, ...], scope: Scope) -> tuple[Fix, ...]:
    """Return fixes that install a wheel for this torch with its release before it, if it is one.

    A release that the tables do not list is not named.
    """
    wheels = {fix.id for fix in scope.rule.fixes if fix.wheel}
    if not any(fix.id in wheels for fix in fixes):
        return fixes
    version = fact_text(scope.environment.fact("torch.version"), "")
    nightly = _NIGHTLY.fullmatch(version)
    if nightly is None or not _is_listed(scope, nightly["release"], nightly["build"]):
        return fixes
    item, index = (
        f"torch=={nightly['release']}+{nightly['build']}",
        f"{PYTORCH_INDEXES}{nightly['build']}",
    )
    text = command(StepKind.INSTALL, (item,), index=index, windows=True)
    first = (
        Step(StepKind.ADVICE, _SAYS.format(version)),
        Step(StepKind.INSTALL, text, (item,), index),
    )
    return tuple(
        _after(fix, first, nightly["release"]) if fix.id in wheels and _installs(fix) else fix
        for fix in fixes
    )


def _is_listed(scope: Scope, release: str, build: str) -> bool:
    platform = scope.environment.fact("host.platform")
    asked = {"version": Known(release, "asked"), "build": Known(build, "asked")}
    return bool(scope.matrix.find(BUILDS, {**asked, "platform": platform}).rows)


def _installs(fix: Fix) -> bool:
    return any(step.kind in _INSTALLS for step in fix.steps)


def _after(fix: Fix, first: tuple[Step, ...], release: str) -> Fix:
    then = fix.title.removeprefix("Or ")
    title = (
        f"Install torch {release} instead of the nightly build, then {then[:1].lower()}{then[1:]}"
    )
    return msgspec.structs.replace(
        fix,
        title=title,
        steps=(*first, *fix.steps),
        safety=Safety.UNSAFE,
        side_effects=f"{fix.side_effects} {_BREAKS}".strip(),
    )
