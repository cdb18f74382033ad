"""Whatever a fix did and whatever others did since: its doing goes, theirs is never lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.environment import Target
from fadoctor.model.plan import Change, Plan, PlanOutcome
from fadoctor.repair.apply.changes import find_changes, write_changes
from fadoctor.repair.apply.journal import Journal, JournalStage, write_journal
from fadoctor.repair.apply.snapshot import take
from fadoctor.repair.apply.store import Store
from fadoctor.repair.apply.undo import undo
from tests.work import examples

pytestmark = pytest.mark.property

SITE = "lib/python3.11/site-packages"
PACKAGE = (f"{SITE}/a/one.py", f"{SITE}/a/two.py", f"{SITE}/a/sub/three.py", "bin/a-tool")
PROJECT = ("train.py", "runs/x/best.bin", "bin/start.sh", ".git/HEAD", f"{SITE}/b/four.py")
EVERYTHING = (*PACKAGE, *PROJECT)

Files = dict[str, str | None]
"""Text by path; None: it is not there."""


def files(paths: tuple[str, ...]) -> st.SearchStrategy[Files]:
    """Return what is written or removed; what is not named stays."""
    texts = st.one_of(st.none(), st.integers(0, 5).map(str))
    return st.dictionaries(st.sampled_from(paths), texts, max_size=len(paths))


def write(prefix: Path, wanted: Files, author: str) -> None:
    for path, text in wanted.items():
        place = prefix / path
        if text is None:
            place.unlink(missing_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_name("new~")
        new.write_text(f"{author} {path} {text}")
        new.replace(place)


def state(prefix: Path) -> dict[str, tuple[str, int]]:
    """Return text and rights of every file of the universe."""
    places = {path: prefix / path for path in EVERYTHING}
    return {
        path: (place.read_text(), place.stat().st_mode)
        for path, place in places.items()
        if place.is_file()
    }


def record(prefix: Path, version: str) -> None:
    """Write the metadata of the package as it is."""
    old = list((prefix / SITE).glob("a-*.dist-info"))
    for info in old:
        (info / "RECORD").unlink()
        info.rmdir()
    info = prefix / SITE / f"a-{version}.dist-info"
    info.mkdir(parents=True)
    rows = [path for path in PACKAGE if (prefix / path).exists()]
    relative = (f"../../../{path}" if path.startswith("bin") else path[len(SITE) + 1 :]
                for path in rows)  # fmt: skip
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in relative))


@settings(max_examples=examples(40), deadline=None)
@given(before=files(EVERYTHING), fix=files(PACKAGE), since=files(EVERYTHING), killed=st.booleans())
def test_nothing_is_lost(before: Files, fix: Files, since: Files, *, killed: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        prefix = Path(name)
        store = Store(prefix)
        write(prefix, before, "before")
        record(prefix, "1")
        was = state(prefix)
        plan = Plan(PlanOutcome.REPAIRS, Target("environment", "x", "x"), "pip",
                    changes=(Change("a", "1", "2"),))  # fmt: skip
        with store.locked():
            take(store)
            write(prefix, fix, "fix")
            record(prefix, "2")
            left = state(prefix)
            journal = Journal(
                JournalStage.RUNNING if killed else JournalStage.DONE, plan, (), step=0
            )
            if not killed:
                write_changes(store, find_changes(store, 0, journal.planned()))
            write_journal(store, journal)
        elsewhere = {path: text for path, text in since.items() if path in PROJECT[:4]}
        write(prefix, elsewhere if killed else since, "since")
        by_others = state(prefix)
        with store.locked():
            undone = undo(store)
        after = state(prefix)
        assert undone is not None
        assert undone.spoiled == ()
        kept = {
            path: (store.kept / path).read_text()
            for path in EVERYTHING
            if (store.kept / path).is_file()
        }
        for path in EVERYTHING:
            if by_others.get(path) == left.get(path):  # nobody else touched it
                assert after.get(path) == was.get(path), path
            elif was.get(path) == left.get(path):  # the fix did not
                assert after.get(path) == by_others.get(path), path
            elif path in by_others:  # both did
                text = by_others[path][0]
                assert text in (kept.get(path), after.get(path, ("", 0))[0]), path
