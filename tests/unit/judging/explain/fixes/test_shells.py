"""Which shell a log on Windows shows, and how a variable is set there."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.fixes.shells import for_cmd, for_either, is_cmd, is_powershell
from fadoctor.model.fix import Fix, Safety, Step, StepKind


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["D:\\ai>python main.py"], True),
        (["(venv) C:\\work>pip install torch"], True),
        (["I start run_nvidia_gpu.bat"], True),
        (["all of it was set in cmd before"], True),
        (["the cmd of the container is empty"], False),
        (["(base) PS C:\\work> python train.py", "start.bat"], False),
        (["$env:CC = 'cl.exe'", "D:\\ai>python main.py"], False),
        (['  File "D:\\ai\\main.py", line 3, in <module>'], False),
        (["user@host:~$ python main.py"], False),
    ],
)
def test_the_shell_that_a_log_shows(lines: list[str], expected: bool) -> None:  # noqa: FBT001
    assert is_cmd(lines) is expected


def test_variables_as_cmd_sets_them() -> None:
    """PowerShell's line is an error in cmd, and nothing was set."""
    steps = (
        Step(StepKind.SET, "$env:A = '1'; $env:B = '2'", items=("A=1", "B=2")),
        Step(StepKind.UNSET, "$env:CC = $null", items=("CC",)),
        Step(StepKind.ADVICE, "Start the program again."),
    )
    fix = Fix("a-fix", "A fix", Safety.SAFE, steps)
    texts = [step.text for step in for_cmd(fix).steps]
    assert texts == ['set "A=1" & set "B=2"', "set CC=", "Start the program again."]


def test_both_shells_where_none_is_shown() -> None:
    """Somebody in cmd typed PowerShell's line, and nothing was set."""
    steps = (
        Step(StepKind.SET, "$env:A = '1'", items=("A=1",)),
        Step(StepKind.SYSTEM, "pip install a"),
    )
    texts = [step.text for step in for_either(Fix("a-fix", "A fix", Safety.SAFE, steps)).steps]
    assert texts == ["$env:A = '1'", 'In cmd: set "A=1"', "pip install a"]
    assert is_powershell(["(base) PS C:\\work> python train.py"])
    assert not is_powershell(["D:\\ai>python main.py"])
