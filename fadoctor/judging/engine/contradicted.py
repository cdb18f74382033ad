"""Whether tables speak against a fix that was written out, under the facts that are known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.bounded import another_python, bounded_step, refused_by
from fadoctor.judging.engine.fixes import command
from fadoctor.judging.engine.foreign import is_foreign
from fadoctor.judging.engine.operators import is_below
from fadoctor.knowledge.matrix.query import typed_cell
from fadoctor.knowledge.matrix.versions import is_in, parse_version, version_part
from fadoctor.model.environment import ASSUMED_PLATFORM
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.fix import Step, StepKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.engine.scope import Scope
    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import StepTemplate

_LABELLED = re.compile(
    r"(?:torch(?:vision|audio)?|xformers) ?== ?\d[\w.]{0,30}"
    r"\+(?P<build>cu\d{2,3}|cpu|xpu|rocm[\d.]{1,6})"
)
_TORCH = re.compile(r"torch ?== ?(?P<version>\d[\w.]{0,30}?)(?:\+(?P<build>[a-z]{2,4}[\d.]{0,8}))?")
_RANGE = re.compile(r"torch ?(?P<range>(?:[<>]=?|~=|!=)[\d.,<>=!~* a-z]{1,80})")
_PYPI, _WINDOWS = "pypi", "win_amd64"


class _Torch(msgspec.Struct, frozen=True):
    """A torch that a step installs."""

    version: str
    build: str


def fitted(fix: Fix, environment: Environment, matrix: Matrix) -> Fix | None:
    """Return a fix whose commands suit the facts; None where a table speaks against one.

    Where the index of Python has no CUDA build for the platform, the one of torch is named.
    """
    if is_foreign(fix, environment, matrix):
        return None
    steps = []
    for step in fix.steps:
        found = _fitted(step, environment, matrix) if step.kind is StepKind.INSTALL else step
        if found is None and (python := another_python(step, environment, matrix)):
            steps.append(Step(StepKind.ADVICE, python))
            found = step
        if found is None and (said := refused_by(step, environment, matrix)):
            found = Step(StepKind.ADVICE, said)
        if found is None or _is_refuted(found, environment, matrix):
            return None
        steps.append(found)
    return msgspec.structs.replace(fix, steps=tuple(steps))


def is_hopeless(templates: Iterable[StepTemplate], scope: Scope) -> bool:
    """Return whether no build that a fix may bring, whichever its release, can work here."""
    matrix = scope.matrix
    builds = {_build_of(step.index, matrix) for step in templates if step.install and step.index}
    cuda = {build for build in builds if build.startswith("cu")}
    if not cuda or "torch-builds" not in matrix.tables:
        return False
    rows = [
        row
        for row in matrix.tables["torch-builds"].rows
        if not cuda.isdisjoint(str(row["build"]).split())
    ]
    environment = scope.environment
    read = [row for row in rows if not isinstance(row.get("sm"), dict)]
    return bool(rows) and (
        all(_outruns_driver(row, environment, matrix) for row in rows)
        or (bool(read) and all(has_code(row, environment, matrix) is False for row in read))
    )


def _fitted(step: Step, environment: Environment, matrix: Matrix) -> Step | None:
    bounded = bounded_step(step, environment, matrix)
    return _suited(bounded, environment, matrix) if bounded is not None else None


def _suited(step: Step, environment: Environment, matrix: Matrix) -> Step | None:
    """Return a step with the index of a CUDA build, where Python's own index has or may have none.

    Its torch for Windows is for the CPU alone. The index of torch serves Linux as well: it is named
    where the platform is assumed, too.
    """
    platform = environment.fact("host.platform")
    is_windows = fact_text(platform, "") == _WINDOWS
    is_assumed = isinstance(platform, Known) and platform.source == ASSUMED_PLATFORM
    label = "" if step.index else _label_of(step.items)
    if label:
        return _with_index(step, step.items, label, matrix)
    if step.index or not (is_windows or is_assumed):
        return step
    if len(step.items) == 1 and (found := _RANGE.fullmatch(step.items[0])):
        build = _build_within(found["range"], environment, matrix)
        return _with_index(step, step.items, build, matrix)
    wanted = _torch_of(step, matrix)
    if wanted is None or wanted.build != _PYPI:
        return step
    if len(step.items) > 1:
        return None if is_windows else step
    build = default_build(wanted.version, matrix)
    found_step = _with_index(step, (f"torch=={wanted.version}+{build}",), build, matrix)
    return None if is_windows and not found_step.index else found_step


def _with_index(step: Step, items: tuple[str, ...], build: str, matrix: Matrix) -> Step:
    """Return a step that takes a build from its index; as it is where none is known."""
    row = matrix.find("torch-indexes", {"build": Known(build, "asked")}).cell("index")
    if not build or not isinstance(row, Known):
        return step
    index = str(row.value)
    # Quotes that both shells take: the platform is Windows, or not known.
    text = command(step.kind, items, step.options, index, windows=True)
    return msgspec.structs.replace(step, items=items, index=index, text=text)


def _build_within(specifier: str, environment: Environment, matrix: Matrix) -> str:
    """Return the CUDA build of a range of torch: the one that is there, else the newest's own."""
    if "torch-builds" not in matrix.tables:
        return ""
    rows = matrix.tables["torch-builds"].rows
    inside = [
        (parse_version(version), row)
        for row in rows
        for version in str(row["version"]).split()
        if is_in(version, specifier)
    ]
    here = version_part(fact_text(environment.fact("torch.version"), ""), "local")
    if here and any(here in str(row["build"]).split() for _, row in inside):
        return here
    newest = max((version for version, _ in inside if version is not None), default=None)
    return default_build(str(newest), matrix) if newest is not None else ""


