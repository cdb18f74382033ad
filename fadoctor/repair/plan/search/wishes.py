"""What a plan must bring about: what was asked for, else that what is installed works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.kernels import Gpu, Kernels, computing_gpus, visible_gpus
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Known, fact_text
from fadoctor.model.packages import (
    ATTENTION,
    KERNELS,
    MAIN,
    PACKAGES,
    TORCH,
    TRANSFORMERS,
    TRITON,
)
from fadoctor.model.verdict import Backend, Dtype, Predicted
from fadoctor.repair.plan.choices.choice import distribution_of
from fadoctor.repair.plan.choices.helpers import Helpers
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.repair.plan.search.wished_names import (
    HUB,
    attention_of,
    framework,
    package_of,
    with_version,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.verdict import Verdict

HALF = (Dtype.BF16, Dtype.FP16)

PAIR = (TRANSFORMERS, KERNELS)
"""The fact prefixes of what brings a kernel of the Hub."""

_LINUX, _MAC = "linux", "macos"

_ON_TORCH = frozenset((TORCH, TRANSFORMERS))
"""Distributions of which whoever requires one computes with torch."""


class WishRequest(msgspec.Struct, frozen=True):
    """What was asked for on the command line."""

    want: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    allow_build: bool = False
    no_hub: bool = False


class Wishes(msgspec.Struct, frozen=True):
    """What must hold afterwards."""

    packages: tuple[str, ...] = ()
    """Fact prefixes of packages that must be there."""
    cells: tuple[tuple[Gpu, Backend], ...] = ()
    """GPU and backend that must work in half precision."""
    hopeless: tuple[tuple[Gpu, Backend], ...] = ()
    """Cells that were asked for, and that no release has a kernel for."""
    asked: tuple[str, ...] = ()
    """What was asked for by name."""
    kept: frozenset[str] = frozenset()
    """Packages that must stay as they are."""
    allow_build: bool = False
    with_tools: bool = False
    """Whether to take compiler and toolkit for granted, to say what they would make possible."""
    no_hub: bool = False
    """Whether kernels of the Hub are forbidden."""
    instead: Mapping[Backend, Backend] = {}
    """Wished backend -> the one that also meets the wish, where it works on the same GPU."""
    brings: Mapping[str, tuple[Backend, ...]] = {}
    """Package -> the backends for which another can stand in."""
    hoped: frozenset[Backend] = frozenset()
    """Backends whose wishes are met where nothing known stands against them."""
    pinned: Mapping[str, str] = {}
    """Package -> the versions of it that were asked for: ``==0.15.0``."""
    frameworks: Mapping[str, str] = {}
    """Distributions outside the catalogue that were asked for, and in which versions, "" for any:
    nothing is predicted for them, and what their releases require is in a table."""
    drawn: frozenset[str] = frozenset()
    """Of `asked` what nobody named, and such a distribution requires."""

    @property
    def named(self) -> tuple[str, ...]:
        """All that was asked for by name: packages, and distributions outside the catalogue."""
        return (*self.asked, *self.frameworks)


def wishes_of(
    kernels: Kernels,
    verdicts: Iterable[Verdict],
    found: Container[str],
    asked_for: WishRequest,
) -> Wishes:
    """Return the wishes; UsageError for names of packages that nobody knows.

    `found`: ids of the rules that find something. Of what was not asked for, those cells are wished
    that fail because of a finding, although releases with a kernel for that GPU exist.
    """
    hub, routes = _routes(asked_for)
    helpers = Helpers(kernels.matrix)
    frameworks = {name: told for name in routes if (told := framework(name, helpers))}
    packages_told = [with_version(name) for name in routes if name not in frameworks]
    named = [name for name, _ in (*packages_told, *frameworks.values())]
    drawn = (*attention_of(helpers, dict(frameworks.values())), *_undeclared(kernels, named))
    asked = tuple(dict.fromkeys([*(name for name, _ in packages_told), *drawn]))
    kept = frozenset(package_of(name, "--keep") for name in asked_for.keep)
    gpus = computing_gpus(kernels.environment)
    # torch and the frameworks bring several ways to attend: one that is not there is no loss, nor a
    # reason for an older torch
    alone = [name for name in asked if name in ATTENTION]
    beyond = {name for name in alone if gpus and not is_of_use(kernels, name, gpus)}
    packages = {*asked, *_default(kernels, gpus)} - beyond
    packages |= {*_needed_by(helpers, [*asked, *(name for name, _ in frameworks.values())])}
    failing = _broken(kernels, visible_gpus(kernels.environment), verdicts, found)
    of_hub = [(gpu, backend) for backend in hub for gpu in gpus]
    cells = [(gpu, backend) for gpu, backend in of_hub if has_kernel(kernels, backend, gpu)]
    hopeless = [cell for cell in of_hub if cell not in cells]
    for gpu, backend in _cells(kernels, gpus, packages | beyond):
        if not has_kernel(kernels, backend, gpu):
            hopeless.append((gpu, backend))
        elif (gpu.label, backend) in failing or (
            kernels.package(backend) in asked
            and (kernels.package(backend) in alone or _works_still(kernels, backend, gpu))
        ):
            cells.append((gpu, backend))
    hopeless = [(g, b) for g, b in hopeless if kernels.package(b) in alone or b in hub]
    if any(backend in hub for _, backend in cells) or (hub and not gpus):
        asked = tuple(dict.fromkeys((*asked, *PAIR)))
        packages |= set(PAIR)
    ordered = tuple(name for name in PACKAGES if name in packages)
    return Wishes(
        ordered,
        tuple(cells),
        tuple(hopeless),
        asked,
        kept,
        asked_for.allow_build,
        no_hub=asked_for.no_hub,
        instead=(instead := _instead(kernels, asked, asked_for)),
        brings={kernels.package(backend): (backend,) for backend in instead},
        pinned={name: versions for name, versions in packages_told if versions},
        frameworks=dict(frameworks.values()),
        drawn=frozenset(drawn).difference(name for name, _ in packages_told),
    )


def wanted_of_hub(wishes: Wishes) -> tuple[Backend, ...]:
    """Return the kernels of the Hub for which a way to it would be opened."""
    asked = [wishes.instead.get(backend, backend) for _, backend in wishes.cells]
    found = dict.fromkeys(backend for backend in asked if backend in HUB.values())
    return tuple(found) or (Backend.HUB_FA2,)


def without_hub(wishes: Wishes) -> Wishes:
    """Return wishes for which nothing of the Hub stands in."""
    return msgspec.structs.replace(wishes, instead={}, brings={})


def with_hub(kernels: Kernels, wishes: Wishes) -> Wishes | None:
    """Return wishes that the Hub may meet, whatever was asked for; None where they are so already.

    Only transformers asks the Hub by itself.
    """
    instead = _instead(kernels, (), WishRequest())
    if instead.keys() <= wishes.instead.keys():
        return None
    brings = {kernels.package(backend): (backend,) for backend in instead}
    return msgspec.structs.replace(wishes, no_hub=False, instead=instead, brings=brings)


def _routes(asked_for: WishRequest) -> tuple[tuple[Backend, ...], list[str]]:
    """Return the kernels of the Hub that were asked for, and the names of packages."""
    hub = {backend.value: backend for backend in HUB.values()}
    plain = {name: name.strip().lower().replace("_", "-") for name in asked_for.want}
    named = [name for name in asked_for.want if plain[name] not in hub]
    found = dict.fromkeys(hub[plain[name]] for name in asked_for.want if plain[name] in hub)
    if found and asked_for.no_hub:
        raise UsageError(f"--want {next(iter(found)).value} and --no-hub exclude each other")
    return tuple(found), named


def _instead(
    kernels: Kernels, asked: Container[str], asked_for: WishRequest
) -> Mapping[Backend, Backend]:
    """Return what may come from the Hub instead: of what nobody asked for by its name.

    Only transformers asks the Hub by itself.
    """
    transformers = kernels.environment.fact("transformers.version")
    if asked_for.no_hub or not isinstance(transformers, Known):
        return {}
    return {mine: hub for mine, hub in HUB.items() if kernels.package(mine) not in asked}


def _cells(
    kernels: Kernels, gpus: list[Gpu], packages: Container[str]
) -> Iterator[tuple[Gpu, Backend]]:
    """Yield the main backends of packages on every GPU."""
    for backend in Backend:
        if kernels.package(backend) in packages and _is_main(kernels, backend):
            yield from ((gpu, backend) for gpu in gpus)


def _is_main(kernels: Kernels, backend: Backend) -> bool:
    """Return whether a package is installed for a backend, rather than brings it beside."""
    return backend.value in MAIN and not kernels.is_replaced(backend)


def _broken(
    kernels: Kernels, gpus: list[Gpu], verdicts: Iterable[Verdict], found: Container[str]
) -> set[tuple[str, Backend]]:
    """Return the cells that would work in half precision if nothing were wrong, and do not.

    What a release has no kernels for is not broken, unless a finding says that it should have some.
    Nor is what needs a package that nothing asks for: no finding is the cause then. What only older
    releases do on a GPU, and the one that is there perhaps, is no reason to go back to them.
    """
    by_label = {gpu.label: gpu for gpu in gpus}
    answers: dict[tuple[str, Backend], set[Predicted]] = {}
    broken = set()
    for verdict in verdicts:
        if verdict.dtype not in HALF:
            continue
        cell = (verdict.gpu, verdict.backend)
        answers.setdefault(cell, set()).add(verdict.predicted)
        is_caused = verdict.predicted is Predicted.FAILS and bool(verdict.because)
        if is_caused and _is_due(kernels, verdict, by_label[verdict.gpu], found):
            broken.add(cell)
    return {cell for cell in broken if answers[cell] == {Predicted.FAILS}}


def _is_due(kernels: Kernels, verdict: Verdict, gpu: Gpu, found: Container[str]) -> bool:
    """Return whether a cell would work if the findings were not, as far as is known.

    torch brings what some backends need beside it, triton, on some platforms alone.
    """
    lacks = any(not is_there(kernels.environment, name) for name in kernels.needs(verdict.backend))
    if lacks and not _brings_triton(kernels):
        return False
    support = kernels.support(verdict.backend, verdict.dtype, gpu)
    if support.fails or support.works:
        return support.works or support.rule in found
    older_alone = may_work(kernels, verdict.backend, gpu) and not _works_still(
        kernels, verdict.backend, gpu
    )
    return not older_alone


def _brings_triton(kernels: Kernels) -> bool:
    """Return whether some build of this release of torch may bring triton on this platform."""
    facts = kernels.environment.fact
    if fact_text(facts("host.os"), _LINUX) != _LINUX:
        return False
    keys = {"version": facts("torch.version"), "platform": facts("host.platform")}
    rows = kernels.matrix.find("torch-releases", keys)
    return not isinstance(rows.cell(TRITON), Absent)


def _default(kernels: Kernels, gpus: list[Gpu]) -> Iterable[str]:
    """Yield the packages that are there and can be of use."""
    count = kernels.environment.fact("gpu.visible_count")
    is_mac = fact_text(kernels.environment.fact("host.os"), "") == _MAC
    without_gpu = is_mac or (isinstance(count, Known) and count.value == 0)
    for package in PACKAGES:
        if not is_there(kernels.environment, package):
            continue
        of_use = not without_gpu if package in ATTENTION else True
        if of_use and (not gpus or package not in ATTENTION or is_of_use(kernels, package, gpus)):
            yield package


def _needed_by(helpers: Helpers, asked: Iterable[str]) -> Iterator[str]:
    """Yield torch where what was asked for is of no use without: a table of releases says so."""
    for name in map(distribution_of, asked):
        if helpers.computes(name) or not helpers.closure(name).isdisjoint(_ON_TORCH):
            yield TORCH


def _undeclared(kernels: Kernels, asked: Iterable[str]) -> Iterator[str]:
    """Yield what asked packages import and do not declare, where torch does not require it."""
    if fact_text(kernels.environment.fact("host.os"), _LINUX) == _LINUX:
        return
    wanted = {distribution_of(name) for name in asked}
    for row in kernels.matrix.tables["undeclared-requirements"].rows:
        if str(row["package"]) in wanted:
            yield from cell_words(row["needs"])


def is_of_use(kernels: Kernels, package: str, gpus: list[Gpu]) -> bool:
    """Return whether some release of a package has a kernel for one of these GPUs."""
    backends = [backend for backend in Backend if kernels.package(backend) == package]
    main = [backend for backend in backends if _is_main(kernels, backend)]
    return not main or any(has_kernel(kernels, backend, gpu) for backend in main for gpu in gpus)


def has_kernel(kernels: Kernels, backend: Backend, gpu: Gpu) -> bool:
    """Return whether some release of a package has a kernel for a GPU, or nobody knows."""
    if not isinstance(gpu.capability, Known):
        return True
    for dtype in HALF:
        keys = {
            "backend": Known(backend.value, "asked"),
            "cc": gpu.capability,
            "dtype": Known(dtype.value, "asked"),
        }
        rows = kernels.matrix.find("kernel-support", keys).rows
        if any(row.get("support") != "fails" for row in rows):
            return True
    return False


def may_work(kernels: Kernels, backend: Backend, gpu: Gpu) -> bool:
    """Return whether the matrix says of any release that its kernel works on a GPU."""
    return any(_rows_that_work(kernels, backend, gpu))


def _works_still(kernels: Kernels, backend: Backend, gpu: Gpu) -> bool:
    """Return whether it says so of the newest releases: the last row of a backend is left open."""
    return any("<" not in str(row["version"]) for row in _rows_that_work(kernels, backend, gpu))


def _rows_that_work(kernels: Kernels, backend: Backend, gpu: Gpu) -> Iterator[Row]:
    if not isinstance(gpu.capability, Known):
        return
    keys = {"backend": Known(backend.value, "asked"), "cc": gpu.capability}
    halves = {dtype.value for dtype in HALF}
    for row in kernels.matrix.find("kernel-support", keys).rows:
        dtypes = halves if row.get("dtype") == "*" else halves & {*str(row.get("dtype")).split()}
        if row.get("support") == "works" and dtypes:
            yield row


def wish_text(cell: tuple[Gpu, Backend]) -> str:
    """Return a wished cell in words: ``fa2 on gpu[0]``."""
    gpu, backend = cell
    return f"{backend.value} on {gpu.subject}"


def describe(wishes: Wishes) -> tuple[str, ...]:
    """Return the wishes in words, what was asked for first."""
    asked = [
        f"{PACKAGES[name][0]}{wishes.pinned.get(name, '')} (asked for)"
        for name in wishes.asked
        if name not in wishes.drawn
    ]
    kept = [f"{PACKAGES[name][0]} stays as it is" for name in sorted(wishes.kept)]
    hub = ["no kernel is fetched from the Hub"] if wishes.no_hub else []
    others = [f"{name}{versions} (asked for)" for name, versions in wishes.frameworks.items()]
    return (*asked, *others, *kept, *hub, *(wish_text(cell) for cell in wishes.cells))
