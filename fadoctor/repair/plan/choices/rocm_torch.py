"""A torch for AMD's GPUs, from PyTorch's index for one ROCm, with what is published beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.rocm_labels import label_of
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Known, Unknown, fact_mapping, fact_text, fact_words
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import (
    ATTENTION,
    BESIDE_TORCH,
    COMPILED_BESIDE,
    EXTENSIONS,
    FLASH_ATTN,
    FRAMEWORKS,
    TORCH,
    TRITON,
)
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, distribution_of
from fadoctor.repair.plan.choices.offers import newest_in, offer
from fadoctor.repair.plan.choices.released import accepts, is_there, released
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.wheel_facts import known, text_of
from fadoctor.repair.plan.states.compiled import AFTER
from fadoctor.sources.targets.rocm import rocm_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from fadoctor.knowledge.matrix.query import Rows
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Step
    from fadoctor.repair.plan.search.problem import Problem

OF_NVIDIA = "nvidia-"
_COMES_ALONG = Unknown("torch for ROCm installs its own", AFTER)


def rocm_choices(problem: Problem, findings: Iterable[Finding]) -> tuple[Choice, ...]:
    """Return the torch for AMD's GPUs that findings or wishes ask for, with its companions.

    None where nothing asks for one, or no table has a build with code for every GPU. Beside a torch
    that stays those come that findings are about.
    """
    if not problem.has_amd:
        return ()
    findings = tuple(findings)
    found = next(_of_fixes(findings), None)
    if found is None and (label := label_of(text_of(problem.environment, "torch.version"))):
        torch = version_part(text_of(problem.environment, "torch.version"), "base") or ""
        wrong = {each.subject for each in findings if each.severity is not Severity.NOTE}
        return tuple(_beside(problem, torch, label, wrong))
    if TORCH in problem.wishes.kept:
        return ()
    wishes = problem.wishes
    is_due = TORCH in wishes.packages or FLASH_ATTN in wishes.asked
    can_come = not {*COMPILED_BESIDE}.issuperset(wishes.asked)
    is_wanted = is_due and can_come and not is_there(problem.environment, TORCH)
    if found is None and (is_wanted or _is_for_nvidia(problem, findings)):
        found = _newest(problem)
    if found is None or not _has_file(problem, found[0]):
        return ()
    return tuple(_choices(problem, *found))


def first_installs(
    problem: Problem, findings: Iterable[Finding], chosen: Collection[str]
) -> Iterator[Choice]:
    """Yield what the first fixes of findings install, of packages that are there and may move."""
    taken = {*chosen, *problem.wishes.kept}
    for step in _first_steps(findings):
        items = step.items if step.kind is StepKind.INSTALL and not step.index else ()
        for choice in filter(None, map(offer, items)):
            if choice.package not in taken and is_there(problem.environment, choice.package):
                taken.add(choice.package)
                yield choice


def libraries(problem: Problem, chosen: Collection[Choice]) -> Iterator[Choice]:
    """Yield the newest releases of what was asked for, of packages without compiled files.

    Those are the same for every GPU: nothing but the torch that is there decides about them.
    """
    after = problem.post.after(problem.environment, chosen)
    if not isinstance(after.fact("torch.hip"), Known):
        return  # what requires torch would bring the one for CUDA
    there = fact_mapping(after.fact("packages.installed")) | {
        TORCH: fact_text(after.fact("torch.version"), "")
    }
    others = {TORCH, TRITON, *ATTENTION, *BESIDE_TORCH, *FRAMEWORKS, *EXTENSIONS}
    helpers = problem.session.candidates.helpers
    for package in problem.wishes.asked:
        if package in others or package in problem.wishes.kept or is_there(after, package):
            continue
        wished = (problem.wishes.pinned.get(package, ""),)
        name = distribution_of(package)
        yield from helpers.fitting(name, after, wished, there)[:1]


def _first_steps(findings: Iterable[Finding]) -> Iterator[Step]:
    """Yield the steps of the first fix of each finding."""
    yield from (step for each in findings for fix in each.fixes[:1] for step in fix.steps)


def _is_for_nvidia(problem: Problem, findings: Iterable[Finding]) -> bool:
    """Return whether files bring a torch for CUDA, in a release that no known ROCm index has.

    The first fix asks for another build then, and names none.
    """
    is_file = problem.environment.target.kind == "manifest"
    has_server = any(is_there(problem.environment, name) for name in COMPILED_BESIDE)
    return (
        is_file
        and not has_server
        and any(step.effects.get("torch.build") == "rocm" for step in _first_steps(findings))
    )


def _of_fixes(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    """Yield release and label of what fixes install: they name it where tables have it."""
    for finding in findings:
        for step in (step for fix in finding.fixes for step in fix.steps):
            for item in step.items if step.kind is StepKind.INSTALL else ():
                name, _, version = item.partition("==")
                label = label_of(f"{version}+{step.index.rpartition('/')[2]}")
                if name == TORCH and version and label:
                    yield version, label


def _newest(problem: Problem) -> tuple[str, str] | None:
    """Return the newest release whose build has code for every GPU, by the tables."""
    matrix = problem.session.matrix
    gpus = {fact_text(problem.environment.fact(f"{g.subject}.isa"), "") for g in problem.gpus}
    found = [
        (version, str(row["index"]))
        for row in matrix.tables["torch-rocm-index"].rows
        for version in cell_words(row["version"])
        if gpus <= _archs(problem, version, str(row["index"])) and _has_file(problem, version)
    ]
    wanted = [name for name in BESIDE_TORCH if name in problem.wishes.asked]

    def promise(each: tuple[str, str]) -> tuple[int, object]:
        beside = _companions(problem, each[0])
        return sum(isinstance(beside.cell(name), Known) for name in wanted), version_key(each[0])

    return max(found, key=promise, default=None)


def _companions(problem: Problem, version: str) -> Rows:
    return problem.session.matrix.find("torch-companions", {TORCH: Known(version, "asked")})


def _archs(problem: Problem, version: str, label: str) -> set[str]:
    keys = {"version": Known(version, "asked"), "rocm": Known(label, "asked")}
    return set(fact_words(problem.session.matrix.find("torch-rocm-builds", keys).cell("gfx")))


def _has_file(problem: Problem, version: str) -> bool:
    """Return whether a release has files for this Python: ROCm's are for Linux on x86_64 alone."""
    keys = {"version": Known(version, "asked"), "platform": Known("linux_x86_64", "asked")}
    pythons = problem.session.matrix.find("torch-releases", keys).cell("python")
    return problem.platform == "linux_x86_64" and python_of(problem.environment) in fact_words(
        pythons
    )


