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

NO_GPU, NO_ROOM, OLD = "torch-sees-no-gpu", "gpu-memory-too-small", "release-asked-for"
"""Those of a GPU that is needed, of memory that is not enough, and of a release that is too old."""

RELEASED = "asked-packages"
"""The table of the packages of which libraries ask for a release."""

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
_OF_A_BATCH = compiled(r"(?i)batch|checkpoint|\brank must be\b|learning|token|(?:put|tensor) size")

# GPU is required to run a quantized model, but not: is only supported on CUDA devices, as tensors
# that stayed on the CPU are told, too
_NEEDS_A_GPU = compiled(
    r"\b(?:GPUs?|CUDA) (?:is |are )?(?:required|needed) (?:to|for)\b|\bCUDA is required\b"
    r"|\bonly supports? running on (?:an? )?GPUs?\b"
)
# No enough gpu memory for kv cache | Insufficient memory to allocate KV-caches
_FULL = compiled(
    r"(?i)\b(?:not|no) enough (?:free |available )?(?:gpu |device |video )(?:memory|ram)\b"
    r"|\binsufficient (?:gpu |device )?memory (?:to|for)\b"
)
_RELEASE = r"v?(?P<release>\d{1,4}\.\d{1,3}(?:\.\d{1,4})?)"
_PACKAGE = r"[`'\"]?(?P<name>[A-Za-z][\w.-]{1,30})[`'\"]? "
_TO = r"(?i:to |version |at least |>= ?){1,3}"
_LEAST = r"(?i:at least |>= ?|greater (?:than )?or equal (?:to|than) )"
_UP = r"(?i:(?:or|and) (?:above|higher|newer|later|greater|up))"
_OLDER = (
    # please upgrade torch to at least v1.10 | update your peft to 0.12
    rf"(?i:\bupgrade|\bupdate) (?i:your |the )?{_PACKAGE}{_TO}{_RELEASE}",
    # optimum-quanto package version to be greater or equal than 0.2.5
    rf"{_PACKAGE}(?i:package )?(?i:version )?(?i:to be |must be |should be ){_LEAST}{_RELEASE}",
    # transformers v5.4.0 and above | kernels 0.9 or newer
    rf"{_PACKAGE}(?i:version )?{_RELEASE}[`'\"]? {_UP}",
)
_OLDER_FORMS = tuple(map(compiled, _OLDER))

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
# Another release is asked for of what has a rule of its own: install torch greater or equal to 2
_NEWER = compiled(r"[`'\"*]{0,3} ?(?i:version|>|=|~|<|greater|at least|newer|and |or |v?\d)")
_TEMPLATE = compiled(r"(?i)\bdid you update\b")
_PUNCTUATION = compiled(r"[-_.]{1,3}")


class Refused(NamedTuple):
    """What an exception says, and the line where it begins."""

    text: str
    line: Line


def refused(lines: Sequence[Line], knowledge: Knowledge, matrix: Matrix) -> Cause | None:
    """Return the cause that a refusal of a library tells by its form, the last one first."""
    for refusal in _refusals(lines):
        if (found := _of(refusal, knowledge, matrix)) is not None:
            return found
    return None


def _of(refusal: Refused, knowledge: Knowledge, matrix: Matrix) -> Cause | None:
    rule, message, captures = _read(refusal.text, matrix)
    if not rule or _TEMPLATE.search(refusal.text):
        return None
    severity = Severity.NOTE if captures.get("setting") == UNLISTED else None
    found = rules_by_id(knowledge)[rule]
    return line_cause(found, message, refusal.line, severity=severity, captures=captures)


def _read(text: str, matrix: Matrix) -> tuple[str, str, dict[str, str]]:
    """Return the rule that a sentence is about, what an answer says, and what it captures."""
    said = text if len(text) <= QUOTED else f"{text[:QUOTED].rstrip()} ..."
    if _UNSHARED.search(text) and not _OF_A_BATCH.search(text):
        return SIZES, f'Sizes do not fit the GPUs: "{said}"', {"setting": "sizes"}
    if _FULL.search(text):
        return NO_ROOM, f'The GPU has too little memory: "{said}"', {}
    for name, rule in _missing(text, matrix):
        old = ", or is older than it asks for" if _OF_RELEASES.search(text) else ""
        told = f"This call needs {name}, which is not installed in this Python{old}."
        return rule, told, {"module": name, "name": name}
    for name, release in _too_old(text, matrix):
        told = f"The program asks for {name} {release} or newer, and this Python has an older one."
        return OLD, told, {"module": name, "minimum": release}
    if _NEEDS_A_GPU.search(text):
        return NO_GPU, f'A library finds no GPU: "{said}"', {}
    names = (found["name"] or found["quoted"] for found in _UNLISTED.finditer(text))
    told = f'A library asks for a package, and says how it is installed: "{said}"'
    is_named = any(not _NO_NAME.fullmatch(name) for name in names)
    return (MISSING if is_named else "", told, {"setting": UNLISTED})


def _too_old(text: str, matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield the packages of which a sentence asks for a newer release, with that release."""
    for found in chain.from_iterable(form.finditer(text) for form in _OLDER_FORMS):
        row = matrix.find(RELEASED, {"module": Known(found["name"], "a refusal")})
        if isinstance(row.cell("distribution"), Known):
            yield found["name"], found["release"]


def _missing(text: str, matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield the packages that a sentence calls missing, each with the rule that speaks of it."""
    for found in chain.from_iterable(form.finditer(text) for form in _MISSING_FORMS):
        name = found["name"]
        plain = _PUNCTUATION.sub("-", name).lower()
        row = matrix.find(ASKED, {"module": Known(plain, "a refusal")})
        if isinstance(rule := row.cell("rule"), Known):
            if not _NEWER.match(text, found.end("name")):
                yield plain, str(rule.value)
            continue
        known = matrix.find(OPTIONAL, {"module": Known(name, "a refusal")})
        if isinstance(known.cell("distribution"), Known):
            yield name, MISSING
        elif isinstance(row.cell("distribution"), Known):
            yield plain, MISSING


def _refusals(lines: Sequence[Line]) -> Iterator[Refused]:
    """Yield what the last exceptions of a text say, the last one first."""
    raised = {each.line for each in exceptions(lines)}
    places = [place for place, line in enumerate(lines)
              if line.number in raised or _IN_TITLE.search(line.text)]  # fmt: skip
    for place in islice(reversed(places), LAST):
        whole = _sentence(lines, place, below=lines[place].number in raised)
        yield Refused(whole, lines[place])


def _sentence(lines: Sequence[Line], place: int, *, below: bool) -> str:
    """Return what an exception says, with the lines that go on with it where it is printed."""
    parts = [_HEAD.sub("", lines[place].text, count=1)]
    for line in lines[place + 1 : place + 1 + BEHIND] if below else ():
        if _FRAME.search(line.text) or line.channel != lines[place].channel:
            break
        parts.append(line.text)
    return re.sub(r"\s{1,80}", " ", " ".join(parts))[:SENTENCE].strip()
