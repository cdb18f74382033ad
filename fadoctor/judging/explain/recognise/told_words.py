"""What a person tells in words of their own: ideas of several languages, and what they mean.

It is asked last, of short texts in which nothing else is found.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from fadoctor.judging.explain.named_packages import packages_at_work
from fadoctor.judging.explain.recognise.contexts import names_one
from fadoctor.judging.explain.recognise.contrasts import worse_line
from fadoctor.judging.explain.recognise.ideas import BETWEEN, ideas_of, plain
from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.judging.explain.recognise.program_reach import gpus_told, reach_of
from fadoctor.judging.explain.recognise.told_rows import (
    COMPLAINT,
    FAILURE,
    GPU_FAILURE,
    ToldRow,
    told_rows,
)
from fadoctor.judging.explain.vetoes.meant_otherwise import is_meant_otherwise
from fadoctor.judging.explain.vetoes.solved_errors import is_over, words_anew
from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity
from fadoctor.model.rule import kept_with, rules_by_id
from fadoctor.sources.logs.messages import exceptions
from fadoctor.sources.pasted.package_lists import is_head
from fadoctor.syntax.patterns import compiled
from fadoctor.syntax.simplified import simplified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.recognise.ideas import Ideas
    from fadoctor.model.fact import Fact
    from fadoctor.model.rule import Knowledge, Rule
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.facts import LogFacts

_CHANGE = "change-form"
PLAINLY_WISHED = "plainly-wished"
"""The idea of a wish or a question of need: what such a text names is no failure."""

_QUIET = (_CHANGE, "reports-no-trouble")

_LINUX = "linux-told|wsl-word|docker"
"""Ideas of which one is told where a program runs on Linux."""

HEARSAY = "hearsay-told"
"""The idea of what others say: it counts where a person tells of nothing seen."""

BEFOREHAND, SEEN = "asked-beforehand", "seen-oneself"
"""Ideas of a question or a wish before anything ran, and of what a person did and saw."""

WISHED = "asked-of-makers|wish-form"
"""The idea of what those who make a program are asked to add."""

SUCCESS = "success-told|went-well-told"
OTHERWISE = "otherwise-told|of-another-subject-told"
"""Ideas of what would happen if a step were left out, and of trouble with other things."""

CONDITION = "condition-of-a-question|words-of-a-form-told"
"""Ideas of words that are not read: what a question supposes, and a form's own for no answer."""

LINES_LIMIT = 120
"""Most lines of a text that a person tells."""

SENTENCE_LIMIT = 400
"""Characters of a sentence that are read."""

# It ends here. And goes on there! 到此为止。
_END = compiled(r"(?:[.!?;](?=\s|$)|[\u3002\uff01\uff1f\uff1b](?![\uff01\uff1f]))\s{0,4}")
# Programs whose CUDA and attention are others, and words of the Python stack.
_OTHERS = compiled(
    r"(?i)llama[._-]cpp|ggml|gguf|kobold(?!ai)|ollama|tensorflow|\bjax\b|alphafold|onnx ?runtime"
    r"|\btf(?:\.__version__| ?[12]\.\d|[- ]gpu)"
    r"|paddle|whisper\.cpp|openmm|gromacs|blender|faiss|\bcupy\b|mxnet|lm studio|(?<![\w-])-fa\b"
)
# What a program prints: INFO 10-10 10:22:13 selector.py:217] | [2026-01-01 | File "/x.py", line 3
# DEPRECATION: Building 'x' using ... (possibly combined with `--no-build-isolation`)
_PRINTED = compiled(
    r"\b(?:INFO|WARN|WARNING|DEBUG)\b|^\W{0,3}\d{2,4}[-/:]\d{1,2}[-/:T ]|^\s{0,8}File \""
    r"|^\(\w{2,30} pid=|^[^\n]{0,180}[\\/](?:site|dist)-packages[\\/]"
    r"|\w(?:User|Future|Runtime)Warning: "
    r"|\b(?:Xformers|Flash Attn|Sage Attn) is (?:not )?installed!"
    r"|\bDEPRECATION: |^\W{0,3}\[notice\] |^\W{0,3}note: This error originates|^\W{0,3}hint: See "
    r"|Error getting cuda arch: |A matching Triton is not available|Error caught was: "
)
# - [ ] macOS: an answer of a form that is not chosen
_UNTICKED = compiled(r"\s{0,8}[-*] \[ ?\] ")
# I successfully built and ran it on this GPU.
_SUCCEEDED = compiled(
    r"(?i)\b(?:I|we)(?: have|.ve| was able to| managed to)?(?: (?:both|now|finally))? "
    r"successfully (?:build|built|compiled?|installed?|ran|run)\b"
    r"(?![^.\n]{0,200}\b(?:but|however|yet)\b)"
)
_UNSETTLED = compiled(
    r"(?i)\?|\b\w{1,60}(?:Error|Exception)\b|\bhowever\b|(?:^|[.!] )but\b"
    r"|\b(?:do|does|did|can|could)(?: not|n.t)\b|\bcannot\b|\b(?:error|crash\w{0,3}|fails)\b"
)
_MISSING = {"present": False}
_OURS = compiled(r"(?i)torch|transformers|xformers|vllm|sglang|diffusers|comfy|unsloth")


