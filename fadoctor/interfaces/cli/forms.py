"""In which forms a result is written, and where to: ``--format`` and ``--output``."""

from __future__ import annotations

import enum
import os
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.interfaces.cli import support
from fadoctor.interfaces.cli.output import write
from fadoctor.model.errors import UsageError, did_you_mean
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fadoctor.interfaces.cli.options.judging import FailOn
    from fadoctor.model.finding import Severity
    from fadoctor.model.recipe import Recipe
    from fadoctor.report.style import Style

    Save = Callable[[Any, "Looks"], None]
    """Keeps a report in a folder."""


class Form(str, enum.Enum):
    """Every form that some command writes."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    GITLAB = "gitlab"
    SCRIPT = "script"
    REQUIREMENTS = "requirements"
    FLEET = "fleet"
    FRAMES = "frames"
    PROMETHEUS = "prometheus"
    DOCKERFILE = "dockerfile"
    UV = "uv"
    PIXI = "pixi"
    CONDA = "conda"
    COLAB = "colab"


ENDINGS = {
    ".txt": Form.TEXT, ".json": Form.JSON, ".jsonl": Form.JSONL, ".md": Form.MARKDOWN,
    ".html": Form.HTML, ".sarif": Form.SARIF, ".xml": Form.JUNIT, ".sh": Form.SCRIPT,
    ".dockerfile": Form.DOCKERFILE, ".ipynb": Form.COLAB,
    ".prom": Form.PROMETHEUS,
}  # fmt: skip

_PLAIN = ("", ".log", ".out")
"""Endings of plain text beside .txt."""

_TEXTS = {
    "Report": "fadoctor.report.text",
    "Explanation": "fadoctor.report.explanation_text",
    "SmokeReport": "fadoctor.report.smoke_text",
    "Plan": "fadoctor.report.plan_text",
    "FleetReport": "fadoctor.report.fleet_text",
}
"""Who writes a kind of document for a person."""

_MODULES = {
    Form.JSON: "json_", Form.JSONL: "jsonl", Form.HTML: "html.page",
    Form.PROMETHEUS: "fleet_prometheus",
}  # fmt: skip
OF_A_NODE = (Form.FLEET, Form.FRAMES)
_LISTED = (Form.SARIF, Form.GITHUB, Form.GITLAB)
_RECIPES = (Form.DOCKERFILE, Form.UV, Form.PIXI, Form.CONDA, Form.COLAB)
"""Forms of a plan that describe an environment made anew."""

_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The file of a job's summary, in Markdown; GitHub shows what is appended to it."""

STDOUT = "-"


class Sink(msgspec.Struct, frozen=True):
    """Where one form of the result goes."""

    form: Form
    path: Path | None
    """None is standard output."""


class Looks(msgspec.Struct, frozen=True):
    """What the command line says of the looks of a result."""

    color: str = "never"
    quiet: bool = False
    verbose: bool = False
    redact: bool = False
    fail_on: FailOn | None = None
    brief: bool = False
    """Only what is wrong."""
    code: int = 0
    """What the command ends with, ``--exit-zero`` apart."""
    recipe: Recipe | None = None


def sinks_of(outputs: Sequence[str], chosen: enum.Enum) -> tuple[Sink, ...]:
    """Return what is written where; `chosen` is ``--format``, whose members are allowed.

    A name before a colon says the form, else ``--format``, else the file's ending.
    """
    allowed = [Form(member.value) for member in type(chosen)]
    if not outputs:
        return (Sink(Form(chosen.value), None),)
    sinks = tuple(_sink(text, Form(chosen.value), allowed) for text in outputs)
    for index, sink in enumerate(sinks):
        if sink.path in [other.path for other in sinks[:index]]:
            raise UsageError(f"--output {printable(outputs[index])}: it is named twice")
    return sinks


def sinks_of_check(outputs: Sequence[str], chosen: enum.Enum, folder: str) -> tuple[Sink, ...]:
    """Return what ``check`` writes beside a file in a folder of nodes: nothing unless asked."""
    sinks = sinks_of(outputs, chosen)
    return () if folder and sinks == (Sink(Form.TEXT, None),) else sinks


def reporting(
    sinks: tuple[Sink, ...], folder: str, *, redact: bool, exit_zero: bool
) -> AbstractContextManager[Save]:
    """Return within what a check is done, which gives what keeps its report in a folder.

    On a node of many it lets no task be silent; else it does nothing.
    """
    if not folder and not any(sink.form in OF_A_NODE for sink in sinks):
        return nullcontext(lambda _report, _how: None)
    from fadoctor.interfaces.cli import node

    return node.reported(
        node.NodeRequest(sinks, Path(folder) if folder else None, redact, exit_zero)
    )


def _sink(text: str, chosen: Form, allowed: list[Form]) -> Sink:
    name, colon, rest = text.partition(":")
    names = [form.value for form in allowed]
    if colon and rest and name in names:
        return Sink(Form(name), _path(rest))
    if colon and rest and did_you_mean(name, [form.value for form in Form]):
        hint = did_you_mean(name, names, f" Give one of {', '.join(names)}.")
        raise UsageError(
            f"--output {printable(text)}: {printable(name)} is not a format of this command.{hint}"
        )
    if chosen is not Form.TEXT or text == STDOUT:
        return Sink(chosen, _path(text))
    return Sink(_by_ending(text, allowed), _path(text))


