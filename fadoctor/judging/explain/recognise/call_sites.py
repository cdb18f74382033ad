"""Where it broke, by the last frame of a traceback whose exception is not in the text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.model.fact import Known
from fadoctor.sources.logs.messages import exceptions
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.explain.causes import Cause
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

# /usr/lib/python3.11/subprocess.py | C:/Python311/Lib/subprocess.py
_LIBRARY = compiled(r"(?i:/lib/(?:python3\.\d{1,2}/)?)(?!(?:site|dist)-packages/)[\w/]{1,80}\.py$")
# subprocess.py, importlib/__init__.py: as a portable Python names its own, which is one archive
_ARCHIVED = compiled(r"^(?P<module>[a-z_]\w{1,30})(?:/[\w/]{1,60})?\.py$")
# A build runs setup.py from a folder that does not name it, or from a text.
_SETUP = compiled(r"/(?:pip-req-build-\w{1,20}|checkouts/[\w/-]{1,80})/setup\.py$|^<string>$")
# In the frame of init_device: _check_if_gpu_supports_dtype(self.model_config.dtype) is called.
_CALL = compiled(r"(?:^|= |return )(?:\w{1,40}\.){0,3}(?P<function>\w{1,80})\(")

DEEPEST = 12
"""Frames, from the last one on, in which the first outside Python's own library is looked for."""


def broke_at(lines: tuple[Line, ...], knowledge: Knowledge, matrix: Matrix) -> Cause | None:
    """Return the cause that the last frame of a text speaks for, where no exception follows it.

    Frames of Python's own library are skipped: a caller in a package is what failed.
    """
    frames = [(place, found) for place, line in enumerate(lines)
              if (found := _FRAME.search(line.text))]  # fmt: skip
    if not frames or any(exceptions(lines[frames[-1][0] + 1 :])):
        return None
    for place, frame in reversed(frames[-DEEPEST:]):
        path = frame["path"].replace("\\\\", "/").replace("\\", "/")
        if not _is_of_python(path):
            functions = (frame["function"], *_called(lines[place + 1 : place + 2]))
            named, message = _row_of(path, functions, matrix)
            rule = next((each for each in knowledge.rules if each.id == named), None)
            return line_cause(rule, message, lines[place]) if rule is not None else None
    return None


def _is_of_python(path: str) -> bool:
    archived = _ARCHIVED.search(path)
    if archived is not None:
        return archived["module"] in sys.stdlib_module_names
    return bool(_LIBRARY.search(path))


def _called(lines: Iterable[Line]) -> Iterator[str]:
    """Yield the function that the code of a frame calls: its own frame is not in the text."""
    for line in lines:
        found = _CALL.search(line.text.rpartition("  ")[2])
        if found is not None:
            yield found["function"]


def _row_of(path: str, functions: Iterable[str], matrix: Matrix) -> tuple[str, str]:
    """Return the rule and the message of the first function that has a row; else nothing."""
    where = _PACKAGE.search(path)
    package, file = (where["package"], where["file"]) if where is not None else ("", "")
    if where is None and _SETUP.search(path):
        package, file = "setup", "setup.py"
    for function in functions if package else ():
        asked = {key: Known(value, "a frame") for key, value in (
            ("package", package), ("file", file), ("function", function),
        )}  # fmt: skip
        row = matrix.find("call-sites", asked)
        if named := _text(row.cell("rule")):
            return named, _text(row.cell("message"))
    return "", ""


def _text(fact: object) -> str:
    return str(fact.value) if isinstance(fact, Known) else ""
