"""Match the failures of a log and put the first cause first, its consequences under it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.symptoms import SymptomMatch
from fadoctor.judging.explain.causes import Cause, Ranked
from fadoctor.judging.explain.recognise.repaired import repaired_matches
from fadoctor.judging.explain.vetoes.endings import (
    is_explained,
    last_exception,
    quieted,
    surer_first,
)
from fadoctor.judging.explain.vetoes.quoted_source import without_source
from fadoctor.judging.explain.vetoes.solved_errors import without_settled
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.rule import MESSAGE_LIMIT, Rule
from fadoctor.sources.logs.messages import Failure
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fadoctor.judging.engine.symptoms import Matcher
    from fadoctor.judging.explain.recognise.tolerant import Tolerant
    from fadoctor.sources.logs.cleaning import Line

FAILURES_LIMIT = 400
"""Most different failures of one log that are matched: its first and its last ones."""

LINES_SHOWN = 3
"""Most lines of one match that become evidence."""

CUT_LINES = 2
"""Fewest lines as long as the longest one that show where a terminal cut between words."""

NARROWEST, WIDEST = 40, 400
"""Columns of terminals."""

# CMake version: Could not collect | Libc version: glibc-2.35: rows of one report
_ROW = compiled(r"[A-Z][\w ().+/-]{1,40}: ?\S")

# file or directory | _join_cuda_home | /usr/lib
_GOES_ON = compiled(r"[a-z/_(]")

# The end of one line and the beginning of the next are one word: avail|able.
_MIDDLE = compiled(r"[a-z][a-z]|[A-Z][A-Z]|_\w|\w_")

_MARKS = str.maketrans({"*": None, "`": None})

_SEVERITIES, _CONFIDENCES = list(Severity), list(Confidence)
_DIGITS = str.maketrans("", "", "0123456789")

# A program that names what it does without has gone on; on the CPU it is what people complain of.
_HANDLED = compiled(r"(?i)\bfall(?:s|ing)? ?back\b(?! to (?:the |my )?cpu\b)|\bfallback to\b")

# So has one that names what it takes in place of what failed, but it was asked for the other:
# Flash Attention failed, using default SDPA: ... | Error running sage: ..., using PyTorch instead.
# bitsandbytes logs what its library failed with, and raises only where a layer needs that library:
# bitsandbytes library load error: Configured CUDA binary not found at ...
_REPLACED = compiled(
    r"(?i)\bfailed[,;:]? (?:now )?using [\w' -]{2,40}|[,;:.] ?using [\w' -]{2,40} instead\b"
    r"|\bbitsandbytes library load error: "
)
_ASIDE = compiled(r"\(e\.g\.[^()\n]{0,200}\)")
"""An example in brackets says nothing of what happened."""


class _Found(msgspec.Struct):
    """The best match of one rule so far, and where the rule shows first."""

    place: int
    match: SymptomMatch
    failure: Failure
    times: int = 1
    calm: bool = False
    """Whether its line says how the program goes on."""
    is_of_code: bool = False


def rank_causes(
    found: list[Failure],
    matcher: Matcher,
    rules: Iterable[Rule],
    tolerant: Callable[[], Tolerant] | None = None,
    coded: Callable[[Failure], Iterable[tuple[Failure, SymptomMatch]]] | None = None,
) -> Ranked:
    """Return the causes that failures show, the most likely first.

    Errors come before warnings, then what shows earlier in the log; within one failure, what the
    matcher holds for likelier. What another cause explains becomes its consequence. A warning is
    only a note where the log ends in an exception about something else. `coded` yields what a
    failure shows by the codes of CUDA.
    """
    by_id = {rule.id: rule for rule in rules}
    best = _matched(found, matcher)
    if coded is not None:
        _take_coded(best, found, coded, by_id)
    if tolerant is not None:
        is_quiet = all(_is_note(each) for each in best.values())
        known = tolerant if is_quiet else None
        shown = {each.failure.line_at(each.match.start).number for each in best.values()}
        for whole, match in repaired_matches(_pasted(found), matcher, known, shown):
            _take_all(best, [(match, False)], whole, found)
    causes = [_cause(each, by_id[each.match.rule_id]) for each in _ordered(best.values())]
    causes = without_source(_under_their_roots(surer_first(causes)), found)
    last = last_exception(found)
    causes = without_settled(causes, found, last)
    unexplained = last if last is not None and not is_explained(last, causes, found) else None
    if unexplained is not None:
        causes = [quieted(cause, unexplained) for cause in causes]
    causes.sort(key=lambda cause: _SEVERITIES.index(cause.severity))
    return Ranked(tuple(causes), unexplained)


def _matched(found: list[Failure], matcher: Matcher) -> dict[str, _Found]:
    """Return the best match of each rule that shows."""
    best: dict[str, _Found] = {}
    for place, failure, times in _different(found):
        for match, calm in _shown(failure, matcher):
            _take(best, _Found(place, match, failure, times, calm))
    pasted = _pasted(found)
    for whole in _wholes(pasted, several=len(found) > 1, unwrapped=not best):
        _take_all(best, _shown(whole, matcher), whole, found)
    if pasted and not best:
        retold = _retold(pasted)
        told = [(match, False) for match in matcher.match(retold.text, retyped=True)]
        _take_all(best, told, retold, found)
    return best


def _take_coded(
    best: dict[str, _Found],
    found: list[Failure],
    coded: Callable[[Failure], Iterable[tuple[Failure, SymptomMatch]]],
    by_id: dict[str, Rule],
) -> None:
    """Take what codes show in lines that no wording explains as they are.

    What a code means in general is not said beside the cause that explains it.
    """
    shown = {
        each.failure.line_at(each.match.start).number
        for each in best.values()
        if not _is_note(each)
    }
    new: dict[str, _Found] = {}
    for place, failure, _ in _different(found):
        for whole, match in coded(failure):
            line = whole.line_at(match.start)
            if match.rule_id not in best and line.number not in shown:
                _take(new, _Found(place, match, whole, 1, _goes_on(line.text), is_of_code=True))
    known = best.keys() | new.keys()
    best |= {
        name: each
        for name, each in new.items()
        if not (_is_note(each) and known.intersection(by_id[name].explained_by))
    }


def _is_note(found: _Found) -> bool:
    return found.match.severity is Severity.NOTE


def _shown(failure: Failure, matcher: Matcher) -> list[tuple[SymptomMatch, bool]]:
    """Return what a failure shows, and whether only lines show it that say how it goes on."""
    matches = matcher.match(failure.text)
    calm = [_goes_on(failure.line_at(match.start).text) for match in matches]
    if not any(calm):
        return [(match, False) for match in matches]
    left = [" " * len(line.text) if _goes_on(line.text) else line.text for line in failure.lines]
    again = {match.rule_id: match for match in matcher.match(failure.joint.join(left))}
    return [
        (again.get(match.rule_id, match) if quiet else match, quiet and match.rule_id not in again)
        for match, quiet in zip(matches, calm, strict=True)
    ]


def _goes_on(text: str) -> bool:
    plain = _ASIDE.sub("", text)
    return _HANDLED.search(plain) is not None or _REPLACED.search(plain) is not None


def _take_all(
    best: dict[str, _Found],
    matches: list[tuple[SymptomMatch, bool]],
    whole: Failure,
    found: list[Failure],
) -> None:
    """Take what a log shows that was read as one failure."""
    for match, calm in matches:
        number = whole.line_at(match.start).number
        place = max(
            (place for place, each in enumerate(found) if each.lines[0].number <= number),
            default=0,
        )
        _take(best, _Found(place, match, whole, 0, calm))


def _take(best: dict[str, _Found], new: _Found) -> None:
    known = best.get(new.match.rule_id)
    if known is None:
        best[new.match.rule_id] = new
        return
    known.times += new.times
    if (known.calm, new.match.specific) > (new.calm, known.match.specific):
        known.match, known.failure, known.calm = new.match, new.failure, new.calm
    known.place = min(known.place, new.place)


def _different(found: list[Failure]) -> list[tuple[int, Failure, int]]:
    """Return failures that differ in more than digits, each with its place and how many alike."""
    kinds: dict[str, list[int]] = {}
    for place, failure in enumerate(found):
        kinds.setdefault(failure.text.translate(_DIGITS), []).append(place)
    chosen = sorted((places[0], len(places)) for places in kinds.values())
    if len(chosen) > FAILURES_LIMIT:
        chosen = chosen[: FAILURES_LIMIT // 2] + chosen[-FAILURES_LIMIT // 2 :]
    return [(place, found[place], times) for place, times in chosen]


def _pasted(found: list[Failure]) -> list[Line]:
    """Return the lines of a short log in order; none of a longer one."""
    if sum(len(failure.text) for failure in found) > MESSAGE_LIMIT:
        return []
    lines = [line for failure in found for line in failure.lines]
    return sorted(lines, key=lambda line: line.number)


def _wholes(lines: list[Line], *, several: bool, unwrapped: bool) -> Iterator[Failure]:
    """Yield a short log as one failure: a pasted report names the cause and the setting apart.

    Also with those lines put together that a terminal wrapped; with all of them where nothing was
    found.
    """
    if several and lines:
        yield Failure("", tuple(lines))
    if not unwrapped and (rejoined := _rejoined(lines)):
        yield Failure("", rejoined)
    if unwrapped and lines:
        yield Failure("", tuple(_flush(lines)), joint=" ")
        if uncut := _uncut(lines):
            yield Failure("", uncut)


def _flush(lines: list[Line]) -> Iterator[Line]:
    """Yield lines as they go on each other: a blank one and a row of a report end a sentence."""
    was_row = False
    for line in lines:
        text = line.text.strip()
        is_row = _ROW.match(text) is not None
        begins = "\n" if not text or (is_row and was_row) else ""
        yield msgspec.structs.replace(line, text=f"{begins}{text}")
        was_row = is_row


def _retold(lines: list[Line]) -> Failure:
    """Return a short log as one failure, without the marks of a person who stresses and quotes."""
    plain = [msgspec.structs.replace(line, text=line.text.translate(_MARKS)) for line in lines]
    return Failure("", tuple(plain))


def _uncut(lines: list[Line]) -> tuple[Line, ...]:
    """Return lines put together that a terminal cut at its width, even inside words; or none."""
    width = max((len(line.text) for line in lines), default=0)
    full = sum(len(line.text) == width for line in lines)
    is_cut = full >= CUT_LINES or any(
        len(one.text) == width and _MIDDLE.fullmatch(one.text[-1:] + other.text[:1])
        for one, other in pairwise(lines)
    )
    if not is_cut or not NARROWEST <= width <= WIDEST:
        return ()
    whole: list[Line] = []
    goes_on = False
    for line in lines:
        if goes_on:
            whole[-1] = msgspec.structs.replace(whole[-1], text=whole[-1].text + line.text)
        else:
            whole.append(line)
        goes_on = len(line.text) == width
    return tuple(whole)


def _rejoined(lines: list[Line]) -> tuple[Line, ...]:
    """Return lines put together that a terminal wrapped between words; none where it wrapped none.

    It did so where the next line begins within a sentence or a path, with a word that would not
    have fitted into the widest line.
    """
    width = max((len(line.text) for line in lines), default=0)
    if not NARROWEST <= width <= WIDEST:
        return ()
    whole: list[Line] = []
    left = width
    for line in lines:
        word = line.text.partition(" ")[0]
        if whole and len(word) >= left and _GOES_ON.match(word):
            text = f"{whole[-1].text} {line.text}"
            whole[-1] = msgspec.structs.replace(whole[-1], text=text)
        else:
            whole.append(line)
        left = width - len(line.text)
    return tuple(whole) if len(whole) < len(lines) else ()


def _ordered(found: Iterable[_Found]) -> list[_Found]:
    def key(each: _Found) -> tuple[int, int, int, int, int, str]:
        match = each.match
        return (
            _SEVERITIES.index(match.severity),
            each.place,
            -match.specific,
            _CONFIDENCES.index(match.confidence),
            match.start,
            match.rule_id,
        )

    return sorted(found, key=key)


def _cause(found: _Found, rule: Rule) -> Cause:
    first = found.failure.line_at(found.match.start)
    last = found.failure.line_at(max(found.match.start, found.match.end - 1))
    lines = [line for line in found.failure.lines if first.number <= line.number <= last.number]
    return Cause(
        rule,
        found.match,
        _weight(found.match.severity, lines),
        tuple(line for line in lines if line.text.strip())[:LINES_SHOWN],
        found.failure,
        times=max(1, found.times),
        is_of_code=found.is_of_code,
    )


def _weight(severity: Severity, lines: list[Line]) -> Severity:
    """Return the severity that is left where the first line says how the program goes on."""
    text = _ASIDE.sub("", lines[0].text) if lines else ""
    if _HANDLED.search(text):
        return Severity.NOTE
    if _REPLACED.search(text) and severity is Severity.ERROR:
        return Severity.WARNING
    return severity


def _under_their_roots(causes: list[Cause]) -> list[Cause]:
    """Return the roots in the order in which they or their consequences stand.

    A warning that an error follows from is as grave as its rule.
    """
    by_id = {cause.rule.id: cause for cause in causes}
    roots = {cause.rule.id: _root(cause, by_id) for cause in causes}
    found: list[Cause] = []
    for root_id in dict.fromkeys(roots.values()):
        root = by_id[root_id]
        mine = [by_id[name] for name, its in roots.items() if its == root_id and name != root_id]
        weight = min([_SEVERITIES.index(each.severity) for each in (root, *mine)])
        weight = max(weight, _SEVERITIES.index(root.rule.severity))
        severity = _SEVERITIES[min(weight, _SEVERITIES.index(root.severity))]
        ids = tuple(sorted(each.rule.id for each in mine))
        found.append(msgspec.structs.replace(root, severity=severity, consequences=ids))
    return found


def _root(cause: Cause, by_id: dict[str, Cause]) -> str:
    """Return the rule at the root of a cause; rules that explain each other: the first by name."""
    chain = [cause.rule.id]
    while True:
        current = by_id[chain[-1]]
        nearest = next(
            (name for name in current.rule.explained_by if _explains(name, current, by_id)), None
        )
        if nearest is None:
            return chain[-1]
        if nearest in chain:
            return min(chain[chain.index(nearest) :])
        chain.append(nearest)


def _explains(name: str, cause: Cause, by_id: dict[str, Cause]) -> bool:
    """Return whether a rule shows and can be the root of a cause; of an error, no note can."""
    other = by_id.get(name)
    if other is None:
        return False
    return other.severity is not Severity.NOTE or cause.severity is Severity.NOTE
