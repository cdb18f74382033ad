"""``nvidia-smi`` (its table, ``-q``, ``-L``, CSV) and ``nvcc --version``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, gpu_claims
from fadoctor.sources.pasted.names import GPU_NAME
from fadoctor.sources.pasted.sizes import size_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.fact import Value

TOOL = "nvidia-smi"

# | NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |
# | NVIDIA-SMI 610.57.04    KMD Version: 610.57.04     CUDA UMD Version: 13.3   |
_BANNER = compiled(
    r"NVIDIA-SMI \S{1,30}\s{1,40}(?:Driver|KMD) Version: ?(?P<driver>\d{1,5}(?:\.\d{1,5}){1,3})"
    r"(?:\s{1,40}CUDA (?:UMD )?Version: ?(?P<cuda>\d{1,3}\.\d{1,3}))?"
)
# |   0  NVIDIA A100-SXM4-80GB          On  | 00000000:00:04.0 Off |                    0 |
_ROW = compiled(
    r"\|\s{1,6}(?P<index>\d{1,3})\s{1,4}(?P<name>[A-Z][\w ./+-]{2,60}?)\s{1,40}"
    r"(?:On|Off|N/A|WDDM|TCC|MCDM)\s{0,8}\|\s{1,4}[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:"
)
# | 30%   57C    P2   126W / 350W |  22712MiB / 24265MiB |      0%      Default |
_MEMORY = compiled(
    r"\|[^|]{1,60}\|\s{1,20}\d{1,7}MiB /\s{1,8}(?P<size>\d{1,7}MiB)\s{1,12}\|(?:[^|]{1,60}\|?)?"
)
# |                                         |                        |             Enabled* |
_MIG = compiled(r"\|\s{4,60}\|\s{4,60}\|\s{1,40}(?P<mode>Enabled|Disabled)\*?\s{0,8}\|")
# GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d1f3ea1-...)
_LISTED = compiled(r"\s{0,8}GPU (?P<index>\d{1,3}): (?P<name>[^()]{3,80}) \(UUID: [^()\n]{1,80}\)")
#   MIG 3g.40gb     Device  0: (UUID: MIG-7089d0f3-...), below the line of its GPU
_INSTANCE = compiled(r"\s{1,8}MIG \S{1,30}\s{1,20}Device\s{1,4}\d{1,2}: \(UUID: [^()\n]{1,80}\)")
# Driver Version                            : 550.54.15
_QUERY = compiled(
    r"\s{0,16}(?P<key>Driver Version|CUDA Version|Product Name|Total|Current)\s{2,60}: "
    r"(?P<value>\S[^\n]{0,80})"
)
#     FB Memory Usage, below which "Total : 49140 MiB" stands, as below others
_SECTION = compiled(r"\s{2,12}(?P<name>[A-Z][\w ]{2,40})")
# The head of a table: index, name, driver_version, memory.total [MiB]
_HEADER = compiled(
    r"(?:index|name|driver_version|compute_cap|memory\.total(?: \[MiB\])?|uuid)"
    r"(?:, ?(?:[a-z_.]{3,40}(?: \[\w{1,8}\])?)){0,20}"
)
# $ nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader
_ASKED = compiled(
    r"nvidia-smi [^\n]{0,80}--query-gpu[= ](?P<columns>[a-z_.,]{4,200})[^\n]{0,80}noheader"
)
_RELEASE = compiled(r"Cuda compilation tools, release (?P<found>\d{1,3}\.\d{1,3})")
_PARTS = ("Total", "Current")
_OF_BLOCKS = {"FB Memory Usage Total": "memory_bytes", "MIG Mode Current": "mig"}
"""Of a block of ``nvidia-smi -q``, the keys that say something of its GPU."""
_MODES = {"Enabled": True, "Disabled": False}
_COLUMNS = {"driver_version": "driver.version", "compute_cap": "gpu[].compute_capability"}


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield the driver, its CUDA, the GPUs and the toolkit."""
    several = tuple(lines)
    yield from _tables(several)
    yield from _queries(several)