def default_build(version: str, matrix: Matrix) -> str:
    """Return the CUDA build that a release of torch has on Python's own index for Linux.

    Where torch's own index has no such build, the newest of those is returned that it has.
    """
    asked = {"version": Known(version, "asked"), "platform": Known("linux_x86_64", "asked")}
    cuda = matrix.find("torch-releases", asked).cell("pypi_cuda")
    usual = "cu" + str(cuda.value).replace(".", "") if isinstance(cuda, Known) else ""
    indexed = {str(row["build"]) for row in matrix.tables["torch-indexes"].rows}
    if not usual or usual in indexed:
        return usual
    builds = {
        build
        for row in matrix.find("torch-builds", asked).rows
        for build in str(row["build"]).split()
        if build.startswith("cu") and build in indexed
    }
    return max(builds, key=lambda build: int(build.removeprefix("cu")), default=usual)


def _label_of(items: tuple[str, ...]) -> str:
    """Return the build that all of some requirements name: Python's own index has none of them."""
    found = [_LABELLED.fullmatch(item) for item in items]
    labels = {each["build"] if each else "" for each in found}
    return labels.pop() if len(labels) == 1 else ""


def _torch_of(step: Step, matrix: Matrix) -> _Torch | None:
    found = next(filter(None, map(_TORCH.fullmatch, step.items)), None)
    if found is None or "torch-builds" not in matrix.tables:
        return None
    return _Torch(found["version"], found["build"] or _build_of(step.index, matrix) or _PYPI)


def _build_of(index: str, matrix: Matrix) -> str:
    table = matrix.tables.get("torch-indexes")
    rows = table.rows if table is not None else ()
    return next((str(row["build"]) for row in rows if index and row["index"] == index), "")


def _is_refuted(step: Step, environment: Environment, matrix: Matrix) -> bool:
    """Return whether the torch of a step does not exist, or cannot work here."""
    wanted = _torch_of(step, matrix)
    if wanted is None or not (wanted.build == _PYPI or wanted.build.startswith("cu")):
        return False
    if has_python_file(wanted.version, environment, matrix) is False:
        return True
    rows = _rows(wanted, environment, matrix)
    if rows is None:
        return False
    return all(
        has_code(row, environment, matrix) is False or _outruns_driver(row, environment, matrix)
        for row in rows
    )


def _rows(wanted: _Torch, environment: Environment, matrix: Matrix) -> list[Row] | None:
    """Return the builds that are meant, none where there is no such; None: nobody knows."""
    asked = {"version": Known(wanted.version, "asked")}
    platform = environment.fact("host.platform")
    if isinstance(platform, Known) and str(platform.value).startswith(("linux", "win_amd64")):
        asked["platform"] = Known(str(platform.value), platform.source)
    known = matrix.find("torch-builds", asked).rows
    if not known:
        return None
    return [row for row in known if wanted.build in str(row["build"]).split()]


def has_python_file(torch: str, environment: Environment, matrix: Matrix) -> bool | None:
    """Return whether a release of torch has a file for this Python and system; None: unknown."""
    python = environment.fact("python.version")
    platform = environment.fact("host.platform")
    if not isinstance(python, Known) or not isinstance(platform, Known):
        return None
    asked = {"version": Known(torch, "asked"), "platform": platform}
    tags = matrix.find("torch-releases", asked).cell("python")
    if not isinstance(tags, Known) or not isinstance(tags.value, tuple):
        return None
    return version_part(str(python.value), "minor") in tags.value


def builds_of(torch: str, build: str, environment: Environment, matrix: Matrix) -> list[Row] | None:
    """Return the rows of one build of a release of torch, [] where there is none; None: unknown."""
    return _rows(_Torch(torch, build), environment, matrix)


def has_code(row: Row, environment: Environment, matrix: Matrix) -> bool | None:
    """Return whether a build has code for the one GPU that is named; None: unknown."""
    facts = environment.facts
    capability = facts.get("gpu[0].compute_capability")
    if not isinstance(capability, Known) or "gpu[1].compute_capability" in facts:
        return None
    runs = matrix.find("architectures", {"cc": capability}).cell("runs")
    held, ptx = typed_cell(row.get("sm"), "list"), row.get("ptx")
    if not isinstance(runs, Known) or not isinstance(runs.value, tuple):
        return None
    if not isinstance(held, tuple) or isinstance(ptx, dict):
        return None
    by_ptx = ptx is not None and is_below(capability.value, str(ptx)) is False
    return by_ptx or not set(held).isdisjoint(runs.value)


def _outruns_driver(row: Row, environment: Environment, matrix: Matrix) -> bool:
    """Return whether a build's CUDA needs a newer driver than the one that is named."""
    major = version_part(str(row.get("cuda")), "major")
    return major is not None and bool(driver_for(major, environment, matrix))


def driver_for(major: str, environment: Environment, matrix: Matrix) -> str:
    """Return the driver that a CUDA needs, where the one that is named is older; else ""."""
    said, driver = environment.facts.get("driver.cuda"), environment.facts.get("driver.version")
    system = environment.facts.get("host.os")
    asked = {
        "cuda": Known(major, "asked"),
        "os": system if isinstance(system, Known) else Known("linux", "asked"),
    }
    floor = matrix.find("driver-floors", asked).cell("driver")
    if not isinstance(floor, Known):
        return ""
    is_old = isinstance(said, Known) and is_below(said.value, f"{major}.0") is True
    if isinstance(driver, Known) and isinstance(system, Known) and not is_old:
        is_old = is_below(driver.value, floor.value) is True
    return str(floor.value) if is_old else ""
