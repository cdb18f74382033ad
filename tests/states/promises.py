"""What no plan may do, whatever the state: read off the plan alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.released import accepts
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.plan import Plan

# flash-attn>=2.7.1,<2.8.3
_REQUIREMENT = re.compile(r"([A-Za-z][A-Za-z0-9._-]{1,60})((?:[<>=!~]=?[0-9][0-9A-Za-z.*+]*,?)+)")


def broken_promise(plan: Plan) -> str:
    """Return what a plan does that none may do, "" where it does nothing of the kind."""
    return next(_broken(plan), "")


def _broken(plan: Plan) -> Iterator[str]:
    moved = {change.distribution: change.after for change in plan.changes}
    for action in plan.actions:
        if action.kind is ActionKind.INSTALL:
            yield from (f"a bare name: {item}" for item in action.requirements if _is_bare(item))
        if action.kind.is_run:
            continue
        for name, specifier in _REQUIREMENT.findall(action.text):
            after = moved.get(normalise_name(name), "")
            if after and not accepts(specifier.rstrip(","), after):
                yield f"{name} becomes {after}, and by hand {name}{specifier} is asked for"
    is_asked = any("(asked for)" in wish for wish in plan.wishes)
    if moved and not is_asked and plan.proof.errors and plan.proof.lost:
        yield f"{', '.join(plan.proof.lost)} stops working for a half repair"


def _is_bare(item: str) -> bool:
    """Return whether a framework is left to the installer, which may take an ancient one."""
    return item in ("vllm", "sglang", "unsloth", "llamafactory", "torch", "transformers")
