"""Children end in one of five named ways, and never hang their parent."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fadoctor.processes.command import (
    Command,
    Ending,
    Result,
    child_environment,
    last_json_object,
    signal_name,
)
from fadoctor.processes.deadline import Pulse
from fadoctor.processes.run import run


def python(code: str, timeout_s: float = 60, **options: object) -> Result:
    return run(Command((sys.executable, "-c", code), timeout_s, **options))  # type: ignore[arg-type]  # options of Command


def test_exit_status_and_both_streams() -> None:
    result = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (result.ending, result.code) == (Ending.EXITED, 3)
    assert (result.stdout, result.stderr, result.ok) == ("out\n", "err\n", False)
    assert result.describe() == "exited with status 3: err"


def test_death_by_signal() -> None:
    result = python("import os; os.kill(os.getpid(), 11)")
    assert (result.ending, result.code) == (Ending.SIGNALLED, 11)
    assert "SIGSEGV" in result.describe()


def test_time_out_ends_grandchildren_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    result = python(code, timeout_s=3.0)
    assert result.ending is Ending.TIMED_OUT
    pid = int(note.read_text())
    for _ in range(1_000):
        if not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text():
            return
        time.sleep(0.02)
    pytest.fail("the grandchild is still alive")


def test_a_grandchild_that_holds_the_pipe_does_not_hang_us() -> None:
    code = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " start_new_session=True)\n"
        "print('done')\n"
    )
    # Who waited for the end of the pipe would be ended at the limit, and not be ok.
    result = python(code, timeout_s=120)
    assert result.ok
    assert result.stdout == "done\n"


def test_output_beyond_the_limit_is_discarded_and_the_child_not_blocked() -> None:
    code = "import sys; sys.stderr.write('e' * 3_000_000); sys.stdout.write('o' * 3_000_000)"
    result = python(code, output_limit=1000)
    assert result.ok
    assert (len(result.stdout), len(result.stderr), result.truncated) == (1000, 1000, True)


def test_undecodable_output_is_replaced() -> None:
    assert python("import sys; sys.stdout.buffer.write(b'a\\xffb')").stdout == "a\ufffdb"


def test_standard_input_is_empty() -> None:
    assert python("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_text_is_what_a_child_reads() -> None:
    code = "import sys; print(len(sys.stdin.buffer.read()))"
    assert python(code, text=b"x" * 3_000_000).stdout == "3000000\n"


def test_a_child_that_reads_nothing_of_its_text_ends_all_the_same() -> None:
    result = python("print('done')", text=b"x" * 3_000_000)
    assert (result.ending, result.stdout) == (Ending.EXITED, "done\n")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    result = run(Command((str(tmp_path / "none"),), 5))
    assert result.ending is Ending.NOT_STARTED
    assert "No such file" in result.describe()


def test_an_argument_with_a_null_byte_is_not_started() -> None:
    assert run(Command(("true", "a\0b"), 5)).ending is Ending.NOT_STARTED


def test_a_child_that_closes_its_pipes_and_goes_on() -> None:
    result = python("import os, time; os.close(1); os.close(2); time.sleep(0.3)")
    assert result.ok


def test_environment_is_explicit() -> None:
    env = child_environment(os.environ, FADOCTOR_X="1", HOME=None)
    assert env["FADOCTOR_X"] == "1"
    assert "HOME" not in env
    code = "import os; print(os.environ.get('HOME'), os.environ['FADOCTOR_X'])"
    assert python(code, env=env).stdout == "None 1\n"


def test_last_json_object_passes_over_noise() -> None:
    assert last_json_object('noise\n{"ok": true}\n{broken\nmore\n') == {"ok": True}
    assert last_json_object("[1]\n3\n") is None
    assert last_json_object("{" * 100_000) is None


def test_signal_names() -> None:
    assert signal_name(9) == "SIGKILL"
    assert signal_name(250) == "signal 250"


@pytest.mark.long
def test_pulse_that_stops_ends_a_child_before_its_time(tmp_path: Path) -> None:
    """Each byte begins the limit anew: two beats, then silence."""
    pulse = tmp_path / "pulse"
    pulse.touch()
    code = (
        "import time\n"
        "for _ in range(2):\n"
        f"    time.sleep(1.2); open({str(pulse)!r}, 'a').write('.')\n"
        "time.sleep(60)\n"
    )
    # The child would end by itself before the limit of the whole.
    result = python(code, 120, pulse=Pulse(str(pulse), limit_s=2.0, first_s=50.0))
    assert result.ending is Ending.TIMED_OUT
    assert pulse.stat().st_size == 2


def test_pulse_that_never_came_has_a_limit_of_its_own(tmp_path: Path) -> None:
    code = "import time; time.sleep(60)"
    result = python(code, 120, pulse=Pulse(str(tmp_path / "none"), 90, 0.5))
    assert result.ending is Ending.TIMED_OUT


def test_children_of_tests_hear_ctrl_c() -> None:
    """Also where a shell has started the tests in the background, with SIGINT ignored."""
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert said == b"False\n"
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_is_the_command_and_nothing_else(tmp_path: Path) -> None:
    code = (
        "import os, sys; print(os.getpid() == os.getpgrp() == os.getsid(0), sys.stdin.read(),"
        " sys.argv[1:], len(os.listdir('/proc/self/fd')) < 6 if os.path.isdir('/proc') else True)"
    )
    argv = (sys.executable, "-c", code, "a b", "--c")
    result = run(Command(argv, 20))
    assert result.stdout == "True  ['a b', '--c'] True\n"
    assert run(Command((str(tmp_path / "none"),), 5)).ending is Ending.NOT_STARTED
    assert python("import os; os.kill(os.getpid(), 11)").ending is Ending.SIGNALLED
    assert python("import sys; sys.exit(7)").code == 7


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("jump_s", [-86_400.0, 86_400.0])
def test_a_clock_that_jumps_changes_no_deadline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jump_s: float
) -> None:
    """Somebody sets the clock, or a machine finds out what time it is, while a child runs."""
    truth, jumps = time.time, itertools.count()
    monkeypatch.setattr("time.time", lambda: truth() + jump_s * next(jumps))
    assert python("import time; time.sleep(0.5)", 20).ok
    beats = tmp_path / "pulse"
    code = (
        "import os, sys, time\n"
        "for n in range(4):\n"
        f"    open({str(beats)!r}, 'a').write('x')\n"
        f"    os.utime({str(beats)!r}, (time.time() + {jump_s} * n,) * 2)\n"
        "    time.sleep(0.2)\n"
    )
    assert python(code, 30, pulse=Pulse(str(beats), 10.0, 10.0)).ok
    late = python("import time; time.sleep(60)", 0.5)
    assert late.ending is Ending.TIMED_OUT
