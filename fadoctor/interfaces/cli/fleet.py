"""The command ``fleet``: many nodes on one page.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from fadoctor.interfaces.cli import forms, support
from fadoctor.interfaces.cli.options import formats, judging, showing
from fadoctor.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from fadoctor.fleet.content import Content
    from fadoctor.fleet.gathered import Gathered
    from fadoctor.fleet.model import FleetReport
    from fadoctor.fleet.ray import RayReplies
    from fadoctor.fleet.summary import FleetRequest
    from fadoctor.model.rule import Knowledge

DIFF = "diff"
_ENGINE = "Ask the nodes"


def fleet(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[FILES|DIRS|-]...",
            help="Records or reports that nodes wrote, in any mixture; - is standard input, the "
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
            help="Print the srun line that asks every node once; what follows -- goes to srun."
            " With --run, run it.",
            rich_help_panel=_ENGINE,
        ),
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Run it, and merge the answers.", rich_help_panel=_ENGINE)
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
            help="How long a node may take; with --slurm, longer than the first one.",
            rich_help_panel=_ENGINE,
        ),
    ] = 60,
    fail_on: Annotated[
        judging.FailOn,
        typer.Option("--fail-on", help="Lowest severity that makes the exit code 1."),
    ] = judging.FailOn.ERROR,
    rules: judging.Rules = [],  # noqa: B006
    format_: Annotated[
        formats.FleetFormat,
        typer.Option("--format", help="Output format.", rich_help_panel="Output"),
    ] = formats.FleetFormat.TEXT,
    output: showing.FleetOutputs = [],  # noqa: B006
    redact: showing.Redact = False,
    color: showing.ColourOption = showing.Colour.AUTO,
    exit_zero: judging.ExitZero = False,
    quiet: showing.Quiet = False,
    verbose: showing.FleetVerbose = False,
    debug: showing.Debug = False,
) -> None:
    """Compare many nodes: what differs, which nodes did not answer, and what fails."""
    from fadoctor.interfaces.cli.terminal import log_to_stderr
    from fadoctor.knowledge.matrix.load import load_knowledge

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of(output, format_)
    knowledge = load_knowledge(tuple(rules))
    asked = _asked(expect, baseline, group_by)
    is_diff = files[:1] == [DIFF] and not slurm
    if is_diff:
        asked, files = _of_two(files[1:], asked), files[2:]
    if ray or slurm:
        from fadoctor.interfaces.cli import fleet_engines as engines

        wanted = engines.EngineRequest(python, output_dir, smoke, timeout, redact)
    if ray:
        gathered, asked = _told_by_ray(engines.ask_ray(ray, wanted), asked)
    else:
        if slurm:
            line = engines.srun_line(wanted, files)
            if not run:
                raise typer.Exit(engines.show(line, wanted))
            files = [engines.run_srun(line, wanted)]
        gathered = _read(files or ["-"])
    report = _report(gathered, asked, knowledge, redact=redact)
    report = support.redacted(report) if redact else report
    forms.deliver(report, sinks, forms.Looks(color.value, quiet, verbose))
    code = _code_of_two(report) if is_diff and not ray else code_of(report, fail_on)
    support.leave(code, exit_zero=exit_zero)


def _read(files: list[str], stdin: BinaryIO | None = None) -> Gathered:
    from fadoctor.fleet.gathered import Gathered
    from fadoctor.fleet.sources import read_all

    gathered = Gathered()
    read_all(files, stdin or sys.stdin.buffer, gathered)
    return gathered


def _told_by_ray(answer: RayReplies, asked: FleetRequest) -> tuple[Gathered, FleetRequest]:
    """Return what the nodes of a Ray cluster say, and which of them there should be."""
    from fadoctor.fleet.ray import note_problems

    gathered = _read(["-"], io.BytesIO(answer.lines))
    note_problems(answer, gathered)
    return gathered, asked if asked.expected is not None else asked._replace(expected=answer.nodes)


def _report(
    gathered: Gathered, asked: FleetRequest, knowledge: Knowledge, *, redact: bool
) -> FleetReport:
    from fadoctor.fleet.renaming import renamed
    from fadoctor.fleet.summary import summarise

    if redact:
        gathered, asked = renamed(gathered, asked)
    return summarise(gathered, knowledge, asked)


def _asked(expect: str, baseline: str, group_by: str) -> FleetRequest:
    from fadoctor.fleet.hostlist import HostlistError, expand
    from fadoctor.fleet.summary import FleetRequest

    if group_by and not group_by.partition(".")[2]:
        raise UsageError(f"--group-by {group_by}: give a section and a key: gpu.driver, pkg.torch")
    try:
        named: tuple[str, ...] | int | None = int(expect) if expect.isdecimal() else expand(expect)
    except (HostlistError, ValueError) as error:
        raise UsageError(f"--expect {expect[:200]}: {error}") from error
    content = _one(baseline) if baseline else None
    return FleetRequest(named if expect else None, content, baseline, group_by)


def _of_two(files: list[str], asked: FleetRequest) -> FleetRequest:
    if len(files) != 2:
        raise UsageError("fleet diff takes two reports: fadoctor fleet diff a.json b.json")
    return asked._replace(expected=1, baseline=_one(files[0]), baseline_name=files[0])


def _one(name: str) -> Content:
    """Return what the only node of a file says."""
    gathered = _read([name])
    contents = [group.content for group in gathered.nodes.values()]
    if len(contents) != 1 or gathered.unreadable_count or not contents[0].is_report:
        raise InputError(name, "this must be the report, or the record, of one node")
    return contents[0]


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
