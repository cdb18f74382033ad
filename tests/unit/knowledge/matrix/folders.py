"""Small rules folders, written to disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.compile import compile_rules

if TYPE_CHECKING:
    from pathlib import Path

RULE = """\
id: {stem}
title: A title
since: 0.1.0
area: area
severity: error
confidence: high
when:
  host.os: linux
message: It is {{host.os}}.
why: A reason.
references:
  - {{type: WEB, url: https://example.org/a}}
verified: reproduced
"""

TABLE = """\
table: {stem}
doc: A table.
keys: {{os: word, version: range}}
columns: {{driver: version, names: list, size: integer, known: boolean, by: rule, note2: text}}
references:
  - {{type: WEB, url: https://example.org/a}}
verified: reproduced
rows:
  - {{os: linux, version: ">=2.6,<2.8", driver: 525.60.13}}
"""


def rule_text(stem: str = "some-rule", **changes: str) -> str:
    """Return a rule's YAML; a change replaces the block of a key, or adds one."""
    return _changed(RULE.format(stem=stem), changes)


def table_text(stem: str = "some-table", **changes: str) -> str:
    return _changed(TABLE.format(stem=stem), changes)


def _changed(text: str, changes: dict[str, str]) -> str:
    blocks: dict[str, str] = {}
    for line in text.splitlines(keepends=True):
        key = line.partition(":")[0] if line[0] not in " -" else list(blocks)[-1]
        blocks[key] = blocks.get(key, "") + line
    for key, value in changes.items():
        blocks[key] = f"{key}: {value}\n" if value else ""
    return "".join(blocks.values())


def write(folder: Path, **texts: str) -> Path:
    """Write `area__some_rule="..."` to area/some-rule.yaml; return the folder."""
    (folder / "knowledge.yaml").write_text('version: "7"\n')
    for name, text in texts.items():
        path = folder / (name.replace("__", "/").replace("_", "-") + ".yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def problems(folder: Path, **texts: str) -> list[str]:
    """Write the files, compile them and return the problems, with paths below the folder."""
    write(folder, **texts)
    return [str(each).replace(f"{folder}/", "") for each in compile_rules(folder).problems]
