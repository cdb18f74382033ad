"""Of all that a resolver lists, the two requirements that exclude each other are told."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge


def found(knowledge: Knowledge, log: str) -> tuple[Finding, ...]:
    return explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge).findings


ONE = """Because toolbox[gpu]==1.4.0 depends on torchvision>=0.26.0 and other,
and engine-x==0.3 depends on torchvision==0.25.0, toolbox[gpu]==1.4.0 cannot be used.
"""
WRAPPED = """  x No solution found when resolving dependencies:
  `-> Because toolbox==1.4.0 depends on torchvision>=0.26.0 and engine-x==0.3 depends on
      torchvision==0.25.0, your requirements are unsatisfiable.
"""
FITS = """Because toolbox==1.4.0 depends on torchvision>=0.20 and engine-x==0.3 depends on
torchvision==0.25.0, all is well. Nothing is unsatisfiable.
"""
NO_END = """toolbox==1.4.0 depends on torchvision>=0.26.0
engine-x==0.3 depends on torchvision==0.25
"""
OTHERS = "Because a==1 depends on flask>=3 and b==2 depends on flask==1.0, they are incompatible.\n"


@pytest.mark.parametrize("log", [ONE, WRAPPED])
def test_a_resolver_in_sentences(knowledge: Knowledge, log: str) -> None:
    findings = found(knowledge, log)
    assert [each.rule_id for each in findings] == ["requirement-unmet"]
    assert "torchvision>=0.26.0" in findings[0].message
    assert "torchvision==0.25.0" in findings[0].message
    assert findings[0].fixes[0].id == "releases-of-the-pair"


@pytest.mark.parametrize("log", [FITS, NO_END, OTHERS])
def test_what_contradicts_nothing(knowledge: Knowledge, log: str) -> None:
    assert [each for each in found(knowledge, log) if each.severity.value != "note"] == []
