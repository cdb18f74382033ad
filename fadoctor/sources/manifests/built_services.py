"""Services that compose builds from Dockerfiles beside: what the one with most of it installs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests import dockerfile
from fadoctor.sources.manifests.environments import weight_of
from fadoctor.syntax.yaml_documents import read_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.syntax.tree import Node

_LIMIT = 20
"""Services of one file."""


def built_service(source: Source) -> Manifest | None:
    """Return what the service installs whose Dockerfile names most of what is judged, or None."""
    found: dict[str, tuple[str, Manifest]] = {}
    for name, path in list(_builds(source))[:_LIMIT]:
        if path not in found:
            with suppress(InputError):
                found[path] = (name, dockerfile.read(source.read_beside(path)))
    if not found:
        return None
    path, (name, manifest) = max(found.items(), key=lambda each: _weight(each[1][1]))
    notes = [f"{source.name}: {name} is built from {path}, which is read"]
    notes += [
        f"{source.name}: {other} is built from {place}: not read"
        for place, (other, each) in found.items()
        if place != path and _weight(each)[0] > (0, 0)
    ]
    return msgspec.structs.replace(manifest, notes=(*notes, *manifest.notes))


def _weight(manifest: Manifest) -> tuple[tuple[int, int], int]:
    packages = {each.name: [each] for each in manifest.requirements}
    return weight_of(packages), len(packages)


def _builds(source: Source) -> Iterator[tuple[str, str]]:
    """Yield each service that is built, and its Dockerfile, as paths from this file."""
    for document in read_documents(source):
        services = document.get("services")
        for name, service in services.mapping.items() if services is not None else ():
            build = service.get("build")
            if build is None:
                continue
            context, file = _text(build) or _text(build.get("context")), "Dockerfile"
            if build.mapping:
                file = _text(build.get("dockerfile")) or file
            path = f"{context or '.'}/{file}".removeprefix("./")
            if "$" not in path and not path.startswith(("/", "~")):
                yield name[:60], path


def _text(node: Node | None) -> str:
    return node.scalar if node is not None and isinstance(node.scalar, str) else ""
