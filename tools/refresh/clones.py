"""Hold tables about AMD's GPUs against the sources of a repository, at each of its tags.

Usage: python -m tools.refresh.clones [--aotriton DIR] [--flash-attention DIR] [--write]

DIR is a clone with tags, bare or not. ``kernel-support-rocm`` says which GPUs each release of
AOTriton takes, and which only behind its variable: the source has a list of both.
``rocm-flash-attn`` says for which GPUs flash-attn's Composable Kernel compiles: setup.py has a
list. Ends with 1 where a cell is wrong; ``--write`` adds what was held to the ledger.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_in
from tools.refresh.cli import TABLES
from tools.refresh.ledger import Held, add
from tools.refresh.names.tables import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Row = Mapping[str, object]
    Show = Callable[[str, str], str]
    """A tag and a path -> the text; empty where there is no such file."""

TORCH, KERNELS = "kernel-support-rocm", "rocm-flash-attn"
HELD = (TORCH, KERNELS)
_UTIL = ("v3src/util.cc", "v2src/util.cc")
_TAG = re.compile(r"(0\.\d{1,2}(?:\.\d)?)b")
_RELEASE = re.compile(r"v(\d{1,2}(?:\.\d{1,2}){2}(?:\.post\d{1,2})?)")
_LISTED = re.compile(r'"(gfx[0-9a-f]{3,4})(?::[^"\n]{0,40})?"')
_EXPERIMENTAL = re.compile(r"isArchExperimentallySupported\(.{0,2000}?\n\}", re.DOTALL)
_BEHIND = re.compile(r"(?:, 0x|_GFX)([0-9a-fA-F]{3,4})(?![0-9A-Za-z])")
_ALLOWED = re.compile(r"allowed_archs = \[([^\]]{0,1000})\]")


def of_aotriton(tags: Iterable[str], show: Show, rows: Sequence[Row]) -> Iterator[Held]:
    """Yield the cells of each release: support of each GPU, and whether it needs the variable."""
    for tag in tags:
        match = _TAG.fullmatch(tag)
        source = next(filter(None, (show(tag, path) for path in _UTIL)), "") if match else ""
        listed = set(_LISTED.findall(source))
        if not match or not listed:
            continue
        behind = _EXPERIMENTAL.search(source)
        switched = {f"gfx{each.lower()}" for each in _BEHIND.findall(behind[0])} if behind else None
        for row in rows:
            if row["engine"] != "aotriton" or row["gfx"] == "*" or "fp16" not in str(row["dtype"]):
                continue
            if is_in(match[1], str(row["version"])):
                yield from _of_row(f"aotriton {match[1]}", row, listed, switched)


def _of_row(what: str, row: Row, listed: set[str], switched: set[str] | None) -> Iterator[Held]:
    support = row["support"]
    for gfx in str(row["gfx"]).split():
        place = f"{what} {row['backend']} {gfx}"
        if isinstance(support, str):
            yield _held(TORCH, f"{place} support", support == "works", gfx in listed)
        if support == "works" and switched is not None:
            yield _held(TORCH, f"{place} switch", "switch" in row, gfx in switched)


def of_flash_attn(tags: Iterable[str], show: Show, rows: Sequence[Row]) -> Iterator[Held]:
    """Yield the GPUs of each release."""
    for tag in tags:
        match = _RELEASE.fullmatch(tag)
        allowed = _ALLOWED.search(show(tag, "setup.py")) if match else None
        mine = [row for row in rows if match and is_in(match[1], str(row["version"]))]
        if match and allowed and mine:
            said = {gfx for row in mine for gfx in str(row["gfx"]).split()}
            found = set(_LISTED.findall(allowed[1]))
            yield _held(KERNELS, f"flash-attn {match[1]} gfx", said, found)


def _held(table: str, what: str, said: object, found: object) -> Held:
    day = datetime.now(timezone.utc).date().isoformat()
    return Held(table, what, 1, day, "read", int(said != found))


def clone(folder: Path) -> tuple[list[str], Show]:
    """Return the tags of a clone, and what reads its files."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    return git("tag").split(), lambda tag, path: git("show", f"{tag}:{path}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Hold the tables whose clone is named."""
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.clones", description=__doc__)
    parser.add_argument("--aotriton", type=Path, help="a clone of ROCm/aotriton")
    parser.add_argument("--flash-attention", type=Path, help="one of Dao-AILab/flash-attention")
    parser.add_argument("--write", action="store_true", help="add what was held to the ledger")
    asked = parser.parse_args(arguments)
    held: list[Held] = []
    if asked.aotriton:
        held += of_aotriton(*clone(asked.aotriton), rows_of(TABLES / f"{TORCH}.yaml"))
    if asked.flash_attention:
        held += of_flash_attn(*clone(asked.flash_attention), rows_of(TABLES / f"{KERNELS}.yaml"))
    wrong = [each for each in held if each.wrong]
    sys.stdout.writelines(f"WRONG {each.table}: {each.what}\n" for each in wrong)
    sys.stdout.write(f"{len(held)} cells held, {len(wrong)} wrong\n")
    if asked.write:
        add(held)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
