"""What single lines of a log say of an environment: versions, the GPU, the driver, file names.

They say less surely than the report of a tool does: a person or a program mentions them.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.model.packages import PACKAGES
from fadoctor.sources.logs.image_tags import PYTHON, tagged
from fadoctor.sources.logs.moved import moved
from fadoctor.sources.logs.named_files import file_claims, package_claim
from fadoctor.sources.logs.named_gpus import MOST, OF_CODE, SHORT, TOOL, named_gpus
from fadoctor.sources.logs.package_forms import other_forms, packages_in
from fadoctor.sources.pasted.claims import Claim
from fadoctor.sources.pasted.names import (
    NAME,
    NUMBERED,
    VERSION,
    distribution_of,
    is_wished,
)
from fadoctor.sources.targets.gpu_name import gpus_by_key
from fadoctor.syntax.held_words import held_words
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fadoctor.model.rule import Table
    from fadoctor.sources.logs.named_gpus import Spoken
    from fadoctor.sources.pasted.claims import PastedLine
    from fadoctor.sources.targets.gpu_name import GpuModel

FEW = 400
"""So few lines are read one by one."""

_PACKAGE_WORDS = tuple(
    sorted(
        {
            part
            for names in PACKAGES.values()
            for name in names
            if len(part := name.partition("-")[0]) > 2
        }
        | {"bnb"}
    )
)
_WORDS = (
    "python", "py3.", "driver", "nvcc", "toolkit", "驱动", "treiber", "ドライバ", "драйвер",
    "cpython-3", ".cp3", "libcuda.so.", "nvidia-ml.so.", "capability", "gpu",
    "tesla", "nvidia", "geforce", "quadro",
    "radeon", "instinct", "amd", "gfx", "显卡", "0xt", "0 xt", "0gre", "0 gre",
    "(you have ", "required but found ", "(found version ", "already satisfied",
    "torch.version.cuda", "detected cuda version", "torch was compiled with", "-openai:v",
    "gcc (", "gcc version ", "+cpu", "+cu1", "lmsysorg/", "/pytorch:", "-py3", "-cu1",
    "llm engine (v", "api server version", "nvidia-smi", "flash attention",
    "flashattention",
    "graded ", "updated ", "stayed ", "stays ", "is still ", "is stuck ",
)  # fmt: skip
"""What a line that says something holds, in small letters, beside versions and names of GPUs."""

# torch==2.6, flash-attn   2.6.1, transformers version: 4.41.2, flash-attn-2.8.3
_VERSION_BEHIND = compiled(
    r"[\w.+-]{0,60}(?: (?:info: )?version(?: \([\w.]{3,24}\))?)?(?: is|的?版本号?[是为]?)?"
    r"[`'\"*:=\s]{0,60}v?\d"
)
"""What stands where the version of a package does, from the first word of its name on."""

# Successfully installed flash-attn-2.8.3 torch-2.6.0
_INSTALLED = compiled(rf"(?<=\s)(?P<name>{NAME})-{VERSION}(?!\S)", re.IGNORECASE)
_SUCCESS = "Successfully installed"
# Requirement already satisfied: torch in /opt/venv/lib/python3.11/site-packages (2.6.0)
_THERE = compiled(rf"(?i)already satisfied: (?P<name>{NAME})\b[^\n]{{0,300}}\({VERSION}\)")
_SATISFIED = "already satisfied"

# pip install flash-attn==2.7.4.post1 --no-build-isolation | uv pip install "torch<2.8" vllm
_COMMAND = compiled(r"(?i)\b(?:pip3?|uv|conda|mamba|poetry) (?:pip )?(?:install|add)(?=[ \"'])")
_ARGUMENT = compiled(r"[=<>~/\[]|^[\"'`]{0,2}-|^[\"'`]?\d")
# pip install flash-attn fails on Windows, torch 2.7.1: it was run, and the rest is what is there
_FAILS = compiled(
    r"(?i)\W{0,3}(?:\w{1,10} ){0,2}?(?:fail|error|hangs|stuck|stops|crash|报错|失败|提示|显示"
    r"|(?:says|said|prints?|printed|gives|gave|ends|returns|raises|throws|reports|shows)\b)"
)
_NEAR = 40
_FOR = compiled(r"(?i)\b(?:for|if|when|use|使用)\s{0,4}$")
# ROCm does not work on my RX 6700 XT, it fails since torch 2.8: complaints, and no wish for a GPU
_NOT_WORKING = compiled(
    r"(?i)(?:n['\u2019`]?t|\bnot|\bnever|\bno longer|\bstop(?:s|ped)?)"
    r" (?:\w{1,8} )?work(?:s|ing)?\b|\bsince\b|\bincompatible with\b"
    r"|\b(?:after|when|while) (?:\w{1,8} )?(?:up|down)grading\b|\b(?:i|we) (?:up|down)graded\b"
)

# PyTorch 2.1.0+cu121 with CUDA 1201 (you have 2.1.2+cpu) | Python  3.10.13 (you have 3.10.11)
# Disabling PyTorch because PyTorch >= 2.4 is required but found 2.2.2
_YOU_HAVE = compiled(
    rf"(?P<name>PyTorch|Python)\s{{1,8}}[^(\n]{{1,80}}"
    rf"(?:\(you have {VERSION}\)|is required but found (?P<found>\d[\w.+]{{0,40}}))",
)
# The system info says "2.1.2+cpu" | version: 2.1.2+cpu: no other package has such a label
_CPU_BUILD = compiled(
    r"(?i)(?:^|(?<![=:] )(?<![=:])[\"'`(\u201c]|\b(?:versions?(?: is|:)?|shows?|says?|prints?|got) "
    r"|[\u662f\u4e3a])(?P<version>[12]\.\d{1,2}\.\d\+cpu)\b"
)
# AMD arch: gfx1201 | gpu_type=gfx1032, but none of a list: supported types:[gfx1030 gfx1100]
# and none of what a build is made for: bin-win-hip-x64-gfx1030
_A_GFX = compiled(
    r"(?<![\w,;])(?<![^e]=)(?<!\w-)(?P<found>gfx\d{3,4}[a-f]?)(?![\w;,]|[ \w]{0,240}\])"
)
_PLAIN = (
    # Python 3.10.12 | Python version: 3.10.12 | CPython 3.11.13 | Python-3.10, v3.10 | py3.10
    (
        "python.version",
        compiled(
            r"(?i:\bC?Python(?: version)?(?: is)?(?::? version)?[*`]{0,3}(?: ?[:=]|-)?[*`]{0,3}"
            r"|python版本[:是为]?|(?<![\w./-])py) {0,4}[*`]{0,3}v?"
            r"(?P<found>3\.\d{1,2}(?:\.\d{1,2})?)\b"
        ),
    ),
    # Driver Version: 535.129.03 | nvidia driver 525.105 | 驱动版本是 535.104
    (
        "driver.version",
        compiled(
            r"(?i:\bDrivers?(?: Version)?(?: is| was)?[:=]?|驱动(?:程序)?(?:版本)?[是为:\uff1a]?"
            r"|Treiber(?:version)?:?|ドライバー?(?:のバージョン)?[は:]?|драйвер:?"
            r"|NVRM version: NVIDIA UNIX [\w ]{0,40}Kernel Module(?: for \w{3,12})?) {0,4}v?"
            r"(?P<found>[3-6]\d{2}\.\d{2,3}(?:\.\d{2,3})?)\b(?!\.\d)"
        ),
    ),
    # the 525.105.17 driver | NVIDIA 545.23.08
    (
        "driver.version",
        compiled(
            r"(?:(?<![\w.-])(?=[\d.]{6,11} (?i:(?:nvidia|game[ -]ready|studio|linux) )?"
            r"(?i:drivers?)\b)"
            r"|\b(?:NVIDIA|Nvidia|nvidia) v?(?=\d{3}\.\d{2,3}\.\d{2}\b))"
            r"(?P<found>[3-6]\d{2}\.\d{2,3}(?:\.\d{2,3})?)(?![\w.]*\d)"
        ),
    ),
    # nvidia-smi shows CUDA 12.2 | nvidia-smi: CUDA Version: 11.4 | nvidia-smi says 12.4
    (
        "driver.cuda",
        compiled(
            r"(?i:\bnvidia-smi\b[`'\"*]{0,3}\s?"
            r"(?:(?:show|say|report|give|print|display)s?|显示|[:=\uff1a]|->)"
            r"[^\w\n]{0,4}(?:cuda(?: version)?[^\w\n]{0,4})?)"
            r"(?P<found>1[0-4]\.\d)\b(?!\.\d| ?(?:[GM]i?B|%|W\b))"
        ),
    ),
    # CUDA Version 12.4 in nvidia-smi
    (
        "driver.cuda",
        compiled(
            r"(?i:\bcuda(?: version)?[:=]? {0,2})(?P<found>1[0-4]\.\d) "
            r"(?:(?:in|by|from|per|according to) |\()`{0,3}nvidia-smi\b"
        ),
    ),
    # gcc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0, but not: Python 3.11 [GCC 11.4.0] on linux
    (
        "toolkit.gcc.version",
        compiled(
            r"(?<![\w.\[-])(?i:gcc|g\+\+)(?: \([^()\n]{1,60}\))?(?: version| is|:)?:? "
            r"v?(?P<found>\d{1,2}\.\d{1,2}\.\d{1,2})(?![\w.]*\d)"
        ),
    ),
    # nvcc is 11.8 | nvcc release 12.1 | nvcc -V: V12.4.131 | CUDA toolkit 12.4 installed
    (
        "toolkit.nvcc.version",
        compiled(
            r"(?i:\bnvcc(?: ?(?:-V|--version)[`'\"]{0,2})?"
            r"(?: ?(?:version|release|is|ist|says it is|=|:|是|は|显示"
            r"|(?:report|say|show|give|print)s?)){0,2}"
            r"|\bcuda toolkit(?: version)?(?: is)?) {0,2}"
            r"(?:v?(?=\d{1,2}\.\d\b(?!\.\d{3}))|V(?=\d{1,2}\.\d\.\d{2,3}\b))(?P<found>\d{1,2}\.\d)\b"
        ),
    ),
    # torch is built with CUDA 12.1 | pytorch compiled for cuda 11.8
    (
        "torch.cuda",
        compiled(
            r"(?i:\b(?:py)?torch\b(?: ?v?\d\.\d{1,2}(?:\.\d)?)?[^.;,\n]{0,30}"
            r"\b(?:with|for|mit|against) (?:support for )?cuda) ?(?P<found>\d{1,2}\.\d)\b"
        ),
    ),
    # CUDA version (torch.version.cuda): 12.1
    (
        "torch.cuda",
        compiled(
            r"torch\.version\.cuda\b[)`*'\"]{0,3}\s?(?:[:=]{1,2}|is)?\s{0,4}[`*'\"]{0,3}"
            r"(?P<found>\d{1,2}\.\d)(?!\w|\.\d)"
        ),
    ),
    # | NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |
    ("driver.cuda", compiled(r"Driver[^\n]{0,80}CUDA Version: {0,4}(?P<found>\d{2}\.\d{1,2})\b")),
    # msg="inference compute" id=0 library=CUDA compute=8.6 driver=12.2: Ollama's CUDA of the driver
    (
        "driver.cuda",
        compiled(r"\blibrary=(?:CUDA|cuda)\b[^\n]{0,120}? driver=(?P<found>1\d\.\d{1,2})(?![\w.])"),
    ),
    # Your Tesla P40 GPU has compute capability 6.1. | with CUDA capability sm_120 is not compatible
    (
        "gpu[0].compute_capability",
        compiled(
            r"(?i:\b(?:gpu|device|card)\b[^\n]{0,60}? (?:has|of|with) (?:a )?(?:cuda )?"
            r"(?:compute )?capability:? ?\(?)(?P<found>\d{1,2}[., ]{1,2}\d)\b"
        ),
    ),
    ("gpu[0].gfx", _A_GFX),
)
# The NVIDIA driver on your system is too old (found version 12040).
_DRIVER_CUDA = compiled(r"\(found version (?P<major>\d{2})0(?P<minor>\d)0\)")
# with CUDA capability sm_120 | [TRT-LLM] [I] Compute capability: (7, 5)
# Highest Compute Capability: (8, 6)., as bitsandbytes says it
_CAPABILITY = compiled(
    r"(?:with CUDA capability sm_|\[TRT-LLM\] \[I\] Compute capability: \("
    r"|\bHighest Compute Capability: \()"
    r"(?P<major>\d{1,2})(?:, )?(?P<minor>\d)\b"
)

# The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4).
# Installed CUDA version 10.1 does not match the version torch was compiled with 11.7
_COMPILED_WITH = compiled(
    r"(?:used to compile PyTorch \(|PyTorch \((?=[\d.]{3,6}\)\. Please make sure)"
    r"|the version torch was compiled with "
    # torch's sentence and its values side by side: ('... PyTorch (%s). ...', '12.6', '13.0')
    r"|PyTorch \(%s\)\.[^\n]{1,70}', ?'[\d.]{3,6}', ?')(?P<found>\d{1,2}\.\d{1,2})(?![\d.]*\d)"
)


def mentions(lines: Sequence[PastedLine], tables: Mapping[str, Table]) -> Iterator[Claim]:
    """Yield what single lines say is installed, is there, or ran."""
    models: dict[str, GpuModel] = {}
    for line in lines if len(lines) <= FEW else _worth_reading(lines, tables):
        if not NUMBERED.search(line.text):
            continue
        yield from file_claims(line)
        if exact := [*_you_have(line)] or [*_fixed_forms(line)]:
            yield from exact
        elif listed := [*_listed(line)]:
            yield from listed
        else:
            for name, version in moved(line.text):
                yield package_claim(name, version, line)
            wished: dict[tuple[int, int], bool] = {}
            commands = [*_commands(line.text)]
            pinned = [each[:2] for each in commands if each[2]]
            every = [each[:2] for each in commands]
            for claim, span in (*_plain(line), *named_gpus(line, models, tables)):
                if span not in wished:
                    is_gpu = claim.name.startswith("gpu[")
                    text = _without(line.text, every if is_gpu else pinned, span[0])
                    text = _NOT_WORKING.sub(_blank, text) if is_gpu else text
                    is_cpu = str(claim.value).endswith("+cpu") and "==" not in line.text
                    wished[span] = not is_cpu and is_wished(text, *span)
                if not wished[span]:
                    yield claim


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _worth_reading(
    lines: Sequence[PastedLine], tables: Mapping[str, Table]
) -> Iterator[PastedLine]:
    """Yield the lines of a long log that hold a word which a mention begins with.

    `str.find` over the whole text is many times faster than patterns on every line.
    """
    text = "\n".join(line.text for line in lines).lower()
    models = {gpu.name.lower().partition(" ")[0] for gpu in gpus_by_key(tables).values()}
    words = (*_WORDS, *(word for word in models if len(word) >= SHORT or word.isalpha()))
    held = held_words(text)
    found = {start for word in words if held[word] for start in _lines_with(word, text)}
    found |= {
        start
        for word in _PACKAGE_WORDS
        if held[word]
        for start in _lines_with(word, text, _VERSION_BEHIND)
    }
    start = 0
    for line, lowered in zip(lines, text.split("\n"), strict=True):
        if start in found:
            yield line
        start += len(lowered) + 1


def _lines_with(word: str, text: str, form: re.Pattern[str] | None = None) -> Iterator[int]:
    """Yield where lines begin that hold a word, and at it what a form says."""
    at = text.find(word)
    while at >= 0:
        behind = at + len(word)
        if form is None or form.match(text, at):
            yield text.rfind("\n", 0, at) + 1
            behind = text.find("\n", at)
        at = text.find(word, behind) if behind >= 0 else -1


def _listed(line: PastedLine) -> Iterator[Claim]:
    """Yield what pip says that it installed, or that was there."""
    for word, form in ((_SUCCESS, _INSTALLED), (_SATISFIED, _THERE)):
        for found in islice(form.finditer(line.text), MOST) if word in line.text else ():
            yield package_claim(found["name"], found["version"], line)


def _you_have(line: PastedLine) -> Iterator[Claim]:
    is_told = any(word in line.text for word in ("(you have ", "required but found"))
    found = _YOU_HAVE.search(line.text) if is_told else None
    if found is not None and found["name"] == "PyTorch":
        yield package_claim("torch", found["version"] or found["found"], line)
    elif found is not None:
        yield Claim("python.version", found["version"], line.number, TOOL)


def _commands(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where commands of installers begin and end, and whether one pins a release."""
    for command in islice(_COMMAND.finditer(text), MOST):
        end, pinned = command.end(), False
        for word in islice(re.finditer(r"\S+", text[command.end() :]), MOST):
            part = word[0].rstrip(",;.)`\"'")
            if not (_ARGUMENT.search(part) or distribution_of(part.strip("\"'`"))):
                break
            pinned |= "==" in part
            end = command.end() + word.end()
            if part != word[0]:
                break
        has_failed = _FAILS.match(text[end : end + _NEAR]) is not None
        yield command.start(), end, pinned or has_failed


