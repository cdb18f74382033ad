"""Read a project's settings; what is wrong with them is said with file, line and key."""

# A circle with `settings`, which imports this file only where a project has settings: startup pays
# for no reader of TOML. What both share is there.

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING

import msgspec

from fadoctor.interfaces.commands.settings import OWN, SIZE_LIMIT, Ignored, Settings
from fadoctor.model.errors import did_you_mean
from fadoctor.model.fact import printable
from fadoctor.sources.manifests.source import open_source
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

_KEYS = ("target", "gpu", "driver", "fail-on", "rules", "ignore")
_IGNORE_KEYS = ("rule", "reason", "until")
_SEVERITIES = ("error", "warning", "note", "never")
_LIMIT = 200
"""Entries of a list."""
_DATE_LENGTH = len("2026-12-31")


def read_settings(path: Path, folder: Path, today: dt.date | None = None) -> Settings:
    """Return what a file says; `folder` is where one stands, `today` the day that it is."""
    shown = os.path.relpath(path, folder)
    source = msgspec.structs.replace(open_source(str(path)), name=printable(shown))
    if len(source.text) > SIZE_LIMIT:
        raise source.error(f"larger than {SIZE_LIMIT >> 20} MiB")
    tree = read_toml(source)
    table = tree.root if path.name == OWN else tree.find(tree.root, "tool", "fadoctor")
    if table is None:  # the words stand in a comment, or in another table
        return _further_up(path, folder)
    _refuse_unknown(tree, table, _KEYS)
    day = today or dt.datetime.now().astimezone().date()
    ignored = [_ignored(tree, node) for node in _listed(tree, table, "ignore")]
    over = [each for each in ignored if dt.date.fromisoformat(each.until) < day]
    return Settings(
        path=shown,
        target=_target(tree, table, path.parent),
        gpu=_texts(tree, table, "gpu"),
        driver=tree.text(table, "driver"),
        fail_on=_severity(tree, table),
        rules=tuple(_inside(tree, node, path.parent) for node in _listed(tree, table, "rules")),
        ignored=tuple(each for each in ignored if each not in over),
        ended=tuple(over),
    )


def _further_up(path: Path, folder: Path) -> Settings:
    """Return the settings of the folders above a file that has none after all."""
    from fadoctor.interfaces.commands.settings import find_settings

    above = path.parent.parent
    if above == path.parent:
        return Settings()
    found = find_settings(above)
    if not found.path:
        return found
    return msgspec.structs.replace(found, path=os.path.relpath(above / found.path, folder))


def _refuse_unknown(tree: ManifestTree, table: Node, known: tuple[str, ...]) -> None:
    for key, node in tree.as_table(table).items():
        if key not in known:
            otherwise = f" There are {', '.join(known)}."
            hint = did_you_mean(key, known, otherwise)
            raise tree.error(node, f"no such key.{hint}")


def _listed(tree: ManifestTree, table: Node, key: str) -> list[Node]:
    found = tree.items(table, key)
    if len(found) > _LIMIT:
        raise tree.error(found[_LIMIT], f"more than {_LIMIT} entries")
    return found


def _texts(tree: ManifestTree, table: Node, key: str) -> tuple[str, ...]:
    """Return one text, or a list of them."""
    node = tree.find(table, key)
    if node is not None and isinstance(node.value, str):
        return (node.value,)
    return tuple(tree.as_text(each) for each in _listed(tree, table, key))


def _target(tree: ManifestTree, table: Node, folder: Path) -> str:
    text = tree.text(table, "target")
    return os.path.normpath(folder / os.path.expanduser(text)) if text else ""  # noqa: PTH111 -- text


def _severity(tree: ManifestTree, table: Node) -> str:
    node = tree.find(table, "fail-on")
    text = tree.text(node)
    if node is not None and text not in _SEVERITIES:
        raise tree.error(node, f"should be one of {', '.join(_SEVERITIES)}")
    return text


def _inside(tree: ManifestTree, node: Node, folder: Path) -> Path:
    """Return a folder of rules below that of the settings: no others are read because of them."""
    text = tree.as_text(node)
    found = (folder / text).resolve()
    if not text or not found.is_relative_to(folder.resolve()):
        raise tree.error(node, "should be a folder next to these settings, or below")
    if not found.is_dir():
        raise tree.error(node, "is not a folder")
    return found


def _ignored(tree: ManifestTree, node: Node) -> Ignored:
    _refuse_unknown(tree, node, _IGNORE_KEYS)
    for key in _IGNORE_KEYS:
        if tree.find(node, key) is None:
            raise tree.error(node, f"{key} is missing: give rule, reason and until (2026-12-31)")
    rule, reason = tree.text(node, "rule").strip(), tree.text(node, "reason").strip()
    if not rule or not reason:
        raise tree.error(node, "rule and reason should not be empty")
    until = _date(tree, node)
    return Ignored(printable(rule, 100), printable(reason, 300), until, tree.place(node).line)


def _date(tree: ManifestTree, node: Node) -> str:
    """Return a day, written as text or as TOML's own date."""
    found = tree.find(node, "until")
    assert found is not None  # noqa: S101 -- the caller looked
    at = tree.offset(found)
    text = tree.source.text[at : at + _DATE_LENGTH]
    text = found.value if isinstance(found.value, str) else text
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise tree.error(found, "should be a day, such as 2026-12-31") from error
