"""Check rules and tables beyond their shape: every name that they use must exist.

Each check yields (key path, problem); the compiler adds the file and the line.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.check_condition import (
    check_circles,
    check_condition,
    check_path,
    check_template,
)
from fadoctor.knowledge.matrix.check_symptoms import (
    check_listed,
    check_refines,
    check_regex,
    check_symptoms,
    is_regex,
)
from fadoctor.knowledge.matrix.versions import parse_range, parse_version
from fadoctor.model.catalogue import OPTIONAL_EXTENSION, build_catalogue
from fadoctor.model.finding import Severity
from fadoctor.model.rule import (
    INSTALL_OPTIONS,
    SUBJECTS,
    FixTemplate,
    Rule,
    StepTemplate,
    Table,
    with_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.check_condition import RuleNames
    from fadoctor.knowledge.matrix.yaml_reader import Path

    Problem = tuple[Path, str]

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+){1,5}")
_KEY_KINDS = ("word", "release", "range")
_COLUMN_KINDS = ("text", "list", "pattern", "version", "integer", "boolean", "mapping", "rule")
_VERIFIED = ("source-read", "reproduced", "reported")
_ROW_EXTRAS = ("verified", "references", "note")
_REFERENCE_TYPES = ("ADVISORY", "REPORT", "FIX", "EVIDENCE", "PACKAGE", "WEB")
_REFERENCE = re.compile(r"https://\S+|pkg:[a-z]+/\S+")


def check_rule(rule: Rule, stem: str, folder: str, names: RuleNames) -> Iterator[Problem]:
    """Yield what is wrong with a rule."""
    if rule.id != stem:
        yield ("id",), f"must be the file's name, {stem}"
    if not _ID.fullmatch(rule.id):
        yield ("id",), "must be two to six words in kebab-case"
    if rule.area != folder:
        yield ("area",), f"must be the folder's name, {folder}"
    if rule.verified not in _VERIFIED:
        yield ("verified",), f"must be one of {', '.join(_VERIFIED)}"
    if rule.verified == "reported" and rule.severity is Severity.ERROR:
        yield ("severity",), "what was only reported is at most a warning"
    yield from _check_both_ways(rule)
    if not rule.when and not rule.symptoms:
        yield (), "needs `when`, `symptoms` or both"
    yield from _check_subjects(rule)
    yield from _check_references(rule.cited)
    yield from _check_rows(rule.rows, (), rule, names)
    yield from _check_paths(rule, names)
    yield from check_symptoms(rule)
    yield from check_listed(rule, names.tables)
    yield from check_refines(rule, names.rules)
    for index, rule_id in enumerate(rule.explained_by):
        if rule_id not in names.rules:
            yield ("explained_by", index), f"there is no rule {rule_id}"


def _check_both_ways(rule: Rule) -> Iterator[Problem]:
    """Yield what is wrong with how facts weigh beside a log."""
    severities = list(Severity)
    if not rule.refutes and not (rule.when and rule.symptoms):
        yield ("refutes",), "belongs to rules with `when` and `symptoms`"
    if rule.when_severity is None:
        return
    if severities.index(rule.when_severity.severity) <= severities.index(rule.severity):
        yield ("when_severity", "severity"), "must be less than the rule's severity"
    if not rule.when:
        yield ("when_severity",), "belongs to rules with `when`"


def _check_subjects(rule: Rule) -> Iterator[Problem]:
    kinds = set(rule.for_each)
    if not kinds <= set(SUBJECTS) or len(kinds) < len(rule.for_each):
        yield ("for_each",), f"must be different ones of {', '.join(SUBJECTS)}"
    if len(kinds & {"package", "extension", OPTIONAL_EXTENSION}) > 1:
        yield ("for_each",), "an extension is that of a package: name one of them"
    yield from _check_affects(rule)
    if rule.for_each and rule.subject != "environment":
        yield ("subject",), "for_each names the subjects"
    if "{" in rule.title:
        yield ("title",), "is not filled: it holds no values"


def _check_affects(rule: Rule) -> Iterator[Problem]:
    affects = rule.affects
    if affects is None:
        return
    given = [affects.extension, bool(affects.backends), bool(affects.nothing)]
    if sum(given) != 1:
        yield ("affects",), "needs either backends or extension, or says why it decides nothing"
    if affects.extension and not {"extension", "package"} & set(rule.for_each):
        yield (
            ("affects", "extension"),
            "belongs to rules that are judged for each extension or package",
        )
    if affects.nothing and affects.dtypes:
        yield ("affects", "dtypes"), "of nothing there are none"


def _check_references(references: Any) -> Iterator[Problem]:
    if not references:
        yield ("references",), "a claim about the world needs a source"
    for index, reference in enumerate(references):
        if reference.type not in _REFERENCE_TYPES:
            yield ("references", index, "type"), f"must be one of {', '.join(_REFERENCE_TYPES)}"
        if not _REFERENCE.fullmatch(reference.url):
            yield ("references", index, "url"), "must be an https link or a package URL"
    urls = [reference.url for reference in references]
    if len(set(urls)) != len(urls):
        yield ("references",), "a source is named twice"


def _check_rows(
    rows: Mapping[str, dict[str, str]], place: Path, rule: Rule, names: RuleNames
) -> Iterator[Problem]:
    for name, spec in rows.items():
        if name in _fact_heads():
            yield (*place, "rows", name), f"would hide the facts of {name}: take another name"
        table = names.tables.get(spec.get("table", ""))
        if table is None:
            yield (*place, "rows", name), f"there is no table {spec.get('table', '')!r}"
            continue
        keys = set(spec) - {"table"}
        if keys != set(table.keys):
            yield (
                (*place, "rows", name),
                f"table {table.table} has the keys {', '.join(table.keys)}",
            )
        for key in keys:
            if not spec[key].startswith("="):
                yield from check_path(spec[key], (*place, "rows", name, key), rule, names)


@cache
def _fact_heads() -> frozenset[str]:
    return frozenset(name.partition(".")[0].partition("[")[0] for name in build_catalogue())


def _check_paths(rule: Rule, names: RuleNames) -> Iterator[Problem]:
    for name, paths in rule.let.items():
        if name in _fact_heads():
            yield ("let", name), f"would hide the facts of {name}: take another name"
        for index, path in enumerate(paths):
            yield from check_path(path, ("let", name, index), rule, names)
    yield from check_circles(rule, names)
    yield from check_condition(rule.when, ("when",), rule, names)
    yield from check_condition(rule.overruled_by, ("overruled_by",), rule, names)
    for index, symptom in enumerate(rule.symptoms):
        yield from check_condition(symptom.given, ("symptoms", index, "given"), rule, names)
    for index, refined in enumerate(rule.refines):
        yield from check_condition(refined.given, ("refines", index, "given"), rule, names)
        for number, path in enumerate(refined.untold):
            yield from check_path(path, ("refines", index, "untold", number), rule, names)
    if rule.when_severity is not None:
        place: Path = ("when_severity", "unless")
        yield from check_condition(rule.when_severity.unless, place, rule, names)
    yield from check_template(rule.message, ("message",), rule, names)
    yield from check_template(rule.why, ("why",), rule, names)
    yield from _check_fixes(rule, names)


def _check_fixes(rule: Rule, names: RuleNames) -> Iterator[Problem]:
    ids = [fix.id for fix in rule.fixes]
    for index, fix in enumerate(rule.fixes):
        place: Path = ("fixes", index)
        if fix.id in ids[:index]:
            yield (*place, "id"), "another fix has this id"
        yield from _check_fix(fix, place, with_rows(rule, fix), names)


def _check_fix(fix: FixTemplate, place: Path, rule: Rule, names: RuleNames) -> Iterator[Problem]:
    """Yield what is wrong with a fix, of a rule that has the look-ups of both."""
    yield from _check_rows(fix.rows, place, rule, names)
    yield from check_condition(fix.when, (*place, "when"), rule, names)
    yield from check_template(fix.title, (*place, "title"), rule, names)
    yield from check_template(fix.side_effects, (*place, "side_effects"), rule, names)
    said = {
        "tried": fix.tried,
        "logged": fix.logged,
        "also": fix.also,
        "unlogged": fix.unlogged,
    }
    if fix.also and not fix.logged:
        yield (*place, "also"), "belongs to logged"
    for key, patterns in said.items():
        for number, pattern in enumerate(patterns):
            yield from check_regex(pattern, (*place, key, number))
    for number, step in enumerate(fix.steps):
        yield from _check_step(step, (*place, "steps", number), rule, names)


def _check_step(step: StepTemplate, place: Path, rule: Rule, names: RuleNames) -> Iterator[Problem]:
    kinds = ("install", "uninstall", "set", "unset", "setting", "system", "advice", "settings")
    given = [kind for kind in kinds if getattr(step, kind)]
    if len(given) != 1:
        yield place, f"must be exactly one of {', '.join(kinds)}"
    if (step.options or step.index) and given != ["install"]:
        yield place, "options and index belong to install"
    for option in step.options:
        if option not in INSTALL_OPTIONS:
            yield (*place, "options"), f"must be one of {', '.join(INSTALL_OPTIONS)}"
    if step.index and not step.index.startswith("https://"):
        yield (*place, "index"), "must be an https link"
    if any(item.startswith("-") for item in (*step.install, *step.uninstall)):
        yield place, "an option is no requirement: write it under `options`"
    yield from check_template(step.index, (*place, "index"), rule, names)
    yield from _check_settings(step, place, names)
    for name, value in step.effects.items():
        yield from check_path(name, (*place, "effects", name), rule, names)
        yield from check_template(str(value), (*place, "effects", name), rule, names)
    for kind in given:
        texts = getattr(step, kind)
        for text in [texts] if isinstance(texts, str) else texts:
            yield from check_template(text, place, rule, names)


def _check_settings(step: StepTemplate, place: Path, names: RuleNames) -> Iterator[Problem]:
    """Yield what frameworks are told that the table has no line for, and unknown frameworks."""
    if step.frameworks and not step.advice:
        yield (*place, "frameworks"), "belongs to advice"
    told = names.tables.get("frameworks")
    at_work = {str(row["framework"]) for row in told.rows} if told else set()
    for name in step.frameworks:
        if name not in at_work:
            yield (*place, "frameworks"), f"table frameworks has no {name}"
    table = names.tables.get("setting-lines")
    known = {word for row in table.rows for word in str(row["setting"]).split()} if table else set()
    for topic, value in step.settings.items():
        if f"{topic}-{value}" not in known:
            yield (*place, "settings", topic), f"table setting-lines has no {topic}-{value}"


def check_table(table: Table, stem: str, names: RuleNames) -> Iterator[Problem]:
    """Yield what is wrong with a table and its rows."""
    if table.table != stem:
        yield ("table",), f"must be the file's name, {stem}"
    if table.verified not in _VERIFIED:
        yield ("verified",), f"must be one of {', '.join(_VERIFIED)}"
    yield from _check_references(table.references)
    for name, kind in table.keys.items():
        if kind not in _KEY_KINDS:
            yield ("keys", name), f"must be one of {', '.join(_KEY_KINDS)}"
    for name, kind in table.columns.items():
        if kind not in _COLUMN_KINDS:
            yield ("columns", name), f"must be one of {', '.join(_COLUMN_KINDS)}"
    for name in table.otherwise.keys() - table.columns.keys():
        yield ("otherwise", name), "the table has no such column"
    yield from _check_rows_of(table, names)


def _check_rows_of(table: Table, names: RuleNames) -> Iterator[Problem]:
    seen: set[tuple[Any, ...]] = set()
    for index, row in enumerate(table.rows):
        yield from _check_row(row, index, table, names)
        keys = tuple(str(row.get(key)) for key in table.keys)
        if keys in seen:
            yield ("rows", index), "an earlier row has the same keys"
        seen.add(keys)


def _check_row(
    row: Mapping[str, Any], index: int, table: Table, names: RuleNames
) -> Iterator[Problem]:
    for key, kind in table.keys.items():
        cell = row.get(key)
        if not isinstance(cell, (str, int)) or isinstance(cell, bool):
            yield ("rows", index, key), "the key is missing or not text"
        elif kind == "range" and parse_range(str(cell)) is None:
            yield ("rows", index, key), "must be a range of >=, <, == or ~= joined by commas, or *"
    if row.get("verified", "unverified") not in (*_VERIFIED, "unverified"):
        yield ("rows", index, "verified"), f"must be one of {', '.join(_VERIFIED)} or unverified"
    for name, cell in row.items():
        if name in table.keys or name in _ROW_EXTRAS:
            continue
        if name not in table.columns:
            yield ("rows", index, name), "the table has no such column"
        elif (problem := _cell_problem(cell, table.columns[name], names)) is not None:
            yield ("rows", index, name), problem


def _cell_problem(cell: Any, kind: str, names: RuleNames) -> str | None:
    if cell is None or (isinstance(cell, dict) and list(cell) == ["unknown"]):
        return None
    fits = {
        "text": isinstance(cell, str),
        "list": isinstance(cell, (str, tuple, list)),
        "pattern": kind == "pattern" and isinstance(cell, str) and is_regex(cell),
        "version": isinstance(cell, str) and parse_version(cell) is not None,
        "integer": isinstance(cell, int) and not isinstance(cell, bool),
        "boolean": isinstance(cell, bool),
        "mapping": isinstance(cell, dict),
        "rule": cell in names.rules if isinstance(cell, str) else False,
    }
    return None if fits.get(kind, True) else f"{cell!r} is not a {kind}"
