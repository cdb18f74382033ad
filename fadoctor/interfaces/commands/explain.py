"""From a log that was read to its explanation, with what an environment says of it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.interfaces.commands.examine import FOLLOWING, ignoring_nothing, look
from fadoctor.interfaces.commands.observer import SILENT, Observer
from fadoctor.model.errors import InputError
from fadoctor.model.explanation import Agreement
from fadoctor.model.fact import printable
from fadoctor.model.files import open_stream

_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[\\/][^\n:;\"'()]{0,300}\.(?:log|txt|out|err|json|md)")
"""What can only be meant as the path of a log, although it has a space in it."""

_WORDS = re.compile(
    r"\s|^\w{1,80}(?:Error|Exception)\b|^[A-Za-z]\w{0,80}:(?![\\/])"
    r"|[\u3001-\u3002\uff01\uff0c\uff1a\uff1b\uff1f]|[\u3040-\u30ff\u4e00-\u9fff]{2}(?![^\n]{0,60}\.\w{1,5}$)"
)
"""What a name of a file seldom has: several words, an error's name, a colon after a word.

Chinese and Japanese have no spaces between words.
"""

CONTRACT = "contract"
"""Kind of what rules about names that packages ask of each other are judged for."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.judging.diagnose import Judged, Prognosis
    from fadoctor.judging.explain.explain import Reading
    from fadoctor.model.environment import Environment
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.plan import Plan
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.examine.request import Request
    from fadoctor.sources.logs.reading import Readable


class ExplainRequest(NamedTuple):
    """Which log is explained, and by what."""

    read: Callable[[Knowledge], Reading]
    examine: Request
    """Which environment the log is held against, where it is."""
    is_held: Callable[[Reading], bool]
    """Whether the log is held against an environment."""
    rules: tuple[Path, ...] = ()
    ignored: Callable[[Knowledge], tuple[str, ...]] = ignoring_nothing
    """Returns the rules whose findings are hidden; refuses ids that no rule has."""
    follows: bool = True
    """Whether the imports of packages may be followed, where the log misses a name."""
    repairs: bool = True
    """Whether a repair of the environment is looked for."""


def explain_log(request: ExplainRequest, observer: Observer = SILENT) -> Explanation:
    """Read a log, and the environment that it is held against; look for causes and a repair."""
    from fadoctor.knowledge.matrix.load import load_knowledge

    knowledge = load_knowledge(request.rules)
    ignored, examine, environment = request.ignored(knowledge), request.examine, None
    with observer.doing("reading the log") as say:
        reading = request.read(knowledge)
        if request.is_held(reading):
            say("reading the environment")
            examine = with_imports(examine, reading, knowledge) if request.follows else examine
            with observer.ending():
                _, environment = look(examine, request.rules, (), lambda: say(FOLLOWING))
        say("looking for causes")
        return _explained(
            reading, knowledge, examine, environment, ignored, repairs=request.repairs
        )


def read_text(stream: Readable, name: str, knowledge: Knowledge) -> Reading:
    """Read a log; InputError where there is no text in it."""
    from fadoctor.judging.explain.explain import read_log
    from fadoctor.sources.logs.opening import open_log

    reading = read_log(open_log(stream, name), name, knowledge)
    if reading.is_empty:
        raise InputError(name, "there is no text in it")
    return reading


def is_text(argument: str) -> bool:
    """Return whether an argument is a text itself: words or an error's name, and no file's.

    A name of a file that is missing stays one, also with a space in its folder's name.
    """
    if argument == "-" or not _WORDS.search(argument.strip()):
        return False
    try:
        if os.path.lexists(argument):
            return False
    except ValueError:  # a NUL in it
        return True
    return not _PATH.fullmatch(argument.strip())


def read_file(name: str, knowledge: Knowledge) -> Reading:
    """Read a log of that name."""
    try:
        with open_stream(name, pipes=True) as stream:
            return read_text(stream, name, knowledge)
    except OSError as error:
        hint = "" if os.path.lexists(name) else "; a text is given in quotes, or piped in"
        raise InputError(name, f"{error.strerror or error}{hint}") from error
    except ValueError as error:  # a NUL in the name
        raise InputError(printable(name, 200), "not a path") from error


def lies_in_active(reading: Reading, *others: str) -> bool:
    """Return whether a path of the log lies in the environment that is active, or in another."""
    active = [os.environ.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    return any(reading.mentions(folder) for folder in (*active, *others) if len(folder) > 1)


def with_imports(request: Request, reading: Reading, knowledge: Knowledge) -> Request:
    """Return the request; where the log misses a name, it also follows what packages import."""
    rules = [rule for rule in knowledge.rules if CONTRACT in rule.for_each]
    telling = {name for rule in rules for name in (rule.id, *rule.explained_by)}
    if not any(cause.rule.id in telling for cause in reading.ranked.causes):
        return request
    return msgspec.structs.replace(request, contracts=True)


def _explained(
    reading: Reading,
    knowledge: Knowledge,
    request: Request,
    environment: Environment | None,
    ignored: tuple[str, ...],
    *,
    repairs: bool,
) -> Explanation:
    """Return what a log comes from; with an environment, what it confirms and what repairs it."""
    from fadoctor.judging.explain.explain import explain

    if environment is None:
        return explain(reading, knowledge, None, ignored)
    from fadoctor.judging.diagnose import Judged

    judged = Judged(environment, knowledge)
    report = explain(reading, knowledge, judged, ignored)
    # Completed once, for the report and for the plan; the causes are a fact for the report alone.
    return report if not repairs else _with_plan(report, request, judged, environment, ignored)


def _with_plan(
    report: Explanation,
    request: Request,
    judged: Judged,
    environment: Environment,
    ignored: tuple[str, ...],
) -> Explanation:
    """Return the report with what repairs the environment, where that confirms a cause."""
    from fadoctor.interfaces.commands.plan import PlanRequest, plan_on

    if not any(check.agreement is Agreement.CONFIRMED for check in report.checks):
        return report
    before = judged.foresee()
    plan = plan_on(request, before, environment, PlanRequest(ignore=ignored))
    report = _advised(report, request, before, plan)
    does = any(action.is_step for action in plan.actions)
    return msgspec.structs.replace(report, plan=plan) if does else report


def _advised(report: Explanation, request: Request, before: Prognosis, plan: Plan) -> Explanation:
    """Return the report with the fixes that hold for what the environment confirms."""
    from fadoctor.interfaces.commands.plan import advised_findings

    shown = {
        finding.rule_id: finding.fixes
        for finding in advised_findings(request, before, before.assessment.findings, plan)
    }
    confirmed = {
        check.rule_id: shown.get(check.detail.partition(":")[0])
        for check in report.checks
        if check.agreement is Agreement.CONFIRMED
    }
    findings = tuple(
        msgspec.structs.replace(finding, fixes=confirmed.get(finding.rule_id) or finding.fixes)
        for finding in report.findings
    )
    return msgspec.structs.replace(report, findings=findings)
