"""The facts about names that packages ask of each other and do not find."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Fact, Known
from fadoctor.processes.run import run
from fadoctor.sources.import_names.model import Broken, ModuleEntry, NameAnswer, Site
from fadoctor.sources.import_names.read import entries_of, read_contracts, wanted
from fadoctor.sources.import_names.verdicts import cache_folder
from fadoctor.sources.probes.import_path import ImportPath, read_import_path
from fadoctor.sources.probes.world import World, absent, known, unknown
from fadoctor.sources.targets.missing_names import asked_of, tabled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge

TABLE = "entry-modules"

SHOWN = 5
"""Statements that stop because of one name and are told, whole packages first."""

_RECORD = re.compile(r"([A-Za-z0-9][\w.-]{0,200}?)-[^-]{1,100}\.dist-info")


def with_contracts(
    environment: Environment,
    knowledge: Knowledge,
    environ: Mapping[str, str],
    *,
    keep: bool = True,
    announce: Callable[[], None] = lambda: None,
) -> Environment:
    """Return the environment with the names that are asked for in vain.

    Nothing is done where no package of the stack is installed, or where nobody knows which are.
    """
    installed = environment.fact("packages.installed")
    if not isinstance(installed, Known) or not isinstance(installed.value, dict):
        return environment
    entries = entries_of(knowledge.tables[TABLE])
    if not environment.target.site or not wanted(entries, installed.value):
        return environment
    world = World(environment.target, environ, run, "")
    site, _ = asked_site(environment, knowledge, environ)
    answer = read_contracts(site, entries, cache_folder(environ) if keep else None, announce)
    facts = {**environment.facts, **_facts(world, answer, installed.value)}
    return msgspec.structs.replace(environment, facts=dict(sorted(facts.items())))


def asked_site(
    environment: Environment, knowledge: Knowledge, environ: Mapping[str, str]
) -> tuple[Site, dict[str, ModuleEntry]]:
    """Return where an environment's sources lie, and the modules that are followed there."""
    entries = entries_of(knowledge.tables[TABLE])
    installed = environment.fact("packages.installed")
    there = dict(installed.value) if isinstance(installed, Known) else {}  # type: ignore[arg-type]
    path = read_import_path(World(environment.target, environ, run, ""))
    return _site(environment, path, entries, there, environ), entries


def _site(
    environment: Environment, path: ImportPath, entries: Mapping[str, ModuleEntry],
    installed: dict[str, str], environ: Mapping[str, str],
) -> Site:  # fmt: skip
    ours = {name for entry in entries.values() for name in entry.distribution}
    records: dict[str, str] = {}
    for folder in path.folders:
        for name in folder.names:
            match = _RECORD.fullmatch(name)
            normal = re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""
            if normal in ours:
                records.setdefault(normal, str(Path(folder.path, name, "RECORD")))
    hooked = bool(path.problem) or any(
        name.startswith("__editable__") or name.endswith((".egg-link", "easy-install.pth"))
        for folder in path.folders
        for name in folder.names
    )
    folders = tuple(folder.path for folder in path.folders)
    return Site(
        folders, installed, records, _python(environment), _text(environment, "host.os"), hooked,
        tuple(sorted(environ)),
    )  # fmt: skip


def _python(environment: Environment) -> tuple[int, ...]:
    parts = _text(environment, "python.version").split(".")
    return tuple(map(int, parts[:3])) if all(part.isdecimal() for part in parts[:3]) else ()


def _text(environment: Environment, name: str) -> str:
    fact = environment.fact(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def _facts(world: World, answer: NameAnswer, installed: Mapping[str, str]) -> dict[str, Fact]:
    source = "the imports of the installed sources, followed without running them"
    found: dict[str, Fact] = {
        "contract.count": unknown(answer.problem, source)
        if answer.problem
        else known(len(answer.broken), source),
        "contract.problem": known(answer.problem, source) if answer.problem else absent(source),
    }
    for index, broken in enumerate(answer.broken):
        for name, value in _of(world, broken, installed).items():
            found[f"contract[{index}].{name}"] = value
    return found | tabled(found, len(answer.broken))


def _of(world: World, broken: Broken, installed: Mapping[str, str]) -> dict[str, Fact]:
    place = f"{world.name(broken.file)}:{broken.line}"
    version = {d: installed.get(d, "") for d in (broken.asker, broken.provider)}
    whole_first = sorted(broken.breaks, key=lambda text: not text.startswith("import "))
    above, _, below = broken.module.partition(".")
    module = broken.module if broken.name else (above if below else broken.provider)
    return {
        "asker": known(broken.asker, place),
        "asker_version": _version(version[broken.asker], place),
        "provider": known(broken.provider, place),
        "provider_version": _version(version[broken.provider], place),
        "module": known(module, place),
        "wanted": known(broken.name or broken.module, place),
        "asked": known(asked_of(broken.module, broken.name), place),
        "place": known(place.removeprefix("$site/"), place),
        "breaks": known(tuple(whole_first[:SHOWN]), place),
        "at_import": known(broken.at_import, place),
    }


def _version(text: str, source: str) -> Fact:
    return known(text, source) if text else absent(source)
