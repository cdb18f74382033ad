"""Compare what diagnoses the same planted environments: theirs and ours, side by side.

    python -m bench.peers.compare FOLDER
    python -m bench.peers.compare FOLDER --page     only the page, from what was measured before

installs the others below FOLDER (from the index that pip is configured for), plants every case
there, runs every tool on every case, and writes docs/comparison.md. Needs Linux and namespaces for
users (`unshare`): third-party programs run without a network and with a home of their own.
"""

from __future__ import annotations

import datetime as dt
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from bench.peers import tools
from bench.peers.cases import CASES
from bench.peers.planted import environ_of, plant
from bench.peers.real import Times, times_of_a_real_torch

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "comparison.md"
WORDS = Path(__file__).with_name("words.md")
"""What a person wrote around the tables."""


class Row(msgspec.Struct, frozen=True):
    """A case, and what every tool said."""

    name: str
    fault: str
    named: str
    covered: tuple[str, ...]
    said: dict[str, tools.Said]


class Compared(msgspec.Struct, frozen=True):
    """Everything that was measured."""

    date: str
    python: str
    versions: dict[str, str]
    rows: tuple[Row, ...]
    times: Times


def compare(folder: Path) -> Compared:
    """Plant and run everything."""
    others = folder / "tools"
    tools.install(others)
    shutil.rmtree(folder / "planted", ignore_errors=True)
    rows = []
    for case in CASES:
        root = folder / "planted" / re.sub(r"\W+", "-", case.name)
        (root / "home").mkdir(parents=True)
        plant(case, root)
        environ = environ_of(case, root)
        said = {each.name: tools.ask(each, root, environ, others, 1) for each in tools.TOOLS}
        rows.append(Row(case.name, case.fault, case.named, case.covered, said))
        sys.stderr.write(f"{case.name}\n")
    return Compared(
        dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        f"{sys.version_info[0]}.{sys.version_info[1]}",
        tools.versions(others),
        tuple(rows),
        times_of_a_real_torch(folder, others),
    )


def page_of(found: Compared) -> str:
    """Return the page: what was written by hand, with the tables in it."""
    parts = {
        "date": found.date,
        "python": found.python,
        "versions": ", ".join(f"{name} {version}" if not version.startswith("pip ") else version
                              for name, version in found.versions.items()),
        "cases": "\n".join(_cases(found)),
        "counts": "\n".join(_counts(found)),
        "times": "\n".join(_times(found.times)),
        "said": "\n".join(_said(found)),
    }  # fmt: skip
    return re.sub(r"<!-- (\w+) -->", lambda name: parts[name[1]], WORDS.read_text("utf-8"))


def _names(row: Row, tool: str) -> bool:
    return any(re.search(row.named, each) for each in row.said[tool].complaints)


def _cases(found: Compared) -> list[str]:
    columns = [each.name for each in tools.TOOLS]
    lines = [f"| what is wrong | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for row in found.rows:
        cells = [_cell(row, tool) for tool in columns]
        lines.append(f"| {row.fault or 'nothing'} | {' | '.join(cells)} |")
    return lines


def _cell(row: Row, tool: str) -> str:
    count = len(row.said[tool].complaints)
    if not row.fault:
        return "silent" if not count else f"{count} complaint{'s' if count > 1 else ''}"
    if _names(row, tool):
        return "**named**"
    return "not named" if tool in row.covered else "(not named)"


def _counts(found: Compared) -> list[str]:
    faulty = [row for row in found.rows if row.fault]
    lines = [
        "| tool | of what it says it covers | of all | other complaints |",
        "|---|---|---|---|",
    ]
    for each in tools.TOOLS:
        own = [row for row in faulty if each.name in row.covered]
        named = sum(_names(row, each.name) for row in own)
        every = sum(_names(row, each.name) for row in faulty)
        others = sum(
            not (row.named and re.search(row.named, text))
            for row in found.rows
            for text in row.said[each.name].complaints
        )
        lines.append(
            f"| {each.name} | {named} of {len(own)} | {every} of {len(faulty)} | {others} |"
        )
    return lines


def _times(times: Times) -> list[str]:
    ours = times.seconds["fadoctor"]
    lines = ["| tool | times the time of fadoctor |", "|---|---|"]
    for name, seconds in sorted(times.seconds.items(), key=lambda pair: pair[1]):
        lines.append(f"| {name} | {seconds / ours:.1f} |")
    return lines


def _said(found: Compared) -> list[str]:
    lines = []
    for row in found.rows:
        lines += [f"### {row.name.capitalize()}", "", f"{row.fault or 'Nothing is wrong'}.", ""]
        for tool, said in row.said.items():
            texts = [_plain(text) for text in said.complaints] or ["nothing"]
            lines += [f"* {tool} (exit {said.exit}): {'; '.join(texts)}"]
        lines.append("")
    return lines


def _plain(text: str) -> str:
    """Return a complaint as text of a page: no markup, and no folder of the machine."""
    text = re.sub(r"/\S*/planted/[\w-]+", "...", text)
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def main(arguments: list[str]) -> int:
    """Compare, keep the result beside what was planted, and write the page."""
    if not arguments or arguments[1:] not in ([], ["--page"]) or sys.platform != "linux":
        sys.stderr.write(f"{__doc__}\n")
        return 2
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    try:
        if not arguments[1:]:
            results.write_bytes(msgspec.json.encode(compare(folder)))
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    found = msgspec.json.decode(results.read_bytes(), type=Compared)
    PAGE.write_text(page_of(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
