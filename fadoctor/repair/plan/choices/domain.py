"""What may be chosen for each package, beside what is chosen already; which packages are asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import is_older, version_part
from fadoctor.model import packages
from fadoctor.model.fact import Absent, Known, fact_mapping, fact_text
from fadoctor.model.packages import (
    AT_ONCE,
    ATTENTION,
    BESIDE_TORCH,
    HUGGINGFACE_HUB,
    KERNELS,
    ORDER,
    PACKAGES,
    PLANNED,
    REMOVABLE,
    TABLED_FRAMEWORKS,
    TORCH,
    TRANSFORMERS,
    TRITON,
)
from fadoctor.repair.plan.choices.build import build_choices
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, distribution_of, keep, remove
from fadoctor.repair.plan.choices.offered import (
    asked_otherwise,
    each_once,
    exactly_offered,
    newest_of,
)
from fadoctor.repair.plan.choices.offers import bounded
from fadoctor.repair.plan.choices.other_index import is_of_other_index
from fadoctor.repair.plan.choices.released import accepts, is_there
from fadoctor.repair.plan.choices.releases import drawn_in
from fadoctor.repair.plan.hub.hub_preconditions import transformers_for_hub
from fadoctor.repair.plan.search.wished_names import HUB
from fadoctor.repair.plan.search.wishes import is_of_use, wanted_of_hub
from fadoctor.repair.plan.states.askers import pins_of, pins_of_files
from fadoctor.repair.plan.states.compiled import is_damaged, lacking_requirements
from fadoctor.repair.plan.states.other_cuda import is_for_other_cuda
from fadoctor.repair.plan.states.post_state import REQUIRED
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.search.wishes import Wishes


def packages_of(
    environment: Environment, asked: Collection[str], offers: Iterable[str]
) -> tuple[str, ...]:
    """Return the packages about which there is something to decide, in order."""
    tabled = (*ORDER, *PLANNED)
    found = {name for name in tabled if is_there(environment, name) or name in asked}
    found |= {TORCH, TRITON} | drawn_in(found) | set(offers)
    ordered = [name for name in (*ORDER, *PACKAGES) if name in found]
    return tuple(dict.fromkeys((*ordered, *sorted(found - set(ordered)))))


def decided_in_order(
    packages: Collection[str], there: Collection[str], wishes: Wishes, idle: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the packages in the order in which the search decides them.

    `idle`: those for attention that are there, and bring nothing that works.

    What is kept comes first: what quarrels with it is refused as soon as it is chosen. A torch
    leaves one triton, and one release of what is published together with it: what is wrong with
    those need not be tried with everything else. Kernels of the Hub come as early: what they can
    stand in for is missed only where they cannot come. Attention packages, on which no other hangs,
    are last: first one that must be replaced or removed in any case, for which little is left to
    choose, then what was asked for.
    """
    sure = {TORCH, TRITON, KERNELS, *wishes.asked, *there}
    at_once = (name for name in AT_ONCE if name in packages and name in sure)
    stays = (name for name in packages if name in wishes.kept)
    attention = sorted(
        (name for name in packages if name in ATTENTION),
        key=lambda name: (name not in idle, name not in wishes.asked),
    )
    others = (name for name in packages if name not in ATTENTION)
    return tuple(dict.fromkeys((*stays, *at_once, *others, *attention)))


