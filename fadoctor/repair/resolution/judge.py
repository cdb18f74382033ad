"""Findings of a plan: those that always hold, those of today, and those elsewhere in its ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.diagnose import Prognosis, foresee
from fadoctor.judging.engine.judge import order_of
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.environment import UNCHECKED
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.finding import Severity
from fadoctor.model.packages import PACKAGES
from fadoctor.model.verdict import Predicted
from fadoctor.repair.plan.states.compiled import ASSUMED
from fadoctor.repair.resolution.labelled import labelled, settled
from fadoctor.repair.resolution.left_open import BOUND_BY_FACTS
from fadoctor.repair.resolution.prebuilt import FETCHED
from fadoctor.repair.resolution.resolver_worlds import Trial, come_today, name_of, try_out
from fadoctor.repair.resolution.sources_alone import compiled_here
from fadoctor.repair.resolution.wording import PlanWording
from fadoctor.sources.manifests.installed.range_ends import has_end
from fadoctor.sources.manifests.installed.too_new import TOO_NEW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding, Undecided
    from fadoctor.model.rule import Knowledge
    from fadoctor.model.verdict import Verdict
    from fadoctor.repair.resolution.resolver_worlds import ResolverWorld

_FETCHED = "An installer fetches that wheel, unless it is told to compile."
"""Said of what follows from the file that setup.py of flash-attn asks for."""

_SO_FAR = f"{UNCHECKED.capitalize()}."
"""Said of all that a first answer says: it is about today's releases alone."""

_SHOWN = 5
"""Versions that a message lists."""


class Preflight(msgspec.Struct, frozen=True):
    """What is said of a plan, and on what its fixes are planned."""

    shown: Prognosis
    """With the facts as they are: what files alone could show is Unknown."""
    planned: Prognosis
    """What a resolver takes today, as its labels say."""


def foresee_planned(
    environment: Environment,
    knowledge: Knowledge,
    ignore: tuple[str, ...] = (),
    limit: int | None = None,
) -> Preflight:
    """Judge an environment that manifests describe.

    Where the ranges of the files admit more than `limit` other choices, today's alone is judged.
    What is shown then is partial: no finding is an error, and no cell is decided.
    """
    trial = try_out(environment, knowledge, _matrix(environment, knowledge), ignore, limit)
    today = trial.today.prognosis
    is_judged = settled(labelled(trial.environment)) == trial.environment  # nothing is left open
    plain = today if is_judged else foresee(trial.environment, knowledge, ignore)
    said = {each.fingerprint: each for each in (*_loose_findings(trial), *_findings(trial))}
    wording = PlanWording(environment, trial.today.versions, is_consistent=trial.is_consistent)
    findings = tuple(wording.of(each) for each in sorted(said.values(), key=order_of))
    told = {(finding.rule_id, finding.subject) for finding in findings}
    unknown = tuple(
        each
        for each in plain.assessment.unknown
        if (each.rule_id, each.subject) not in told and _is_meant(each, trial.environment)
    )
    assessment = msgspec.structs.replace(
        plain.assessment, findings=findings, unknown=unknown, errors=today.assessment.errors
    )
    shown = msgspec.structs.replace(
        today,
        environment=_with_notes(environment, trial, Matrix(knowledge.tables)),
        assessment=assessment,
        verdicts=tuple(_verdicts(trial)),
        is_partial=trial.is_partial,
    )
    return Preflight(shown, today)


def plan_base(environment: Environment, knowledge: Knowledge) -> Environment:
    """Return the environment that a plan for manifests starts from: as it comes today."""
    there = settled(labelled(come_today(environment, _matrix(environment, knowledge))))
    bound = [
        name
        for told, below in BOUND_BY_FACTS.items()
        if isinstance(there.facts.get(below), Known) or told == TOO_NEW
        for name in (told, below)
    ]
    told = {name: fact for name, fact in there.facts.items() if name not in bound}
    none: dict[str, Fact] = dict.fromkeys(bound, Absent("lines bound it"))
    return msgspec.structs.replace(there, facts=told | none)


