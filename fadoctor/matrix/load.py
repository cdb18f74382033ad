"""Load the compiled knowledge base; recompile it in a source checkout whose files changed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from fadoctor.model.errors import FadoctorError
from fadoctor.model.rule import Knowledge, Table

PACKAGE = Path(__file__).resolve().parent.parent
COMPILED = PACKAGE / "compiled"
SOURCE = PACKAGE.parent / "rules"

_FORM = "form 2"
"""Of what is compiled; a number that changes with it makes what older code compiled stale."""


class Stamped(msgspec.Struct, frozen=True):
    """The compiled form: knowledge, and the state of the files that it came from."""

    stamp: str
    knowledge: Knowledge


def load_knowledge(extra: tuple[Path, ...] = ()) -> Knowledge:
    """Return the shipped knowledge with the folders of ``--rules`` on top.

    Raises RuleDataError for a folder that does not compile.
    """
    knowledge = _shipped()
    for folder in extra:
        # Late: compiling loads the YAML parser, which a start without --rules never needs.
        from fadoctor.matrix.compile import compile_rules  # noqa: PLC0415

        compiled = compile_rules(folder, knowledge)
        if compiled.problems:
            raise compiled.problems[0]
        knowledge = compiled.knowledge
    return knowledge


def load_apart() -> dict[str, Table]:
    """Return the tables that are compiled apart, by name; of a checkout, as its files are now."""
    is_checkout = (SOURCE / "knowledge.yaml").is_file()
    if is_checkout:
        load_knowledge()
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((COMPILED / "apart.json").read_bytes(), type=dict[str, Table])
    if not is_checkout:
        raise FadoctorError("this installation has no compiled tables: install fadoctor again")
    from fadoctor.matrix.compile import compile_rules  # noqa: PLC0415 -- see load_knowledge

    tables = compile_rules(SOURCE).knowledge.tables
    return {name: table for name, table in tables.items() if table.apart}


def _shipped() -> Knowledge:
    """Return the compiled rules; a checkout's are compiled again when a file changed."""
    is_checkout = (SOURCE / "knowledge.yaml").is_file()
    stamp = source_stamp(SOURCE) if is_checkout else ""
    with suppress(OSError, msgspec.DecodeError):
        found = msgspec.json.decode((COMPILED / "knowledge.json").read_bytes(), type=Stamped)
        if not is_checkout or found.stamp == stamp:
            return found.knowledge
    if not is_checkout:
        raise FadoctorError("this installation has no compiled rules: install fadoctor again")
    return write_compiled(SOURCE, COMPILED)


def source_stamp(folder: Path) -> str:
    """Return a text that changes whenever a file below a rules folder, or the form, does."""
    entries = [_FORM]
    for directory in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        with os.scandir(directory) as found:
            for entry in found:
                if entry.name.endswith(".yaml") and not entry.name.startswith("."):
                    status = entry.stat()
                    entries.append(f"{entry.path} {status.st_mtime_ns} {status.st_size}")
    return "\n".join(sorted(entries))


def write_compiled(source: Path, target: Path) -> Knowledge:
    """Compile a rules folder into a folder of JSON; raises the first RuleDataError.

    The files are replaced whole, so that a reader beside us never sees half of one. A checkout
    that cannot be written to is compiled in memory.
    """
    from fadoctor.matrix.compile import compile_rules  # noqa: PLC0415 -- see load_knowledge

    stamp = source_stamp(source)
    compiled = compile_rules(source)
    if compiled.problems:
        raise compiled.problems[0]
    tables = compiled.knowledge.tables
    apart = {name: table for name, table in tables.items() if table.apart}
    kept = {name: table for name, table in tables.items() if not table.apart}
    knowledge = msgspec.structs.replace(compiled.knowledge, tables=kept)
    with suppress(OSError):
        target.mkdir(exist_ok=True)
        _replace(target / "apart.json", msgspec.json.encode(apart))
        _replace(target / "cases.json", msgspec.json.encode(compiled.cases))
        _replace(target / "knowledge.json", msgspec.json.encode(Stamped(stamp, knowledge)))
    return knowledge


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)
