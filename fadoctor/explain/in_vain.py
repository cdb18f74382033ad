"""Leave out what installs flash-attn for a GPU on which no release of it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.engine.fixes import possible_fixes
from fadoctor.engine.scope import Scope
from fadoctor.model.fact import Known

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import FixTemplate, Knowledge, Rule

_FOR_TORCH = "flash-attn-for-torch"
"""The table of releases with a prebuilt wheel: who asks it installs one, or looks for one."""

# Install torch first, then flash-attn without isolation | Or build flash-attn here
_SAID = re.compile(
    r"(?i)(?:or )?(?:re)?(?:build|install)\b[^\n]{0,100}\b(?:flash-attn(?!-4)|hub kernel)\b"
)
_ABOUT = re.compile(r"(?i)flash[-_ ]?att")
_ASKED = {"backend": Known("fa2", "asked"), "dtype": Known("fp16", "asked")}

IN_VAIN = "FlashAttention-2 does not run on the GPU that is named: what installs it is left out."


def without_vain(
    fixes: tuple[Fix, ...], scope: Scope, knowledge: Knowledge, log: tuple[str, ...]
) -> tuple[Fix, ...]:
    """Return fixes without those that install flash-attn in vain; where none is left, others.

    `log`: the lines that were read, which show the framework at work.
    """
    vain = {fix.id for fix in scope.rule.fixes if _installs_it(fix)}
    left = tuple(fix for fix in fixes if fix.id not in vain)
    if len(left) == len(fixes) or not any(map(_ABOUT.search, log)):
        return fixes
    rule = _refusal(scope, knowledge.rules)
    if rule is None:
        return fixes
    asked = Scope(scope.environment, scope.matrix, rule, {"gpu": "gpu[0]"})
    return left or possible_fixes(asked, log)


def _installs_it(fix: FixTemplate) -> bool:
    """Return whether a fix installs or builds flash-attn 2, or says where to find it."""
    asks = any(row.get("table") == _FOR_TORCH for row in fix.rows.values())
    return asks or _SAID.match(fix.title) is not None


def _refusal(scope: Scope, rules: Collection[Rule]) -> Rule | None:
    """Return the rule that says why no release runs on the one GPU; None where one may."""
    facts = scope.environment.facts
    capability = facts.get("gpu[0].compute_capability")
    if not isinstance(capability, Known) or "gpu[1].compute_capability" in facts:
        return None
    rows = scope.matrix.find("kernel-support", {**_ASKED, "cc": capability})
    support, named = rows.cell("support"), rows.cell("rule")
    if not isinstance(support, Known) or support.value != "fails" or not isinstance(named, Known):
        return None
    return next((rule for rule in rules if rule.id == named.value), None)
