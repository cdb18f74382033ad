"""What a backend can do on an AMD GPU: which engine computes it, and what that supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.support import NEWEST, Support, support_of
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_text, fact_words
from fadoctor.model.verdict import Dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Rows
    from fadoctor.model.environment import Environment
    from fadoctor.model.verdict import Backend

OWN = "own"
"""The engine of a backend that computes with its own package."""
_TABLE = "kernel-support-rocm"
_FLASH = "rocm-sdpa-flash-unavailable"


class Engine(msgspec.Struct, frozen=True):
    """What computes a backend on AMD's GPUs."""

    name: str
    version: Fact
    compiled: bool
    """Whether it needs the compiled extension of the backend's package."""


class RocmKernels:
    """The backends of one environment on AMD's GPUs."""

    def __init__(self, environment: Environment, matrix: Matrix) -> None:
        self.environment = environment
        self.matrix = matrix

    def engine(self, backend: Backend, package: str) -> Engine:
        """Return what computes a backend here; the newest release where none is installed."""
        rows = self.matrix.find("rocm-engines", {"backend": Known(backend.value, "asked")})
        name = rows.cell("engine")
        if not isinstance(name, Known):
            return Engine(OWN, self._version(f"{package}.version"), compiled=True)
        prefix = "switched_" if self._is_switched(rows) else ""
        engine = fact_text(rows.cell("switched" if prefix else "engine"), OWN)
        compiled = rows.cell(f"{prefix}compiled")
        return Engine(
            engine,
            self._version(fact_text(rows.cell(f"{prefix}version"), ""), package),
            compiled=isinstance(compiled, Known) and compiled.value is True,
        )

    def support(self, backend: Backend, package: str, dtype: Dtype, gpu: str, isa: Fact) -> Support:
        """Return what a backend can do in a dtype on a GPU which programs take for ``isa``."""
        if self._is_for_others():
            return _nothing(dtype, "torch.hip", "", "this torch is not built for ROCm")
        engine = self.engine(backend, package)
        if isinstance(engine.version, Absent):
            note = f"torch was built without {engine.name}, which computes it"
            return _nothing(dtype, engine.version.source, _FLASH, note)
        found = [self._row(backend, dtype, engine, one, isa) for one in _each(engine.version)]
        if any(one.answer != found[0].answer for one in found):
            return Support(engine.version)
        return self._as_seen(found[0], gpu, isa)

    def hub_kernel(self, name: str) -> str:
        """Return what transformers takes from the Hub here for fa2 or fa3, for a person."""
        keys = {"version": self.environment.fact("transformers.version")}
        taken = self.matrix.find("transformers-hub-rocm", keys).cell(name) if name else None
        if isinstance(taken, Known):
            return f"on ROCm transformers uses {taken.value}, which was not tried"
        return "the Hub's kernel for NVIDIA's GPUs has no build for ROCm"

    def settings(self, keys: Mapping[str, Fact]) -> Fact:
        """Return a framework's settings: those for AMD's GPUs, else those for every GPU."""
        own = self.matrix.find("framework-settings-rocm", keys)
        if own.rows:
            return own.cell("settings")
        every = {**keys, "cc": Known("amd", "asked")}
        return self.matrix.find("framework-settings", every).cell("settings")

    def _is_for_others(self) -> bool:
        """Return whether the torch that is installed is surely none for AMD's GPUs."""
        there = isinstance(self.environment.fact("torch.version"), Known)
        return there and isinstance(self.environment.fact("torch.hip"), Absent)

    def _is_switched(self, rows: Rows) -> bool:
        variable, value = rows.cell("variable"), rows.cell("value")
        said = self.environment.facts.get(f"env.{fact_text(variable, '')}")
        return isinstance(said, Known) and isinstance(value, Known) and said.value == value.value

    def _version(self, name: str, package: str = "") -> Fact:
        """Return a release; the newest of what is not installed, for what is only asked."""
        installed = self.environment.fact(f"{package}.version") if package else Absent("")
        version = self.environment.fact(name)
        if isinstance(version, Absent) and isinstance(installed, Absent):
            return Known(NEWEST, "newest")
        return version

    def _row(
        self, backend: Backend, dtype: Dtype, engine: Engine, version: Fact, isa: Fact
    ) -> Support:
        keys = {
            "backend": Known(backend.value, "asked"),
            "engine": Known(engine.name, "asked"),
            "version": version,
            "gfx": isa,
            "dtype": Known(dtype.value, "asked"),
        }
        rows = self.matrix.find(_TABLE, keys)
        found = support_of(rows)
        switch = rows.cell("switch")
        if not found.works or not isinstance(switch, Known):
            return found
        return self._switched(found, str(switch.value))

    def _switched(self, found: Support, switch: str) -> Support:
        """Return what a kernel does that works only with a variable."""
        name, _, value = switch.partition("=")
        said = self.environment.facts.get(f"env.{name}")
        if isinstance(said, Unknown):
            return Support(said)
        if isinstance(said, Known) and said.value == value:
            return found
        note = f"experimental on this GPU: torch uses it with {switch} only"
        return Support(Known("fails", switch), _FLASH, note)

    def _as_seen(self, found: Support, gpu: str, isa: Fact) -> Support:
        """Return what is known of a GPU that programs take for another one, or torch may lack."""
        own = self.environment.fact(f"{gpu}.gfx")
        if not found.works or not isinstance(isa, Known):
            return found
        unsure = self.environment.facts.get("torch.rocm_unsure")
        if unsure is not None and str(isa.value) in fact_words(unsure):
            text = f"no source says whether this torch has code for {isa.value}"
            return Support(Unknown(text, unsure.source))
        if not isinstance(own, Known) or own.value == isa.value:
            return found
        text = f"it runs code for {isa.value} on a {own.value}, and that may fail"
        return Support(Unknown(text, isa.source))


def _nothing(dtype: Dtype, source: str, rule: str, note: str) -> Support:
    """Return that nothing works; of fp8, which hardly any backend has, nothing is said."""
    if dtype is Dtype.FP8:
        return Support(Unknown(note, source))
    return Support(Known("fails", source), rule, note)


def _each(version: Fact) -> tuple[Fact, ...]:
    """Return a release, or each of those of which it is one."""
    if isinstance(version, Unknown) and version.among:
        return tuple(Known(one, version.source) for one in version.among)
    return (version,)
