"""The glibc of a system that sentences name: by its own version, or by the Linux distribution."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.sources.logs.named_gpus import MOST, TOOL
from fadoctor.sources.pasted.claims import Claim
from fadoctor.sources.pasted.names import is_wished
from fadoctor.syntax.likely_lines import likely_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fadoctor.model.rule import Table
    from fadoctor.sources.pasted.claims import PastedLine

FACT = "host.glibc"

LONG = 4_000
"""Most lines of a text in which a person may have named the system."""

# ldd (Ubuntu GLIBC 2.31-0ubuntu9.9) 2.31 | glibc version is 2.28, but not: GLIBC 2.32 not found
_GLIBC = compiled(
    r"(?i)(?<![\w.])(?:GNU libc|glibc)\)?(?: ?(?:version|release|版本号?))?"
    r"(?: is| only|[:=]|是|为|は)?"
    r"[*` ]{0,4}v?(?P<found>2\.\d{2})\b(?![^\n.]{0,24}(?:not found|missing|未找到))"
)
# Ubuntu 20.04.6 LTS | CentOS Linux 7 | Rocky 8.9 | Debian GNU/Linux 11
_SYSTEM = compiled(
    r"(?i)(?<![\w./:-])(?P<name>ubuntu|debian|centos|rhel|red ?hat(?: enterprise)?"
    r"|rocky|alma ?linux)"
    r"(?:[- ](?:gnu/)?linux)?(?: stream| server| release| version)?[ :-]{0,3}v?"
    r"(?P<release>\d{1,2}(?:\.\d{2}(?!\d))?)(?![\w])"
)
# wheels are built on Ubuntu 22.04 | compiled with glibc 2.35
_OTHERS = compiled(
    r"(?i)(?:built|build|compiled|linked|tested|made|images?|runners?)"
    r"(?: \w{1,12}){0,2}? (?:on|with|against|for|in|from) {0,3}$"
)
# In a container its own system counts, and a text names both.
_CONTAINER = compiled(
    r"(?i)\b(?:docker|container|singularity|apptainer|podman|enroot|kubernetes|k8s|image|devcontainer"
    r"|nvcr\.io|dockerfile|wsl2?)\b|容器|镜像|コンテナ|контейнер"
)
# We have CentOS 7 and cannot upgrade: what is there stays.
_STAYS = compiled(
    r"(?i)(?:can ?not|can['\u2019]?t|unable to|no way to|without|not|n['\u2019]t) "
    r"(?:allowed to |able to |be allowed to )?"
    r"(?:be )?(?:upgrad\w{1,4}|updat\w{1,4})|(?:不能|无法|没法)(?:升级|更新)"
)
_NAMES = {"redhat": "rhel", "redhatenterprise": "rhel", "rocky": "rockylinux"}
_BY_YEAR = "ubuntu"
"""The distribution whose releases have two numbers."""


def named_systems(lines: Sequence[PastedLine], tables: Mapping[str, Table]) -> Iterator[Claim]:
    """Yield the glibc that lines name; where none does, that of the distribution."""
    if len(lines) > LONG:
        return
    told = [*_told(lines)]
    yield from told
    if told or any(_CONTAINER.search(line.text) for line in likely_of(lines, _CONTAINER)):
        return
    glibc = {name: str(row["glibc"]) for row in tables["os-glibc"].rows for name in _words(row)}
    for line in likely_of(lines, _SYSTEM):
        for found in islice(_SYSTEM.finditer(line.text), MOST):
            value = glibc.get(_key(found), "")
            if value and _is_there(line.text, *found.span()):
                yield Claim(FACT, value, line.number, TOOL)


def _told(lines: Sequence[PastedLine]) -> Iterator[Claim]:
    for line in likely_of(lines, _GLIBC):
        for found in islice(_GLIBC.finditer(line.text), MOST):
            if _is_there(line.text, *found.span()):
                yield Claim(FACT, found["found"], line.number, TOOL)


def _is_there(text: str, start: int, end: int) -> bool:
    """Return whether what stands there is the system's, and not what something asks for."""
    stays = _STAYS.sub(lambda found: " " * len(found[0]), text)
    return not _OTHERS.search(text[:start]) and not is_wished(stays, start, end)


def _words(row: Mapping[str, object]) -> list[str]:
    return str(row["os"]).split()


def _key(found: re.Match[str]) -> str:
    """Return a distribution as the table names it: ubuntu20.04, rhel8."""
    name = re.sub(r"\s", "", found["name"].lower())
    release = found["release"]
    return _NAMES.get(name, name) + (release if name == _BY_YEAR else release.partition(".")[0])
