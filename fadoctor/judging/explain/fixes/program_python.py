"""Which Python a program for Windows has, by its name, where no path in a text shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.model.fact import Known
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.rule import Table

TABLE = "program-pythons"

_PACKAGE, _CLONE = "package", "clone"
# run.bat | D:\\webui: what Windows alone has
_OF_WINDOWS = compiled(r"(?i)\.bat\b|(?<![\w/])[a-z]:\\")
_PACKED = compiled(
    r"(?i)\bportable\b|\bpackages?\b|\bone[- ]click\b|\bstandalone\b|\bbundled?\b|\.7z\b|\bunpack"
    r"|\bpre-?(?:built|packaged)\b|整合包|懒人包|懶人包|一键|一鍵|便携|解压|ポータブル|パッケージ"
    r"|포터블|통합본|портатив|портабл|сборк|\bpaquete\b|\bportátil\b|\bpaket\b"
)
_CLONED = compiled(
    r"(?i)\bgit clone\b|\bcloned?\b|\bvenv\b|\brequirements[\w-]{0,20}\.txt|\bmanual(?:ly)?\b"
    r"|\bwebui(?:-user)?\.bat\b|克隆|クローン|클론|клон"
)
# Other places have other Pythons, and say themselves which
_ELSEWHERE = compiled(
    r"(?i)\bconda\b|\bdocker\b|\bcontainer\b|\bwsl2?\b|\blinux\b|\bubuntu\b|/home/|/workspace"
    r"|\bpinokio\b|\bpoetry\b|\buv (?:run|sync|add)\b|\bcolab\b|\bkaggle\b|\brunpod\b|\bmac ?os\b"
)


class ProgramPython(NamedTuple):
    """How pip of a program is started, "" where a prompt of its own is opened; and what to know."""

    pip: str
    told: str


def program_python(text: str, system: object, tables: Mapping[str, Table]) -> ProgramPython | None:
    """Return the Python of the one program that a text about Windows names; None for another text.

    `system`: the fact that names the operating system.
    """
    table = tables.get(TABLE)
    if table is None or not _is_about_windows(text, system) or _ELSEWHERE.search(text):
        return None
    named = [row for row in table.rows if compiled(str(row["words"])).search(text)]
    holders = [row for row in named if row.get("holds") is True]
    rows = holders or named
    if len({row["program"] for row in rows}) != 1:
        return None
    of_program = [row for row in table.rows if row["program"] == rows[0]["program"]]
    return _started(_edition(of_program, text), of_program)


def _is_about_windows(text: str, system: object) -> bool:
    if isinstance(system, Known):
        return bool(system.value == "windows")
    return _OF_WINDOWS.search(text) is not None


def _edition(rows: list[Row], text: str) -> Row:
    """Return the edition that a text names; the first one where it names both, or none."""
    shown = {_PACKAGE: _PACKED.search(text), _CLONE: _CLONED.search(text)}
    told = [row for row in rows if shown[str(row["edition"])]]
    return told[0] if len(told) == 1 else rows[0]


def _started(row: Row, rows: list[Row]) -> ProgramPython:
    python, folder = row.get("python"), str(row["folder"])
    if not isinstance(python, str):
        return ProgramPython("", f"Run it in the prompt that {row['opens']} opens, in {folder}.")
    others = (each for each in rows if each is not row and isinstance(each.get("python"), str))
    other = next((f" A {each['edition']} has {each['python']}." for each in others), "")
    return ProgramPython(f"{python} -m pip", f"Run it in {folder}.{other}")
