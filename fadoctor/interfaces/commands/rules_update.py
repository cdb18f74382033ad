"""One update of the rules, from a wheel that is here to what every command uses."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.judging.engine.rules_trial import TrialResult, judge
from fadoctor.knowledge.matrix.fetched import FetchedRelease, version_key
from fadoctor.knowledge.matrix.load import FORM, load_apart, load_knowledge, pointer_file, shipped
from fadoctor.knowledge.updates import ReleaseError
from fadoctor.knowledge.updates.store import put, undo, unpack, workplace
from fadoctor.model.errors import UsageError
from fadoctor.model.rules_version import rules_version

if TYPE_CHECKING:
    from fadoctor.knowledge.updates import archive


class Update(msgspec.Struct, frozen=True):
    """What came of it."""

    version: str
    sha256: str
    before: str
    """The version that was used, with where it came from."""
    newer: bool
    judged: TrialResult | None = None
    """None where it is not newer, and was not looked into."""


def home() -> Path:
    """Return the pointer of the user's releases; UsageError where there is no place for them."""
    found = pointer_file()
    if found is None:
        raise UsageError("there is no place to keep rules: set HOME or XDG_DATA_HOME")
    return found


def take(release: archive.Release, source: str, date: str, *, dry_run: bool, named: bool) -> Update:
    """Judge a release and use it from now on; `dry_run` only judges.

    ReleaseError where it is not fit; where it was `named`, also where it is older.
    """
    used = load_knowledge()
    before = rules_version(used.version, used.origin, shipped=True)
    mine, theirs = version_key(release.version), version_key(used.version)
    newer = mine is not None and (theirs is None or mine > theirs)
    if named and not newer and mine != theirs and not dry_run:
        raise ReleaseError(f"rules {release.version} are older than those in use: {before}")
    if not newer and not dry_run:
        return Update(release.version, release.sha256, before, newer=False)
    with ExitStack() as stack:
        pointer = None if dry_run else home()
        made = Path(stack.enter_context(workplace(pointer)), "release")
        folder = unpack(release.files, made)
        judged = judge(folder, release.version, shipped(), load_apart(as_shipped=True))
        if pointer is not None:
            stated = FetchedRelease(
                release.version, release.sha256, source, date, FORM, fadoctor=__version__
            )
            put(pointer, made, stated, judged.compiled)
    return Update(release.version, release.sha256, before, newer, judged)


def go_back() -> tuple[str, str]:
    """Use what was used before the last update; return what was left behind, and what is used."""
    pointer = home()
    left = undo(pointer)
    used = load_knowledge()
    gone = f"rules {left.version}" if left is not None else "damaged rules"
    return gone, rules_version(used.version, used.origin, shipped=True)
