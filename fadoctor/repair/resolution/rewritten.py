"""Judge manifests as they would be written: what a plan proves is what their text says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.judging.diagnose import foresee
from fadoctor.knowledge.matrix.whole import whole_matrix
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.finding import Severity
from fadoctor.model.packages import PACKAGES, package_of
from fadoctor.repair.plan.states.compiled import ASSUMED
from fadoctor.repair.resolution.judge import plan_base
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.planned import Requirement
from fadoctor.sources.manifests.read import read_source
from fadoctor.sources.manifests.source import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.model.plan import Change
    from fadoctor.model.rule import Knowledge
    from fadoctor.repair.resolution.lines import Rewrite
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source


class NewTexts(NamedTuple):
    """What becomes of files."""

    rewrites: tuple[Rewrite, ...]
    moved: Mapping[str, str]
    """Distribution -> the version that locks are made to have, "" for none."""
    left: frozenset[str] | None = None
    """The rules whose errors stay, as the plan says; None where hands have to change more."""
    before: frozenset[str] | None = None
    """The `errors_before` of the environment, where they are known."""


class Rewritten(NamedTuple):
    """What manifests come to as they would be written."""

    environment: Environment
    """What comes of the new texts today."""
    worse: tuple[Finding, ...]
    """The errors that the new texts have, and the old ones have not, or the plan says are gone."""
    given: Environment
    """As the new texts describe it."""
    repaired: frozenset[str] = frozenset()
    """The rules with errors that the old texts have, and the new ones have not."""
    left: frozenset[str] = frozenset()
    """The rules with errors that both have."""


def judge_rewritten(
    environment: Environment,
    knowledge: Knowledge,
    names: Iterable[str],
    new: NewTexts,
    opened: Callable[[str], Source] = open_source,
) -> Rewritten:
    """Judge the new texts beside the old ones.

    `environment`: what the old texts make of the machine. A text that no reader takes any more
    raises InputError. `opened` reads a file for what was chosen, within a fence if there is one.
    """
    texts = {rewrite.source.name: rewrite.text for rewrite in new.rewrites}
    manifests = []
    for name in names:
        source = opened(name)
        text = texts.get(source.name, source.text)
        manifest = read_source(msgspec.structs.replace(source, text=text, instead=texts))
        manifests.append(_locked_again(manifest, new.moved) if texts else manifest)
    matrix = whole_matrix(knowledge)
    given = planned_environment(environment, manifests, matrix)
    after = plan_base(given, knowledge)
    before = errors_before(environment, knowledge) if new.before is None else new.before
    meant = before if new.left is None else before & new.left
    found = tuple(_errors(after, knowledge))
    worse = tuple(each for each in found if each.rule_id not in meant)
    now = {each.rule_id for each in found}
    return Rewritten(after, worse, given, before - now, before & now)


def errors_before(environment: Environment, knowledge: Knowledge) -> frozenset[str]:
    """Return the rules that find errors in what texts make of a machine."""
    return frozenset(e.rule_id for e in _errors(plan_base(environment, knowledge), knowledge))


def worse_beside(
    environment: Environment,
    knowledge: Knowledge,
    names: Iterable[str],
    new: NewTexts,
    opened: Callable[[str], Source],
) -> tuple[Finding, ...]:
    """Return the errors that the new texts have for another choice of extras and groups.

    Those that the old ones have for it are none. `opened` reads a file for that choice.
    """
    names = tuple(names)
    manifests = [read_source(opened(name)) for name in names]
    before = planned_environment(environment, manifests, whole_matrix(knowledge))
    new = new._replace(left=None, before=None)
    return judge_rewritten(before, knowledge, names, new, opened).worse


def _locked_again(manifest: Manifest, moved: Mapping[str, str]) -> Manifest:
    """Return a lock as its tool writes it after the change; another file is as it is."""
    if not manifest.is_complete:
        return manifest
    found = (_moved(each, moved) for each in manifest.requirements if moved.get(each.name) != "")
    return msgspec.structs.replace(manifest, requirements=tuple(found))


def _moved(locked: Requirement, moved: Mapping[str, str]) -> Requirement:
    """Return what a lock says of a package: of another release nothing else is known."""
    version = moved.get(locked.name, "")
    if not version:
        return locked
    exact = f"=={version}" if version[0].isdigit() else version
    return Requirement(locked.name, locked.place, exact, marker=locked.marker)


def with_what_comes(before: Environment, after: Environment) -> Environment:
    """Return an environment with the releases that only the new texts decide.

    A plan for the old texts, of which nobody knew which ones come, has to do with them, too.
    """
    decided = {
        package
        for package in PACKAGES
        if _is_undecided(before.fact(f"{package}.version"))
        and isinstance(after.fact(f"{package}.version"), Known)
    }
    facts = {name: each for name, each in after.facts.items() if name.partition(".")[0] in decided}
    return msgspec.structs.replace(before, facts=before.facts | facts) if facts else before


def _is_undecided(version: Fact) -> bool:
    """Return whether a release may come all the same: what no file names is taken for absent."""
    return isinstance(version, Unknown) or version.source == ASSUMED


def written_changes(changes: Iterable[Change], found: Rewritten) -> Iterator[Change]:
    """Yield what changes once the new texts are installed.

    What no line of theirs names comes in the release that a resolver takes, or not at all.
    """
    for each in changes:
        package = package_of(each.distribution, each.distribution)
        names = (f"{package}.version", f"packages.installed.{each.distribution}")
        if not each.after or any(found.given.places.get(name) for name in names):
            yield each
            continue
        comes = found.environment.fact(names[0])
        version = str(comes.value) if isinstance(comes, Known) else ""
        if version and version != each.before:
            yield msgspec.structs.replace(each, after=version)


def _errors(environment: Environment, knowledge: Knowledge) -> Iterable[Finding]:
    """Yield the errors, but for those of what no file names: it may come all the same."""
    found = foresee(environment, knowledge).assessment.findings
    return (
        each
        for each in found
        if each.severity is Severity.ERROR and all(e.source != ASSUMED for e in each.evidence)
    )
