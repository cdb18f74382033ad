"""Who fetches, with which words; and what comes of what the installer brings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from fadoctor.knowledge.updates import FORMAT, NotFetchedError, fetch
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.run import run as run_process
from tests.unit.knowledge.matrix import folders
from tests.unit.knowledge.updates.wheels import plain, write
from tools import rules_release

WANTED = f"fadoctor-rules=={FORMAT}.*"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which programs are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own" / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "own"))
    return folder


def add(folder: Path, *names: str) -> dict[str, str]:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def test_pip_downloads_a_wheel_and_builds_nothing(programs: Path, tmp_path: Path) -> None:
    name, argv = fetch.command(tmp_path, add(programs, "pip", "uv"))
    assert (name, argv[:2], argv[-1]) == ("pip", (str(programs / "pip"), "download"), WANTED)
    assert "--no-deps --only-binary :all:" in " ".join(argv)
    assert argv[argv.index("--dest") + 1] == str(tmp_path)


def test_uv_does_it_where_there_is_no_pip_or_it_made_this_environment(
    programs: Path, tmp_path: Path
) -> None:
    environ = add(programs, "uv")
    name, argv = fetch.command(tmp_path, environ)
    assert (name, argv[:3], argv[-1]) == ("uv", (str(programs / "uv"), "pip", "install"), WANTED)
    assert argv[argv.index("--target") + 1] == str(tmp_path)
    add(programs, "pip")
    assert fetch.command(tmp_path, environ)[0] == "pip"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.9\n")
    assert fetch.command(tmp_path, environ)[0] == "uv"


def test_without_either_the_way_by_file_is_named(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFetchedError, match="--from FILE"):
        fetch.command(tmp_path, {"PATH": str(programs)})


def fetched(folder: Path, environ: dict[str, str], result: Result) -> str:
    with pytest.raises(NotFetchedError) as caught:
        fetch.fetch(folder, environ, lambda _: result)
    return str(caught.value)


def test_what_the_installer_says_is_passed_on_without_secrets(
    programs: Path, tmp_path: Path
) -> None:
    environ = add(programs, "pip")
    last = "ERROR: https://me:geheim@index.example/simple is \x1b[31mgone"
    said = fetched(tmp_path, environ, Result(Ending.EXITED, 1, "", f"a\nb\nc\n{last}\n", 1.0))
    assert said.startswith(f"pip fetched no {WANTED} from the index it is set to: b / c / ERROR:")
    assert "geheim" not in said
    assert said.isprintable()
    said = fetched(tmp_path, environ, Result(Ending.TIMED_OUT, 0, "", "", 120.0))
    assert "gave no answer within 120 s" in said


def test_uv_itself_unpacks_one_from_a_folder(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the interpreter that uv is told of must be one
    uv = Path(find_uv_bin())
    monkeypatch.setattr(fetch, "_pip", lambda _: None)
    rules = tmp_path / "rules"
    rules.mkdir()
    (folders.write(rules, area__some_rule=folders.rule_text()) / "knowledge.yaml").write_text(
        'version: "2026.12.1"\n'
    )
    rules_release.build(rules, tmp_path / "index")
    environ = {
        **os.environ, "PATH": str(uv.parent), "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(tmp_path / "index"), "UV_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip
    (tmp_path / "into").mkdir()
    release, by = fetch.fetch(tmp_path / "into", environ, run_process)
    assert (release.version, by) == ("2026.12.1", "uv")
    assert sorted(release.files) == ["area/some-rule.yaml", "knowledge.yaml"]


def test_what_came_is_read_and_nothing_is_no_release(programs: Path, tmp_path: Path) -> None:
    environ = add(programs, "pip")
    folder = tmp_path / "downloads"
    folder.mkdir()
    ended = Result(Ending.EXITED, 0, "", "", 1.0)
    assert "downloaded 0 wheels" in fetched(folder, environ, ended)

    def run(command: Command) -> Result:
        assert command.env is not None
        assert command.env["PIP_NO_INPUT"] == "1"
        write(folder / "fadoctor_rules-1.2026.12.1-py3-none-any.whl", plain())
        return ended

    release, by = fetch.fetch(folder, environ, run)
    assert (release.version, by) == ("2026.12.1", "pip")