def _by_ending(text: str, allowed: list[Form]) -> Form:
    """Return the form of a file's ending: text without one; UsageError for one that nobody has.

    A device, such as /dev/stderr, and a name without a dot say nothing of the form.
    """
    ending = Path(text).suffix.lower()
    form = ENDINGS.get(ending, Form.TEXT if ending in _PLAIN else None)
    if form in allowed:
        return form
    listed = [each for each, known in ENDINGS.items() if known in allowed]
    raise UsageError(
        f"--output {printable(text)}: no format of this command ends in {printable(ending, 20)}. "
        f"Endings: {', '.join(listed)}; FORMAT:FILE chooses one, such as text:{printable(text)}"
    )


def _path(text: str) -> Path | None:
    return None if text == STDOUT else Path(text)


def is_recipe(sinks: Sequence[Sink]) -> bool:
    """Return whether something that is asked for describes an environment made anew."""
    return any(sink.form in _RECIPES for sink in sinks)


def printer_of(sinks: Sequence[Sink], kind: str) -> str:
    """Return the module that writes the first form: loaded while the environment is read."""
    return _TEXTS[kind] if sinks and sinks[0].form is Form.TEXT else "fadoctor.report.json_"


def deliver(document: Any, sinks: Sequence[Sink], how: Looks) -> None:
    """Write a document in each form; UsageError where one cannot be written."""
    document = support.without_credentials(document)
    shown = support.redacted(document) if how.redact else document
    for sink in sinks:
        text = _rendered(document if sink.form is Form.MARKDOWN else shown, sink, how)
        write(text, sink.path, sink.form.value)
        if sink.form is Form.GITHUB:
            _append_summary(document)


def _rendered(document: Any, sink: Sink, how: Looks) -> str:
    if sink.form is Form.TEXT:
        return str(_module(document).render(document, style(sink, how)))
    for forms, written in _WRITERS:
        if sink.form in forms:
            return written(document, sink.form, how)
    name = _MODULES.get(sink.form, f"plan_{sink.form.value}")
    if sink.form is Form.HTML and type(document).__name__ == "FleetReport":
        name = "html.fleet"
    return str(import_module(f"fadoctor.report.{name}").render(document))


def _module(document: Any) -> Any:
    return import_module(_TEXTS[type(document).__name__])


def style(sink: Sink, how: Looks) -> Style:
    """Return how text is printed there."""
    from fadoctor.interfaces.cli.terminal import style_of

    found = style_of(how.color, sink.path, quiet=how.quiet, verbose=how.verbose)
    return msgspec.structs.replace(found, brief=True) if how.brief else found


def _markdown(document: Any, *_: object) -> str:
    """Return what one pastes in public: always without what identifies a person or a machine."""
    from fadoctor.report.markdown import render

    return render(support.redacted(document))


def _of_a_list(document: Any, form: Form, _how: Looks) -> str:
    from fadoctor.report.ci.listing import listing_of

    module = import_module(f"fadoctor.report.ci.{form.value}")
    return str(module.render(listing_of(document, Path.cwd())))


def _of_a_node(document: Any, form: Form, how: Looks) -> str:
    from fadoctor.interfaces.cli import node

    return node.render(document, form, how.code, redact=how.redact)


def _recipe(_document: Any, form: Form, how: Looks) -> str:
    module = import_module(f"fadoctor.report.recipes.{form.value}")
    recipe = support.without_credentials(how.recipe) if how.recipe else None
    recipe = support.redacted(recipe) if recipe and how.redact else recipe
    return str(module.render(recipe))


def _junit(document: Any, _form: Form, how: Looks) -> str:
    """Return cells as test cases of a smoke run, findings as those of the others."""
    if type(document).__name__ == "SmokeReport":
        from fadoctor.report.smoke_junit import render as render_cells

        return render_cells(document)
    from fadoctor.report.ci.junit import render as render_findings
    from fadoctor.report.ci.listing import listing_of

    return render_findings(listing_of(document, Path.cwd()), _failing(how.fail_on))


def _failing(fail_on: FailOn | None) -> tuple[Severity, ...]:
    from fadoctor.model.finding import Severity

    return tuple(each for each in Severity if fail_on and support.is_loud(each.value, fail_on))


_WRITERS = (
    ((Form.MARKDOWN,), _markdown),
    (_LISTED, _of_a_list),
    ((Form.JUNIT,), _junit),
    (OF_A_NODE, _of_a_node),
    (_RECIPES, _recipe),
)
"""Who writes a form that needs more than the document."""


def _append_summary(document: Any) -> None:
    """Add the page to the job's summary where GitHub has one; without it nothing is lost."""
    name = os.environ.get(_SUMMARY, "")
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as stream:
            stream.write(_markdown(document))
    except OSError as error:
        raise UsageError(f"{_SUMMARY} {printable(name)}: {error.strerror}") from error
