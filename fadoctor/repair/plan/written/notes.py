"""What a plan says beside its steps: what was not seen, not planned, or cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.diagnose import is_without_stack
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known, Unknown, fact_mapping, fact_text
from fadoctor.model.packages import (
    ATTENTION,
    FLASH_ATTN,
    FRAMEWORKS,
    PACKAGES,
    RELEASES,
    TORCH,
    TRANSFORMERS,
    VLLM,
    package_of,
)
from fadoctor.model.plan import PlanOutcome
from fadoctor.model.plan_words import DOUBT_NOTE, MOST_NOTE, UNASKED_NOTE, UNDECIDED_NOTE
from fadoctor.model.rules_version import rules_version
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.choices.offers import bounded
from fadoctor.repair.plan.choices.released import listed_packages
from fadoctor.repair.plan.search.problem import is_on_amd
from fadoctor.repair.plan.written.refusals import ON_A_MAC, instead_notes
from fadoctor.sources.manifests.installed.combine import exact_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.model.finding import Undecided
    from fadoctor.model.plan import Action, Proof
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.search.solution import Solution

_TORCH = "torch.version"
_RESOLVED = "packages.resolved"
_VLLM_OF_JETSON = (
    "vLLM's files for ARM are for servers; for a Jetson NVIDIA has images: "
    "`docker pull ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin`, latest-jetson-thor for Thor"
)
"""As answered to who asks for it: github.com/dusty-nv/jetson-containers/issues/1555."""
_SHOWN_PINS = 3
"""Most pins that a note names."""


def is_advice_only(problem: Problem) -> bool:
    """Return whether GPU or torch are AMD's: no table plans for them, and advice is printed."""
    return problem.has_amd or is_on_amd(problem.environment)


def notes_of(problem: Problem, solution: Solution, proof: Proof, *, unread: bool) -> Iterable[str]:
    """Yield what is said of a plan, whatever it does; `unread`: packages are hidden."""
    if origin := problem.session.knowledge.origin:
        yield f"rules {rules_version(problem.session.knowledge.version, origin)}"
    if not solution.complete:
        yield "the search was cut off: a smaller change may exist"
    if unread:
        yield "the packages that are hidden were not read: run fadoctor again afterwards"
    yield from _beyond_tables(problem, solution, proof)
    yield from instead_notes(problem, proof)
    yield from _compiled(problem, solution)
    yield from _untried(problem, solution)
    for choice in solution.changes:
        made_by = problem.environment.fact(f"{choice.package}.installer")
        is_file = problem.environment.target.kind == "manifest"
        if isinstance(made_by, Known) and made_by.value == "conda" and not is_file:
            name = choice.distribution
            yield f"{name} was installed by conda: remove it with `conda remove` first"
    yield from _without_gpu(problem, solution)
    yield from _gone_on_a_mac(problem, solution)


def _gone_on_a_mac(problem: Problem, solution: Solution) -> Iterable[str]:
    """Say why packages for attention go, of which nobody asked for one."""
    gone = {each.package for each in solution.changes if each.kind is ChoiceKind.REMOVE}
    if problem.platform.startswith("macosx") and not gone.isdisjoint(ATTENTION):
        yield from ON_A_MAC


def _without_gpu(problem: Problem, solution: Solution) -> Iterable[str]:
    """Say where there is no GPU what comes for one all the same: it may be another machine's."""
    seen, here = (problem.environment.fact(f"gpu.{n}") for n in ("visible_count", "count"))
    if not (isinstance(seen, Known) and seen.value == 0):
        return
    hidden = isinstance(here, Known) and here.value
    why = "programs see no GPU here" if hidden else "there is no GPU here"
    changes = (each for each in solution.changes if each.kind is not ChoiceKind.REMOVE)
    useless = [each.distribution for each in changes if problem.needs_gpu(each.package)]
    if not useless:
        yield f"{why}: the plan has and proves no package that needs one"
        return
    which = ", ".join(useless)
    told = "" if problem.is_without_gpu else "; name the GPU of another machine with --gpu"
    need, runs = ("needs", "it runs") if len(useless) == 1 else ("need", "they run")
    yield f"{why}, and {which} {need} one: the plan does not prove that {runs}{told}"


def _beyond_tables(problem: Problem, solution: Solution, proof: Proof) -> Iterable[str]:
    """Say why little was planned where the tables have nothing for this GPU or platform."""
    if is_advice_only(problem):
        if not solution.changes:
            yield (
                "for AMD's GPUs torch is planned with what is published beside it, flash-attn and "
                "libraries without compiled files: nothing else"
            )
    elif (proof.missed or proof.errors) and problem.is_left_to_jetpack:
        yield (
            "PyPI and pytorch.org have no known torch build for this Jetson: "
            "NVIDIA names the builds for each JetPack, to be installed by hand"
        )
        if VLLM in problem.wishes.asked:
            yield _VLLM_OF_JETSON
    elif proof.missed and problem.platform.startswith("musllinux"):
        yield (
            "PyPI and PyTorch's index have no file of torch for musl, the C library of Alpine: "
            "use an image with glibc, such as python:3.12-slim"
        )
    elif proof.missed and problem.gpus and problem.is_beyond_tables:
        where = problem.platform
        yield f"the tables list no builds of torch with CUDA for {where}: none can be planned there"
    elif proof.missed and problem.gpus and problem.has_no_index:
        where = problem.platform
        yield f"PyTorch's index may have builds of torch for {where} that the tables do not list"


