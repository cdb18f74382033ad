"""Say what METADATA requires, column by column, as the tables of requirements have it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in, parse_specifier, parse_version
from tools.refresh.artefact import MACHINES, Value, requirements
from tools.refresh.derive import DerivedRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from packaging.requirements import Requirement

    from tools.refresh.document import Document
    from tools.refresh.index import File, Index, Release

    Tables = Mapping[str, Document]
    Deriver = Callable[[Release, Index, Tables], Iterator[DerivedRow]]

_LINUX = {
    "sys_platform": "linux", "platform_system": "Linux", "platform_machine": MACHINES[0],
    "os_name": "posix",
    "platform_python_implementation": "CPython", "implementation_name": "cpython", "extra": "",
}  # fmt: skip
"""Where requirements under a marker are judged, whichever Python it is."""

_PYTHONS = ("3.10", "3.12", "3.13")
"""A requirement that one of them does without is none: vLLM's of setuptools is for 3.12 alone."""

_SET_ASIDE = re.compile(r"Disabling PyTorch because PyTorch >= ([0-9.]{1,20}) is required")
_TORCH_EXTRA = re.compile(
    r"torch[ (]{0,2}>=([0-9.]{1,20})[^;]{0,40};[^\n]{0,80}extra == ['\"]torch['\"]"
)
_UTILS = "transformers/utils/import_utils.py"
_OPERATOR = re.compile(r"[<>=!~]{1,3}")
_ORDER = ("==", "~=", ">=", ">", "<", "<=", "!=")
_UPPER = re.compile(r"<|==|~=")
_PINNED = re.compile(r"==([0-9A-Za-z.]{1,40})")


def file_of(release: Release) -> File | None:
    """Return the file whose METADATA is read: a wheel for every platform, or that for Linux."""
    files = [*release.wheels(MACHINES[0]), *release.wheels()]
    return files[-1] if files else None


def needs_of(index: Index, file: File, extra: str = "") -> dict[str, str]:
    """Return name -> specifier of what a file requires on Linux, "" for any version."""
    return needs_in(requirements(index, file), extra)


def needs_in(required: Iterable[Requirement], extra: str = "") -> dict[str, str]:
    """Return name -> specifier of what holds of requirements on Linux, "" for any version."""
    found: dict[str, str] = {}
    around = [
        {**_LINUX, "python_version": python, "python_full_version": f"{python}.0", "extra": extra}
        for python in _PYTHONS
    ]
    for each in required:
        name = canonicalize_name(each.name)
        if each.url or (each.marker and not all(map(each.marker.evaluate, around))):
            continue
        both = ",".join(filter(None, (found.get(name, ""), str(each.specifier))))
        found[name] = ",".join(sorted(set(both.split(",")), key=clause_key)) if both else ""
    return found


def clause_key(clause: str) -> tuple[int, Version, str]:
    """Return what sorts ``>=1,<=3,!=2`` as the tables write it."""
    operator = _OPERATOR.match(clause)
    text = operator.group() if operator else ""
    version = parse_version(clause.removeprefix(text).strip().removesuffix(".*"))
    return _ORDER.index(text) if text in _ORDER else 9, version or Version("0"), clause


def columns(
    named: Mapping[str, str],
    *,
    python: bool = True,
    unbound: str = "",
    others: tuple[str, ...] = (),
    extra: str = "",
) -> Deriver:
    """Return a deriver of columns that each hold the requirement of one distribution.

    `unbound` is how the table writes one in any version, "" where it leaves it out; `others` are
    listed by name in a column of that name, where METADATA requires them in any version.
    """

    def derive(release: Release, index: Index, _: Tables) -> Iterator[DerivedRow]:
        file = file_of(release)
        if file is None:
            return
        source = f"{file.name}, METADATA"
        needs = needs_of(index, file, extra)
        cells = {
            column: Value(needs[name] or unbound or None if name in needs else None, source)
            for column, name in named.items()
        }
        if python:
            cells["python"] = Value(index.metadata(file)["Requires-Python"], source)
        if others:
            there = [name for name in others if needs.get(name) == ""]
            cells["others"] = Value(" ".join(there) or None, source)
        yield DerivedRow(release.version, {}, cells)

    return derive


def lists(release: Release, index: Index, tables: Tables) -> Iterator[DerivedRow]:
    """Derive ``helper-releases``: the names that the rows of the package list, with their bounds.

    What its own row leaves out, or for a new release the newest one, is written only with an upper
    bound.
    """
    file = file_of(release)
    rows = [
        row
        for row in tables["helper-releases"].rows
        if release.package in str(row.cells["package"]).split()
    ]
    if file is None or not rows:
        return
    source = f"{file.name}, METADATA"
    named = [row for row in rows if str(release.version) in str(row.cells["version"]).split()]
    own = (named or rows)[-1]
    needs = needs_of(index, file)
    if own.cells.get("in_extra") == "true" and (lowest := _set_aside(index, file)):
        needs["torch"] = f">={lowest}"
    cells = {"python": Value(index.metadata(file)["Requires-Python"], source)}
    for column in ("requires", "also"):
        names = dict.fromkeys(
            re.split(r"[<>=!~]", word)[0]
            for row in rows
            for word in str(row.cells.get(column) or "").split()
        )
        words = str(own.cells.get(column) or "").split()
        kept = {re.split(r"[<>=!~]", word)[0] for word in words}
        found = [
            name + needs[name]
            for name in names
            if name in needs and (name in kept or _UPPER.search(needs[name]))
        ]
        cells[column] = Value(" ".join(found) or None, source)
    for flag in ("in_extra", "sparse"):
        text = own.cells.get(flag)
        cells[flag] = Value(text if isinstance(text, str) else None, "the row before")
    yield DerivedRow(release.version, {"package": release.package}, cells)