def domain(
    problem: Problem, package: str, environment: Environment, decided: Collection[str]
) -> list[Choice]:
    """Return what may be chosen for a package, best first.

    A package that nobody asked for comes in only where one that is decided requires it. None where
    nothing of it goes with what is decided.
    """
    kept = keep(package)
    if _stays(problem, package, environment):
        return [kept]
    pins = pins_of(problem, package, environment, decided)
    wished = problem.wishes.pinned.get(package, "")
    pins += [wished] if wished else []
    is_new = not is_there(environment, package)
    if is_new and package in PLANNED and package not in problem.wishes.asked and not pins:
        return [kept]
    is_plain = is_new and package in problem.offers and package not in PACKAGES
    others = [
        choice
        for choice in _others(problem, package, environment)
        if choice.kind is ChoiceKind.REMOVE or all(accepts(pin, choice.version) for pin in pins)
    ]
    if not others and is_new and package in problem.offers:
        others = asked_otherwise(package, pins)
    meant = _meant(pins_of_files(problem.environment, package), others)
    others = meant or others
    must_go = bool(meant) or (is_new and bool(pins) and package in PLANNED)
    if package in BESIDE_TORCH and not is_new:
        listed = problem.session.candidates.listed
        must_go = not listed.goes_with_torch(package, environment)
        must_go = must_go or _is_anew(problem, package, environment)
        if _is_other_torch(problem, environment):
            must_go = must_go or listed.has_other_abi(package, environment)
    if must_go and not others and package in BESIDE_TORCH and _is_other_torch(problem, environment):
        return []  # nothing of it is known to be there for that torch
    if not is_new and is_for_other_cuda(problem, package, environment):
        return others
    if others and not is_new and _is_as_blind(problem, package, environment):
        return others
    if wished and not is_new:
        must_go = must_go or not accepts(
            wished, fact_text(environment.fact(f"{package}.version"), "")
        )
    must_go = must_go or (is_plain and bool(pins))  # it lacks nothing else, and costs the least
    return others if must_go and others else [kept, *others]


def _meant(pins: tuple[str, ...], choices: list[Choice]) -> list[Choice]:
    """Return the choices of releases that files ask for, where these ask for several."""
    return [choice for pin in pins for choice in choices if accepts(f"=={pin}", choice.version)]


def _stays(problem: Problem, package: str, environment: Environment) -> bool:
    """Return whether nothing of a package is chosen, whatever else is."""
    if package in problem.wishes.kept or _is_not_ours(problem, package):
        return True
    if package in TABLED_FRAMEWORKS and _is_pinned_in_a_file(problem, package):
        return True
    if _computes_nothing(problem, package, environment):
        return True
    is_plain = package in problem.offers and package not in PACKAGES
    is_new = not is_there(environment, package)
    return is_plain and is_new and problem.is_needed_no_more(package, environment)


def _computes_nothing(problem: Problem, package: str, environment: Environment) -> bool:
    """Return whether a package is not there, and has no kernels for any GPU here.

    One for attention that is asked for by its name comes all the same, unless it is said that
    there is no GPU.
    """
    is_new = not is_there(environment, package)
    if package not in ATTENTION:
        return is_new and problem.is_without_gpu and problem.needs_gpu(package)
    if package in problem.wishes.asked:
        return is_new and problem.is_without_gpu
    gpus = problem.gpus if is_new else []
    return bool(gpus) and not is_of_use(problem.kernels, package, gpus)


def _is_as_blind(problem: Problem, package: str, environment: Environment) -> bool:
    """Return whether what was published with a build of torch stays beside another build.

    Torch gives way to another build of the same release where it computes on no GPU that is here:
    what was compiled together with it has code for the same GPUs, and for no others.
    """
    torches = [each.fact("torch.version") for each in (problem.environment, environment)]
    if package not in BESIDE_TORCH or torches[0] == torches[1] or not problem.gpus:
        return False
    before, after = (version_part(fact_text(each, ""), "base") for each in torches)
    version = fact_text(environment.fact(f"{package}.version"), "")
    published = problem.session.candidates.listed.published_with(package, version)
    return before == after == published and not problem.computes


def _is_anew(problem: Problem, package: str, environment: Environment) -> bool:
    """Return whether the same version has to come again, from the index of the torch that comes."""
    indexes = problem.session.candidates.indexes
    return is_of_other_index(package, problem.environment, environment, indexes)


def _breaks_kept(problem: Problem, torch: Choice) -> bool:
    """Return whether what has to stay is from another index than a torch that would come."""
    kept = [name for name in BESIDE_TORCH if name in problem.wishes.kept]
    facts = {**problem.environment.facts, **torch.facts} if kept else {}
    after = msgspec.structs.replace(problem.environment, facts=facts)
    there = (name for name in kept if is_there(problem.environment, name))
    return any(_is_anew(problem, name, after) for name in there)


