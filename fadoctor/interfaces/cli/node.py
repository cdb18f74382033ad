"""What ``check`` writes on a node of a fleet: its record, its report in pieces, or as a file."""

# A circle with `forms`, which imports this file on a node of a fleet alone: others pay nothing.

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import typer

from fadoctor.fleet.content import CheckOutcome, Content, content_of, failed, first_steps
from fadoctor.fleet.documents import document_of, file_name
from fadoctor.fleet.identity import NodeIdentity, node_of, renamed
from fadoctor.fleet.record import record_line, second_line
from fadoctor.interfaces.cli import support
from fadoctor.interfaces.cli.forms import OF_A_NODE, Form, Looks, Sink
from fadoctor.interfaces.cli.output import tell, write
from fadoctor.model.errors import FadoctorError, UsageError
from fadoctor.model.fact import printable
from fadoctor.syntax.credentials.hiding import hide_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.model.report import Report


class NodeRequest(NamedTuple):
    """What is to be written for a fleet."""

    sinks: tuple[Sink, ...]
    folder: Path | None
    redact: bool
    exit_zero: bool


def this_node(*, redact: bool) -> NodeIdentity:
    """Return who this node is, or a number where names are not wanted."""
    host = os.uname().nodename if hasattr(os, "uname") else ""
    node = node_of(os.environ, host)
    return renamed(node) if redact else node


@contextmanager
def reported(wanted: NodeRequest) -> Iterator[Callable[[Report, Looks], None]]:
    """Let no node be silent: a check that cannot be done is a record, too.

    Gives what keeps the report of one that can. A task that is not the first of its node says so
    and does no more.
    """
    node = this_node(redact=wanted.redact)
    if node.is_second:
        for sink in wanted.sinks:
            if sink.form is Form.FLEET:
                write(second_line(node).decode(), sink.path, sink.form.value)
        raise typer.Exit(0)
    try:
        yield lambda report, how: _keep(report, how, wanted, node)
    except FadoctorError as error:
        problem = "" if wanted.redact else hide_credentials(str(error))
        content = failed(error.exit_code, problem)
        for sink in wanted.sinks:
            if sink.form in OF_A_NODE:
                write(_text(node, content, None, sink.form), sink.path, sink.form.value)
        if wanted.folder is not None:
            with suppress(UsageError):  # the first error is the one to hear of
                _save(wanted.folder, node, document_of(node, content, None))
        if not wanted.exit_zero:
            raise
        tell(str(error))
        raise typer.Exit(0) from error


def render(report: Report, form: Form, code: int, *, redact: bool) -> str:
    """Return the record of this node, or its report in pieces."""
    node = this_node(redact=redact)
    return _text(node, _content(report, code, redact=redact), report, form)


def _keep(report: Report, how: Looks, wanted: NodeRequest, node: NodeIdentity) -> None:
    """Write the report of this node into a folder that all nodes share, where one is given."""
    if wanted.folder is not None:
        hiding = support.redacted if wanted.redact else support.without_credentials
        shown = hiding(report)
        content = _content(shown, how.code, redact=wanted.redact)
        _save(wanted.folder, node, document_of(node, content, shown))


def _text(node: NodeIdentity, content: Content, report: Report | None, form: Form) -> str:
    if form is Form.FLEET:
        return record_line(node, content).decode()
    from fadoctor.fleet.frames import frames_of

    return b"".join(frames_of(node, document_of(node, content, report))).decode()


def _content(report: Report, code: int, *, redact: bool) -> Content:
    from fadoctor.fleet.builds import builds_of
    from fadoctor.fleet.image import image_of

    outcome = CheckOutcome.of(report, code)
    is_here = report.target.kind in ("environment", "site-packages")
    builds = builds_of(report.target, report.environment) if is_here else {}
    image = "" if redact else image_of(os.environ)
    content = content_of(outcome, report.environment, image, builds)
    hiding = support.redacted if redact else support.without_credentials
    return msgspec.structs.replace(content, a=first_steps(hiding(report).findings))


def _save(folder: Path, node: NodeIdentity, document: bytes) -> None:
    """Write a file under another name first: nobody reads half of it on a shared disk."""
    import tempfile

    target = folder / file_name(node)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".fadoctor-", suffix=".part", dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(document + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, 0o644)  # noqa: PTH101 -- by name: the file of a shared folder
            os.replace(name, target)  # noqa: PTH105
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise UsageError(f"--output-dir {printable(str(folder))}: {error.strerror}") from error
