"""What the kernels can do: each backend, in each dtype, on each GPU, by the matrix alone.

Nothing here looks at the state of the installation; that is what findings are about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.backends import entries_of
from fadoctor.knowledge.matrix.rocm_kernels import RocmKernels
from fadoctor.knowledge.matrix.support import NEWEST, Support, support_of
from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_text, fact_words
from fadoctor.model.packages import PACKAGES, TRANSFORMERS
from fadoctor.model.verdict import Backend, Dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Rows
    from fadoctor.model.environment import Environment

_BACKENDS = tuple(Backend)


class Gpu(msgspec.Struct, frozen=True):
    """A GPU that programs can see, as verdicts name it."""

    subject: str
    label: str
    capability: Fact
    """Its compute capability; Absent for AMD."""
    isa: Fact = Absent("an NVIDIA GPU has none")
    """The AMD GPU that programs take it for: gfx942."""

    @property
    def is_amd(self) -> bool:
        """Whether it is known to be AMD's, and which one."""
        return isinstance(self.isa, Known)

    @property
    def kind(self) -> str:
        """What it is, for a person: ``compute capability 9.0``, ``gfx942``."""
        if isinstance(self.isa, Known):
            return str(self.isa.value)
        return f"compute capability {fact_text(self.capability, '?')}"


def visible_gpus(environment: Environment) -> list[Gpu]:
    """Return the GPUs that programs can see; one whose visibility is unknown counts as seen."""
    hanging = environment.__dict__
    kept: list[Gpu] | None = hanging.get("visible_gpus")
    if kept is None:
        kept = hanging["visible_gpus"] = _seen(environment)
    return kept.copy()


def _seen(environment: Environment) -> list[Gpu]:
    found = []
    for subject in (each.text for each in environment.subjects("gpu")):
        visible = environment.fact(f"{subject}.visible")
        if not (isinstance(visible, Known) and visible.value is False):
            label = f"{subject} {fact_text(environment.fact(f'{subject}.name'), 'unknown model')}"
            capability = environment.fact(f"{subject}.compute_capability")
            isa = environment.fact(f"{subject}.isa")
            found.append(Gpu(subject, label, capability, isa))
    return found


def computing_gpus(environment: Environment) -> list[Gpu]:
    """Return the visible GPUs without those that stand beside others for a display.

    A GPU without tensor cores beside one that has them is not what people compute on, nor is one
    of AMD, such as a processor's, beside one of NVIDIA under a torch with CUDA, nor a processor's
    beside a card of AMD.
    """
    gpus = _without_processors(environment, visible_gpus(environment))
    if isinstance(environment.fact("torch.cuda"), Known):
        of_nvidia = [gpu for gpu in gpus if isinstance(gpu.capability, Known)]
        gpus = [gpu for gpu in gpus if not gpu.is_amd] if of_nvidia else gpus
    facts = [environment.fact(f"{gpu.subject}.tensor_cores") for gpu in gpus]
    has = [fact.value if isinstance(fact, Known) else None for fact in facts]
    return [gpu for gpu, yes in zip(gpus, has, strict=True) if yes is not False or True not in has]


def _without_processors(environment: Environment, gpus: list[Gpu]) -> list[Gpu]:
    """Return the GPUs without those in a processor, where a card of AMD is beside them."""
    facts = [environment.facts.get(f"{gpu.subject}.discrete") for gpu in gpus]
    said = [fact.value if isinstance(fact, Known) else None for fact in facts]
    return [g for g, card in zip(gpus, said, strict=True) if card is not False or True not in said]


def distribution_version(environment: Environment, name: str) -> Fact:
    """Return the version of a package by its fact prefix, or of any distribution by its name."""
    if name in PACKAGES:
        return environment.fact(f"{name}.version")
    every = environment.fact("packages.installed")
    if not isinstance(every, Known) or not isinstance(every.value, dict):
        return every
    version = every.value.get(name)
    return Absent(every.source) if version is None else Known(version, every.source)


