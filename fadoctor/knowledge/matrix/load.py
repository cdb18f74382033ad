"""Load the compiled knowledge base; recompile it in a source checkout whose files changed.

An installation may hold a newer release of rules than it was shipped with. One look at the user's
data folder tells; `fadoctor.knowledge.matrix.fetched` is imported only where there is one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.lazy_tables import Apart
from fadoctor.model.errors import FadoctorError
from fadoctor.model.packed import pack
from fadoctor.model.rule import Knowledge, PackedParts, Rule, Table, needs_of
from fadoctor.model.typed import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.compile import Compiled

PACKAGE = Path(__file__).resolve().parents[2]
COMPILED = PACKAGE / "compiled"
SOURCE = PACKAGE.parent / "rules"

FORM = "form 7"
"""Of what is compiled; a number that changes with it makes what older code compiled stale."""


class Stamped(msgspec.Struct, frozen=True):
    """The compiled form: knowledge, and the state of the files that it came from."""

    stamp: str
    knowledge: Knowledge
    """Without its tables, and with the fixes, pages and symptoms of each rule packed."""
    tables: dict[str, bytes]
    """A command asks for a third of them; each is unpacked when it is asked for."""

    @classmethod
    def of(cls, stamp: str, knowledge: Knowledge) -> Stamped:
        """Return the compiled form of knowledge."""
        # Late: only compiling gathers words.
        from fadoctor.knowledge.matrix.rule_words import packed_words  # noqa: PLC0415

        rules = tuple(map(as_compiled, knowledge.rules))
        kept = msgspec.structs.replace(
            knowledge, rules=rules, tables={}, words=packed_words(knowledge.rules)
        )
        return cls(stamp, kept, packed_tables(knowledge.tables))

    def opened(self, file: Path) -> Knowledge:
        """Return the knowledge with its tables; `file` is where they come from."""
        return msgspec.structs.replace(self.knowledge, tables=Apart(self.tables, file, {}))


def as_compiled(rule: Rule) -> Rule:
    """Return a rule as it is compiled: with its fixes, its pages and its symptoms packed."""
    if rule.packed:
        return rule
    import json  # noqa: PLC0415 -- only compiling writes

    packed = pack(PackedParts(rule.written, rule.references))
    shown = json.dumps(msgspec.to_builtins(rule.worded), separators=(",", ":"))
    return msgspec.structs.replace(
        rule, written=(), references=(), packed=packed, worded=(),
        packed_symptoms=shown if rule.worded else "", packed_needs=needs_of(rule),
    )  # fmt: skip


def packed_tables(tables: Mapping[str, Table]) -> dict[str, bytes]:
    """Return tables as a compiled file has them."""
    return {name: pack(table) for name, table in tables.items()}


def load_knowledge(extra: tuple[Path, ...] = ()) -> Knowledge:
    """Return what is known, with the folders of ``--rules`` on top.

    That is what this fadoctor was shipped with, or a newer release that `fadoctor rules update`
    fetched. Raises RuleDataError for a folder that does not compile.
    """
    knowledge = _in_use()
    for folder in extra:
        # Late: compiling loads the YAML parser, which a start without --rules never needs.
        from fadoctor.knowledge.matrix.compile import compile_rules  # noqa: PLC0415

        compiled = compile_rules(folder, knowledge)
        if compiled.problems:
            raise compiled.problems[0]
        knowledge = compiled.knowledge
    return knowledge


def load_apart(
    beside: Mapping[str, Table] = MappingProxyType({}), *, as_shipped: bool = False
) -> Mapping[str, Table]:
    """Return the tables that are compiled apart, by name, and with them those `beside`.

    Each is unpacked when it is asked for. Of a checkout they are as its files are now.
    """
    if is_checkout():
        shipped()
    for folder in (COMPILED if as_shipped else compiled_in_use(), COMPILED):
        with suppress(OSError, msgspec.DecodeError):
            file = folder / "apart.json"
            return Apart(_packed(file, state_of(file)), file, beside)
    if not is_checkout():
        raise FadoctorError("this installation has no compiled tables: install fadoctor again")
    from fadoctor.knowledge.matrix.compile import compile_rules  # noqa: PLC0415 -- see load_knowledge

    tables = compile_rules(SOURCE).knowledge.tables
    return {**beside, **{name: table for name, table in tables.items() if table.apart}}


@lru_cache(1)
def _packed(file: Path, _state: tuple[int, int, int]) -> dict[str, bytes]:
    return decode(file.read_bytes(), dict[str, bytes])


def is_checkout() -> bool:
    """Return whether the sources of the rules lie beside the package: then they are what counts."""
    return (SOURCE / "knowledge.yaml").is_file()


def pointer_file() -> Path | None:
    """Return the file that names the fetched release in use; None where there is no home."""
    home = os.environ.get("XDG_DATA_HOME") or ""
    if not os.path.isabs(home):  # noqa: PTH117 -- a text that may be no path
        home = os.path.join(os.environ.get("HOME") or "", ".local", "share")  # noqa: PTH118
    return Path(home, "fadoctor", "rules", "current.json") if os.path.isabs(home) else None  # noqa: PTH117


def _fetched() -> Path | None:
    """Return the pointer to a fetched release, where there is one: one look at the disk.

    A home that this user may not read (`docker run --user`, a service account) holds none.
    """
    pointer = pointer_file()
    # Path.exists() raises PermissionError before Python 3.14, where os.path.exists() says no.
    if pointer is None or not os.path.exists(pointer) or is_checkout():  # noqa: PTH110
        return None
    return pointer


def _in_use() -> Knowledge:
    if (pointer := _fetched()) is None:
        return shipped()
    # Late: most installations have fetched nothing.
    from fadoctor.knowledge.matrix.fetched import fetched_knowledge  # noqa: PLC0415

    return fetched_knowledge(pointer, shipped)


def compiled_in_use() -> Path:
    """Return the folder of the compiled files that `load_knowledge` takes."""
    if (pointer := _fetched()) is None:
        return COMPILED
    from fadoctor.knowledge.matrix.fetched import fetched_folder  # noqa: PLC0415 -- see `_in_use`

    return fetched_folder(pointer, shipped) or COMPILED


def shipped() -> Knowledge:
    """Return what was shipped; a checkout's rules are compiled again when a file changed."""
    checkout = is_checkout()
    stamp = source_stamp(SOURCE) if checkout else ""
    with suppress(OSError, msgspec.DecodeError):
        file = COMPILED / "knowledge.json"
        compiled_from, knowledge = _opened(file, state_of(file))
        if not checkout or compiled_from == stamp:
            return knowledge
    if not checkout:
        raise FadoctorError("this installation has no compiled rules: install fadoctor again")
    return write_compiled(SOURCE, COMPILED)


