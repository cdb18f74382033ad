"""Rules with the cases that stand in their files: the shipped ones, and own ones on top."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.engine.cases import Cases, read_case
from fadoctor.knowledge.matrix.load import SOURCE, compiled_in_use, load_knowledge
from fadoctor.model.errors import FadoctorError, RuleDataError
from fadoctor.model.fact import printable
from fadoctor.model.finding import Outcome
from fadoctor.model.rule import Knowledge, Rule
from fadoctor.model.typed import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from fadoctor.knowledge.matrix.compile import Compiled

CASES_LIMIT = 1_000
"""Most cases of one rule that are run."""

LINE_LIMIT = 2_000
"""Longest line about a rule's file."""

PROBLEMS_LIMIT = 50
"""Most problems of a folder that are said."""

_NOT_FOUND = {Outcome.PASS, Outcome.NOT_APPLICABLE}


class RulesDoNotCompileError(FadoctorError):
    """Rules cannot be used: the reasons, one a line."""

    exit_code = RuleDataError.exit_code

    def __init__(self, problems: Iterable[RuleDataError]) -> None:
        """Take all problems; their texts come from outside and are made harmless."""
        every = list(problems)
        lines = [printable(str(problem), LINE_LIMIT) for problem in every[:PROBLEMS_LIMIT]]
        if more := len(every) - len(lines):
            lines.append(f"and {more} more problems")
        super().__init__("\nfadoctor: ".join(lines))


class RuleFile(msgspec.Struct, frozen=True):
    """A rule, where it stands, and its cases as written there."""

    rule: Rule
    path: str
    """``rules/<area>/<id>.yaml``, or a file below a folder of own rules."""
    cases: Any


class Suite(msgspec.Struct, frozen=True):
    """Everything that is known, and the cases that show it."""

    knowledge: Knowledge
    shipped: dict[str, RuleFile]
    """Rule id -> rule, sorted by id."""
    own: dict[str, RuleFile]
    """The same for the folders of own rules."""

    def rules(self) -> dict[str, RuleFile]:
        """Return all of them, sorted by id."""
        return dict(sorted({**self.shipped, **self.own}.items()))


class CaseFailure(msgspec.Struct, frozen=True):
    """A case that comes out otherwise than it says, or that a rule lacks."""

    rule_id: str
    path: str
    case: str
    """Its name; empty where the rule as a whole lacks a case."""
    problem: str


class Tested(msgspec.Struct, frozen=True):
    """What came of running cases."""

    rules: int
    cases: int
    failures: tuple[CaseFailure, ...]
    changed: tuple[CaseFailure, ...] = ()
    """Shipped cases that come out otherwise with own rows on top. They are no failures: a case
    about hardware that nobody knows changes as soon as somebody's rows know it."""
    schema_version: int = 1