def _matrix(environment: Environment, knowledge: Knowledge) -> Matrix:
    if not isinstance(environment.fact("flash_attn.distribution"), Known):
        return Matrix(knowledge.tables)
    from fadoctor.knowledge.matrix.whole import whole_matrix  # noqa: PLC0415 -- only where its releases count

    return whole_matrix(knowledge)


def _is_meant(each: Undecided, environment: Environment) -> bool:
    """Return whether what stayed open is about something that a file names, or that is brought."""
    for package, names in PACKAGES.items():
        if each.subject.split(" ", 1)[0] in names:
            return isinstance(environment.fact(f"{package}.distribution"), Known)
    return True


def _findings(trial: Trial) -> Iterator[Finding]:
    """Yield each finding once, as grave as it is in the worlds that were tried."""
    worlds = (trial.today, *trial.others)
    seen: dict[str, list[ResolverWorld]] = {}
    first: dict[str, Finding] = {}
    for world in worlds:
        for finding in world.prognosis.assessment.findings:
            if any(each.source == ASSUMED for each in finding.evidence):
                continue  # nobody knows that it is not there
            seen.setdefault(finding.fingerprint, []).append(world)
            first.setdefault(finding.fingerprint, finding)
    of_today = trial.today.prognosis.assessment.findings
    explained = {rule for each in of_today for rule in each.consequences}
    for fingerprint, where in seen.items():
        finding = first[fingerprint]
        if where[0] is not trial.today and finding.rule_id in explained:
            continue  # today too: another finding tells it
        if any(each.source.startswith(FETCHED) for each in finding.evidence):
            finding = _lowered(finding, Severity.WARNING, _FETCHED)
        if len(where) == len(worlds):
            yield _brought(trial, finding)
        elif where[0] is trial.today:
            yield _lowered(finding, Severity.WARNING, _today_text(trial, finding, where))
        elif any(_is_bounded(trial, world.varied) for world in where):
            yield _lowered(finding, Severity.NOTE, _elsewhere_text(trial, finding, where))


def _brought(trial: Trial, finding: Finding) -> Finding:
    """Return a finding of all worlds: lower in a first answer, and about a torch that none names.

    A bound on that torch would repair it.
    """
    if trial.is_partial:
        return _lowered(finding, Severity.WARNING, _SO_FAR)
    rests = any(each.fact.startswith("torch.") for each in finding.evidence)
    version = trial.today.prognosis.environment.fact("torch.version")
    places = trial.environment.places
    if not rests or not places or "torch.version" in places:
        return finding
    if "vllm.version" in places or "sglang.version" in places:
        return finding  # these name one torch
    text = (
        "No file names torch: an installer takes the one of its index, unless one is there before."
    )
    if isinstance(version, Known):
        text = f"No file names torch: a resolver picks {version.value} today."
    return _lowered(finding, Severity.WARNING, text)


def _loose_findings(trial: Trial) -> Iterator[Finding]:
    """Yield what goes wrong with releases of a package of which nobody knows which one comes."""
    for package in dict.fromkeys(world.varied for world in trial.loose):
        worlds = [world for world in trial.loose if world.varied == package]
        asked = f"{name_of(package)}{trial.environment.bounded.get(name_of(package), '')}"
        where: dict[str, list[ResolverWorld]] = {}
        first: dict[str, Finding] = {}
        for world in worlds:
            for each in world.prognosis.assessment.findings:
                is_assumed = any(evidence.source == ASSUMED for evidence in each.evidence)
                if not (is_assumed or _is_avoided(each, world)):
                    where.setdefault(each.fingerprint, []).append(world)
                    first.setdefault(each.fingerprint, each)
        for fingerprint, bad in where.items():
            is_all = len(bad) == len(worlds)
            if is_all and (first[fingerprint].subject, name_of(package)) in trial.ruled_out:
                continue  # the files are told to rule it out
            with_it = {world.versions[package] for world in bad}
            rest = {world.versions[package] for world in worlds} - with_it
            newest = max(with_it | rest, key=version_key)
            is_open = not has_end(trial.environment.bounded.get(name_of(package), ""))
            if not is_all and newest in rest and is_open:
                continue  # nothing is known to keep it from its newest release
            so = "with every release that the tables list" if is_all else _range(with_it, rest)
            text = f"The release of {asked} to be installed is unknown; this happens {so}."
            yield _lowered(first[fingerprint], Severity.WARNING if is_all else Severity.NOTE, text)


