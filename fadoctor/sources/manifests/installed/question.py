"""What a resolver is asked about manifests, and why it cannot be asked about some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed

from fadoctor.model.fact import Known, printable
from fadoctor.sources.manifests.planned import is_unfollowed, speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.manifests.planned import Manifest, Requirement

LIMIT = 1000
"""Requirements of one question."""


class ResolverQuestion(msgspec.Struct, frozen=True):
    """What should be resolved, and for what."""

    requirements: tuple[str, ...]
    """PEP 508, one package each."""
    constraints: tuple[str, ...]
    only_index: str
    """The index that replaces the resolver's own, "" for its own."""
    indexes: tuple[str, ...]
    """Indexes beside its own."""
    python: str
    platform: str
    glibc: str
    """"" where it is not known, or there is none."""

    def without(self, names: frozenset[str]) -> ResolverQuestion:
        """Return the question without some packages."""
        kept = tuple(text for text in self.requirements if name_in(text) not in names)
        return msgspec.structs.replace(self, requirements=kept)


class Unaskable(Exception):  # noqa: N818 -- no error of anybody: the reason is told
    """Why a resolver is not asked."""


def name_in(text: str) -> str:
    """Return the name of the package that a requirement asks for."""
    return Parsed(text).name


def question_of(manifests: tuple[Manifest, ...], facts: Mapping[str, Fact]) -> ResolverQuestion:
    """Return what is asked; raise Unaskable where an answer would be about something else."""
    for manifest in manifests:
        _refuse(manifest)
    asked = tuple(_line(each) for m in manifests for each in m.requirements)
    if not asked:
        raise Unaskable("the files ask for nothing")
    if len(asked) > LIMIT:
        raise Unaskable(f"the files ask for more than {LIMIT} packages")
    bounds = tuple(_line(each) for m in manifests for each in m.constraints)
    only = {manifest.only_index for manifest in manifests}
    listed = dict.fromkeys(each.value for m in manifests for each in m.indexes)
    own = next(iter(only)) if len(only) == 1 else ""
    more = () if own else tuple(map(_address, listed))
    return ResolverQuestion(
        asked, bounds, _address(own) if own else "", more,
        _known(facts, "python.version", "--python-version"),
        _known(facts, "host.platform", "--platform"), _text(facts, "host.glibc"),
    )  # fmt: skip


def _refuse(manifest: Manifest) -> None:
    """Raise Unaskable where what is installed is not what one resolution of all of it gives."""
    if manifest.is_in_steps or manifest.image is not None:
        raise Unaskable(f"{manifest.file} installs in steps, or on top of an image")
    if manifest.overridden:
        raise Unaskable(f"{manifest.file} overrides what packages require")
    unread = manifest.has_unseen_files or any(map(is_unfollowed, manifest.notes))
    if unread or any(map(speaks_of_image, manifest.notes)):
        raise Unaskable(f"a part of {manifest.file} was not read")
    for each in manifest.requirements:
        if why := _special(each):
            raise Unaskable(f"{each.name} {why}")


def _special(requirement: Requirement) -> str:
    if requirement.manager:
        return f"is installed by {requirement.manager}"
    if requirement.index:
        return "has an index of its own"
    if requirement.url and not requirement.url.startswith("https://"):
        return "is no file of an index"
    return ""


def _line(requirement: Requirement) -> str:
    """Return a requirement as an installer reads it, and nothing that it could read otherwise."""
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    where = f" @ {requirement.url}" if requirement.url else requirement.specifier
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    try:
        return str(Parsed(f"{requirement.name}{extras}{where}{marker}"))
    except InvalidRequirement as error:
        raise Unaskable(f"{printable(requirement.name, 60)} is no plain requirement") from error


def _address(index: str) -> str:
    if not index.startswith(("https://", "http://")) or not index.isprintable() or " " in index:
        raise Unaskable("an index of the files has no web address")
    return index


def _known(facts: Mapping[str, Fact], name: str, option: str) -> str:
    if found := _text(facts, name):
        return found
    raise Unaskable(f"{name} is unknown: name it by {option}")


def _text(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def lines(texts: tuple[str, ...]) -> Iterator[str]:
    """Yield lines of a file."""
    return (f"{text}\n" for text in texts)
