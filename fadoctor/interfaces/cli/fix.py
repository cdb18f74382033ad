"""The command ``fix``: plan the smallest change, show it, carry it out, take it back.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from fadoctor.interfaces.cli import forms, support
from fadoctor.interfaces.cli.options import formats, judging, looking, planning, showing
from fadoctor.interfaces.cli.person import Person
from fadoctor.interfaces.cli.support import (
    EXIT_COULD_NOT_LOOK,
    EXIT_FINDINGS,
    EXIT_INTERNAL,
    leave,
    refuse_unknown_ids,
)
from fadoctor.interfaces.commands.fix import FixRequest, make_plan
from fadoctor.interfaces.commands.plan import PlanRequest

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.interfaces.commands.observer import Observer
    from fadoctor.interfaces.commands.plan import Made
    from fadoctor.interfaces.commands.settings import Settings
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.examine.request import Request


def fix(
    target: looking.Target = "",
    python: looking.Python = "",
    site_packages: looking.SitePackages = "",
    facts: looking.Facts = "",
    requirements: looking.Requirements = [],  # noqa: B006
    extra: looking.Extra = [],  # noqa: B006
    group: looking.Group = [],  # noqa: B006
    resolve: looking.Resolve = False,
    config: looking.Config = [],  # noqa: B006
    config_kind: looking.ConfigKind = "",
    gpu: looking.Gpu = [],  # noqa: B006
    driver: looking.Driver = "",
    glibc: looking.Glibc = "",
    python_version: looking.PythonVersion = "",
    platform: looking.Platform = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan, and change nothing.")
    ] = False,
    new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="With --dry-run: plan an environment that does not exist yet, for this machine or "
            "an assumed one.",
        ),
    ] = False,
    write_files: Annotated[
        bool,
        typer.Option("--write", help="With --requirements: write the changed lines to the files."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Ask the installer and its index whether the plan works."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Restore what was there before the last fix.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="With --undo: also restore what others have changed since; asks first."
        ),
    ] = False,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke/--no-smoke", help="Run a short forward and backward pass afterwards."
        ),
    ] = True,
    want: planning.Want = [],  # noqa: B006
    keep: planning.Keep = [],  # noqa: B006
    allow_build: planning.AllowBuild = False,
    no_hub: planning.NoHub = False,
    installer: Annotated[
        planning.Installer,
        typer.Option("--installer", help="The installer whose commands are used."),
    ] = planning.Installer.AUTO,
    ignore: judging.Ignore = [],  # noqa: B006
    rules: judging.Rules = [],  # noqa: B006
    no_config_file: judging.NoConfigFile = False,
    format_: formats.PlanOutput = formats.PlanFormat.TEXT,
    output: showing.PlanOutputs = [],  # noqa: B006
    redact: showing.Redact = False,
    color: showing.ColourOption = showing.Colour.AUTO,
    no_cache: looking.NoCache = False,
    exit_zero: judging.ExitZero = False,
    quiet: showing.Quiet = False,
    verbose: showing.PlanVerbose = False,
    debug: showing.Debug = False,
) -> None:
    """Plan the smallest change that repairs the environment, and check its result first."""
    from fadoctor.interfaces.cli import apply
    from fadoctor.interfaces.cli import undo as way_back
    from fadoctor.interfaces.cli.terminal import log_to_stderr

    log_to_stderr(debug=debug)
    sinks = forms.sinks_of(output, format_)
    named = bool(requirements)
    refuse_carried_out(forms.is_recipe(sinks), new=new, dry_run=dry_run, named=named)
    yes = yes and not write_files  # a file is written without a question
    refuse_unwritable(named, dry_run=dry_run, write_files=write_files, other=yes or undo)
    refuse_unclear(dry_run=dry_run or named, yes=yes, undo=undo, force=force)
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform, requirements=requirements,
                       extra=extra, group=group,
                       config=config, config_kind=config_kind,
                       contracts=True, cache=not no_cache, resolve=resolve,
                       new=new, new_if_none=dry_run and bool(want))  # fmt: skip
    if undo:
        code = way_back.undo_for(request, force=force, yes=yes, dry_run=dry_run)
        leave(code, exit_zero=exit_zero)
    settings = support.settings_of(no_config_file=no_config_file, quiet=quiet)
    rules = [*settings.rules, *rules]
    request = settings.applied(request, assumes=dry_run or write_files)
    wanted = PlanRequest(tuple(want), tuple(keep), allow_build, installer.value, tuple(ignore),
                         verify, no_hub, forms.is_recipe(sinks),
                         not (dry_run or write_files))  # fmt: skip
    made, code = _plan_for(request, rules, wanted, settings, Person(quiet=quiet))
    in_short = quiet and (dry_run or yes or write_files)  # what one is asked about is shown whole
    how = forms.Looks(color.value, quiet=in_short, verbose=verbose, redact=redact,
                      recipe=made.recipe)  # fmt: skip
    forms.deliver(made.plan, sinks, how)
    if write_files:
        from fadoctor.repair.resolution.write import write_all

        for name in write_all(made.rewrites):
            way_back.say(f"{name} is written")
    if not (dry_run or write_files) and code == EXIT_FINDINGS:
        hidden = (*ignore, *(each.rule for each in settings.ignored))
        job = apply.ApplyRequest(request, tuple(rules), hidden, yes, smoke)
        code = apply.apply_for(job, made.plan)
    leave(code, exit_zero=exit_zero)


def refuse_carried_out(is_recipe: bool, *, new: bool, dry_run: bool, named: bool) -> None:  # noqa: FBT001 -- what the command line says
    """Refuse to carry out what is made for another place."""
    from fadoctor.model.errors import UsageError

    if new and named:
        raise UsageError("--new and --requirements exclude each other: one plans from nothing")
    if (new or is_recipe) and not dry_run:
        what = "--new" if new else "such a file"
        raise UsageError(f"{what} is for another environment: add --dry-run")


def refuse_unclear(*, dry_run: bool, yes: bool, undo: bool, force: bool) -> None:
    """Refuse options that say two things, and a change that nobody could be asked about."""
    from fadoctor.model.errors import UsageError

    if dry_run and yes:
        raise UsageError("--dry-run and --yes exclude each other: one changes nothing")
    if force and not undo:
        raise UsageError("--force needs --undo")
    if not (dry_run or yes or undo or sys.stdin.isatty()):
        raise UsageError(
            "there is no terminal to ask on: --dry-run shows the plan, --yes carries it out"
        )


def refuse_unwritable(named: bool, *, dry_run: bool, write_files: bool, other: bool) -> None:  # noqa: FBT001 -- what the command line says
    """Refuse --write without manifests, and manifests without a word on what to do with them."""
    from fadoctor.model.errors import UsageError

    if write_files and not named:
        raise UsageError("--write needs --requirements")
    if named and (dry_run == write_files or other):
        raise UsageError(
            "with --requirements give --dry-run, which shows the lines to change, or --write, "
            "which writes them; neither installs anything"
        )


def _plan_for(
    examine: Request, rules: list[Path], wanted: PlanRequest, settings: Settings, observer: Observer
) -> tuple[Made, int]:
    """Read the environment and plan; return that with its exit code. Errors as `check` has them."""
    from fadoctor.model.plan import PlanOutcome

    def ignored(knowledge: Knowledge) -> tuple[str, ...]:
        refuse_unknown_ids(list(wanted.ignore), knowledge)
        return settings.hiding(wanted.ignore, knowledge)

    made = make_plan(FixRequest(examine, wanted, tuple(rules), ignored), observer)
    plan = made.plan
    if settings.notes:
        plan = msgspec.structs.replace(plan, notes=(*plan.notes, *settings.notes))
    nothing = plan.outcome is PlanOutcome.NOTHING
    none = EXIT_COULD_NOT_LOOK if made.is_unresolved else 0
    code = EXIT_INTERNAL if plan.rule_errors else none if nothing else EXIT_FINDINGS
    return made._replace(plan=plan), code
