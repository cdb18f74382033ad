"""From manifests to a planned environment: its packages in place of those that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.index_names import MISTAKEN
from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.catalogue import build_catalogue, find_spec
from fadoctor.model.environment import NAME_A_GPU, UNNAMED
from fadoctor.model.fact import Absent, Fact, Known, Unknown, printable
from fadoctor.model.packages import (
    BYSTANDERS,
    NUMPY,
    PACKAGES,
    PARTLY,
    STACK,
    TORCH,
    TRITON,
    package_of,
)
from fadoctor.sources.manifests.images.image_facts import conda_facts, image_facts
from fadoctor.sources.manifests.installed.combine import Combined, Planned, combine
from fadoctor.sources.manifests.installed.contradicted import (
    asked_at_once,
    contradicted_facts,
)
from fadoctor.sources.manifests.installed.fact_names import (
    CONTRADICTED,
    ISOLATED,
    ISOLATED_BY_NEW,
    UNFIT,
    UNSERVED,
)
from fadoctor.sources.manifests.installed.from_main import of_main
from fadoctor.sources.manifests.installed.from_pypi import from_elsewhere, mistaken_names
from fadoctor.sources.manifests.installed.held import HELD, fixed_to, in_image, may_be_there
from fadoctor.sources.manifests.installed.index_releases import (
    UNLABELLED,
    served_range,
    unserved,
)
from fadoctor.sources.manifests.installed.isolated import (
    isolated_builds,
    isolated_torch,
)
from fadoctor.sources.manifests.installed.markers import Markers
from fadoctor.sources.manifests.installed.moved_library import InSequence
from fadoctor.sources.manifests.installed.moved_torch import (
    MOVED_TORCH,
    REPLACED_BUILDS,
    moved_torch_facts,
    replaced_builds,
    too_early,
)
from fadoctor.sources.manifests.installed.package_facts import Facts, absent_facts, open_facts
from fadoctor.sources.manifests.installed.package_indexes import of_their_indexes
from fadoctor.sources.manifests.installed.planned_python import python_facts
from fadoctor.sources.manifests.installed.planned_torch import is_conda, only_builds, torch_facts
from fadoctor.sources.manifests.installed.spelling import as_listed
from fadoctor.sources.manifests.installed.too_new import TOO_NEW_BELOW, bounds_of, too_new_facts
from fadoctor.sources.manifests.installed.unseen_bounds import (
    bounded_facts,
    brought,
    held_to_numpy_1,
    may_bound_others,
)
from fadoctor.sources.manifests.installed.wheel_tags import unfit_wheels
from fadoctor.sources.probes.requires import marker_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.planned import Manifest


def planned_environment(
    host: Environment, manifests: Iterable[Manifest], matrix: Matrix
) -> Environment:
    """Return the environment that the files make of a machine.

    `host`: the facts of the machine, with what is assumed of it.
    """
    manifests = tuple(manifests)
    facts = {name: fact for name, fact in host.facts.items() if not _is_of_packages(name)}
    facts |= _without_gpu(facts, host.overlays)
    facts |= image_facts(manifests, host.overlays)
    facts |= python_facts(facts, manifests, host.overlays)
    choice = manifests[0].choice if manifests else None
    markers = Markers(marker_target(facts), choice)
    combined = combine(manifests, markers)
    fixed = fixed_to(manifests, combined, matrix)
    combined = as_listed(of_their_indexes(in_image(combined, fixed)), matrix)
    sequences = InSequence(manifests, combined, facts, matrix)
    combined = sequences.with_what_came()
    facts |= _variables(combined)
    make = Facts(combined, facts, matrix, markers)
    facts |= _packages(combined, make, fixed)
    bounded = bounded_facts(manifests, combined, facts, matrix)
    along, undecided = brought(combined, facts, matrix)
    open_ = bounded | undecided
    facts |= open_
    if "torch.version" in undecided:
        facts["torch.distribution"] = Known(TORCH, "it comes along")
        facts |= _build(TORCH, Planned(TORCH, ()), make)
    facts |= conda_facts(manifests, facts, matrix)
    elsewhere = from_elsewhere(manifests, combined)
    facts |= mistaken_names(combined, elsewhere, matrix) | unfit_wheels(combined, facts)
    refused = {name: why for each in manifests for name, why in each.refused.items()}
    facts |= contradicted_facts(combined, facts, matrix, refused)
    facts |= isolated_builds(combined, elsewhere, matrix)
    facts |= isolated_torch(combined, elsewhere, matrix)
    facts |= unserved(combined, facts, matrix)
    facts |= moved_torch_facts(manifests, combined, facts, matrix)
    facts |= replaced_builds(manifests, combined) | too_early(manifests)
    facts |= sequences.facts()
    facts |= too_new_facts(
        combined, facts, may_bound_others(manifests, combined, facts, matrix), matrix
    )
    target = msgspec.structs.replace(
        host.target,
        kind="manifest",
        label=printable(", ".join(manifest.file for manifest in manifests), 400),
        reason="--requirements",
        site=(),
        may_run=False,
        notes=tuple(map(printable, _notes(host, manifests, combined))),
    )
    return msgspec.structs.replace(
        host,
        target=target,
        facts=dict(sorted(facts.items())),
        places={**host.places, **_places(combined, facts)},
        ranges=_ranges(combined, along, open_, is_bounded=False),
        bounded={
            name: text
            for name, text in _ranges(combined, along, open_, is_bounded=True).items()
            if name != NUMPY or not held_to_numpy_1(combined, facts, matrix)
        }
        | dict.fromkeys(bounds_of(facts.get(TOO_NEW_BELOW)), "")
        | of_main(combined, facts, matrix),
        pinned=_pinned(combined),
        is_locked=combined.is_complete,
        elsewhere=elsewhere,
        asked=asked_at_once(combined),
        builds=only_builds(combined),
    )


def _is_of_packages(name: str) -> bool:
    prefix = name.partition(".")[0]
    return prefix in PACKAGES or prefix == "packages" or name.startswith("toolkit.ptxas.")


def _without_gpu(facts: Mapping[str, Fact], overlays: tuple[str, ...]) -> dict[str, Fact]:
    """Return that GPU and driver are unknown: that this machine has none says nothing of another.

    Only where no GPU was assumed: ``--gpu none`` means none.
    """
    count = facts.get("gpu.count")
    has_none = not isinstance(count, Known) or count.value == 0
    if not has_none or any(text.startswith("--gpu") for text in overlays):
        return {}
    none = Unknown(f"this machine has no GPU: {NAME_A_GPU}", "this machine")
    open_ = count if isinstance(count, Unknown) else none
    given = any(text.startswith("--driver") for text in overlays)
    names = [name for name in build_catalogue() if name.startswith("driver.") and not given]
    return dict.fromkeys((*names, "gpu.count", "gpu.visible_count"), open_)


def _variables(combined: Combined) -> dict[str, Fact]:
    catalogue = build_catalogue()
    return {
        f"env.{name}": Known(printable(setting.value, 2000), str(setting.place))
        for name, setting in combined.variables.items()
        if find_spec(catalogue, f"env.{name}") is not None
    }


def _packages(combined: Combined, make: Facts, fixed: Mapping[str, str]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for package, names in PACKAGES.items():
        found = next((combined.packages[name] for name in names if name in combined.packages), None)
        facts |= _one(package, found, combined, make, is_held=fixed.keys().isdisjoint(names))
    for package in _not_brought(combined, facts, make.matrix):
        facts |= absent_facts(package, "nothing that the files name requires it, by the tables")
    return facts | _overview(combined, facts)


def _not_brought(combined: Combined, facts: Mapping[str, Fact], matrix: Matrix) -> Iterable[str]:
    """Yield the packages that nothing brings: only where it is known what all of them bring.

    Tables say what is required of the stack; small packages that many require stay open.
    """
    if combined.is_complete:
        return
    todo, brought = list(combined.packages), set[str]()
    while todo:
        asker = todo.pop()
        needs = _required_by(asker, facts)
        if needs is not None:
            todo += needs - brought
        else:
            needs = _all_brought_by(asker, matrix)
        if needs is None:
            return
        brought |= needs
    if TORCH in brought:  # which brings triton itself
        brought.add(TRITON)
    for package, names in PACKAGES.items():
        version = facts[f"{package}.version"]
        is_open = isinstance(version, Unknown) and version.reason == UNNAMED
        if is_open and package not in BYSTANDERS and brought.isdisjoint(names):
            yield package


def _required_by(name: str, facts: Mapping[str, Fact]) -> set[str] | None:
    """Return the distributions of the stack that one requires; None where nobody knows of all."""
    package = package_of(name)
    needs = facts.get(f"{package}.requires")
    if isinstance(needs, Known) and isinstance(needs.value, dict) and package not in PARTLY:
        return needs.value.keys() & STACK
    if name in (TORCH, TRITON):  # whichever it will be: torch at most triton, triton nothing
        return {TRITON} if name == TORCH else set()
    return None


def _all_brought_by(name: str, matrix: Matrix) -> set[str] | None:
    """Return what of the stack comes along with one, whatever leads to it; None if not known."""
    match matrix.find("may-bring", {"package": Known(name, "asked")}).cell("brings"):
        case Known(value=tuple(names)):
            return set(names)
        case Absent():
            return set()
        case _:
            return None


def _one(
    package: str, planned: Planned | None, combined: Combined, make: Facts, *, is_held: bool
) -> dict[str, Fact]:
    if planned is None:
        where = "what was named by --requirements"
        if combined.is_complete:
            return absent_facts(package, f"{where}: it is not in the lock")
        if is_held and may_be_there(combined):
            return open_facts(package, HELD, where)
        facts = open_facts(package, UNNAMED, where)
        found = _build(package, Planned(TORCH, ()), make)
        # whether it comes at all is open: its build is no fault then
        build = found.get("torch.build")
        is_cpu = isinstance(build, Known) and build.value == "cpu"
        return facts if is_cpu else facts | found
    if planned.open:
        facts = open_facts(package, planned.open, planned.source)
        if planned.is_sure:
            facts[f"{package}.distribution"] = Known(planned.name, planned.source)
            facts |= _build(package, planned, make)
        return facts
    if not planned.version or parse_version(planned.version) is None:
        what = f"{planned.name}{planned.specifier}" if not planned.url else planned.url
        facts = open_facts(package, f"an installer decides: {what}", planned.source)
        facts[f"{package}.distribution"] = Known(planned.name, planned.source)
        if is_conda(planned):
            facts[f"{package}.installer"] = Known("conda", planned.source)
        return facts | _build(package, planned, make)
    return make.of(package, planned)


def _build(package: str, planned: Planned, make: Facts) -> dict[str, Fact]:
    """Return what is decided of a torch in whatever version: which build its index serves."""
    if package != TORCH or planned.url:
        return {}
    known = torch_facts(planned, make.combined, make.host, make.matrix)
    found = {name: known[name] for name in ("torch.build", "torch.hip")}
    if is_conda(planned) and isinstance(known["torch.cuda"], Absent):
        found["torch.cuda"] = known["torch.cuda"]  # whichever release it will be
    return found


def _overview(combined: Combined, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    source = "what was named by --requirements"
    nothing: dict[str, Fact] = {
        name: Known({}, f"{source}: a new environment")
        for name in ("packages.duplicated", "packages.broken")
    }
    listed = {name: each.version for name, each in sorted(combined.packages.items())}
    if not combined.is_complete or not all(listed.values()):
        more = Unknown("depends on the packages that the installer adds", source)
        return {**nothing, "packages.installed": more, "packages.nvidia": more}
    for package in PACKAGES:
        version, name = facts[f"{package}.version"], facts[f"{package}.distribution"]
        if isinstance(version, Known) and isinstance(name, Known):
            listed[str(name.value)] = str(version.value)
    nvidia = {name: version for name, version in listed.items() if name.startswith("nvidia-")}
    return {
        **nothing,
        "packages.installed": Known(listed, source),
        "packages.nvidia": Known(nvidia, source),
    }


def _places(combined: Combined, facts: Mapping[str, Fact]) -> dict[str, tuple[Place, ...]]:
    """Return where facts stand: what a finding reads first names the line to edit."""
    found: dict[str, tuple[Place, ...]] = {}
    for package, names in PACKAGES.items():
        planned = next((combined.packages[n] for n in names if n in combined.packages), None)
        if planned is not None and planned.places:
            given = [n for n in facts if n.startswith(f"{package}.")]
            found |= dict.fromkeys(given, planned.places)
    for fact_name in (
        MISTAKEN,
        UNFIT,
        CONTRADICTED,
        ISOLATED,
        ISOLATED_BY_NEW,
        UNSERVED,
        UNLABELLED,
        MOVED_TORCH,
        REPLACED_BUILDS,
    ):
        said = facts.get(fact_name)
        if isinstance(said, Known) and isinstance(said.value, dict):
            at = (place for name in said.value for place in combined.packages[name].places)
            found[fact_name] = tuple(at)
    for name, planned in combined.packages.items():
        if not package_of(name):
            found[f"packages.installed.{name}"] = planned.places
    if combined.python is not None:
        found["python.version"] = (combined.python.place,)
    for name, setting in combined.variables.items():
        found[f"env.{name}"] = (setting.place,)
    return found


def _ranges(
    combined: Combined,
    along: Mapping[str, str],
    bounded: Mapping[str, Fact],
    *,
    is_bounded: bool,
) -> dict[str, str]:
    """Return what is open, in the order of the files: resolvers decide in it too.

    `along`: what comes along, last. `is_bounded`: that of which nobody knows which release will be
    taken, or the rest.
    """
    named = {
        name: served_range(planned, combined)
        for name, planned in combined.packages.items()
        if not (planned.version or planned.url or planned.open)
    }
    return {
        name: specifier
        for name, specifier in {**named, **along}.items()
        if (f"{package_of(name)}.version" in bounded) is is_bounded
    }


def _pinned(combined: Combined) -> dict[str, str]:
    """Return what the files name exactly and the catalogue has no facts of; conda's is its own."""
    return {
        name: planned.version
        for name, planned in combined.packages.items()
        if planned.version and not (planned.url or is_conda(planned) or package_of(name))
    }


def _counted(manifest: Manifest) -> str:
    count = len(manifest.requirements)
    return f"{count} package" if count == 1 else f"{count} packages"


def _notes(host: Environment, manifests: tuple[Manifest, ...], combined: Combined) -> Iterable[str]:
    yield from host.target.notes
    read = ", ".join(f"{m.file} ({m.kind}, {_counted(m)})" for m in manifests)
    if manifests:
        yield f"Read: {read}; from this machine only hardware, system and Python."
    else:
        yield "No package is there yet; from this machine only hardware, system and Python."
    count = host.facts.get("gpu.count", Absent("not read"))
    if isinstance(count, Known) and count.value and not host.overlays:
        yield "The GPUs are those of this machine; --gpu assumes others."
    yield from combined.notes
