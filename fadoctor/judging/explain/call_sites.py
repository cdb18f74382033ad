"""Where it broke, by the last frame of a traceback whose exception is not in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.line_cause import line_cause
from fadoctor.model.fact import Known
from fadoctor.sources.logs.messages import exceptions
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from fadoctor.judging.explain.ranking import Cause
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line

# File "C:\\Temp\\pip-install-ab\\flash-attn_00ff\\setup.py", line 171, in <module>
# and, where a paste begins within a line: \triton\runtime\driver.py", line 8, in <module>
_FRAME = compiled(
    r'(?:File "|^)(?P<path>[^"\n]{1,400})", line \d{1,7}, in (?P<function>[\w<>]{1,80})'
)
# site-packages/triton/runtime/driver.py | pip-install-ab12/flash-attn_0123abcd.../setup.py
_PACKAGE = compiled(
    r"(?:(?:site|dist)-packages/|pip-(?:install|wheel|req-build)-\w{1,20}/)"
    r"(?P<package>[A-Za-z][\w-]{0,60}?)(?:_[0-9a-f]{16,64})?/(?P<file>[\w./-]{1,200})$"
)


def broke_at(lines: tuple[Line, ...], knowledge: Knowledge, matrix: Matrix) -> Cause | None:
    """Return the cause that the last frame of a text speaks for, where no exception follows it."""
    frames = [(place, found) for place, line in enumerate(lines)
              if (found := _FRAME.search(line.text))]  # fmt: skip
    if not frames:
        return None
    place, frame = frames[-1]
    if any(exceptions(lines[place + 1 :])):
        return None
    where = _PACKAGE.search(frame["path"].replace("\\\\", "/").replace("\\", "/"))
    if where is None:
        return None
    asked = {key: Known(value, "a frame") for key, value in (
        ("package", where["package"]), ("file", where["file"]), ("function", frame["function"]),
    )}  # fmt: skip
    row = matrix.find("call-sites", asked)
    named, message = row.cell("rule"), row.cell("message")
    rule = next((each for each in knowledge.rules if each.id == _text(named)), None)
    if rule is None:
        return None
    return line_cause(rule, _text(message), lines[place])


def _text(fact: object) -> str:
    return str(fact.value) if isinstance(fact, Known) else ""