def own_folders(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders without a checkout's shipped rules, which every suite holds already."""
    shipped = SOURCE.resolve()
    return tuple(folder for folder in folders if folder.resolve() != shipped)


def load_suite(folders: Iterable[Path] = ()) -> Suite:
    """Return the shipped rules with folders on top of each other.

    Raises RulesDoNotCompileError with every problem of the first folder that has some.
    """
    knowledge = _shipped_knowledge()
    cases = _shipped_cases(compiled_in_use(), SOURCE)
    shipped = {
        rule.id: RuleFile(rule, f"rules/{rule.file}", cases.get(rule.id, []))
        for rule in knowledge.rules
    }
    own: dict[str, RuleFile] = {}
    for folder in folders:
        before = {rule.id for rule in knowledge.rules}
        compiled = _compile(folder, knowledge)
        knowledge = compiled.knowledge
        own |= {
            rule.id: RuleFile(rule, str(folder / rule.file), compiled.cases.get(rule.id, []))
            for rule in knowledge.rules
            if rule.id not in before
        }
    return Suite(knowledge, shipped, own)


def _compile(folder: Path, base: Knowledge | None) -> Compiled:
    # Late: compiling loads the YAML parser, which the compiled rules do not need.
    from fadoctor.knowledge.matrix.compile import compile_rules  # noqa: PLC0415

    try:
        compiled = compile_rules(folder, base)
    except RuleDataError as error:
        raise RulesDoNotCompileError((error,)) from error
    if compiled.problems:
        raise RulesDoNotCompileError(compiled.problems)
    return compiled


def _shipped_knowledge() -> Knowledge:
    """Return the shipped knowledge; where a checkout's rules do not compile, say every reason."""
    try:
        return load_knowledge()
    except RuleDataError:
        return _compile(SOURCE, None).knowledge


def _shipped_cases(compiled: Path, source: Path) -> dict[str, Any]:
    """Return the compiled cases; of a checkout that cannot be written to, its files' cases."""
    with suppress(OSError, msgspec.DecodeError):
        return decode((compiled / "cases.json").read_bytes(), dict[str, Any])
    if not (source / "knowledge.yaml").is_file():
        raise FadoctorError("this installation has no compiled cases: install fadoctor again")
    return dict(_compile(source, None).cases)


def run_suite(suite: Suite, *, own: bool) -> Tested:
    """Run the cases of the shipped rules; or of the own ones, and see what those change."""
    if not own:
        return _run_all(suite.shipped, suite.knowledge)
    changed = _run_all(suite.shipped, suite.knowledge).failures
    return msgspec.structs.replace(_run_all(suite.own, suite.knowledge), changed=changed)


def _run_all(files: dict[str, RuleFile], knowledge: Knowledge) -> Tested:
    cases = Cases(knowledge)
    failures = [failure for each in files.values() for failure in _run(each, cases)]
    return Tested(len(files), sum(len(cases_of(each)) for each in files.values()), tuple(failures))


def _run(file: RuleFile, cases: Cases) -> Iterator[CaseFailure]:
    if not isinstance(file.cases, list):
        yield CaseFailure(file.rule.id, file.path, "", "cases must be a list")
        return
    for index, raw in enumerate(cases_of(file)):
        problem = _problem(file.rule, raw, cases)
        if problem:
            yield CaseFailure(file.rule.id, file.path, _name(raw, index), problem)
    for problem in missing_cases(file):
        yield CaseFailure(file.rule.id, file.path, "", problem)


def cases_of(file: RuleFile) -> list[Any]:
    """Return the cases of a rule as they were written, up to the limit."""
    return file.cases[:CASES_LIMIT] if isinstance(file.cases, list) else []


def _name(raw: Any, index: int) -> str:
    name = raw.get("name") if isinstance(raw, dict) else None
    return str(name) if name else f"number {index + 1}"


def _problem(rule: Rule, raw: Any, cases: Cases) -> str:
    if not rule.when and not is_log(raw):
        return "a rule without `when` is tested with a log"
    try:
        return cases.run(rule, read_case(raw))
    except msgspec.ValidationError as error:
        return f"not a case: {error}"


def missing_cases(file: RuleFile) -> Iterator[str]:
    """Yield what the cases of a rule do not show: each outcome of `when`, and a near miss."""
    logs = [raw for raw in cases_of(file) if is_log(raw)]
    facts = [raw for raw in cases_of(file) if not is_log(raw)]
    wanted: list[tuple[str, list[Any], set[Outcome]]] = []
    if file.rule.when:
        wanted += [("a case that fails", facts, {Outcome.FAIL}),
                   ("a case that passes", facts, _NOT_FOUND),
                   ("a case that stays unknown", facts, {Outcome.UNKNOWN})]  # fmt: skip
    if file.rule.symptoms:
        wanted += [("a log that matches", logs, {Outcome.FAIL}),
                   ("a log that nearly matches", logs, _NOT_FOUND)]  # fmt: skip
    for what, cases, outcomes in wanted:
        if not any(outcome_of(raw) in outcomes for raw in cases):
            yield f"{what} is missing"


def outcome_of(raw: Any) -> Outcome | None:
    """Return the outcome that a case expects; None where it does not say."""
    expect = raw.get("expect") if isinstance(raw, dict) else None
    try:
        return Outcome(expect.get("outcome")) if isinstance(expect, dict) else None
    except ValueError:
        return None


def is_log(raw: Any) -> bool:
    """Return whether a case is about a log, and not about an environment."""
    return isinstance(raw, dict) and "log" in raw
