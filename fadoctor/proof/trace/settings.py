"""What the tracer inside a process is told: entry points, limits, which variables may be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.model.fact_rows import ENVIRONMENT_VARIABLES
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.rule import Knowledge, Table

CALLS = 256
"""Attention calls that are recorded unless another number is given."""

ENTRY_POINTS = "attention-entry-points"

_DYNAMO = "torch._dynamo.eval_frame"

_KEYS = ("module", "attribute", "entry", "backend", "tensors")
_MAY_LACK = ("mask", "causal", "dropout", "order")


class Config(msgspec.Struct, frozen=True):
    """What the tracer reads when torch is there."""

    calls: int
    eager: bool
    entries: tuple[dict[str, str], ...]
    operations: dict[str, tuple[str, ...]]
    """Role -> names of torch's operations that have it."""
    kernels: tuple[dict[str, str], ...]
    """Those among which torch chooses: number, backend, node."""
    refusals: tuple[dict[str, str], ...]
    """Why no flash kernel ran: entry, device, sees, takes, says."""
    limits: dict[str, int]
    """Backend -> largest head dimension that any version takes."""
    variables: tuple[str, ...]
    packages: tuple[str, ...]
    """Import names whose versions are told."""

    @property
    def watched(self) -> tuple[str, ...]:
        """Return the modules whose import is waited for; a * stands for part of a name."""
        modules = {each["module"] for each in self.entries if ":" not in each["module"]}
        roots = {module.partition(".")[0] for module in modules if "*" not in module}
        return tuple(sorted({"torch", _DYNAMO} | modules | roots))


class TraceSettings(msgspec.Struct, frozen=True):
    """How a command is to be traced."""

    calls: int = CALLS
    eager: bool = False


def config_of(settings: TraceSettings, knowledge: Knowledge) -> Config:
    """Return what the tracer inside a process is told."""
    tables = load_apart(knowledge.tables)
    return Config(
        calls=settings.calls,
        eager=settings.eager,
        entries=_entries(tables[ENTRY_POINTS]),
        operations=_operations(tables["trace-operations"]),
        kernels=_kernels(tables["sdpa-kernels"]),
        refusals=_refusals(tables["trace-refusals"]),
        limits=_limits(knowledge),
        variables=tuple(name for name in ENVIRONMENT_VARIABLES if name != "PYTHONPATH"),
        packages=tuple(PACKAGES),
    )


def write_config(config: Config, folder: Path) -> None:
    """Write it where traced processes look for it."""
    (folder / "config.json").write_bytes(msgspec.json.encode(config))
    (folder / "watched").write_text("\n".join(config.watched), encoding="utf-8")


def _entries(table: Table) -> tuple[dict[str, str], ...]:
    return tuple(
        {name: str(row[name]) for name in _KEYS}
        | {name: str(row.get(name) or "") for name in _MAY_LACK}
        for row in table.rows
    )


def _operations(table: Table) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for row in table.rows:
        for role in str(row["roles"]).split():
            found.setdefault(role, []).extend(str(row["operation"]).split())
    return {role: tuple(names) for role, names in found.items()}


def _kernels(table: Table) -> tuple[dict[str, str], ...]:
    """Return the kernels; one whose node has no name of its own has "" there."""
    return tuple(
        {
            "number": str(row["number"]),
            "backend": str(row["backend"]),
            "node": str(row.get("node") or ""),
        }
        for row in table.rows
    )


def _refusals(table: Table) -> tuple[dict[str, str], ...]:
    names = ("entry", "device", "sees", "takes", "says")
    return tuple({name: str(row.get(name) or "") for name in names} for row in table.rows)


def _limits(knowledge: Knowledge) -> dict[str, int]:
    """Return backend -> largest head dimension that any version takes."""
    found: dict[str, int] = {}
    for row in knowledge.tables["head-dim-limits"].rows:
        backend, first = str(row["backend"]), row["refused_from"]
        if isinstance(first, int):
            found[backend] = max(found.get(backend, 0), first - 1)
    return found
