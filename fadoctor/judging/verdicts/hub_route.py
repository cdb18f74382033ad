"""What is held against a kernel of the Hub here, and where it would come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.verdicts.obstacles import Obstacle
from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_text, printable
from fadoctor.model.packages import KERNELS, TRANSFORMERS
from fadoctor.model.verdict import Predicted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.kernels import Gpu, Kernels
    from fadoctor.model.verdict import Backend

OFFLINE = frozenset({"1", "ON", "YES", "TRUE"})
"""Values of HF_HUB_OFFLINE, in capitals, that mean yes."""

_OF_ROCM = ("fa2", "fa3")
"""The FlashAttentions for which transformers has a kernel of its own on ROCm."""


class Route:
    """One backend of the Hub in one environment."""

    def __init__(self, kernels: Kernels, backend: Backend) -> None:
        self.kernels = kernels
        self.prefix = f"hub.{backend.value.removeprefix('hub-')}"

    def fact(self, noun: str) -> Fact:
        """Return a fact about the kernel that is taken."""
        return self.kernels.environment.fact(f"{self.prefix}.{noun}")

    def known(self, noun: str) -> str:
        """Return such a fact as text, "" where it is not known."""
        return fact_text(self.fact(noun), "")

    def obstacle(self, gpu: Gpu) -> Obstacle | None:
        """Return the gravest of what is held against it on a GPU, None where there is nothing."""
        found: Obstacle | None = None
        for each in self._obstacles(gpu):
            if each.predicted is Predicted.FAILS:
                return each
            found = found or each
        return found

    def note(self) -> str:
        """Say where it comes from: a build in the cache, or one that would be downloaded."""
        if self.known("build"):
            return f"{self.known('build')} of {self.name()}, in {self._place()}"
        size = f" ({self.known('gigabytes')} GB)" if self.known("gigabytes") else ""
        return f"would be downloaded{size}: {self.known('download')} of {self.name()}"

    def origin(self) -> str:
        """Return the same in few words, without the kernel's name."""
        if self.known("build"):
            return f"{self.known('build')}, in {self._place()}"
        size = f", {self.known('gigabytes')} GB" if self.known("gigabytes") else ""
        return f"{self.known('download')}, to be downloaded{size}"

    def _place(self) -> str:
        return "the folder that LOCAL_KERNELS names" if self.known("local") else "the cache"

    def name(self) -> str:
        """Return the kernel that is taken, ``owner/name@branch``; "" where nobody takes one."""
        repository, branch = self.known("repository"), self.known("branch")
        return f"{repository}@{branch}" if repository and branch else ""

    def _obstacles(self, gpu: Gpu) -> Iterator[Obstacle]:
        if not self.known("taken_by"):
            yield _open(
                "neither transformers nor diffusers is installed to use it; kernels loads it "
                "by name"
            )
            return
        yield from self._range()
        yield from self._taken()
        if self.known("repository") and self.known("branch"):
            yield from self._source()
            yield from self._code(gpu)
            yield from self._metadata()
            yield from self._loading()
            yield from self._itself()

    def _range(self) -> Iterator[Obstacle]:
        """Yield that transformers does not accept the kernels that is installed."""
        if self.known("taken_by") != TRANSFORMERS:
            return
        environment = self.kernels.environment
        transformers = environment.fact("transformers.version")
        row = self.kernels.matrix.find("transformers-hub-kernels", {"version": transformers})
        accepted = row.cell(KERNELS)
        version = fact_text(environment.fact("kernels.version"), "")
        if isinstance(accepted, Unknown):
            yield _open(accepted.reason)
        elif isinstance(accepted, Known) and is_in(version, str(accepted.value)) is not True:
            text = f"transformers {fact_text(transformers, '')} accepts kernels {accepted.value}"
            yield _fails(f"{text}, not {version}", "hub-kernels-out-of-range")

    def _of_rocm(self) -> str:
        """Return which FlashAttention of transformers this is: fa2, fa3; "" for another kernel."""
        name = self.prefix.rpartition(".")[2]
        return name if name in _OF_ROCM else ""

    def _taken(self) -> Iterator[Obstacle]:
        """Yield that nobody takes such a kernel, or that nobody knows which one."""
        if not isinstance(self.kernels.environment.fact("torch.hip"), Absent):
            yield _open(self.kernels.rocm.hub_kernel(self._of_rocm()))
        for noun in ("repository", "branch"):
            fact = self.fact(noun)
            if isinstance(fact, Absent):
                who = self.known("taken_by")
                yield _open(f"{who} uses none by itself in this release; kernels loads it by name")
                return
            if isinstance(fact, Unknown):
                yield _open(fact.reason)
                return
        if broken := self.known("broken"):
            yield _fails(broken, "diffusers-hub-attribute")
        if isinstance(self.kernels.environment.fact("env.LOCAL_KERNELS"), Unknown):
            yield _open("LOCAL_KERNELS may name a folder for it, which was not read")
        wrong = self.kernels.environment.facts.get("hub.local_wrong")
        if isinstance(wrong, Known) and self._cell("local_kernels") == "True":
            text = f"LOCAL_KERNELS has no folder for {', '.join(_words(wrong))}"
            yield _fails(text, "hub-local-folder-wrong")

    def _source(self) -> Iterator[Obstacle]:
        """Yield that no build fits, or that none can be had."""
        if self.known("local"):
            yield from self._from_folder()
            return
        offline = self._offline()
        if self.known("build"):
            yield from self._from_cache(offline=offline)
            return
        cached = self.fact("cached")
        if isinstance(cached, Unknown):
            yield _open(cached.reason)
        elif isinstance(build := self.fact("build"), Unknown) and self.known("cached") == "True":
            yield _open(build.reason)
        elif offline is True:
            yield _fails(
                "not in the cache, and HF_HUB_OFFLINE forbids to download it", "hub-offline"
            )
        elif offline is None:
            yield _open("not in the cache; HF_HUB_OFFLINE is unknown")
        else:
            yield from self._download()

    def _from_folder(self) -> Iterator[Obstacle]:
        """Yield that the folder that LOCAL_KERNELS names holds no build for this system."""
        build = self.fact("build")
        if isinstance(build, Absent):
            reason = f": {self.known('refused')}" if self.known("refused") else ""
            text = f"LOCAL_KERNELS names {self.known('local')}, without a build for this system"
            yield _fails(text + reason, "hub-local-folder-wrong")
        elif isinstance(build, Unknown):
            yield _open(f"LOCAL_KERNELS names {self.known('local')}: {build.reason}")

    def _cell(self, column: str) -> str:
        """Return what is known of this release of kernels, "" where it is not."""
        version = self.kernels.environment.fact("kernels.version")
        return fact_text(
            self.kernels.matrix.find("kernels-releases", {"version": version}).cell(column), ""
        )

    def _offline(self) -> bool | None:
        fact = self.kernels.environment.fact("env.HF_HUB_OFFLINE")
        if isinstance(fact, Unknown):
            return None
        return isinstance(fact, Known) and str(fact.value).upper() in OFFLINE

    def _from_cache(self, *, offline: bool | None) -> Iterator[Obstacle]:
        """Yield that this kernels does not load from a cache without the network."""
        loads, named = self._cell("offline"), self.known("offline")
        if offline is False or loads == "all":
            return
        if loads == "named" and named == "True":
            return
        if loads == "revisions" and self.known("branch") == "main":
            return
        if offline is True and (loads == "none" or (loads == "named" and named == "False")):
            text = "this release of kernels cannot load it from the cache without the network"
            yield _fails(text, "hub-offline")
        else:
            yield _open(
                "whether this release of kernels can load from the cache without the network "
                "is not known"
            )

    def _download(self) -> Iterator[Obstacle]:
        download, hearsay = self.fact("download"), self.known("hearsay")
        if isinstance(download, Unknown):
            yield _open(f"it would be downloaded, and {download.reason}")
        elif isinstance(download, Absent):
            text = f"none of its builds supports this system: {self.known('refused')}"
            rule = "hub-no-variant"
            yield _open(f"{text} ({hearsay})", rule) if hearsay else _fails(text, rule)
        elif hearsay:
            yield _open(f"{self.note()}; {hearsay}")

    def _code(self, gpu: Gpu) -> Iterator[Obstacle]:
        """Yield that the build has no code for a GPU, or that nobody knows."""
        archs, capability = self.fact("archs"), fact_text(gpu.capability, "")
        if isinstance(archs, Absent) or not (self.known("build") or self.known("download")):
            return
        if isinstance(archs, Unknown):
            yield _open(f"its GPU code is unknown: {archs.reason}")
            return
        named = ", ".join(archs.value) if isinstance(archs.value, tuple) else ""
        if capability in _words(self.fact("no_code_for")):
            text = f"its build names {named} and has no code for {capability}"
            yield _fails(text, "hub-arch-refused")
        elif capability not in _words(self.fact("runs_on")):
            yield _open(f"code for {named} may not run on this GPU")

    def _metadata(self) -> Iterator[Obstacle]:
        """Yield that the metadata of a build in the cache lack what this kernels wants."""
        lacking = self.fact("lacking")
        if isinstance(lacking, Known) and self.known("build"):
            names = ", ".join(_words(lacking))
            yield _fails(f"its metadata lack {names}", "hub-metadata-unreadable")
        elif isinstance(lacking, Unknown) and self.known("build"):
            yield _open(lacking.reason)

    def _loading(self) -> Iterator[Obstacle]:
        """Yield that the loader refuses the build in the cache, or that nobody knows."""
        loads = self.fact("loads")
        if isinstance(loads, Unknown) and self.known("build"):
            yield _open(f"it may not load: {loads.reason}")
        elif isinstance(loads, Known) and loads.value is False:
            yield _fails(f"it does not load: {self.known('says')}", "hub-build-unloadable")

    def _itself(self) -> Iterator[Obstacle]:
        """Yield what it lacks, and what is held against this version of it."""
        lacks = self.fact("lacks")
        if isinstance(lacks, Known):
            names = ", ".join(_words(lacks))
            yield _fails(f"it imports {names}, which is not installed", "hub-dependency-missing")
        elif isinstance(lacks, Unknown):
            yield _open(lacks.reason)
        if doubt := self.known("doubt"):
            yield _open(f"{self.note()}; {doubt}")


def _words(fact: Fact) -> tuple[str, ...]:
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, tuple) else ()


def _fails(detail: str, rule: str) -> Obstacle:
    return Obstacle(Predicted.FAILS, printable(detail), rule)


def _open(detail: str, rule: str = "") -> Obstacle:
    return Obstacle(Predicted.UNKNOWN, printable(detail), rule)
