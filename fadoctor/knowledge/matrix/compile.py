"""Compile the YAML of a rules folder into one structure, checked as a whole.

Used by the build hook, by a source checkout whose files changed, and for ``--rules DIR``.
``python -m fadoctor.knowledge.matrix.compile DIR`` prints every problem.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.knowledge.matrix.absent_cells import blank_cells, filled
from fadoctor.knowledge.matrix.age import newest_of
from fadoctor.knowledge.matrix.check import check_rule, check_table
from fadoctor.knowledge.matrix.check_condition import RuleNames
from fadoctor.knowledge.matrix.check_symptoms import longest_match
from fadoctor.knowledge.matrix.log_words import PLACES, spell_out, words_in, words_of
from fadoctor.knowledge.matrix.log_words import TABLE as WORDS
from fadoctor.knowledge.matrix.needed_words import joined_alternatives, needed_words
from fadoctor.knowledge.matrix.same_cause import same_causes
from fadoctor.knowledge.matrix.yaml_reader import SIZE_LIMIT, Document, read_yaml
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.errors import RuleDataError
from fadoctor.model.files import NotRegularError, read_bytes
from fadoctor.model.packages import PACKAGES
from fadoctor.model.rule import LOG_PATTERNS, Cell, Knowledge, Rule, Table
from fadoctor.model.typed import convert
from fadoctor.model.verdict import Backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FILE_LIMIT = 5_000
"""Most files that a rules folder may have."""

_LISTS = {"for_each", "explained_by"}
_SYMPTOM_LISTS = {"near", "same_line", "absent", "others", "survived"}
_REFINED_LISTS = {"of", "untold", "near", "absent"}
_STEP_LISTS = {"install", "uninstall", "set", "unset", "options"}
_NOT_WRITTEN = {"packed": b"", "packed_symptoms": "", "packed_needs": ()}
"""What only compiling makes of a rule."""

_NO_WORDS = "there is no list of words {} in log-words, and no such place in situations"

BUILT_IN = ("packages", "backends")
"""Tables that the program has as literals: it reads no rows of these."""

ALL_BACKENDS = "all"
"""What `affects` says for every backend, also for those that are added later."""

Cases = dict[str, list[dict[str, Any]]]


class Compiled(msgspec.Struct, frozen=True):
    """What a rules folder holds, and what is wrong with it."""

    knowledge: Knowledge
    cases: Cases
    """Rule id -> its cases, as written."""
    problems: tuple[RuleDataError, ...]


def compile_rules(folder: Path, base: Knowledge | None = None) -> Compiled:
    """Compile a folder on top of `base`, and collect what is wrong with its files."""
    problems: list[RuleDataError] = []
    documents = _read_all(folder, problems)
    tables, rules, cases = {}, {}, {}
    origin: dict[str, Document] = {}
    words = words_of(base.tables if base is not None else {}) | _words(documents)
    for name, document in documents.items():
        try:
            if name.startswith("matrix/"):
                table = _table(document, name, "rules" if base is None else str(folder))
                _claim(table.table, origin, document, base and base.tables.get(table.table))
                tables[table.table] = table
            else:
                rule, rule_cases = _rule(document, name, words)
                known = next((r for r in base.rules if r.id == rule.id), None) if base else None
                _claim(rule.id, origin, document, known)
                rules[rule.id], cases[rule.id] = rule, rule_cases
        except RuleDataError as error:  # noqa: PERF203 -- one bad file must not hide the others
            problems.append(error)
    if base is not None:
        problems += _conflicts(tables, base.tables, documents)
    knowledge = _knowledge(folder, documents, rules.values(), tables, base)
    problems += _check(knowledge, rules, tables, documents)
    if base is None:
        stated = _read(folder / "knowledge.yaml")
        problems += _retired(knowledge, stated)
        problems += same_causes(knowledge.rules, stated)
        problems += _unknown_backends(tables, documents)
    return Compiled(knowledge, cases, tuple(problems))


def _read_all(folder: Path, problems: list[RuleDataError]) -> dict[str, Document]:
    """Return relative name -> document, sorted, without the knowledge file and the schemas.

    A file that cannot be read is a problem; a folder without files is raised.
    """
    if not folder.is_dir():
        raise RuleDataError(str(folder), "is not a folder with rules")
    found = (p for p in folder.glob("*/*.yaml") if p.parent.name != "schema")
    paths = sorted(path for path in found if not path.name.startswith("."))
    if len(paths) > FILE_LIMIT:
        raise RuleDataError(str(folder), f"holds more than {FILE_LIMIT} files")
    if not paths:
        problem = "holds no rules: they are expected as <area>/<rule-id>.yaml"
        raise RuleDataError(str(folder), problem)
    documents = {}
    for path in paths:
        try:
            documents[_name(path, folder)] = _read(path)
        except RuleDataError as error:  # noqa: PERF203 -- one bad file must not hide the others
            problems.append(error)
    return documents


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _read(path: Path) -> Document:
    try:
        data = read_bytes(path, SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            raise RuleDataError(str(path), "is not a readable file of a sane size")
        return read_yaml(data.decode("utf-8"), str(path))
    except NotRegularError as error:
        raise RuleDataError(str(path), "is not a readable file of a sane size") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RuleDataError(str(path), f"cannot be read: {error}") from error


def _claim(name: str, origin: dict[str, Document], document: Document, known: Any) -> None:
    """Refuse a second definition, naming both files and lines."""
    first = origin.get(name)
    if first is not None:
        raise document.error((), f"{name} is already defined in {first.name}:{first.line(())}")
    if isinstance(known, Rule):
        raise document.error((), f"{name} is already defined in rules/{known.file}:1")
    origin[name] = document


def _table(document: Document, name: str, folder: str) -> Table:
    raw = _mapping(document)
    raw["rows"] = rows = raw.get("rows") or []
    for path, problem in blank_cells(rows):
        raise document.error(path, problem)
    count = len(rows) if isinstance(rows, list) else 0
    otherwise = raw.get("otherwise")
    if count and (otherwise is None or isinstance(otherwise, dict)):
        raw["rows"] = [filled(row, otherwise or {}) for row in rows]
    places = [f"{folder}/{name}:{document.line(('rows', index))}" for index in range(count)]
    table: Table = _convert(document, {**raw, "file": name, "places": places}, Table)
    return msgspec.structs.replace(table, needs=_needs_of_columns(table))


def _needs_of_columns(table: Table) -> dict[str, tuple[str, ...]]:
    """Return for each column of patterns what the patterns of its rows need."""
    return {
        name: tuple(joined_alternatives(str(row.get(name) or "")) for row in table.rows)
        for name, kind in table.columns.items()
        if kind == "pattern"
    }


def _width(symptom: dict[str, Any]) -> int:
    """Return how long a match is at most, 0 where that cannot be told; the check names faults."""
    pattern, anchor = symptom.get("pattern") or "", symptom.get("anchor")
    if not isinstance(pattern, str) or not isinstance(anchor, str):
        return 0
    return longest_match(pattern) if pattern else len(anchor)


def _needs(symptom: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the choices of words that a match needs, beside its anchor."""
    known = str(symptom.get("anchor")).lower()
    patterns = [symptom.get("pattern"), *symptom.get("near", ()), *symptom.get("same_line", ())]
    found = {needed_words(each, known) for each in patterns if isinstance(each, str)}
    return sorted(found - {()})


