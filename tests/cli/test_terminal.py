"""Output on terminals of all kinds: width, colour, characters, pipes, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fadoctor import __version__
from tests.cli.conftest import COMMAND, Run
from tests.cli.environments import add_torch, make_environment

BASE = ("check", "--no-smoke", "--exit-zero", "--gpu", "V100", "--python")


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"fadoctor {__version__}\n"
    text = run("--help").stdout
    assert all(command in text for command in ("check", "facts", "fix"))


@pytest.mark.parametrize("columns", ["50", "80", "160"])
def test_no_line_is_wider_than_the_terminal(run: Run, stack: Path, columns: str) -> None:
    text = run(*BASE, str(stack), env={"COLUMNS": columns}).stdout
    # what is copied stays in one line, and so does a word
    lines = [each for each in text.splitlines() if len(each.split()) > 1 and "=" not in each]
    assert [line for line in lines if len(line) > int(columns) and "pip " not in line] == []
    assert "Use float16 with" in text


def test_pipes_and_no_color_get_no_escapes(run: Run, stack: Path) -> None:
    assert "\x1b" not in run(*BASE, str(stack)).stdout
    assert "\x1b" not in run(*BASE, str(stack), env={"NO_COLOR": "1"}).stdout
    assert "\x1b[" in run(*BASE, str(stack), "--color", "always").stdout


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, False),
        ({"CLICOLOR_FORCE": ""}, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": ""}, True),
    ],
)
def test_colour_can_be_asked_of_a_pipe(
    run: Run, stack: Path, env: dict[str, str], *, coloured: bool
) -> None:
    assert ("\x1b[" in run(*BASE, str(stack), env=env).stdout) is coloured
    assert "\x1b[" not in run(*BASE, str(stack), "--color", "never", env=env).stdout


def test_an_ascii_locale_gets_ascii(run: Run, stack: Path) -> None:
    env = {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = run(*BASE, str(stack), env=env)
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert "x error: The GPU is too old for FlashAttention-2" in result.stdout


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("form", ["markdown", "html"])
def test_documents_are_utf_8_whatever_the_locale(run: Run, stack: Path, form: str) -> None:
    """An ASCII locale ended in an internal error."""
    env = {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = run(*BASE, str(stack), "--format", form, env=env)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\u2717" in result.stdout or "\u274c" in result.stdout


def test_quiet_and_verbose(run: Run, stack: Path) -> None:
    quiet = run(*BASE, str(stack), "--quiet").stdout
    verbose = run(*BASE, str(stack), "--verbose").stdout
    assert quiet.count("\n") == 1
    assert quiet.startswith("✗ V100: FlashAttention-2 cannot run on this GPU. Use float16 with")
    assert "Assumed: --gpu V100. 1 error" in quiet
    assert "flash_attn.version: 2.8.3" in verbose


def test_the_answer_comes_before_its_reasons(run: Run, stack: Path) -> None:
    lines = run(*BASE, str(stack)).stdout.splitlines()
    places = [
        next(number for number, line in enumerate(lines) if line.startswith(words))
        for words in ("✗ V100", "  Use float16", "✗ error:", "gpu[0] ", "Environment:", "1 error")
    ]
    assert places == sorted(places)
    assert places[1] < 4


def test_output_goes_to_a_file(run: Run, stack: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    result = run(*BASE, str(stack), "--output", str(file))
    assert (result.returncode, result.stdout) == (0, "")
    assert "gpu-too-old-fa2" in file.read_text(encoding="utf-8")
    refused = run(*BASE, str(stack), "--output", str(tmp_path / "none" / "x"))
    assert refused.returncode == 2
    assert "No such file" in refused.stderr


def test_wrong_usage_exits_2(run: Run) -> None:
    for arguments in (("chekc",), ("check", "--no-such-option"), ("check", "--format", "yaml")):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (2, "")


def test_a_reader_that_goes_away_is_no_error(stack: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, *BASE, str(stack), "-v"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        errors = child.stderr.read()
    assert child.returncode == 0
    assert errors == ""


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run fadoctor in a shell line, where it stands as "$@"; the line prints its exit code."""
    argv = ["sh", "-c", f"{line}; echo $? >&3", "sh", *COMMAND]
    return subprocess.run(
        ["sh", "-c", 'exec 3>&1; exec "$@"', "sh", *argv],
        capture_output=True, text=True, timeout=120, check=False, cwd=cwd,
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("what", ["check --no-smoke --python .", "facts --python .", "--help"])
def test_a_full_disk_is_one_line_and_wrong_usage(stack: Path, what: str) -> None:
    result = shell(f'"$@" {what} >/dev/full', stack)
    assert result.stdout == "2\n"
    assert result.stderr.startswith("fadoctor: ")
    assert result.stderr.endswith("No space left on device\n")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "what", ["check --no-smoke --python .", "--version", "--help", "rules list --help"]
)
def test_a_closed_standard_output_is_one_line_and_wrong_usage(stack: Path, what: str) -> None:
    result = shell(f'"$@" {what} >&-', stack)
    assert result.stdout == "2\n"
    assert result.stderr == "fadoctor: standard output is closed: nothing could be printed\n"


