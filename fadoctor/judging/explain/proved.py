"""What a text's own facts prove where a complaint stands beside them, without any wording.

Facts alone are no cause: a line must complain, and be about what a finding is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.explain.line_cause import line_cause
from fadoctor.judging.explain.solved_errors import is_over
from fadoctor.judging.explain.useless_fixes import refusal_of
from fadoctor.model.fact import Known
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.packages import WORDS
from fadoctor.model.rule import rules_by_id
from fadoctor.model.verdict import Backend
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fadoctor.judging.explain.join import Surroundings
    from fadoctor.judging.explain.ranking import Cause
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge, Rule
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.messages import Raised

LINES_LIMIT = 400
"""Most lines in which a complaint is looked for: a report that a person has written is short."""

SHORT = 12
"""Most lines of a text that is about one thing: what complains need not name the GPU."""

# It fails, crashes, does not run; False; in the words of several languages.
_COMPLAINT = compiled(
    r"(?i)\b(?:errors?|fail(?:s|ed|ing)?|failures?|exception|crash(?:es|ed|ing)?|broken|abort(?:s|ed)?"
    r"|segfaults?|segmentation fault|unable|cannot|can.?not|can.?t"
    r"|not (?:be )?(?:run(?:nable|able|ning|ing)?|work(?:ing)?|load(?:ed)?|available|supported"
    r"|compatible|usable|recogni[sz]ed|found)"
    r"|(?:does|do|did|is|are|was|wo)(?:n.?t| not) (?:be )?(?:run|work|load|start|support|compile)"
    r"\w{0,4}|unsupported|incompatible|available\W{1,4}(?:is )?false"
    r"|(?:cuda|gpu)\W{1,4}false|device\W{1,4}cpu"
    r"|nothing works|takes forever|(?:so|very|too|extremely) slow|on the cpu"
    r"|uses? (?:only )?(?:the |my )?cpu"
    r"|(?:stays?|is|sits) (?:idle|unused|(?:at )?(?:0 ?%|zero))"
    # Italian, Spanish, Portuguese, French, German
    r"|non (?:funziona|parte|va)|si (?:blocca|chiude)|errore|no funciona|falla"
    r"|se (?:cierra|bloquea)"
    r"|n(?:a|\u00e3)o funciona|trava|erro|ne (?:fonctionne|marche|d\u00e9marre)|plante|erreur"
    r"|(?:funktioniert|geht|startet|l(?:\u00e4|ae)uft) nicht|st(?:\u00fc|ue)rzt"
    r"|fehler|abst(?:\u00fc|ue)rz\w{1,3}"
    # Polish, Turkish, Vietnamese
    r"|nie dzia(?:\u0142|l)a|b\u0142\u0105d|\u00e7al\u0131\u015fm\u0131yor|hata|l\u1ed7i)\b"
    r"|\u62a5\u9519|\u5931\u8d25|\u65e0\u6cd5|\u4e0d\u652f\u6301|\u4e0d\u80fd|\u51fa\u9519"
    r"|\u5d29\u6e83|\u95ea\u9000|\u7528\u4e0d\u4e86|\u8dd1\u4e0d\u4e86|\u5361\u6b7b"
    r"|\u30a8\u30e9\u30fc|\u5931\u6557|\u52d5\u304b\u306a|\u52d5\u304d\u307e\u305b"
    r"|\u52d5\u4f5c\u3057\u306a|\u843d\u3061|\u4f7f\u3048\u306a|\u4f7f\u3048\u307e\u305b"
    r"|\uc624\ub958|\uc2e4\ud328|\uc5d0\ub7ec|\uc548 ?(?:\ub3fc|\ub429|\ub418)"
    r"|\uaebc(?:\uc9c0|\uc9d1|\uc838)"
    # Russian
    r"|\u043d\u0435 (?:\u0440\u0430\u0431\u043e\u0442\u0430|\u0437\u0430\u043f\u0443\u0441\u043a)"
    r"|\u043e\u0448\u0438\u0431\u043a|\u043f\u0430\u0434\u0430\u0435\u0442|\u0432\u044b\u043b\u0435\u0442\u0430"
)

# It crashes at every image. | Il programma si blocca.
_RUN = compiled(
    r"(?i)^\W{0,3}(?:it|nothing|everything)\b|\b(?:program|script|app|ui|train|generat|render|infer"
    r"|image|imagen|immagin|bild|model|start|run)\w{0,8}\b|\u7a0b\u5e8f|\u8fd0\u884c"
    r"|\u542f\u52a8|\u751f\u6210|\u8bad\u7ec3|\u6a21\u578b|\u5b9f\u884c|\u8d77\u52d5|\uc2e4\ud589"
    r"|\u043f\u0440\u043e\u0433\u0440\u0430\u043c\u043c|\u043c\u043e\u0434\u0435\u043b"
    r"|\u0437\u0430\u043f\u0443\u0441\u043a"
)

_TOPICS = {
    "gpu": r"cuda|gpus?|cards?|nvidia|rtx|gtx|tesla|\u663e\u5361",
    "driver": r"drivers?|cuda|nvidia[- ]smi|\u9a71\u52a8",
    "toolkit": r"nvcc|cuda|toolkit|compil\w{1,6}",
    **WORDS,
}
"""The part of a fact's name before the first dot, and the words that are about it."""

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
_OURS = compiled(r"(?i)cuda|torch|flash|attn|attention|xformers|triton|nvcc|gpu|dtype|device")


