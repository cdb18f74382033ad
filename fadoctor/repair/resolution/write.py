"""Write changed manifests: whole files at once, and only where nobody has changed them since."""

from __future__ import annotations

import codecs
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.errors import ApplyError
from fadoctor.model.files import read_bytes
from fadoctor.sources.manifests.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.repair.resolution.lines import Rewrite
    from fadoctor.sources.manifests.source import Source


def write_all(rewrites: Iterable[Rewrite]) -> tuple[str, ...]:
    """Write the files and return their names; ApplyError where one has changed meanwhile.

    All are looked at before the first is written.
    """
    rewrites = tuple(rewrites)
    for rewrite in rewrites:
        if open_source(str(rewrite.source.path)).text != rewrite.source.text:
            raise ApplyError(
                f"{rewrite.source.name} has changed since it was read: run the command again"
            )
    for rewrite in rewrites:
        _write(rewrite)
    return tuple(rewrite.source.name for rewrite in rewrites)


def _write(rewrite: Rewrite) -> None:
    """Replace a file, links followed; its mode stays."""
    path = Path(os.path.realpath(rewrite.source.path))
    temporary = path.with_name(f".{path.name}.fadoctor-{os.getpid()}")
    try:
        with temporary.open("xb") as file:
            file.write(_encoded(rewrite.source, rewrite.text))
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, temporary)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        name = rewrite.source.name
        raise ApplyError(f"{name} cannot be written: {error.strerror or error}") from error


def _encoded(source: Source, text: str) -> bytes:
    """Return text as the file was written."""
    if source.encoding != "utf-16":
        return text.encode(source.encoding, "surrogateescape")
    mark = read_bytes(source.path, 2)
    order = "utf-16-be" if mark == codecs.BOM_UTF16_BE else "utf-16-le"
    return mark + text.encode(order)
