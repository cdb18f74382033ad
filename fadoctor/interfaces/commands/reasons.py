"""Say why one rule comes out as it does for saved facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.interfaces.commands.examine import foreseen, look
from fadoctor.judging.engine.reasons import RuleReasons, reasons_of
from fadoctor.model.overlays import Overlays
from fadoctor.sources.examine.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fadoctor.judging.diagnose import Prognosis

_NONE = Overlays()


def reasons_for(
    rule_id: str, facts: str, rules: Sequence[Path] = (), overlays: Overlays = _NONE
) -> RuleReasons:
    """Judge saved facts by all rules, and return why one came out as it did for each subject.

    What the overlays assume replaces what the facts say, as in `fadoctor check`.
    """
    knowledge, environment = look(Request(facts=facts, overlays=overlays), rules)
    prognosis, _ = foreseen(environment, knowledge)
    return reasons_in(prognosis, rule_id)


def reasons_in(prognosis: Prognosis, rule_id: str = "") -> RuleReasons:
    """Return why rules came out as they did: all, or one."""
    told = reasons_of(prognosis.assessment, rule_id)
    return RuleReasons(prognosis.environment.target, told)
