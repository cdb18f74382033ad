"""Lines of a name and its value, whoever wrote them: a tool, a form, a table, a person.

PyTorch: 2.4.0+cu121 | ### PyTorch Version, and 2.9.1 below | GPU 型号: RTX 4090 | Device: cuda:0 T4
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.environment import SUBJECT_LIMIT
from fadoctor.sources.pasted.claims import (
    AVAILABLE,
    NOT_SAID,
    RUNTIME,
    Claim,
    gpu_claims,
    platform_claims,
)
from fadoctor.sources.pasted.names import GPU_NAME, PLAIN_VERSION, WISH, distribution_of, driver_of
from fadoctor.sources.pasted.sizes import size_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.sources.pasted.claims import PastedLine

TOOL = "a line with a name and its value"

_MARKERS = compiled(r"[\s>*•·●\u2502\u2503|]{0,12}(?:[-+] {1,4}|\d{1,2}[.)] |#{1,6} )?[*_`\"]{0,3}")
# PyTorch version: 2.4.0 | **Torch** = 2.4 | torch -> 2.4 | torch version .... 2.4.0
_PAIR = compiled(
    r"(?P<key>[^\x00-@\[-`{-\x7f][^\x00-\x1f!-&+:-><@\\^{-\x7f]{0,60}?)[`*_ ]{0,8}"
    r"(?::|=|->|\u2192|\.{3,60}|\u662f|\u4e3a)[`*_ ]{0,60}(?P<value>[^\s:=][^\n]{0,200})"
)
_HEADING = compiled(r"(?:#{1,6} {1,4}|\*\*|__)(?P<key>[^#*\n]{2,60}?)(?:\*\*|__)?:?\s{0,4}#{0,6}")
_TRIM = compiled(r"[`*\"'\[\]]{1,4}")
_SUFFIX = compiled(
    r"(?i)(?:[\s_.-]{0,4}(?:\(gpu\?\)|__version__|\u7684?\u7248\u672c\u53f7?"
    r"|\u306e?\u30d0\u30fc\u30b8\u30e7\u30f3|\ubc84\uc804)"
    r"|(?:^|[\s_.-]{1,4})(?:version number|versions?|ver\.?|installed))[\s?]{0,4}$"
)
_PREFIX = compiled(r"(?i)(?:installed|current|my|your|using|the)\s{1,4}")

_INTERFACES = {
    "flash attention": "flash-attn", "flashattention": "flash-attn",
    "flash-attention": "flash-attn", "flash attention 2": "flash-attn",
    "flash_attention": "flash-attn",
}  # fmt: skip
"""What a form calls a package; in a sentence it is the name of an interface."""
_DRIVERS = frozenset({
    "driver", "nvidia driver", "gpu driver", "cuda driver", "nvidia gpu driver", "graphics driver",
    "nvidia driver on your system", "驱动", "显卡驱动", "驱动程序", "nvidia 驱动", "nvidia驱动",
    "ドライバ", "ドライバー", "드라이버", "driverversion", "nvidia driver on system",
})  # fmt: skip
_GPUS = frozenset({
    "name", "gpu", "gpus", "gpu model", "gpu type", "gpu name", "gpu models", "gpu info",
    "gpu device",
    "graphics card", "video card", "device name", "cuda device", "cuda device name", "accelerator",
    "cuda gpu", "nvidia gpu", "card", "device", "hardware", "gpu hardware", "gpu 0", "device 0",
    "显卡", "显卡型号", "gpu型号", "gpu 型号", "顯卡", "グラフィックボード", "그래픽카드",
    "graphics",
})  # fmt: skip
_NUMBERED_GPU = compiled(
    r"(?:gpu|device|cuda device)[ #\[]{0,3}(?P<indexes>\d{1,2}(?:, ?\d{1,2}){0,15})\]?"
)
_CAPABILITIES = frozenset({
    "compute capability", "cuda capability", "gpu compute capability", "cuda compute capability",
    "device capability", "sm", "cc", "算力", "计算能力", "highest compute capability",
    "max compute capability",
})  # fmt: skip
_COUNTS = frozenset({
    "gpu number", "gpu count", "gpus count", "number of gpus", "num gpus", "gpu数量", "显卡数量",
})  # fmt: skip
_NUMBER = "gpu.number"
"""What says how many of the one GPU there are that another line names."""
_NUMBERED_CAPABILITY = compiled(r"gpu (?P<indexes>\d{1,2}(?:, ?\d{1,2}){0,15}) compute capability")
_TORCH_CUDA = frozenset({
    "torch.version.cuda", "torch cuda", "pytorch cuda", "cuda used to build pytorch",
    "cuda used to build torch", "pytorch built with cuda", "torch built with cuda",
    "cuda (torch)", "cuda (pytorch)", "torch cuda version",
})  # fmt: skip
_AVAILABLE = frozenset({
    "torch.cuda.is_available()", "torch.cuda.is_available", "cuda available", "is cuda available",
    "cuda is available", "cuda_available", "gpu available", "cuda support", "cuda 可用", "cuda可用",
})  # fmt: skip
_PLATFORMS = frozenset({
    "os", "platform", "operating system", "system", "python platform", "操作系统", "系统",
    "os version", "운영체제", "オペレーティングシステム",
})  # fmt: skip
_PYTHONS = frozenset({"python", "python3", "python interpreter", "py", "python_version"})
_KEYS = (
    _PYTHONS | _DRIVERS | _TORCH_CUDA | _COUNTS | _AVAILABLE | _PLATFORMS | _CAPABILITIES | _GPUS
)
_NUMBERED = (_NUMBERED_GPU, _NUMBERED_CAPABILITY)
"""What names the interpreter, the driver, the system or a GPU: whole, and with numbers."""

_MISSING = frozenset({
    "not installed", "not installed (na)", "not found", "module not found", "not available",
    "package not installed", "未安装", "没有安装", "没装",
})  # fmt: skip
"""What tools, and who fills in a form, write of a package that is not there."""

_SYSTEMS = (
    (compiled(r"(?i)windows|\bwin ?(?:10|11)\b|\bwin32\b|\bwin64\b"), "windows"),
    (compiled(r"(?i)wsl"), "linux"),
    (compiled(r"(?i)ubuntu|debian|centos|rhel|red hat|fedora|rocky|\barch\b|linux"), "linux"),
    (compiled(r"(?i)mac ?os|darwin|os x"), "macos"),
)
_SHORT = compiled(r"(?P<version>\d{2}\.\d{1,2})(?:\.\d{1,4})?")
_CAPABILITY = compiled(r"\(?(?:sm_?)?(?P<major>\d{1,2}?)(?:[., ]{1,2})?(?P<minor>\d)[af]?\)?")
_PYTHON = compiled(r"v?(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)(?![\w.])")
_ENOUGH = compiled(r"[\s,;(|/\u2022\u00b7].{0,200}", re.DOTALL)
_TRUE, _FALSE = frozenset({"true", "yes", "available", "是"}), frozenset({"false", "no", "否"})
# cuda:0 Tesla T4 : cudaMallocAsync | NVIDIA A40, 46068 MiB | 2x A100 80GB | RTX 4090 (24GB)
_DEVICE = compiled(
    r"(?:cuda:\d{1,2} )?(?:(?P<times>\d{1,2}) ?[x\u00d7*] ?)?(?P<name>[A-Za-z][\w ./+()-]{1,70}?)"
    r"(?:(?: ?[x\u00d7*] ?|, ?count:? ?)(?P<after>\d{1,2}))?"
    r"(?: : \w{1,30}|(?:, ?| \(?)(?P<memory>\d{1,6} ?(?:MiB|GiB|MB|GB|G))(?: VRAM)?\)?"
    r"|, .{0,80})?"
)
_MAKER = compiled(r"(?:NVIDIA|AMD) [A-Z]")
# GTX 1080 Ti (Pascal, compute capability 6.1), but not: Radeon 8060S (gfx1151)
_REMARK = compiled(r" ?\((?![^)]{0,60}gfx)(?P<remark>[^()]{1,120})\)?")
_REMARKED = compiled(
    r"(?i)(?:capability|\bcc)[ :=]{0,3}(\d{1,2})\.(\d)(?![\d.])|\bsm_?(\d{1,2})(\d)\b"
)
# Device 0: NVIDIA CMP 40HX, compute capability 7.5, VMM: yes; llama.cpp for ROCm says it, too
_LISTED = compiled(r"(?!(?:AMD|Radeon))[^,\n]{3,80}, (compute capability \d{1,2}\.\d)(?![\d.])")
_CELLS = compiled(r"\s{0,3}\|\s{0,3}|\t{1,4}")
_RULE = compiled(r"[\s|:+=-]{3,200}")


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what pairs of a known name and a value say."""
    claims = [*_pairs(lines)]
    number = next((claim for claim in claims if claim.name == _NUMBER), None)
    yield from (claim for claim in claims if claim.name != _NUMBER)
    if number is None or any(claim.name.startswith("gpu[1]") for claim in claims):
        return
    first = [claim for claim in claims if claim.name.startswith("gpu[0].")]
    for index in range(1, min(int(str(number.value)), SUBJECT_LIMIT)):
        for claim in first:
            name = claim.name.replace("[0]", f"[{index}]")
            yield Claim(name, claim.value, claim.line, claim.tool)


