"""The shell of a log on Windows: variables are set as cmd or PowerShell sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fix import Step, StepKind
from fadoctor.syntax.likely_lines import stands
from fadoctor.syntax.patterns import compiled
from fadoctor.syntax.windows_command import cmd_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.model.fix import Fix

# D:\ComfyUI>.\python_embeded\python.exe -s main.py | (venv) C:\work>pip install torch
_CMD = compiled(r"^(?:\([^()\n]{1,60}\) ?)?[A-Za-z]:\\[^<>|\"\n]{0,200}>(?:\S| \S|$)")
# PS C:\work> python train.py
_POWERSHELL = compiled(r"(?:^|\) ?)PS [A-Za-z]:\\|\$env:\w")
# run_nvidia_gpu.bat | webui-user.bat | I set it in cmd | from the command prompt
_LAUNCHER = compiled(
    r"(?i)\b[\w-]{2,40}\.bat\b|^press any key to continue"
    r"|\b(?:in|into|from|using|via) (?:the |a |my )?(?:windows )?(?:cmd|command prompt)\b"
)
_IS_POWERSHELL = "$env:"


def is_cmd(lines: Sequence[str]) -> bool:
    """Return whether a log shows cmd's prompt or a batch file, and nothing of PowerShell."""
    shown = stands(_CMD, lines) or stands(_LAUNCHER, lines)
    return shown and not stands(_POWERSHELL, lines)


def is_powershell(lines: Sequence[str]) -> bool:
    """Return whether a log shows PowerShell's prompt or one of its variables."""
    return stands(_POWERSHELL, lines)


def for_either(fix: Fix) -> Fix:
    """Return a fix that says beside PowerShell's lines what cmd takes: a log shows no shell."""
    steps = tuple(step for each in fix.steps for step in _both(each))
    return fix if len(steps) == len(fix.steps) else msgspec.structs.replace(fix, steps=steps)


def for_cmd(fix: Fix) -> Fix:
    """Return a fix whose lines that set variables are those of cmd, where they are PowerShell's."""
    steps = tuple(map(_said, fix.steps))
    return fix if steps == fix.steps else msgspec.structs.replace(fix, steps=steps)


def _both(step: Step) -> tuple[Step, ...]:
    cmd = _said(step)
    return (step,) if cmd is step else (step, Step(StepKind.ADVICE, f"In cmd: {cmd.text}"))


def _said(step: Step) -> Step:
    if not step.text.startswith(_IS_POWERSHELL):
        return step
    if step.kind is StepKind.SET:
        pairs = [item.partition("=") for item in step.items]
        text = " & ".join(cmd_set(name, value) for name, _, value in pairs)
    elif step.kind is StepKind.UNSET:
        text = " & ".join(cmd_set(name, "") for name in step.items)
    else:
        return step
    return msgspec.structs.replace(step, text=text)
