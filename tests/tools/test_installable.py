"""The table of releases that no installer can install follows the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tools.tiny_index import metadata, packed
from tools.refresh import installable
from tools.refresh.compare import Report
from tools.refresh.document import Document

if TYPE_CHECKING:
    from tests.tools.tiny_index import TinyIndex

TABLE = """\
table: not-installable
keys: {package: word, version: release}
columns: {lacks: text}
references: []
rows:
  - {package: vllm, version: 9.0.0, lacks: "certifi>=3"}
"""


@pytest.fixture(autouse=True)
def only_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at one package, so that the others are in no need of an index."""
    monkeypatch.setattr(installable, "LOOKED_AT", ("vllm",))


def publish(index: TinyIndex, *certifi: str) -> None:
    body = packed({"v-9.dist-info/METADATA": metadata("vllm", "9.0.0", "certifi>=3")})
    index.add("vllm", ("vllm-9.0.0-py3-none-any.whl", body))
    index.add("certifi", *((f"certifi-{v}-py3-none-any.whl", b"") for v in certifi))


def test_a_row_goes_when_the_index_has_what_was_lacking(index: TinyIndex) -> None:
    """Regression: the row stayed after certifi had been published."""
    publish(index, "2.0", "3.1.post1")
    report = Report()
    after = installable.rewritten(Document(TABLE), index.open(), report)
    assert after.text.endswith("rows: []\n")
    assert report.changes == ["not-installable: what no installer can install: none"]
    again = installable.rewritten(after, index.open(), Report())
    assert again.text == after.text


def test_a_row_comes_and_stays_where_something_is_lacking(index: TinyIndex) -> None:
    publish(index, "2.0")
    empty = Document(TABLE.partition("rows:")[0] + "rows: []\n")
    after = installable.rewritten(empty, index.open(), Report())
    assert after.text == TABLE


def test_a_resolver_that_refuses_counts_and_one_that_cannot_be_asked_does_not(
    index: TinyIndex,
) -> None:
    publish(index, "3.1")
    for says, rows in ((False, 1), (None, 0), (True, 0)):
        after = installable.rewritten(
            Document(TABLE), index.open(), Report(), resolves=lambda *_, says=says: says
        )
        assert len(after.rows) == rows


def test_an_index_that_does_not_answer_changes_no_row(index: TinyIndex) -> None:
    report = Report()
    assert installable.rewritten(Document(TABLE), index.open(), report).text == TABLE
    assert len(report.unread) == 1


NARROW = """\
  - {package: vllm, version: 8.0.0 8.1.0, python: ">=3.12", lacks: a file}
"""


def test_a_row_about_some_pythons_alone_stays(index: TinyIndex) -> None:
    """The index tells nothing of those: without a Python, each of their requirements is met."""
    publish(index, "3.1")
    after = installable.rewritten(Document(TABLE + NARROW), index.open(), Report())
    assert after.text.endswith("rows:\n" + NARROW)


FARTHER = """\
  - {package: vllm, version: 9.0.0, lacks: something that its requirements require}
"""


def test_an_older_release_is_put_to_the_resolver_again(index: TinyIndex) -> None:
    """Only the newest was, and the row of what a requirement requires went with the next run."""
    publish(index, "3.1")
    table = TABLE.partition("  - {")[0] + FARTHER
    for says, rows in ((False, 1), (None, 1), (True, 0)):
        after = installable.rewritten(
            Document(table), index.open(), Report(), resolves=lambda *_, says=says: says
        )
        assert len(after.rows) == rows
