"""What a library's own refusal is about, by the form of its sentence and the names in it.

Libraries refuse in sentences of few forms: a package is not installed, a size cannot be shared
among so many GPUs. The packages that they ask for are a table, which their sources fill; the
forms are read here. No wording of a rule holds such a sentence, so this is asked last.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity
from fadoctor.model.rule import rules_by_id
from fadoctor.sources.logs.messages import exceptions
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line

ASKED, OPTIONAL = "install-names", "optional-packages"
"""Tables of the packages that libraries ask for: as their messages spell them."""

MISSING, SIZES = "optional-package-missing", "parallel-size-unfit"
"""The rules of packages that are not there, and of sizes that GPUs cannot share."""

UNLISTED = "unlisted"
"""What is captured of a package that the tables do not list: its name is not printed."""

LAST = 4
"""Exceptions, from the last one on, that are read: the ones before led to it."""

BEHIND = 3
"""Lines below an exception that may go on with its sentence."""

SENTENCE = 600
"""Characters of a refusal that are read."""

QUOTED = 160
"""Characters of it that an answer quotes."""

# [Bug]: ValueError: num_heads (14) must be divisible by tp_size (4)
_IN_TITLE = compiled(
    r"(?:^|[\s#*:`'\"(\]])(?:[A-Z]\w{0,60})?(?:Error|Exception)[`*]{0,2}: {0,3}[^\n]{12,400}"
)
_FRAME = compiled(r"^\s{0,40}(?:File \"|Traceback|at \S|\^{2,}|\[?rank|#\d)|^\s*$")
_HEAD = compiled(r"^[^\n]{0,200}?\b(?:[A-Z]\w{0,60})?(?:Error|Exception)[`*]{0,2}: {0,3}")

# tensor parallel size | tp_size | world size | number of GPUs | num_processes | parallel ranks
_SIZE = (
    r"(?:(?:(?:tensor|pipeline|model|data|expert|context|sequence|attention|decode)[ _-]?){1,2}"
    r"(?:model[ _-]?)?parallel(?:ism)?(?:[ _-]?(?:world[ _-]?)?(?:size|degree|ranks?))?"
    r"|\b(?:attn_|moe_|mlp_|dcp_|vllm_)?(?:tp|pp|ep|sp|cp|dp)[_ -]?(?:world[_ ]?)?size\b|\btp\b"
    r"|\bworld[_ ]?size\b|\bn_?(?:um)?_?gpus?(?:_per_node)?\b|\bgpus_per_node\b"
    r"|\bnum(?:ber of|_) ?(?:gpus|devices|processes|shards|ranks)\b|\bparallel ranks?\b)"
)
_RELATION = (
    r"(?:(?:divisible|dividable) by|evenly divid\w{1,4}|\bmust (?:evenly )?divide\b"
    r"|(?:must|should) be (?:a )?(?:multiple|divisor) of"
    r"|cannot be (?:evenly )?(?:split|divided|sharded|shared)|\bevenly\b"
    r"|(?:larger|greater|less|smaller|more) than|\bexceeds?\b|(?:does not|doesn't) match"
    r"|(?:must|should|has to) (?:be )?(?:equal|match)|not equal|!=|must cover)"
)
_UNSHARED = compiled(rf"(?i){_RELATION}[^\n]{{0,90}}?{_SIZE}|{_SIZE}[^\n]{{0,90}}?{_RELATION}")
# Sizes of a batch and of what is saved are no sizes of GPUs.
_OF_A_BATCH = compiled(r"(?i)batch|checkpoint|\brank must be\b|learning|token")

_NAME = r"[`'\"*]{0,3}(?P<name>[A-Za-z][\w.-]{1,40}?)(?:\[[\w,-]{1,60}\])?[`'\"*]{0,3}"
_ENDS = r"(?=[\s`'\"*<>=~!,;:()]|\.(?:\s|$)|$)"
_PART = r"(?i:package|library|module|dependency|python package)"
_IS_NOT = r"(?i:is|are|was|isn't|not)(?i: not)?(?i: currently| yet)?"
_FORMS = (
    # pip install hqq | pip install -U "auto-round>=0.5"
    rf"\bpip3? install (?:--?[\w-]{{1,30}}(?:[ =]https?://\S{{1,200}})? ){{0,3}}{_NAME}{_ENDS}",
    # needs timm to be installed | requires the `quark` library
    rf"(?i:\brequires?|\bneeds?) (?i:the )?{_NAME} (?:{_PART}|(?i:to be installed|installed))\b",
    # Please install timm | You need to install `HQQ`
    rf"(?i:please|need to|must|should|first|try to) (?i:re)?install (?i:the )?{_NAME}{_ENDS}",
    # kt_kernel is not installed | the `foo` package was not found in your environment
    rf"(?<![\w.]){_NAME} (?:{_PART} )?{_IS_NOT} (?i:installed|found in your environment)\b",
    rf"(?i:without|missing) (?i:the )?{_PART} {_NAME}{_ENDS}",
    # Using aqlm quantization requires `aqlm`
    r"(?i:\brequires?|\bneeds?) [`'\"](?P<name>[A-Za-z][\w.-]{1,40}?)[`'\"](?! ?\w)",
)
_MISSING_FORMS = tuple(map(compiled, _FORMS))
# pip install x | pip install git+https://... | install `x`, in quotes that mark a name
_UNLISTED = compiled(
    r"\bpip3? install (?:--?[\w-]{1,30} ){0,3}[`'\"]?(?P<name>git\+https|[A-Za-z][\w.-]{1,40})"
    r"|(?i:\b(?:please|must|need to) install) [`'\"](?P<quoted>[A-Za-z][\w.-]{1,40})[`'\"]"
)
_OF_RELEASES = compiled(r"(?i)\b(?:upgrade|update|newer|older|incompatible|compatible|version)\b")
_NO_NAME = compiled(
    r"(?i)pip|the|git|from|it|this|again|failed|requirements(?:\.txt)?|dist|torch\w*"
)
_PUNCTUATION = compiled(r"[-_.]{1,3}")


class Refusal(NamedTuple):
    """What an exception says, and the line where it begins."""

    text: str
    line: Line


def refused(lines: Sequence[Line], knowledge: Knowledge, matrix: Matrix) -> Cause | None:
    """Return the cause that a refusal of a library tells by its form, the last one first."""
    for refusal in _refusals(lines):
        if (found := _of(refusal, knowledge, matrix)) is not None:
            return found
    return None


def _of(refusal: Refusal, knowledge: Knowledge, matrix: Matrix) -> Cause | None:
    rules = rules_by_id(knowledge)
    text = refusal.text
    said = text if len(text) <= QUOTED else f"{text[:QUOTED].rstrip()} ..."
    if _UNSHARED.search(text) and not _OF_A_BATCH.search(text):
        return line_cause(
            rules[SIZES],
            f'Sizes do not fit the GPUs: "{said}"',
            refusal.line,
            captures={"setting": "sizes"},
        )
    named = next(_missing(text, matrix), None)
    if named is not None:
        name, rule = named
        old = ", or is older than it asks for" if _OF_RELEASES.search(text) else ""
        return line_cause(
            rules[rule],
            f"This call needs {name}, which is not installed in this Python{old}.",
            refusal.line,
            captures={"module": name, "name": name},
        )
    if not any(
        not _NO_NAME.fullmatch(found["name"] or found["quoted"])
        for found in _UNLISTED.finditer(text)
    ):
        return None
    return line_cause(
        rules[MISSING],
        f'A library asks for a package, and says how it is installed: "{said}"',
        refusal.line,
        severity=Severity.WARNING,
        captures={"setting": UNLISTED},
    )


def _missing(text: str, matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield the packages that a sentence calls missing, each with the rule that speaks of it."""
    for found in chain.from_iterable(form.finditer(text) for form in _MISSING_FORMS):
        name = found["name"]
        plain = _PUNCTUATION.sub("-", name).lower()
        row = matrix.find(ASKED, {"module": Known(plain, "a refusal")})
        if isinstance(rule := row.cell("rule"), Known):
            yield plain, str(rule.value)
            continue
        known = matrix.find(OPTIONAL, {"module": Known(name, "a refusal")})
        if isinstance(known.cell("distribution"), Known):
            yield name, MISSING
        elif isinstance(row.cell("distribution"), Known):
            yield plain, MISSING


def _refusals(lines: Sequence[Line]) -> Iterator[Refusal]:
    """Yield what the last exceptions of a text say, the last one first."""
    raised = {each.line for each in exceptions(lines)}
    places = [place for place, line in enumerate(lines)
              if line.number in raised or _IN_TITLE.search(line.text)]  # fmt: skip
    for place in islice(reversed(places), LAST):
        yield Refusal(_sentence(lines, place), lines[place])


def _sentence(lines: Sequence[Line], place: int) -> str:
    """Return what an exception says, with the lines below that go on with it."""
    parts = [_HEAD.sub("", lines[place].text, count=1)]
    for line in lines[place + 1 : place + 1 + BEHIND]:
        if _FRAME.search(line.text) or line.channel != lines[place].channel:
            break
        parts.append(line.text)
    return re.sub(r"\s{1,80}", " ", " ".join(parts))[:SENTENCE].strip()
