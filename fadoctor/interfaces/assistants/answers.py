"""The answers to an assistant: the text that a person would read, and the document, redacted."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.model.overlays import Overlays
from fadoctor.model.typed import encode
from fadoctor.report.style import Style
from fadoctor.sources.examine.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fadoctor.model.errors import FadoctorError

TEXT_LIMIT = 1_000_000
"""Characters of a log or a report."""

NAME_LIMIT = 4_096
"""Characters of any other argument."""

LIST_LIMIT = 16
"""GPUs, files, packages."""

ANSWER_LIMIT = 40_000
"""Characters of the text that is answered."""

_STYLE = Style(width=100)
_SENT = "the report that was sent"

_T = TypeVar("_T", bound=msgspec.Struct)


class AssistantRequest(msgspec.Struct, frozen=True):
    """What is examined, and what is assumed of it; the active environment where nothing is said."""

    environment: str = ""
    """Folder of an environment, or an interpreter in one."""
    report: str = ""
    """The text of saved facts, or of what other tools print."""
    requirements: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    driver: str = ""
    glibc: str = ""
    python_version: str = ""
    platform: str = ""


class AssistantAnswer(NamedTuple):
    """What is answered."""

    text: str
    document: dict[str, Any]


def check(asked: AssistantRequest, folder: Path) -> AssistantAnswer:
    """Say whether FlashAttention works, if not why, and what to do.

    Files that are named must lie in `folder`.
    """
    from fadoctor.interfaces.commands import check as commands  # noqa: PLC0415 -- when asked
    from fadoctor.report.text import render  # noqa: PLC0415

    found = commands.check(commands.CheckRequest(_request(asked, folder, follow=True)))
    return _answer(found.report, render)


def explain(log: str, asked: AssistantRequest, folder: Path) -> AssistantAnswer:
    """Say what a log comes from; held against an environment where one is named."""
    from fadoctor.interfaces.commands.explain import (  # noqa: PLC0415 -- when asked
        ExplainRequest,
        explain_log,
        read_text,
    )
    from fadoctor.report.explanation_text import render  # noqa: PLC0415

    sent = io.BytesIO(_bounded("log", log, TEXT_LIMIT).encode("utf-8", "replace"))
    request = ExplainRequest(
        lambda knowledge: read_text(sent, "the log", knowledge),
        _request(asked, folder, follow=False),
        lambda _: asked != AssistantRequest(),
        follows=False,
    )
    return _answer(explain_log(request), render)


def plan(
    asked: AssistantRequest, want: Sequence[str], keep: Sequence[str], folder: Path
) -> AssistantAnswer:
    """Say which smallest change ends in a working environment; nothing is carried out."""
    from fadoctor.interfaces.commands.fix import FixRequest, make_plan  # noqa: PLC0415 -- when asked
    from fadoctor.interfaces.commands.plan import PlanRequest  # noqa: PLC0415
    from fadoctor.report.plan_text import render  # noqa: PLC0415

    wanted = PlanRequest(_listed("want", want), _listed("keep", keep))
    request = FixRequest(_request(asked, folder, follow=True), wanted)
    return _answer(make_plan(request).plan, render)


def _request(asked: AssistantRequest, folder: Path, *, follow: bool) -> Request:
    """Return the request. What is named is read, and never run."""
    for name in ("environment", "driver", "glibc", "python_version", "platform"):
        _bounded(name, getattr(asked, name), NAME_LIMIT)
    _bounded("report", asked.report, TEXT_LIMIT)
    if asked.report and asked.environment:
        raise UsageError("environment and report exclude each other: name one target")
    return Request(
        python=asked.environment,
        facts=_SENT if asked.report else "",
        overlays=Overlays(_listed("gpu", asked.gpu), asked.driver, asked.glibc,
                          asked.python_version, asked.platform),
        requirements=_files("requirements", asked.requirements, folder),
        configs=_files("config", asked.config, folder),
        contracts=follow,
        text=asked.report.encode("utf-8", "replace"),
        reason="environment",
        reads_only=True,
        fence=os.path.realpath(folder),
    )  # fmt: skip


def _bounded(name: str, text: str, limit: int) -> str:
    if len(text) > limit:
        raise UsageError(f"{name}: {len(text)} characters, but {limit} at most are allowed")
    return text


def _listed(name: str, values: Sequence[str]) -> tuple[str, ...]:
    if len(values) > LIST_LIMIT:
        raise UsageError(f"{name}: {len(values)} are given, but {LIST_LIMIT} at most are allowed")
    return tuple(_bounded(name, each, NAME_LIMIT) for each in values)


def _files(name: str, values: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return files as they are named; UsageError for one that lies elsewhere.

    An assistant may be talked into asking for any file, and a finding quotes lines.
    """
    inside = os.path.realpath(folder)
    for value in _listed(name, values):
        if "\0" in value or not Path(os.path.realpath(value)).is_relative_to(inside):
            raise UsageError(
                f"{name}: {printable(value, 200)} is outside the folder that `fadoctor mcp` serves"
            )
    return tuple(values)


class _Sentence(msgspec.Struct, frozen=True):
    """What is said without a document."""

    text: str


def refusal(error: FadoctorError) -> str:
    """Return what an error says, without what names a person or a machine."""
    return _public(_Sentence(str(error))).text


def _public(document: _T) -> _T:
    from fadoctor.report.redact import redact  # noqa: PLC0415 -- loaded while the facts are read

    return redact(document, os.environ, os.uname().nodename if hasattr(os, "uname") else "")


def _answer(document: _T, render: Callable[[_T, Style], str]) -> AssistantAnswer:
    """Return a document as text and as plain data, without what names a person or a machine."""
    found = _public(document)
    text = render(found, _STYLE)
    if len(text) > ANSWER_LIMIT:
        text = f"{text[:ANSWER_LIMIT]}\n... ({len(text)} characters in all)\n"
    plain: dict[str, Any] = msgspec.json.decode(encode(found))
    return AssistantAnswer(
        text, {key: value for key, value in plain.items() if key != "environment"}
    )
