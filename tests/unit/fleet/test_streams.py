"""What comes from launchers: mixtures, prefixes, damage."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.fleet.documents import document_of, file_name
from fadoctor.fleet.envelope import seal
from fadoctor.fleet.frames import frames_of
from fadoctor.fleet.gathered import Gathered, is_healthy
from fadoctor.fleet.identity import NodeIdentity
from fadoctor.fleet.source import LineSource
from fadoctor.fleet.sources import read_all
from fadoctor.fleet.streams import Intake
from fadoctor.model.errors import InputError
from fadoctor.report.jsonl import render as render_lines
from tests.unit.fleet.samples import content, line, node
from tests.unit.report.test_markdown import report

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.report import Report


def gather(text: bytes) -> Gathered:
    gathered = Gathered()
    intake = Intake(gathered)
    intake.read(io.BytesIO(text), "input")
    intake.finish()
    return gathered


def healthy(gathered: Gathered) -> int:
    return sum(is_healthy(group.content) for group in gathered.nodes.values())


PREFIXES = ["", "{n}: ", "n{n:02d}: ", "[1,{n}]<stdout>:", " {n}: "]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_records_with_any_prefix_between_other_text(prefix: str) -> None:
    parts = [prefix.format(n=n).encode() + line(n) + b"some warning\n\xff\xfe\n" for n in range(16)]
    found = gather(b"".join(parts))
    assert (len(found.nodes), len(found.groups), found.unreadable_count) == (16, 1, 0)
    assert found.expected == 16
    assert list(found.names()) == [f"n{n:02d}" for n in range(16)]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("indent", [None, 2])
def test_reports_with_any_prefix(prefix: str, indent: int | None) -> None:
    documents = []
    for number in range(3):
        signed = json.loads(document_of(node(number), content(), report()))
        text = json.dumps(signed, indent=indent, separators=None if indent else (",", ":"))
        documents.append("".join(prefix.format(n=number) + row + "\n" for row in text.split("\n")))
    found = gather("".join(documents).encode())
    assert (sorted(found.nodes), found.unreadable_count) == (["n00", "n01", "n02"], 0)


def test_the_same_nodes_as_records_pieces_and_reports_are_one_group() -> None:
    document = document_of(node(3), content(), report())
    text = b"".join([line(3), *frames_of(node(3), document), document + b"\n", line(4), line(3)])
    found = gather(text)
    assert sorted(found.nodes) == ["n03", "n04"]
    assert [group.count for group in found.groups.values()] == [2]
    assert not found.contradicting


def test_pieces_of_many_nodes_mixed() -> None:
    rows = [list(frames_of(node(n), document_of(node(n), content(), report()))) for n in range(4)]
    mixed = [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)]
    assert len(gather(b"".join(mixed)).nodes) == 4
    cut = gather(b"".join(mixed[:-1]))
    assert (len(cut.nodes), cut.unreadable_count) == (3, 1)
    assert cut.unreadable[0].node.startswith("n0")


@pytest.mark.parametrize(
    "text",
    [
        line(1)[:300] + b"\n",
        line(1)[:300] + line(2)[:100] + b"\n",
        b"0: @fad1 zzz\n",
        line(1).replace(b"2.8.3", b"2.8.4"),
        document_of(node(1), content(), report())[:5_000] + b"\n",
        json.dumps(json.loads(document_of(node(1), content(), report())), indent=2).encode()[:900],
    ],
)
def test_what_is_damaged_is_said_and_counts_for_no_node(text: bytes) -> None:
    found = gather(text)
    assert found.nodes == {}
    assert found.unreadable_count >= 1


def test_what_says_two_things_counts_as_the_worse_and_is_said() -> None:
    bad = content(1, ("e flash-attn-missing",))
    for text in (line(1) + line(1, bad), line(1, bad) + line(1)):
        found = gather(text)
        assert found.contradicting == {"n01"}
        assert healthy(found) == 0


def test_who_prints_no_record_is_known_by_the_prefix() -> None:
    found = gather(b"3: " + line(3) + b"3: done\n7: Segmentation fault\n")
    assert found.spoke == {"3": "done", "7": "Segmentation fault"}
    assert found.ranks == {"3"}


def test_lines_of_json_are_taken_only_whole() -> None:
    text = render_lines(report()).encode()
    assert len(gather(text).nodes) == 1
    rows = text.splitlines(keepends=True)
    cut = gather(b"".join(rows[:-1]))
    assert (cut.nodes, cut.unreadable_count) == ({}, 1)
    head = json.loads(rows[0])
    head.pop("lines")
    old = gather(json.dumps(head).encode() + b"\n" + b"".join(rows[1:]))
    assert (old.nodes, old.unreadable_count) == ({}, 1)


def test_another_document_is_no_node() -> None:
    assert gather(b'{"fadoctor": "0.1.0", "facts": {}}\n').unreadable_count == 1
    assert gather(b'{"level": "info", "msg": "x"}\n').unreadable_count == 0


def plain(name: Path, found: Report) -> None:
    name.write_bytes(msgspec.json.encode(found))


def test_files_and_folders_by_name_and_nothing_that_is_still_written(tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "rack1"
    folder.mkdir(parents=True)
    plain(folder / "n01.json", report())
    (folder / ".fadoctor-x.part").write_bytes(b"half")
    (folder / "n02.json").write_bytes(msgspec.json.encode(report())[:700])
    (folder / "n03.json").write_bytes(b"")
    (folder / "n04.out").write_bytes(b"Segmentation fault\n")
    gathered = Gathered()
    read_all([str(tmp_path), str(folder / "n01.json")], io.BytesIO(), gathered)
    assert list(gathered.nodes) == ["n01"]
    assert sorted(each.node for each in gathered.unreadable) == ["n02", "n03", "n04"]
    with pytest.raises(InputError):
        read_all([str(tmp_path / "none")], io.BytesIO(), gathered)


@pytest.mark.parametrize("name", ["../x", ".hidden", "a/b", "", "ü" * 200, "vm#3"])
def test_the_name_of_a_file_is_harmless(name: str) -> None:
    found = file_name(NodeIdentity(name))
    assert "/" not in found
    assert not found.startswith(".")
    assert len(found) <= 90


def test_a_report_that_nobody_signed_says_the_same_of_its_packages() -> None:
    found: Any = gather(msgspec.json.encode(report()))
    (group,) = found.nodes.values()
    assert group.content.t["pkg"]["torch"] == "2.8.0"


def test_an_indented_report_is_taken_at_once_and_a_cut_one_not_at_all(tmp_path: Path) -> None:
    text = msgspec.json.format(msgspec.json.encode(report()), indent=2)
    (tmp_path / "n01.json").write_bytes(text + b"\n")
    (tmp_path / "n02.json").write_bytes(text[:-200])
    (tmp_path / "n03.json").write_bytes(b"{\n" + line(3))
    gathered = Gathered()
    read_all([str(tmp_path)], io.BytesIO(), gathered)
    assert sorted(gathered.nodes) == ["n01", "n03"]
    assert [each.node for each in gathered.unreadable] == ["n02"]


def indented(number: int) -> bytes:
    signed = document_of(node(number), content(), report())
    return msgspec.json.format(signed, indent=2) + b"\n"


def test_reports_over_many_lines_are_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line ten thousand of them took a minute."""
    monkeypatch.delattr(Intake, "_go_on")
    documents = [indented(number) for number in range(40)]
    assert len(documents[0]) > 4_000
    found = gather(b"a warning\n".join([*documents, line(40)])[:-1])
    assert (len(found.nodes), len(found.groups), found.unreadable_count) == (41, 1, 0)