def _queries(lines: tuple[PastedLine, ...]) -> Iterator[Claim]:
    """Yield what ``nvidia-smi -q`` says: names and values, in sections below each GPU."""
    queried, section = 0, ""
    for line in lines:
        if " : " in line.text and (said := _QUERY.fullmatch(line.text)):
            key = f"{section} {said['key']}" if said["key"] in _PARTS else said["key"]
            yield from _queried(key, said["value"].strip(), queried, line.number)
            queried += key == "Product Name"
        elif queried and (found := _SECTION.fullmatch(line.text)):
            section = found["name"]


def _tables(lines: tuple[PastedLine, ...]) -> Iterator[Claim]:
    columns: list[str] = []
    row, index = 0, -1
    for line in lines:
        if release := _RELEASE.search(line.text):
            yield Claim("toolkit.nvcc.version", release["found"], line.number, "nvcc --version")
        elif banner := _BANNER.search(line.text):
            yield from _driver(banner["driver"], banner["cuda"] or "", line.number)
        elif gpu := _ROW.search(line.text) or _LISTED.fullmatch(line.text):
            index = int(gpu["index"])
            yield from gpu_claims(index, gpu["name"], line.number, TOOL)
        elif index >= 0 and (told := _of_gpu(line.text)):
            yield Claim(f"gpu[{index}].{told[0]}", told[1], line.number, TOOL)
        elif asked := _ASKED.search(line.text):
            columns, row = asked["columns"].strip(",").split(","), 0
        elif _HEADER.fullmatch(line.text.strip()) and "," in line.text:
            columns, row = [cell.strip() for cell in line.text.split(",")], 0
        elif columns:
            cells = [cell.strip() for cell in line.text.split(",")]
            found = list(_row(columns, cells, row, line.number))
            columns, row = (columns, row + 1) if found else ([], 0)
            yield from found


def _driver(driver: str, cuda: str, line: int) -> Iterator[Claim]:
    yield Claim("driver.version", driver, line, TOOL)
    if cuda:
        yield Claim("driver.cuda", cuda, line, TOOL)


def _of_gpu(text: str) -> tuple[str, Value] | None:
    """Return what a line below the one that names a GPU says of it."""
    if "MiB /" in text and (memory := _MEMORY.fullmatch(text.strip())):
        size = size_of(memory["size"])
        return ("memory_bytes", size) if size else None
    if "abled" in text and (mode := _MIG.fullmatch(text.strip())):
        return "mig", mode["mode"] == "Enabled"
    return ("mig", True) if "MIG" in text and _INSTANCE.fullmatch(text) else None


def _queried(key: str, value: str, index: int, line: int) -> Iterator[Claim]:
    if key == "Product Name":
        yield from gpu_claims(index, value, line, TOOL)
    elif key in _OF_BLOCKS:
        size = size_of(value) if key.endswith("Total") else None
        told: Value | None = size if key.endswith("Total") else _MODES.get(value)
        if index and told is not None:
            yield Claim(f"gpu[{index - 1}].{_OF_BLOCKS[key]}", told, line, TOOL)
    elif re.fullmatch(r"\d{1,5}(\.\d{1,5}){1,3}", value):
        yield Claim(
            "driver.version" if key == "Driver Version" else "driver.cuda", value, line, TOOL
        )


def _row(columns: list[str], cells: list[str], index: int, line: int) -> Iterator[Claim]:
    """Yield what a row of a table says; nothing where it is none."""
    if len(cells) == len(columns):
        yield from _cells(dict(zip(columns, cells, strict=True)), index, line)


def _cells(row: dict[str, str], index: int, line: int) -> Iterator[Claim]:
    if GPU_NAME.search(row.get("name", "")):
        total = next((row[key] for key in row if key.startswith("memory.total")), "")
        memory = size_of(f"{total} MiB" if total.isdecimal() else total)
        yield from gpu_claims(index, row["name"], line, TOOL, memory)
    for column, name in _COLUMNS.items():
        if re.fullmatch(r"\d{1,5}(\.\d{1,5}){1,3}", row.get(column, "")):
            yield Claim(name.replace("[]", f"[{index}]"), row[column], line, TOOL)
