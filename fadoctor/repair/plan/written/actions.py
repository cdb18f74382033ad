"""From chosen states to ordered actions, each with its reason, its side effects and its undoing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import is_in, is_older, parse_version, version_part
from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.finding import Outcome
from fadoctor.model.packages import BESIDE_TORCH, PACKAGES, TORCH, TRITON
from fadoctor.model.plan import Action, ActionKind, Change
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.domain import bears_another_name
from fadoctor.repair.plan.choices.other_index import without_label
from fadoctor.repair.plan.choices.released import listed_packages
from fadoctor.repair.plan.choices.rocm_torch import left_on_amd
from fadoctor.repair.plan.choices.wheel_facts import text_of
from fadoctor.repair.plan.hub.hub_route import effects_of_hub, partner_of_kernels
from fadoctor.repair.plan.states.post_state import old_cuda_wheels
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING
from fadoctor.repair.plan.written.builds import build_actions
from fadoctor.repair.plan.written.dialect import Dialect, command_line
from fadoctor.repair.plan.written.effects import effects_of, range_of
from fadoctor.repair.plan.written.undoing import undo_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import Relation

_SAME = ("--force-reinstall", "--no-deps")
"""Options that replace a version by another file of the same version, and nothing else."""

_LATER = ("--frozen",)
"""Options by which uv changes what a project lists, and resolves nothing yet."""

_BESIDE = (TRITON, "sympy")
"""Distributions that torch requires in few releases, and that PyTorch's index has as well."""