def complaining(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return the lines of a short text that complain of something."""
    if len(lines) > LINES_LIMIT:
        return ()
    found = (line for line in lines if _COMPLAINT.search(line.text))
    return tuple(line for line in found if not is_over(line.text))


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
    loud = complaining(lines)
    if not loud or around.own is None or _is_of_ggml(lines):
        return
    rules = rules_by_id(knowledge)
    shown = set()
    for finding in around.own.findings:
        line = _line_about(finding, loud, len(lines))
        if line is not None and (finding.severity is Severity.ERROR or _is_mismatch(finding)):
            shown.add(finding.rule_id)
            rule = rules[finding.rule_id]
            yield line_cause(rule, finding.message, line, consequences=finding.consequences)
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


def _is_mismatch(finding: Finding) -> bool:
    """Return whether a warning says for certain that two packages do not go together."""
    heads = {each.fact.partition(".")[0] for each in finding.evidence} & WORDS.keys()
    is_sure = finding.confidence is Confidence.HIGH and finding.severity is Severity.WARNING
    return is_sure and len(heads) > 1 and bool(heads - _GROUND)


def _is_of_ggml(lines: tuple[Line, ...]) -> bool:
    """Return whether a text is about llama.cpp and its kin alone: their attention is another."""
    if not any(_GGML.search(line.text) for line in lines):
        return False
    return not any(_STACK.search(line.text) for line in lines)


def _line_about(finding: Finding, loud: Sequence[Line], count: int) -> Line | None:
    """Return the line that complains of what a finding is about, in a text of so many lines."""
    heads = {re.split(r"[.\[]", each.fact, maxsplit=1)[0] for each in finding.evidence}
    named = heads & _TOPICS.keys()
    words = [_TOPICS[head] for head in sorted(named - _GROUND or named)]
    if not words:
        return None
    pattern = compiled(rf"(?i)(?<![A-Za-z])(?:{'|'.join(words)})(?![A-Za-z])")
    found = next((line for line in loud if pattern.search(line.text)), None)
    # My card is this one, and torch that one. Every start ends in a crash.
    is_sure = finding.severity is Severity.ERROR and finding.confidence is Confidence.HIGH
    is_short = count <= SHORT and is_sure and {"gpu", "torch"} <= named <= _GROUND
    return found or next((line for line in loud if is_short and _RUN.search(line.text)), None)


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
