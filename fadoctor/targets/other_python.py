"""For which other Python torch was installed: its files, or its wheel's tags, tell.

An extension for one CPython is not even looked at by another; abi3 and none go with any.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

NAME = "torch.other_python"

# cp313, cp313t; cp27mu and pypy310_pp73 are not meant
_ABI = re.compile(r"cp(3)(\d{1,2})(t?)")
# _C.cpython-313-x86_64-linux-gnu.so, _C.cp313-win_amd64.pyd
_FILE = re.compile(r"\.(?:cpython-|cp)(3\d{1,2}t?)(?:d?)-[\w-]+\.(?:so|pyd)$")


def other_python(facts: Mapping[str, Fact], packages: Collection[str]) -> dict[str, Fact]:
    """Return the Python that torch is for where that is not the one here; Absent otherwise."""
    if "torch" not in packages or not isinstance(facts.get("torch.version"), Known):
        return {}
    here = _here(facts)
    source, made = _made_for(facts)
    readable = [each for each in map(_ABI.fullmatch, made) if each]
    if not here or len(readable) < max(len(made), 1) or here in made:
        return {NAME: Absent(source)}
    wanted = max(readable, key=lambda each: int(each[2]))
    threads = " without the GIL" if wanted[3] else ""
    return {NAME: Known(f"{wanted[1]}.{wanted[2]}{threads}", source)}


def _here(facts: Mapping[str, Fact]) -> str:
    """Return cp313 or cp313t; empty where nobody knows, or it is no CPython."""
    kind, tag, abi = (facts.get(f"python.{n}") for n in ("implementation", "tag", "abi_tag"))
    if not isinstance(kind, Known) or kind.value != "cpython" or not isinstance(tag, Known):
        return ""
    # another build of the same Python, such as cp311d, looks for the same files or says so itself
    return (
        f"{tag.value}t" if isinstance(abi, Known) and "t" in str(abi.value)[2:] else str(tag.value)
    )


def _made_for(facts: Mapping[str, Fact]) -> tuple[str, tuple[str, ...]]:
    """Return the ABIs that it is for, none where nothing tells, and the source.

    The extension's name tells more than a label; one without a tag may be for any.
    """
    file, tags = facts.get("torch.binary.file"), facts.get("torch.wheel.tags")
    if isinstance(file, Known):
        found = _FILE.search(str(file.value))
        return str(file.value), (f"cp{found[1]}",) if found else ()
    if isinstance(tags, Known) and isinstance(tags.value, tuple):
        parts = [tag.split("-") for tag in tags.value]
        return tags.source, tuple({part[1] for part in parts if len(part) > 2})
    return "torch: no file and no tag names a Python", ()
