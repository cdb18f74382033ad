"""What the page shows of a text: the answer as HTML and as Markdown, in two steps.

The first step takes no plan: findings stand without the fixes that change packages, because which
of them hold is not known yet. The second step adds them. Where a text allows many releases, the
first step judges today's alone, and the second one judges them all.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.interfaces.commands.answer import TextAnswer, advised, judge
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import typed_cell
from fadoctor.model.errors import FadoctorError, UsageError
from fadoctor.model.explanation import Explanation
from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.report import markdown
from fadoctor.report.answer import answers_of
from fadoctor.report.explanation_text import silence_of
from fadoctor.report.html import page
from fadoctor.report.html.elements import joined
from fadoctor.report.redact import redact
from fadoctor.sources.examine.text_kind import TextKind
from fadoctor.syntax.credentials.document import hide_in_document

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding
    from fadoctor.model.report import Report

_GPUS = "gpu-names"
_HEADING = re.compile(r"(</?h)([1-5])\b")
_BY_HAND = (StepKind.SETTING, StepKind.SYSTEM, StepKind.ADVICE)
_COMMANDS = "Checking which commands apply."
_RELEASES = "Checking the other releases that the text allows."
SOON = 8
"""Other choices of releases that a first step judges; where there are more, it judges none."""

_SEPARATOR = re.compile(r"[,;\n]")
_SOON_ASKED = (
    "fadoctor.interfaces.commands.examine",
    "fadoctor.judging.diagnose",
    "fadoctor.judging.explain.explain",
    "fadoctor.judging.explain.recognise.nearest",
    "fadoctor.judging.explain.recognise.pages",
    "fadoctor.judging.explain.pasted_complaints",
    "fadoctor.judging.verdicts.recommendation",
    "fadoctor.sources.configs.deepspeed",
    "fadoctor.sources.configs.python",
    "fadoctor.sources.configs.recipes",
    "fadoctor.sources.examine.examination",
    "fadoctor.sources.targets.overlay",
    "fadoctor.syntax.yaml_tree",
)
"""What a first report asks for; loaded while the progress bar shows, so that no text waits."""
_WORDS = {
    TextKind.ERROR: "an error or a log",
    TextKind.ISSUE: "an issue",
    TextKind.REPORT: "a report about an environment",
    TextKind.FACTS: "facts that fadoctor printed",
    TextKind.REQUIREMENTS: "a requirements file or a lock",
    TextKind.CONFIGURATION: "a configuration, a script or a command",
    TextKind.GPU: "a GPU",
}


class Answering:
    """One text after the other; the worker holds one of these."""

    def __init__(self) -> None:
        """Begin without a text."""
        self._judged: TextAnswer | None = None
        self._asked: tuple[str, tuple[str, ...]] = ("", ())
        for name in _SOON_ASKED:
            import_module(name)

    def first(self, text: str, gpu: str) -> str:
        """Return the answer without what has to be planned, as JSON."""
        self._judged = None
        try:
            self._asked = (text, gpus_of(gpu))
            judged = judge(*self._asked, SOON)
        except UsageError as error:
            return _problem(str(error), "gpu")
        except FadoctorError as error:
            return _problem(str(error), "text")
        self._judged = judged
        is_open = judged.planned is not None and any(map(_is_open, judged.document.findings))
        document = _without_open(judged.document) if is_open else judged.document
        more = _RELEASES if judged.is_partial else _COMMANDS if is_open else ""
        return _shown(judged.kind, document, more)

    def rest(self) -> str:
        """Return the whole answer to the same text."""
        if self._judged is None:
            return _problem("there is no text yet", "text")
        whole = judge(*self._asked) if self._judged.is_partial else self._judged
        judged = self._judged = advised(whole)
        return _shown(judged.kind, judged.document)

    def markdown(self) -> str:
        """Return the answer as it is pasted into an issue: redacted."""
        if self._judged is None:
            return ""
        return markdown.render(redact(self._judged.document, {}, ""))


def version() -> str:
    """Return which program and which rules answer."""
    return f"fadoctor {__version__}, rules {load_knowledge().version}"


def gpu_names() -> str:
    """Return the names of GPUs that the page proposes, as JSON."""
    rows = load_knowledge().tables[_GPUS].rows
    cells = (typed_cell(row.get("names"), "list") for row in rows)
    names = {str(name) for cell in cells if isinstance(cell, tuple) for name in cell}
    return json.dumps(sorted(names))


def gpus_of(text: str) -> tuple[str, ...]:
    """Return the GPUs that a field names, separated by commas."""
    return tuple(each.strip() for each in _SEPARATOR.split(text) if each.strip())


def _shown(kind: TextKind, document: Report | Explanation, more: str = "") -> str:
    document = hide_in_document(document)
    body = _HEADING.sub(lambda found: f"{found[1]}{int(found[2]) + 1}", joined(page.body(document)))
    said = {
        "kind": kind.value,
        "words": _WORDS[kind],
        "first": _first_line(document),
        "html": body,
        "more": bool(more),
        "checking": more,
        "rules": [each.rule_id for each in document.findings],
    }
    return json.dumps(said)


def _first_line(document: Report | Explanation) -> str:
    if isinstance(document, Explanation):
        found = document.findings
        return found[0].message if found else silence_of(document)
    return answers_of(document)[0].sentence


def _is_open(finding: Finding) -> bool:
    """Return whether a plan decides which of its fixes hold."""
    steps = [step for fix in finding.fixes for step in fix.steps]
    changes = any(step.kind not in _BY_HAND or step.effects for step in steps)
    return finding.severity is not Severity.NOTE and changes


def _without_open(document: Report | Explanation) -> Report | Explanation:
    findings = tuple(
        msgspec.structs.replace(each, fixes=()) if _is_open(each) else each
        for each in document.findings
    )
    return msgspec.structs.replace(document, findings=findings)


def _problem(text: str, where: str) -> str:
    return json.dumps({"problem": printable(text, 2_000), "where": where})
