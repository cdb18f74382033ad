"""A wheel's address where this machine does not reach its host: it is fetched elsewhere."""

from __future__ import annotations

import msgspec

from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.syntax.patterns import compiled

CAUSE = "build-wheel-unreachable"
"""The rule that says that the host is not reached: no command that fetches from there helps."""

_URL = compiled(r"https://[^\s'\"]{10,300}/(?P<name>[\w.%+-]{5,160}\.whl)(?![\w.])")


def fetched_elsewhere(own: Fix, named: Fix) -> Fix:
    """Return the fix of a rule with how the file is fetched that `named` would install from afar.

    Where that leaves several files open, or reads torch first, it stays as the rule has it.
    """
    texts = [text for step in named.steps for text in (step.text, *step.items)]
    files = {found[0]: found["name"] for text in texts for found in _URL.finditer(text)}
    if named is own or len(files) != 1:
        return own
    url, name = next(iter(files.items()))
    file = name.replace("%2B", "+")
    steps = (
        Step(StepKind.ADVICE, "Fetch the file where GitHub is reached, and copy it here:"),
        Step(StepKind.SYSTEM, f"curl -L -o {file} {url}"),
        Step(StepKind.SYSTEM, f"pip install --no-deps ./{file}"),
    )
    kept = tuple(step for step in own.steps if step.kind is StepKind.ADVICE)
    return msgspec.structs.replace(own, steps=(*steps, *kept[:1]))
