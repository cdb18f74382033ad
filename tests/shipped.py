"""The rules of this checkout, read once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.suite import load_suite
from fadoctor.knowledge.matrix.compile import Compiled, compile_rules
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.model.errors import FadoctorError

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.compile import Cases

RULES = Path(__file__).parents[1] / "rules"


@cache
def compiled() -> Compiled:
    """Return rules and tables, those that are compiled apart included, cases and problems.

    They are read as commands read them: what was compiled before, unless a file has changed.
    """
    try:
        suite = load_suite()
    except FadoctorError:
        return compile_rules(RULES)
    tables = dict(load_apart(suite.knowledge.tables))
    knowledge = msgspec.structs.replace(suite.knowledge, tables=tables)
    cases: Cases = {name: file.cases for name, file in suite.shipped.items()}
    return Compiled(knowledge, cases, ())
