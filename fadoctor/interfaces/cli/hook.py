"""The command ``hook``: what pre-commit runs, with the files of a commit as arguments."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from fadoctor.interfaces.cli import support
from fadoctor.interfaces.cli.options import judging, looking
from fadoctor.interfaces.cli.output import tell


class HookKind(str, enum.Enum):
    """What the files are."""

    REQUIREMENTS = "requirements"
    CONFIG = "config"


def hook(
    kind: Annotated[
        HookKind, typer.Argument(metavar="requirements|config", help="What the files are.")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of the commit.")],
    gpu: looking.Gpu = [],  # noqa: B006 -- typer copies defaults
    driver: looking.Driver = "",
    glibc: looking.Glibc = "",
    python_version: looking.PythonVersion = "",
    platform: looking.Platform = "",
    fail_on: judging.FailOnOption = None,
    ignore: judging.Ignore = [],  # noqa: B006
    no_config_file: judging.NoConfigFile = False,
) -> None:
    """Check the files of a commit, for pre-commit: print only what is wrong.

    Each file is checked by itself: the files of a commit need not belong to one environment or run.
    """
    from fadoctor.interfaces.cli.check import judge_file
    from fadoctor.model.errors import InputError, UnknownKindError

    settings = support.settings_of(no_config_file=no_config_file)
    worst = 0
    for file in files:
        is_config = kind is HookKind.CONFIG
        try:
            request = support.request_of(
                "", "", gpu=gpu, driver=driver, glibc=glibc, python_version=python_version,
                platform=platform, requirements=[] if is_config else [file],
                config=[str(file)] if is_config else [], contracts=True,
            )  # fmt: skip
            worst = max(worst, judge_file(request, tuple(ignore), fail_on, settings))
        except UnknownKindError:
            tell(f"{file} is skipped: not a kind of file that fadoctor reads")
        except InputError as error:
            tell(str(error))
            worst = max(worst, error.exit_code)
    raise typer.Exit(worst)
