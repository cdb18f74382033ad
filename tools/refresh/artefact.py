"""Read out of a wheel what its binaries and its metadata say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from tools.refresh.errors import WheelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools.refresh.index import File, Index, Release
    from tools.refresh.wheel import Wheel

MACHINES = ("x86_64", "aarch64")
LIBRARY = "torch/lib/libtorch_python.so"
C10 = "torch/lib/libc10.so"

_LEGACY_GLIBC = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
"""Old names of platform tags, as PEP 600 defines them."""

# cuda: Optional[str] = '13.0'          or, in older releases,          cuda = '11.7'
_CUDA = re.compile(r"^cuda(?:\s*:[^=\n]{1,60})?\s*=\s*(None|'([0-9.]{1,10})')", re.MULTILINE)
# \0GLIBC_2.17\0 in names of needed versions; sm_75 sm_80 compute_90\0 as a constant. A compiler
_FLAG = rb"(?:sm|compute)_\d{2,3}[af]?"
_STRINGS = re.compile(
    rb"(?:\0(?=G)|[^ _](?=[sc]))(GLIBC_\d{1,2}(?:\.\d{1,3}){1,2}|"
    + _FLAG
    + rb"(?: "
    + _FLAG
    + rb"){1,40})(?=\0)"
)
# c10::Error::Error(c10::SourceLocation, std::string): Ss is the old string, __cxx11 the new one
_CONSTRUCTOR = re.compile(rb"_ZN3c105ErrorC[12]ENS_14SourceLocationE(Ss|NSt7__cxx1112basic_string)")
_OVERLAP = 4096
_SMALL, _MANY = 1 << 20, 30
_FINDINGS = 1000


@dataclass(frozen=True)
class Value:
    """What a cell should hold (None: nothing), and where that was read."""

    text: str | None
    source: str


def tag_glibc(file: File, machine: str) -> str | None:
    """Return the lowest glibc that a wheel's platform tags allow, None where they do not say."""
    found = []
    for tag in file.tags:
        name = tag.platform.removesuffix(f"_{machine}")
        match = re.fullmatch(r"manylinux_(\d{1,3})_(\d{1,3})", name)
        if match:
            found.append(f"{match.group(1)}.{match.group(2)}")
        elif name in _LEGACY_GLIBC:
            found.append(_LEGACY_GLIBC[name])
    return min(found, key=Version, default=None)


def scan(chunks: Iterable[bytes], pattern: re.Pattern[bytes]) -> set[str]:
    """Return the first group of all matches in a stream; matches are shorter than 4 KiB."""
    found: set[str] = set()
    tail = b""
    for chunk in chunks:
        text = tail + chunk
        for match in pattern.finditer(text):
            found.add(match.group(1).decode("ascii", "replace"))
            if len(found) > _FINDINGS:
                raise WheelError("more strings of this kind than a library has")
        tail = text[-_OVERLAP:]
    return found


def per_machine(release: Release) -> Iterator[tuple[str, File]]:
    """Yield for each machine the wheel that is read: that for the newest Python with a GIL."""
    for machine in MACHINES:
        usual = [file for file in release.wheels(machine) if not _free_threaded(file)]
        named = [(_interpreters(file), file.name, file) for file in usual if _interpreters(file)]
        if named:
            yield machine, max(named, key=lambda entry: entry[:2])[2]


def _free_threaded(file: File) -> bool:
    return any(tag.abi.endswith("t") for tag in file.tags)


def _interpreters(file: File) -> list[tuple[int, int]]:
    """Return Python versions of a wheel's tags: cp313 is (3, 13), py39 is (3, 9)."""
    matches = (re.fullmatch(r"(?:cp|py)(\d)(\d{0,2})", tag.interpreter) for tag in file.tags)
    return sorted({(int(m.group(1)), int(m.group(2) or 0)) for m in matches if m})


def pythons(release: Release, machine: str) -> list[str]:
    """Return Python versions that have a wheel, 3.13t for a free-threaded one, in order."""
    found = set()
    for file in release.wheels(machine):
        for major, minor in _interpreters(file):
            found.add((major, minor, "t" if _free_threaded(file) else ""))
    return [f"{major}.{minor}{suffix}" for major, minor, suffix in sorted(found)]


