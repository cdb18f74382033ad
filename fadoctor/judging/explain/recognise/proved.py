"""What a text's own facts prove where a complaint stands beside them, without any wording.

Facts alone are no cause: a line must complain, and be about what a finding is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.explain.fixes.useless_fixes import refusal_of
from fadoctor.judging.explain.recognise.ideas import told_idea
from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.judging.explain.vetoes.solved_errors import is_over
from fadoctor.model.fact import Known
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.packages import WORDS
from fadoctor.model.rule import rules_by_id
from fadoctor.model.verdict import Backend
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.join import Surroundings
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge, Rule
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.messages import Raised

LINES_LIMIT = 400
"""Most lines in which a complaint is looked for: a report that a person has written is short."""

SHORT = 12
"""Most lines of a text that is about one thing: what complains need not name the GPU."""

COMPLAINT, HEADING, RUN = "complained-of", "trouble-heading", "program-that-runs"
"""Ideas of told-words: it fails, crashes, does not run; what asks for it; and what runs."""

NO_MEMORY = "oom-told"
"""The idea that memory ran out: a complaint about what is set, and about nothing else."""

ROCM = "rocm"
"""The area of rules about AMD's GPUs."""

_TOPICS = {"toolkit": r"nvcc|cuda|toolkit|compil\w{1,6}", **WORDS}
"""The part of a fact's name before the first dot, and the words that are about it."""

_IDEAS = {"gpu": "about-a-gpu", "driver": "about-a-driver"}
"""The same, by ideas of told-words."""

_TOLD = frozenset({"config", "env"})
"""What a person sets: a line that says so is a part of the trouble."""

_GROUND = frozenset({"gpu", "torch", "driver", "toolkit"})
"""What is in most findings: where another package is, too, the complaint must be about that."""

# flash-attn does not work on my V100. | Flash Attention 2 fails
_FLASH = compiled(r"(?i)\bflash[-_ ]?att(?:n|ention)\b(?![-_ ]?[34])|\bFA-?2\b")
_GGML = compiled(
    r"(?i)llama[._-]cpp|flash_attn_(?:tile|vec|mma|wmma)?_?ext_f|ggml|gguf|kobold|ollama|(?<!\w)-fa\b"
)
_STACK = compiled(r"(?i)torch|transformers|xformers|vllm|sglang|diffusers|comfy|unsloth")
# Command 'python fix_torch.py' returned 1. | C:\\torch\\x.dll
_PATH = compiled(r"\S{0,200}[\\/]\S{0,200}|\b[\w-]{1,60}\.(?:py|sh|bat|txt)\b")
# ### Version | **Logs**
_NEXT_HEADING = compiled(r"\s{0,3}(?:#{1,6} |\*\*[^*\n]{1,60}\*\*:?\s{0,4}$)")
_OURS = compiled(r"(?i)cuda|torch|flash|attn|attention|xformers|triton|nvcc|gpu|dtype|device")


def complaining(lines: tuple[Line, ...], knowledge: Knowledge) -> tuple[Line, ...]:
    """Return the lines of a short text that complain of something.

    What a form's heading asks for trouble is answered by one.
    """
    if len(lines) > LINES_LIMIT:
        return ()
    complaint, heading = (told_idea(name, knowledge) for name in (COMPLAINT, HEADING))
    found, asked = [], False
    for line in lines:
        if heading.search(line.text.lower()):
            asked = True
            continue
        asked = asked and not _NEXT_HEADING.match(line.text)
        if (asked or complaint.search(line.text)) and not is_over(line.text):
            found.append(line)
    return tuple(found)


def proved(
    lines: tuple[Line, ...],
    around: Surroundings,
    knowledge: Knowledge,
    unexplained: Raised | None,
) -> Iterator[Cause]:
    """Yield the errors that a text's facts show where its lines complain of just that.

    `unexplained`: the exception in which it ends; where that is about something else, none.
    """
    if unexplained is not None and not is_ours(unexplained):
        return
    if around.own is None or len(lines) > LINES_LIMIT or is_of_ggml(lines):
        return
    loud = complaining(lines, knowledge)
    rules = rules_by_id(knowledge)
    shown = set()
    for finding in around.own.findings:
        is_set = _is_unfit_setting(finding)
        is_sure = finding.severity is Severity.ERROR or _is_mismatch(finding)
        if not (is_set or is_sure or _explains_error(finding, rules)):
            continue
        about = (*loud, *_out_of_memory(lines, knowledge)) if is_set else loud
        line = _line_about(finding, about, len(lines), knowledge) if about else None
        if line is not None:
            shown.add(finding.rule_id)
            rule = rules[finding.rule_id]
            yield line_cause(
                rule,
                finding.message,
                line,
                severity=finding.severity,
                consequences=finding.consequences,
            )
    refused = _refused(loud, lines, around, knowledge)
    if refused is not None and refused[0].id not in shown:
        yield line_cause(*refused)