def _is_pinned_in_a_file(problem: Problem, package: str) -> bool:
    """Return whether a file names one release, which nobody asked to change: it is the reason.

    One that cannot be had at all is none, nor one whose torch computes on no GPU that is here.
    """
    is_file = problem.environment.target.kind == "manifest"
    if problem.gpus and not problem.computes:
        return False
    version = problem.environment.fact(f"{package}.version")
    told = fact_mapping(problem.environment.fact(CONTRADICTED)).get(distribution_of(package), "")
    is_lost = bool(told) and REQUIRED.search(told) is None  # no other line is in its way
    named = isinstance(version, Known) and package not in problem.wishes.asked
    return is_file and named and not is_lost


def _is_other_torch(problem: Problem, environment: Environment) -> bool:
    """Return whether a state has another torch, or another build of it, than there is now."""
    names = ("torch.version", "torch.build")
    return any(problem.environment.fact(name) != environment.fact(name) for name in names)


def _is_not_ours(problem: Problem, package: str) -> bool:
    """Return whether the tables know nothing that could stand in for a package.

    An own build of torch (NGC's, a nightly, conda's) is replaced only where torch is asked for, or
    where it is for the GPUs of another vendor: it computes nothing on those that are here.
    """
    if package != TORCH or TORCH in problem.wishes.asked:
        return False
    build = problem.environment.fact("torch.build")
    own = isinstance(build, Known) and build.value in ("other", "rocm")
    return own and not is_of_another_vendor(problem.environment)


def is_of_another_vendor(environment: Environment) -> bool:
    """Return whether torch is a build without CUDA, for ROCm or XPU, beside a GPU of NVIDIA.

    Conda's build for the CPU is none: conda itself has to take another one.
    """
    vendor, build = environment.fact("gpu[0].vendor"), environment.fact("torch.build")
    built = isinstance(build, Known) and build.value in ("other", "rocm")
    if fact_text(environment.fact("torch.installer"), "") == "conda":
        return False
    without = built and isinstance(environment.fact("torch.cuda"), Absent)
    return without and isinstance(vendor, Known) and vendor.value == "nvidia"


def _others(problem: Problem, package: str, environment: Environment) -> list[Choice]:
    candidates, wishes = problem.session.candidates, problem.wishes
    match package:
        case packages.TORCH:
            found = [c for c in candidates.torch(environment) if not _breaks_kept(problem, c)]
            found = [c for c in found if not is_older(c.version, problem.oldest_torch)]
        case packages.TRITON:
            found = list(candidates.triton(environment, problem.environment))
        case packages.FLASH_ATTN:
            found = _same_release_first(list(candidates.flash_attn(environment)), problem)
            if wishes.allow_build:
                matrix, tools = problem.session.matrix, wishes.with_tools
                found += build_choices(environment, matrix, candidates, with_tools=tools)
        case packages.FLASH_ATTN_3:
            found = list(candidates.flash_attn_3(environment))
        case _:
            every = partial(candidates.listed.every, package)
            # their files for ARM are for servers, as those of torch are
            is_for_servers = package in packages.COMPILED_BESIDE and problem.is_left_to_jetpack
            fitting = () if is_for_servers else candidates.releases(package, environment)
            found = problem.ruled_out.without(fitting, every)
    found += _of_the_hub(problem, package, environment) if package in problem.hub else ()
    there = is_there(environment, package)
    if there:
        anew = _is_anew(problem, package, environment)
        found = [each for each in found if anew or not _is_same(each, problem.environment)]
    if package == TORCH:
        found = [_with_requirements(choice, problem.environment) for choice in found]
    offers = () if package in PLANNED else problem.offers.get(package, ())
    found += [each for offer in offers for each in exactly_offered(problem, offer, environment)]
    if package in REMOVABLE and there:
        found.append(remove(package))
    return each_once(found)


def _same_release_first(found: list[Choice], problem: Problem) -> list[Choice]:
    """Return choices with another file of the release that is there as if none were newer.

    Somebody chose that release: where it has a file that fits, no newer one has to come.
    """
    here = fact_text(problem.environment.fact(f"{packages.FLASH_ATTN}.version"), "")
    same = [msgspec.structs.replace(each, age=0) for each in found if each.version == here]
    return [*same, *(each for each in found if each.version != here)]


