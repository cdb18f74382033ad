"""Programs that run in a container image: the packages of this machine are not theirs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.configs.intent import OWN_IMAGE
from fadoctor.sources.manifests.images.container_image import read_image
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.planned import Manifest, Setting, open_image, unseen_image

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.sources.configs.intent import Configuration

KIND = "container image"
_OPEN = ("$", "{{", " and ")
"""What the name of an image has where which one it is, is not known."""


def in_their_image(
    found: Environment,
    configurations: Sequence[Configuration],
    matrix: Matrix,
    read: Callable[[str], Manifest],
) -> Environment:
    """Return the machine with the packages of the image in which the configured program runs.

    What the name of the image does not say is unknown. Nothing changes where a file that asks for
    something names none. `read`: returns what a file installs that makes its image itself.
    """
    named = [each for each in configurations if each.image]
    if not named or any(each.intents and not each.image for each in configurations):
        return found
    planned = planned_environment(found, [_manifest(each, matrix, read) for each in named], matrix)
    target = msgspec.structs.replace(planned.target, reason="--config")
    return msgspec.structs.replace(planned, target=target)


def _manifest(
    configuration: Configuration, matrix: Matrix, read: Callable[[str], Manifest]
) -> Manifest:
    """Return an image as what it installs."""
    name = configuration.image
    if name == OWN_IMAGE:
        with suppress(InputError):
            return read(configuration.file)
    place = next((each.place for each in configuration.intents), Place(configuration.file, 1))
    said = read_image(name, place, matrix.tables)
    note = open_image if any(sign in name for sign in _OPEN) else unseen_image
    return Manifest(
        configuration.file,
        KIND,
        said.requirements,
        facts=said.facts,
        python=said.python,
        image=Setting(name, place),
        notes=(note(name[:160]),),
        is_in_steps=True,
    )
