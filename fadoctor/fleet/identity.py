"""Which node speaks, as its launcher names it, and how many there should be."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_LIMIT = 64
HOSTLIST_LIMIT = 200
"""Longest list of hosts that a record carries; where it is longer, its count is carried."""
_NUMBER = re.compile(r"[0-9]{1,9}")

_NODE_NAMES = ("SLURMD_NODENAME", "NODE_NAME")
"""What schedulers call the node; the host's own name is not always another one."""
_RANKS = (
    "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SKYPILOT_NODE_RANK",
    "JOB_COMPLETION_INDEX", "RANK",
)  # fmt: skip
_LOCAL_RANKS = ("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK")
_NODE_COUNTS = ("SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SKYPILOT_NUM_NODES")
_TASK_COUNTS = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"), ("WORLD_SIZE", "LOCAL_WORLD_SIZE"),
)  # fmt: skip
"""All tasks and those of a node: as many nodes as one divides the other."""
_HOSTLISTS = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading JSON from outside can raise: it may also be nested too deeply."""


class NodeIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who made a record. The names are short because a record is."""

    n: str
    """The node, as its scheduler calls it; else its host name."""
    r: int | None = None
    """The rank of the task."""
    l: int | None = None  # noqa: E741 -- of the format
    """The rank of the task on its node."""
    h: str = ""
    """The host name, where it is another one."""
    e: int | None = None
    """How many nodes there should be."""
    H: str = ""
    """Which, as a list of hosts."""
    u: bool = False
    """The name may stand for several nodes: the rank tells them apart."""

    @property
    def key(self) -> str:
        """Return what tells this node from all others."""
        return f"{self.n}#{self.r}" if self.u and self.r is not None else self.n

    @property
    def is_second(self) -> bool:
        """Return whether another task of the same node reports for it."""
        return bool(self.l)


def node_of(environ: Mapping[str, str], host: str) -> NodeIdentity:
    """Return who this process is among those that a launcher started."""
    scheduled = next((environ[name] for name in _NODE_NAMES if environ.get(name)), "")
    name = plain_name(scheduled or host) or "?"
    short = plain_name(host)
    hosts = next((environ[each] for each in _HOSTLISTS if environ.get(each)), "")
    is_list = len(hosts) <= HOSTLIST_LIMIT and plain_name(hosts, HOSTLIST_LIMIT) == hosts
    return NodeIdentity(
        n=name,
        r=_first_number(environ, _RANKS),
        l=_first_number(environ, _LOCAL_RANKS),
        h="" if short == name else short,
        e=_count(environ),
        H=hosts if is_list else "",
        u="SLURMD_NODENAME" not in environ,
    )


def renamed(node: NodeIdentity) -> NodeIdentity:
    """Return a node without its names: ``n3`` of the rank where there is one."""
    digest = hashlib.blake2b(node.key.encode(), digest_size=4).hexdigest()
    name = f"n{node.r + 1}" if node.r is not None else f"n-{digest}"
    return msgspec.structs.replace(node, n=name, h="", H="", u=False)


def plain_name(text: str, limit: int = NAME_LIMIT) -> str:
    """Return a name in harmless ASCII, without the characters that records are built of."""
    shown = printable(text, 10 * limit).encode("ascii", "replace").decode()
    clean = re.sub(r"[@|{}\"\\\s]", "?", shown)
    if len(clean) <= limit:
        return clean
    digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=4).hexdigest()
    return f"{clean[: limit - 9]}~{digest}"


def _first_number(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    found = (environ[name] for name in names if _NUMBER.fullmatch(environ.get(name, "")))
    return next(map(int, found), None)


def _count(environ: Mapping[str, str]) -> int | None:
    found = _first_number(environ, _NODE_COUNTS)
    if found is not None:
        return found
    for total, local in _TASK_COUNTS:
        tasks, here = _first_number(environ, (total,)), _first_number(environ, (local,))
        if tasks and here and tasks % here == 0:
            return tasks // here
    return None