def is_ours(raised: Raised) -> bool:
    """Return whether an exception speaks of torch, attention or the GPU, not only a path in it.

    An assertion without a message speaks of nothing else.
    """
    if raised.name == "AssertionError" and raised.text.strip(" :") in ("", raised.name):
        return True
    return _OURS.search(_PATH.sub("", raised.text)) is not None


def heads_of(finding: Finding) -> set[str]:
    """Return the parts before the first dot of the facts that a finding rests on: torch, gpu."""
    return {re.split(r"[.\[]", each.fact, maxsplit=1)[0] for each in finding.evidence}


def _is_mismatch(finding: Finding) -> bool:
    """Return whether a warning says for certain that two packages do not go together."""
    heads = {each.fact.partition(".")[0] for each in finding.evidence} & WORDS.keys()
    is_sure = finding.confidence is Confidence.HIGH and finding.severity is Severity.WARNING
    return is_sure and len(heads) > 1 and bool(heads - _GROUND)


def _explains_error(finding: Finding, rules: Mapping[str, Rule]) -> bool:
    """Return whether a warning says for certain why something has no code that runs at all."""
    if finding.confidence is not Confidence.HIGH or finding.severity is not Severity.WARNING:
        return False
    follows = (rules[each] for each in finding.consequences if each in rules)
    return any(rule.severity is Severity.ERROR and rule.area == ROCM for rule in follows)


def _out_of_memory(lines: Iterable[Line], knowledge: Knowledge) -> list[Line]:
    idea = told_idea(NO_MEMORY, knowledge)
    return [line for line in lines if idea.search(line.text.lower()) and not is_over(line.text)]


def _is_unfit_setting(finding: Finding) -> bool:
    """Return whether a warning says for certain that what is set does not fit a GPU."""
    heads = heads_of(finding)
    is_sure = finding.confidence is Confidence.HIGH and finding.severity is Severity.WARNING
    return is_sure and "gpu" in heads and bool(heads & _TOLD)


def is_of_ggml(lines: tuple[Line, ...]) -> bool:
    """Return whether a text is about llama.cpp and its kin alone: their attention is another."""
    if not any(_GGML.search(line.text) for line in lines):
        return False
    return not any(_STACK.search(line.text) for line in lines)


def _line_about(
    finding: Finding, loud: Sequence[Line], count: int, knowledge: Knowledge
) -> Line | None:
    """Return the line that complains of what a finding is about, in a text of so many lines."""
    heads = heads_of(finding)
    named = heads & (_TOPICS.keys() | _IDEAS.keys())
    about = [_about(head, knowledge) for head in sorted(named - _GROUND or named)]
    if not about:
        return None
    found = next((line for line in loud if any(each.search(line.text) for each in about)), None)
    run = told_idea(RUN, knowledge)
    # My card is this one, and torch that one. Every start ends in a crash.
    is_sure = finding.severity is Severity.ERROR and finding.confidence is Confidence.HIGH
    is_short = count <= SHORT and is_sure and {"gpu", "torch"} <= named <= _GROUND
    return found or next((line for line in loud if is_short and run.search(line.text)), None)


def _about(head: str, knowledge: Knowledge) -> re.Pattern[str]:
    """Return what a line names that is about the facts of one kind."""
    if head in _IDEAS:
        return told_idea(_IDEAS[head], knowledge)
    return compiled(rf"(?i)(?<![A-Za-z])(?:{_TOPICS[head]})(?![A-Za-z])")


def _refused(
    loud: Iterable[Line], lines: Iterable[Line], around: Surroundings, knowledge: Knowledge
) -> tuple[Rule, str, Line] | None:
    """Return the rule by which flash-attn, of which a line complains, runs on no such GPU."""
    line = next((line for line in loud if _FLASH.search(line.text)), None)
    if line is None or any(_GGML.search(each.text) for each in lines):
        return None
    facts: Mapping[str, object] = around.environment.facts
    scope = Scope(around.environment, around.matrix, knowledge.rules[0], {})
    rule = refusal_of(Backend.FA2, scope, knowledge.rules)
    name, cc = facts.get("gpu[0].name"), facts.get("gpu[0].compute_capability")
    if rule is None or not isinstance(cc, Known):
        return None
    who = str(name.value) if isinstance(name, Known) else "This GPU"
    return (
        rule,
        f"{who} has compute capability {cc.value}, on which no FlashAttention-2 runs.",
        line,
    )
