"""The options of the command lines of vLLM and SGLang, release by release.

Read are literals such as ``"--tensor-parallel-size"`` and the fields of the classes from which the
parsers are made.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.spans.span import Span, cells, spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools.refresh.wheel import Wheel

TABLE = "server-options"

_OPTION = re.compile(r"""["']--([a-z][\w-]{1,60})["']""")
_ANY = re.compile(r"\w+")
_FIELD = re.compile(r"[a-z]\w{1,60}")


@dataclass(frozen=True)
class Server:
    """A program, and where its wheels have the options."""

    name: str
    oldest: Version
    """Older releases are not read."""
    files: re.Pattern[str]
    """Members with options as literals and as fields of the classes that ``classes`` names."""
    classes: re.Pattern[str]
    fields: re.Pattern[str]
    """Members of which each class has options as its fields."""
    spread_since: Version
    """Since when the classes are spread over such members."""
    parts: int
    """How many parts of its number a release shares with the next one that may break."""


SERVERS = (
    Server(
        "vllm",
        Version("0.5.0"),
        re.compile(
            r"vllm/(?:engine/arg_utils|entrypoints/openai/(?:cli_args|api_server)"
            r"|entrypoints/cli/serve)\.py"
        ),
        re.compile(r"\w{0,60}(?:EngineArgs|FrontendArgs)"),
        re.compile(
            r"vllm/entrypoints/(?:[\w/]{1,80}/)?(?:cli_args|cli/(?:serve|launch|snapshot))\.py"
        ),
        Version("0.29.0"),
        2,
    ),
    Server(
        "sglang",
        Version("0.3.0"),
        re.compile(r"sglang/srt/(?:server_args|arg_groups/[\w/]{1,80})\.py"),
        re.compile(r"\w{0,60}ServerArgs"),
        re.compile(r"sglang/srt/arg_groups/fields/[\w/]{1,80}\.py"),
        Version("0.5.20"),
        3,
    ),
)


def options_of(server: Server, version: Version, wheel: Wheel) -> frozenset[str]:
    """Return the options that a release has, without their dashes."""
    found: set[str] = set()
    spread = version >= server.spread_since
    for path in wheel.names:
        if spread and server.fields.fullmatch(path):
            found |= read_options(wheel.text(path), _ANY)
        elif server.files.fullmatch(path):
            found |= read_options(wheel.text(path), server.classes)
    return frozenset(found)


def read_options(source: str, classes: re.Pattern[str]) -> set[str]:
    """Return the options that a source has as literals and as fields of the classes named so."""
    found = set(_OPTION.findall(source))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and classes.fullmatch(node.name):
            found |= set(_fields(node.body))
    return found


def _fields(body: Iterable[ast.stmt]) -> Iterator[str]:
    for each in body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            name = each.target.id
            if _FIELD.fullmatch(name):
                yield name.replace("_", "-")


def option_rows(server: Server, had: Mapping[Version, frozenset[str]]) -> list[str]:
    """Return the rows of a server; what each release has of the options is ``had``."""
    newest = max(had)
    ahead = (*newest.release[: server.parts - 1], newest.release[server.parts - 1] + 1)
    end = ".".join(map(str, ahead))
    return [_row(server.name, span, end) for span in spans(had)]


def _row(server: str, span: Span, end: str) -> str:
    return f"  - {{server: {server}, option: {' '.join(span.names)}, {cells(span, end)}}}\n"