class _Text:
    """A text as sentences in small letters, and which ideas stand in them.

    Chinese counts as simplified, in texts and in patterns: people write either script.

    An ASCII pattern that knows no upper case knows it of Cyrillic and of accents nevertheless.
    """

    def __init__(
        self,
        lines: tuple[Line, ...],
        knowledge: Knowledge,
        reported: frozenset[int],
        without: str = OTHERWISE,
    ) -> None:
        kept = tuple(line for line in lines if not _UNTICKED.match(line.text))
        self._lines, self._reported, self._without = kept, reported, without
        self._ideas = ideas_of(knowledge)
        whole = "\n".join(line.text[: 4 * SENTENCE_LIMIT] for line in kept)
        # If it is not supported yet, is there another way? Nothing fails there.
        self._supposed = self._ideas.small(CONDITION)
        self.whole = self._supposed.sub(" ", plain(whole))
        self._held: dict[str, bool] = {}
        self._sentences: dict[bool, tuple[tuple[Line, str], ...]] = {}
        self._places: dict[tuple[str, bool], frozenset[int]] = {}

    def holds(self, idea: str) -> bool:
        """Return whether an idea stands anywhere."""
        if idea not in self._held:
            self._held[idea] = self._ideas.stands(idea, self.whole)
        return self._held[idea]

    def _may_hold(self, idea: str) -> bool:
        """Return whether an idea may stand anywhere, by the words that it needs."""
        if idea not in self._held and not self._ideas.may_stand(idea, self.whole):
            self._held[idea] = False
        return self._held.get(idea, True)

    def sentence_with(self, ideas: tuple[str, ...], *, others: bool) -> Line | None:
        """Return the line whose sentence holds all of some ideas; `others` as in `_sentences`."""
        # What is known to be missing saves compiling the others.
        if not all(map(self._may_hold, ideas)) or not all(map(self.holds, ideas)):
            return None
        if BETWEEN in ideas[0]:
            return worse_line(self._lines, ideas[0], self._ideas.small)
        common = frozenset.intersection(
            *(self._sentences_with(each, others=others) for each in ideas)
        )
        return self._sentences[others][min(common)][0] if common else None

    def named_in(self, line: Line, ideas: tuple[str, ...]) -> dict[str, str]:
        """Return what the named groups of ideas hold in a line, in the case of the line."""
        text = simplified(line.text.lower())
        said = line.text if len(text) == len(line.text) else text
        found = [match for idea in ideas if (match := self._ideas.small(idea).search(text))]
        return {
            name: said[slice(*match.span(name))]
            for match in found
            for name, held in match.groupdict().items()
            if held
        }

    def _sentences_with(self, idea: str, *, others: bool) -> frozenset[int]:
        stands = self._ideas.stands
        if others not in self._sentences:
            found = _sentences(self._lines, self._reported, others=others)
            read = ((line, self._supposed.sub(" ", plain(text))) for line, text in found)
            self._sentences[others] = tuple(e for e in read if not stands(self._without, e[1]))
        if (idea, others) not in self._places:
            numbered = enumerate(self._sentences[others])
            places = (at for at, (_, text) in numbered if stands(idea, text))
            self._places[idea, others] = frozenset(places)
        return self._places[idea, others]