def _pairs(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    heading, columns = "", list[str]()
    for line in lines:
        text = line.text.strip()
        cells = _cells(text)
        if columns and not _RULE.fullmatch(text):
            if len(cells) == len(columns):
                for key, value in zip(columns, cells, strict=True):
                    yield from said(key, value, line.number)
            columns = []
        if heading and not text.startswith("#"):
            yield from said(heading, text.lstrip("-* "), line.number)
            heading = ""
        elif found := _HEADING.fullmatch(text):
            heading = found["key"]
            continue
        if len(cells) > 1 and all(map(_is_key, cells)):
            columns = cells
        elif len(cells) > 1 and "|" in text:
            yield from said(cells[0], cells[1], line.number)
        elif pair := _PAIR.fullmatch(text, _MARKERS.match(text).end()):  # type: ignore[union-attr] # it matches nothing, too
            yield from said(pair["key"], pair["value"], line.number)


def _cells(text: str) -> list[str]:
    if "|" not in text and "\t" not in text:
        return []
    return [cell.strip(" `*") for cell in _CELLS.split(text.strip("| ")) if cell.strip(" `*")]


def _is_key(cell: str) -> bool:
    key = key_of(cell)
    return bool(distribution_of(key)) or key in _PYTHONS | _DRIVERS | _GPUS | _TORCH_CUDA


def key_of(text: str) -> str:
    """Return a key in small letters, without marks and the word for version."""
    plain = _TRIM.sub("", text).strip(" -_*").lower()
    plain = _PREFIX.sub("", plain, count=1) if _PREFIX.match(plain) else plain
    # PyTorch version (GPU?)
    return _SUFFIX.sub("", _SUFFIX.sub("", plain)).strip(" :_-")


def said(name: str, text: str, line: int) -> Iterator[Claim]:
    """Yield what a value says of what a key names; nothing where either is not known."""
    key, value = key_of(name), _TRIM.sub("", text).strip(" *_.,;|")
    distribution = distribution_of(key) or _INTERFACES.get(key, "")
    if distribution and value.lower() in _MISSING:
        yield Claim(f"package:{distribution}", None, line, TOOL)
        return
    if not value or value in NOT_SAID or not (distribution or _is_of_machine(key)):
        return
    if WISH.search(value):
        return
    if distribution:
        yield from _package(distribution, value, line)
    else:
        yield from _of_machine(key if "." in key else key.replace("_", " "), value, line)


def _is_of_machine(key: str) -> bool:
    """Return whether a key may name the interpreter, the driver, the system or a GPU."""
    named = key if "." in key else key.replace("_", " ")
    return named in _KEYS or any(each.fullmatch(named) for each in _NUMBERED)


def _of_machine(key: str, value: str, line: int) -> Iterator[Claim]:
    """Yield what a value says of the interpreter, the driver, the system or a GPU."""
    if key in _PYTHONS:
        yield from _one("python.version", _PYTHON.match(value), line)
    elif key in _DRIVERS:
        if version := driver_of(value):
            yield Claim("driver.version", version, line, TOOL)
    elif key in _TORCH_CUDA:
        yield from _torch_cuda(value, line)
    elif key in _COUNTS and value.isdecimal() and int(value) <= SUBJECT_LIMIT:
        yield Claim(_NUMBER, int(value), line, TOOL)
    elif key in _AVAILABLE:
        yield from _available(value, line)
    elif key in _PLATFORMS:
        yield from _platform(value, line)
    else:
        yield from _of_gpu(key, value, line)


def _of_gpu(key: str, value: str, line: int) -> Iterator[Claim]:
    if key in _CAPABILITIES or (several := _NUMBERED_CAPABILITY.fullmatch(key)):
        found = _CAPABILITY.fullmatch(value)
        indexes = _indexes(several["indexes"]) if key not in _CAPABILITIES and several else [0]
        for index in indexes if found else ():
            capability = f"{found['major']}.{found['minor']}"  # type: ignore[index] # none without
            yield Claim(f"gpu[{index}].compute_capability", capability, line, TOOL)
            yield Claim(f"gpu[{index}].vendor", "nvidia", line, TOOL)
        return
    several = _NUMBERED_GPU.fullmatch(key)
    remark = _REMARK.search(value)
    told = remark["remark"] if remark else (_LISTED.match(value) or ("", ""))[1]
    value = _REMARK.sub("", value, count=1)
    device = _DEVICE.fullmatch(value) if several or key in _GPUS else None
    if device is None or not (GPU_NAME.search(value) or _MAKER.match(value)):
        return
    if key == "name" and not (value.startswith("cuda:") or _MAKER.match(value)):
        return
    many = int(device["times"] or device["after"] or 1)
    memory = size_of(device["memory"]) if (device["memory"] or "").endswith("MiB") else None
    for index in _indexes(several["indexes"]) if several else range(min(many, SUBJECT_LIMIT)):
        yield from gpu_claims(index, device["name"], line, TOOL, memory)
        if told and (found := _REMARKED.search(told)):
            capability = ".".join(part for part in found.groups() if part)
            yield Claim(f"gpu[{index}].compute_capability", capability, line, TOOL)


def _indexes(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _package(distribution: str, value: str, line: int) -> Iterator[Claim]:
    found = _version(value)
    if found is None:
        return
    labelled = distribution == "torch" and "+" in found
    yield Claim(RUNTIME if labelled else f"package:{distribution}", found, line, TOOL)


def _version(value: str) -> str | None:
    """Return the version that a value is, or begins with before a blank or a bracket."""
    found = PLAIN_VERSION.fullmatch(value)
    if found is None:
        head = compiled(r"[^\s,;(|/\u2022\u00b7]{1,90}").match(value)
        found = PLAIN_VERSION.fullmatch(head[0]) if head else None
        if found is None or not _ENOUGH.fullmatch(value[head.end() :]):  # type: ignore[union-attr] # found in it
            return None
    return found["version"].rstrip(".")


def _one(fact: str, found: re.Match[str] | None, line: int) -> Iterator[Claim]:
    if found is not None:
        yield Claim(fact, found["version"], line, TOOL)


def _torch_cuda(value: str, line: int) -> Iterator[Claim]:
    if found := _SHORT.match(value):
        yield Claim("torch.cuda", found["version"], line, TOOL)
    elif value == "None":
        yield Claim("torch.cuda", None, line, TOOL)


def _available(value: str, line: int) -> Iterator[Claim]:
    word = value.lower().split()[0]
    if word in _TRUE | _FALSE:
        yield Claim(AVAILABLE, word in _TRUE, line, TOOL)


def _platform(value: str, line: int) -> Iterator[Claim]:
    if exact := platform_claims(value, line, TOOL):
        yield from exact
        return
    system = next((name for pattern, name in _SYSTEMS if pattern.search(value)), "")
    if system:
        yield Claim("host.os", system, line, TOOL)
