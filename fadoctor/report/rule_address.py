"""Where the page of a rule is: a command that prints it, also without a network."""

from __future__ import annotations


def page_of(rule_id: str) -> str:
    """Return what prints the page of a rule."""
    return f"fadoctor rules show {rule_id}"
