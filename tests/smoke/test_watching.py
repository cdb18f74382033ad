"""What somebody who waits is told of a worker: read from its events, whatever is in them."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.proof.smoke.events import SCHEMA
from fadoctor.proof.smoke.watching import Watcher, watched

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = {"cuda": 3, "cpu": 2}
CELL = {"backend": "sdpa-flash", "dtype": "bf16", "case": "causal"}
IMPORTED = {
    "torch_version": "2.8.0", "cuda_available": True, "cuda_warnings": [],
    "devices": [{"device": "cuda:0", "name": "A100"}], "device": "cuda:0",
}  # fmt: skip


def line(event: str, **fields: Any) -> str:
    return json.dumps({"schema": SCHEMA, "event": event, **fields}) + "\n"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events"
    path.write_text("")
    return path


def add(path: Path, text: str) -> None:
    with path.open("a") as stream:
        stream.write(text)


def test_each_step_is_said_with_its_number(events: Path) -> None:
    said: list[str] = []
    watcher = Watcher(events, COUNTS, said.append)
    watcher.look()
    add(events, line("start", python="3.11"))
    watcher.look()
    add(events, line("imported", **IMPORTED))
    watcher.look()
    add(events, line("phase", cell=CELL, phase="forward"))
    watcher.look()
    watcher.look()
    add(events, line("done", cell=CELL, phase="backward") + line("phase", cell=CELL, phase="load"))
    watcher.look()
    assert said == [
        "importing torch",
        "looking at cuda:0",
        "sdpa-flash bf16 causal: forward on cuda:0, cell 1 of 3",
        "sdpa-flash bf16 causal: load on cuda:0, cell 2 of 3",
    ]


def test_half_a_line_waits_for_its_end(events: Path) -> None:
    said: list[str] = []
    watcher = Watcher(events, COUNTS, said.append)
    text = line("start", python="3.11")
    add(events, text[:20])
    watcher.look()
    add(events, text[20:])
    watcher.look()
    assert said == ["importing torch"]


def test_what_is_no_event_is_no_news(events: Path, tmp_path: Path) -> None:
    said: list[str] = []
    watcher = Watcher(events, COUNTS, said.append)
    add(events, "{}\n[\n" + "x" * 1_000_000 + "\n" + line("end"))
    for _ in range(20):
        watcher.look()
    hostile = line("phase", cell=CELL, phase="\x1b[31m" + "y" * 500)
    add(events, hostile)
    watcher.look()
    assert len(said) == 1
    assert said[0].isprintable()
    assert len(said[0]) < 120
    Watcher(tmp_path / "missing", COUNTS, said.append).look()
    assert len(said) == 1


def test_a_worker_is_watched_while_it_runs_and_no_longer(events: Path) -> None:
    heard = threading.Event()
    said: list[str] = []

    def tell(text: str) -> None:
        said.append(text)
        heard.set()

    with watched(events, COUNTS, tell):
        add(events, line("start", python="3.11"))
        assert heard.wait(60)
    add(events, line("imported", **IMPORTED))
    assert said == ["importing torch"]
    assert not [each for each in threading.enumerate() if "look" in each.name]
