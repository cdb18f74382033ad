"""Facts as Markdown for somebody else's bug report: folded, short enough for an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known, Unknown, printable
from fadoctor.report.environment_text import environment_lines, with_gpus_alike
from fadoctor.report.markdown import fence
from fadoctor.report.markdown_screen import folded
from fadoctor.report.words import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact

LARGEST = 48_000
"""Characters of all facts: an issue holds 65,536, and its author has something to say, too."""

_LONGEST = 300
_HEADLINE = ("torch.version", "flash_attn.version", "driver.version")


def render(environment: Environment) -> str:
    """Return what was read: a line in sight, the rest folded. The caller has redacted it."""
    facts = environment.facts
    target = environment.target
    which = f"Examined: {target.label} ({target.reason})"
    short = [which, *with_gpus_alike(environment_lines(facts))]
    seen = "\n".join(printable(line, 400) for line in short)
    lines, left_out = _fitting(list(_lines(facts)))
    more = [f"{left_out} facts are left out: `fadoctor facts` prints all."] if left_out else []
    parts = [fence(seen, "text"), "Everything that was read:", fence(lines, "text"), *more]
    return folded(_headline(environment), ["\n\n".join(parts)]) + "\n"


def _headline(environment: Environment) -> str:
    known = ((name, environment.facts.get(name)) for name in _HEADLINE)
    said = [
        f"{name.partition('.')[0].replace('_', '-')} {printable(value_text(fact.value), 60)}"
        for name, fact in known
        if isinstance(fact, Known)
    ]
    return ", ".join([f"fadoctor {environment.fadoctor}", *said])


def _lines(facts: dict[str, Fact]) -> Iterator[str]:
    """Yield a line for each fact that is known, or that could not be read."""
    for name, fact in sorted(facts.items()):
        if isinstance(fact, Known):
            yield printable(f"{name}: {value_text(fact.value)}", _LONGEST)
        elif isinstance(fact, Unknown):
            yield printable(f"{name}: unknown ({fact.reason})", _LONGEST)


def _fitting(lines: list[str]) -> tuple[str, int]:
    """Return as many lines as fit, as text, and how many do not."""
    size = 0
    for at, line in enumerate(lines):
        size += len(line) + 1
        if size > LARGEST:
            return "\n".join(lines[:at]), len(lines) - at
    return "\n".join(lines), 0
