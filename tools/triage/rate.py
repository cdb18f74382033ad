"""How often triage comments, and how often it should not have: over labelled issues.

    python -m tools.triage.rate ISSUES.jsonl

A line of the file is an object: ``text``, and ``categories``, the ids of rules that name its cause;
none for an issue about something else. Issues are other people's words and stay out of the
repository.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.api import explain
from tools.triage.answer import Kind, answer_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Labelled(msgspec.Struct, frozen=True):
    """An issue and what its cause is."""

    text: str
    categories: tuple[str, ...]


def outcome(issue: Labelled) -> str:
    """Return what happens to an issue that nobody asked about."""
    answer = answer_to(explain(issue.text), issue.text, asked=False)
    if answer is None:
        return "no comment"
    if answer.rule_id in issue.categories:
        return f"{answer.kind.value}, right"
    is_other = not issue.categories
    if answer.kind is Kind.QUESTION and not is_other:
        return "question"
    return f"{answer.kind.value}, {'needless' if is_other else 'wrong'}"


def rate(issues: Iterable[Labelled]) -> dict[str, int]:
    """Return counts, those of failures and of other issues apart."""
    found: Counter[str] = Counter()
    for issue in issues:
        kind = "failure" if issue.categories else "other"
        found[f"{kind}: {outcome(issue)}"] += 1
    return dict(sorted(found.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts, and the share of comments that should not be there."""
    parser = argparse.ArgumentParser(prog="python -m tools.triage.rate", description=__doc__)
    parser.add_argument("file", type=Path)
    lines = parser.parse_args(arguments).file.read_bytes().splitlines()
    counts = rate(msgspec.json.decode(line, type=Labelled) for line in lines if line.strip())
    total = sum(counts.values())
    bad = sum(n for name, n in counts.items() if name.endswith(("wrong", "needless")))
    for name, count in counts.items():
        sys.stdout.write(f"{count:5} {name}\n")
    sys.stdout.write(
        f"{bad} of {total} issues get a wrong or needless comment: {bad / total:.1%}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
