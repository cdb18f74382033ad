"""Text for a person: the environment first, then findings, the table, the advice."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fadoctor.model.catalogue import PACKAGES
from fadoctor.model.environment import SUBJECT_LIMIT, Environment
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.finding import Finding, Severity, Undecided
from fadoctor.model.verdict import Dtype, Measured, Predicted, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.report import Report
    from fadoctor.report.style import Style

_GIB = 1 << 30
_UNKNOWN_SHOWN = 5
_PACKAGES_SHOWN = 12


_MARKS = {Severity.ERROR: ("✗", "x"), Severity.WARNING: ("!", "!"), Severity.NOTE: ("i", "i")}
_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_PREDICTED = {
    Predicted.WORKS: ("✓ works", "+ works", "green"),
    Predicted.FAILS: ("✗ fails", "x fails", "red"),
    Predicted.UNKNOWN: ("? unknown", "? unknown", "yellow"),
}


def render(report: Report, style: Style) -> str:
    """Return the report as text. The words alone carry the meaning; colour only repeats it."""
    page = _Page(style)
    page.header(report)
    if not style.quiet:
        page.environment(Environment(report.fadoctor, report.target, report.environment))
    for finding in report.findings:
        page.finding(finding)
    if not report.findings:
        page.line("No findings.", "green")
    page.undecided(report.unknown)
    if report.verdicts and not style.quiet:
        page.verdicts(report.verdicts)
    page.recommendation(report)
    page.closing(report)
    return page.text()


class _Page:
    """Collects what is printed. Text from outside enters as `Text`, so that no markup is read."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.buffer = io.StringIO()
        self.console = Console(
            file=self.buffer,
            width=style.width,
            force_terminal=style.colour,
            no_color=not style.colour,
            color_system="standard" if style.colour else None,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def text(self) -> str:
        lines = (line.rstrip() for line in self.buffer.getvalue().splitlines())
        found = "\n".join(lines) + "\n"
        return found.encode("ascii", "replace").decode() if self.style.ascii_only else found

    def line(self, text: str, colour: str = "", indent: int = 0) -> None:
        """Print one paragraph; a wrapped line keeps the indent."""
        self.console.print(Padding(Text(text, style=colour), (0, 0, 0, indent)), soft_wrap=False)

    def mark(self, pair: tuple[str, str]) -> str:
        return pair[1] if self.style.ascii_only else pair[0]

    def header(self, report: Report) -> None:
        target = report.target
        self.line(f"Environment: {target.label} ({target.reason})", "bold")
        for overlay in report.overlays:
            self.line(f"Assumed: {overlay}", "magenta")

    def environment(self, environment: Environment) -> None:
        facts = environment.facts
        self.line(_host_line(facts), indent=2)
        self.line(_driver_line(facts), indent=2)
        for text in _gpu_lines(facts):
            self.line(text, indent=2)
        for text in _package_lines(facts):
            self.line(text, indent=2)
        self.line("")

    def finding(self, finding: Finding) -> None:
        mark, colour = self.mark(_MARKS[finding.severity]), _COLOURS[finding.severity]
        subject = "" if finding.subject == "environment" else f" ({finding.subject})"
        self.line(f"{mark} {finding.severity.value}: {finding.title}{subject}", colour)
        self.line(finding.message, indent=2)
        if not self.style.quiet:
            self.line(f"why: {finding.why}", indent=2)
        for fix in finding.fixes if self.style.verbose else finding.fixes[:1]:
            self.line(f"fix: {fix.title} ({fix.safety.value})", "bold", indent=2)
            for step in fix.steps:
                self.line(f"- {step.text}", indent=4)
            if fix.side_effects:
                self.line(f"side effects: {fix.side_effects}", indent=4)
        if finding.consequences:
            self.line(f"also explains: {', '.join(finding.consequences)}", indent=2)
        self.line(
            f"rule: {finding.rule_id}, confidence {finding.confidence.value}", "dim", indent=2
        )
        if self.style.verbose:
            for evidence in finding.evidence:
                value = "absent" if evidence.value is None else value_text(evidence.value)
                self.line(f"{evidence.fact}: {value}  [{evidence.source}]", "dim", indent=4)
        self.line("")

    def undecided(self, unknown: tuple[Undecided, ...]) -> None:
        if not unknown:
            return
        shown = unknown if self.style.verbose else unknown[:_UNKNOWN_SHOWN]
        self.line(f"Could not be decided: {len(unknown)}", "yellow")
        for each in shown:
            self.line(f"? {each.rule_id}: {each.reason}", indent=2)
        if len(shown) < len(unknown):
            self.line(f"... and {len(unknown) - len(shown)} more (--verbose)", indent=2)
        self.line("")

    def verdicts(self, verdicts: tuple[Verdict, ...]) -> None:
        for gpu in dict.fromkeys(verdict.gpu for verdict in verdicts):
            mine = [verdict for verdict in verdicts if verdict.gpu == gpu]
            ran = any(verdict.measured is not Measured.NOT_RUN for verdict in mine)
            self.line(f"{gpu}: {'predicted and measured' if ran else 'predicted'}", "bold")
            self.console.print(self.table(mine))
            for text in _reasons(mine):
                self.line(text, "dim", indent=2)
            self.line("")

    def table(self, verdicts: list[Verdict]) -> Table:
        dtypes = [d for d in Dtype if any(verdict.dtype is d for verdict in verdicts)]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("  backend", "version", *(dtype.value for dtype in dtypes)):
            table.add_column(title, overflow="fold")
        for backend in dict.fromkeys(verdict.backend for verdict in verdicts):
            row = {v.dtype: v for v in verdicts if v.backend is backend}
            version = next(iter(row.values())).package_version
            cells = [self.cell(row.get(dtype)) for dtype in dtypes]
            table.add_row(Text(f"  {backend.value}"), Text(version), *cells)
        return table

    def cell(self, verdict: Verdict | None) -> Text:
        if verdict is None:
            return Text("")
        *marks, colour = _PREDICTED[verdict.predicted]
        measured = verdict.measured
        if measured is Measured.NOT_RUN:
            return Text(marks[1] if self.style.ascii_only else marks[0], style=colour)
        shade = {Measured.PASSED: "green", Measured.FAILED: "bold red"}.get(measured, "yellow")
        predicted = "" if verdict.predicted is Predicted.UNKNOWN else f"{verdict.predicted.value}, "
        return Text(f"{predicted}{measured.value}", style=shade)

    def recommendation(self, report: Report) -> None:
        advice = report.recommendation
        if advice is None:
            return
        repaired = ", once the findings above are repaired" if report.findings else ""
        what = f"{advice.dtype.value} with {advice.backend.value}"
        self.line(f"Recommended{repaired}: {what}", "bold green")
        self.line(advice.why, indent=2)
        for framework, settings in advice.settings.items():
            self.line(f"{framework}: {setting_text(framework, settings)}", indent=2)
        self.line("")

    def closing(self, report: Report) -> None:
        for error in report.rule_errors:
            self.line(f"rule {error.rule_id} broke: {error.reason}", "bold red")
        for note in report.notes:
            self.line(note, "bold")
        total = report.summary
        self.line(
            f"{total.error} errors, {total.warning} warnings, {total.note} notes, "
            f"{total.unknown} undecided. Rules {report.rules.version}, fadoctor {report.fadoctor}."
        )


def setting_text(framework: str, settings: dict[str, str]) -> str:
    """Return a framework's settings as they are pasted: ``--dtype half``, ``fp16: true``."""
    words = [_setting(framework, name, value) for name, value in settings.items() if name != "note"]
    note = [f"({settings['note']})"] if "note" in settings else []
    return " ".join([(" " if framework == "vllm" else ", ").join(words), *note]).strip()


def _setting(framework: str, name: str, value: str) -> str:
    """Return one setting: of a command line, of YAML, or an argument or variable."""
    if name.startswith("--"):
        return f"{name} {value}"
    return f"{name}: {value}" if framework == "llamafactory" else f"{name}={value}"


def value_text(value: object) -> str:
    """Return a fact's value in one line."""
    if isinstance(value, (tuple, list)):
        return " ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}".rstrip() for key, item in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _fact(facts: dict[str, Fact], name: str) -> Fact:
    return facts.get(name, Unknown("not read", name))


def _say(fact: Fact) -> str:
    match fact:
        case Known(value=value):
            return value_text(value)
        case Absent():
            return "none"
        case Unknown(reason=reason):
            return f"unknown ({reason})"


def _host_line(facts: dict[str, Fact]) -> str:
    words = [_say(_fact(facts, "host.platform"))]
    glibc = _fact(facts, "host.glibc")
    if isinstance(glibc, Known):
        words.append(f"glibc {glibc.value}")
    words.append(f"Python {_say(_fact(facts, 'python.version'))}")
    for name, label in (("host.container", "container"), ("host.wsl", "WSL")):
        fact = _fact(facts, name)
        if isinstance(fact, Known) and fact.value is not False:
            words.append(label if fact.value is True else f"{label} {value_text(fact.value)}")
    return ", ".join(words)


def _driver_line(facts: dict[str, Fact]) -> str:
    driver, cuda = _fact(facts, "driver.version"), _fact(facts, "driver.cuda")
    text = f"NVIDIA driver: {_say(driver)}"
    return f"{text}, supports CUDA {cuda.value}" if isinstance(cuda, Known) else text


def _gpu_lines(facts: dict[str, Fact]) -> Iterable[str]:
    count = _fact(facts, "gpu.count")
    if not isinstance(count, Known) or not isinstance(count.value, int):
        yield f"GPU: {_say(count)}"
        return
    if count.value == 0:
        yield "GPU: none"
    for index in range(min(count.value, SUBJECT_LIMIT)):
        get = {n: _fact(facts, f"gpu[{index}].{n}") for n in ("name", "compute_capability", "gfx")}
        kind = get["gfx"] if isinstance(get["gfx"], Known) else get["compute_capability"]
        label = "" if kind is get["gfx"] else "compute capability "
        memory = _fact(facts, f"gpu[{index}].memory_bytes")
        size = f", {memory.value / _GIB:.0f} GiB" if _is_number(memory) else ""  # type: ignore[union-attr, operator]  # _is_number saw to it
        visible = _fact(facts, f"gpu[{index}].visible")
        hidden = isinstance(visible, Known) and visible.value is False
        tail = ", hidden by CUDA_VISIBLE_DEVICES" if hidden else ""
        yield f"GPU {index}: {_say(get['name'])}, {label}{_say(kind)}{size}{tail}"


def _is_number(fact: Fact) -> bool:
    return isinstance(fact, Known) and isinstance(fact.value, int)


def _package_lines(facts: dict[str, Fact]) -> Iterable[str]:
    found = []
    for key in PACKAGES:
        version = _fact(facts, f"{key}.version")
        if not isinstance(version, Absent):
            name = _fact(facts, f"{key}.distribution")
            label = str(name.value) if isinstance(name, Known) else PACKAGES[key][0]
            found.append(f"{label} {_say(version)}")
    build = _fact(facts, "torch.build")
    if found and isinstance(build, Known) and found[0].startswith("torch "):
        found[0] += f" ({build.value} build)"
    nothing = "none of the stack; if you mean another environment, name it with --python PATH"
    yield f"Packages: {', '.join(found) if found else nothing}"


def _reasons(verdicts: list[Verdict]) -> Iterable[str]:
    """Say what was measured, and once each why cells fail or stay unknown."""
    said: dict[str, dict[str, list[str]]] = {}
    for verdict in verdicts:
        if verdict.measured is not Measured.NOT_RUN:
            yield f"{verdict.backend.value} {verdict.dtype.value}: {verdict.detail}"
        elif verdict.predicted is not Predicted.WORKS:
            because = ", ".join(verdict.because)
            why = ": ".join(part for part in (because, verdict.detail) if part)
            cells = said.setdefault(f"{verdict.predicted.value}, {why}", {})
            cells.setdefault(verdict.backend.value, []).append(verdict.dtype.value)
    for why, cells in said.items():
        yield f"{why}: " + ", ".join(f"{name} {'/'.join(dtypes)}" for name, dtypes in cells.items())
