"""Labels of builds: for which torch, CUDA and C++ ABI an extension's file was built, by its name.

Whoever publishes a file for each torch writes that into the local part of its version. It is read
in one way, whichever package it is, and whether a table knows that package or not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_version, version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping, fact_text
from fadoctor.model.packages import (
    BESIDE_TORCH,
    EXTENSIONS,
    FLASH_ATTN,
    PACKAGES,
    TORCH,
    TRITON,
    package_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix

MISLABELLED, INSTEAD = "packages.mislabelled", "packages.mislabelled_instead"
FILES = "packages.file_labels"
"""Fact with the labels of files that a text says were installed."""

_OWN_RULES = frozenset({TORCH, TRITON, FLASH_ATTN, *BESIDE_TORCH})
"""Packages whose labels have rules of their own, or that torch itself decides about."""

_OF_ADDRESS = frozenset(name for key in EXTENSIONS for name in PACKAGES[key])
"""Distributions whose address is read, which has a label that their version has not."""

# torch2.6, torch2.7.0, pt2.4.1: with dots
_DOTTED = r"(?:torch|pt)(?P<minor>\d{1,2}\.\d{1,2})(?:\.\d{1,2})?(?P<later>andhigher)?"
# torch280, torch2100: two digits at least, and the last is that of the patch
_PATCHED = r"torch(?P<major>[12])(?P<minor>\d{1,2})\d(?!\d)"
# pt26, pt210, pt113
_SHORT = r"pt(?P<major>[12])(?P<minor>\d{1,2})(?!\d|\.)"
# cu12, cu124, cu130, cu13.0
_CUDA = r"(?<![a-z])cu(?P<major>1[0-9])(?P<rest>\.?\d)?(?!\d)"
_ABI = r"cxx11abi(?P<new>true|false)"
_LAST_OLD_ABI = (2, 6)
"""The last minor release of torch of which there are builds with the old C++ ABI."""


class BuildLabel(msgspec.Struct, frozen=True):
    """What a label says; empty where it does not."""

    torch: str
    """X.Y, of the torch that it was built with."""

    later: bool = False
    """Whether every later torch does as well."""

    cuda: str = ""
    """cu12, cu128 as it is written, without a dot."""

    new_abi: bool | None = None


def read_label(local: str) -> BuildLabel | None:
    """Return what the local part of a version says of torch, None where it names none."""
    text = local.lower().replace("_", ".").replace("-", ".")
    found, later = re.search(_DOTTED, text), False
    if found:
        torch, later = found["minor"], found["later"] is not None
    elif short := (re.search(_PATCHED, text) or re.search(_SHORT, text)):
        torch = f"{short['major']}.{short['minor']}"
    else:
        return None
    cuda, abi = re.search(_CUDA, text), re.search(_ABI, text)
    return BuildLabel(
        torch,
        later,
        f"cu{cuda['major']}{(cuda['rest'] or '').lstrip('.')}" if cuda else "",
        abi["new"] == "true" if abi else None,
    )


def label_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return which packages were built for another torch than the one that is here.

    Nothing is said of one that was read together with this torch, nor beside a torch of somebody's
    own or one that is not for CUDA.
    """
    labels = dict(_labels(facts))
    torch = [facts.get(f"{TORCH}.{noun}", _NOTHING) for noun in ("version", "cuda", "build")]
    unread = next((each for each in torch if isinstance(each, Unknown)), None)
    if labels and unread is not None:
        return dict.fromkeys((MISLABELLED, INSTEAD), unread)
    version, cuda, build = (fact_text(each, "") for each in torch)
    what: dict[str, str] = {}
    # the labels are those of builds for CUDA; beside a torch of somebody's own they say nothing
    if version and cuda and build not in ("", "other"):
        for name, label in labels.items():
            abi = facts.get(f"{TORCH}.cxx11_abi", _NOTHING)
            if why := _misfit(label, version, cuda, abi) or _of_another_abi(
                label, version, abi, matrix
            ):
                what[name] = why
    if not what:
        return dict.fromkeys((MISLABELLED, INSTEAD), _NOTHING)
    instead = " ".join(_instead(what, facts, version, cuda, matrix))
    return {MISLABELLED: Known(what, _SOURCE), INSTEAD: Known(instead, _SOURCE)}


