"""From a solution to a recipe: what stays and what changes, as one installs it from nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.knowledge.matrix.versions import is_older, parse_version, version_part
from fadoctor.model.fact import Known
from fadoctor.model.packages import BYSTANDERS, FLASH_ATTN, PACKAGES, TORCH
from fadoctor.model.plan import ActionKind, PlanOutcome
from fadoctor.model.plan_words import shortcomings
from fadoctor.model.recipe import Ingredient, Recipe
from fadoctor.repair.plan.choices.build import missing_modules
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.choices.rocm_flash_attn import is_interpreted
from fadoctor.repair.plan.choices.wheel_facts import text_of
from fadoctor.repair.plan.hub.hub_route import partner_of_kernels
from fadoctor.repair.plan.written.effects import owners_of
from fadoctor.repair.plan.written.undoing import is_wheel_url, origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem

_PYTHON = re.compile(r"(\d{1,2}\.\d{1,3})(?:[.a-z]|\Z)")

_OUTCOMES = {
    PlanOutcome.NOTHING: "the environment as it is: no change was needed",
    PlanOutcome.REPAIRS: "every rule was checked, no problem was found",
    PlanOutcome.PARTIAL: "it does not repair everything",
    PlanOutcome.IMPOSSIBLE: "no change of packages helps",
}

NOT_BUILT_FROM = "no-build-isolation"


def recipe_of(problem: Problem, choices: Iterable[Choice], plan: Plan) -> Recipe:
    """Return the recipe of a plan; without ingredients where nothing helps."""
    environment, changes = problem.environment, tuple(choices)
    # facts may be anybody's, and this goes into files that are run
    found_python = _PYTHON.match(text_of(environment, "python.version"))
    python = found_python[1] if found_python else ""
    image, image_glibc = _image(problem, python)
    hopeless = plan.outcome is PlanOutcome.IMPOSSIBLE
    found = () if hopeless else tuple(_ingredients(problem, changes))
    return Recipe(
        ingredients=tuple(sorted(found, key=lambda each: each.is_built)),
        python=python,
        platform=text_of(environment, "host.platform"),
        glibc=text_of(environment, "host.glibc"),
        image=image,
        image_glibc=image_glibc,
        variables={
            name: value
            for action in plan.actions
            if action.kind is ActionKind.SET
            for name, value in action.env.items()
        },
        comments=tuple(_comments(problem, changes, plan, image_glibc)),
        # what a text was taken to say is assumed in words, which are no options
        check=tuple(
            word for text in plan.assumed if text[:2] == "--" for word in text.split(" ", 1)
        ),
    )


def _ingredients(problem: Problem, changes: tuple[Choice, ...]) -> Iterator[Ingredient]:
    """Yield what stays, in the build that is there, then what changes."""
    environment = problem.environment
    for package in _staying(problem, changes):
        name = _name(environment, package)
        version = text_of(environment, f"{package}.version")
        file = _file_of(problem, changes) if package == FLASH_ATTN else None
        if file is not None:
            yield Ingredient(file.requirement)
            continue
        item, (index, options) = origin(
            name, version, environment, problem.session.candidates.indexes
        )
        is_built = any(NOT_BUILT_FROM in option for option in options)
        yield from _tools(problem, version) if is_built else ()
        yield Ingredient(item, index, is_built=is_built)
    for choice in changes:
        if choice.kind is ChoiceKind.REMOVE:
            continue
        is_built = choice.kind is ChoiceKind.BUILD
        yield from _tools(problem, choice.version) if is_built else ()
        yield Ingredient(
            choice.requirement, choice.index, is_built, choice.env, is_interpreted(choice)
        )
    for item in partner_of_kernels(environment, changes):
        yield Ingredient(item)


def _file_of(problem: Problem, changes: tuple[Choice, ...]) -> Choice | None:
    """Return the official file of the flash-attn that stays, where nobody recorded its address."""
    session, environment = problem.session, problem.environment
    if isinstance(environment.fact("flash_attn.direct_url"), Known):
        return None
    here = version_part(text_of(environment, "flash_attn.version"), "base")
    # a torch that stays is installed anew, so that it is what the tables say of it
    torch = session.candidates.torch_like(environment)
    is_kept = torch is not None and all(each.package != TORCH for each in changes)
    after = session.post.after(environment, (*changes, torch) if is_kept and torch else changes)
    fitting = session.candidates.flash_attn(after)
    return next((c for c in fitting if c.kind is ChoiceKind.WHEEL and c.version == here), None)


def _tools(problem: Problem, version: str) -> Iterator[Ingredient]:
    """Yield what a build imports, in an environment that has nothing."""
    facts = {**problem.environment.facts, "packages.installed": Known({}, "made anew")}
    empty = msgspec.structs.replace(problem.environment, facts=facts)
    yield from map(Ingredient, missing_modules(empty, problem.session.matrix, version))


def _staying(problem: Problem, changes: tuple[Choice, ...]) -> list[str]:
    """Return the packages that stay and that an installer finds again."""
    there = _there(problem.environment, changes)
    return [package for package in there if _is_found_again(problem, package)]


def _is_found_again(problem: Problem, package: str) -> bool:
    """Return whether a package's release is where an installer looks, or its file is known.

    What was installed from a folder or a repository, or is a build of one's own, is not.
    """
    environment = problem.environment
    url = environment.fact(f"{package}.direct_url")
    if isinstance(url, Known):
        return is_wheel_url(str(url.value))
    editable = environment.fact(f"{package}.editable")
    if isinstance(editable, Known) and editable.value is True:
        return False
    version = text_of(environment, f"{package}.version")
    _, (index, options) = origin(
        _name(environment, package), version, environment, problem.session.candidates.indexes
    )
    return bool(index or options or not version_part(version, "local"))


def _there(environment: Environment, changes: tuple[Choice, ...]) -> list[str]:
    changed = {choice.package for choice in changes}
    return [
        package
        for package in PACKAGES
        if package not in changed
        and package not in BYSTANDERS
        and parse_version(text_of(environment, f"{package}.version"))
    ]


def _name(environment: Environment, package: str) -> str:
    found = text_of(environment, f"{package}.distribution")
    return found if found in PACKAGES[package] else PACKAGES[package][0]


def _image(problem: Problem, python: str) -> tuple[str, str]:
    """Return a container image for a Python, and its glibc."""
    matrix = problem.session.matrix
    row = matrix.find("recipe-images", {"python": Known(python, "asked")})
    image, system = row.cell("image"), row.cell("os")
    if not isinstance(image, Known) or not isinstance(system, Known):
        return "", ""
    glibc = matrix.find("os-glibc", {"os": system}).cell("glibc")
    tag = f"{image.value}:{python}-{system.value}"
    return tag, str(glibc.value) if isinstance(glibc, Known) else ""


def _comments(
    problem: Problem, changes: tuple[Choice, ...], plan: Plan, image_glibc: str
) -> Iterator[str]:
    # Not for which folder of which machine: such a file is passed on.
    yield f"made by fadoctor {__version__}: {_OUTCOMES[plan.outcome]}"
    if plan.assumed:
        yield f"assumed: {', '.join(plan.assumed)}"
    yield from shortcomings(plan)
    for owner in owners_of(changes):
        yield f"{owner}, a third party, built the wheel of flash-attn, not its authors"
    staying = _staying(problem, changes)
    left = [each for each in _there(problem.environment, changes) if each not in staying]
    if left:
        names = ", ".join(
            f"{_name(problem.environment, each)} {text_of(problem.environment, f'{each}.version')}"
            for each in left
        )
        yield f"also there, and not written here: {names}"
    here = text_of(problem.environment, "host.glibc")
    if here and image_glibc and is_older(image_glibc, here):
        yield f"proved with glibc {here}: the image has {image_glibc}"
