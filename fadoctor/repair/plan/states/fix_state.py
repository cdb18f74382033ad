"""The facts as they would be after a fix: its typed steps, carried out on facts only.

The installer is foreseen as far as the matrix knows releases: what satisfies a requirement stays as
it is, what a new package pins follows it, and a flash-attn without a file for this torch compiles.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model import packages
from fadoctor.model.catalogue import generic_name
from fadoctor.model.environment import Environment
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, TORCH, package_of
from fadoctor.repair.plan.choices.build import build_choices, hindrance, missing_tools
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, remove
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.wheel_facts import text_of, wanted_of
from fadoctor.repair.plan.states.compiled import AFTER
from fadoctor.repair.plan.states.requirements import requirements_of, violations
from fadoctor.repair.plan.states.variables import with_variables
from fadoctor.sources.manifests.requirement_text import name_of_url, version_of_url
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.fix import Effect, Fix, Step
    from fadoctor.repair.plan.search.problem import Session

# flash-attn==2.8.3, torch>=2.4,<2.9, flash-attn @ https://...
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,99})(?:\[[^\]]{0,99}\])?"
    r"(?: ?@ ?(?P<url>https://\S{1,500})|(?P<specifier>[<>=!~ ][^@]{0,299})?)"
)
_WHEEL = ".whl"
_COMMANDS = (StepKind.INSTALL, StepKind.UNINSTALL, StepKind.SET, StepKind.UNSET)
_FOLLOWING = 3
"""How far what is required by what is required follows."""


class After(msgspec.Struct, frozen=True):
    """What a fix comes to."""

    environment: Environment
    says_nothing: bool = False
    """It is prose only: nothing is known to change."""
    has_prose: bool = False
    """A part of it is prose, whose effect nobody knows."""
    is_setting: bool = False
    """It only tells programs what to use: what is installed stays as it is."""
    cannot: str = ""
    """Why a command of it would end in an error."""


class FixState:
    """Carries fixes out on facts."""

    def __init__(self, session: Session) -> None:
        """Take the session, whose candidates say what a release gives."""
        self.session = session

    def after(self, environment: Environment, fix: Fix) -> After:
        """Return the environment after a fix."""
        now, cannot = environment, ""
        gone: set[str] = set()
        for step in fix.steps:
            match step.kind:
                case StepKind.UNINSTALL:
                    gone |= {normalise_name(item) for item in step.items}
                    now = self._without(now, step.items)
                case StepKind.INSTALL:
                    again = "--force-reinstall" in step.options
                    for item in step.items:
                        now, problem = self._with(now, item, step, again=again)
                        cannot = cannot or problem
                case StepKind.SET | StepKind.UNSET:
                    now = with_variables(now, _values(step))
                case _:
                    pass
            now = _with_effects(now, step.effects)
        prose = [step for step in fix.steps if _is_prose(step)]
        is_setting = any(step.effects for step in fix.steps) and all(
            step.kind not in _COMMANDS and all(name.startswith("config.") for name in step.effects)
            for step in fix.steps
        )
        return After(now, len(prose) == len(fix.steps), bool(prose), is_setting, cannot)

    def _without(self, environment: Environment, names: Iterable[str]) -> Environment:
        for name in names:
            plain = normalise_name(name)
            package = package_of(plain, plain)
            installed = text_of(environment, f"{package}.distribution")
            if package in PACKAGES and installed and installed != plain:
                continue  # another distribution of the package: flash-attn beside flash-attn-4
            environment = _nvidia(environment, plain, None)
            environment = self.session.post.apply(environment, remove(package))
        return environment

    def _with(
        self, environment: Environment, requirement: str, step: Step, *, again: bool
    ) -> tuple[Environment, str]:
        """Return the environment with a requirement installed, and why that would fail."""
        match = _REQUIREMENT.fullmatch(_named(requirement))
        if match is None:
            return environment, ""
        name, specifier = normalise_name(match["name"]), (match["specifier"] or "").replace(" ", "")
        if not again and not match["url"] and _is_there(environment, name, specifier):
            return environment, ""
        package = package_of(name, name)
        if package == FLASH_ATTN:
            choice, problem = self._flash_attn(environment, specifier, match["url"] or "")
            if problem:
                return environment, problem
        else:
            choice = self._release(environment, package, specifier, step.index)
        if choice is None and (match["url"] or "").endswith(_WHEEL):
            specifier = version_of_url(match["url"]).partition("+")[0]
        choice = choice or self._end(name, specifier) or _nothing_known(name, specifier)
        environment = _nvidia(environment, name, choice.version)
        environment = self.session.post.apply(environment, choice)
        return self._followed(environment, package, "--no-deps" in step.options), ""

    def _followed(self, environment: Environment, package: str, alone: bool) -> Environment:  # noqa: FBT001 -- an option of the installer
        """Return the environment with what a new package pins, as an installer brings it."""
        for _ in range(0 if alone else _FOLLOWING):
            name = text_of(environment, f"{package}.distribution")
            unmet = [
                each
                for each in violations(environment, requirements_of(environment, {}))
                if each.distribution == name
            ]
            for each in unmet:
                needed = package_of(each.needs, each.needs)
                choice = self._release(environment, needed, each.specifier, "")
                choice = choice or offer(f"{each.needs}{each.specifier}")
                if choice is not None:
                    environment = self.session.post.apply(environment, choice)
            package = TORCH if any(each.needs == TORCH for each in unmet) else ""
            if not package:
                break
        return environment

    def _release(
        self, environment: Environment, package: str, specifier: str, index: str
    ) -> Choice | None:
        """Return the newest known release that satisfies a specifier, None where none is known."""
        candidates = self.session.candidates
        match package:
            case packages.TORCH:
                builds = candidates.torch(environment)
                if not python_of(environment):
                    builds = candidates.torch_for_some_python(environment)
                found = [choice for choice in builds if choice.index == index]
                found = found or [choice for choice in builds if not index]
                found.sort(key=lambda choice: choice.age)
            case packages.TRITON:
                found = list(candidates.triton(environment))
            case packages.FLASH_ATTN:
                return None
            case _:
                found = list(candidates.releases(package, environment))
        return next((c for c in found if _is_in(c.version, specifier)), None)

    def _end(self, name: str, specifier: str) -> Choice | None:
        """Return the newest known release of a range that ends, which is what an installer takes.

        None where the table of its releases does not reach that end.
        """
        version = (
            self.session.candidates.helpers.newest_in(name, specifier) if "<" in specifier else ""
        )
        return offer(f"{name}=={version}") if version else None

    def _flash_attn(
        self, environment: Environment, specifier: str, url: str
    ) -> tuple[Choice | None, str]:
        """Return the file that setup.py downloads, or that is named; else what compiling gives."""
        files = self.session.candidates.flash_attn(environment)
        if url:
            return next((file for file in files if file.url == url), None), ""
        wanted, version = wanted_of(environment), specifier.removeprefix("==")
        if wanted is None or not specifier.startswith("==") or not parse_version(version):
            return None, ""
        file = self.session.candidates.files.wheels.asked_for(version, wanted).file
        if file is not None:
            return next((choice for choice in files if choice.key == file.name), None), ""
        matrix = self.session.matrix
        problem = hindrance(environment, matrix, version)
        problem = problem or "; ".join(missing_tools(environment, matrix, version))
        if problem:
            return None, f"flash-attn {version} has no file for this torch: {problem}"
        built = build_choices(environment, matrix, self.session.candidates, with_tools=False)
        return next((choice for choice in built if choice.version == version), None), ""


def _named(requirement: str) -> str:
    """Return a requirement with the name of the file that is given by its address alone."""
    is_file = requirement.startswith("https://") and requirement.endswith(_WHEEL)
    return f"{name_of_url(requirement)} @ {requirement}" if is_file else requirement


def _nothing_known(name: str, specifier: str) -> Choice:
    """Return the choice of a release that no table knows."""
    choice = offer(f"{name}{specifier}")
    return choice or Choice(package_of(name, name), ChoiceKind.INSTALL, facts={})


def _is_there(environment: Environment, name: str, specifier: str) -> bool:
    """Return whether the installer finds a requirement satisfied, and does nothing."""
    package = package_of(name, name)
    version = environment.facts.get(f"{package}.version")
    if version is None:
        installed = environment.fact("packages.installed")
        there = installed.value if isinstance(installed, Known) else {}
        found = there.get(name, "") if isinstance(there, dict) else ""
        return bool(found) and _is_in(found, specifier)
    distribution = text_of(environment, f"{package}.distribution")
    if not isinstance(version, Known) or distribution not in ("", name):
        return False
    return _is_in(str(version.value), specifier)


def _is_in(version: str, specifier: str) -> bool:
    """Return whether a version satisfies a specifier; a local part counts where asked."""
    allowed, parsed = parse_specifier(specifier) if specifier else None, parse_version(version)
    if not specifier:
        return True
    return allowed is not None and parsed is not None and allowed.contains(parsed, prereleases=True)


def _nvidia(environment: Environment, name: str, version: str | None) -> Environment:
    """Return the environment with another nvidia wheel; None removes it."""
    fact = environment.fact("packages.nvidia")
    if not name.startswith("nvidia-") or not isinstance(fact, Known):
        return environment
    wheels = dict(fact.value) if isinstance(fact.value, dict) else {}
    wheels.pop(name, None)
    if version is not None:
        wheels[name] = version
    return _changed(environment, {"packages.nvidia": Known(wheels, AFTER)})


def _values(step: Step) -> dict[str, str]:
    """Return the variables of a step with their values, "" for one that it unsets."""
    pairs = (item.partition("=") for item in step.items)
    return {name: value if step.kind is StepKind.SET else "" for name, _, value in pairs}


def _with_effects(environment: Environment, effects: dict[str, Effect]) -> Environment:
    """Return the environment with declared effects; ``gpu[].visible`` stands for every GPU's."""
    changes: dict[str, Fact] = {}
    for name, value in effects.items():
        fact: Fact = Absent(AFTER) if value is None else Known(value, AFTER)
        several = [each for each in environment.facts if generic_name(each) == name]
        changes |= dict.fromkeys(several if "[]" in name else (name,), fact)
    return _changed(environment, changes)


def _changed(environment: Environment, changes: dict[str, Fact]) -> Environment:
    return msgspec.structs.replace(environment, facts={**environment.facts, **changes})


def _is_prose(step: Step) -> bool:
    return step.kind not in _COMMANDS and not step.effects
