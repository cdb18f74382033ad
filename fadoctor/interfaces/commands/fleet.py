"""What ``fleet`` does: gather what many nodes say, and compare. Imports late."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from fadoctor.interfaces.commands.fleet_engines import EngineRequest, ask_ray, run_srun, srun_line
from fadoctor.interfaces.commands.observer import SILENT, Observer
from fadoctor.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.fleet.content import Content
    from fadoctor.fleet.gathered import Gathered
    from fadoctor.fleet.model import FleetReport
    from fadoctor.fleet.ray import RayReplies
    from fadoctor.fleet.summary import FleetRequest


class NodesRequest(NamedTuple):
    """Whose answers are compared, and with what."""

    files: tuple[str, ...] = ()
    """Files, folders and ``-``; with `slurm` the arguments of srun."""
    expect: str = ""
    baseline: str = ""
    group_by: str = ""
    rules: tuple[Path, ...] = ()
    redact: bool = False
    is_of_two: bool = False
    """The second file is compared with the first."""
    slurm: bool = False
    ray: str = ""
    engine: EngineRequest = EngineRequest()
    """How nodes are asked by `slurm` or `ray`."""


def fleet(request: NodesRequest, observer: Observer = SILENT) -> FleetReport:
    """Ask the nodes, or read what they wrote, and return what differs and what fails."""
    from fadoctor.fleet.renaming import renamed
    from fadoctor.fleet.summary import summarise
    from fadoctor.knowledge.matrix.load import load_knowledge

    knowledge = load_knowledge(request.rules)
    gathered, asked = _gathered(request, comparison_of(request), observer)
    if request.redact:
        gathered, asked = renamed(gathered, asked)
    return summarise(gathered, knowledge, asked)


def comparison_of(request: NodesRequest) -> FleetRequest:
    """Return with what nodes are compared; UsageError or InputError where that cannot be."""
    from fadoctor.fleet.hostlist import HostlistError, expand
    from fadoctor.fleet.summary import FleetRequest

    expect, group_by = request.expect, request.group_by
    if group_by and not group_by.partition(".")[2]:
        raise UsageError(f"--group-by {group_by}: give a section and a key: gpu.driver, pkg.torch")
    try:
        named: tuple[str, ...] | int | None = int(expect) if expect.isdecimal() else expand(expect)
    except (HostlistError, ValueError) as error:
        raise UsageError(f"--expect {expect[:200]}: {error}") from error
    content = _one(request.baseline) if request.baseline else None
    found = FleetRequest(named if expect else None, content, request.baseline, group_by)
    return _of_two(request.files, found) if request.is_of_two else found


def _gathered(
    request: NodesRequest, asked: FleetRequest, observer: Observer
) -> tuple[Gathered, FleetRequest]:
    """Return what the nodes say, and with what it is compared."""
    if request.ray:
        return _told_by_ray(ask_ray(request.ray, request.engine, observer), asked)
    files = request.files[1:] if request.is_of_two else request.files
    if request.slurm:
        line = srun_line(request.engine, files)
        files = (run_srun(line, request.engine, observer),)
    return _read(files or ("-",)), asked


def _read(files: tuple[str, ...], stdin: BinaryIO | None = None) -> Gathered:
    from fadoctor.fleet.gathered import Gathered
    from fadoctor.fleet.sources import read_all

    gathered = Gathered()
    read_all(list(files), stdin or sys.stdin.buffer, gathered)
    return gathered


def _told_by_ray(answer: RayReplies, asked: FleetRequest) -> tuple[Gathered, FleetRequest]:
    """Return what the nodes of a Ray cluster say, and which of them there should be."""
    from fadoctor.fleet.ray import note_problems

    gathered = _read(("-",), io.BytesIO(answer.lines))
    note_problems(answer, gathered)
    return gathered, asked if asked.expected is not None else asked._replace(expected=answer.nodes)


def _of_two(files: tuple[str, ...], asked: FleetRequest) -> FleetRequest:
    if len(files) != 2:
        raise UsageError("fleet diff takes two reports: fadoctor fleet diff a.json b.json")
    return asked._replace(expected=1, baseline=_one(files[0]), baseline_name=files[0])


def _one(name: str) -> Content:
    """Return what the only node of a file says."""
    gathered = _read((name,))
    contents = [group.content for group in gathered.nodes.values()]
    if len(contents) != 1 or gathered.unreadable_count or not contents[0].is_report:
        raise InputError(name, "this must be the report, or the record, of one node")
    return contents[0]
