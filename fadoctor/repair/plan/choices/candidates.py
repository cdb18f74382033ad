"""What could be installed instead: the releases, builds and files that the matrix knows.

Candidates bring the facts that they would give; whether those fit together is for the engine.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from packaging.markers import Marker

from fadoctor.knowledge.matrix.query import cell_words, typed_cell
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere
from fadoctor.knowledge.matrix.versions import parse_specifier, version_key, version_part
from fadoctor.knowledge.matrix.wheels import TRITON_WINDOWS
from fadoctor.model.fact import Absent, Known, fact_mapping
from fadoctor.model.packages import PACKAGES, TORCH, TRITON, XFORMERS
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.files import Files
from fadoctor.repair.plan.choices.helpers import Helpers
from fadoctor.repair.plan.choices.index_wheels import IndexWheels
from fadoctor.repair.plan.choices.indexes import PYPI, Indexes
from fadoctor.repair.plan.choices.jetson import for_jetson
from fadoctor.repair.plan.choices.known_code import with_code_known
from fadoctor.repair.plan.choices.lost_torch import cuda_of_labels, lost_torch, minor_of_labels
from fadoctor.repair.plan.choices.released import released
from fadoctor.repair.plan.choices.releases import Releases, python_of
from fadoctor.repair.plan.choices.wheel_facts import known, text_of
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment


_X86, _ARM = "linux_x86_64", "linux_aarch64"
WINDOWS = "win_amd64"


class Candidates:
    """The candidates of one knowledge base; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix of all tables, those that are compiled apart included."""
        self.tables = matrix.tables
        self.matrix = matrix
        self.indexes = Indexes(matrix)
        self.files = Files(matrix)
        self.listed = Releases(matrix, self.indexes)
        self.index_wheels = IndexWheels(matrix, self.indexes)
        self.helpers = Helpers(matrix)
        self._torch: dict[tuple[str, str], tuple[Choice, ...]] = {}
        self._triton: dict[tuple[str, InstalledWhere], tuple[Choice, ...]] = {}

    def torch(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the torch builds for this platform and Python, nearest first, then newest.

        Of one release that is first whose CUDA is nearest to the one that is here, or that labels
        of the files beside it name. A torch that was replaced by a build for the CPU is meant where
        its companions still tell of it.
        """
        platform, python = text_of(environment, "host.platform"), python_of(environment)
        if not platform or not python:
            return ()
        asked = (platform, python)
        if asked not in self._torch:
            self._torch[asked] = tuple(self._torch_builds(platform, python))
        lost = lost_torch(environment, self.matrix)
        here = lost.release if lost else version_part(text_of(environment, "torch.version"), "base")
        here = minor_of_labels(environment) or here
        fitting = for_jetson(self._torch[asked], environment, self.matrix)
        fitting = with_code_known(fitting, environment, self.matrix)
        found = [self._at_distance(choice, here) for choice in fitting]
        cuda = lost.cuda if lost else text_of(environment, "torch.cuda")
        cuda = cuda or cuda_of_labels(environment, self.matrix)
        return tuple(sorted(found, key=lambda c: (c.distance, c.age, *_cuda_apart(c, cuda))))

    def torch_for_some_python(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the torch builds for this platform and whatever Python, newest first.

        What a build is does not depend on the Python; whether this one can install it does.
        """
        asked = (text_of(environment, "host.platform"), "")
        if asked not in self._torch:
            self._torch[asked] = tuple(self._torch_of_all_pythons(asked[0]))
        return self._torch[asked]

    def _torch_of_all_pythons(self, platform: str) -> list[Choice]:
        pythons = {
            python for row in self.tables["torch-releases"].rows
            for python in cell_words(row.get("python"))
        }  # fmt: skip
        found: dict[str, Choice] = {}
        for python in sorted(pythons, key=lambda each: version_key(each.rstrip("t")), reverse=True):
            for choice in self._torch_builds(platform, python):
                found.setdefault(choice.key, choice)
        return sorted(found.values(), key=lambda choice: choice.age)

    def torch_like(self, environment: Environment) -> Choice | None:
        """Return the candidate that is the torch which is installed, where there is one."""
        build, version = text_of(environment, "torch.build"), text_of(environment, "torch.version")
        for choice in self.torch(environment):
            same = choice.facts["torch.build"]
            if isinstance(same, Known) and same.value == build and choice.version == version:
                return choice
        return None

    @cached_property
    def _minors(self) -> dict[str | None, int]:
        """The minor releases of torch, oldest first, each with its place."""
        rows = self.tables["torch-releases"].rows
        found = {
            version_part(version, "minor") for row in rows for version in cell_words(row["version"])
        }
        return {minor: at for at, minor in enumerate(sorted(filter(None, found), key=version_key))}

    def _at_distance(self, choice: Choice, here: str | None) -> Choice:
        """Return a torch with how far it is from the one that is here: a patch is nearest.

        What was made for 2.7.0 was tested with nothing as new as 2.11.
        """
        if here is not None and version_part(choice.version, "base") == here:
            return msgspec.structs.replace(choice, distance=1)
        minors = [version_part(each, "minor") for each in (choice.version, here or "")]
        places = [self._minors[minor] for minor in minors if minor in self._minors]
        steps = abs(places[0] - places[1]) if len(places) == len(minors) else 1
        return msgspec.structs.replace(choice, distance=2 + steps)

    def _torch_builds(self, platform: str, python: str) -> list[Choice]:
        releases = {
            version: row
            for row in self.tables["torch-releases"].rows
            if platform in cell_words(row["platform"])
            for version in cell_words(row["version"])
        }
        order = sorted(releases, key=version_key, reverse=True)
        found = []
        for row in self.tables["torch-builds"].rows:
            if platform not in cell_words(row["platform"]):
                continue
            for version in cell_words(row["version"]):
                release = releases.get(version)
                if release is None or python not in cell_words(release.get("python")):
                    continue
                # of a row for "pypi cu128" PyPI's is the one to take: no other index is needed
                build = cell_words(row["build"])[0]
                requires = torch_requires(release, platform, python)
                age = order.index(version)
                found.append(self._torch_choice(version, build, row, requires, age))
        return [choice for choice in found if choice is not None]

    def _torch_choice(
        self, version: str, build: str, row: Row, requires: dict[str, str], age: int
    ) -> Choice | None:
        index = self.indexes.of(build)
        sm = typed_cell(row.get("sm"), "list")
        if (build != PYPI and not index) or not isinstance(sm, tuple):
            return None  # nobody knows where it is, or for which GPUs it has code
        full = version if build == PYPI else f"{version}+{build}"
        facts = released(
            TORCH, full, build=build, cuda=row["cuda"], hip=None, cxx11_abi=row["cxx11_abi"]
        )
        facts["torch.requires"] = Known(requires, AFTER)
        return Choice(
            TORCH, ChoiceKind.INSTALL, full, full, f"torch=={full}", index, facts=facts, age=age
        )

    def triton(
        self, environment: Environment, before: Environment | None = None
    ) -> tuple[Choice, ...]:
        """Return the triton that the environment's torch requires, where it requires one.

        On Windows torch requires none, and PyPI's has no file: there it is triton-windows. On ARM
        not all builds for CUDA require one: beside a release of torch that was there `before`, it
        is the one that this release requires on x86. A text holds no metadata: the table serves.
        """
        wanted = fact_mapping(environment.fact("torch.requires")).get(TRITON, "")
        if not wanted and isinstance(environment.fact("torch.requires"), Absent):
            wanted = self._triton_of_table(environment)
        if before is not None and not wanted:
            wanted = self._triton_of_release(environment, before)
        on_windows = text_of(environment, "host.platform") == WINDOWS and not wanted
        if on_windows or text_of(environment, "triton.distribution") == TRITON_WINDOWS:
            return self._triton_windows(environment)
        place = InstalledWhere(text_of(environment, "host.platform"), python_of(environment))
        asked = (wanted, place)
        if wanted and asked not in self._triton:
            allowed = parse_specifier(wanted)
            found = [
                _triton(version, row)
                for row in self.tables["triton-releases"].rows
                for version in cell_words(row["version"])
                if allowed is not None
                and version in allowed
                and self.listed.published.has_file(TRITON, version, place)
            ]
            found.sort(key=lambda choice: version_key(choice.version), reverse=True)
            self._triton[asked] = tuple(found)
        return self._triton.get(asked, ())

    def _triton_of_table(self, environment: Environment) -> str:
        """Return the triton that the release of a torch for CUDA requires by its table."""
        torch = version_part(text_of(environment, "torch.version"), "base")
        platform, python = text_of(environment, "host.platform"), python_of(environment)
        if not torch or not text_of(environment, "torch.cuda"):
            return ""
        rows = (
            torch_requires(row, platform, python)
            for row in self.tables["torch-releases"].rows
            if platform in cell_words(row["platform"]) and torch in cell_words(row["version"])
        )
        return next(rows, {}).get(TRITON, "")

    def _triton_of_release(self, environment: Environment, before: Environment) -> str:
        """Return what a torch for CUDA on ARM, of a release that stays, requires on x86."""
        torches = [text_of(each, "torch.version") for each in (before, environment)]
        here, torch = (version_part(each, "base") or "" for each in torches)
        is_arm = text_of(environment, "host.platform") == _ARM
        if not is_arm or here != torch or not text_of(environment, "torch.cuda"):
            return ""
        rows = self.tables["torch-releases"].rows
        own = (
            row for row in rows if row["platform"] == _X86 and torch in cell_words(row["version"])
        )
        return str(next((row.get(TRITON) or "" for row in own), ""))

    def _triton_windows(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the newest triton-windows for the torch and the Python that are here."""
        torch = version_part(text_of(environment, "torch.version"), "minor")
        found = [
            _triton(version, row, TRITON_WINDOWS)
            for row in self.tables["triton-windows-releases"].rows
            for version in cell_words(row["version"])
            if torch in cell_words(row["torch_minors"])
            and python_of(environment) in cell_words(row["python"])
        ]
        newest = sorted(found, key=lambda choice: version_key(choice.version))
        return tuple(newest[-1:])

    def flash_attn(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the files that load beside the environment's torch, newest first."""
        return self.files.flash_attn(environment)

    def flash_attn_3(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the files of FlashAttention-3 that load beside the environment's torch."""
        return self.files.flash_attn_3(environment)

    def releases(self, package: str, environment: Environment) -> tuple[Choice, ...]:
        """Return the releases of a package that ask for the environment's torch, newest first."""
        found = self.listed.fitting(package, environment)
        if package != XFORMERS:
            return found
        others = (
            each for choice in found for each in self.index_wheels.instead(choice, environment)
        )
        return (*others, *found)


def torch_requires(release: Row, platform: str, python: str) -> dict[str, str]:
    """Return what a release of torch requires on a platform and a Python, as the table says it."""
    system, _, machine = platform.partition("_")
    where = {
        "platform_system": system.capitalize(),
        "platform_machine": machine,
        "python_version": python.rstrip("t"),
    }
    pin, marker = release.get(TRITON), release.get("triton_marker")
    if not isinstance(pin, str) or (isinstance(marker, str) and not Marker(marker).evaluate(where)):
        return {}
    return {TRITON: pin}


def _triton(version: str, row: Row, name: str = PACKAGES[TRITON][0]) -> Choice:
    facts = released(TRITON, version, distribution=name)
    facts["triton.requires"] = Known({}, AFTER)
    facts["toolkit.ptxas.version"] = known(row.get("ptxas"))
    return Choice(TRITON, ChoiceKind.INSTALL, version, version, f"{name}=={version}", facts=facts)


def _cuda_apart(choice: Choice, here: str) -> tuple[int, int]:
    """Return how far the CUDA of a torch is from another one: in major and in minor versions."""
    theirs = choice.facts.get("torch.cuda")
    if not here or not isinstance(theirs, Known):
        return (0, 0)
    (major, minor), (other, of_other) = map(_numbers, (here, str(theirs.value)))
    return (abs(major - other), abs(minor - of_other) if major == other else -of_other)


def _numbers(cuda: str) -> tuple[int, int]:
    major, _, minor = cuda.partition(".")
    return (int(major), int(minor.partition(".")[0] or "0"))
