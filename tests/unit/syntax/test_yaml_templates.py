"""Templates of YAML are read with open values at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.syntax.yaml_templates import without_templates
from fadoctor.syntax.yaml_tree import read_yaml

if TYPE_CHECKING:
    from fadoctor.syntax.tree import Node

CHART = """\
{{- if .Values.enabled }}
{{/* what it is for:
     a trainer */}}
metadata:
  name: {{ .Release.Name }}-train
  labels:
    {{- include "chart.labels" . | nindent 4 }}
spec:
  image: "{{ .Values.image | default "vllm/vllm-openai" }}:v0.8.5"
  args:
    - {{ .Values.model }}
    - --dtype=bfloat16
{{- end }}
"""


class _Text:
    def __init__(self, text: str) -> None:
        self.name, self.text = "chart.yaml", text

    def error(self, problem: str, *, line: int = 0, key: str = "") -> InputError:
        return InputError(self.name, problem, line=line, key=key)


def _read(text: str) -> Node:
    found = read_yaml(_Text(text))
    assert found is not None
    return found


def test_a_chart_is_read_with_its_values_open_and_its_places_kept() -> None:
    spec = _read(CHART).mapping["spec"]
    args = spec.mapping["args"].items

    assert spec.mapping["image"].scalar == "${ .Values.image | default 'vllm/vllm-openai' }}:v0.8.5"
    assert [each.scalar for each in args] == ["${.Values.model }", "--dtype=bfloat16"]
    assert (args[1].line, args[1].column) == (12, 7)


def test_the_length_of_a_text_and_its_lines_stay() -> None:
    made = without_templates(CHART)

    assert len(made) == len(CHART)
    assert made.count("\n") == CHART.count("\n")
    assert "{{" not in made


def test_a_value_without_blanks_is_open_too() -> None:
    assert _read("token: {{TOKEN}}\n").mapping["token"].scalar == "${OKEN}"


def test_text_that_is_no_template_and_no_yaml_is_refused_as_before() -> None:
    with pytest.raises(InputError, match="not plain text"):
        _read("a: {[1]: 2}\n")
    with pytest.raises(InputError, match="not plain text"):
        _read("a: {[1]: 2}\nb: {{ .x }}\n")


def test_a_workflow_keeps_its_expressions() -> None:
    text = "run: echo ${{ github.ref }}\n"

    assert _read(text).mapping["run"].scalar == "echo ${{ github.ref }}"
