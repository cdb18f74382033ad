"""Why no program holds a table against its source: `unheld.yaml` beside this."""

from __future__ import annotations

from pathlib import Path

import yaml

FILE = Path(__file__).with_name("unheld.yaml")


def groups() -> dict[str, dict[str, str]]:
    """Return the groups by name: ``why``, and ``tables`` as words."""
    found: dict[str, dict[str, str]] = yaml.safe_load(FILE.read_text("utf-8"))
    return found


def group_of_tables() -> dict[str, str]:
    """Return table -> its group."""
    return {table: name for name, each in groups().items() for table in each["tables"].split()}
