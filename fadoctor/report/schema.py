"""JSON Schemas of what fadoctor writes and reads, made from the types."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from fadoctor.fleet.model import FleetReport
from fadoctor.judging.engine.cases import Case
from fadoctor.knowledge.matrix.compile import ALL_BACKENDS
from fadoctor.model.environment import Environment
from fadoctor.model.explanation import Explanation
from fadoctor.model.plan import Plan
from fadoctor.model.report import Report
from fadoctor.model.rule import Rule, Table
from fadoctor.model.smoke import SmokeReport
from fadoctor.model.trace import TraceReport

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
_COMPILED = (("Symptom", "width"), ("Symptom", "needs"), ("FixTemplate", "words"))
"""What the compiler works out, and no file of a rule holds."""

_TEXTS = {"type": "array", "items": {"type": "string"}}


def render(name: str) -> str:
    """Return the schema of one kind of document, by its name in `makers`, as JSON."""
    makers = {
        "report": lambda: _schema(Report),
        "smoke": lambda: _schema(SmokeReport),
        "trace": lambda: _schema(TraceReport),
        "plan": lambda: _schema(Plan),
        "explanation": lambda: _schema(Explanation),
        "facts": lambda: _schema(Environment),
        "fleet": lambda: _schema(FleetReport),
        "rule": _rule_schema,
        "table": _table_schema,
    }
    return json.dumps(makers[name](), indent=2, sort_keys=True) + "\n"


def _schema(kind: type) -> dict[str, Any]:
    return {"$schema": _DRAFT, **msgspec.json.schema(kind)}


def _rule_schema() -> dict[str, Any]:
    """Return the schema of a rule's file: with cases, and one text where a list may stand."""
    (reference,), parts = msgspec.json.schema_components((Rule,), ref_template=_REF)
    widened = {name: _widened(part) for name, part in parts.items()}
    (case,), case_parts = msgspec.json.schema_components((Case,), ref_template=_REF)
    rule = widened["Rule"]
    for name in ("file", "packed", "packed_symptoms", "packed_needs"):
        rule["properties"].pop(name)
    backends = widened["Affects"]["properties"]
    backends["backends"] = {"anyOf": [{"const": ALL_BACKENDS}, backends["backends"]]}
    for kind, name in _COMPILED:
        widened[kind]["properties"].pop(name)
    rule["properties"]["cases"] = {"type": "array", "items": case, "minItems": 1}
    rule["required"] = sorted([*rule["required"], "cases"])
    rule["anyOf"] = [{"required": ["when"]}, {"required": ["symptoms"]}]
    return {"$schema": _DRAFT, **reference, "$defs": {**widened, **case_parts}}


def _table_schema() -> dict[str, Any]:
    """Return the schema of a table's file: without what the compiler adds."""
    schema = _schema(Table)
    for name in ("file", "places", "needs"):
        schema["$defs"]["Table"]["properties"].pop(name)
    return schema


def _widened(schema: Any) -> Any:
    """Return a schema that takes one text wherever it takes a list of texts."""
    if isinstance(schema, list):
        return [_widened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if all(schema.get(key) == value for key, value in _TEXTS.items()):
        rest = {key: value for key, value in schema.items() if key not in _TEXTS}
        return {**rest, "anyOf": [{"type": "string"}, _TEXTS]}
    return {key: _widened(value) for key, value in schema.items()}