class Kernels:
    """The backends of one environment, with queries."""

    def __init__(self, environment: Environment, matrix: Matrix) -> None:
        self.environment = environment
        self.matrix = matrix
        self.rocm = RocmKernels(environment, matrix)
        self._entries = entries_of(matrix)
        self._installed: dict[Backend, bool] = {}
        self._kernels: dict[tuple[Backend, str], Rows | Absent | Unknown] = {}
        self._here: dict[Backend, Support] = {}
        self._support: dict[tuple[Backend, Dtype, str], Support] = {}

    def package(self, backend: Backend) -> str:
        """Return the fact prefix of the package that brings a backend, "" where none does."""
        return self._entries[backend].package

    def label(self, backend: Backend) -> str:
        """Return what people call a backend: ``torch SDPA (flash)``."""
        return self._entries[backend].label

    def version(self, backend: Backend) -> Fact:
        """Return the version of the package that brings a backend."""
        return self.environment.fact(f"{self.package(backend)}.version")

    def installed(self) -> Iterator[Backend]:
        """Yield the backends whose package may be there in a version that has them."""
        yield from filter(self.is_installed, _BACKENDS)

    def is_installed(self, backend: Backend) -> bool:
        """Return whether a backend's package may be there in a version that has it.

        One by another route is there where its package and what it goes beside are known to be.
        """
        found = self._installed.get(backend)
        if found is None:
            found = self._installed[backend] = self._may_be_there(backend)
        return found

    def _may_be_there(self, backend: Backend) -> bool:
        version = self.version(backend)
        if not self.package(backend) or isinstance(version, Absent):
            return False
        if self.route(backend) and not (isinstance(version, Known) and self._is_beside(backend)):
            return False
        return not self._is_elsewhere(backend, fact_text(version, ""))

    def route(self, backend: Backend) -> str:
        """Return the other way by which a backend's kernels come: hub, activation; "" for none."""
        return self._entries[backend].route

    def _is_beside(self, backend: Backend) -> bool:
        """Return whether what a backend goes beside is known to be there, in a release for it."""
        entry = self._entries[backend]
        if not entry.beside:
            return True
        version = distribution_version(self.environment, entry.beside)
        if not isinstance(version, Known):
            return False
        return is_older(str(version.value), entry.beside_since) is False

    def _is_elsewhere(self, backend: Backend, version: str) -> bool:
        """Return whether only an older or a newer release of its package has a backend."""
        entry = self._entries[backend]
        too_old = is_older(version, entry.since)
        return too_old is True or is_older(version, entry.before or NEWEST) is False

    def is_replaced(self, backend: Backend) -> bool:
        """Return whether newer releases of its package have another backend instead."""
        return bool(self._entries[backend].before)

    def brought_by(self, backend: Backend) -> tuple[str, ...]:
        """Return the fact prefixes of the packages without which there is no such backend."""
        entry = self._entries[backend]
        return (entry.package, *entry.needs)

    def needs(self, backend: Backend) -> tuple[str, ...]:
        """Return the fact prefixes of the other packages that a backend needs."""
        return self._entries[backend].needs

    def decided_by(self, backend: Backend) -> tuple[str, ...]:
        """Return the fact prefixes of the packages whose releases decide what a backend does."""
        asks = (TRANSFORMERS,) if self.route(backend) == "hub" else ()
        return (*self.brought_by(backend), *asks)

    def one_of(self, backend: Backend) -> tuple[str, ...]:
        """Return the compiled extensions of which a backend needs one."""
        return self._entries[backend].one_of

    def is_compiled(self, backend: Backend) -> bool:
        """Return whether a backend computes with the compiled extension of its package here.

        On AMD's GPUs flash-attn can do without.
        """
        gpus = visible_gpus(self.environment)
        if not gpus or not all(gpu.is_amd for gpu in gpus):
            return True
        return self.rocm.engine(backend, self.package(backend)).compiled

    def runs_without(self, backend: Backend, requirement: str) -> bool:
        """Return whether a backend is known to run without what its package declares to need."""
        keys = {
            "package": Known(self.package(backend), "asked"),
            "requirement": Known(requirement, "asked"),
        }
        idle = self.matrix.find("requirements-idle", keys).cell("backends")
        return backend.value in fact_words(idle)

    def support(self, backend: Backend, dtype: Dtype, gpu: Gpu) -> Support:
        """Return what a backend can do in a dtype on a GPU, with what it needs as it is here."""
        asked = (backend, dtype, gpu.subject)
        if asked not in self._support:
            self._support[asked] = self._all_support(backend, dtype, gpu)
        return self._support[asked]

    def _all_support(self, backend: Backend, dtype: Dtype, gpu: Gpu) -> Support:
        if gpu.is_amd:
            package = self.package(backend)
            return self.rocm.support(backend, package, dtype, gpu.subject, gpu.isa)
        found = self._own_support(backend, dtype, gpu)
        if found.fails or (dtype is Dtype.FP8 and not isinstance(found.answer, Known)):
            return found  # no system adds a dtype that the backend does not have
        doubtful: Support | None = None
        for other in self._others(backend, dtype, gpu):
            if other.fails:
                return other
            if doubtful is None and isinstance(other.answer, Unknown):
                doubtful = other
        return doubtful if doubtful is not None and found.works else found

    def _others(self, backend: Backend, dtype: Dtype, gpu: Gpu) -> Iterator[Support]:
        """Yield what the packages that a backend needs, and this system, make of it."""
        for name in self.needs(backend):
            yield self._support_by(name, backend, dtype, gpu)
        yield self._support_here(backend)

    def _support_here(self, backend: Backend) -> Support:
        """Return what is different on this operating system; Absent where nothing is."""
        if backend not in self._here:
            self._here[backend] = self._support_on_system(backend)
        return self._here[backend]

    def _support_on_system(self, backend: Backend) -> Support:
        keys = {
            "backend": Known(backend.value, "asked"),
            "os": self.environment.fact("host.os"),
            "version": self.or_newest(self.package(backend)),
        }
        rows = self.matrix.find("kernel-support-os", keys)
        return support_of(rows) if rows.rows else Support(Absent("nothing is different here"))

    def _support_by(self, package: str, backend: Backend, dtype: Dtype, gpu: Gpu) -> Support:
        """Return what a package that a backend needs makes of it."""
        keys = {
            "backend": Known(backend.value, "asked"),
            "needs": Known(package, "asked"),
            "version": self.environment.fact(f"{package}.version"),
            "cc": gpu.capability,
            "dtype": Known(dtype.value, "asked"),
        }
        rows = self.matrix.find("kernel-support-needs", keys)
        return support_of(rows) if rows.rows else Support(Absent("no row of the table"))

    def _own_support(self, backend: Backend, dtype: Dtype, gpu: Gpu) -> Support:
        """Return what the kernels of a backend can do, whatever else is here."""
        kernels = self._kernels_for(backend, gpu)
        if isinstance(kernels, (Absent, Unknown)):
            return Support(kernels)
        rows = kernels.having("dtype", dtype.value)
        if not rows.rows:
            return Support(Unknown("no source says whether it works", "matrix kernel-support"))
        found, version = support_of(rows), self.or_newest(self.package(backend))
        # of an unknown release only what no release can do is sure
        return Support(version) if isinstance(version, Unknown) and not found.fails else found

    def _kernels_for(self, backend: Backend, gpu: Gpu) -> Rows | Absent | Unknown:
        """Return the rows about a backend on a GPU, whatever the dtype; or why there are none."""
        asked = (backend, gpu.subject)
        if asked not in self._kernels:
            keys = {
                "backend": Known(backend.value, "asked"),
                "version": self.or_newest(self.package(backend)),
                "cc": gpu.capability,
            }
            if isinstance(keys["version"], Unknown):
                del keys["version"]
            rows = self.matrix.find("kernel-support", keys)
            known = all(isinstance(fact, Known) for fact in keys.values())
            self._kernels[asked] = rows if known or rows.none is None else rows.none
        return self._kernels[asked]

    def settings(self, framework: str, backend: Backend, dtype: Dtype, gpu: Gpu) -> Fact:
        """Return a framework's settings for a backend and a dtype on a GPU."""
        other = distribution_version(self.environment, framework)
        is_unversioned = framework not in PACKAGES and isinstance(other, Absent)
        version = Known(NEWEST, "newest") if is_unversioned else other
        version = self.or_newest(framework) if framework in PACKAGES else version
        keys = {
            "framework": Known(framework, "asked"),
            "version": version,
            "backend": Known(backend.value, "asked"),
            "dtype": Known(dtype.value, "asked"),
        }
        if gpu.is_amd:
            return self.rocm.settings(keys)
        return self.matrix.find("framework-settings", {**keys, "cc": gpu.capability}).cell(
            "settings"
        )

    def or_newest(self, package: str) -> Fact:
        """Return a package's version; the newest where it is not installed."""
        version = self.environment.fact(f"{package}.version")
        return Known(NEWEST, "newest") if isinstance(version, Absent) else version
