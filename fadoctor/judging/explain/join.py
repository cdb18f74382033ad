"""Hold the causes that a log shows against the facts of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.judge import Assessment, judge
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.explain.named_packages import (
    importer_of,
    owner_of,
    package_of,
    packages_in,
    told_package,
)
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.catalogue import CAUSES
from fadoctor.model.environment import Environment
from fadoctor.model.explanation import Agreement, Check
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping
from fadoctor.model.fact_words import all_in_words
from fadoctor.model.finding import Finding, Outcome, Severity
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.targets.accepted_releases import compiled_release, release_instead
from fadoctor.sources.targets.tegra import driver_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.judging.diagnose import Judged
    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.weigh import Weighed
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.facts import LogFacts


class Surroundings(msgspec.Struct, frozen=True):
    """Facts that a log is held against, and what the rules say about them."""

    environment: Environment
    matrix: Matrix
    assessment: Assessment | None
    """What rules say of a named environment; None without one."""
    own: Assessment | None = None
    """What they say of the log's own facts; None with an environment, or where there is none."""
    contradicted: tuple[str, ...] = ()
    """Facts that the log names otherwise than the environment; the log's count."""
    packages: frozenset[str] = frozenset()
    """Packages whose version the log names, by the prefix of their facts."""
    built: Fact = Absent("no log")
    """The package whose build the log shows."""
    label: Fact = Absent("no log")
    """The one label of a build of torch that the log names."""
    places: dict[str, Fact] = {}
    """The toolkit, library, Python and image that the log shows, as facts."""

    @property
    def judged(self) -> Assessment | None:
        """What rules say, of whatever is judged."""
        return self.assessment or self.own


def surroundings(
    facts: LogFacts,
    judged: Judged | None,
    knowledge: Knowledge,
    *,
    shown: tuple[str, ...] = (),
    is_weighed: bool = True,
) -> Surroundings:
    """Return the facts around a log: those of an environment, overruled by the log's own.

    `shown`: the rules whose wordings the log shows, which is a fact, too. Rules judge the log's own
    facts only where there is something that they weigh.
    """
    causes: dict[str, Fact] = {CAUSES: Known(shown, "the log")}
    named = {name: fact for name, fact in facts.named.items() if name.endswith(".version")}
    packages = frozenset(name.partition(".")[0] for name in named) & PACKAGES.keys()
    if judged is None:
        own, matrix = None, Matrix(knowledge.tables)
        alone = _with(facts.environment, causes)
        if facts.named and is_weighed:
            own = judge(alone, knowledge, matrix)
        return Surroundings(alone, matrix, None, own, packages=packages)
    environment, matrix = judged.environment, judged.matrix
    contradicted = tuple(
        name for name, fact in sorted(named.items()) if _contradicts(fact, environment.fact(name))
    )
    if not contradicted and not shown:
        return Surroundings(environment, matrix, judged.assessment, packages=packages)
    # A log often shortens what an environment spells out: only what differs replaces.
    overruling = {name: named[name] for name in contradicted}
    replaced = {**environment.facts, **overruling}
    # A Jetson's log names its driver too: it is compared with no other.
    replaced |= driver_facts(replaced, matrix) if "driver.version" in overruling else {}
    environment = _with(environment, replaced | causes)
    overruled = judge(environment, knowledge, matrix)
    return Surroundings(environment, matrix, overruled, None, contradicted, packages)


def with_own(around: Surroundings, facts: LogFacts, knowledge: Knowledge) -> Surroundings:
    """Return surroundings in which the log's own facts are judged, as what a person tells is."""
    if around.own is not None or not facts.named:
        return around
    own = judge(around.environment, knowledge, around.matrix)
    return msgspec.structs.replace(around, own=own)


def _with(environment: Environment, facts: Mapping[str, Fact]) -> Environment:
    return msgspec.structs.replace(environment, facts={**environment.facts, **facts})


def _contradicts(named: Fact, read: Fact) -> bool:
    if not isinstance(named, Known) or not isinstance(read, Known):
        return isinstance(named, Known)
    mine, theirs = str(named.value), str(read.value)
    return not (theirs == mine or theirs.startswith((f"{mine}+", f"{mine}.")))


ASKED_IN_VAIN = "imported-name-missing"
"""The rule of which tables say more: a name that another package does not have."""

LACKED = "class-attribute-missing"
"""The rule of which tables say more: an attribute that an object does not have."""

NOT_TAKEN = frozenset({"trainer-argument-unknown", "vllm-argument-unknown"})
"""The rules of which tables say more: an argument that a class does not take."""

RENAMED = "hf-import-renamed"
"""The rule of which tables say more: a name about attention that transformers does not have."""

UNFIT = "pair-unfit"
"""Says that a package needs a newer torch, by the names that it asks for."""

_NAMED = ("module", "setting", "name", "class", "ptx", "release", "range", "minimum", "package")
"""The groups of a pattern that are facts of the log."""

