"""Decide whether a refresh may be proposed, and write what a maintainer reads of it.

Usage: python -m tools.refresh.gate --before A.json --after B.json --log LOG --body BODY.md

The answers are those of `python -m tools.canaries judge`, the log is what `tools.refresh` prints. A
changed answer is listed with who is concerned; a new error or warning for a locked environment, or
compiled rules that grew by more than a tenth, end with 1.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.compile import compile_rules
from tools.canaries.cli import differences, environments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
_SHOWN = 40
"""Lines of one list; the log has all."""
_ALARM = re.compile(r": now (error|warning) ")
_GROWTH = 1.10
_LIMIT_S = 60.0
"""Compiling may take so long on a slow machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the description; return 1 where the refresh must not be proposed."""
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.gate", description=__doc__)
    for name in ("before", "after", "log", "body"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--outputs", type=Path, help="where a workflow reads outputs")
    asked = parser.parse_args(arguments)
    before, after = (json.loads(path.read_text("utf-8")) for path in (asked.before, asked.after))
    changed = list(differences(before, after))
    log = asked.log.read_text("utf-8").splitlines()
    problems = [*alarms(changed), *weight()]
    asked.body.write_text(body(log, changed, problems), "utf-8")
    is_new = any(line.startswith("change: ") for line in log)
    if asked.outputs:
        with asked.outputs.open("a", encoding="utf-8") as stream:
            stream.write(f"changed={str(is_new and not problems).lower()}\n")
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    return int(bool(problems))


def alarms(changed: Iterable[str]) -> list[str]:
    """Return new errors and warnings about environments that uv locked."""
    return [f"new alarm: {line}" for line in changed if _ALARM.search(line)]


def weight() -> list[str]:
    """Return what is wrong with the size of the tables, and with the time to compile them."""
    began = time.monotonic()
    compiled = compile_rules(ROOT / "rules")
    seconds = time.monotonic() - began
    old, size = size_before(), sum(path.stat().st_size for path in (ROOT / "rules").rglob("*.yaml"))
    found = [f"compiling fails: {problem}" for problem in compiled.problems]
    if old and size > _GROWTH * old:
        found.append(f"the rules grow from {old >> 10} to {size >> 10} KiB")
    if seconds > _LIMIT_S:
        found.append(f"compiling takes {seconds:.0f} s")
    return found


def size_before() -> int:
    """Return the bytes of the rules of the last commit, 0 where nobody knows."""
    listed = ["git", "ls-tree", "-r", "-l", "HEAD", "rules"]
    done = subprocess.run(listed, capture_output=True, text=True, check=False, cwd=ROOT)
    return sum(int(x.split()[3]) for x in done.stdout.splitlines() if x.endswith(".yaml"))


def body(log: Sequence[str], changed: Sequence[str], problems: Sequence[str]) -> str:
    """Return the description of the pull request."""
    new = [line.removeprefix("change: ") for line in log if line.startswith("change: ")]
    persons = [line.partition(": ")[2] for line in log if line.startswith("FOR A PERSON: ")]
    against = [line.partition(": ")[2] for line in log if line.startswith("CONTRADICTION: ")]
    unread = [line.partition(": ")[2] for line in log if line.startswith("NOT READ: ")]
    parts = [
        "Made by the workflow `refresh of tables`. The diff is rows; the lists say what they do.\n",
        _list("Stops this refresh", problems),
        _list(f"New in the tables ({len(new)})", new) or "## New in the tables\n\nNothing.\n",
        _list(f"Answers that change ({len(changed)})", _with_users(changed))
        or "## Answers that change\n\nNone of the locked environments gets another answer.\n",
        _list(f"For a person ({len(persons)})", persons),
        _list(f"Tables and packages disagree ({len(against)})", against),
        _list(f"Not read ({len(unread)})", unread),
        f"Last line of the log: {log[-1] if log else 'none'}\n",
    ]
    return "\n".join(part for part in parts if part)


def _with_users(changed: Iterable[str]) -> list[str]:
    users: Mapping[str, str] = {
        each["name"]: f"{each['kind']} on {each['gpu']}" for each in environments()
    }
    return [f"{line} ({users.get(line.partition(':')[0], 'unknown')})" for line in changed]


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    shown = [f"- {_plain(line)}" for line in lines[:_SHOWN]]
    if len(lines) > _SHOWN:
        shown.append(f"- and {len(lines) - _SHOWN} more, in the log")
    return "\n".join([f"## {title}", "", *shown, ""])


def _plain(line: str) -> str:
    """Return a line without what Markdown would make of names from outside."""
    return re.sub(r"[`<>\[\]|@#]", " ", line)[:300]


if __name__ == "__main__":
    raise SystemExit(main())