@pytest.mark.sampled
@pytest.mark.property
@pytest.mark.parametrize("seed", range(20))
def test_line_by_line_the_same_is_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)  # noqa: S311 -- not for secrets
    parts = [indented(number) for number in range(6)]
    for _ in range(4):
        rows = parts[chance.randrange(len(parts))].splitlines(keepends=True)
        rows.insert(chance.randrange(len(rows)), chance.choice([line(7), b"}\n", b"{\n", b"x\n"]))
        del rows[chance.randrange(len(rows)) :][: chance.randrange(2)]
        parts[chance.randrange(len(parts))] = b"".join(rows)[: chance.choice([None, -200])]
    text = b"".join(parts)
    ahead = gather(text)
    monkeypatch.setattr(LineSource, "rest_of_report", lambda _: b"")
    by_line = gather(text)
    assert {name: group.content for name, group in ahead.nodes.items()} == {
        name: group.content for name, group in by_line.nodes.items()
    }
    assert ahead.unreadable == by_line.unreadable


@pytest.mark.parametrize(
    "lines", [["{"], ["{", "}"], ["{", "x", "}", "y"], ["{"] * 9, ["{", "", "}"]]
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_no_line_is_lost_by_reading_ahead(lines: list[str], end: str) -> None:
    text = ("\n".join(lines) + end).encode()
    source = LineSource(io.BytesIO(text))
    found = []
    while row := source.line():
        found.append(row)
        if row == b"{\n" and (rest := source.rest_of_report()):
            assert rest.rstrip(b"\n").endswith(b"}")
            source.put_back(rest)
    assert b"".join(found) == text
    assert found == text.splitlines(keepends=True)


@pytest.mark.parametrize(
    "text",
    [
        b'{"fadoctor":' + b"[" * 50_000 + b"\n",
        b'{"kind":"report","fadoctor":' * 5_000 + b"\n",
        seal(b'{"n":"a","z":' + b"[" * 900 + b"|{}"),
        seal(b'{"n":"a"}|{"x":0,"z":' + b"[" * 900),
        seal(b'{"n":3}|+0123456789abcdef 1/1 AAAA'),
        seal(b"[" * 900 + b"|+0123456789abcdef 1/1 AAAA"),
        seal(b"no JSON at all"),
        seal(b'{"n":"a"}|{"x":"0"}'),
    ],
)
def test_what_only_looks_like_ours_breaks_nothing(text: bytes) -> None:
    found = gather(text)
    assert found.nodes == {}
    assert found.unreadable_count == 1


def test_no_list_of_hosts_is_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fadoctor.fleet.gathered.MOST_HOSTS", 1_000)
    found = gather(b"".join(seal(b'{"n":"a","H":"x%d[1-900]"}|{"x":0}' % n) for n in range(9)))
    assert sum(1 for _ in found.names()) == 1_800


def test_empty_lines_of_a_report_that_never_ends_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each cost nothing by its count of bytes, and a place in a list by truth."""
    monkeypatch.setattr("fadoctor.fleet.streams._DOCUMENTS_KEPT", 48_000)
    gathered = Gathered()
    intake = Intake(gathered)
    intake.read(io.BytesIO(b"7: {\n" + b"7: \n" * 999), "stream")
    assert intake.found == 0
    held = Intake(gathered)
    held._open[b"7: "] = [b"{"]
    for _ in range(5_000):
        if b"7: " in held._open:
            held._go_on(b"7: ", b"", "stream:1")
    assert held._open == {}
    assert held._open_size == 0


def test_reports_that_begin_and_never_end_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fadoctor.fleet.streams._REPORTS_OPEN", 10)
    gathered = Gathered()
    intake = Intake(gathered)
    seen: list[int] = []

    def end(_name: str) -> None:
        seen.append(len(intake._open))

    monkeypatch.setattr(intake, "_end", end)
    intake.read(io.BytesIO(b"".join(b"n%d: {\n" % number for number in range(500))), "stream")
    assert seen == [10]
