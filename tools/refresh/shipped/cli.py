"""Parse the command line, fetch the sources of the releases, write the tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import yaml

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.import_names.read import SHIPPED, entries_of
from tools.refresh.cli import _cache_folder
from tools.refresh.errors import RefreshError
from tools.refresh.index import Index
from tools.refresh.names.anew import REQUESTS
from tools.refresh.settings import read_settings, settings_for
from tools.refresh.shipped.layers import packed
from tools.refresh.shipped.survey import Survey
from tools.refresh.shipped.trees import Shelf
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Sequence

RELEASES = Path(__file__).with_name("releases.yaml")
"""Which releases are brought along, in sets that go together."""

SIZE_LIMIT = 2_300_000
"""Bytes of all tables: they are a part of the wheel."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return 0, 1 where the tables are too large, 2 for wrong usage or no index."""
    options = _parser().parse_args(argv)
    try:
        settings = settings_for(tuple(options.index_url)) if options.index_url else read_settings()
        transport = Transport(settings, options.cache, offline=options.offline, requests=REQUESTS)
        shelf = Shelf(Index(transport, settings.indexes), transport, options.cache / "sources")
        size = write(shelf, options.releases, options.tables)
    except (RefreshError, OSError) as error:
        sys.stderr.write(f"refresh: {error}\n")
        return 2
    sys.stderr.write(f"{size:,} bytes\n")
    return 1 if size > SIZE_LIMIT else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.shipped", description=__doc__)
    add = parser.add_argument
    add("--offline", action="store_true", help="use the folder only, however old it is")
    add("--cache", type=Path, default=_cache_folder(), metavar="DIR", help="the folder")
    add("--index-url", action="append", metavar="URL", help="instead of what pip is configured for")
    add("--releases", type=Path, default=RELEASES, metavar="FILE", help="which releases")
    add("--tables", type=Path, default=SHIPPED, metavar="DIR", help="where the tables are")
    return parser


def write(shelf: Shelf, releases: Path, folder: Path) -> int:
    """Write the tables of some releases in place of those that are there; return their size."""
    data = yaml.safe_load(releases.read_text("utf-8"))
    table = msgspec.to_builtins(entries_of(load_knowledge().tables["entry-modules"]))
    survey = Survey(shelf, table)
    for each in data["sets"]:
        sys.stderr.write(f"{each['name']}\n")
        survey.add(each["with"], data["beside"])
    if survey.broken:
        raise RefreshError(f"these sets do not go together: {'; '.join(survey.broken)}")
    survey.complete()
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.names"):
        old.unlink()
    size = 0
    for distribution in sorted(survey.files):
        data_ = packed(survey.lines_of(distribution))
        (folder / f"{distribution}.names").write_bytes(data_)
        size += len(data_)
        sys.stderr.write(f"{distribution} {len(data_):,}: {' '.join(survey.files[distribution])}\n")
    return size
