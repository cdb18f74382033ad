"""Prove a plan: judge the environment as it would be afterwards, with every rule."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

from fadoctor.judging.engine.judge import Assessment, judge
from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Known, fact_mapping, fact_text
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.packages import ATTENTION, COMPILED_BESIDE, FLASH_ATTN, PACKAGES, XFORMERS
from fadoctor.model.plan import Proof
from fadoctor.model.verdict import Predicted
from fadoctor.repair.plan.choices.released import accepts, can_agree, is_there
from fadoctor.repair.plan.search.shortfall import FAILS, answer_for, best_answers, missing_packages
from fadoctor.repair.plan.search.wishes import HALF, PAIR, wanted_of_hub, wish_text
from fadoctor.repair.plan.states.contract_state import open_contracts
from fadoctor.repair.plan.states.left_behind import left_behind
from fadoctor.repair.plan.states.requirements import violations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.environment import Environment
    from fadoctor.model.verdict import Verdict
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.requirements import Violation

_FOR_CUDA = "PyPI has it for CUDA only; for ROCm use an image of its authors"


def prove(problem: Problem, after: Environment) -> tuple[Proof, Assessment]:
    """Return what is left wrong after a plan. Pure, and nothing of the search is believed."""
    session = problem.session
    assessment = judge(after, session.knowledge, session.matrix)
    verdicts = predict(Kernels(after, session.matrix), assessment)
    failed = [
        each
        for each in assessment.judgements
        if each.outcome is Outcome.FAIL and each.severity is Severity.ERROR
    ]
    forgiven = [each for each in failed if each.outdone or problem.is_excused(verdicts, each)]
    excused = {each.rule.id for each in forgiven}
    errors = {each.rule.id for each in failed if each not in forgiven}
    working = {(v.gpu, v.backend, v.dtype) for v in verdicts if v.predicted is Predicted.WORKS}
    lost = sorted(
        f"{gpu.partition(' ')[0]} {backend.value} {dtype.value}"
        for gpu, backend, dtype in problem.worked - working
    )
    unmet = [
        each
        for each in violations(after, problem.requirements(after))
        if (each.distribution, each.needs) not in problem.broken_before
        and not _comes_anew(problem, after, each)
    ]
    orphans = left_behind(problem, after) if unmet else ()
    broken = [each.text for each in unmet if each.distribution not in orphans]
    proof = Proof(
        errors=tuple(sorted(errors)),
        by_setting=tuple(sorted(excused)),
        missed=tuple(_missed(problem, after, verdicts, assessment)),
        lost=tuple(lost),
        requirements=tuple(broken),
        unknown=tuple(sorted({*_unknown(problem, after, verdicts), *open_contracts(after)})),
    )
    return proof, assessment


def _comes_anew(problem: Problem, after: Environment, each: Violation) -> bool:
    """Return whether files leave what is required open, in a range with room for it.

    An installer then brings a release that all who require it take: the one of today stays out.
    """
    here = problem.environment
    if each.needs not in here.ranges:
        return False
    asked = {needs.get(each.needs, "") for needs in problem.requirements(after).values()}
    asked |= {here.ranges[each.needs]}
    return all(can_agree(*pair) for pair in combinations(sorted(filter(None, asked)), 2))


def _missed(
    problem: Problem, after: Environment, verdicts: Iterable[Verdict], assessment: Assessment
) -> Iterable[str]:
    best = best_answers(verdicts, assessment.judgements, after)
    for package in missing_packages(problem.wishes, after, best):
        if _can_be_planned(problem, package):
            yield f"{PACKAGES[package][0]} is not installed"
    there = fact_mapping(after.fact("packages.installed"))
    for name, versions in problem.wishes.frameworks.items():
        if not there.get(name) or not accepts(versions, there[name]):
            yield f"{name}{versions} is not installed"
    for cell in (*problem.wishes.cells, *problem.wishes.hopeless):
        if answer_for(problem.wishes, cell, best) == FAILS:
            yield f"{wish_text(cell)} fails"


def _can_be_planned(problem: Problem, package: str) -> bool:
    """Return whether releases of a package are known, to be put into a plan."""
    helpers = problem.session.candidates.helpers
    if problem.has_amd and package in COMPILED_BESIDE:
        return False
    return package in problem.packages or helpers.knows(PACKAGES[package][0])


def _unplanned(problem: Problem, after: Environment) -> Iterable[str]:
    """Yield what was asked for, and what nobody can say whether it will go with the rest."""
    for package in problem.wishes.asked:
        if not is_there(after, package) and not _can_be_planned(problem, package):
            name = PACKAGES[package][0]
            if problem.has_amd and package in COMPILED_BESIDE:
                yield f"{name}: {_FOR_CUDA}"
                continue
            if problem.has_amd and package == FLASH_ATTN:
                yield f"{name}: PyPI has its sources alone, for ROCm too"
                continue
            if problem.has_amd and package in ATTENTION:
                yield f"{name}: PyPI has no build for ROCm, and its build for CUDA replaces torch"
                continue
            yield (
                f"{name}: the tables do not list its releases. Install it yourself, then run "
                "`fadoctor check`"
            )


def _below_minimum(problem: Problem, after: Environment) -> Iterable[str]:
    """Yield what was asked for, and whose authors support newer GPUs alone.

    Where it surely does not start, a rule says so.
    """
    matrix = problem.session.matrix
    here = {fact_text(after.fact(f"{g.subject}.compute_capability"), "") for g in problem.gpus}
    for package in problem.wishes.asked if here - {""} else ():
        if is_there(after, package) and f"{package}-minimum" in matrix.tables:
            keys = {"version": after.fact(f"{package}.version")}
            least = fact_text(matrix.find(f"{package}-minimum", keys).cell("cc"), "")
            newest = max(here - {""}, key=version_key)
            if least and version_key(newest) < version_key(least):
                yield (
                    f"{PACKAGES[package][0]}: its authors support compute capability {least} and "
                    f"newer; the GPU here has {newest}"
                )


def _left_for_cuda(problem: Problem, after: Environment) -> Iterable[str]:
    """Yield what is compiled for CUDA, and stays where a torch for ROCm comes."""
    cuda, hip = problem.environment.fact("torch.cuda"), after.fact("torch.hip")
    if not isinstance(cuda, Known) or not isinstance(hip, Known):
        return
    for package in (*COMPILED_BESIDE, XFORMERS):
        version = fact_text(after.fact(f"{package}.version"), "")
        if version and "rocm" not in (version_part(version, "local") or ""):
            why = (
                _FOR_CUDA if package in COMPILED_BESIDE else "it was installed beside CUDA's torch"
            )
            yield f"{PACKAGES[package][0]} {version}: {why}"


def _unlisted(problem: Problem) -> Iterable[str]:
    """Yield the releases that were asked for and are in no table."""
    helpers = problem.session.candidates.helpers
    wished = {PACKAGES[name][0]: versions for name, versions in problem.wishes.pinned.items()}
    for name, versions in {**wished, **problem.wishes.frameworks}.items():
        if helpers.unlisted(name, versions) and helpers.knows(name):
            yield (
                f"{name}{versions}: the tables do not list this release, so not all that it needs "
                "is checked"
            )


def _unknown(problem: Problem, after: Environment, verdicts: Iterable[Verdict]) -> Iterable[str]:
    """Yield why wished cells cannot be decided, of those that work in no half-precision dtype."""
    yield from _unplanned(problem, after)
    yield from _below_minimum(problem, after)
    yield from _left_for_cuda(problem, after)
    yield from _unlisted(problem)
    instead = problem.wishes.instead
    wished = {(gpu.label, backend) for gpu, backend in problem.wishes.cells}
    wished |= {(gpu, instead[backend]) for gpu, backend in wished if backend in instead}
    if is_there(after, PAIR[1]) and not is_there(problem.environment, PAIR[1]):
        wished |= set(product((g.label for g in problem.gpus), wanted_of_hub(problem.wishes)))
    found = [v for v in verdicts if v.dtype in HALF and (v.gpu, v.backend) in wished]
    proved = {(v.gpu, v.backend) for v in found if v.predicted is Predicted.WORKS}
    proved |= {
        (gpu, mine) for gpu, hub in proved for mine, other in instead.items() if other is hub
    }
    proved |= {(gpu, instead[mine]) for gpu, mine in proved if mine in instead}
    for verdict in found:
        cell = (verdict.gpu, verdict.backend)
        if cell not in proved and verdict.predicted is Predicted.UNKNOWN:
            yield f"{verdict.backend.value}: {verdict.detail or ', '.join(verdict.because)}"