def declared(release: Release, index: Index, tables: Tables) -> Iterator[DerivedRow]:
    """Derive ``declared-requirements``: the names that its row lists, or the newest one."""
    file = file_of(release)
    rows = [
        row
        for row in tables["declared-requirements"].rows
        if release.package in str(row.cells["package"]).split()
    ]
    if file is None or not rows:
        return
    needs = needs_of(index, file)
    own = [row for row in rows if is_in(str(release.version), str(row.cells["version"]))]
    words = str((own or rows)[-1].cells.get("requires") or "").split()
    names = dict.fromkeys(re.split(r"[<>=!~]", word)[0] for word in words)
    found = [f"{name}{needs[name]}" for name in names if needs.get(name)]
    value = Value(" ".join(found) or None, f"{file.name}, METADATA")
    yield DerivedRow(release.version, {"package": release.package}, {"requires": value})


def runtime_minimum(release: Release, index: Index, _: Tables) -> Iterator[DerivedRow]:
    """Derive ``transformers-releases``: Python, and the torch below which it sets torch aside."""
    file = file_of(release)
    if file is None:
        return
    cells = {
        "python": Value(index.metadata(file)["Requires-Python"], f"{file.name}, METADATA"),
        "torch": Value(_set_aside(index, file), f"{file.name}, {_UTILS}"),
    }
    yield DerivedRow(release.version, {}, cells)


def _set_aside(index: Index, file: File) -> str | None:
    """Return the torch below which transformers does as if there were none, or does not import.

    Releases 4.56 and 4.57 call what torch has since 2.2, as their extra says and the message not.
    """
    found = _SET_ASIDE.search(index.wheel(file).text(_UTILS))
    if found is None:
        return None
    texts = index.metadata(file).get_all("Requires-Dist") or ()
    asked = [each.group(1) for text in texts if (each := _TORCH_EXTRA.match(text))]
    return max((found.group(1), *map(_whole, asked)), key=Version)


def _whole(version: str) -> str:
    return f"{version}.0" if version.count(".") == 1 else version


def nvidia_libraries(release: Release, index: Index, _: Tables) -> Iterator[DerivedRow]:
    """Derive ``torch-nvidia``: what of NVIDIA torch pins on Linux x86_64, cuDNN and NCCL first."""
    file = file_of(release)
    if file is None:
        return
    cells: dict[str, Value] = {}
    needs = needs_of(index, file)
    pins = [f"{name}{text}" for name, text in sorted(needs.items()) if _is_of_nvidia(name, text)]
    if pins:
        cells["pins"] = Value(" ".join(pins), f"{file.name}, METADATA")
    for name, text in needs.items():
        for column in ("cudnn", "nccl"):
            pin = _PINNED.fullmatch(text)
            if pin and re.fullmatch(rf"nvidia-{column}-cu\d{{2}}", name):
                cells[column] = Value(pin.group(1), f"{file.name}, METADATA")
    if cells:
        keys = {"build": "pypi", "platform": f"linux_{MACHINES[0]}"}
        yield DerivedRow(release.version, keys, cells)


def _is_of_nvidia(name: str, text: str) -> bool:
    return name.startswith("nvidia-") and bool(_PINNED.fullmatch(text))


def bitsandbytes_cuda(release: Release, index: Index, tables: Tables) -> Iterator[DerivedRow]:
    """Derive ``bitsandbytes-cuda``: the CUDA versions in the names of its libraries."""
    files = release.wheels(MACHINES[0])
    if not files:
        return
    pattern = re.compile(r"bitsandbytes/libbitsandbytes_cuda(\d{3})(?:_nocublaslt)?\.so")
    libraries = map(pattern.fullmatch, index.wheel(files[-1]).names)
    found = sorted({f"{m.group(1)[:2]}.{m.group(1)[2]}" for m in libraries if m})
    cells = {
        "cuda": Value(" ".join(found) or None, f"{files[-1].name}, names of its libraries"),
        "torch": Value(
            needs_of(index, files[-1]).get("torch") or None, f"{files[-1].name}, METADATA"
        ),
    }
    rows = [
        row
        for row in tables["bitsandbytes-cuda"].rows
        if is_in(str(release.version), str(row.cells["version"]))
    ] or tables["bitsandbytes-cuda"].rows[-1:]
    if rows[0].cells.get("majors"):
        majors = sorted({text.partition(".")[0] for text in found})
        cells["majors"] = Value(" ".join(majors) or None, "the column cuda")
    yield DerivedRow(release.version, {}, cells)


def withdrawn(index: Index, package: str, table: frozenset[str], floor: str) -> list[str]:
    """Return the releases since `floor` that the index offers or withdrew and a table lacks."""
    allowed = parse_specifier(f">={floor}")
    return [
        str(version)
        for version in index.releases(package)
        if allowed is not None
        and not version.is_prerelease
        and allowed.contains(version)
        and str(version) not in table
    ]
