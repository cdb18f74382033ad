"""A root cause stands once: what only repeats it is among its consequences."""

from __future__ import annotations

from fadoctor.knowledge.matrix.load import load_knowledge

LAST = "extension-unloadable"
RULES = {rule.id: rule for rule in load_knowledge().rules}


def test_why_an_extension_does_not_load_is_told_once() -> None:
    """Regression: torch without its libraries was two errors, one of them without a reason.

    The last rule speaks where no other does; each rule that knows the reason explains it, or
    explains one that does.
    """
    last = set(RULES[LAST].explained_by)
    covered = last | {above for name in last for above in RULES[name].explained_by}
    knowing = {
        rule.id
        for rule in RULES.values()
        if rule.for_each == ("extension",) and "extension.failure" in str(rule.when)
    }
    assert len(knowing) > 10
    assert knowing - covered - {LAST} == set()
