"""The distributions of the target, read from their metadata folders; nothing is imported or run."""

from __future__ import annotations

from pathlib import Path

from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.packages import IMPORTS, PACKAGES, TRANSFORMERS, XFORMERS
from fadoctor.sources.probes.distributions import Survey, find_distributions
from fadoctor.sources.probes.hidden import Hidden, find_hidden, hidden_facts
from fadoctor.sources.probes.import_checks import import_checks
from fadoctor.sources.probes.import_path import (
    ImportPath,
    editable_folders,
    find_package,
    list_names,
    read_import_path,
)
from fadoctor.sources.probes.package_facts import NAMES, package_facts
from fadoctor.sources.probes.requirers import requirer_facts
from fadoctor.sources.probes.requires import MarkerTarget, marker_target
from fadoctor.sources.probes.world import Facts, World, absent, known, unknown

MAX_MODULE_NAMES = 5_000
"""Entries of one package's folder that are looked at."""


def probe(world: World, facts: dict[str, Fact]) -> Facts:
    """Return what is installed, and for the packages of the catalogue what is recorded of them."""
    path = read_import_path(world)
    wanted = {name for names in PACKAGES.values() for name in names}
    survey = find_distributions(path, wanted)
    target = marker_target(facts)
    out = _overview(world, path, survey)
    for key, names in PACKAGES.items():
        for name, fact in _package(world, path, survey, names, target).items():
            out[f"{key}.{name}"] = fact
    there = [key for key in PACKAGES if not isinstance(out[f"{key}.version"], Absent)]
    out |= {f"{key}.gone": _gone(path, key, out) for key in there}
    hidden = find_hidden(world, path, survey, out)
    out |= hidden_facts(world, hidden, there)
    for each in hidden:
        if not each.instead:
            out |= _without_record(world, each)
    version = out["transformers.version"]
    is_there = isinstance(version, Known)
    out["transformers.checks"] = import_checks(world, path, TRANSFORMERS) if is_there else version
    out |= requirer_facts(world, survey, wanted, target)
    out["xformers.extension"] = _xformers_extension(world, path, out)
    return out


def _places(world: World, path: ImportPath) -> str:
    names = [world.name(folder.path) for folder in path.folders]
    more = f" and {len(names) - 2} more folders" if len(names) > 2 else ""
    return ", ".join(names[:2]) + more or "no folder"


def _overview(world: World, path: ImportPath, survey: Survey) -> Facts:
    source = f"metadata folders in {_places(world, path)}"
    installed = {name: records[0].version for name, records in sorted(survey.chosen.items())}
    several = {
        name: ", ".join(sorted(record.version for record in records))
        for name, records in sorted(survey.chosen.items())
        if len(records) > 1
    }
    nvidia = {name: version for name, version in installed.items() if name.startswith("nvidia-")}
    broken = dict(sorted(survey.broken.items()))
    # Lists of everything need everything; trouble that was seen is seen.
    return {
        "packages.installed": _complete(survey, installed, source),
        "packages.nvidia": _complete(survey, nvidia, source),
        "packages.duplicated": known(several, source)
        if several
        else _complete(survey, several, source),
        "packages.broken": known(broken, source) if broken else _complete(survey, broken, source),
    }


def _complete(survey: Survey, value: dict[str, str], source: str) -> Fact:
    return unknown(survey.problem, source) if survey.problem else known(value, source)


def _package(
    world: World, path: ImportPath, survey: Survey, names: tuple[str, ...], target: MarkerTarget
) -> Facts:
    records = next((survey.chosen[name] for name in names if name in survey.chosen), ())
    source = f"metadata folders in {_places(world, path)}"
    versions = sorted({record.version for record in records})
    if len(versions) == 1:
        return package_facts(world, records[0], target, linked=records[0].name in survey.links)
    if versions:
        reason = f"one folder records {len(versions)} versions: {', '.join(versions)}"
        return _all_unknown(reason, world.name(records[0].folder))
    broken = next((survey.unusable[name] for name in names if name in survey.unusable), "")
    if broken or survey.problem:
        return _all_unknown(broken or survey.problem, source)
    return {"version": absent(f"{source}: no {names[0]}")}


def _gone(path: ImportPath, key: str, facts: Facts) -> Fact:
    """Return whether nothing is left of a package but its metadata."""
    missing, editable = facts.get(f"{key}.missing_files"), facts.get(f"{key}.editable")
    is_plain = isinstance(editable, Known) and editable.value is False
    if key in IMPORTS or not is_plain or not isinstance(missing, Known) or path.problem:
        return absent("the metadata do not tell")
    if missing.value == 0:
        return known(value=False, source=missing.source)
    places = [str(Path(f.path, key)) for f in path.folders if {key, f"{key}.py"} & set(f.names)]
    starts = any(_begins(place) for place in places)
    return known(value=not starts, source=f"import path: no package {key}; {missing.source}")


def _begins(place: str) -> bool:
    """Return whether a folder, or a file of that name, is what an import would run."""
    names, problem = list_names(place, MAX_MODULE_NAMES)
    is_file = Path(f"{place}.py").is_file()
    return is_file or any(name.startswith("__init__.") for name in names) or "more than" in problem


def _without_record(world: World, hidden: Hidden) -> Facts:
    """Return that nobody knows what is imported: the record is of what is not."""
    folder = f"{world.name(hidden.folder)}/{hidden.key}"
    reason = f"{folder} is first on the path ({hidden.how}), and has no metadata"
    unread = _all_unknown(reason, folder)
    return {f"{hidden.key}.{name}": fact for name, fact in unread.items()}


def _all_unknown(reason: str, source: str) -> Facts:
    return {name: unknown(reason, source) for name in NAMES}


def _xformers_extension(world: World, path: ImportPath, facts: Facts) -> Fact:
    version = facts["xformers.version"]
    if not isinstance(version, Known):
        return version
    if source_folders := editable_folders(world, facts, XFORMERS):
        path = read_import_path(world, *source_folders)
    package = find_package(path, XFORMERS)
    if package is None:
        return absent(f"no folder xformers in {_places(world, path)}")
    source = world.name(package.folders[0])
    names, problem = list_names(package.folders[0], MAX_MODULE_NAMES)
    # _C.so, _C.cpython-311-x86_64-linux-gnu.so, _C.pyd; not _C_flashattention3.so
    found = [n for n in names if n.startswith("_C.") and n.endswith((".so", ".pyd"))]
    found = [name for name in found if Path(package.folders[0], name).is_file()]
    if found:
        return known(found[0], f"{source}/{found[0]}")
    return unknown(problem, source) if problem else absent(f"{source}: no _C*.so, no _C*.pyd")
