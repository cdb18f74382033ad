"""The commands of ``fadoctor rules``: list, show, test, schema; search and update have modules.

Heavy modules are imported inside the commands, so that each pays only for what it uses.
"""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fadoctor.interfaces.cli import proposals
from fadoctor.interfaces.cli.examples import epilog
from fadoctor.interfaces.cli.options import formats, judging, looking, showing
from fadoctor.interfaces.cli.output import write
from fadoctor.interfaces.cli.rules_search import search
from fadoctor.interfaces.cli.rules_update import update
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity

if TYPE_CHECKING:
    from fadoctor.report.page import Page

app = typer.Typer(
    name="rules",
    help="Rules and tables: list the rules, find or read one, test your own, fetch newer ones.",
    no_args_is_help=True,
)


class PageFormat(str, enum.Enum):
    """Output formats of a page."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class SchemaName(str, enum.Enum):
    """What has a schema."""

    REPORT = "report"
    SMOKE = "smoke"
    TRACE = "trace"
    PLAN = "plan"
    EXPLANATION = "explanation"
    FACTS = "facts"
    FLEET = "fleet"
    RULE = "rule"
    TABLE = "table"


@app.command("list", epilog=epilog("rules list"))
def list_rules(
    area: Annotated[
        str,
        typer.Option(
            "--area",
            metavar="NAME",
            autocompletion=proposals.areas,
            help="Only this area.",
            show_default=False,
        ),
    ] = "",
    severity: Annotated[
        Severity | None,
        typer.Option("--severity", help="Only this severity.", show_default=False),
    ] = None,
    rules: judging.Rules = [],  # noqa: B006 -- typer copies defaults
    format_: formats.OutputFormat = formats.Format.TEXT,
    output: showing.Output = None,
    color: showing.ColourOption = showing.Colour.AUTO,
) -> None:
    """List the rules: id, severity, area, title."""
    from fadoctor.interfaces.cli.terminal import style_of
    from fadoctor.judging.engine.suite import load_suite
    from fadoctor.report import rule_list

    suite = load_suite(rules)
    found = list(suite.rules().values())
    areas = sorted({file.rule.area for file in found})
    if area and area not in areas:
        raise UsageError(f"--area {printable(area, 60)}: the areas are {', '.join(areas)}")
    found = [file for file in found if not area or file.rule.area == area]
    found = [file for file in found if severity is None or file.rule.severity is severity]
    if format_ is formats.Format.JSON:
        write(rule_list.render_json(found, suite.knowledge), output, "json")
    else:
        style = style_of(color.value, output, quiet=False, verbose=False)
        retired = {} if area or severity else suite.knowledge.retired
        write(rule_list.render(found, style, suite.knowledge, retired), output)


@app.command(epilog=epilog("rules show"))
def show(
    rule_id: Annotated[
        str,
        typer.Argument(metavar="ID", autocompletion=proposals.rule_ids, help="The rule's id."),
    ],
    facts: Annotated[
        str,
        typer.Option(
            "--facts",
            metavar="FILE|-",
            help="Show the rule's outcome, and why, for saved facts, the output of "
            "`fadoctor facts`, or a pasted report: each condition, the fact that it met, and the "
            "outcome.",
            show_default=False,
        ),
    ] = "",
    gpu: looking.Gpu = [],  # noqa: B006 -- typer copies defaults
    driver: looking.Driver = "",
    rules: judging.Rules = [],  # noqa: B006
    format_: Annotated[
        PageFormat,
        typer.Option("--format", help="Output format.", rich_help_panel="Output"),
    ] = PageFormat.TEXT,
    output: showing.Output = None,
    color: showing.ColourOption = showing.Colour.AUTO,
) -> None:
    """Show the page of a rule: what, why, how to confirm, what to do, sources.

    With --facts: say whether the rule applies, and why. --gpu and --driver assume others.
    """
    from fadoctor.interfaces.commands.examine import is_retired, no_such_rule
    from fadoctor.judging.engine.suite import load_suite
    from fadoctor.model.overlays import Overlays
    from fadoctor.report import rule_page

    suite = load_suite(rules)
    files = suite.rules()
    if (current := suite.knowledge.retired.get(rule_id)) is not None:
        sys.stderr.write(f"fadoctor: {is_retired(rule_id, current)}\n")
        rule_id = current
    if rule_id not in files:
        raise UsageError(no_such_rule(rule_id, files))
    is_json = format_ is PageFormat.JSON
    overlays = Overlays(tuple(gpu), driver)
    if overlays.described() and not facts:
        raise UsageError("--gpu and --driver change saved facts: add --facts FILE")
    if facts:
        from fadoctor.interfaces.cli.support import without_credentials
        from fadoctor.interfaces.commands.reasons import reasons_for
        from fadoctor.report import reasons_page

        told = without_credentials(reasons_for(rule_id, facts, rules, overlays))
        if is_json:
            write(reasons_page.render_json(rule_id, told), output, "json")
            return
        page = reasons_page.build_reasons_page(files[rule_id].rule, told)
    elif is_json:
        write(rule_page.render_json(rule_id, files), output, "json")
        return
    else:
        page = rule_page.build_page(rule_id, files, suite.knowledge)
    _write_page(page, format_, output, color)


def _write_page(
    page: Page, format_: PageFormat, output: Path | None, color: showing.Colour
) -> None:
    from fadoctor.interfaces.cli.terminal import style_of
    from fadoctor.report import page_markdown, page_text

    if format_ is PageFormat.MARKDOWN:
        write(page_markdown.render(page), output)
    else:
        style = style_of(color.value, output, quiet=False, verbose=False)
        write(page_text.render(page, style), output)


@app.command("test", epilog=epilog("rules test"))
def run_cases(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...",
            help="Folders with your own rules, tested together with the shipped ones. "
            "Default: the shipped ones.",
            show_default=False,
        ),
    ] = None,
    format_: formats.OutputFormat = formats.Format.TEXT,
    output: showing.Output = None,
) -> None:
    """Run the cases in the rules' own files; exit 1 if one fails."""
    from fadoctor.interfaces.cli.terminal import spinner
    from fadoctor.judging.engine.suite import load_suite, own_folders, run_suite
    from fadoctor.report import suite_text

    own = own_folders(folders or ())
    with spinner("reading rules", quiet=False) as tell:
        suite = load_suite(own)
        tell("running the cases of the rules")
        tested = run_suite(suite, own=bool(own))
    as_json = format_ is formats.Format.JSON
    text = suite_text.render_json(tested) if as_json else suite_text.render(tested)
    write(text, output, "json" if as_json else "text")
    raise typer.Exit(1 if tested.failures else 0)


@app.command(epilog=epilog("rules schema"))
def schema(
    name: Annotated[
        SchemaName,
        typer.Argument(
            metavar="[NAME]",
            help=f"What the schema describes: {', '.join(each.value for each in SchemaName)}.",
        ),
    ] = SchemaName.RULE,
    output: showing.Output = None,
) -> None:
    """Print the JSON Schema of what fadoctor writes, or of rules and tables."""
    from fadoctor.report.schema import render

    write(render(name.value), output, "json")


app.command(epilog=epilog("rules search"))(search)
app.command(epilog=epilog("rules update"))(update)
