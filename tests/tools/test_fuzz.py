"""The tool that feeds mutations to readers: it finds what is wrong, and every target runs."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest

from tools.fuzz import loop
from tools.fuzz.__main__ import main
from tools.fuzz.loop import FailedError, How, fuzz
from tools.fuzz.mutation import mutate_text
from tools.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = [b'{"a": 1, "b": [2, 3]}\n', b"x = 1\n"]


@pytest.mark.parametrize("name", TARGETS)
def test_each_target_reads_and_refuses(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    corpus = target.corpus()
    assert len(corpus) >= 1
    found = fuzz(target.reader(tmp_path), corpus, 60, How(seed=1, mutate=target.mutate))
    assert found.runs == 60 + len(corpus)
    assert 0 < found.read < found.runs


def test_what_raises_hangs_or_grows_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(data: bytes) -> bool:
        if b"\0" in data:
            raise KeyError("x")
        return True

    how = How(mutate=mutate_text)
    with pytest.raises(FailedError, match="KeyError") as caught:
        fuzz(raises, CORPUS, 5_000, how)
    number = int(str(caught.value).split()[1].rstrip(":"))
    with pytest.raises(FailedError, match="KeyError") as again:
        fuzz(raises, CORPUS, 1, how._replace(first=number))
    assert again.value.data == caught.value.data

    def hangs(_data: bytes) -> bool:
        while True:
            pass

    monkeypatch.setattr(loop, "HANGS_AFTER_S", 0.1)
    with pytest.raises(FailedError, match="is not done after"):
        fuzz(hangs, CORPUS, 1)
    monkeypatch.setattr(loop, "SLOWEST_S", -1.0)
    with pytest.raises(FailedError, match="takes"):
        fuzz(lambda _: True, CORPUS, 1)
    monkeypatch.setattr(loop, "SLOWEST_S", 9.0)
    monkeypatch.setattr(loop, "MEMORY_LIMIT", -1)
    with pytest.raises(FailedError, match="MiB are taken"):
        fuzz(lambda _: True, CORPUS, 2)


def test_the_same_seed_makes_the_same_inputs() -> None:
    def inputs(seed: int) -> list[bytes]:
        seen: list[bytes] = []

        def keep(data: bytes) -> bool:
            seen.append(data)
            return True

        fuzz(keep, CORPUS, 50, How(seed=seed, mutate=mutate_text))
        return seen

    assert inputs(1) == inputs(1)
    assert inputs(1) != inputs(2)
    assert len(set(inputs(1))) > 40


def test_a_guided_run_keeps_what_reaches_new_lines(tmp_path: Path) -> None:
    target = TARGETS["elf"]
    corpus = target.corpus()[:1]
    found = fuzz(target.reader(tmp_path), corpus, 60, How(guided=True, mutate=target.mutate))
    assert found.inputs > 1


def test_the_command_reports_and_leaves_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, data in enumerate(CORPUS):
        (tmp_path / str(number)).write_bytes(data)
    given = [str(path) for path in sorted(tmp_path.iterdir())]
    assert main(["--target", "facts", "--count", "20", "--corpus", *given]) == 0
    assert capsys.readouterr().out.startswith("facts: 22 inputs: 0 read, 22 refused; slowest")
    assert main(["--target", "releases", "--target", "records", "--seconds", "0.2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    monkeypatch.setattr(loop, "SLOWEST_S", -1.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["--target", "facts", "--count", "1"]) == 1
    assert "facts: input" in capsys.readouterr().err
    assert (tmp_path / "fuzz-facts.input").stat().st_size > 0
