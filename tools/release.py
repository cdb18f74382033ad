"""Versions and the changelog of a release: check that they agree, make them agree, print notes.

`python -m tools.release check [--tag v1.2.3]`, `prepare 1.2.3`, `notes 1.2.3`. Standard library
only, so that it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:(?:a|b|rc)(?:0|[1-9]\d*))?")
_HEADING = re.compile(r"^## \[([^\]\n]+)\](?: - (\S+))?$", re.MULTILINE)
_IN_CODE = re.compile(r'(?m)^(__version__ = ")([^"]*)(")$')
_IN_RECIPE = re.compile(r'(?m)^(  version: ")([^"]*)(")$')
_IN_RULES = re.compile(r'(?m)^version: "?([^"\s]+)"?$')
UNRELEASED = "Unreleased"


class ReleaseError(Exception):
    """Something does not agree: every reason, one a line."""


@dataclass(frozen=True)
class Files:
    """The files that name a version."""

    root: Path

    @property
    def code(self) -> Path:
        """The module whose version the build reads."""
        return self.root / "fadoctor" / "__init__.py"

    @property
    def recipe(self) -> Path:
        """The recipe for conda."""
        return self.root / "recipe" / "recipe.yaml"

    @property
    def changelog(self) -> Path:
        """What changed, newest first."""
        return self.root / "CHANGELOG.md"

    @property
    def rules(self) -> Path:
        """The file that dates the rules."""
        return self.root / "rules" / "knowledge.yaml"


def version_in(path: Path, pattern: re.Pattern[str]) -> str:
    """Return the version that a file states once."""
    found = pattern.findall(path.read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ReleaseError(f"{path.name}: {len(found)} versions where one is expected")
    return str(found[0][1] if isinstance(found[0], tuple) else found[0])


def problems(files: Files, tag: str = "") -> Iterator[str]:
    """Yield what does not agree. Without a tag the version may still be unreleased."""
    version = version_in(files.code, _IN_CODE)
    if not _VERSION.fullmatch(version):
        yield f"{files.code.name}: {version!r} is not a version of three numbers"
    if (other := version_in(files.recipe, _IN_RECIPE)) != version:
        yield f"{files.recipe.name} says {other}, {files.code.name} {version}"
    headings = _HEADING.findall(files.changelog.read_text(encoding="utf-8"))
    yield from _heading_problems(headings)
    dates = dict(headings)
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, the version {version}: v{version} is expected"
    if tag and version not in dates:
        yield f"{files.changelog.name} has no heading [{version}]"
    rules = version_in(files.rules, _IN_RULES)
    day = _rules_date(rules)
    if day is None:
        yield f"{files.rules.name}: {rules!r} is no date such as 2026.11.22"
    elif version in dates and (released := _date(dates[version])) and day > released:
        yield f"the rules are of {rules}, after the release of {version} on {dates[version]}"


def _heading_problems(headings: list[tuple[str, str]]) -> Iterator[str]:
    """Yield what is wrong with the headings: Unreleased first, then versions, newest first."""
    if not headings or headings[0] != (UNRELEASED, ""):
        yield f"the changelog does not begin with [{UNRELEASED}]"
    released = [each for each in headings if each[0] != UNRELEASED]
    if len({name for name, _ in headings}) < len(headings):
        yield "the changelog has a heading twice"
    for name, date in released:
        if not _VERSION.fullmatch(name) or _date(date) is None:
            yield f"the heading [{name}] - {date} is not [1.2.3] - 2026-11-22"
    days = [date for _, date in released]
    if days != sorted(days, reverse=True):
        yield "the headings of the changelog are not ordered, newest first"


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _rules_date(text: str) -> dt.date | None:
    year, _, rest = text.partition(".")
    month, _, day = rest.partition(".")
    try:
        return dt.date(int(year), int(month), int(day.partition(".")[0]))
    except ValueError:
        return None


def notes(files: Files, version: str) -> str:
    """Return what the changelog says of a version."""
    text = files.changelog.read_text(encoding="utf-8")
    found = [(match[1], match.end()) for match in _HEADING.finditer(text)]
    for name, start in found:
        if name == version:
            rest = text[start:]
            following = _HEADING.search(rest)
            return rest[: following.start() if following else None].strip() + "\n"
    raise ReleaseError(f"{files.changelog.name} has no heading [{version}]")


def prepare(files: Files, version: str, date: str) -> None:
    """Give what is unreleased a version and a date, everywhere; nothing is written where one fails.

    Raises ReleaseError for a version that is none or was given, and for empty notes.
    """
    if not _VERSION.fullmatch(version) or _date(date) is None:
        raise ReleaseError(f"{version} - {date} is not 1.2.3 - 2026-11-22")
    text = files.changelog.read_text(encoding="utf-8")
    if version in dict(_HEADING.findall(text)):
        raise ReleaseError(f"{files.changelog.name} has a heading [{version}] already")
    if not notes(files, UNRELEASED).strip():
        raise ReleaseError("nothing is unreleased")
    heading = f"## [{UNRELEASED}]"
    written = {
        files.changelog: text.replace(heading, f"{heading}\n\n## [{version}] - {date}", 1),
        files.code: _with_version(files.code, _IN_CODE, version),
        files.recipe: _with_version(files.recipe, _IN_RECIPE, version),
    }
    for path, content in written.items():
        path.write_text(content, encoding="utf-8")


def _with_version(path: Path, pattern: re.Pattern[str], version: str) -> str:
    version_in(path, pattern)
    return pattern.sub(rf"\g<1>{version}\g<3>", path.read_text(encoding="utf-8"))


def refuse(found: list[str]) -> None:
    """Raise ReleaseError with every problem, where there is one."""
    if found:
        raise ReleaseError("\n".join(found))


def run(arguments: list[str], files: Files) -> str:
    """Carry out a command line; return what it says."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="versions, changelog, rules and tag agree")
    check.add_argument("--tag", default="", help="the tag of the release, such as v1.2.3")
    given = commands.add_parser("prepare", help="move what is unreleased to a version")
    given.add_argument("version")
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    given.add_argument("--date", default=today, help="default: today")
    commands.add_parser("notes", help="what the changelog says").add_argument("version")
    asked = parser.parse_args(arguments)
    if asked.command == "notes":
        return notes(files, asked.version)
    if asked.command == "prepare":
        prepare(files, asked.version, asked.date)
        refuse(list(problems(files, f"v{asked.version}")))
        return f"{asked.version} of {asked.date}: commit, tag v{asked.version}, push the tag\n"
    refuse(list(problems(files, asked.tag)))
    return f"{asked.tag or version_in(files.code, _IN_CODE)}: everything agrees\n"


def main() -> None:
    """Carry out the command line; exit 1 with every reason where something does not agree."""
    try:
        sys.stdout.write(run(sys.argv[1:], Files(ROOT)))
    except (ReleaseError, OSError) as error:
        sys.exit(f"release: {error}")


if __name__ == "__main__":
    main()
