"""The command ``smoke``: run attention, forward and backward, and say what was measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fadoctor.interfaces.cli import forms, proposals, support
from fadoctor.interfaces.cli.forms import Form, style
from fadoctor.interfaces.cli.options import formats, judging, looking, showing
from fadoctor.interfaces.cli.support import (
    EXIT_COULD_NOT_LOOK,
    EXIT_FINDINGS,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
)
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.model.smoke_catalogue import RUN
from fadoctor.model.verdict import Dtype, dtype_named

if TYPE_CHECKING:
    from fadoctor.interfaces.cli.forms import Looks, Sink
    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.rule import Knowledge
    from fadoctor.model.smoke import SmokeReport
    from fadoctor.proof.smoke.choice import CellsRequest

_WITH_SINKS = "models-with-sinks"


_DTYPES = "|".join(each.value for each in Dtype)


def smoke(
    target: looking.Target = "",
    python: looking.Python = "",
    dtype: Annotated[
        list[str],
        typer.Option(
            "--dtype",
            metavar=f"[{_DTYPES}]",
            autocompletion=proposals.dtypes,
            help="Only this dtype; torch's names (bfloat16) work, too. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 -- typer copies defaults
    backend: Annotated[
        list[str],
        typer.Option(
            "--backend",
            metavar="NAME",
            autocompletion=proposals.backends,
            help="Only this backend, even if the default set leaves it out. Repeatable. One of "
            f"{', '.join(RUN)}.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    device: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="[cuda|cuda:N|cpu|all]",
            autocompletion=proposals.devices,
            help="Where to run. Default: all GPUs, one process each; the CPU if there is none.",
            show_default=False,
        ),
    ] = "",
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0.1, max=86_400, help="Time limit for each cell."
        ),
    ] = 60.0,
    total: Annotated[
        float,
        typer.Option(
            "--total",
            metavar="SECONDS",
            min=0,
            max=604_800,
            help="Time limit for each device. Default: 0, the sum of its cells' limits.",
            show_default=False,
        ),
    ] = 0.0,
    like: Annotated[
        str,
        typer.Option(
            "--like",
            metavar="CONFIG",
            help="Try the attention of the model that this config.json, or its folder, describes.",
            show_default=False,
        ),
    ] = "",
    require_gpu: Annotated[
        bool, typer.Option("--require-gpu", help="Exit 3 if no GPU was tested.")
    ] = False,
    online: Annotated[
        bool, typer.Option("--online", help="Let the package kernels download from the Hub.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the cells that exist here, and run nothing.")
    ] = False,
    imports: Annotated[
        bool,
        typer.Option("--imports", help="Also import each package of the stack, one by one."),
    ] = False,
    thorough: looking.Thorough = False,
    rules: judging.Rules = [],  # noqa: B006
    no_config_file: judging.NoConfigFile = False,
    format_: formats.SmokeOutput = formats.SmokeFormat.TEXT,
    output: showing.SmokeOutputs = [],  # noqa: B006
    redact: showing.Redact = False,
    color: showing.ColourOption = showing.Colour.AUTO,
    exit_zero: judging.ExitZero = False,
    quiet: showing.Quiet = False,
    verbose: showing.SmokeVerbose = False,
    debug: showing.Debug = False,
) -> None:
    """Run attention forward and backward on this machine, and compare it with float64."""
    from fadoctor.interfaces.cli.person import Person
    from fadoctor.interfaces.cli.terminal import log_to_stderr
    from fadoctor.interfaces.commands import smoke as commands
    from fadoctor.model.smoke_catalogue import backend_of
    from fadoctor.processes.ending import die_of, interrupted_by_term
    from fadoctor.proof.smoke.choice import AUTO, CellsRequest, refuse_device

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of(output, format_)
    if device:
        refuse_device(device, "--device")
    where = device or ("all" if require_gpu else AUTO)
    backends = tuple(map(backend_of, backend))  # refuses before anything is read
    dtypes = tuple(map(_dtype_of, dtype))
    wanted = CellsRequest(backends, dtypes, where, thorough, timeout, total, online)
    settings = support.settings_of(no_config_file=no_config_file, quiet=quiet)
    rules = [*settings.rules, *rules]
    request = settings.applied(support.request_of(target, python), assumes=False)
    observer = Person(quiet=quiet)
    prognosis = commands.foresee_cells(request, tuple(rules), observer)
    wanted = _with_like(wanted, like, prognosis.knowledge)
    how = forms.Looks(color.value, quiet, verbose, redact)
    if list_:
        _list(prognosis, wanted, sinks, how)
        return
    with interrupted_by_term() as came:
        report, run = commands.smoke(prognosis, wanted, observer, imports=imports)
        forms.deliver(report, sinks, how)
    if came:
        sys.stdout.flush()
        die_of(came[0])
    if run.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    code = _code(report, require_gpu=require_gpu)
    raise typer.Exit(0 if exit_zero and code != EXIT_INTERNAL else code)


def _dtype_of(name: str) -> Dtype:
    found = dtype_named(name)
    if found is None:
        listed = ", ".join(repr(each.value) for each in Dtype)
        raise UsageError(f"--dtype {printable(name, 40)}: must be one of {listed}")
    return found


def _with_like(wanted: CellsRequest, like: str, knowledge: Knowledge) -> CellsRequest:
    """Return what is wanted with the model that is named, as far as one is."""
    import msgspec

    from fadoctor.knowledge.matrix.load import load_apart
    from fadoctor.proof.smoke.like import read_like

    if not like:
        return wanted
    table = knowledge.tables.get(_WITH_SINKS) or load_apart(knowledge.tables)[_WITH_SINKS]
    models = frozenset(str(row["model"]) for row in table.rows if row["sinks"])
    return msgspec.structs.replace(wanted, like=read_like(Path(like), models))


def _list(prognosis: Prognosis, asked: CellsRequest, sinks: tuple[Sink, ...], how: Looks) -> None:
    import msgspec

    from fadoctor.interfaces.cli.output import write
    from fadoctor.proof.smoke.choice import cell_list, choose
    from fadoctor.report import json_, smoke_list

    thorough = msgspec.structs.replace(asked, thorough=True)
    found = support.without_credentials(
        cell_list(choose(asked, prognosis.kernels), choose(thorough, prognosis.kernels))
    )
    found = support.redacted(found) if how.redact else found
    for sink in sinks:
        if sink.form not in (Form.TEXT, Form.JSON):
            raise UsageError(f"--list has no form for {sink.form.value}: give text or json")
        is_text = sink.form is Form.TEXT
        text = smoke_list.render(found, style(sink, how)) if is_text else json_.render(found)
        write(text, sink.path, sink.form.value)


def _code(report: SmokeReport, *, require_gpu: bool) -> int:
    """Return 4 where a rule broke, 1 where a cell failed, 3 where nothing was proved, else 0."""
    if report.rule_errors:
        return EXIT_INTERNAL
    imported = [each.measured.value for each in report.imports]
    if report.summary.failed or "failed" in imported:
        return EXIT_FINDINGS
    some = report.summary.passed or "passed" in imported
    proved = some and (report.gpu_tested or not require_gpu)
    return 0 if proved else EXIT_COULD_NOT_LOOK
