"""Join what was seen with what is known: findings of the same rules that `explain` uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.judging.engine.judge import fingerprint
from fadoctor.judging.engine.possible import possible_fixes
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known, printable
from fadoctor.model.finding import Confidence, Evidence, Finding, Severity
from fadoctor.model.packages import PACKAGES
from fadoctor.model.report import rules_info
from fadoctor.model.rule import rules_by_id
from fadoctor.model.trace import Call, Culprit, TracedProcess, TraceReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.rule import Knowledge, Rule

FROM_START = "float32-from-start"

_WIDE = ("float32", "float64")
_SDPA = "torch.nn.functional.scaled_dot_product_attention"
_SHOWN = 300


class _Case(msgspec.Struct):
    """Calls of one process that have one root cause, by one statement."""

    process: TracedProcess
    call: Call
    letters: list[str]
    culprit: Culprit
    calls: int = 0


def build_report(
    command: tuple[str, ...],
    exit_code: int,
    processes: tuple[TracedProcess, ...],
    knowledge: Knowledge,
    notes: tuple[str, ...] = (),
) -> TraceReport:
    """Return the report on a command that has ended, or on a block of code."""
    return TraceReport(
        fadoctor=__version__,
        rules=rules_info(knowledge),
        command=command,
        exit_code=exit_code,
        processes=processes,
        findings=find(processes, knowledge),
        notes=notes,
    )


def find(processes: tuple[TracedProcess, ...], knowledge: Knowledge) -> tuple[Finding, ...]:
    """Return one finding a root cause, what stopped a call before what only slowed it."""
    rules = rules_by_id(knowledge)
    matrix = Matrix(knowledge.tables)
    cases: dict[tuple[str, str, int], _Case] = {}
    for process in processes:
        for call in process.calls:
            for letter, culprit in call.culprits.items():
                rule_id = _rule_of(call, culprit, matrix)
                if rule_id not in rules or not _matters(call, culprit):
                    continue
                case = cases.setdefault(
                    (rule_id, culprit.file, culprit.line), _Case(process, call, [], culprit)
                )
                case.calls += call.times
                if letter not in case.letters and call.module == case.call.module:
                    case.letters.append(letter)
    found = list(_findings(cases, rules, matrix))
    order = list(Severity)
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def _findings(
    cases: dict[tuple[str, str, int], _Case], rules: dict[str, Rule], matrix: Matrix
) -> Iterator[Finding]:
    seen: set[str] = set()
    for rule_id, _, _ in cases:
        if rule_id not in seen:
            seen.add(rule_id)
            others = [each for (other, _, _), each in cases.items() if other == rule_id]
            yield _finding(rules[rule_id], others, matrix)


def _matters(call: Call, culprit: Culprit) -> bool:
    """Return whether it is a fault: a refusal, or a tensor that somebody widened on the way."""
    return call.error is not None or culprit.kind != FROM_START


def _rule_of(call: Call, culprit: Culprit, matrix: Matrix) -> str:
    for row in matrix.tables["trace-culprits"].rows:
        at_home = culprit.file.replace("\\", "/").endswith("/" + str(row["file"]))
        if at_home and row["function"] in ("*", culprit.function):
            return str(row["rule"])
    dtypes = {each.dtype for each in (call.q, call.k, call.v) if each is not None}
    what = "mixed" if len(dtypes) > 1 else "wide"
    is_sdpa = call.entry == _SDPA
    if call.q is not None and call.q.dtype in _WIDE and not is_sdpa:
        what = "wide"
    backend = "sdpa" if is_sdpa else call.backend
    cell = matrix.find("trace-causes", {"backend": Known(backend, ""), "what": Known(what, "")})
    rule = cell.cell("rule")
    return str(rule.value) if isinstance(rule, Known) else ""


def _finding(rule: Rule, cases: list[_Case], matrix: Matrix) -> Finding:
    first = cases[0]
    scope = Scope(_environment(first.process), matrix, rule, {})
    stopped = any(each.call.error is not None for each in cases)
    shown = printable(first.culprit.source, _SHOWN)
    return Finding(
        rule_id=rule.id,
        severity=Severity.ERROR if stopped else Severity.WARNING,
        confidence=Confidence(first.culprit.confidence),
        title=rule.title,
        message=f"{sentence(first.call, first.culprit, first.letters)} {shown}".strip(),
        why=scope.fill(rule.why),
        subject=rule.subject,
        evidence=tuple(_evidence(each) for each in cases[:16]),
        fixes=possible_fixes(scope),
        consequences=(),
        references=rule.cited,
        fingerprint=fingerprint(rule.id, rule.subject),
    )


def sentence(call: Call, culprit: Culprit, letters: list[str]) -> str:
    """Return who did what, in one sentence that ends before the source line."""
    seen = {"q": call.q, "k": call.k, "v": call.v}
    dtype = next((each.dtype for letter in letters if (each := seen[letter])), "wide")
    where = f"{culprit.file}:{culprit.line}"
    module = f" in {culprit.module}" if culprit.module else ""
    verb = "is" if len(letters) == 1 else "are"
    because = f" ({culprit.because})" if culprit.because else ""
    return (
        f"{' and '.join(letters)} {verb} {dtype} since {where}{module}, "
        f"{_KINDS.get(culprit.kind, culprit.kind)}{because}:"
    )


_KINDS = {
    "cast": "a cast",
    "promotion": "a promotion",
    FROM_START: "which was float32 from the start",
    "other": "an operation",
}


def _evidence(case: _Case) -> Evidence:
    call = case.call
    where = call.module or call.function
    outcome = f"raised {call.error}" if call.error else f"ran on {call.backend}"
    value = printable(f"{where}: {call.entry} {outcome}, {case.calls} times", _SHOWN)
    return Evidence("trace", value, f"{case.culprit.file}:{case.culprit.line}")


def _environment(process: TracedProcess) -> Environment:
    """Return the versions that a process had loaded, as facts."""
    facts = {
        f"{name}.version": Known(version, "the traced process")
        for name, version in process.packages.items()
        if name in PACKAGES
    }
    if process.torch:
        facts["torch.version"] = Known(process.torch, "the traced process")
    target = Target("environment", process.argv[0] if process.argv else "python", "traced")
    return Environment(__version__, target, dict(facts))
