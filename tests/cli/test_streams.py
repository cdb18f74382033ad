"""Closed or full streams, no threads, little memory, names of any bytes: sentences and results."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND
from tests.cli.environments import add_flash_attn, add_torch, make_environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks a shell of Linux")

NAME = os.fsdecode(b"n\xff\xc3")
ERROR = "ImportError: /x/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n"


def shell(
    line: str, folder: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell, in which F is fadoctor."""
    given = {**os.environ, **(env or {})}
    line = line.replace("F ", f"{shlex.join(COMMAND)} ", 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, timeout=120, check=False,
                          cwd=folder, env=given)  # fmt: skip


def is_well(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether nothing came out that nobody foresaw."""
    said = done.stderr
    return done.returncode in (0, 1, 2, 3) and b"internal" not in said and b"Traceback" not in said


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("fleet", 3, ""),
        ("explain -", 2, "there is no text in it"),
        ("explain", 2, "there is no text in it"),
        ("fix", 2, "no terminal to ask on"),
        ("fix --undo", 2, "nothing to undo"),
        ("check --facts -", 2, "standard input: no facts as JSON"),
        ("check --no-smoke --exit-zero", 0, ""),
    ],
)
def test_standard_input_that_is_closed(tmp_path: Path, line: str, code: int, words: str) -> None:
    """It was ``AttributeError: 'NoneType' object has no attribute 'buffer'``."""
    make_environment(tmp_path / ".venv")
    done = shell(f"F {line} <&-", tmp_path, {"VIRTUAL_ENV": str(tmp_path / ".venv")})
    assert (done.returncode, is_well(done)) == (code, True)
    assert words in done.stderr.decode()


@pytest.mark.sampled
@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("trace -- true", 0),
        ("trace -- sh -c 'exit 9'", 9),
        ("trace --format json -- sh -c 'exit 9'", 9),
        ("run -- sh -c 'echo x >&2; exit 7'", 7),
        ("run -- true", 0),
        ("check --facts no-such-file", 2),
        ("check --no-such-option", 2),
        ("explain log", 1),
    ],
)
def test_standard_error_without_room_changes_no_exit_code(
    tmp_path: Path, line: str, code: int, where: str
) -> None:
    """``trace -- true 2>/dev/full`` ended with 1."""
    (tmp_path / "log").write_text(ERROR)
    assert shell(f"F {line} {where}", tmp_path).returncode == code


NO_THREADS = """
import _thread, threading
def refuse(*_, **__):
    raise RuntimeError("can't start new thread")
for module, name in ((_thread, "start_new_thread"), (threading, "_start_new_thread"),
                     (_thread, "start_joinable_thread"), (threading, "_start_joinable_thread")):
    if hasattr(module, name):
        setattr(module, name, refuse)
"""


@pytest.mark.long
def test_without_threads_everything_is_done_one_after_the_other(tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    add_flash_attn(site, "2.8.3")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "sitecustomize.py").write_text(NO_THREADS)
    env = {"PYTHONPATH": str(tmp_path / "none")}
    check = (
        "F check --no-smoke --exit-zero --format json --gpu H100 --driver 580.65.06 --python env"
    )
    usual, done = shell(check, tmp_path), shell(check, tmp_path, env)
    assert is_well(done)
    found = json.loads(done.stdout)
    assert found["verdicts"] == json.loads(usual.stdout)["verdicts"]
    assert not [e for e in found["unknown"] if "broke" in e["reason"]]
    loud = "F run -- sh -c 'yes | head -c 300000; yes x | head -c 300000 >&2; exit 4'"
    done = shell(loud, tmp_path, env)
    assert (len(done.stdout), len(done.stderr), done.returncode) == (300_000, 300_000, 4)
    late = shell("F run -- sh -c '(sleep 0.5; echo late) & exit 5'; sleep 1", tmp_path, env)
    assert late.stdout == b"late\n"
    (tmp_path / "train.py").write_text("import torch\nmodel.half()\n")
    assert is_well(shell("F check --config train.py --exit-zero --python env", tmp_path, env))


@pytest.mark.parametrize("kilobytes", [40_000, 60_000, 190_000, 400_000])
def test_little_memory_is_a_result_or_a_sentence(tmp_path: Path, kilobytes: int) -> None:
    """Threads began and had no memory to go on with: the command waited for them for ever."""
    make_environment(tmp_path / "env")
    line = f"ulimit -v {kilobytes}; F check --no-smoke --exit-zero --python env"
    done = shell(line, tmp_path)
    has_started = b"fadoctor" in done.stderr + done.stdout
    assert is_well(done) or not has_started


LIKE_OTHERS = ("sarif", "junit", "github", "gitlab", "markdown", "html")
FORMATS = ("text", "json", "jsonl", *(pytest.param(f, marks=pytest.mark.long) for f in LIKE_OTHERS))


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """Return a folder with an environment, a log and a manifest whose names are not UTF-8."""
    add_torch(make_environment(tmp_path / NAME), "2.8.0", "12.8")
    (tmp_path / f"{NAME}.log").write_text(ERROR)
    (tmp_path / f"{NAME}.txt").write_text("torch==2.6.0\nflash-attn==2.7.0\n")
    (tmp_path / "requirements.txt").write_bytes(b"-r n\xff\xc3.txt\n")
    return tmp_path


@pytest.mark.sampled
@pytest.mark.parametrize("form", [*FORMATS, "fleet", "frames"])
def test_an_environment_whose_name_is_not_utf8(named: Path, form: str) -> None:
    """JSON, jsonl and frames were UnicodeEncodeErrors."""
    line = f"F check --no-smoke --exit-zero --format {form} --python n*"
    done = shell(line.replace("n*", "$PWD/$(printf 'n\\377\\303')"), named)
    assert is_well(done)
    done.stdout.decode("utf-8")
    if form == "json":
        assert json.loads(done.stdout)["target"]["label"].endswith("n\ufffd\ufffd")


@pytest.mark.sampled
@pytest.mark.parametrize("form", FORMATS)
def test_logs_and_manifests_whose_names_are_not_utf8(named: Path, form: str) -> None:
    log = shell(f"F explain --format {form} n*.log", named)
    assert is_well(log)
    assert "SetDevice" in log.stdout.decode("utf-8")
    for name in ("n*.txt", "requirements.txt"):
        line = f"F check --exit-zero --gpu H100 --format {form} --requirements {name}"
        done = shell(line, named)
        assert is_well(done)
        done.stdout.decode("utf-8")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "line",
    [
        "facts --python $PWD/n??", "fix --dry-run --format json --python $PWD/n??",
        "smoke --format json --device cpu --python $PWD/n??", "fleet --format json .",
        "trace --format json -- true n*.txt", "fix --dry-run --gpu H100 --requirements n*.txt",
        "check --facts n*.log", "check --facts bad.json", "check --facts list.json",
    ],
)  # fmt: skip
def test_other_commands_and_names_that_are_not_utf8(named: Path, line: str) -> None:
    (named / "bad.json").write_bytes(b'{"n\xff": 1}')
    (named / "list.json").write_bytes(b'["n\xff"]')
    assert is_well(shell(f"LC_ALL=C F {line}", named))