def _choices(problem: Problem, version: str, label: str) -> Iterator[Choice]:
    index = problem.session.candidates.indexes.of(label)
    if not index:
        return
    yield _torch(problem, f"{version}+{label}", index)
    yield from _asked_along(problem, version)
    there = {name for name in BESIDE_TORCH if is_there(problem.environment, name)}
    yield from _beside(problem, version, label, there.union(problem.wishes.asked))


def _beside(
    problem: Problem, version: str, label: str, wanted: Collection[str]
) -> Iterator[Choice]:
    """Yield what was published beside a release of torch, of the build for the same ROCm."""
    index, beside = problem.session.candidates.indexes.of(label), _companions(problem, version)
    for package in BESIDE_TORCH:
        cell = beside.cell(package)
        is_open = package in wanted and package not in problem.wishes.kept
        if index and is_open and isinstance(cell, Known):
            own = problem.session.candidates.listed.published_with(package, str(cell.value))
            is_labelled = own == version or _index_of(problem, own) == label
            full = f"{cell.value}+{label}" if is_labelled else str(cell.value)
            if fact_text(problem.environment.fact(f"{package}.version"), "") != full:
                yield _install(package, full, index, released(package, full))


def _index_of(problem: Problem, version: str) -> str:
    """Return the label of the index with a release of torch, "" where no table has it."""
    rows = problem.session.matrix.find("torch-rocm-index", {"version": Known(version, "asked")})
    return fact_text(rows.cell("index"), "")


def _asked_along(problem: Problem, version: str) -> Iterator[Choice]:
    """Yield what moves as the torch that comes refuses the release that is there."""
    there = fact_mapping(problem.environment.fact("packages.installed"))
    helpers = problem.session.candidates.helpers
    for name, versions in helpers.declared(TORCH, version).items():
        if name in there and not accepts(versions, there[name]):
            exact = helpers.newest_in(name, versions)
            found = newest_in(name, f"=={exact}" if exact else versions, there[name])
            if found is not None and name not in problem.wishes.kept:
                yield found


def left_on_amd(environment: Environment, choices: Iterable[Choice]) -> Iterator[str]:
    """Yield what a torch for CUDA brought, and what stays behind it without a use."""
    there = fact_mapping(environment.fact("packages.installed"))
    left = sorted(name for name in there if name.startswith(OF_NVIDIA))
    is_amd = any(isinstance(choice.facts.get("torch.hip"), Known) for choice in choices)
    if is_amd and left:
        yield f"no torch for ROCm uses what stays of NVIDIA's: {', '.join(left)}"
    if is_amd:
        yield "torch for ROCm also installs its own triton"


def _torch(problem: Problem, full: str, index: str) -> Choice:
    """Return the choice of a torch; its triton has another name, and writes into one folder."""
    hip = (version_part(full, "local") or "").removeprefix("rocm")
    facts = released(TORCH, full, build="rocm", cuda=None, hip=hip)
    facts |= {"torch.cxx11_abi": known(value=True), "torch.requires": Known({}, AFTER)}
    after = msgspec.structs.replace(
        problem.environment, facts={**problem.environment.facts, **facts, "torch.libraries": _OPEN}
    )
    told = rocm_facts(after, problem.session.matrix)
    facts |= {name: fact for name, fact in told.items() if name.startswith("torch.")}
    facts |= {name: _COMES_ALONG for name in problem.environment.facts if _is_of_triton(name)}
    keys = {"version": Known(version_part(full, "base") or "", "asked")}
    triton = problem.session.matrix.find("torch-rocm-index", keys).cell(TRITON)
    if isinstance(triton, Known):
        facts[f"{TRITON}.distribution"] = Known(str(triton.value), AFTER)
    return _install(TORCH, full, index, facts)


_OPEN = Unknown("no file was read", AFTER)


def _is_of_triton(name: str) -> bool:
    return name.partition(".")[0] == TRITON


def _install(package: str, full: str, index: str, facts: dict[str, Fact]) -> Choice:
    asked = f"{distribution_of(package)}=={full}"
    return Choice(package, ChoiceKind.INSTALL, full, full, asked, index, facts=facts)