@pytest.mark.sampled(every=3)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('"$@" run -- true >&-', 0, ""),
        ('"$@" run -- echo hi >&-', 2, "it is closed"),
        ('"$@" run -- true >/dev/full', 0, ""),
        ('"$@" run -- echo hi >/dev/full', 2, "No space left on device"),
        ('"$@" run -- sh -c "echo hi; exit 3" >/dev/full', 3, "No space left on device"),
        ('"$@" run -- sh -c "echo hi; exit 3" >/dev/null', 3, ""),
    ],
)
def test_output_of_a_command_is_not_lost_in_silence(
    stack: Path, line: str, code: int, said: str
) -> None:
    """A closed standard output was an internal error, a full disk exit 0 without a word."""
    result = shell(line, stack)
    assert result.stdout == f"{code}\n"
    words = f"fadoctor: standard output: {said}: some of it is lost\n" if said else ""
    assert result.stderr == words


def test_a_closed_standard_error_changes_nothing(stack: Path) -> None:
    assert shell('"$@" check --no-smoke --python . >/dev/null 2>&-', stack).stdout == "0\n"
    assert shell('"$@" check --python /nowhere >/dev/null 2>&-', stack).stdout == "2\n"


def test_redacted_output_names_no_folder_user_or_host(run: Run, stack: Path) -> None:
    env = {"HOME": str(stack.parent), "USER": "mallory"}
    for command in ("facts", "check"):
        arguments = ("--no-smoke", "--format", "json") if command == "check" else ()
        text = run(command, "--python", str(stack), "--redact", *arguments, env=env).stdout
        assert str(stack) not in text
        assert "mallory" not in text
        assert len(os.uname().nodename) < 4 or os.uname().nodename not in text
        assert "2.8.3" in text


def test_ctrl_c_ends_children_and_says_so(tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    note = tmp_path / "pid"
    python = tmp_path / "env" / "bin" / "python"
    python.unlink()
    python.write_text(f"#!/bin/sh\necho $$ > {note}\nexec sleep 60\n")
    python.chmod(0o755)
    with subprocess.Popen(
        [*COMMAND, "check", "--python", str(tmp_path / "env")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        for _ in range(3_000):
            if note.is_file() and note.read_text().strip():
                break
            time.sleep(0.02)
        pid = int(note.read_text())
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, "")
    assert "interrupted" in err
    assert "Traceback" not in err
    assert is_gone(pid)


def is_gone(pid: int) -> bool:
    """Wait a little for a process to end; one that nobody has collected yet has ended too."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_the_sample_of_the_readme_is_what_is_printed(run: Run) -> None:
    root = Path(__file__).parents[2]
    shown = (root / "README.md").read_text(encoding="utf-8").partition("\n    $ fadoctor ")[2]
    command, _, block = shown.partition("\n")
    lines = [line.removeprefix("    ") for line in block.partition("\n## ")[0].rstrip().split("\n")]
    printed = run(*command.split(), cwd=root, env={"COLUMNS": "80"}).stdout.rstrip().split("\n")
    assert lines[:-1] == printed[:-1]