FOREIGN = "requirer[0]"
"""Prefix of the facts of a package that only a log names, by one of its compiled files."""

_EXCLUDED = "The versions and hardware in the log contradict it."
_REFUTED = (
    "This environment does not have this problem: it has been repaired since, or the "
    "log is from another environment."
)
_NO_TRACE = "Only the log shows this; fadoctor cannot check it in this environment."
_CONFIGURED = "The environment alone cannot show this: it depends on how the run is configured."
_OTHER_WAYS = (
    "The facts of this environment neither show nor contradict it: other states and commands "
    "lead to the same error."
)
_NOT_THERE = (
    "The package that failed in the log is not installed here. Is the log from another environment?"
)


def held_against(each: Weighed, around: Surroundings) -> tuple[Check | None, Finding | None]:
    """Return what the facts say about a cause, and the finding that says it; none without facts."""
    if around.assessment is not None:
        return _held_against(each.cause, around, around.assessment)
    rule, found = each.cause.rule, each.finding
    if found is not None:
        return Check(rule.id, each.agreement, f"{found.rule_id}: {found.message}"), found
    if each.agreement is Agreement.REFUTED:
        return Check(rule.id, each.agreement, _EXCLUDED), None
    return None, None


def _held_against(
    cause: Cause, around: Surroundings, assessment: Assessment
) -> tuple[Check, Finding | None]:
    rule = cause.rule
    if rule.id == ASKED_IN_VAIN:
        from fadoctor.judging.explain.asked_names import held  # noqa: PLC0415 -- as below

        return held(cause, around.environment, assessment)
    for finding in assessment.findings:
        names = {finding.rule_id, *finding.consequences}
        same = rule.id in names
        if same or names & set(cause.consequences) or _leads_to(finding, cause, around):
            detail = f"{finding.rule_id}: {finding.message}"
            return Check(rule.id, Agreement.CONFIRMED, detail), finding
    mine = [each for each in assessment.judgements if each.rule.id == rule.id]
    if not (mine and all(each.outcome is Outcome.PASS for each in mine) and rule.refutes):
        return Check(rule.id, Agreement.OPEN, _why_open(mine)), None
    if around.contradicted:
        names_ = " and ".join(around.contradicted)
        detail = (
            f"This environment has another {names_} than the log, so it can neither "
            "confirm nor refute this."
        )
        return Check(rule.id, Agreement.OPEN, detail), None
    return Check(rule.id, Agreement.REFUTED, _REFUTED), None


def _why_open(mine: list[Judgement]) -> str:
    """Return why facts say nothing of a cause."""
    if not mine:
        return _NO_TRACE
    if all(each.outcome is Outcome.NOT_APPLICABLE for each in mine):
        read = {name: fact for each in mine for name, fact in each.scope.read.items()}
        if any(_is_missing(name, fact) for name, fact in read.items()):
            return _NOT_THERE
        return _CONFIGURED if any(name.startswith("config.") for name in read) else _NO_TRACE
    if all(each.outcome is Outcome.PASS for each in mine):
        return _OTHER_WAYS
    unknown = [name for each in mine for name in each.scope.unknown_facts()]
    if unknown:
        return f"Not confirmed: {all_in_words(unknown)} could not be read here."
    reasons = [each.reason for each in mine if each.reason]
    return f"Not confirmed: {reasons[0] if reasons else 'a fact that it depends on is unknown'}."


def _is_missing(name: str, fact: Fact) -> bool:
    """Return whether a package that a rule asks for is known to be missing."""
    return name.endswith(".version") and isinstance(fact, Absent)


def _leads_to(finding: Finding, cause: Cause, around: Surroundings) -> bool:
    """Return whether rules tie a finding of the environment to the cause, either way."""
    if finding.rule_id in cause.rule.explained_by:
        return True
    assessment = around.assessment
    judgements = assessment.judgements if assessment is not None else ()
    return any(
        each.rule.id == finding.rule_id and cause.rule.id in each.rule.explained_by
        for each in judgements
    )


