"""Each form of a report says which rules it comes from, where those are not the shipped ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec

import fadoctor
from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.rules_version import rules_version
from fadoctor.repair.plan.planner import PlannerRequest, make_plan, session_of
from fadoctor.report import json_, markdown, rule_list, text
from fadoctor.report.html import page
from fadoctor.report.style import Style
from tests.golden.cases import environment

ORIGIN = "fetched on 2026-12-02 from the file <b>.whl"


def test_every_form_says_where_the_rules_came_from() -> None:
    knowledge = load_knowledge()
    fetched = msgspec.structs.replace(knowledge, origin=ORIGIN)
    facts = environment("linux-a100-healthy")
    report, plain = diagnose(facts, fetched), diagnose(facts, knowledge)
    said = f"{knowledge.version} ({ORIGIN})"
    assert said in text.render(report, Style(width=200))
    assert "fetched on" not in text.render(plain, Style(width=200))
    assert json.loads(json_.render(report))["rules"]["origin"] == ORIGIN
    assert json.loads(json_.render(plain))["rules"].keys() == {"version", "sha256"}
    assert "fetched on 2026-12-02" in markdown.render(report)
    html = page.render(report)
    assert said.replace("<b>", "&lt;b&gt;") in html
    assert "<b>.whl" not in html
    listed = rule_list.render((), Style(width=200), fetched)
    assert f"Rules {said}, fadoctor " in listed
    assert f"Rules {said}, fadoctor " in text.render(report, Style(width=200))
    session = session_of(fetched)
    assert f"rules {said}" in make_plan(facts, session, PlannerRequest()).notes


def test_one_place_words_it() -> None:
    """Three did, in three ways."""
    root = Path(fadoctor.__file__).parent
    worded = re.compile(r"version\} \(\{[\w.]*origin|= \"as shipped with fadoctor")
    named = [path.name for path in root.rglob("*.py") if worded.search(path.read_text("utf-8"))]
    assert named == ["rules_version.py"]
    assert rules_version("7", "") == "7"
    assert rules_version("7", "", shipped=True) == "7 (as shipped with fadoctor)"
    assert rules_version("7", ORIGIN) == rules_version("7", ORIGIN, shipped=True)
