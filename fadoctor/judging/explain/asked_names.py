"""Say of a name that one package asks of another in vain which releases have it, and who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.attribute_tables import ARGUMENTS, ATTRIBUTES, AttributeTables
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.name_tables import MODULE, MissingName, NameTables, releases_read
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.explanation import Agreement, Check
from fadoctor.model.fact import Absent, Fact, Known, Value
from fadoctor.model.finding import Outcome
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.targets.missing_names import TOLD, wanted_in
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.judging.explain.causes import Cause
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding

FACTS = ("told", "upgrade", "other", "nearest", "way", "mixed", "instead", "here")
"""The facts that follow, behind ``log.name_``."""

# File "/opt/venv/lib/python3.11/site-packages/peft/peft_model.py", line 37, in <module>
_FRAME = compiled(r"(?:site|dist)-packages[\\/]{1,2}(\w{1,60})[\\/][^\"'\n]{0,200}\", line \d")
_LAZY = compiled(
    r"[^\n]{0,400}[\\/]import_utils\.py\", line \d{1,6}, in (?:__getattr__|_get_module)"
)
"""Frames in which a package looks up a name that others ask for: it does not ask itself."""


_OF_LOG = Absent("a log names it, not the environment")
_NOT_SEEN = (
    "fadoctor followed the imports of what is installed here, and this one does not fail: it has "
    "been repaired since, the log is from another environment, or other code asks for the name."
)
_NOT_FOLLOWED = "fadoctor has not followed the imports of this environment; only the log shows it."


def held(
    cause: Cause, environment: Environment, assessment: Assessment
) -> tuple[Check, Finding | None]:
    """Return whether an environment misses the name that a log misses, and the finding of it."""
    rule, facts = cause.rule.id, environment.facts
    captures = cause.match.captures
    wanted = MissingName(captures.get("module", ""), captures.get("name") or MODULE)
    for each in assessment.judgements:
        contract = each.about.bindings.get("contract", "")
        asked = facts.get(f"{contract}.asked")
        if each.rule.id != rule or not isinstance(asked, Known):
            continue
        if each.outcome is Outcome.FAIL and is_same(wanted, wanted_in(str(asked.value))):
            for finding in assessment.findings:
                if rule in (finding.rule_id, *finding.consequences) and _is_about(finding, each):
                    detail = f"{finding.rule_id}: {finding.message}"
                    return Check(rule, Agreement.CONFIRMED, detail), finding
    followed = isinstance(facts.get("contract.count"), Known)
    return Check(rule, Agreement.OPEN, _NOT_SEEN if followed else _NOT_FOLLOWED), None


def _is_about(finding: Finding, each: Judgement) -> bool:
    return finding.rule_id != each.rule.id or finding.subject == each.subject


def is_same(one: MissingName, other: MissingName) -> bool:
    """Return whether two are the same name of the same package, wherever in it."""
    if MODULE in (one.name, other.name):
        return one == other
    return (one.top, one.name) == (other.top, other.name)


def name_facts(captures: Mapping[str, str], text: str, environment: Environment) -> dict[str, Fact]:
    """Return what the tables say of a name that a log misses, by the names of facts.

    All are Absent where no module of the stack is meant, and only what is known is told. The name
    is none of those that the environment itself misses.
    """
    found: dict[str, Value] = {}
    if owner := captures.get("class", ""):
        argument = captures.get("setting", "")
        table = ARGUMENTS if argument else ATTRIBUTES
        found = _told_of(owner, argument or captures.get("name", ""), environment, table)
    elif module := captures.get("module", ""):
        found = _told(MissingName(module, captures.get("name") or MODULE), text, environment)
    told: dict[str, Fact] = {
        f"log.name_{name}": Known(found[name], "releases that were read")
        if found.get(name)
        else Absent("the tables do not list it")
        for name in FACTS
    }
    return told | {f"contract.{name}": _OF_LOG for name in ("asker", "asked", *TOLD)}


def _told(wanted: MissingName, text: str, environment: Environment) -> dict[str, Value]:
    """Return what is known of one name; who asks is the last package of the traceback."""
    matrix = Matrix(load_apart())
    read = releases_read(matrix)
    askers = [name for name in _FRAME.findall(_LAZY.sub("", text)) if name in read]
    own_frames = bool(askers) and askers[-1] == wanted.top
    outside = [name for name in askers if name != wanted.top]
    asker = "" if own_frames else (outside or [""])[-1]

    found = NameTables(matrix, wanted, asker, _versions(environment)).facts()
    return {"mixed": own_frames, **found} if found else {}


def _told_of(owner: str, name: str, environment: Environment, table: str) -> dict[str, Value]:
    """Return what a table knows of an attribute or argument of a class."""
    matrix = Matrix(load_apart())
    return AttributeTables(matrix, owner, name, _versions(environment), table).facts()


def _versions(environment: Environment) -> Callable[[str], str]:
    """Return what gives the version of a package by its import name, "" where it is not known."""

    def version(module: str) -> str:
        key = module if module in PACKAGES else ""
        found = environment.facts.get(f"{key}.version")
        return str(found.value) if isinstance(found, Known) else ""

    return version