def _of_the_hub(problem: Problem, package: str, environment: Environment) -> list[Choice]:
    """Return the releases of kernels, or of transformers, by which kernels of the Hub are had."""
    if package == HUGGINGFACE_HUB:
        return newest_of(problem, HUGGINGFACE_HUB, environment)
    if package == KERNELS:
        return _kernels(problem, environment)
    found = transformers_for_hub(problem.session, environment, problem.wishes.asked)
    if package not in problem.wishes.asked:
        return found
    # who asks for it by its name may not mean the Hub
    ahead = problem.session.hub.newest_transformers(environment)
    asked = _asked_transformers(problem, environment)
    return list({choice.version: choice for choice in (*found, *asked, *ahead)}.values())


def _asked_transformers(problem: Problem, environment: Environment) -> list[Choice]:
    """Return the newest transformers in the range that was asked for, and those that askers take.

    What was asked for in one version may take none of the newest.
    """
    wished = problem.wishes.pinned.get(TRANSFORMERS, "")
    ranges = dict.fromkeys([wished, *_ranges_of_pinned(problem, TRANSFORMERS)])
    asked = [",".join(filter(None, dict.fromkeys((wished, each)))) for each in ranges]
    found = [problem.session.hub.newest_transformers(environment, each)[:1] for each in asked]
    unlisted = problem.session.candidates.helpers.unlisted(TRANSFORMERS, wished)
    return [unlisted] if unlisted else [choice for each in found for choice in each]


def _ranges_of_pinned(problem: Problem, needs: str) -> Iterator[str]:
    """Yield what the releases that were asked for in some versions require of a package."""
    matrix, listed = problem.session.matrix, problem.session.candidates.listed
    for package, versions in problem.wishes.pinned.items():
        for choice in listed.every(package) if package in PLANNED else ():
            requires = fact_mapping(choice.facts[f"{package}.requires"])
            if needs in requires and accepts(versions, choice.version):
                name = PACKAGES[package][0]
                yield bounded(matrix, name, choice.version, needs, requires[needs])


def _kernels(problem: Problem, environment: Environment) -> list[Choice]:
    """Return the releases of kernels by which attention comes from the Hub.

    Where there is none, and it was asked for by its name alone, the newest that all take.
    """
    found = problem.session.hub.kernels(environment, wanted_of_hub(problem.wishes))
    is_of_hub = any(backend in HUB.values() for _, backend in problem.wishes.cells)
    if found or is_of_hub or KERNELS not in problem.wishes.asked:
        return found
    return newest_of(problem, KERNELS, environment)


def _is_same(choice: Choice, environment: Environment) -> bool:
    """Return whether a choice is what is installed already, of the same build."""
    version = environment.fact(f"{choice.package}.version")
    build = choice.facts.get("torch.build")
    if not isinstance(version, Known) or version.value != choice.version:
        return False
    if is_damaged(environment.facts, choice.package) or bears_another_name(choice, environment):
        return False
    if choice.package != TORCH:
        return choice.kind is ChoiceKind.INSTALL
    here = environment.fact("torch.build")
    return isinstance(here, Known) and isinstance(build, Known) and here.value == build.value


def bears_another_name(choice: Choice, environment: Environment) -> bool:
    """Return whether what is there is another distribution of the same module.

    ``pytorch-triton-rocm`` is no ``triton`` to an installer, and writes into the same folder.
    """
    here = environment.fact(f"{choice.package}.distribution")
    return isinstance(here, Known) and here.value != choice.distribution


def _with_requirements(choice: Choice, environment: Environment) -> Choice:
    """Return the choice to install the same torch again, with the libraries that it lacks.

    The installer brings what is missing, and leaves the torch that is there.
    """
    here = environment.fact("torch.version")
    if not isinstance(here, Known) or here.value != choice.version:
        return choice
    lacking = lacking_requirements(environment.facts, TORCH)
    brings = {name: pin.removeprefix("==") for name, pin in lacking.items()}
    return msgspec.structs.replace(choice, brings=brings) if brings else choice
