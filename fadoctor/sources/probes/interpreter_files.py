"""What files tell about an interpreter that is not run: pyvenv.cfg, folder and file names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.sources.probes.world import known, read_text, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.environment import Target
    from fadoctor.sources.probes.world import Facts, World

_PYVENV_LIMIT = 16_384
_MAX_ENTRIES = 4_000
_MAX_FOLDERS = 200


def read_pyvenv(prefix: str | Path) -> dict[str, str] | None:
    """Return the keys (lower case) and values of ``pyvenv.cfg``; None where there is none.

    Only the first 16 KiB are read.
    """
    text = read_text(Path(prefix) / "pyvenv.cfg", _PYVENV_LIMIT)
    if text is None:
        return None
    # include-system-site-packages = false
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, sep, value in pairs if sep}


def is_folder(path: str | Path) -> bool:
    """Whether that is a folder that can be seen: loops of links and missing rights make it none."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: str | Path) -> bool:
    """Whether that is a regular file that can be seen."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def facts_of_files(world: World) -> Facts:
    """Return what can be told without running anything; facts that cannot be told are left out."""
    facts = _facts_of_folder(world.target)
    names = (facts.get(f"python.{name}") for name in ("tag", "abi_tag"))
    tag, abi = (str(fact.value) if isinstance(fact, Known) else "" for fact in names)
    facts = _facts_of_suffixes(world, tag, abi) | facts
    prefix = world.target.roots.get("prefix")
    config = read_pyvenv(prefix) if prefix else None
    if config is not None:
        facts |= _facts_of_config(config)
    return facts


def _facts_of_config(config: Mapping[str, str]) -> Facts:
    facts: Facts = {
        "python.externally_managed": known(False, "$prefix/pyvenv.cfg: a virtual environment")
    }
    # venv: version = 3.11.7; uv: version_info = 3.11.7; virtualenv: version_info = 3.11.7.final.0
    for key in ("version_info", "version"):
        match = re.match(r"\d{1,3}\.\d{1,3}\.\d{1,3}", config.get(key, ""))
        if match:
            facts["python.version"] = known(match[0], f"$prefix/pyvenv.cfg: {key} = {config[key]}")
            break
    if name := config.get("implementation", ""):
        facts["python.implementation"] = known(name.lower(), "$prefix/pyvenv.cfg: implementation")
    return facts


def _facts_of_folder(target: Target) -> Facts:
    """Read ``.../lib/python3.13t/site-packages``: version X.Y, tag, and whether it has the GIL."""
    for folder in _own_first(target):
        match = re.search(r"[/\\](python|pypy)(\d)\.(\d{1,3})(t?)[/\\]", folder + "/")
        if match:
            kind, major, minor, threads = match.groups()
            source = f"name of the folder {match[0].strip('/')}"
            short = {"python": "cp", "pypy": "pp"}[kind]
            abi = known(f"{short}{major}{minor}t", source)  # cp313d and the like have no such sign
            return {
                **({"python.abi_tag": abi} if threads else {}),
                "python.version": known(f"{major}.{minor}", source),
                "python.tag": known(f"{short}{major}{minor}", source),
                "python.free_threaded": known(bool(threads), source),
            }
    return {}


def _own_first(target: Target) -> Iterator[str]:
    """Yield the folders of a target, the environment's own before what PYTHONPATH adds."""
    own = target.roots.get("site", "")
    yield from sorted(target.site, key=lambda folder: folder != own)


def _facts_of_suffixes(world: World, tag: str, only: str) -> Facts:
    """Read names such as ``_C.cpython-311-x86_64-linux-gnu.so``, where all of them agree.

    With a `tag`, those of other interpreters are left-overs and are passed over; with an ABI in
    `only`, those of any other.
    """
    # Only its own folder: the others may belong to another interpreter.
    folder = next(_own_first(world.target), "")
    pairs = {(_cpython_tag(suffix), suffix) for suffix in (_suffixes(folder) if folder else ())}
    pairs = {(abi, suffix) for abi, suffix in pairs if abi and tag in {"", abi.rstrip("tdm")}}
    pairs = {(abi, suffix) for abi, suffix in pairs if only in {"", abi}}
    tags = sorted({abi for abi, _ in pairs})
    if len(tags) > 1:
        reason = f"compiled files are there for {', '.join(tags[:4])}"
        names = ("abi_tag",) if tag else ("tag", "abi_tag", "version")
        return {f"python.{name}": unknown(reason, world.name(folder)) for name in names}
    if not tags:
        return {}
    suffixes = {suffix for _, suffix in pairs}
    return _facts_of_abi(tags[0], suffixes, f"names of compiled files in {world.name(folder)}")


def _facts_of_abi(abi: str, suffixes: set[str], source: str) -> Facts:
    tag = abi.rstrip("tdm")
    facts: Facts = {
        "python.version": known(f"{tag[2]}.{tag[3:]}", source),
        "python.implementation": known("cpython", source),
        "python.tag": known(tag, source),
        "python.abi_tag": known(abi, source),
        "python.free_threaded": known("t" in abi[2:], source),
    }
    if len(suffixes) == 1:
        facts["python.ext_suffix"] = known(next(iter(suffixes)), source)
    return facts


def _cpython_tag(suffix: str) -> str:
    # .cpython-311-x86_64-linux-gnu.so, .cpython-313t-darwin.so, .cp311-win_amd64.pyd
    match = re.fullmatch(r"\.(?:cpython-|cp)(\d{2,4}[a-z]{0,2})-[\w-]+\.(?:so|pyd)", suffix)
    return f"cp{match[1]}" if match else ""


def _suffixes(folder: str) -> Iterator[str]:
    """Yield the ends of compiled files' names, in the folder and one level below it."""
    budget = _MAX_ENTRIES
    folders = [folder]
    for index, place in enumerate(folders):  # grows while the first folder is read
        if index >= _MAX_FOLDERS or budget <= 0:
            return
        entries = list_folder(place, budget)
        budget -= len(entries)
        for entry in entries:
            if entry.name.endswith((".so", ".pyd")) and entry.name.count(".") > 1:
                yield entry.name[entry.name.index(".") :]
            elif index == 0 and "." not in entry.name and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)


def list_folder(folder: str | Path, limit: int) -> list[os.DirEntry[str]]:
    """Return at most `limit` entries of a folder; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry for _, entry in zip(range(limit), entries, strict=False)]
    except (OSError, ValueError):
        return []