_SOURCE = "labels of the installed builds"
_NOTHING = Absent("no label of a build names another torch than the one that is here")


def _labels(facts: Mapping[str, Fact]) -> Iterator[tuple[str, BuildLabel]]:
    """Yield distributions and what their labels say, of those that nothing else tells of."""
    files = fact_mapping(facts.get(FILES, _NOTHING))
    for name, version in _there(facts).items():
        if "+" not in version and name not in files and name not in _OF_ADDRESS:
            continue
        package = package_of(name, name)
        if package in _OWN_RULES or isinstance(facts.get(f"{package}.loads"), Known):
            continue
        local = version.partition("+")[2] or files.get(name, "") or _of_address(facts, package)
        label = read_label(local) if local else None
        if label is not None:
            yield name, label


def _of_address(facts: Mapping[str, Fact], package: str) -> str:
    """Return the label in the address that a package was installed from."""
    if package not in PACKAGES:
        return ""
    address = fact_text(facts.get(f"{package}.direct_url", _NOTHING), "").replace("%2B", "+")
    return address.rpartition("/")[2].partition("+")[2].partition("-")[0]


def _misfit(label: BuildLabel, version: str, cuda: str, abi: Fact) -> str:
    """Return what of a label is not so of torch, in words; nothing where it fits."""
    mine, own = (
        parse_version(text) for text in (label.torch, version_part(version, "minor") or "")
    )
    if mine is None or own is None:
        return ""
    majors = (label.cuda[2:4], version_part(cuda, "major") or "")
    is_other = own < mine if label.later else own != mine
    if is_other or (all(majors) and majors[0] != majors[1]):
        words = f"torch {label.torch}{' or newer' if label.later else ''}"
        return f"(for {words}{f' and {label.cuda}' if label.cuda else ''})"
    new = abi.value if isinstance(abi, Known) else None
    if label.new_abi is None or new is None or label.new_abi is new:
        return ""
    # files that say FALSE for a torch that has both are known to lie; those that say TRUE do not
    if own.release[:2] > _LAST_OLD_ABI or (new and own.release[:2] == _LAST_OLD_ABI):
        return ""
    return f"(for the {'new' if label.new_abi else 'old'} C++ ABI)"


def _of_another_abi(label: BuildLabel, version: str, abi: Fact, matrix: Matrix) -> str:
    """Return that a label names a build of this torch with the other C++ ABI, "" where it is not.

    torch 2.6.0 has builds with each: that for CUDA 12.6 has the new one.
    """
    if label.new_abi is not None or not label.cuda or not isinstance(abi, Known):
        return ""
    keys = {
        "version": Known(version.partition("+")[0], _SOURCE),
        "build": Known(label.cuda, _SOURCE),
        "platform": Known("linux_x86_64", _SOURCE),
    }
    theirs = matrix.find("torch-builds", keys).cell("cxx11_abi")
    if not isinstance(theirs, Known) or theirs.value is abi.value:
        return ""
    return f"(for torch {label.torch} and {label.cuda}, whose C++ ABI is another one)"


def _instead(
    what: Mapping[str, str], facts: Mapping[str, Fact], version: str, cuda: str, matrix: Matrix
) -> Iterator[str]:
    """Yield what to do for the packages, those of one place together."""
    places: dict[tuple[str, str], list[str]] = {}
    for name in sorted(what):
        rows = matrix.find("build-places", {"package": Known(name, "asked")})
        kind, place = (fact_text(rows.cell(column), "") for column in ("kind", "place"))
        places.setdefault((kind, place), []).append(name)
    minor, own = version_part(version, "minor") or "", f"cu{cuda.replace('.', '')}"
    for (kind, place), names in places.items():
        if kind == "sources":
            bases = [f"=={base}" if (base := _base(facts, name)) else "" for name in names]
            pins = " ".join(map("".join, zip(names, bases, strict=True)))
            abi = facts.get(f"{TORCH}.cxx11_abi", _NOTHING)
            said = f", cxx11abi{str(abi.value).upper()}" if isinstance(abi, Known) else ""
            yield f"Run pip install {_AGAIN} --no-build-isolation --no-cache-dir {pins}. {_SETUP}"
            yield f"The name of that file has torch{minor}{said}."
        elif kind == "page":
            page = f"{place}/torch-{minor}.0+{own}.html"
            yield f"Run pip install {_AGAIN} --no-index {' '.join(names)} -f {page}."
        elif url := _file(kind, version, cuda, facts, matrix):
            yield f"Run pip install {_AGAIN} {url}, which is for this torch."
        else:
            words = f"whose name has torch {minor} and CUDA {cuda}"
            alike = " ".join(filter(None, (_alike(facts, name, version, own) for name in names)))
            words += f", such as {alike}" if alike else ""
            where = place or "where the installed one is from"
            yield f"Install the file of {' and '.join(names)} {words}, from {where}."


