"""Claims held against each other: facts that are Known, and all else Unknown, never Absent."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fadoctor.model.catalogue import CAUSES, CONFIG, LATER, build_catalogue
from fadoctor.model.environment import SUBJECT_LIMIT, UNSAID
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.pasted.claims import AVAILABLE, COMPLETE, RUNTIME, Claim
from fadoctor.sources.pasted.requirement_lines import TOOL as UNMET
from fadoctor.sources.pasted.torch_facts import torch_facts
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.sources.probes.world import known, unknown
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

_PACKAGE = "package:"
LISTS = frozenset({"a list of packages", "pip freeze", "pip show", "pipdeptree", UNMET})
"""Where the versions come from that installers print: with their labels, if they have any."""
_MEMORY = ".memory_bytes"
ROUNDED = 1.03
"""Of one memory, the largest size that a tool prints to the least: 24576 MiB and 23.64 GiB are."""
_GPU = compiled(r"gpu\[(\d{1,3})\]\.\w{1,30}")


@cache
def _fillable() -> tuple[str, ...]:
    """Return the facts of a machine that a text may fill."""
    return tuple(
        n
        for n, spec in build_catalogue().items()
        if spec.provider not in (CONFIG, LATER)
        and n != CAUSES
        and not n.endswith("*")
        and "[]" not in n
    )


class CombinedClaims:
    """The claims of one text held against each other."""

    def __init__(self, claims: Iterable[Claim], name: str) -> None:
        """Take the claims of a text of that name."""
        claims = tuple(claims)
        self.tools = tuple(sorted({claim.tool for claim in claims}))
        """What the claims were read from."""
        self._name = name
        self._said: dict[str, list[Claim]] = {}
        for claim in claims:
            self._said.setdefault(_normalised(claim.name), []).append(claim)
        self.assumes_visible = False
        """Whether GPUs are taken to be visible because nothing says otherwise."""
        silent = unknown(UNSAID, name)
        self.facts: dict[str, Fact] = dict.fromkeys(_fillable(), silent)
        for key in self._said:
            if key in self.facts or (_GPU.fullmatch(key)) or key.startswith("env."):
                self.facts[key] = self.fact(key)
        self._packages(silent)
        self.facts |= torch_facts(self.facts, self.fact, silent)
        self._gpus(silent)
        self._abi_of_python()

    def fact(self, name: str) -> Fact:
        """Return what is said of a name: Unknown where two lines contradict each other."""
        claims = self._said.get(name, [])
        if not claims:
            return unknown(UNSAID, self._name)
        claims = (
            claims[:1] if name.endswith(_MEMORY) and _is_one_size(claims) else _spelt_out(claims)
        )
        values = {repr(claim.value): claim for claim in claims}
        source = f"{self._name}:{claims[0].line}: {claims[0].tool}"
        if len(values) > 1:
            told = " and ".join(
                f"{claim.value} (line {claim.line})" for claim in list(values.values())[:3]
            )
            return unknown(f"the report says {told}", source)
        value = claims[0].value
        return Absent(source) if value is None else known(value, source)

    def _abi_of_python(self) -> None:
        """Say the tag of a Python whose version alone is said, as ``--python-version`` does."""
        version = self.facts["python.version"]
        if self._said.get("python.abi_tag") or not isinstance(version, Known):
            return
        major, _, rest = str(version.value).partition(".")
        if major == "3" and rest:
            self.facts["python.abi_tag"] = known(f"cp3{rest.split('.')[0]}", version.source)

    def is_listed(self, name: str) -> bool:
        """Return whether a list of packages, as installers print it, names a distribution."""
        return any(claim.tool in LISTS for claim in self._said.get(_PACKAGE + name, ()))

    def _packages(self, silent: Unknown) -> None:
        complete = self.fact(COMPLETE)
        named = [name for name in self._said if name.startswith(_PACKAGE)]
        for key, distributions in PACKAGES.items():
            of_key = [d for d in distributions if _PACKAGE + d in named]
            there = (d for d in of_key if not isinstance(self.fact(_PACKAGE + d), Absent))
            found = next(there, of_key[0] if of_key else None)
            if found is not None:
                version = self.fact(_PACKAGE + found)
                if isinstance(version, Absent):
                    gone = Absent(f"{version.source}: it is not installed")
                    self.facts |= {n: gone for n in self.facts if n.startswith(f"{key}.")}
                    continue
                self.facts[f"{key}.version"] = version
                self.facts[f"{key}.distribution"] = known(found, version.source)
            elif isinstance(complete, Known):
                gone = Absent(f"{complete.source}: it is not in the list")
                self.facts |= {n: gone for n in self.facts if n.startswith(f"{key}.")}
        if isinstance(complete, Known):
            versions = {name.removeprefix(_PACKAGE): self.fact(name) for name in named}
            listed = {n: str(f.value) for n, f in versions.items() if isinstance(f, Known)}
            nvidia = {n: v for n, v in listed.items() if n.startswith("nvidia-")}
            self.facts["packages.installed"] = known(listed, complete.source)
            self.facts["packages.nvidia"] = known(nvidia, complete.source)
        else:
            self.facts["packages.installed"] = silent
        versions = {name.removeprefix(_PACKAGE): self.fact(name) for name in named}
        said = {n: fact for n, fact in versions.items() if isinstance(fact, Known)}
        if isinstance(runtime := self.fact(RUNTIME), Known):
            said.setdefault("torch", runtime)
        if said:
            source = next(iter(said.values())).source
            told = {n: str(fact.value) for n, fact in sorted(said.items())}
            self.facts["packages.named"] = known(told, source)

    def _gpus(self, silent: Unknown) -> None:
        """Count the GPUs that are named. One that nothing hides is taken to be visible."""
        indexes = sorted({int(found[1]) for name in self._said if (found := _GPU.fullmatch(name))})
        if not indexes or indexes != list(range(len(indexes))) or len(indexes) > SUBJECT_LIMIT:
            return
        first = self._said[next(name for name in self._said if _GPU.fullmatch(name))][0]
        source = f"{self._name}:{first.line}: {first.tool}"
        hidden = isinstance(self.facts.get("env.CUDA_VISIBLE_DEVICES"), Known)
        seen = self.fact(AVAILABLE)
        build = self.facts.get("torch.build")
        is_cpu = isinstance(build, Known) and build.value == "cpu"
        # A torch without CUDA sees no GPU, whatever is there.
        sees_none = isinstance(seen, Known) and seen.value is False and not is_cpu
        self.facts["gpu.count"] = known(len(indexes), source)
        for index in indexes:
            at = f"gpu[{index}]"
            for part in ("name", "compute_capability", "gfx", "memory_bytes", "mig"):
                self.facts.setdefault(f"{at}.{part}", silent)
            if hidden or sees_none:
                self.facts[f"{at}.visible"] = silent
            else:
                self.facts[f"{at}.visible"] = known(True, source)
        if not (hidden or sees_none):
            self.assumes_visible = True
            self.facts["gpu.visible_count"] = known(len(indexes), source)


def _spelt_out(claims: list[Claim]) -> list[Claim]:
    """Return those of the longest spelling, where all others are short for it: 3.12 for 3.12.4."""
    longest = max(claims, key=lambda claim: len(str(claim.value)))
    text = str(longest.value)
    if all(is_short_for(str(claim.value), text) for claim in claims):
        return [longest]
    return claims


def _is_one_size(claims: list[Claim]) -> bool:
    """Return whether sizes differ by what a tool leaves out, or rounds away."""
    sizes = [int(str(claim.value)) for claim in claims]
    return max(sizes) <= min(sizes) * ROUNDED


def is_short_for(short: str, long: str) -> bool:
    """Return whether one version is another one without its last parts."""
    return long == short or long.startswith((f"{short}.", f"{short}+"))


def _normalised(name: str) -> str:
    """Return a claim's name, that of a package as indexes write it: flash_attn is flash-attn."""
    if not name.startswith(_PACKAGE):
        return name
    return _PACKAGE + normalise_name(name.removeprefix(_PACKAGE))
