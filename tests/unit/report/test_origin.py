"""Each form of a report says which rules it comes from, where those are not the shipped ones."""

from __future__ import annotations

import json

import msgspec

from fadoctor.diagnose import diagnose
from fadoctor.matrix.load import load_knowledge
from fadoctor.report import json_, markdown, text
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