def _is_avoided(finding: Finding, world: ResolverWorld) -> bool:
    """Return whether an installer never comes to it: it heeds that very requirement."""
    is_unmet = any(".unmet" in each.fact for each in finding.evidence)
    return is_unmet and finding.subject in world.apart


def _lowered(finding: Finding, most: Severity, text: str) -> Finding:
    order = list(Severity)
    severity = max(finding.severity, most, key=order.index)
    return msgspec.structs.replace(
        finding, severity=severity, message=f"{finding.message} {text}".strip()
    )


def _today_text(trial: Trial, finding: Finding, where: list[ResolverWorld]) -> str:
    """Say what a resolver takes today, and where it goes wrong."""
    found = _culprit(trial, finding, where)
    if found is None:
        taken = ", ".join(f"{name_of(p)} {v}" for p, v in trial.today.versions.items())
        return (
            f"A resolver picks {taken} today; other versions in the ranges do not have "
            "this problem."
        )
    package, bad, good = found
    taken = f"{name_of(package)} {trial.today.versions[package]}"
    if package not in {world.varied for world in trial.others}:  # it only moved along
        older = f"{name_of(package)} {max(good, key=version_key)}"
        return f"A resolver picks {taken} today; it does not happen with {older}."
    return f"A resolver picks {taken} today; this happens {_range(bad, good)}."


def _is_bounded(trial: Trial, package: str) -> bool:
    """Return whether the files say a word on which releases of a package they take.

    What only comes along is bounded by packages, from below alone as a rule: nobody takes old ones.
    """
    given = trial.environment
    if given.places and f"{package}.version" not in given.places:
        return False
    return bool({**given.bounded, **given.ranges, **given.asked}.get(name_of(package)))


def _elsewhere_text(trial: Trial, finding: Finding, where: list[ResolverWorld]) -> str:
    """Say which other versions of the ranges go wrong."""
    found = _culprit(trial, finding, where)
    if found is None:
        world = where[0]
        with_it = f"{name_of(world.varied)} {world.versions[world.varied]}"
        return f"This happens with {with_it}, but not with what a resolver picks today."
    package, bad, good = found
    now = trial.today.versions.get(package, "")
    taken = f"not with {name_of(package)} {now}, which a resolver picks today"
    return f"This happens {_range(bad, good, name_of(package))}, {taken}."


def _culprit(
    trial: Trial, finding: Finding, where: list[ResolverWorld]
) -> tuple[str, set[str], set[str]] | None:
    """Return the package whose versions part the worlds with a finding from those without.

    First those whose facts the finding rests on.
    """
    read = [each.fact.partition(".")[0] for each in finding.evidence]
    varied = [world.varied for world in trial.others]
    without = [world for world in (trial.today, *trial.others) if world not in where]
    for package in dict.fromkeys((*read, *varied)):
        if package not in trial.today.versions:
            continue
        bad = {world.versions[package] for world in where if package in world.versions}
        good = {world.versions[package] for world in without if package in world.versions}
        if bad and good and not bad & good:
            return package, bad, good
    return None