class Writer:
    """Writes the actions of one solution."""

    def __init__(self, problem: Problem, dialect: Dialect, solved: frozenset[str]) -> None:
        """Take the problem, the installer, and the ids of rules whose findings will be gone."""
        self.problem = problem
        self.environment = problem.environment
        self.dialect = dialect
        self.solved = solved
        self.windows = problem.environment.is_windows
        self.is_fresh = False
        """Whether the commands are for an environment with nothing in it."""

    def package_actions(self, choices: Iterable[Choice]) -> Iterator[Action]:
        """Yield what removes, installs and builds, in the order of running.

        Everything that is installed is one command, for one resolution: of two the second could
        take back what the first has done.
        """
        changes = tuple(choices)
        files = (ChoiceKind.WHEEL, ChoiceKind.COMMUNITY)
        installed = [
            c for c in changes if c.kind in (ChoiceKind.INSTALL, ChoiceKind.FOLLOW, *files)
        ]
        installed.sort(key=lambda choice: choice.kind in files)
        is_alone = len(installed) == 1 and installed[0].kind in files
        options = _SAME if is_alone and self._is_there_already(installed[0]) else ()
        if not self.is_fresh:
            yield from self._removals(changes, () if options else tuple(installed))
        if installed:
            yield from self._by_list(tuple(installed), options)
            yield from self._from_index_of_torch(tuple(installed))
        for choice in changes:
            if choice.kind is ChoiceKind.BUILD:
                yield from build_actions(self, choice)

    def fresh_actions(self, choices: Iterable[Choice], folder: str) -> Iterator[Action]:
        """Yield what makes a new environment with all that is wished, and the changes in it.

        For an interpreter whose packages belong to the system, or that cannot be written to.
        """
        changes = tuple(choices)
        fresh = Dialect(
            "pip", f"{folder}\\Scripts\\python" if self.windows else f"{folder}/bin/python"
        )
        is_planned = self.environment.target.kind == "manifest"
        why = "" if is_planned else ": this one must not be changed"
        yield Action(
            ActionKind.VENV,
            f"make a new environment in {folder}{why}",
            (*self._maker(is_planned=is_planned), "-m", "venv", folder),
            undo=f"delete the folder {folder}",
        )
        changed = {choice.package for choice in changes}
        kept = [name for name in self.problem.wishes.packages if name not in changed]
        installs = [c for c in changes if c.kind is not ChoiceKind.REMOVE]
        again = [self._again(name) for name in kept if self._version(name)]
        inside = Writer(self.problem, fresh, self.solved)
        inside.is_fresh = True
        yield from inside.package_actions((*again, *installs))

    def _maker(self, *, is_planned: bool) -> tuple[str, ...]:
        """Return the Python that makes a new environment: of its version where it is assumed."""
        version = text_of(self.environment, "python.version").split(".")[:2]
        if is_planned and len(version) > 1:
            name = ".".join(version)
            return ("py", f"-{name}") if self.windows else (f"python{name}",)
        return (self.environment.target.python or ("py" if self.windows else "python3"),)

    def _again(self, package: str) -> Choice:
        """Return the choice to install again what is there already."""
        version = self._version(package)
        name = self._installed_name(package)
        if package in BESIDE_TORCH:
            index = self.problem.session.candidates.indexes.of(version_part(version, "local") or "")
            requirement = f"{name}=={version if index else _public(version)}"
            return Choice(package, ChoiceKind.INSTALL, version, version, requirement, index)
        if package != TORCH:
            return Choice(
                package, ChoiceKind.INSTALL, version, version, f"{name}=={_public(version)}"
            )
        candidates = self.problem.session.candidates
        index = candidates.indexes.of(version_part(version, "local") or "")
        again = Choice(package, ChoiceKind.INSTALL, version, version, f"{name}=={version}", index)
        return candidates.torch_like(self.environment) or again

    def _by_list(self, choices: tuple[Choice, ...], options: tuple[str, ...]) -> Iterator[Action]:
        """Yield what installs: one command for each list of a project, its dependencies last.

        uv resolves once, with the last one: of half of the changes there may be no resolution.
        """
        options = () if self.dialect.is_project else options
        groups: dict[tuple[str, ...], list[Choice]] = {}
        for choice in choices:
            for listed in self.dialect.lists_of(choice.requirement):
                groups.setdefault(listed, []).append(choice)
        *before, last = sorted(groups, reverse=True)
        is_uv = self.dialect.name == "uv-project"
        for listed in before:
            made = self._install(tuple(groups[listed]), _LATER if is_uv else options, listed)
            yield msgspec.structs.replace(made, requirements=()) if is_uv else made
        made = self._install(tuple(groups[last]), options, last)
        items = self._items(choices) if before and is_uv else made.requirements
        yield msgspec.structs.replace(made, requirements=items)
        if argv := self.dialect.install_extras(groups):
            effect = "poetry removes what other extras alone require: name those extras, too"
            text, undo = f"install the extra {argv[-1]} again", self.dialect.project_files
            yield Action(ActionKind.INSTALL, text, argv, side_effects=(effect,), undo=undo)

    def _removals(
        self, changes: tuple[Choice, ...], installed: tuple[Choice, ...]
    ) -> Iterator[Action]:
        """Yield what has to go, and what the installer would else find to be there already."""
        for choice in changes:
            if choice.kind is ChoiceKind.REMOVE:
                names = (self._installed_name(choice.package),)
                yield self._uninstall(names, (choice,), "remove " + names[0], self._effects(choice))
        if self.dialect.is_project:
            return  # its tool removes what no package of the lock file requires
        again = [choice for choice in installed if self._is_there_already(choice)]
        torch = next((c for c in installed if c.package == TORCH), None)
        old = old_cuda_wheels(self.environment, torch) if torch is not None else ()
        same = self.problem.post.same_folder.replaced(self.environment.facts, installed)
        old = (*old, *(name for name in same if name not in old))
        gone = (*(self._installed_name(choice.package) for choice in again), *old)
        if gone:
            about = (*again, *([torch] if torch is not None and torch not in again else []))
            about = about or installed
            text = "remove what is replaced: " + ", ".join(gone)
            missing = ", ".join(self._installed_name(choice.package) for choice in again)
            verb = "is" if len(again) == 1 else "are"
            effect = f"{missing} {verb} missing until the next step has finished"
            yield self._uninstall(gone, about, text, (effect,) if missing else ())

    def _is_there_already(self, choice: Choice) -> bool:
        """Return whether the installer would leave what is there, and so change nothing.

        It takes 2.8.0+cpu for the 2.8.0 that it is asked for, and a file by its version. What has
        the same module under another name it leaves as well.
        """
        if not self.is_fresh and bears_another_name(choice, self.environment):
            return True
        here = self._version(choice.package) or self._before(choice.distribution)
        if self.is_fresh or not here or choice.brings or choice.kind is ChoiceKind.FOLLOW:
            return False
        if choice.kind is ChoiceKind.INSTALL:
            return bool(choice.version) and is_in(here, f"=={choice.version}") is True
        return _public(here) == _public(choice.version)

    def _uninstall(
        self,
        names: tuple[str, ...],
        choices: tuple[Choice, ...],
        text: str,
        effects: tuple[str, ...],
    ) -> Action:
        return Action(
            ActionKind.UNINSTALL,
            text,
            self.dialect.uninstall(names),
            requirements=names,
            findings=self.findings_of(choices),
            side_effects=effects,
            undo=self.undo_of(names, self.dialect.remover(names)),
        )

    def _items(self, choices: tuple[Choice, ...]) -> tuple[str, ...]:
        return (
            *(choice.requirement for choice in choices),
            *partner_of_kernels(self.environment, choices),
        )

    def _install(
        self,
        choices: tuple[Choice, ...],
        options: tuple[str, ...],
        within: tuple[str, ...],
    ) -> Action:
        items = self._items(choices)
        names = tuple(self.name_of(choice) for choice in choices)
        index = next((choice.index for choice in choices if choice.index), "")
        mixed = _is_mixed(choices)
        urls = [choice.url for choice in choices if choice.url]
        return Action(
            ActionKind.INSTALL,
            "install " + ", ".join(_in_words(choice) for choice in choices),
            self.dialect.install(items, index, options, mixed=mixed, within=within),
            requirements=items,
            index=index,
            url=urls[0] if urls else "",
            findings=self.findings_of(choices),
            side_effects=(
                *self._steps_back(choices),
                *effects_of(choices),
                *(() if mixed else self._in_two_indexes(choices)),
                *left_on_amd(self.environment, choices),
                *effects_of_hub(self.environment, choices),
            ),
            undo=self.undo_of(names),
        )

    def _without_label(self, choices: tuple[Choice, ...]) -> list[Choice]:
        indexes = self.problem.session.candidates.indexes
        return without_label(choices, indexes, self.problem.platform)

    def _in_two_indexes(self, choices: tuple[Choice, ...]) -> Iterator[str]:
        """Yield what has to come from the index of torch, though PyPI has the same version."""
        for choice in self._without_label(choices):
            yield (
                f"PyPI's {choice.distribution} {choice.version} is another file than the one for "
                "this torch"
            )

    def _from_index_of_torch(self, choices: tuple[Choice, ...]) -> Iterator[Action]:
        """Yield what installs from one index what an installer takes from either, asked for all."""
        again = tuple(self._without_label(choices)) if _is_mixed(choices) else ()
        if not again or self.dialect.is_project:
            return
        items = tuple(choice.requirement for choice in again)
        yield Action(
            ActionKind.INSTALL,
            f"install {', '.join(items)} from the index of torch",
            self.dialect.install(items, again[0].index, _SAME),
            requirements=items,
            index=again[0].index,
            findings=self.findings_of(again),
            side_effects=tuple(self._in_two_indexes(choices)),
            undo=self.undo_of(tuple(self.name_of(choice) for choice in again)),
        )

    def _steps_back(self, choices: tuple[Choice, ...]) -> Iterator[str]:
        """Yield what becomes older of frameworks and torch: newer features stop working."""
        for choice in choices:
            here = text_of(self.environment, f"{choice.package}.version")
            is_torch = choice.package == TORCH and is_older(_public(choice.version), _public(here))
            if not is_torch and not self.problem.lowers(choice):
                continue
            yield f"{choice.distribution} is downgraded from {here} to {choice.version}"

    def findings_of(self, choices: tuple[Choice, ...]) -> tuple[str, ...]:
        """Return the ids of findings that go away, of rules that mention one of the packages."""
        packages = {choice.package for choice in choices}
        names = {choice.distribution for choice in choices}
        found = (
            relation.rule.id
            for relation in self.problem.relations
            if relation.rule.id in self.solved
            and (_is_about(relation, packages) or self._lacks(relation, names))
            and self._failed(relation)
        )
        return tuple(dict.fromkeys(found))

    def _lacks(self, relation: Relation, names: set[str]) -> bool:
        """Return whether a rule is about what its package requires, one of some names among it."""
        told = fact_mapping(self.environment.fact(f"{relation.package}.unmet_told"))
        return EVERYTHING in relation.mentions and not names.isdisjoint(told)

    def _failed(self, relation: Relation) -> bool:
        judgements = self.problem.judge(relation, self.environment)
        return any(each.outcome is Outcome.FAIL for each in judgements)

    def _effects(self, choice: Choice) -> tuple[str, ...]:
        keys = {"package": Known(choice.package, "asked")}
        effect = self.problem.session.matrix.find("removal-effects", keys).cell("effect")
        found = [str(effect.value)] if isinstance(effect, Known) else []
        name = self._installed_name(choice.package)
        needs = self.problem.requirements(self.environment)
        askers = sorted(asker for asker, wanted in needs.items() if name in wanted)
        if askers:
            found.append(f"required by {', '.join(askers)}")
        return tuple(found)

    def undo_of(self, names: tuple[str, ...], dialect: Dialect | None = None) -> str:
        """Return how to come back by hand; `fix --undo` does it exactly."""
        dialect = dialect or self.dialect
        if self.is_fresh or dialect.is_project:
            return dialect.project_files
        before = {name: self._before(name) for name in names}
        if before.get(TORCH):
            before |= self._libraries_of_nvidia()
        indexes = self.problem.session.candidates.indexes
        argvs = undo_commands(before, self.environment, dialect, indexes)
        # PowerShell 5.1, which Windows comes with, does not know &&.
        joint = "; " if self.windows else " && "
        return joint.join(command_line(argv, windows=self.windows) for argv in argvs)

    def _libraries_of_nvidia(self) -> dict[str, str]:
        """Return what torch brought along, and what another torch replaces by its own."""
        there = fact_mapping(self.environment.fact("packages.nvidia"))
        return {name: self._before(name) for name in sorted(there) if self._before(name)}

    def _before(self, name: str) -> str:
        """Return the version that is installed; facts come from outside, and it goes on paper."""
        found = listed_packages(self.environment).get(name, "")
        return found if parse_version(found) else ""

    def _version(self, package: str) -> str:
        return text_of(self.environment, f"{package}.version")

    def _installed_name(self, package: str) -> str:
        fact = self.environment.fact(f"{package}.distribution")
        names = PACKAGES.get(package, (package,))
        return str(fact.value) if isinstance(fact, Known) and fact.value in names else names[0]

    def name_of(self, choice: Choice) -> str:
        """Return the distribution that a choice replaces, or the one that it adds."""
        is_new = choice.kind is ChoiceKind.INSTALL and not self._version(choice.package)
        return choice.distribution if is_new else self._installed_name(choice.package)

    def changes(self, choices: Iterable[Choice]) -> Iterator[Change]:
        """Yield what each choice replaces by what."""
        for choice in choices:
            name = self.name_of(choice)
            before = self._before(name) or self._version(choice.package)
            after = choice.version
            if choice.kind is ChoiceKind.FOLLOW or (
                choice.kind is ChoiceKind.INSTALL and not after
            ):
                after = "what the installer finds"
            elif choice.kind is ChoiceKind.INSTALL:
                after = range_of(choice) or after
            yield Change(name, before, "" if choice.kind is ChoiceKind.REMOVE else after)


def _is_mixed(choices: tuple[Choice, ...]) -> bool:
    """Return whether some come from the index that is configured, and others from torch's."""
    return any(not each.index and each.distribution not in _BESIDE for each in choices)


def _is_about(relation: Relation, packages: set[str]) -> bool:
    return bool(relation.mentions & packages) or relation.package in packages


def _in_words(choice: Choice) -> str:
    if choice.kind in (ChoiceKind.WHEEL, ChoiceKind.COMMUNITY):
        return f"{choice.distribution} {choice.version} (the prebuilt wheel for this torch)"
    return choice.requirement


def _public(version: str) -> str:
    return version_part(version, "base") or version