def state_of(file: Path) -> tuple[int, int, int]:
    """Return what differs where a file was replaced."""
    status = file.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


@lru_cache(1)
def _opened(file: Path, _state: tuple[int, int, int]) -> tuple[str, Knowledge]:
    """Return the stamp and the knowledge of a file: one program answers many texts with them."""
    found = decode(file.read_bytes(), Stamped)
    return found.stamp, found.opened(file)


def source_stamp(folder: Path) -> str:
    """Return a text that changes whenever a file below a rules folder, or the form, does."""
    entries = [FORM]
    for directory in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        with os.scandir(directory) as found:
            for entry in found:
                if entry.name.endswith(".yaml") and not entry.name.startswith("."):
                    status = entry.stat()
                    entries.append(f"{entry.path} {status.st_mtime_ns} {status.st_size}")
    return "\n".join(sorted(entries))


def write_compiled(source: Path, target: Path, compiled: Compiled | None = None) -> Knowledge:
    """Compile a rules folder into a folder of JSON; raises the first RuleDataError.

    What was `compiled` already is written as it is.

    The files are replaced whole, so that a reader beside us never sees half of one. A checkout
    that cannot be written to is compiled in memory.
    """
    from fadoctor.knowledge.matrix.compile import compile_rules  # noqa: PLC0415 -- see load_knowledge

    stamp = source_stamp(source)
    compiled = compiled or compile_rules(source)
    if compiled.problems:
        raise compiled.problems[0]
    tables = compiled.knowledge.tables
    apart = {name: table for name, table in tables.items() if table.apart}
    kept = {name: table for name, table in tables.items() if not table.apart}
    knowledge = msgspec.structs.replace(compiled.knowledge, tables=kept)
    with suppress(OSError):
        target.mkdir(exist_ok=True)
        _replace(target / "apart.json", msgspec.json.encode(packed_tables(apart)))
        _replace(target / "cases.json", msgspec.json.encode(compiled.cases))
        _replace(target / "knowledge.json", msgspec.json.encode(Stamped.of(stamp, knowledge)))
    return knowledge


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)
