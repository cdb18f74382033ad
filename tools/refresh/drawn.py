"""Draw cells of tables that people write, and hold them against files and metadata of the index.

Usage: python -m tools.refresh.drawn [--count N] [--seed TEXT] [--table NAME] [--write]

Each table has a function that reads the primary source of one row for one release. What was held
is added to the ledger `tools/refresh/held.txt` with ``--write``. Ends with 1 where a cell is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in
from tools.refresh import drawn_cells, drawn_files, drawn_sources, drawn_texts
from tools.refresh.cli import TABLES, _cache_folder
from tools.refresh.errors import FetchError, WheelError
from tools.refresh.index import Index
from tools.refresh.ledger import Held, add
from tools.refresh.names.tables import rows_of
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tools.refresh.drawn_cells import Row, Told
    from tools.refresh.index import Release


@dataclass(frozen=True)
class Drawable:
    """A table, whose package a row is about, and what holds a row."""

    table: str
    hold: Callable[[Row, Release, Index], Iterator[Told]]
    package: str = ""
    """"" where the rows name it."""
    version: str = "version"
    named: str = "package"
    """The column that names it."""
    where: Callable[[Row], tuple[str, str]] | None = None
    """Package and range of a row, where no column says them."""
    has: str = ""
    """A cell without which nothing of a row is held."""


ANY = "*"
"""In place of a column of releases: every release can refute a row."""

NEWEST = ""
"""The same: the rows are about today."""

DRAWABLE = (
    Drawable("release-platforms", drawn_cells.release_platforms),
    Drawable("requirement-platforms", drawn_cells.requirement_platforms),
    Drawable("triton-windows-releases", drawn_cells.python_tags, "triton-windows"),
    Drawable("xformers-windows-wheels", drawn_cells.windows_python_tags, "xformers"),
    Drawable("bitsandbytes-windows", drawn_cells.windows_libraries, "bitsandbytes"),
    Drawable("needed-requirements", drawn_cells.needed),
    Drawable("release-pythons", drawn_cells.told_pythons),
    Drawable("numpy-releases", drawn_cells.told_pythons),
    Drawable("entry-modules", drawn_cells.modules, named="distribution"),
    Drawable("transformers-no-fa2", drawn_sources.no_flash_attention, "transformers"),
    Drawable("transformers-padding-check", drawn_sources.padding_check, "transformers"),
    Drawable("vllm-backend-names", drawn_sources.backend_names, "vllm"),
    Drawable("attention-entry-points", drawn_sources.entry_points),
    Drawable("index-names", drawn_sources.served, has="serves"),
    Drawable("listed-releases", drawn_sources.withdrawn),
    Drawable("torch-companions", drawn_cells.companions, "torch", "torch"),
    Drawable("flash-attn-variables", drawn_texts.flash_attn_variables, "flash-attn", ANY),
    Drawable("flash-attn-arguments", drawn_texts.flash_attn_arguments, "flash-attn", ANY),
    Drawable("flash-attn-build", drawn_texts.flash_attn_build, "flash-attn"),
    Drawable("flash-attn-cubins", drawn_texts.flash_attn_code, "flash-attn"),
    Drawable("sdpa-arguments", drawn_texts.sdpa_arguments, "torch", ANY),
    Drawable("torch-names", drawn_texts.torch_names),
    Drawable("transformers-attention", drawn_texts.transformers_attention, "transformers"),
    Drawable("transformers-dtype-keyword", drawn_texts.transformers_dtype, "transformers"),
    Drawable("transformers-hub-rocm", drawn_texts.transformers_on_rocm, "transformers"),
    Drawable("requirement-checks", drawn_texts.transformers_checks),
    Drawable("diffusers-hub-kernels", drawn_texts.diffusers_hub, "diffusers"),
    Drawable("x-transformers-rotary", drawn_texts.widening_rotary, "x-transformers", ANY),
    Drawable("models-with-sinks", drawn_texts.models_with_sinks, "transformers", NEWEST),
    Drawable("numpy-unbounded", drawn_texts.admits_numpy_2, version="releases"),
    Drawable("bitsandbytes-rocm", drawn_files.rocm_libraries, "bitsandbytes"),
    Drawable("vllm-attention-variable", drawn_files.vllm_variable, "vllm"),
    Drawable("vllm-flash-attn", drawn_files.vllm_flash_attn, "vllm"),
    Drawable("vllm-rocm-backends", drawn_files.vllm_on_rocm, "vllm"),
    Drawable("vllm-backend-capability", drawn_files.vllm_capability, "vllm"),
    Drawable("vllm-removed-backends", drawn_files.vllm_removed, "vllm"),
    Drawable("cuda-toolkits", drawn_files.host_compilers, where=drawn_files.nvcc_of),
    Drawable("torch-windows-exports", drawn_files.windows_exports, "torch", "release"),
    Drawable("may-bring", drawn_files.brought, version=NEWEST),
)


def drawn(
    source: Drawable, index: Index, dice: random.Random, count: int
) -> Iterator[tuple[str, Told]]:
    """Yield cells of a table, each with the release that it was read of."""
    rows = [row for row in rows_of(TABLES / f"{source.table}.yaml") if source.has in ("", *row)]
    for row in dice.sample(rows, min(count, len(rows))):
        package, cell = _place(source, row, dice)
        every = index.releases(package)
        usable = [
            each
            for version, each in every.items()
            if not version.is_prerelease and not all(f.yanked for f in each.files)
        ]
        releases = [r for r in usable or every.values() if _is_meant(r.version, cell)]
        if not releases:
            continue
        release = dice.choice(releases if cell else releases[-1:])
        for told in source.hold(row, release, index):
            yield f"{package} {release.version} {told.what}".strip(), told


def _place(source: Drawable, row: Row, dice: random.Random) -> tuple[str, str]:
    """Return the package that can refute a row, and its releases as a range or a list."""
    if source.where is not None:
        return source.where(row)
    package = source.package or dice.choice(str(row[source.named]).split())
    return package, ANY if source.version == ANY else str(row.get(source.version, NEWEST))


def _is_meant(version: Version, cell: str) -> bool:
    if cell == ANY:
        return True
    if not cell or any(letter in cell for letter in "<>=~"):
        return not cell or is_in(str(version), cell) is True
    return version in [Version(word) for word in cell.split()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and hold; return 1 where a cell is wrong, 3 where something was not read."""
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.drawn", description=__doc__)
    parser.add_argument("--count", type=int, default=10, help="rows of each table")
    parser.add_argument("--seed", default="", help="default: the day")
    parser.add_argument("--table", default="", choices=["", *(each.table for each in DRAWABLE)])
    parser.add_argument("--write", action="store_true", help="add what was held to the ledger")
    parser.add_argument("--cache", type=Path, default=_cache_folder(), metavar="DIR")
    asked = parser.parse_args(arguments)
    day = datetime.now(timezone.utc).date().isoformat()
    settings = read_settings()
    index = Index(Transport(settings, asked.cache), settings.indexes)
    held: list[Held] = []
    unread = False
    for source in DRAWABLE:
        if asked.table not in {"", source.table}:
            continue
        dice = random.Random(f"{asked.seed or day} {source.table}")  # noqa: S311 -- a draw
        try:
            for what, told in drawn(source, index, dice, asked.count):
                held.append(Held(source.table, f"{what} {told.column}", 1, day, "drawn",
                                 int(not told.is_right)))  # fmt: skip
                if not told.is_right:
                    lists = (" ".join(sorted(each)) for each in (told.said, told.found))
                    sys.stdout.write(f"WRONG {source.table}: {what}: {' / '.join(lists)}\n")
        except (FetchError, WheelError) as error:
            unread = True
            sys.stdout.write(f"NOT READ {source.table}: {error}\n")
    sys.stdout.write(f"{len(held)} cells held, {sum(each.wrong for each in held)} wrong\n")
    if asked.write:
        add(held)
    return 1 if any(each.wrong for each in held) else 3 if unread else 0


if __name__ == "__main__":
    raise SystemExit(main())