def beside(
    causes: Iterable[Cause], around: Surroundings, ignored: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the errors that an environment has and a log does not show: they come next."""
    shown = {name for cause in causes for name in (cause.rule.id, *cause.consequences)}
    findings = around.assessment.findings if around.assessment is not None else ()
    return tuple(
        finding.rule_id
        for finding in findings
        if finding.severity is Severity.ERROR
        and finding.rule_id not in ignored
        and not shown & {finding.rule_id, *finding.consequences}
    )


def scope_of(cause: Cause, around: Surroundings) -> Scope:
    """Return what the fixes of a cause see: what is named, the extension, the GPU that fails."""
    scope = _scope_of(cause, around)
    packages = tuple(sorted(around.packages | packages_in(cause.failure.text)))
    here: dict[str, Fact] = {"log.packages": Known(packages, "the log"), "log.built": around.built}
    here |= {"log.label": around.label, **around.places}
    here |= _named(cause, scope.environment)
    shown = scope.environment.facts.get(CAUSES)
    before = shown.value if isinstance(shown, Known) and isinstance(shown.value, tuple) else ()
    ids = dict.fromkeys((*map(str, before), cause.rule.id, *cause.consequences))
    here[CAUSES] = Known(tuple(ids), "the log")  # what facts or a person tell, too
    facts = {**scope.environment.facts, **here}
    environment = msgspec.structs.replace(scope.environment, facts=facts)
    return Scope(environment, scope.matrix, cause.rule, scope.bindings)


def _named(cause: Cause, environment: Environment) -> dict[str, Fact]:
    """Return what the log names and fixes hang on: the parts of the match of these names."""
    captures = cause.match.captures
    found = {name: captures.get(name) for name in _NAMED}
    named: dict[str, Fact] = {
        f"log.{name}": Known(value, "the log") if value else Absent(f"the log names no {name}")
        for name, value in found.items()
    }
    if cause.rule.id not in {ASKED_IN_VAIN, LACKED, RENAMED, UNFIT, *NOT_TAKEN}:
        return named
    # Late: its tables are large, and few logs miss a name.
    from fadoctor.judging.explain.asked_names import name_facts  # noqa: PLC0415

    return named | name_facts(captures, cause.failure.text, environment)


def _scope_of(cause: Cause, around: Surroundings) -> Scope:
    captures = cause.match.captures
    key = captures.get("requirer") or package_of(" ".join(captures.values()))
    kinds = cause.rule.for_each
    is_of_one = bool({"package", "requirer", "extension"} & set(kinds))
    file = captures.get("file", "")
    owner = None if key or not is_of_one else owner_of(file, around.matrix)
    if is_of_one and not key and not any(captures.values()):
        key = told_package(cause.lines)
    if "extension" in kinds and not key and not file:
        key, owner = importer_of(cause.failure.text[: cause.match.start], around.matrix)
    if owner is not None:
        return _bound(around, cause, {"package": FOREIGN}, _of_foreign(owner, around))
    judged = next(_judged_scopes(cause, around, key, is_of_one=is_of_one), None)
    facts = around.environment.facts
    said: dict[str, Fact] = {}
    if key and is_of_one and not _is_told(facts.get(f"{key}.distribution")):
        said = {f"{key}.distribution": Known(PACKAGES[key][0], "the file that the log names")}
    if judged is not None:
        return _bound(around, cause, dict(judged.bindings), said) if said else judged
    bindings: dict[str, str] = {k: f"{k}[0]" for k in ("gpu", "toolkit") if k in kinds}
    if key and is_of_one:
        bindings |= {"package": key, "extension": f"{key}.binary"}
    return _bound(around, cause, bindings, said)


def _of_foreign(owner: Known, around: Surroundings) -> dict[str, Fact]:
    """Return what is known of a package without facts of its own, and nothing of another one."""
    name, facts = str(owner.value), around.environment.facts
    source = "the list of packages"
    found: dict[str, Fact] = {
        n: Unknown("it is not known", n) for n in facts if n.startswith(f"{FOREIGN}.")
    }
    there = {
        **fact_mapping(facts.get("packages.named")),
        **fact_mapping(facts.get("packages.installed")),
    }
    if version := there.get(name):
        found[f"{FOREIGN}.version"] = Known(version, source)
    release = compiled_release(name, facts, around.matrix)
    instead = release_instead(name, facts, around.matrix)
    said = {"fits_build": release, "fits_instead": instead}
    none = Absent("the tables list none")
    found |= {f"{FOREIGN}.{n}": Known(v, "the tables") if v else none for n, v in said.items()}
    return {**found, f"{FOREIGN}.distribution": owner}


def _is_told(fact: Fact | None) -> bool:
    return isinstance(fact, (Known, Absent))


def _bound(
    around: Surroundings, cause: Cause, bindings: Mapping[str, str], said: Mapping[str, Fact]
) -> Scope:
    facts = {**around.environment.facts, **said}
    environment = msgspec.structs.replace(around.environment, facts=facts)
    return Scope(environment, around.matrix, cause.rule, dict(bindings))


def _judged_scopes(
    cause: Cause, around: Surroundings, key: str, *, is_of_one: bool
) -> Iterator[Scope]:
    """Yield the scopes in which a rule was judged: where it fails first; of a package, its own."""
    if cause.rule.id == ASKED_IN_VAIN:
        return  # a log's name is not one of those that an environment lacks
    otherwise = "" if is_of_one else key
    mine = [
        each
        for each in (around.judged.judgements if around.judged is not None else ())
        if each.rule.id == cause.rule.id and each.about.bindings.get("package", otherwise) == key
    ]
    failing = [each for each in mine if each.outcome is Outcome.FAIL]
    yield from (each.scope for each in failing or mine)
