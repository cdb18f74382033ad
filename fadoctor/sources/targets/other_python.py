"""For which other Python or platform torch was installed: its files, or its wheel's tags, tell.

An extension for one CPython is not even looked at by another; abi3 and none go with any.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

NAME, PLATFORM = "torch.other_python", "torch.other_platform"

# cp313, cp313t; cp27mu and pypy310_pp73 are not meant
_ABI = re.compile(r"cp(3)(\d{1,2})(t?)")
# _C.cpython-313-x86_64-linux-gnu.so, _C.cp313-win_amd64.pyd
_ENDS = {
    "-x86_64-linux-gnu.so": "linux_x86_64",
    "-aarch64-linux-gnu.so": "linux_aarch64",
    "-win_amd64.pyd": "win_amd64",
}
_PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "macosx_arm64")
_FILE = r"\.(?:cpython-|cp)(3\d{1,2}t?)(?:d?)-[\w-]+\.(?:so|pyd)$"


def other_python(facts: Mapping[str, Fact], packages: Collection[str]) -> dict[str, Fact]:
    """Return the Python and the platform that torch is for where they are not those here."""
    if "torch" not in packages or not isinstance(facts.get("torch.version"), Known):
        return {}
    return {**_python(facts), **_platform(facts)}


def _python(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    here = _here(facts)
    source, made = _made_for(facts, _abi_of_file, 1)
    if here and _threads(facts) is None:  # nobody knows whether it has the GIL
        made = tuple({each.rstrip("t") for each in made})
    readable = [each for each in map(_ABI.fullmatch, made) if each]
    if not here or len(readable) < max(len(made), 1) or here in made:
        return {NAME: Absent(source)}
    wanted = max(readable, key=lambda each: int(each[2]))
    threads = " without the GIL" if wanted[3] else ""
    if here == f"cp{wanted[1]}{wanted[2]}t":
        threads = " with the GIL"
    return {NAME: Known(f"{wanted[1]}.{wanted[2]}{threads}", source)}


def _here(facts: Mapping[str, Fact]) -> str:
    """Return cp313 or cp313t; empty where nobody knows, or it is no CPython."""
    kind, tag = facts.get("python.implementation"), facts.get("python.tag")
    if not isinstance(kind, Known) or kind.value != "cpython" or not isinstance(tag, Known):
        return ""
    return f"{tag.value}t" if _threads(facts) else str(tag.value)


def _threads(facts: Mapping[str, Fact]) -> bool | None:
    """Return whether the Python here is the one without the GIL; None where nobody knows."""
    abi, free = facts.get("python.abi_tag"), facts.get("python.free_threaded")
    if isinstance(free, Known):
        return free.value is True
    # cp313t; cp311d looks for the same files, or says so itself
    return "t" in str(abi.value)[2:] if isinstance(abi, Known) else None


def _platform(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    here = facts.get("host.platform")
    source, made = _made_for(facts, _platform_of_file, 2)
    names = {_short(each) for each in made}
    if not isinstance(here, Known) or here.value not in _PLATFORMS or len(names) != 1:
        return {PLATFORM: Absent(source)}
    name = names.pop()
    return {PLATFORM: Known(name, source) if name not in ("", here.value) else Absent(source)}


def _short(tag: str) -> str:
    """Return linux_x86_64 for manylinux_2_28_x86_64; empty for what is none of the four."""
    system = re.match(r"(?:many|musl)?(linux)|(win)|(macosx)", tag)
    name = next((each for each in system.groups() if each), "") if system else ""
    return next((p for p in _PLATFORMS if p.startswith(name) and tag.endswith(p.partition("_")[2])),
                "") if name else ""  # fmt: skip


def _made_for(
    facts: Mapping[str, Fact], of_file: Callable[[str], str], part: int
) -> tuple[str, tuple[str, ...]]:
    """Return for what it is, nothing where nothing tells, and the source.

    The extension's name tells more than a label; one without a tag may be for any.
    """
    file, tags = facts.get("torch.binary.file"), facts.get("torch.wheel.tags")
    if isinstance(file, Known):
        found = of_file(str(file.value))
        return str(file.value), (found,) if found else ()
    if isinstance(tags, Known) and isinstance(tags.value, tuple):
        parts = [tag.split("-") for tag in tags.value]
        return tags.source, tuple({each[part] for each in parts if len(each) > 2})
    return "torch: no file or tag tells its target", ()


def _abi_of_file(name: str) -> str:
    found = re.search(_FILE, name)
    return f"cp{found[1]}" if found else ""


def _platform_of_file(name: str) -> str:
    return next((tag for end, tag in _ENDS.items() if name.endswith(end)), "")
