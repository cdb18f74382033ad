"""Run the cases that stand in a rule's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.engine.judge import judge
from fadoctor.judging.engine.symptom_facts import given_by
from fadoctor.judging.engine.symptoms import matcher_of
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import OF_A_LOG, Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.typed import convert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.judging.engine.symptoms import Matcher, SymptomMatch
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge, Rule

_WORST_FIRST = (
    Outcome.ERROR,
    Outcome.FAIL,
    Outcome.UNKNOWN,
    Outcome.PASS,
    Outcome.NOT_APPLICABLE,
)


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a case expects."""

    outcome: Outcome
    severity: Severity | None = None
    """Of the first finding: where it can be less than the rule's."""
    message: str = ""
    """A part of the message."""
    fixes: tuple[str, ...] | None = None
    """Ids of the fixes offered, in order."""
    captures: dict[str, str] = {}
    """Of a log: groups of the symptom's pattern, with their values."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One case of a rule: an environment, or a message of a log."""

    name: str
    expect: Expected
    facts: dict[str, Any] = {}
    unknown: tuple[str, ...] = ()
    log: str = ""
    """``fail``: this rule is the most likely cause; ``pass``: it does not show (a near miss)."""


class CaseFacts(dict[str, Fact]):
    """Facts of a case: what it does not name is Absent."""

    def get(self, name: str, _default: Any = None) -> Any:
        """Return a fact; None only for a path into one."""
        found = super().get(name)
        return found if found is not None or _is_part(name, self) else Absent("case")


def _is_part(name: str, facts: Mapping[str, Fact]) -> bool:
    """Return whether a name leads into a fact that the case names: ``torch.version.minor``."""
    base = name.rpartition(".")[0]
    return dict.__contains__(facts, base)


def read_case(raw: Any) -> Case:
    """Return a case; msgspec.ValidationError where it has another shape."""
    return convert(raw, Case)


def case_environment(case: Case) -> Environment:
    """Return the environment that a case describes."""
    facts = CaseFacts()
    for name, value in case.facts.items():
        facts[name] = Absent("case") if value is None else Known(_value(value), "case")
    for name in case.unknown:
        facts[name] = Unknown("not readable in this case", "case")
    return Environment("0", Target("facts", "case", "case"), facts)


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class Cases:
    """Runs cases of many rules: what is made of all symptoms is made once."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Take the rules and tables that cases are run with."""
        self._knowledge = knowledge
        self._matrix = Matrix(knowledge.tables)
        self._matcher = matcher_of(knowledge)

    def run(self, rule: Rule, case: Case) -> str:
        """Return what is wrong, or "" where the case comes out as expected."""
        if case.log:
            return _wrong_matches(rule, case, self.matcher(case).match(case.log))
        alone = msgspec.structs.replace(self._knowledge, rules=(rule,))
        assessment = judge(case_environment(case), alone, self._matrix)
        if assessment.errors:
            return assessment.errors[0].reason
        outcomes = {each.outcome for each in assessment.judgements}
        outcome = next(each for each in _WORST_FIRST if each in outcomes)
        if outcome is not case.expect.outcome:
            reasons = "; ".join(each.reason for each in assessment.judgements if each.reason)
            return f"{outcome.value} instead of {case.expect.outcome.value} {reasons}".rstrip()
        return _wrong_findings(case, assessment.findings)

    def matcher(self, case: Case) -> Matcher:
        """Return what matches a case's log; facts that a log does not say are Unknown."""
        facts = dict(case_environment(case).facts)
        environment = Environment("0", Target(OF_A_LOG, "case", "case"), facts)
        return self._matcher.with_facts(given_by(lambda: environment, self._matrix))


def run_case(rule: Rule, case: Case, knowledge: Knowledge) -> str:
    """Return what is wrong with one case, or "" where it comes out as expected."""
    return Cases(knowledge).run(rule, case)


def _wrong_findings(case: Case, findings: tuple[Finding, ...]) -> str:
    """Return what the findings of a case lack."""
    messages = [finding.message for finding in findings]
    if case.expect.message and not any(case.expect.message in text for text in messages):
        return f"no message holds {case.expect.message!r}: {messages}"
    severities = [finding.severity for finding in findings]
    if case.expect.severity is not None and severities[:1] != [case.expect.severity]:
        return f"is {[each.value for each in severities]} instead of {case.expect.severity.value}"
    offered = tuple(fix.id for finding in findings[:1] for fix in finding.fixes)
    if case.expect.fixes is not None and offered != case.expect.fixes:
        return f"offers {offered} instead of {case.expect.fixes}"
    return ""


def _wrong_matches(rule: Rule, case: Case, matches: list[SymptomMatch]) -> str:
    """Return what is wrong with what a log shows of the symptoms of all rules."""
    mine = next((match for match in matches if match.rule_id == rule.id), None)
    if case.expect.outcome is Outcome.PASS:
        return "" if mine is None else f"the log shows it, by symptom {mine.index}"
    if case.expect.outcome is not Outcome.FAIL:
        return f"a log can fail or pass, not {case.expect.outcome.value}"
    if mine is None or mine is not matches[0]:
        return f"the log shows {', '.join(match.rule_id for match in matches) or 'nothing'}"
    if case.expect.message not in mine.message:
        return f"no message holds {case.expect.message!r}: {mine.message!r}"
    wrong = any(mine.captures.get(name) != text for name, text in case.expect.captures.items())
    return f"captures {mine.captures}" if wrong else ""