def _words_of_log(fix: dict[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """Return for each list of patterns of a log the words that each of them needs."""
    lists = {key: fix[key] for key in LOG_PATTERNS if isinstance(fix.get(key), list)}
    found = {
        key: [needed_words(each) if isinstance(each, str) else () for each in patterns]
        for key, patterns in lists.items()
    }
    return {key: words for key, words in found.items() if any(words)}


def _words(documents: dict[str, Document]) -> dict[str, str]:
    """Return the lists of words of a folder; what is wrong with their table is told with it."""
    found = [documents.get(f"matrix/{table}.yaml") for table in (WORDS, PLACES)]
    data = [each.data for each in found if each and isinstance(each.data, dict)]
    return words_in(row for each in data for row in _mappings(each.get("rows")))


def _rule(
    document: Document, name: str, words: dict[str, str]
) -> tuple[Rule, list[dict[str, Any]]]:
    raw = _mapping(document)
    cases = raw.pop("cases", None) or []
    for key in _LISTS & raw.keys():
        raw[key] = _as_list(raw[key])
    if isinstance(raw.get("let"), dict):
        raw["let"] = {key: _as_list(value) for key, value in raw["let"].items()}
    for symptom in _spelt(document, raw, "symptoms", _SYMPTOM_LISTS, words):
        symptom["width"] = _width(symptom)
        symptom["needs"] = _needs(symptom)
    _spelt(document, raw, "refines", _REFINED_LISTS, words)
    if isinstance(affects := raw.get("affects"), dict) and affects.get("backends") == ALL_BACKENDS:
        raw["affects"] = {**affects, "backends": [each.value for each in Backend]}
    for fix in _spelt(document, raw, "fixes", set(LOG_PATTERNS), words):
        fix["words"] = _words_of_log(fix)
        for step in _mappings(fix.get("steps")):
            _listed(step, _STEP_LISTS)
    return _convert(document, {**raw, "file": name, **_NOT_WRITTEN}, Rule), cases


def _spelt(
    document: Document, raw: dict[str, Any], key: str, lists: set[str], words: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the entries of a rule below a key, with the lists of words in their patterns."""
    entries = _mappings(raw.get(key))
    for index, entry in enumerate(entries):
        _listed(entry, lists)
        if missing := spell_out(entry, words):
            raise document.error((key, index), _NO_WORDS.format(missing))
    return entries


def _mapping(document: Document) -> dict[str, Any]:
    if not isinstance(document.data, dict):
        raise document.error((), "must be a mapping")
    return dict(document.data)


def _mappings(value: Any) -> list[dict[str, Any]]:
    """Return the mappings of a list; what is neither is left to the check of the shape."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _listed(mapping: dict[str, Any], keys: set[str]) -> None:
    for key in keys & mapping.keys():
        mapping[key] = _as_list(mapping[key])


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _convert(document: Document, raw: dict[str, Any], kind: Any) -> Any:
    try:
        return convert(raw, kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).rpartition(" - at `")
        path = _path(place.rstrip("`").removeprefix("$")) if problem else ()
        problem = problem or str(error)
        raise document.error(path, problem) from error


def _path(text: str) -> tuple[str | int, ...]:
    """Return ``.fixes[0].steps`` as a path; what cannot be followed ends it."""
    words = text.replace("[", ".").replace("]", "").split(".")
    return tuple(int(word) if word.isdecimal() else word for word in words if word.strip("."))


def _knowledge(
    folder: Path,
    documents: dict[str, Document],
    rules: Iterable[Rule],
    tables: dict[str, Table],
    base: Knowledge | None,
) -> Knowledge:
    digest = hashlib.sha256((base.sha256 if base else "").encode())
    for name, document in documents.items():
        digest.update(f"{name}\n{document.data!r}\n".encode())
    merged = dict(base.tables) if base else {}
    for name, table in tables.items():
        merged[name] = _on_top(merged[name], table) if name in merged else table
    everything = sorted((*(base.rules if base else ()), *rules), key=lambda rule: rule.id)
    stated = {} if base else _mapping(_read(folder / "knowledge.yaml"))
    version = base.version if base else str(stated.get("version", "unknown"))
    retired = base.retired if base else dict(stated.get("retired") or {})
    return Knowledge(
        version, digest.hexdigest(), tuple(everything), merged, retired, newest_of(merged),
        base.origin if base else "",
    )  # fmt: skip


def _on_top(base: Table, table: Table) -> Table:
    """Return a table with a user's rows; where they contradict it, `_conflicts` says so."""
    rows = tuple(filled(row, base.otherwise) for row in table.rows)
    needs = {name: (*base.needs.get(name, ()), *each) for name, each in table.needs.items()}
    return msgspec.structs.replace(
        base, rows=(*base.rows, *rows), places=(*base.places, *table.places), needs=needs
    )


def _conflicts(
    tables: dict[str, Table], base: Mapping[str, Table], documents: dict[str, Document]
) -> Iterator[RuleDataError]:
    """Yield where own tables contradict those below them, naming both places."""
    for table in tables.values():
        below, document = base.get(table.table), documents[table.file]
        if table.table in BUILT_IN:
            problem = f"table {table.table} is part of fadoctor itself, and takes no rows of others"
            yield document.error(("table",), problem)
        elif below is not None:
            yield from _contradicted(table, below, document)


def _unknown_backends(
    tables: dict[str, Table], documents: dict[str, Document]
) -> Iterator[RuleDataError]:
    """Yield the rows of backends whose names the program, which reads no rows, has not yet."""
    if (table := tables.get("backends")) is None:
        return
    members = {each.value for each in Backend}
    for index, row in enumerate(table.rows):
        backend, package = row.get("backend"), row.get("package")
        problem = ""
        if backend not in members:
            problem = f"backend {backend} is not in `Backend` of fadoctor/model/verdict.py"
        elif isinstance(package, str) and package not in PACKAGES:
            problem = f"package {package} is not known yet: run `python -m tools.write_packages`"
        if problem:
            yield documents[table.file].error(("rows", index), problem)


def _contradicted(table: Table, below: Table, document: Document) -> Iterator[RuleDataError]:
    """Yield where a table contradicts the one below it."""
    places = dict(zip((_keys(row, below) for row in below.rows), below.places, strict=True))
    for part in ("keys", "columns"):
        if getattr(table, part) != getattr(below, part):
            where = below.places[0].rpartition(":")[0] if below.places else below.file
            problem = f"table {table.table} has other {part} in {where}"
            yield document.error((part,), problem)
    for index, row in enumerate(table.rows):
        if (place := places.get(_keys(row, below))) is not None:
            yield document.error(("rows", index), f"this row is already defined in {place}")


def _keys(row: dict[str, Cell], table: Table) -> tuple[str, ...]:
    return tuple(str(row.get(key)) for key in table.keys)


def _retired(knowledge: Knowledge, document: Document) -> Iterator[RuleDataError]:
    """Yield what is wrong with retired ids: none is given again, and each leads to a rule."""
    ids = {rule.id for rule in knowledge.rules}
    for old, new in knowledge.retired.items():
        if old in ids:
            yield document.error(("retired", old), f"{old} is retired, and a rule is called so")
        if new not in ids:
            yield document.error(("retired", old), f"there is no rule {new}")


def _check(
    knowledge: Knowledge,
    rules: dict[str, Rule],
    tables: dict[str, Table],
    documents: dict[str, Document],
) -> list[RuleDataError]:
    names = RuleNames(build_catalogue(), knowledge.tables, knowledge.rules)
    problems = []
    for rule in rules.values():
        path = Path(rule.file)
        found = check_rule(rule, path.stem, path.parent.name, names)
        problems += [documents[rule.file].error(place, problem) for place, problem in found]
    for table in tables.values():
        found = check_table(table, Path(table.file).stem, names)
        problems += [documents[table.file].error(place, problem) for place, problem in found]
    return problems


def main() -> None:
    """Print every problem of a rules folder; exit 1 where there is one."""
    compiled = compile_rules(Path(sys.argv[1]))
    lines = [f"{problem}\n" for problem in compiled.problems]
    knowledge = compiled.knowledge
    lines.append(f"{len(knowledge.rules)} rules, {len(knowledge.tables)} tables, ")
    lines.append(f"{len(compiled.problems)} problems\n")
    sys.stdout.writelines(lines)
    sys.exit(1 if compiled.problems else 0)


if __name__ == "__main__":
    main()
