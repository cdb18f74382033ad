"""The compiled knowledge, decoded once for a process: tests and forks ask for it all the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix import load

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


def keep_knowledge() -> None:
    """Give the same knowledge again while neither the rules nor what was compiled has changed.

    It is never changed in place, so that tests may share it.
    """
    read = load.shipped
    found: dict[object, Knowledge] = {}

    def kept() -> Knowledge:
        try:
            file = (load.COMPILED / "knowledge.json").stat()
        except OSError:
            return read()
        rules = load.source_stamp(load.SOURCE) if load.is_checkout() else ""
        state = (load.COMPILED, load.SOURCE, rules, file.st_ino, file.st_mtime_ns, file.st_size)
        if state not in found:
            found.clear()
            found[state] = read()
        return found[state]

    load.shipped = kept
