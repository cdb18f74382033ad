"""What could be installed instead: the releases, builds and files that the matrix knows.

Candidates bring the facts that they would give; whether those fit together is for the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.matrix.query import typed_cell
from fadoctor.matrix.versions import (
    is_older,
    parse_specifier,
    parse_version,
    version_key,
    version_part,
)
from fadoctor.matrix.wheel_label import STEM, wheel_facts
from fadoctor.matrix.wheels import OFFICIAL, Wanted, WheelFile, Wheels
from fadoctor.model.fact import Fact, Known
from fadoctor.plan.choice import Choice, Kind, distribution_of
from fadoctor.plan.compiled import AFTER, by_label
from fadoctor.plan.wheel_facts import inside, known, needs_newer_glibc, text_of, wanted_of

if TYPE_CHECKING:
    from fadoctor.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment

RELEASES = {
    "xformers": ("xformers-releases", {"torch": "torch"}),
    "vllm": (
        "vllm-releases",
        {
            "torch": "torch",
            "xformers": "xformers",
            "flash_attn": "vllm-flash-attn",
            "flashinfer": "flashinfer-python",
            "transformers": "transformers",
        },
    ),
    "unsloth": (
        "unsloth-releases",
        {
            "torch": "torch",
            "xformers": "xformers",
            "triton": "triton",
            "transformers": "transformers",
            "trl": "trl",
            "bitsandbytes": "bitsandbytes",
            "unsloth_zoo": "unsloth-zoo",
        },
    ),
}
"""Package -> its table of releases, and the columns that are requirements -> of what."""


def common(package: str, version: str, **more: object) -> dict[str, Fact]:
    """Return what every installation of a version gives."""
    facts = {
        "version": version,
        "distribution": distribution_of(package),
        "direct_url": None,
        "editable": False,
        "missing_files": 0,
        **more,
    }
    return {f"{package}.{name}": known(value) for name, value in facts.items()}


def released(package: str, version: str, **more: object) -> dict[str, Fact]:
    """Return what a release of the tables gives, whose compiled files nobody has read here.

    It is offered for the Python that is here alone, so its own wish is met.
    """
    python = {f"{package}.requires_python": known(None)}
    return {**by_label(package), **python, **common(package, version, **more)}


class Candidates:
    """The candidates of one knowledge base; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix of all tables, those that are compiled apart included."""
        tables = matrix.tables
        self.tables = tables
        self.matrix = matrix
        self.wheels = Wheels(tables)
        self.bad = {
            word for row in tables["flash-attn-known-bad"].rows for word in _words(row["version"])
        }
        self._flash_attn_files: dict[tuple[Wanted, str, str], tuple[Choice, ...]] = {}
        self._torch: dict[tuple[str, str], tuple[Choice, ...]] = {}
        self._releases: dict[str, tuple[Choice, ...]] = {}

    def torch(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the torch builds for this platform and Python, nearest first, then newest."""
        platform, python = text_of(environment, "host.platform"), self._python(environment)
        if not platform or not python:
            return ()
        asked = (platform, python)
        if asked not in self._torch:
            self._torch[asked] = tuple(self._torch_builds(platform, python))
        here = version_part(text_of(environment, "torch.version"), "base")
        found = [_at_distance(choice, here) for choice in self._torch[asked]]
        return tuple(sorted(found, key=lambda choice: (choice.distance, choice.age)))

    def torch_like(self, environment: Environment) -> Choice | None:
        """Return the candidate that is the torch which is installed, where there is one."""
        build, version = text_of(environment, "torch.build"), text_of(environment, "torch.version")
        for choice in self.torch(environment):
            same = choice.facts["torch.build"]
            if isinstance(same, Known) and same.value == build and choice.version == version:
                return choice
        return None

    def _python(self, environment: Environment) -> str:
        """Return the Python as torch's table writes it: ``3.12``, ``3.13t``."""
        minor = version_part(text_of(environment, "python.version"), "minor") or ""
        return minor + ("t" if text_of(environment, "python.abi_tag").endswith("t") else "")

    def _torch_builds(self, platform: str, python: str) -> list[Choice]:
        releases = {
            version: row
            for row in self.tables["torch-releases"].rows
            if platform in _words(row["platform"])
            for version in _words(row["version"])
        }
        order = sorted(releases, key=version_key, reverse=True)
        found = []
        for row in self.tables["torch-builds"].rows:
            if platform not in _words(row["platform"]):
                continue
            for version in _words(row["version"]):
                release = releases.get(version)
                if release is None or python not in _words(release.get("python")):
                    continue
                # of a row for "pypi cu128" PyPI's is the one to take: no other index is needed
                build = _words(row["build"])[0]
                found.append(self._torch_choice(version, build, row, release, order.index(version)))
        return [choice for choice in found if choice is not None]

    def _torch_choice(
        self, version: str, build: str, row: Row, release: Row, age: int
    ) -> Choice | None:
        index = self.index_of(build)
        sm = typed_cell(row.get("sm"), "list")
        if (build != "pypi" and not index) or not isinstance(sm, tuple):
            return None  # nobody knows where it is, or for which GPUs it has code
        full = version if build == "pypi" else f"{version}+{build}"
        requires = {"triton": str(release["triton"])} if release.get("triton") else {}
        facts = released(
            "torch", full, build=build, cuda=row["cuda"], hip=None, cxx11_abi=row["cxx11_abi"]
        )
        facts["torch.requires"] = Known(requires, AFTER)
        return Choice(
            "torch", Kind.INSTALL, full, full, f"torch=={full}", index, facts=facts, age=age
        )

    def index_of(self, build: str) -> str:
        """Return the index that serves a build of torch, "" for PyPI's and unknown ones."""
        cell = self.matrix.find("torch-indexes", {"build": Known(build, "asked")})
        fact = cell.cell("index")
        return str(fact.value) if isinstance(fact, Known) else ""

    def triton(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the triton that the environment's torch requires, where it requires one."""
        wanted = mapping_of(environment.fact("torch.requires")).get("triton", "")
        if not wanted:
            return ()
        allowed = parse_specifier(wanted)
        found = [
            _triton(version, row)
            for row in self.tables["triton-releases"].rows
            for version in _words(row["version"])
            if allowed is not None and version in allowed
        ]
        return tuple(sorted(found, key=lambda choice: version_key(choice.version), reverse=True))

    def flash_attn(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the files that load beside the environment's torch, newest first."""
        wanted = wanted_of(environment)
        if wanted is None:
            return ()
        asked = (wanted, text_of(environment, "host.glibc"), _suffix(environment))
        if asked not in self._flash_attn_files:
            self._flash_attn_files[asked] = self._fitting(wanted, environment)
        return self._flash_attn_files[asked]

    def _fitting(self, wanted: Wanted, environment: Environment) -> tuple[Choice, ...]:
        files = [f for f in self.wheels.fitting(wanted) if self._is_good(f.version)]
        versions = list(dict.fromkeys(file.version for file in files))
        found: dict[tuple[str, str, str], Choice] = {}
        for file in files:
            if not needs_newer_glibc(environment, file):
                same = (file.version, file.source, str(file.sm))
                age = versions.index(file.version)
                found.setdefault(same, self._flash_attn(environment, file, age))
        return tuple(found.values())

    def _is_good(self, version: str) -> bool:
        """Return whether a release of flash-attn is a FlashAttention-2 without a known fault."""
        since = self.matrix.find("backends", {"backend": Known("fa2", "asked")}).cell("since")
        first = str(since.value) if isinstance(since, Known) else "0"
        return version not in self.bad and is_older(version, first) is not True

    def _flash_attn(self, environment: Environment, file: WheelFile, age: int) -> Choice:
        suffix = _suffix(environment) or f".{file.python}.so"
        facts = released("flash_attn", file.version, direct_url=file.url, interface=True)
        facts["flash_attn.namespace_only"] = known(False)
        facts["flash_attn.extension"] = known(STEM + suffix)
        tag = file.python.partition("-")[0]
        facts["flash_attn.wheel.tags"] = known((f"{tag}-{tag}-{file.platform}",))
        facts["flash_attn.requires"] = Known({"torch": "", "einops": ""}, AFTER)
        version = Known(file.version, AFTER)
        facts |= wheel_facts(version, facts["flash_attn.extension"], facts)
        facts |= inside(file)
        kind = Kind.WHEEL if file.source == OFFICIAL else Kind.COMMUNITY
        requirement = f"flash-attn @ {file.url}"
        return Choice(
            "flash_attn", kind, file.name, file.version, requirement,
            url=file.url, facts=facts, age=age,
        )  # fmt: skip

    def releases(self, package: str, environment: Environment) -> tuple[Choice, ...]:
        """Return the releases of a package that ask for the environment's torch, newest first."""
        if package not in RELEASES:
            return ()
        if package not in self._releases:
            self._releases[package] = tuple(self._all_releases(package))
        torch, python = text_of(environment, "torch.version"), self._python(environment).rstrip("t")
        return tuple(
            choice
            for choice in self._releases[package]
            if _accepts(choice.facts[f"{package}.requires"], "torch", torch)
            and is_in_specifier(python, choice.facts.get(f"{package}.requires_python"))
        )

    def _all_releases(self, package: str) -> list[Choice]:
        table, columns = RELEASES[package]
        rows = {v: row for row in self.tables[table].rows for v in _words(row["version"])}
        found = []
        for age, version in enumerate(sorted(rows, key=version_key, reverse=True)):
            row = rows[version]
            if not columns.keys() <= row.keys():
                continue  # a blank: nobody knows what it requires, so nothing proves that it fits
            requires = {
                name: str(row[column]) for column, name in columns.items() if row.get(column)
            }
            facts = released(package, version)
            facts[f"{package}.requires"] = Known(requires, AFTER)
            if isinstance(row.get("python"), str):
                facts[f"{package}.requires_python"] = known(row["python"])
            if package == "xformers":
                facts["xformers.extension"] = known("_C.so")
            requirement = f"{distribution_of(package)}=={version}"
            found.append(
                Choice(package, Kind.INSTALL, version, version, requirement, facts=facts, age=age)
            )
        return found


def _suffix(environment: Environment) -> str:
    return text_of(environment, "python.ext_suffix")


def is_in_specifier(version: str, requires: Fact | None) -> bool:
    """Return whether a Python is in a ``Requires-Python``; what is not known is no hindrance."""
    if not isinstance(requires, Known):
        return True
    allowed = parse_specifier(str(requires.value))
    return allowed is None or allowed.contains(f"{version}.0", prereleases=True)


def _accepts(requires: Fact, name: str, version: str) -> bool:
    wanted = mapping_of(requires).get(name, "")
    allowed, parsed = parse_specifier(wanted) if wanted else None, parse_version(version)
    if allowed is None or not version:
        return True
    return parsed is not None and allowed.contains(parsed, prereleases=True)


def mapping_of(fact: Fact) -> dict[str, str]:
    """Return the entries of a fact that is a mapping; none of any other."""
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, dict) else {}


def _triton(version: str, row: Row) -> Choice:
    facts = released("triton", version)
    facts["triton.requires"] = Known({}, AFTER)
    facts["toolkit.ptxas.version"] = known(row.get("ptxas"))
    return Choice("triton", Kind.INSTALL, version, version, f"triton=={version}", facts=facts)


def _at_distance(choice: Choice, here: str | None) -> Choice:
    same = here is not None and version_part(choice.version, "base") == here
    return msgspec.structs.replace(choice, distance=1 if same else 2)


def _words(cell: object) -> list[str]:
    return str(cell).split() if isinstance(cell, str) else []