_AGAIN = "--force-reinstall --no-deps"
_SETUP = "The setup takes the project's file for this torch, or compiles it with nvcc."


def _file(table: str, version: str, cuda: str, facts: Mapping[str, Fact], matrix: Matrix) -> str:
    """Return the address of the file that a table has for this torch on Windows, else nothing."""
    if table not in matrix.tables or fact_text(facts.get("host.os", _NOTHING), "") != "windows":
        return ""
    keys: dict[str, Fact] = {"torch": Known(version, _SOURCE)}
    keys["cuda"] = Known(version_part(cuda, "major") or "", _SOURCE)
    return fact_text(matrix.find(table, keys).cell("url"), "")


# torch260cu126
_RUN_TOGETHER = re.compile(r"torch\d{3,4}cu\d{3}")


def _alike(facts: Mapping[str, Fact], name: str, torch: str, build: str) -> str:
    """Return the requirement of the same release for this torch, if it has such a label."""
    base, _, local = _there(facts).get(name, "").partition("+")
    if not _RUN_TOGETHER.fullmatch(local):
        return ""
    minor = (version_part(torch, "minor") or "").replace(".", "")
    return f"{name}=={base}+torch{minor}0{build}"


def _base(facts: Mapping[str, Fact], name: str) -> str:
    return _there(facts).get(name, "").partition("+")[0]


def _there(facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return the distributions that are there, or that a text names."""
    named, installed = (facts.get(f"packages.{noun}") for noun in ("named", "installed"))
    return {**fact_mapping(named), **fact_mapping(installed)}


FORMER = "packages.of_former_torch"
"""Fact with the packages that were built for the torch of an image, and their versions."""

_PARTS = "nvidia-image-parts"
_BY_IMAGE = "builds of NVIDIA's image"
_NO_IMAGE = Absent("no build of NVIDIA's image is beside another torch")

# 0.22.0a0, 2.7.0a0, 3.2.0+git0d4682f0b.nvinternal: no index has such a file
_OF_IMAGE = re.compile(
    r"\d{1,2}\.\d{1,2}\.\d{1,2}a0\Z|[\w.+]{1,60}\.nv(?:internal|\d\d\.\d{1,2})\Z"
)


def image_build_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return which packages of NVIDIA's image were built for a torch that was replaced.

    The images have builds of their own of torch and of what belongs to it, and a later ``pip
    install`` can replace torch alone. That it is such an image is told by a version that no index
    has. Nothing is said where torch is a build of its own, too.
    """
    there = _there(facts)
    proofs = [name for name, version in there.items() if _OF_IMAGE.match(version)]
    if not proofs:
        return {FORMER: _NO_IMAGE}
    torch = facts.get(f"{TORCH}.version", _NO_IMAGE)
    if isinstance(torch, Unknown):
        return {FORMER: torch}
    version = parse_version(str(torch.value)) if isinstance(torch, Known) else None
    if version is None or version.is_prerelease:
        return {FORMER: _NO_IMAGE}
    parts = {}
    for name, built in sorted(there.items()):
        row = matrix.find(_PARTS, {"distribution": Known(name, _BY_IMAGE)}).cell("version")
        pattern = str(row.value) if isinstance(row, Known) else ""
        if pattern and re.fullmatch(pattern, built):
            parts[name] = built
    return {FORMER: Known(parts, _BY_IMAGE) if parts else _NO_IMAGE}
