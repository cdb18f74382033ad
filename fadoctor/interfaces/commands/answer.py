"""One answer to any text: recognised by its content, judged by the command that reads its kind.

Nothing of this machine is looked at: the same text has the same answer everywhere, also where there
are neither processes nor threads.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor import __version__
from fadoctor.model.environment import NAME_A_GPU, Environment, Target
from fadoctor.model.errors import InputError
from fadoctor.model.explanation import Explanation
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.model.finding import Severity
from fadoctor.model.overlays import Overlays
from fadoctor.report.results import AnswerResult, CheckResult, ExplainResult, shown_as
from fadoctor.sources.examine.request import Meant, Request
from fadoctor.sources.examine.text_kind import (
    Guess,
    TextKind,
    guesses_of,
    is_issue,
    without_includes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.report import Report
    from fadoctor.model.rule import Knowledge

NAME = "the text"
PLATFORM = "linux_x86_64"
"""What is assumed where a manifest or a configuration is all that is known."""

_INCLUDES = "The text names other files (-r, -c), which are not part of the text and were not read."
_ALONE = "the text alone"
_SAVED, _MACHINE = "facts were read by", "; from this machine only hardware, system and Python."
_ASIDE = ("python.version", "torch.version")


class TextAnswer(NamedTuple):
    """What a text is, and what is said of it; fixes that change packages are not planned yet."""

    kind: TextKind
    document: Report | Explanation
    request: Request | None = None
    planned: Prognosis | None = None
    """What fixes are planned on; None where there is nothing to plan."""
    is_partial: bool = False
    """Whether it is a first answer: not all releases that the text allows are judged."""


def answer(text: str, gpus: tuple[str, ...]) -> AnswerResult:
    """Return what a text is, and its report or explanation."""
    judged = advised(judge(text, gpus))
    document = judged.document
    if isinstance(document, Explanation):
        return AnswerResult(judged.kind, shown_as(ExplainResult, document))
    return AnswerResult(judged.kind, shown_as(CheckResult, document))


def judge(text: str, gpus: tuple[str, ...], limit: int | None = None) -> TextAnswer:
    """Return the answer without a plan: what takes longest can follow.

    `limit`: how many other choices of releases are judged before a first answer; None for all.
    InputError where there is neither a text nor a GPU, UsageError for a GPU that nobody knows.
    """
    from fadoctor.knowledge.matrix.load import load_knowledge

    knowledge = load_knowledge()
    _refuse_unknown(gpus, knowledge)
    text = text.replace("\x00", "").removeprefix("\ufeff")
    if not text.strip():
        if not gpus:
            raise InputError(NAME, "there is no text in it")
        return _checked(TextKind.GPU, _planned(gpus), knowledge, limit)
    if text.lstrip().startswith("{") and '"schema_version"' in text:
        return _checked(TextKind.FACTS, _read(text, gpus), knowledge, limit)
    for request, kind in _as_file(text, gpus):
        try:
            judged = _checked(kind, request, knowledge, limit)
        except InputError:
            continue
        if judged.planned is None or _says_something(judged.planned.environment):
            return judged
    return _as_text(text, gpus, knowledge)


def _refuse_unknown(gpus: tuple[str, ...], knowledge: Knowledge) -> None:
    from fadoctor.sources.targets.gpu_name import find_gpu

    for gpu in gpus:
        if gpu != "none":
            find_gpu(gpu, knowledge.tables)


def advised(judged: TextAnswer) -> TextAnswer:
    """Return the answer with the fixes that hold, and that ``fix`` agrees with."""
    from fadoctor.interfaces.commands.plan import with_advice

    document = judged.document
    if judged.planned is None or judged.request is None or isinstance(document, Explanation):
        return judged
    return judged._replace(document=with_advice(document, judged.request, judged.planned))


def _as_file(text: str, gpus: tuple[str, ...]) -> Iterator[tuple[Request, TextKind]]:
    """Yield the requests for the files that a text may be, what asks for more first."""
    for guess in guesses_of(text):
        held, includes = without_includes(text) if guess.name.endswith(".txt") else (text, False)
        base = _planned(gpus, (_INCLUDES,) if includes else ())
        base = msgspec.structs.replace(base, held={guess.name: held})
        for requirements, configs in _ways(guess):
            kind = TextKind.REQUIREMENTS if requirements else TextKind.CONFIGURATION
            yield msgspec.structs.replace(base, requirements=requirements, configs=configs), kind


def _ways(guess: Guess) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    named = (guess.name,)
    ways: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
        (named if guess.asks_for_packages else (), named if guess.configures else ())
    ]
    if guess.asks_for_packages and guess.configures:
        ways += [(named, ()), ((), named)]
    return ways


def _planned(gpus: tuple[str, ...], notes: tuple[str, ...] = ()) -> Request:
    """Return a request about an environment of which nothing is known but what a file says."""
    unsaid = Unknown(f"the text names no GPU: {NAME_A_GPU}", NAME)
    names = () if gpus else ("gpu.count", "gpu.visible_count")
    facts: dict[str, Fact] = dict.fromkeys(names, unsaid)
    nothing = Environment(__version__, Target("manifest", NAME, _ALONE), facts)
    overlays = Overlays(gpu=gpus, platform=PLATFORM)
    return Request(facts=NAME, given=nothing, overlays=overlays, meant=Meant(notes=notes))


def _read(text: str, gpus: tuple[str, ...]) -> Request:
    """Return a request about the facts of a text."""
    data = text.encode("utf-8", "replace")
    return Request(facts=NAME, text=data, overlays=Overlays(gpu=gpus))


def _checked(
    kind: TextKind, request: Request, knowledge: Knowledge, limit: int | None = None
) -> TextAnswer:
    from fadoctor.interfaces.commands.examine import foreseen, look
    from fadoctor.judging.diagnose import conclude

    _, environment = look(request)
    if request.given is not None:
        environment = _of_the_text(environment)
    shown, planned = foreseen(environment, knowledge, limit=limit)
    if request.given is not None and not request.requirements and request.overlays.gpu:
        shown = _by_tables(shown)
    return TextAnswer(kind, conclude(shown), request, planned, shown.is_partial)


def _of_the_text(environment: Environment) -> Environment:
    """Return an environment without what is said of a machine: none was looked at."""
    target = environment.target
    notes = tuple(
        note.replace(_MACHINE, ".") for note in target.notes if not note.startswith(_SAVED)
    )
    reason = target.reason if environment.ranges or target.label != NAME else _ALONE
    told = msgspec.structs.replace(target, notes=notes, reason=reason)
    return msgspec.structs.replace(environment, target=told)


def _by_tables(prognosis: Prognosis) -> Prognosis:
    """Return what is foreseen with the table for a GPU, where no text names a torch."""
    from fadoctor.interfaces.commands.what_if import answered_by_tables
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.targets.derived import derive

    facts = dict(prognosis.environment.facts)
    for name in ("python.abi_tag", "host.platform"):
        facts.setdefault(name, Unknown("the text does not say", NAME))
    environment = msgspec.structs.replace(prognosis.environment, facts=facts)
    environment = derive(environment, Matrix(prognosis.knowledge.tables))
    return answered_by_tables(msgspec.structs.replace(prognosis, environment=environment))


def _says_something(environment: Environment) -> bool:
    """Return whether a file said anything: a package, a setting, a variable."""
    if environment.ranges or environment.pinned or environment.bounded or environment.elsewhere:
        return True
    names = [name for name, fact in environment.facts.items() if isinstance(fact, Known)]
    return any(
        name.startswith(("config.", "env.")) or (name.endswith(".version") and name not in _ASIDE)
        for name in names
    )


def _as_text(text: str, gpus: tuple[str, ...], knowledge: Knowledge) -> TextAnswer:
    """Return what a log, an issue or a pasted report shows."""
    from fadoctor.interfaces.commands.explain import read_text
    from fadoctor.judging.explain.explain import explain

    stream = io.BytesIO(text.encode("utf-8", "replace"))
    explanation = explain(read_text(stream, NAME, knowledge), knowledge)
    issue = is_issue(text)
    shows = any(each.severity is not Severity.NOTE for each in explanation.findings)
    kind = TextKind.ISSUE if issue else TextKind.ERROR
    if shows and not gpus:
        return TextAnswer(kind, explanation)
    kind = kind if shows else TextKind.ISSUE if issue else TextKind.REPORT
    try:
        return _checked(kind, _read(text, gpus), knowledge)
    except InputError:  # it names no version, no GPU, no driver, and shows nothing
        return TextAnswer(TextKind.ISSUE if issue else TextKind.ERROR, explanation)
