"""Recipes of conda-build and rattler-build: what a package requires where it runs."""

from __future__ import annotations

import pytest

from fadoctor.sources.manifests.read import read_source
from tests.unit.sources.manifests.given import by_name, given, wanted

META = """\
{% set name = "x" %}
{% set torch = "2.4.1" %}
package:
  name: {{ name|lower }}
source:
  url: https://example.org/{{ name }}.tar.gz
requirements:
  host:
    - pytorch 1.13
  run:
    - python 3.11
    - pytorch =={{ torch }}
    - numpy <2  # [win]
    - {{ compiler('c') }}
"""
RECIPE = """\
context:
  torch: "2.4.1"
package: {name: x}
requirements:
  run:
    - pytorch ==${{ torch }}
    - if: win
      then: numpy
"""


@pytest.mark.parametrize(
    ("name", "text", "line"), [("meta.yaml", META, 12), ("recipe.yaml", RECIPE, 6)]
)
def test_what_runs_is_read(name: str, text: str, line: int) -> None:
    found = read_source(given(text, name))
    assert wanted(found) == {"torch": "==2.4.1"}
    assert by_name(found)["torch"].place.line == line
    assert len(found.notes) == 1


def test_other_yaml_of_that_name_is_none() -> None:
    found = read_source(given("steps:\n  - run: pip install torch==2.6.0\n", "recipe.yaml"))
    assert found.kind == "commands"
