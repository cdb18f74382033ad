"""YAML that a template makes: ``{{ .Release.Name }}`` as a value left open, its lines as comments.

The text keeps its length, so that every place stays as it is.
"""

from __future__ import annotations

import re

_LENGTH_LIMIT = 1 << 20
# {{- if .Values.gpu }}, {{ include "chart.labels" . | nindent 4 }}, {{ .key }}: value
_ALONE = re.compile(r"^([ \t]{0,200}(?:-[ \t]{1,200})?)\{\{(?!\{)[^\n]*\}\}[^\n]*$", re.MULTILINE)
# {{/* a comment
#      of several lines */}}
_COMMENT = re.compile(r"\{\{-?[ \t]{0,20}/\*.{0,20000}?\*/[ \t]{0,20}-?\}\}", re.DOTALL)
# name: {{ .Release.Name }}-train, - {{ .image }}, tag: "{{ .tag | default "latest" }}"
_VALUE = re.compile(
    r"^([ \t]{0,200}(?:-[ \t]{1,200}){0,5}(?:[\w./-]{1,200}|\"[^\"\n]{1,200}\"):[ \t]{1,200}"
    r"|[ \t]{0,200}(?:-[ \t]{1,200}){1,5})"
    r"(\{\{[^\n]*\}\}[^\n]*|\"[^\"\n]{0,500}\{\{[^\n]*)$",
    re.MULTILINE,
)


def without_templates(text: str) -> str:
    """Return a text whose templates are open values and comments; of the same length."""
    if "{{" not in text or len(text) > _LENGTH_LIMIT:
        return text
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    text = _VALUE.sub(lambda found: found[1] + _opened(found[2]), text)
    return _ALONE.sub(lambda found: found[1].replace("-", " ") + "#" * _after(found), text)


def _after(found: re.Match[str]) -> int:
    return len(found[0]) - len(found[1])


def _opened(value: str) -> str:
    """Return a value in quotes, as text that a variable fills."""
    bare = value.rstrip()
    if bare[0] == '"':
        inner = _unquoted(bare[1:-1]).replace("{{", "${", 1)
    else:
        inner = "${" + _unquoted(bare[3:]).replace("}}", "}", 1)
    return f'"{inner}"' + " " * (len(value) - len(bare))


def _unquoted(text: str) -> str:
    return re.sub(r"[\"\\]", "'", text)
