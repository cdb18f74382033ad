"""Explain a log: from its bytes to the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.judging.engine.contradicted import fitted
from fadoctor.judging.engine.judge import fingerprint
from fadoctor.judging.engine.possible import possible_fixes
from fadoctor.judging.engine.symptom_facts import given_by
from fadoctor.judging.engine.symptoms import matcher_of
from fadoctor.judging.explain.causes import Ranked
from fadoctor.judging.explain.evidence import lines_of, said_again
from fadoctor.judging.explain.fixes.built import built_in, of_what_is_built
from fadoctor.judging.explain.fixes.labels import label_in
from fadoctor.judging.explain.fixes.reckoned import reckoned
from fadoctor.judging.explain.fixes.selection import FixSelection
from fadoctor.judging.explain.fixes.shown_places import shown_places
from fadoctor.judging.explain.join import (
    beside,
    held_against,
    scope_of,
    surroundings,
    with_own,
)
from fadoctor.judging.explain.notes import notes_on
from fadoctor.judging.explain.quoting import Vocabulary, vocabulary_of
from fadoctor.judging.explain.ranking import rank_causes
from fadoctor.judging.explain.recognise.call_sites import broke_at
from fadoctor.judging.explain.recognise.complaints import complaining, complaints
from fadoctor.judging.explain.recognise.facts_alone import errors_of, facts_alone, shown_alone
from fadoctor.judging.explain.recognise.grounds import with_grounds
from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.judging.explain.recognise.proved import complaining as complains
from fadoctor.judging.explain.recognise.proved import is_ours, proved
from fadoctor.judging.explain.recognise.refined import Refiner, fixes_of
from fadoctor.judging.explain.recognise.refusals import refused
from fadoctor.judging.explain.recognise.resolver_conflict import told_conflict, with_conflict
from fadoctor.judging.explain.recognise.sought import sought
from fadoctor.judging.explain.recognise.status_codes import code_matches
from fadoctor.judging.explain.recognise.told_requirements import told_causes, told_in, with_told
from fadoctor.judging.explain.recognise.told_words import (
    reports_nothing,
    told_cause,
    without_hearsay,
)
from fadoctor.judging.explain.topic import is_on_topic
from fadoctor.judging.explain.vetoes.contradicted import without_contradicted
from fadoctor.judging.explain.vetoes.done_already import without_done
from fadoctor.judging.explain.vetoes.no_report import NoReport, calmed, kind_of
from fadoctor.judging.explain.weigh import Weighed, weigh
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.explanation import Agreement, Check, Explanation, Log
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.finding import Confidence, Finding, Severity
from fadoctor.model.report import Summary, rules_info
from fadoctor.sources.logs.cleaning import Line, clean_lines, without_credentials
from fadoctor.sources.logs.facts import LogFacts, facts_of
from fadoctor.sources.logs.messages import failures
from fadoctor.sources.logs.reading import read_blocks
from fadoctor.sources.logs.sieve import Sifted, sift
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.diagnose import Judged
    from fadoctor.judging.engine.scope import Scope
    from fadoctor.judging.engine.symptoms import SymptomMatch
    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.join import Surroundings
    from fadoctor.judging.explain.recognise.tolerant import Tolerant
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.messages import Failure
    from fadoctor.sources.logs.reading import Readable

NEXT = "The log does not show it, but fadoctor check finds in this environment, too:"

_DULL = compiled(
    r"\.(?:distribution|count|visible_count|visible|vendor|abi_tag|machine|memory_bytes|direct_url)$"
    r"|^packages\.|^host\.os$"
)
"""Facts that follow from what a log names, and say nothing to a reader."""

SETTLED = "The text says that its problem is solved: what it quotes is a note."

TOLD = "[[{log.name_told}]]"
"""What tables say of a name that a log misses, told behind what the log says."""

BUILDS = "build"
"""The area of the rules about what an installer compiles."""


class Reading(msgspec.Struct, frozen=True):
    """A log that was read and matched, not yet held against an environment."""

    name: str
    sifted: Sifted
    lines: tuple[Line, ...]
    ranked: Ranked
    facts: Callable[[], LogFacts]
    """Returns what the log says of its environment, which is read when it is asked for."""

    @property
    def is_empty(self) -> bool:
        """Return whether no line holds anything."""
        return not any(line.text.strip() for line in self.lines)

    def mentions(self, folder: str) -> bool:
        """Return whether a path of the log lies in a folder."""
        inside = f"{folder.rstrip('/')}/"
        return any(inside in line.text for line in self.lines)


def read_log(stream: Readable, name: str, knowledge: Knowledge) -> Reading:
    """Read a log once, as a stream, and find its causes."""
    matrix = Matrix(knowledge.tables)

    @cache
    def facts() -> LogFacts:
        return facts_of(lines, name, matrix)

    def tolerant() -> Tolerant:
        # Late: most texts hold a wording as it is printed.
        from fadoctor.judging.explain.recognise.pages import load_pages  # noqa: PLC0415

        return load_pages(knowledge).tolerant

    def coded(failure: Failure) -> Iterator[tuple[Failure, SymptomMatch]]:
        return code_matches(failure, matcher, knowledge)

    matcher = matcher_of(knowledge).with_facts(given_by(lambda: facts().environment, matrix))
    sifted = sift(read_blocks(stream), matcher.anchors())
    read = [line for region in sifted.regions for line in clean_lines(region)]
    lines = tuple(without_credentials(read))
    ranked = rank_causes(failures(lines), matcher, knowledge.rules, tolerant, coded)
    return Reading(name, sifted, lines, ranked, facts)


def explain(
    reading: Reading,
    knowledge: Knowledge,
    judged: Judged | None = None,
    ignore: tuple[str, ...] = (),
) -> Explanation:
    """Return the report on a log. Facts of an environment confirm or refute, and add nothing."""
    ignore = knowledge.current(ignore)
    shown = tuple(cause for cause in reading.ranked.causes if cause.rule.id not in ignore)
    kind = kind_of(reading.lines, knowledge)
    is_report = kind is None
    shown = _set_apart(reading, shown, knowledge, ignore) if is_report else calmed(shown)
    is_quiet = is_report and all(cause.severity is Severity.NOTE for cause in shown)
    loud = complaining(reading.lines) if is_quiet else ()
    told = told_in(reading.lines, shown) if is_report else ()
    shown = with_conflict(shown, told) if told else shown
    is_weighed = bool(shown or loud or told or (is_quiet and complains(reading.lines, knowledge)))
    facts = with_told(reading.facts(), told, Matrix(knowledge.tables)) if told else reading.facts()
    worded = _worded(reading.ranked.causes)
    around = surroundings(facts, judged, knowledge, shown=worded, is_weighed=is_weighed)
    texts = tuple(line.text for line in reading.lines)
    built, label = built_in(texts, around.matrix), label_in(texts)
    places = shown_places(texts, fact_text(around.environment.fact("torch.cuda"), ""))
    places |= reckoned(texts, around.environment.fact("host.memory_bytes"))
    places |= sought(texts, around.environment, around.matrix)
    around = msgspec.structs.replace(around, built=built, label=label, places=places)
    chosen = FixSelection(reading.lines, knowledge, facts.environment if judged is None else None)
    known = vocabulary_of(knowledge)
    notes = list(notes_on(reading.lines, reading.ranked, reading.sifted, known))
    findings, checks = [], []
    ended = reading.ranked.unexplained
    errors = cache(lambda: errors_of(reading.facts(), knowledge))
    said = told_causes(told, facts, knowledge, around.matrix, ends_otherwise=ended is not None)
    more = tuple(said)
    if is_quiet:
        shown, more = _quiet(reading, shown, more, around, knowledge)
        if not more and not shown and judged is None and ended is None:
            more = shown_alone(reading.lines, errors(), knowledge)
    shown, more = Refiner(reading.lines, around, chosen.vendor, knowledge, ignore).refine(
        shown, more, is_quiet=is_quiet
    )
    kept = _without_questions(reading, shown, more, knowledge)
    kept = tuple(cause for cause in kept if cause.rule.id not in ignore)
    around = with_own(around, facts, knowledge) if kept and judged is None else around
    for each in _weighed(kept, loud, around, knowledge, ignore):
        finding, check = _finding(each, around, reading, known)
        fixes = chosen.select(finding.fixes, scope_of(each.cause, around))
        findings.append(msgspec.structs.replace(finding, fixes=fixes))
        checks += [check] if check else []
    findings = without_done(findings)
    notes += chosen.notes
    if not findings and judged is None and (alone := facts_alone(errors())):
        notes.append(alone)
    if others := beside(reading.ranked.causes, around, ignore):
        notes.append(f"{NEXT} {', '.join(dict.fromkeys(others))}.")
    if kind is NoReport.SETTLED:
        notes.append(SETTLED)
    elif not findings and is_on_topic(reading.lines):
        notes += _nearest(reading.lines, around, knowledge)
    return Explanation(
        fadoctor=__version__,
        rules=rules_info(knowledge),
        log=_log(reading),
        findings=tuple(findings),
        summary=_summary(findings),
        target=judged.environment.target if judged is not None else None,
        checks=tuple(checks),
        notes=tuple(notes),
        overlays=judged.environment.overlays if judged is not None else (),
        rule_errors=around.assessment.errors if around.assessment is not None else (),
    )


def _quiet(
    reading: Reading,
    shown: tuple[Cause, ...],
    told: tuple[Cause, ...],
    around: Surroundings,
    knowledge: Knowledge,
) -> tuple[tuple[Cause, ...], tuple[Cause, ...]]:
    """Return the notes and the causes of a report in which no wording shows more than a note."""
    ended = reading.ranked.unexplained
    more = (*proved(reading.lines, around, knowledge, ended), *told)
    place = broke_at(reading.lines, knowledge, around.matrix)
    more = (*more, place) if place is not None and not more else more
    if not more:
        found = told_conflict(reading.lines, knowledge) or refused(
            reading.lines, knowledge, around.matrix
        )
        more = (found,) if found is not None else ()
    if not more and (ended is None or is_ours(ended)):
        more, shown = _told_by(reading, shown, knowledge)
    return shown, more


def _without_questions(
    reading: Reading, shown: tuple[Cause, ...], told: tuple[Cause, ...], knowledge: Knowledge
) -> tuple[Cause, ...]:
    """Return causes; those of a text that asks, wishes or describes a change are notes."""
    if not shown and not told:
        return ()
    quotes, tells = reports_nothing(reading.lines, knowledge)
    return (*(calmed(shown, sure=False) if quotes else shown), *(calmed(told) if tells else told))


def _told_by(
    reading: Reading, notes: tuple[Cause, ...], knowledge: Knowledge
) -> tuple[tuple[Cause, ...], tuple[Cause, ...]]:
    """Return what the person tells, and the notes that stay beside it.

    What a code of CUDA means in general gives way to it.
    """
    worded = tuple(cause for cause in notes if not cause.is_of_code)
    told = told_cause(reading.lines, reading.facts(), knowledge, beside_notes=bool(worded))
    return ((told,), worded) if told is not None else ((), notes)


def _worded(causes: Iterable[Cause]) -> tuple[str, ...]:
    """Return the rules whose wordings a log shows, those too that follow from others."""
    ids = (name for cause in causes for name in (cause.rule.id, *cause.consequences))
    return tuple(dict.fromkeys(ids))


def _nearest(lines: tuple[Line, ...], around: Surroundings, knowledge: Knowledge) -> list[str]:
    # Late: most texts are recognised.
    from fadoctor.judging.explain.recognise.nearest import (  # noqa: PLC0415
        harmless_title,
        notes_near,
    )
    from fadoctor.judging.explain.recognise.pages import load_pages  # noqa: PLC0415

    texts = tuple(line.text for line in lines)
    rules = {rule.id: rule for rule in knowledge.rules}

    def step_of(rule_id: str) -> str:
        scope = scope_of(line_cause(rules[rule_id], "", lines[-1]), around)
        return next((harmless_title(fix) for fix in possible_fixes(scope, texts)), "")

    return notes_near(texts, load_pages(knowledge).index, knowledge, step_of)


def _set_apart(
    reading: Reading, causes: tuple[Cause, ...], knowledge: Knowledge, ignore: tuple[str, ...]
) -> tuple[Cause, ...]:
    """Return causes; two situations that are set against each other come before what they explain.

    They explain guesses, and what names their rule among its roots. What others say comes last.
    """
    causes = without_hearsay(causes, reading.lines, reading.facts, knowledge)
    is_quiet = all(cause.severity is Severity.NOTE for cause in causes)
    if is_quiet or not all(_is_guess(cause) or cause.rule.explained_by for cause in causes):
        return causes
    apart = told_cause(reading.lines, reading.facts(), knowledge, beside_guesses=True)
    if apart is None or apart.rule.id in ignore:
        return causes
    if not all(_is_explained_by(apart, cause) for cause in causes):
        return causes
    return (apart, *calmed(causes))


def _is_explained_by(apart: Cause, cause: Cause) -> bool:
    return _is_guess(cause) or apart.rule.id in cause.rule.explained_by


def _is_guess(cause: Cause) -> bool:
    return cause.severity is Severity.NOTE or cause.match.confidence is Confidence.LOW


def _weighed(
    causes: tuple[Cause, ...],
    loud: tuple[Line, ...],
    around: Surroundings,
    knowledge: Knowledge,
    ignore: tuple[str, ...],
) -> tuple[Weighed, ...]:
    """Return the causes, weighed by what the log itself says where no environment is named."""
    if around.own is None:
        return tuple(Weighed(cause, Agreement.OPEN) for cause in causes)
    said = complaints(loud, around.own.findings, knowledge.rules)
    causes = (*(cause for cause in said if cause.rule.id not in ignore), *causes)
    found = weigh(causes, around.own, knowledge.rules)
    found = with_grounds(found, around, knowledge)
    return tuple(each for each in found if each.cause.rule.id not in ignore)


def _log(reading: Reading) -> Log:
    sifted = reading.sifted
    named = {
        name: str(fact.value)
        for name, fact in reading.facts().named.items()
        if isinstance(fact, Known) and not _DULL.search(name)
    }
    read = "whole" if sifted.is_whole else "surroundings"
    about = bool(reading.ranked.causes) or is_on_topic(reading.lines)
    return Log(reading.name, sifted.size, sifted.lines, read, named, about)


def _finding(
    each: Weighed, around: Surroundings, reading: Reading, known: Vocabulary
) -> tuple[Finding, Check | None]:
    cause, rule = each.cause, each.cause.rule
    scope = scope_of(cause, around)
    said = said_again(cause, reading.lines)
    check, found = held_against(each, around)
    if check is not None and check.agreement is Agreement.REFUTED:
        scope = without_contradicted(scope, around.own)
    fixes = fixes_of(cause, scope, tuple(line.text for line in reading.lines), said)
    evidence = lines_of(cause, reading.lines, reading.name, known)
    if found is not None:
        evidence += found.evidence
        if found.rule_id != rule.id or around.assessment is not None or not fixes:
            own = (fitted(fix, scope.environment, scope.matrix) for fix in found.fixes)
            fixes = tuple(filter(None, own)) or fixes
    confidence = cause.match.confidence
    finding = Finding(
        rule_id=rule.id,
        severity=cause.severity,
        confidence=_after(confidence, check.agreement) if check is not None else confidence,
        title=rule.title,
        message=f"{cause.match.message} {scope.fill(TOLD)}".rstrip(),
        why=_why(scope, around, reading.lines),
        subject=rule.subject,
        evidence=tuple(evidence),
        fixes=fixes,
        consequences=cause.consequences,
        references=rule.cited,
        fingerprint=fingerprint(rule.id, rule.subject),
    )
    return finding, check


def _why(scope: Scope, around: Surroundings, lines: tuple[Line, ...]) -> str:
    why = scope.fill(scope.rule.why)
    if scope.rule.area != BUILDS:
        return why
    return of_what_is_built(why, around.built, [line.text for line in lines])


def _after(confidence: Confidence, agreement: Agreement) -> Confidence:
    """Return the confidence that is left, or won, when facts have been asked."""
    if agreement is Agreement.CONFIRMED:
        return Confidence.HIGH
    if agreement is Agreement.REFUTED:
        return confidence.weaker()
    return confidence


def _summary(findings: list[Finding]) -> Summary:
    count = Counter(finding.severity for finding in findings)
    return Summary(count[Severity.ERROR], count[Severity.WARNING], count[Severity.NOTE], 0)
