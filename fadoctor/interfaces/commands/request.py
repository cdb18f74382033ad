"""From the arguments of a program to a request: what the options of the command line mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.environment import Environment
from fadoctor.model.errors import UsageError
from fadoctor.model.overlays import Overlays
from fadoctor.sources.examine.request import Request

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

_RUNNING = "the interpreter that runs this program"


class ProgramRequest(msgspec.Struct, frozen=True):
    """What is examined and what is assumed of it, as the functions of `fadoctor.api` take it."""

    target: Any = ""
    site_packages: Any = ""
    facts: Any = None
    requirements: Any = ()
    extra: Any = ()
    group: Any = ()
    config: Any = ()
    config_kind: str = ""
    gpu: Any = ()
    driver: str = ""
    glibc: str = ""
    python_version: str = ""
    platform: str = ""
    resolve: bool = False


def request_of(
    what: ProgramRequest, *, thorough: bool = False, cache: bool | None = None
) -> Request:
    """Return the request; without a target it is about the interpreter that runs this program.

    `cache`: whether what packages import of each other is followed, and kept; None where not.
    """
    overlays = Overlays(
        names(what.gpu, "gpu"), what.driver, what.glibc, what.python_version, what.platform
    )
    given = what.facts if isinstance(what.facts, Environment) else None
    request = Request(
        python=_one(what.target, "target"),
        site_packages=_one(what.site_packages, "site_packages"),
        facts="the program" if given else _one(what.facts or "", "facts"),
        overlays=overlays,
        thorough=thorough,
        requirements=names(what.requirements, "requirements"),
        configs=names(what.config, "config"),
        extras=names(what.extra, "extra"),
        groups=names(what.group, "group"),
        config_kind=what.config_kind,
        contracts=cache is not None,
        cache=bool(cache),
        given=given,
        reason="target",
        resolve=what.resolve,
    )
    if request.facts == "-":
        raise UsageError("facts: give a file's name, or what `facts` has returned")
    named = request.python or request.site_packages or request.facts
    if named or not sys.executable:
        return request
    return msgspec.structs.replace(request, python=sys.executable, reason=_RUNNING)


def names(value: object, argument: str) -> tuple[str, ...]:
    """Return one name or several as a tuple; UsageError for what is no name."""
    if isinstance(value, (str, os.PathLike)):
        return (_one(value, argument),) if value else ()
    if not isinstance(value, Iterable):
        raise UsageError(f"{argument}: give a name, or several, not {type(value).__name__}")
    return tuple(_one(each, argument) for each in value)


def folders(value: object, argument: str) -> tuple[Path, ...]:
    """Return one folder or several."""
    return tuple(map(Path, names(value, argument)))


def known_ids(ignore: object, knowledge: Knowledge) -> tuple[str, ...]:
    """Return the ids that are ignored; UsageError for one that no rule has."""
    from fadoctor.interfaces.commands.examine import retired_ids

    ignored = names(ignore, "ignore")
    retired_ids(ignored, knowledge, "ignore")
    return ignored


def members(kind: Any, values: Any, argument: str) -> tuple[Any, ...]:
    """Return names as members of an enum; those that are members already stay."""
    listed = [values] if isinstance(values, (str, kind)) else values
    if not isinstance(listed, Sequence):
        raise UsageError(f"{argument}: give a name, or several")
    allowed = {each.value: each for each in kind}
    found = []
    for each in listed:
        member = each if isinstance(each, kind) else allowed.get(str(each))
        if member is None:
            raise UsageError(f"{argument}: {each!r} is not one of {', '.join(allowed)}")
        found.append(member)
    return tuple(found)


def _one(value: object, argument: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise UsageError(f"{argument}: give a name or a path, not {type(value).__name__}")