def _without(text: str, commands: Sequence[tuple[int, int]], at: int) -> str:
    """Return a text without the commands that a mention is no argument of.

    What somebody installs says nothing against the version of what is named beside the command, and
    nothing at all against a GPU.
    """
    if _FOR.search(text[max(0, at - 12) : at]):
        return text
    for start, end in commands:
        if not start <= at < end:
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def _fixed_forms(line: PastedLine) -> Iterator[Claim]:
    """Yield what torch's own sentences say of the driver, the GPU and the build of an extension."""
    if found := _COMPILED_WITH.search(line.text):
        yield Claim("torch.cuda", found["found"], line.number, TOOL)
    if found := _DRIVER_CUDA.search(line.text):
        version = f"{found['major']}.{found['minor']}"
        yield Claim("driver.cuda", version, line.number, TOOL)
    if found := _CAPABILITY.search(line.text):
        capability = f"{found['major']}.{found['minor']}"
        yield Claim("gpu[0].compute_capability", capability, line.number, TOOL)
        yield Claim("gpu[0].vendor", "nvidia", line.number, TOOL)


def _plain(line: PastedLine) -> Iterator[Spoken]:
    lowered = line.text.lower()
    if any(word in lowered for word in _PACKAGE_WORDS):
        for found in packages_in(line.text, lowered):
            yield package_claim(found["name"], found["version"], line), found.span()
    for found in islice(_CPU_BUILD.finditer(line.text), MOST) if "+cpu" in lowered else ():
        yield package_claim("torch", found["version"], line), found.span()
    for name, version, span in other_forms(line.text, lowered):
        yield package_claim(name, version, line), span
    for each in tagged(line.text):
        if each.distribution == PYTHON:
            yield Claim("python.version", each.version, line.number, TOOL), each.span
        else:
            yield package_claim(each.distribution, each.version, line), each.span
    for name, form in _PLAIN:
        for found in islice(form.finditer(line.text), MOST):
            value = re.sub(r"[., ]{1,2}", ".", found["found"])
            is_code = name.endswith(".gfx") and line.text.endswith("amdhsa--", 0, found.start())
            yield Claim(name, value, line.number, OF_CODE if is_code else TOOL), found.span()
            if name.startswith("gpu"):
                vendor = "amd" if name.endswith(".gfx") else "nvidia"
                yield Claim("gpu[0].vendor", vendor, line.number, TOOL), found.span()