def told_cause(
    lines: tuple[Line, ...],
    facts: LogFacts,
    knowledge: Knowledge,
    *,
    beside_notes: bool = False,
    beside_guesses: bool = False,
) -> Cause | None:
    """Return the cause that a person tells of; None where no row of the table is told.

    Beside notes only a failure counts that a program and a GPU out of its reach explain, and beside
    findings of low confidence only two situations that a person sets against each other.
    """
    if len(lines) > LINES_LIMIT or not any(_is_told(line, facts) for line in lines):
        return None
    text = _Text(lines, knowledge, facts.reported)
    if words_anew(lines) or any(map(text.holds, _QUIET)) or _is_success(lines, text):
        return None
    is_of_others = _is_of_others(lines)
    at_work = frozenset(name for line in lines for name in packages_at_work(line.text))
    rules = rules_by_id(knowledge)
    capabilities = _capabilities(facts.environment.facts)
    for read, row in product(
        _readings(text, lines, facts, knowledge), kept_with(knowledge, "told rows", told_rows)
    ):
        if row.rule not in rules or not _fits(row, capabilities):
            continue
        is_beside = beside_notes or beside_guesses
        is_left_out = (row.apart and is_beside) or (beside_notes and not row.reach)
        if is_left_out or (is_of_others and not row.others):
            continue
        if beside_guesses and not any(BETWEEN in each for each in row.says):
            continue
        if _is_there(rules[row.rule], facts.environment.facts, at_work):
            continue
        line = _line_told(row, read, lines, facts, knowledge)
        if line is None or (not is_beside and is_meant_otherwise(rules[row.rule], lines)):
            continue
        is_question = _is_question(row, text)
        if not (is_question and (beside_notes or row.apart)):
            own = Severity(row.weighs) if row.weighs else None  # else its rule says it
            severity = Severity.NOTE if is_question else own
            named = text.named_in(line, row.says)
            return line_cause(rules[row.rule], row.message, line, severity=severity, captures=named)
    return None


def _is_question(row: ToldRow, text: _Text) -> bool:
    """Return whether a row is asked or wished for, and no failure is told."""
    fails = text.holds(GPU_FAILURE if row.reach else FAILURE)
    return row.asks and (not fails or text.holds(WISHED))


def _is_told(line: Line, facts: LogFacts) -> bool:
    """Return whether a line may be told: no row, and no head, of what a tool lists."""
    return line.number not in facts.reported and bool(line.text.strip()) and not is_head(line.text)


def _readings(
    text: _Text, lines: tuple[Line, ...], facts: LogFacts, knowledge: Knowledge
) -> list[_Text]:
    """Return a text without what others say, and as it is: what was seen oneself counts first."""
    if not text.holds(HEARSAY):
        return [text]
    return [_Text(lines, knowledge, facts.reported, f"{OTHERWISE}|{HEARSAY}"), text]


def without_hearsay(
    shown: tuple[Cause, ...],
    lines: tuple[Line, ...],
    facts: Callable[[], LogFacts],
    knowledge: Knowledge,
) -> tuple[Cause, ...]:
    """Return causes; in place of what others say, and nothing raised, what the person saw."""
    if not shown or len(lines) > LINES_LIMIT or any(exceptions(lines)):
        return shown
    ideas = ideas_of(knowledge)
    if not all(_is_hearsay(line, ideas) for cause in shown for line in cause.lines):
        return shown
    told = told_cause(lines, facts(), knowledge)
    is_seen = told is not None and not any(_is_hearsay(line, ideas) for line in told.lines)
    return (told,) if told is not None and is_seen else shown


def _is_hearsay(line: Line, ideas: Ideas) -> bool:
    return ideas.stands(HEARSAY, plain(line.text))


def _line_told(
    row: ToldRow, text: _Text, lines: tuple[Line, ...], facts: LogFacts, knowledge: Knowledge
) -> Line | None:
    """Return the line in which a row is told; None where it is not."""
    line = text.sentence_with(row.says, others=row.others)
    if line is None or not all(map(text.holds, row.beside)) or any(map(text.holds, row.unless)):
        return None
    if row.apart and not names_one(text.whole, row.apart, lines, facts, knowledge):
        return None
    is_far = not row.reach or _is_out_of_reach(row, lines, facts, text, knowledge)
    return line if is_far else None