def _range(bad: set[str], good: set[str], name: str = "") -> str:
    """Return where it goes wrong: from a version on, up to one, or a list of them."""
    ordered, fine = sorted(bad, key=version_key), sorted(good, key=version_key)
    named = f"{name} " if name else ""
    if fine and version_key(ordered[0]) > version_key(fine[-1]):
        return f"since {named}{ordered[0]}"
    if fine and version_key(ordered[-1]) < version_key(fine[0]):
        return f"up to {named}{ordered[-1]}"
    shown = ", ".join(ordered[:_SHOWN])
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return f"with {named}{shown}{more}"


def _verdicts(trial: Trial) -> Iterator[Verdict]:
    """Yield the cells: works only where it works in all worlds, fails only where in all."""
    answers: dict[object, list[tuple[ResolverWorld, Verdict]]] = {}
    for world in (trial.today, *trial.others):
        for verdict in world.prognosis.verdicts:
            answers.setdefault((verdict.gpu, verdict.backend, verdict.dtype), []).append(
                (world, verdict)
            )
    for verdict in trial.today.prognosis.verdicts:
        if verdict.package_version == "unknown" and not _is_named(trial, verdict):
            continue
        found = answers[verdict.gpu, verdict.backend, verdict.dtype]
        other = next((each for each in found if each[1].predicted is not verdict.predicted), None)
        if trial.is_partial:
            yield _undecided(verdict)
        elif other is None:
            yield verdict
        else:
            yield _open(trial, verdict, *other)


def _is_named(trial: Trial, verdict: Verdict) -> bool:
    package = trial.today.prognosis.kernels.package(verdict.backend)
    return isinstance(trial.environment.fact(f"{package}.distribution"), Known)


def _undecided(verdict: Verdict) -> Verdict:
    """Return a cell of a first answer: what today's releases do may be so with these alone."""
    return msgspec.structs.replace(verdict, predicted=Predicted.UNKNOWN, detail=UNCHECKED)


def _open(trial: Trial, verdict: Verdict, world: ResolverWorld, other: Verdict) -> Verdict:
    now = trial.today.versions
    changed = [p for p in ("torch", world.varied) if p in now and now[p] != world.versions.get(p)]
    package = changed[0] if changed else world.varied
    detail = (
        f"it depends on the version: {verdict.predicted.value} with {name_of(package)} "
        f"{now.get(package, '')}, {other.predicted.value} with {world.versions.get(package, '')}"
    )
    both = (verdict, other)
    because = next((each.because for each in both if each.predicted is Predicted.FAILS), ())
    return msgspec.structs.replace(
        verdict, predicted=Predicted.UNKNOWN, because=because, detail=detail
    )


def _with_notes(environment: Environment, trial: Trial, matrix: Matrix) -> Environment:
    """Return the environment with what was assumed, and what was not tried."""
    notes = list(environment.target.notes)
    taken = [f"{name_of(package)} {version}" for package, version in trial.today.versions.items()]
    is_sure = trial.fits and trial.is_sure
    if taken and is_sure:
        notes.append(f"Assumed to be picked by a resolver: {', '.join(taken)}.")
    notes.extend(trial.unfitting)
    if taken and trial.fits and not is_sure:
        notes.append("The tables do not decide which releases a resolver picks.")
    if not trial.fits:
        notes.append(
            "fadoctor found no combination of releases that meets all requirements of the files."
        )
    if trial.untried:
        one = "1 other version in the ranges was"
        more = one if trial.untried == 1 else f"{trial.untried} other versions in the ranges were"
        notes.append(f"{more} not tried: there are too many.")
    if trial.is_partial:
        notes.append(_SO_FAR)
    if any(finding.fixes for finding in trial.today.prognosis.assessment.findings):
        notes.append(
            "To see which lines of the files to change: `fadoctor fix --dry-run`, same options."
        )
    notes += (f"{each}." for each in compiled_here(trial.today.prognosis.environment, matrix))
    notes.append("Predicted from wheel names and metadata: these packages are not installed yet.")
    target = msgspec.structs.replace(environment.target, notes=tuple(notes))
    return msgspec.structs.replace(environment, target=target)
