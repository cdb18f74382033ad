"""Extras and groups that a command asks of a lock: ``uv sync --extra cu128``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.sources.manifests.commands.install_options import sort_arguments
from fadoctor.sources.manifests.installed.lock_graph import reached
from fadoctor.sources.manifests.installed.markers import Markers
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.sources.probes.requires import MarkerTarget

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.syntax.shell_filled_words import FilledWord

LOCKS = {
    ("uv", "sync"): ("uv.lock", "pyproject.toml"),
    ("poetry", "install"): ("poetry.lock", "pyproject.toml"),
    ("poetry", "sync"): ("poetry.lock", "pyproject.toml"),
    ("pdm", "install"): ("pdm.lock", "pyproject.toml"),
    ("pdm", "sync"): ("pdm.lock",),
    ("pixi", "install"): ("pixi.lock", "pixi.toml", "pyproject.toml"),
    ("pipenv", "install"): ("Pipfile.lock", "Pipfile"),
    ("pipenv", "sync"): ("Pipfile.lock",),
}
"""Command -> the files that say what it installs, the first one that is there."""

_EXTRAS = {
    "uv": ("--extra",),
    "poetry": ("-E", "--extras"),
    "pdm": ("-G", "--group", "--with"),
}
"""Tool -> its options that name extras."""
_GROUPS = {
    "uv": ("--group", "--only-group"),
    "poetry": ("--with", "--only"),
    "pdm": ("-G", "--group", "--with"),
}
_ALL = frozenset(("--all-extras", "--all-groups", ":all"))
_SPACES = str.maketrans(",", " ")


def chosen_by(tool: str, words: tuple[FilledWord, ...], given: ManifestRequest) -> ManifestRequest:
    """Return what a command chooses; `given`, from the command line of fadoctor, goes before it.

    What only a run would tell, and all extras at once, choose nothing: then all of them count.
    """
    if given.is_made or tool not in _EXTRAS:
        return given
    found = sort_arguments(words)
    named = [found.values(options[tool]) for options in (_EXTRAS, _GROUPS)]
    values = {word.text for each in named for word in each}
    if any(word.is_open for word in words) or _ALL & (found.flags | values):
        return given
    extras, groups = (
        tuple(
            normalise_name(part) for word in each for part in word.text.translate(_SPACES).split()
        )
        for each in named
    )
    return ManifestRequest(extras, groups, tool)


def of_choice(manifest: Manifest) -> Manifest:
    """Return a lock with only what its chosen roots lead to, on whichever platform."""
    if not manifest.roots or not manifest.choice.is_made:
        return manifest
    markers = Markers(MarkerTarget({}), manifest.choice)
    held = [(each, markers.hold(each.marker)) for each in manifest.requirements]
    there = [each for each in held if each[1] is not False]
    kept = tuple(each for each, _ in reached(there, manifest.roots, markers))
    return msgspec.structs.replace(manifest, requirements=kept)
