"""Settings in the form in which a log has them: an option of a command, or a line of YAML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fix import StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.model.fix import Fix, Step

# a switch of YAML, as fp16: false
_LINE = compiled(r"([a-z][a-z0-9_]{2,40}): (true|false)")
_YAML = "{name}: {value}"
# attn_implementation="sdpa", torch_dtype=torch.float16
_ARGUMENT = compiled(r"(?<![\w.-])([a-z][a-z0-9_]{3,40})=(\"[\w./-]{1,60}\"|torch\.\w{3,12})")


def as_the_log_writes(fix: Fix, log: Sequence[str]) -> Fix:
    """Return a fix whose Python arguments are options or YAML where a log has them as such.

    One that the log has as a Python argument, or not at all, stays as it is. So does a switch of
    YAML, the other way round.
    """
    switches = [found for step in fix.steps if (found := _LINE.fullmatch(step.text))]
    forms = [form for found in switches if (form := _switch_form(found[1], log))]
    steps = tuple(_rewritten(step, log, forms) for step in fix.steps)
    return fix if steps == fix.steps else msgspec.structs.replace(fix, steps=steps)


def _rewritten(step: Step, log: Sequence[str], forms: Sequence[str]) -> Step:
    """Return a step in the form of the log; a switch that it does not have as its neighbours."""
    if step.kind is not StepKind.SETTING:
        return step
    if switch := _LINE.fullmatch(step.text):
        form = _switch_form(switch[1], log) or next(iter(forms), _YAML)
        text = form.format(name=switch[1], value=switch[2], word=switch[2].capitalize())
        return msgspec.structs.replace(step, text=text)
    if not _ARGUMENT.search(step.text):
        return step
    text = _ARGUMENT.sub(lambda found: _form(found, log), step.text)
    return msgspec.structs.replace(step, text=text)


def _switch_form(name: str, log: Sequence[str]) -> str:
    """Return the form in which a log has a switch, "" where it has none of that name."""
    own = [line for line in log if name in line]
    if any(re.match(rf"\s{{0,12}}{name}:\s", line) for line in own):
        return _YAML
    if any(re.search(rf"(?<![\w-])--{name}[ =][TtFf]\w{{3,4}}", line) for line in own):
        return "--{name} {word}"
    if any(re.search(rf"(?<![\w-]){name}\s?=\s?[TF]", line) for line in own):
        return "{name}={word}"
    return ""


def _form(found: re.Match[str], log: Sequence[str]) -> str:
    name, value = found[1], found[2].strip('"').removeprefix("torch.")
    own = [line for line in log if name in line]
    if any(re.search(rf"(?<![\w-]){name}\s?=", line) for line in own):
        return found[0]
    if any(re.search(rf"(?<![\w-])--{name}(?![\w-])", line) for line in own):
        return f"--{name} {value}"
    if any(re.match(rf"\s{{0,12}}{name}:\s", line) for line in own):
        return f"{name}: {value}"
    return found[0]
