"""From the name of a file to what it asks for: the reader that recognises it reads it."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from fadoctor.sources.manifests import READERS
from fadoctor.sources.manifests.garbage_collector import collector_paused
from fadoctor.sources.manifests.source import open_source

if TYPE_CHECKING:
    from fadoctor.sources.manifests.chosen import ManifestRequest
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source


def read_manifest(name: str, choice: ManifestRequest | None = None, fence: str = "") -> Manifest:
    """Return what a file asks for; InputError where nobody knows its kind, or it cannot be read.

    Nothing is read outside of the `fence`, where there is one.
    """
    return read_source(open_source(name, choice, fence))


def read_source(source: Source) -> Manifest:
    """Return what a text asks for."""
    base = PurePath(source.name).name
    for reader in map(import_module, READERS):
        if reader.recognises(base, source.head):
            with collector_paused():
                found: Manifest = reader.read(source)
            return found
    raise source.error(
        "not a kind of file that fadoctor knows: requirements.txt, a lock of uv, poetry, "
        "pdm, pixi, conda or pipenv, pylock.toml, pyproject.toml, setup.cfg, environment.yml, "
        "Dockerfile, install.sh, notebooks and scripts with a block # /// script are"
    )
