"""Write a command's result: to standard output, or to the file of ``--output``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def write(text: str, output: Path | None) -> None:
    """Write a result; UsageError where the file cannot be written."""
    if output is None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has gone (`| head`): nothing is left to say; the exit code still counts.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from error