def _untried(problem: Problem, solution: Solution) -> Iterable[str]:
    """Say which transformers stays beside a framework that comes, though it is long after it.

    No metadata forbid it, and no source tells more.
    """
    moved = {choice.distribution for choice in solution.changes}
    here = listed_packages(problem.environment).get(TRANSFORMERS, "")
    for choice in solution.changes if here and TRANSFORMERS not in moved else ():
        needs = fact_mapping(choice.facts.get(f"{choice.package}.requires"))
        asked = bounded(
            problem.session.matrix, choice.distribution, choice.version, TRANSFORMERS,
            needs.get(TRANSFORMERS, ""),
        )  # fmt: skip
        if choice.package not in FRAMEWORKS or TRANSFORMERS not in needs or "==" in asked:
            continue
        mine, months = (choice.distribution, choice.version), problem.session.months
        if passed := months.long_after((TRANSFORMERS, here), mine):
            known = problem.session.candidates.helpers.fitting(
                TRANSFORMERS, problem.environment, [asked], {}
            )
            end = months.end_of_their_time(known, [mine])
            older = f"; {TRANSFORMERS}{end} matches its date" if end else ""
            yield (
                f"{TRANSFORMERS} {here} was released {passed} months after {' '.join(mine)}: "
                f"no source says that they work together{older}"
            )


def _compiled(problem: Problem, solution: Solution) -> Iterable[str]:
    """Say which release has a prebuilt wheel, where the one that files name is compiled.

    To compile it may be meant: nothing is changed unasked.
    """
    environment = problem.environment
    is_found = environment.facts.get("flash_attn.wheel.prebuilt")
    moves = any(choice.package in (FLASH_ATTN, TORCH) for choice in solution.changes)
    if is_advice_only(problem) or moves or not isinstance(is_found, Known) or is_found.value:
        return
    torch, cuda, abi, python, platform = (
        fact_text(environment.fact(name), "").lower()
        for name in ("torch.version", "torch.cuda", "torch.cxx11_abi", "python.abi_tag",
                     "host.platform")
    )  # fmt: skip
    keys = {
        "torch": version_part(torch, "minor"), "cuda": version_part(cuda, "major"), "abi": abi,
        "python": python, "platform": platform,
    }  # fmt: skip
    asked = {key: Known(value or "", "asked") for key, value in keys.items()}
    found = problem.session.matrix.find("flash-attn-for-torch", asked).cell("version")
    here = fact_text(environment.fact(f"{FLASH_ATTN}.version"), "")
    if isinstance(found, Known) and found.value != here:
        name = PACKAGES[FLASH_ATTN][0]
        is_file = environment.target.kind == "manifest"
        way = f"ask for {name}=={found.value}" if is_file else f"`--want {name}` plans it"
        yield (
            f"{f'{name} {here}'.rstrip()} has no prebuilt wheel for this torch, so it is compiled; "
            f"{found.value} has one: {way}"
        )


def unseen_notes(
    problem: Problem,
    actions: tuple[Action, ...],
    outcome: PlanOutcome,
    undecided: Sequence[Undecided],
) -> Iterable[str]:
    """Say what was not seen where little is to be done: it may be why."""
    if outcome is PlanOutcome.REPAIRS or any(action.is_step for action in actions):
        return
    if outcome is PlanOutcome.NOTHING and is_without_stack(problem.environment):
        yield (
            "none of the packages that fadoctor checks is installed here: "
            "`--want flash-attn` plans what to install"
        )
    if outcome is PlanOutcome.NOTHING and (pins := _unproved_pins(problem)):
        shown = ", ".join(pins[:_SHOWN_PINS]) + (" and more" if len(pins) > _SHOWN_PINS else "")
        yield f"{UNASKED_NOTE}whether {shown} can be had beside the others: --resolve asks one"
    torch = problem.environment.fact(_TORCH)
    if outcome is PlanOutcome.NOTHING and isinstance(torch, Unknown) and not torch.among:
        yield (
            f"{DOUBT_NOTE}which torch is here is unknown ({torch.reason}). "
            "`fadoctor facts` in that environment tells it"
        )
    every = len(problem.session.knowledge.rules)
    without = len({each.rule_id for each in undecided})
    if without * 2 > every:
        yield f"{MOST_NOTE}{without} of {every},{UNDECIDED_NOTE}"
    elif without:
        rules = "1 rule" if without == 1 else f"{without} rules"
        yield f"{rules}{UNDECIDED_NOTE}"


def _unproved_pins(problem: Problem) -> list[str]:
    """Return pins of files beside open ranges, of packages whose relations no table holds.

    An installer chooses for a range a release that goes with the pins, or refuses the list.
    """
    environment = problem.environment
    if isinstance(environment.fact(_RESOLVED), Known):
        return []
    asked = environment.asked
    is_open = any(
        package_of(name, "") in RELEASES and not exact_version(text) for name, text in asked.items()
    )
    pins = (name for name, text in asked.items() if exact_version(text))
    return [f"{name}{asked[name]}" for name in pins if is_open and not package_of(name, "")]
