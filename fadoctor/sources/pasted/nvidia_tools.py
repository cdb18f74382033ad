"""``nvidia-smi`` (its table, ``-q``, ``-L``, CSV) and ``nvcc --version``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim, PastedLine, gpu_claims
from fadoctor.sources.pasted.names import GPU_NAME
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
# GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d1f3ea1-...)
_LISTED = compiled(r"\s{0,8}GPU (?P<index>\d{1,3}): (?P<name>[^()]{3,80}) \(UUID: [^()\n]{1,80}\)")
# Driver Version                            : 550.54.15
_QUERY = compiled(
    r"\s{0,8}(?P<key>Driver Version|CUDA Version|Product Name)\s{2,60}: (?P<value>\S[^\n]{0,80})"
)
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
_COLUMNS = {"driver_version": "driver.version", "compute_cap": "gpu[].compute_capability"}


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield the driver, its CUDA, the GPUs and the toolkit."""
    columns: list[str] = []
    row = queried = 0
    for line in lines:
        if release := _RELEASE.search(line.text):
            yield Claim("toolkit.nvcc.version", release["found"], line.number, "nvcc --version")
        elif banner := _BANNER.search(line.text):
            yield from _driver(banner["driver"], banner["cuda"] or "", line.number)
        elif gpu := _ROW.search(line.text) or _LISTED.fullmatch(line.text):
            yield from gpu_claims(int(gpu["index"]), gpu["name"], line.number, TOOL)
        elif said := _QUERY.fullmatch(line.text):
            yield from _queried(said["key"], said["value"].strip(), queried, line.number)
            queried += said["key"] == "Product Name"
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


def _queried(key: str, value: str, index: int, line: int) -> Iterator[Claim]:
    if key == "Product Name":
        yield from gpu_claims(index, value, line, TOOL)
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
        yield from gpu_claims(index, row["name"], line, TOOL)
    for column, name in _COLUMNS.items():
        if re.fullmatch(r"\d{1,5}(\.\d{1,5}){1,3}", row.get(column, "")):
            yield Claim(name.replace("[]", f"[{index}]"), row[column], line, TOOL)
