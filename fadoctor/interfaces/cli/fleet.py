"""The command ``fleet``: many nodes on one page.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fadoctor.interfaces.cli import forms, support
from fadoctor.interfaces.cli.options import formats, judging, showing
from fadoctor.interfaces.cli.output import write

if TYPE_CHECKING:
    from fadoctor.fleet.model import FleetReport
    from fadoctor.interfaces.commands.fleet import NodesRequest

DIFF = "diff"
_ENGINE = "Ask the nodes"


def fleet(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[FILES|DIRS|-]...",
            help="Records or reports that nodes wrote, mixed as you like; - is standard input, the "
            "default. `diff A B` compares two of them.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    expect: Annotated[
        str,
        typer.Option(
            "--expect",
            metavar="N|HOSTLIST",
            help="Nodes that should answer, by number or by name: 16, n[01-16].",
            show_default=False,
        ),
    ] = "",
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            metavar="REPORT",
            help="Compare with this report or record, not with what most nodes say.",
            show_default=False,
        ),
    ] = "",
    group_by: Annotated[
        str,
        typer.Option(
            "--group-by",
            metavar="KEY",
            help="Also list nodes by one value: gpu.driver, pkg.torch, bin.flash_attn, env.NAME.",
            show_default=False,
        ),
    ] = "",
    slurm: Annotated[
        bool,
        typer.Option(
            "--slurm",
            help="Print the srun line that asks every node once; arguments after -- are for srun."
            " With --run, run it.",
            rich_help_panel=_ENGINE,
        ),
    ] = False,
    run: Annotated[
        bool,
        typer.Option(
            "--run", help="Run the srun line, and merge the answers.", rich_help_panel=_ENGINE
        ),
    ] = False,
    ray: Annotated[
        str,
        typer.Option(
            "--ray",
            metavar="auto|ADDRESS",
            help="Ask every node of this Ray cluster once, by the cluster's own interpreter.",
            rich_help_panel=_ENGINE,
            show_default=False,
        ),
    ] = "",
    python: Annotated[
        str,
        typer.Option(
            "--python",
            metavar="PATH",
            help="With --slurm: the environment that nodes examine, as they see it. With --ray: "
            "the interpreter that has the cluster's ray.",
            rich_help_panel=_ENGINE,
            show_default=False,
        ),
    ] = "",
    output_dir: Annotated[
        str,
        typer.Option(
            "--output-dir",
            metavar="DIR",
            help="With --slurm: full reports as files in this folder, which all nodes share.",
            rich_help_panel=_ENGINE,
            show_default=False,
        ),
    ] = "",
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke/--no-smoke",
            help="Let nodes also prove their answer with a smoke run.",
            rich_help_panel=_ENGINE,
        ),
    ] = True,
    timeout: Annotated[
        int,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=1,
            help="How long a node may take; with --slurm, how much longer than the first one.",
            rich_help_panel=_ENGINE,
        ),
    ] = 60,
    fail_on: Annotated[
        judging.FailOn,
        typer.Option("--fail-on", metavar="SEVERITY", help=f"{judging.LOWEST}."),
    ] = judging.FailOn.ERROR,
    rules: judging.Rules = [],  # noqa: B006
    format_: formats.FleetOutput = formats.FleetFormat.TEXT,
    output: showing.FleetOutputs = [],  # noqa: B006
    redact: showing.Redact = False,
    color: showing.ColourOption = showing.Colour.AUTO,
    exit_zero: judging.ExitZero = False,
    quiet: showing.Quiet = False,
    verbose: showing.FleetVerbose = False,
    debug: showing.Debug = False,
) -> None:
    """Compare many nodes: what differs, which nodes did not answer, and what fails."""
    from fadoctor.interfaces.cli.person import Person
    from fadoctor.interfaces.cli.terminal import log_to_stderr
    from fadoctor.interfaces.commands.fleet import NodesRequest
    from fadoctor.interfaces.commands.fleet import fleet as compared
    from fadoctor.interfaces.commands.fleet_engines import EngineRequest

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of(output, format_)
    is_diff = files[:1] == [DIFF] and not slurm
    named = tuple(files[1:] if is_diff else files)
    engine = EngineRequest(python, output_dir, smoke, timeout, redact)
    asked = NodesRequest(
        named, expect, baseline, group_by, tuple(rules), redact, is_diff, slurm, ray, engine
    )
    if slurm and not (run or ray):
        _show_line(asked)
        return
    report = compared(asked, Person(quiet=True))
    report = support.redacted(report) if redact else report
    forms.deliver(report, sinks, forms.Looks(color.value, quiet, verbose))
    code = _code_of_two(report) if is_diff and not ray else code_of(report, fail_on)
    support.leave(code, exit_zero=exit_zero)


def _show_line(asked: NodesRequest) -> None:
    """Print the srun line; UsageError where its answers could not be compared as is asked."""
    from fadoctor.interfaces.commands.fleet import comparison_of
    from fadoctor.interfaces.commands.fleet_engines import pasted_line, srun_line

    comparison_of(asked)
    write(pasted_line(srun_line(asked.engine, asked.files), asked.engine), None)


def _code_of_two(report: FleetReport) -> int:
    """Return the exit code of a comparison: 1 where the second differs, or ends otherwise."""
    is_other = any(each.differs or not each.is_reference for each in report.groups)
    return support.EXIT_FINDINGS if is_other else 0


def code_of(report: FleetReport, fail_on: judging.FailOn) -> int:
    """Return the exit code: 1 for what is wrong, 3 where nodes are silent or unreadable."""
    is_loud = any(support.is_loud(each.severity.value, fail_on) for each in report.findings)
    is_ill = any(each.exit_code or each.worst == "error" for each in report.groups)
    if is_loud or (is_ill and fail_on is not judging.FailOn.NEVER):
        return support.EXIT_FINDINGS
    is_blind = report.silent_count or report.unreadable_count or report.contradicting
    return support.EXIT_COULD_NOT_LOOK if is_blind or not report.answered else 0
