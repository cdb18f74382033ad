"""What frameworks are told, each in its own words and those of its release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.support import NEWEST
from fadoctor.model.environment import OF_A_LOG
from fadoctor.model.fact import Fact, Known, fact_text
from fadoctor.model.fix import Step, StepKind
from fadoctor.model.packages import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Effect

OWN_OPTIONS = (
    "Choose torch's attention (sdpa, native, eager) in the program's own options, "
    "or in its model's config.json. "
    "Programs without that option often use torch's attention where flash-attn is not installed. "
    "Code that calls transformers takes the line below."
)
"""What is said of a program that a log does not name."""

SDPA = "sdpa"

LIBRARY = SETTINGS[0]
"""The one framework whose line helps there: its code is called by programs without a name."""

TOPICS = {"attention": "config.attention", "dtype": "config.dtype"}
"""The facts that settings of frameworks become, by what a step can tell them."""


def setting_steps(
    wanted: Mapping[str, str], environment: Environment, matrix: Matrix, shown: Collection[str]
) -> Iterator[Step]:
    """Yield one step for each framework that is at work, and that has such settings.

    `shown`: frameworks that a log shows. Where nobody knows of any, those are named that have a
    setting for all that is wanted.
    """
    at_work = _with_words(frameworks_at_work(environment, matrix, shown), wanted, matrix)
    is_unnamed = not at_work and environment.target.kind == OF_A_LOG
    if is_unnamed and wanted.get("attention") == SDPA:
        yield Step(StepKind.ADVICE, OWN_OPTIONS)
    for name in at_work or ((LIBRARY,) if is_unnamed else _installable(matrix)):
        label = fact_text(_cell(matrix, "frameworks", "label", framework=name), name)
        lines, effects = _told(name, wanted, environment, matrix)
        if len(lines) == len(wanted) or (lines and at_work):
            yield Step(StepKind.SETTING, f"{label}: {', '.join(lines)}", effects=effects)


def _with_words(
    at_work: tuple[str, ...], wanted: Mapping[str, str], matrix: Matrix
) -> tuple[str, ...]:
    """Return frameworks without those whose table is partly read, and has nothing of it."""
    rows = {str(row["framework"]): row for row in matrix.tables["frameworks"].rows}
    asked = {f"{topic}-{value}" for topic, value in wanted.items()}
    told = {
        str(row["framework"])
        for row in matrix.tables["setting-lines"].rows
        if asked & {*cell_words(row.get("setting"))}
    }
    return tuple(name for name in at_work if name in told or not rows[name].get("partly"))


def frameworks_at_work(
    environment: Environment, matrix: Matrix, shown: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the frameworks whose settings count: those of a configuration, a log, or installed.

    One that another calls is left out where it is shown only as called. None: nobody knows.
    """
    rows = {str(row["framework"]): row for row in matrix.tables["frameworks"].rows}
    configured = fact_text(environment.fact("config.framework"), "")
    if configured in rows:
        return (configured,)
    if at_work := [name for name in rows if name in shown]:
        called = {word for name in at_work for word in cell_words(rows[name].get("calls"))}
        return tuple(name for name in at_work if name not in called)
    return tuple(
        name
        for name in _installable(matrix)
        if isinstance(environment.facts.get(f"{rows[name]['package']}.version"), Known)
    )


def _installable(matrix: Matrix) -> tuple[str, ...]:
    rows = matrix.tables["frameworks"].rows
    return tuple(str(row["framework"]) for row in rows if row.get("package"))


# a page of documentation, which a message names: no framework is at work there
_LINK = re.compile(r"https?://\S{1,400}")


def shown_frameworks(text: str, matrix: Matrix) -> tuple[str, ...]:
    """Return the frameworks that a text, a line of a log, shows: by paths of any system."""
    rows = matrix.tables["frameworks"].rows
    text = text.replace("\\\\", "/").replace("\\", "/") if "\\" in text else text
    text = _LINK.sub("", text) if "://" in text else text
    return tuple(
        str(row["framework"])
        for row in rows
        if any(part in text for part in cell_words(row.get("log")))
    )


# vllm  0.11.0 | vllm==0.11.0 | vllm 0.11.0 pypi_0 pypi: a list names what is there, not at work
_LISTED = re.compile(
    r"\s{0,20}[\w.-]{2,60}(?: {1,60}|[=<>~!]{2} ?)v?\d[\w+!-]{0,20}\.[\w.+!-]{0,40}(?:\s.{0,80})?"
)


# the form of a report names its own project: "I searched .../OWNER/PROJECT/labels/bug"
_OF_A_FORM = re.compile(
    r"://[\w.-]{1,40}/[\w.-]{1,60}/([\w.-]{1,60})/"
    r"(?:labels/|issues(?: |\?|$)|discussions(?: |\?|$))"
)


def named_frameworks(lines: Iterable[str], matrix: Matrix) -> tuple[str, ...]:
    """Return the frameworks that a person names in words; lists of packages name none."""
    told = "\n".join(line for line in lines if not _LISTED.fullmatch(line)).casefold()
    asked = {found[1] for found in _OF_A_FORM.finditer(told)}
    named = {
        str(row["framework"]): {word.casefold() for word in cell_words(row.get("named"))}
        for row in matrix.tables["frameworks"].rows
    }
    return tuple(name for name, words in named.items() if words & asked) or tuple(
        name for name, words in named.items() if any(_is_word(word, told) for word in words)
    )


def _is_word(word: str, text: str) -> bool:
    if word not in text:
        return False
    return re.search(rf"(?a)(?<![\w./-]){re.escape(word)}(?![\w/-])", text) is not None


def _told(
    framework: str, wanted: Mapping[str, str], environment: Environment, matrix: Matrix
) -> tuple[list[str], dict[str, Effect]]:
    """Return the lines for a framework, and the facts that they give.

    A text that names no release gets the words that all releases take.
    """
    lines, effects = [], dict[str, "Effect"]()
    package = fact_text(_cell(matrix, "frameworks", "package", framework=framework), "")
    version = environment.facts.get(f"{package}.version")
    release = fact_text(version, NEWEST) if version is not None else NEWEST
    is_said = isinstance(version, Known) or environment.target.kind != OF_A_LOG
    for topic, value in wanted.items():
        asked = {"framework": framework, "version": release, "setting": f"{topic}-{value}"}
        line = _cell(matrix, "setting-lines", "line", **asked)
        meant = _cell(matrix, "setting-lines", "value", **asked)
        anywhere = _cell(matrix, "setting-lines", "anywhere", **asked)
        line = line if is_said or not isinstance(anywhere, Known) else anywhere
        if isinstance(line, Known):
            lines.append(str(line.value))
            if topic in TOPICS:
                effects[TOPICS[topic]] = fact_text(meant, value)
    return lines, effects


def _cell(matrix: Matrix, table: str, column: str, **keys: str) -> Fact:
    facts = {name: Known(value, "asked") for name, value in keys.items()}
    return matrix.find(table, facts).cell(column)