def library_strings(wheel: Wheel) -> set[str]:
    """Return GLIBC versions and lists of architectures that stand in torch's libraries.

    Of the libraries beside torch's own only the small ones are read: the large ones hold kernels.
    """
    small = [
        name
        for name, packed in wheel.names.items()
        if name.startswith("torch/lib/") and ".so" in name and packed <= _SMALL
    ]
    return set().union(
        *(scan(wheel.chunks(name), _STRINGS) for name in dict.fromkeys([LIBRARY, *small[:_MANY]]))
    )


def glibc(file: File, machine: str, strings: set[str]) -> Value:
    """Return the greater of tag and needed symbol versions: an old tag may promise too much."""
    needed = [text.removeprefix("GLIBC_") for text in strings if text.startswith("GLIBC_")]
    by_symbol = max(needed, key=Version, default="0")
    by_tag = tag_glibc(file, machine) or "0"
    if Version(by_symbol) > Version(by_tag):
        return Value(by_symbol, f"{file.name}, symbol versions that its libraries need")
    return Value(by_tag, f"tag of {file.name}; its libraries need {by_symbol}")


def arch_flags(strings: set[str], file: File) -> list[str]:
    """Return the list of architectures that torch was compiled for; there must be one."""
    lists = [text for text in strings if not text.startswith("GLIBC_")]
    if len(lists) != 1:
        raise WheelError(f"{file.name}: {len(lists)} lists of architectures in libtorch_python.so")
    return lists[0].split()


def capability(flag: str) -> str:
    """Return 10.0 for sm_100 or compute_100a."""
    digits = flag.partition("_")[2].rstrip("af")
    return f"{digits[:-1]}.{digits[-1]}"


def build_capability(flag: str) -> str:
    """Return 9.0 for 9.0a or 9.0+PTX."""
    match = re.match(r"\d{1,2}\.\d", flag)
    if match is None:
        raise WheelError(f"{flag[:40]!r} is not an architecture")
    return match.group()


def cxx11_abi(wheel: Wheel) -> str:
    """Return whether the exported constructor of c10::Error takes the new std::string."""
    strings = scan(wheel.chunks(C10), _CONSTRUCTOR)
    if len(strings) != 1:
        raise WheelError("libc10.so does not export one form of c10::Error")
    return "false" if strings == {"Ss"} else "true"


def torch_cuda(wheel: Wheel) -> str | None:
    """Return the CUDA of a torch build, None for a build without."""
    match = _CUDA.search(wheel.text("torch/version.py"))
    if match is None:
        raise WheelError("torch/version.py does not name its CUDA")
    return match.group(2)


def json_member(wheel: Wheel, name: str) -> dict[str, dict[str, object]]:
    """Return a member that holds mappings by name."""
    try:
        data = json.loads(wheel.text(name))
    except (ValueError, RecursionError) as error:
        raise WheelError(f"{name} is not JSON") from error
    if not isinstance(data, dict) or not all(isinstance(value, dict) for value in data.values()):
        raise WheelError(f"{name} has another form than known")
    return data


def requirements(index: Index, file: File) -> Iterator[Requirement]:
    """Yield what METADATA requires; what is no requirement is left out."""
    for line in index.metadata(file).get_all("Requires-Dist", [])[:2000]:
        try:
            yield Requirement(line[:2000])
        except InvalidRequirement:  # noqa: PERF203 -- each line may be one
            continue


def requirement(
    index: Index, file: File, name: str, environment: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """Return specifier and marker of what is required in an environment, without extras."""
    for found in requirements(index, file):
        if found.name == name and (not found.marker or found.marker.evaluate(dict(environment))):
            if not str(found).isprintable():
                raise WheelError(f"{file.name}: a requirement that cannot be printed")
            return str(found.specifier) or None, str(found.marker) if found.marker else None
    return None, None


def environment(release: Release, machine: str) -> dict[str, str]:
    """Return what markers are judged by: Linux, the machine, the oldest Python with a wheel."""
    python = pythons(release, machine)[0].rstrip("t")
    return {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": machine,
        "python_version": python,
        "python_full_version": f"{python}.0",
        "extra": "",
    }
