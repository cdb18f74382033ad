"""From the name of a file to what it asks for: the reader that recognises it reads it."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from fadoctor.sources.manifests import READERS
from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.sources.manifests.garbage_collector import collector_paused
from fadoctor.sources.manifests.source import Source, open_source
from fadoctor.sources.manifests.spoken import with_spoken

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest


def read_manifest(name: str, choice: ManifestRequest | None = None, fence: str = "") -> Manifest:
    """Return what a file asks for; InputError where nobody knows its kind, or it cannot be read.

    Nothing is read outside of the `fence`, where there is one.
    """
    return read_source(open_source(name, choice, fence))


def read_held(name: str, text: str, choice: ManifestRequest | None = None) -> Manifest:
    """Return what a text asks for that a program hands over under a name: no file is opened."""
    return read_source(
        Source(name, text, Path(name), choice=choice or ManifestRequest(), fence=os.devnull)
    )


def kind_of(source: Source) -> str:
    """Return the kind of a file that another one includes; "" where no reader knows it."""
    reader = _reader_of(source)
    return str(reader.read(source).kind) if reader is not None else ""


def _reader_of(source: Source) -> Any:
    base = PurePath(source.name).name
    readers = map(import_module, READERS)
    return next((each for each in readers if each.recognises(base, source.head)), None)


def read_source(source: Source) -> Manifest:
    """Return what a text asks for."""
    reader = _reader_of(source)
    if reader is not None:
        with collector_paused():
            found: Manifest = reader.read(source)
        return with_spoken(found, source)
    raise source.error(
        "not a kind of file that fadoctor reads: requirements.txt, a lock of uv, poetry, "
        "pdm, pixi, conda or pipenv, pylock.toml, pyproject.toml, setup.cfg, tox.ini, "
        "environment.yml, recipes of conda, Dockerfile, install.sh, Makefile, justfile, YAML "
        "with commands that install, notebooks and scripts with a block # /// script are"
    )
