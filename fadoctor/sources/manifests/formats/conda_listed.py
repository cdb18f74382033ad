"""The files that ``conda --file`` takes: an environment, an explicit list, a list of specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.manifests.formats import conda_lock, conda_specs, environment_yml

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source


def read(source: Source) -> Manifest:
    """Return what such a file asks for."""
    if source.name.endswith((".yml", ".yaml")):
        return environment_yml.read(source)
    if conda_lock.recognises(source.name, source.head):
        return conda_lock.read(source)
    return conda_specs.read(source)
