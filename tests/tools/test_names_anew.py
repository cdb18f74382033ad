"""The tables of names in a refresh of everything: made anew where a package has other releases."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from tests.tools.tiny_index import metadata, packed
from tools.refresh import cli
from tools.refresh.compare import Report
from tools.refresh.names import anew, survey, tables
from tools.refresh.names.anew import refreshed_names
from tools.refresh.names.packages import Package
from tools.refresh.names.tables import NAMES, READ

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tools.tiny_index import Handler, TinyIndex

PACKAGES = (Package("peft", "peft", "1.0"), Package("trl", "trl", "1.0"))
HEAD = "table: {name}\ndoc: A test.\nkeys: {{name: word}}\ncolumns: {{}}\nreferences: []\nrows:\n"
EMPTY = {name: HEAD.format(name=name) for name in NAMES}
PEFT = {
    "1.0": "class Config:\n    old = both = 1\ndef tune(): ...\n",
    "1.1": "class Config:\n    both = new = 1\n    def __init__(self): ...\ndef tune(): ...\n",
    "1.2": "class Config:\n    both = new = 1\n    def __init__(self, x): ...\ndef other(): ...\n",
}


@pytest.fixture(autouse=True)
def _two_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (anew, survey, tables):
        monkeypatch.setattr(module, "PACKAGES", PACKAGES)
    for module in (anew, tables):
        monkeypatch.setattr(module, "class_files", lambda: {"peft": ["peft/*.py"]})
    for module in (survey, tables):
        monkeypatch.setattr(module, "argument_files", lambda: {"peft": ["peft/*.py"]})
    monkeypatch.setattr(tables, "STARTS", {"trl": ("trl",)})
    monkeypatch.setattr(survey, "STARTS", {"trl": ("trl",)})


def offer(index: TinyIndex, *releases: str) -> None:
    """Offer some releases of peft, and one of trl that asks it for a name."""
    for package, texts in (
        ("peft", {release: PEFT[release] for release in releases}),
        ("trl", {"1.0": "from peft import tune\n"}),
    ):
        wheels = []
        for release, text in texts.items():
            stem = f"{package}-{release}"
            members = {
                f"{package}/__init__.py": text.encode(),
                f"{stem}.dist-info/METADATA": metadata(package, release),
            }
            wheels.append((f"{stem}-py3-none-any.whl", packed(members)))
        index.add(package, *wheels)


def made(index: TinyIndex, texts: dict[str, str], report: Report | None = None) -> dict[str, str]:
    """Return the tables after one run that has no pages of an older one."""
    opened = index.open()
    for path in (index.folder / "cache").glob("*"):
        path.unlink()
    return refreshed_names(texts, opened, opened.transport, report or Report())


def rows(texts: dict[str, str], name: str) -> str:
    return texts[name].partition("rows:\n")[2]


def test_what_came_and_went_is_told_with_its_releases(index: TinyIndex) -> None:
    offer(index, "1.0", "1.1", "1.2")
    found = made(index, EMPTY)
    assert rows(found, "names-attributes").splitlines() == [
        "  - {package: peft, class: Config, name: new, first: 1.1}",
        "  - {package: peft, class: Config, name: old, last: 1.0}",
    ]
    assert rows(found, "names-arguments").splitlines() == [
        "  - {package: peft, class: Config, name: x, first: 1.2}"
    ]
    assert "name: tune, last: 1.1" in rows(found, "names-given")
    # nobody in the stack asks for it, but programs may
    assert "name: other, first: 1.2" in rows(found, "names-given")
    assert "Config" not in rows(found, "names-given")
    assert "asker: trl" in rows(found, "names-asked")
    assert 'fits: "<1.2"' in rows(found, "name-bounds")
    assert "last: 1.2, asked: 1.2, attributes: 1.2, releases: 1.0 1.1 1.2" in rows(found, READ)


def test_names_at_the_top_are_added_behind_what_is_there(index: TinyIndex) -> None:
    offer(index, "1.0", "1.1", "1.2")
    listed = "  - {package: peft, module: peft, name: tune, last: 1.1}\n"
    before = EMPTY | {"names-given": EMPTY["names-given"] + listed}
    opened, found = index.open(), tables.Tables(before)
    tables.put_exports(found, survey.Survey(), opened, opened.transport)
    new = "  - {package: peft, module: peft, name: other, first: 1.2}\n"
    assert found.texts == before | {"names-given": before["names-given"] + new}


def test_a_new_release_leads_to_what_a_run_from_nothing_makes(index: TinyIndex) -> None:
    offer(index, "1.0", "1.1")
    before, report = made(index, EMPTY), Report()
    offer(index, "1.0", "1.1", "1.2")
    after = made(index, before, report)
    assert after == made(index, EMPTY) != before
    assert report.changes == [
        "names-read: peft: classes, 1.2 is new",
        "names-read: peft: modules, 1.2 is new",
    ]


def test_without_a_new_release_no_file_is_opened_and_nothing_changes(index: TinyIndex) -> None:
    offer(index, "1.0", "1.1", "1.2")
    before, report = made(index, EMPTY), Report()
    index.asked.clear()
    assert made(index, before, report) == before
    assert not report.changes
    assert {path for path, _ in index.asked} == {"/simple/peft/", "/simple/trl/"}


def test_a_release_that_is_gone_is_read_no_more(index: TinyIndex) -> None:
    offer(index, "1.0", "1.1", "1.2")
    before, report = made(index, EMPTY), Report()
    offer(index, "1.0", "1.2")
    assert made(index, before, report) == made(index, EMPTY)
    assert "names-read: peft: classes, 1.1 is gone" in report.changes


def test_where_a_file_cannot_be_fetched_the_tables_stay(index: TinyIndex) -> None:
    def fails(handler: Handler) -> None:
        handler.reply(500, b"")

    offer(index, "1.0", "1.1")
    before, report = made(index, EMPTY), Report()
    offer(index, "1.0", "1.1", "1.2")
    index.behaviours["/files/peft-1.2-py3-none-any.whl"] = fails
    assert made(index, before, report) == before
    assert {line.partition(":")[0] for line in report.unread} == {*NAMES} - {READ}
    assert not report.changes


def test_where_the_index_does_not_answer_the_tables_stay(index: TinyIndex) -> None:
    report = Report()
    assert made(index, EMPTY, report) == EMPTY
    assert {line.partition(":")[0] for line in report.unread} == set(NAMES)


def test_a_refresh_of_everything_writes_them_once(index: TinyIndex, tmp_path: Path) -> None:
    offer(index, "1.0", "1.1", "1.2")
    for name, text in EMPTY.items():
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    (tmp_path / "peft-requires.yaml").write_text(
        "table: peft-requires\ndoc: A test.\nkeys: {version: range}\ncolumns: {torch: text}\n"
        'references: []\nrows:\n  - {version: ">=1.0,<1.3"}\n',
        "utf-8",
    )
    options = ["--index-url", index.url, "--cache", str(tmp_path / "c"), "--tables", str(tmp_path)]
    diffs = []
    for _ in range(2):
        out, err = io.StringIO(), io.StringIO()
        assert cli.main([*options, "--all", "--write"], out, err) == 0
        diffs.append(out.getvalue())
    assert "+++ b/rules/matrix/names-attributes.yaml" in diffs[0]
    assert not diffs[1]
    text = (tmp_path / "names-given.yaml").read_text("utf-8")
    assert "name: tune, last: 1.1" in text