@lru_cache(maxsize=4 * LINES_LIMIT)
def is_printed(text: str) -> bool:
    """Return whether a program prints a line, so that no person tells it."""
    return _PRINTED.search(text) is not None


def reports_nothing(lines: tuple[Line, ...], knowledge: Knowledge) -> tuple[bool, bool]:
    """Return whether a text asks, wishes or describes a change, and tells of no failure.

    The first answer is about what it quotes, the second about what it tells: who asks may have read
    or done something, so that a row of the table may be told where no trouble is.
    """
    if not lines or len(lines) > LINES_LIMIT or any(exceptions(lines)):
        return False, False
    text = _Text(lines, knowledge, frozenset())
    asks = text.holds(BEFOREHAND)
    is_plain = text.holds(_CHANGE) or text.holds(PLAINLY_WISHED)
    if is_plain or (asks and not text.holds(SEEN)):
        return True, True
    wishes = text.holds(WISHED)
    if not (asks or wishes) or text.holds(COMPLAINT):
        return False, False
    return True, wishes


def _is_success(lines: tuple[Line, ...], text: _Text) -> bool:
    """Return whether a person reports a success, and asks or complains of nothing beside it."""
    is_told = text.holds(SUCCESS) and not text.holds(FAILURE)
    if not is_told and not any(_SUCCEEDED.search(line.text) for line in lines):
        return False
    return not _is_unsettled(lines)


def _is_unsettled(lines: tuple[Line, ...]) -> bool:
    """Return whether a person asks or complains of something, or an exception is named."""
    return any(_UNSETTLED.search(line.text) for line in lines)


def _is_of_others(lines: tuple[Line, ...]) -> bool:
    """Return whether a text is about a program with a CUDA or an attention of its own alone."""
    return _is_foreign("\n".join(line.text for line in lines))


def _is_foreign(text: str) -> bool:
    return _OTHERS.search(text) is not None and _OURS.search(text) is None


def _sentences(
    lines: tuple[Line, ...], reported: frozenset[int], *, others: bool
) -> Iterator[tuple[Line, str]]:
    """Yield sentences, each with its line; two short ones that follow each other also as one.

    Those about programs with a CUDA of their own are left out, unless `others` are asked for.
    """
    for line in lines:
        if line.number in reported or is_printed(line.text):
            continue
        before = ""
        for part in _END.split(line.text[: 4 * SENTENCE_LIMIT]):
            sentence = part.strip()[:SENTENCE_LIMIT]
            if not sentence or is_over(sentence) or (not others and _OTHERS.search(sentence)):
                before = ""
                continue
            yield line, sentence
            if before and len(before) + len(sentence) < SENTENCE_LIMIT // 2:
                yield line, f"{before}. {sentence}"
            before = sentence


def _capabilities(facts: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return the compute capabilities of the GPUs that a text names."""
    return tuple(
        str(fact.value)
        for name, fact in facts.items()
        if name.endswith(".compute_capability") and isinstance(fact, Known)
    )


def _fits(row: ToldRow, named: tuple[str, ...]) -> bool:
    """Return whether no GPU that the text names contradicts a row."""
    if row.least and any(is_older(each, row.least) for each in named):
        return False
    return not row.below or all(is_older(each, row.below) for each in named)


def _is_out_of_reach(
    row: ToldRow, lines: tuple[Line, ...], facts: LogFacts, text: _Text, knowledge: Knowledge
) -> bool:
    """Return whether the builds of a row's program run on no GPU that the text names."""
    reach, named = reach_of(row.reach, knowledge), facts.environment.facts
    if reach is None:
        return False
    gpus = gpus_told(lines, named, knowledge)
    return reach.excludes(gpus, _system(named, text), some=row.partly)


def _system(facts: Mapping[str, Fact], text: _Text) -> str:
    """Return the system that a text names; empty where it names none."""
    system = facts.get("host.os")
    if isinstance(system, Known) and system.value != "linux":
        return str(system.value)
    return "linux" if text.holds(_LINUX) else ""


def _is_there(rule: Rule, facts: Mapping[str, Fact], at_work: frozenset[str]) -> bool:
    """Return whether a rule is about a package that is missing, and the text shows it at work."""
    key = rule.subject.replace("-", "_")
    is_missing = (rule.when or {}).get(f"{key}.version") == _MISSING
    return is_missing and (key in at_work or isinstance(facts.get(f"{key}.version"), Known))
