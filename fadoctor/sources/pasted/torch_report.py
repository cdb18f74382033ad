"""``python -m torch.utils.collect_env``, and vLLM's ``collect-env``, which has grown out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.catalogue import build_catalogue, find_spec
from fadoctor.sources.pasted.claims import (
    AVAILABLE,
    INSTALLER,
    NOT_SAID,
    RUNTIME,
    Claim,
    PastedLine,
    gpu_claims,
    platform_claims,
)
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from fadoctor.model.fact import Value

TOOL = "torch.utils.collect_env"

# PyTorch version: 2.7.1+cu126
_PAIR = compiled(r"\s{0,8}(?P<key>[A-Za-z][\w /()-]{1,60}?)\s{0,30}: ?(?P<value>[^\n]{0,400})")
_VERSION = compiled(r"v?(?P<found>\d{1,5}(?:\.\d{1,5}){1,3}[\w.+-]{0,60})")
_SHORT = compiled(r"(?P<found>\d{1,3}\.\d{1,3})(?:\.\d{1,4})?")
# (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
# (GCC) 8.5.0 20210514 (Red Hat 8.5.0-3) | gcc (GCC) 11.3.0, as vLLM's report has it, too
_LAST = compiled(
    r"(?:gcc )?(?:\([^)]{0,120}\) ?)?(?P<found>\d{1,3}(?:\.\d{1,3}){1,2})"
    r"(?: \d{8})?(?: \([^)]{0,80}\))?"
)
# Ubuntu 22.04.5 LTS (x86_64), Red Hat Enterprise Linux release 8.3 (Ootpa) (x86_64)
_SYSTEM = compiled(
    r"(?P<found>(?!Microsoft|Windows|macOS|Mac )[A-Z][^\n]{2,100}?) \((?:x86_64|aarch64)\)"
)
# 3.11.7 (main, May  9 2026, 07:35:25) [GCC 12.2.0] (64-bit runtime)
_PYTHON = compiled(r"(?P<found>(\d{1,2})\.(\d{1,3})\.\d{1,3})[^(]{0,60}\(")
_LIBC = compiled(r"glibc-(?P<found>\d{1,2}\.\d{1,3})")
_GPU = compiled(
    r"\s{0,8}(?:GPU models and configuration\s{0,30}: ?)?GPU (?P<index>\d{1,3}): (?P<name>.{1,200})"
)
# [pip3] flash-attn==2.8.3, [conda] torch 2.6.0 pypi_0 pypi
_LISTED = compiled(
    r"\s{0,8}\[(?P<by>pip3?|conda)\]\s{1,8}(?P<name>[A-Za-z0-9][\w.-]{0,100})(?:==|\s{1,60})"
    r"(?P<version>\d[\w.+!-]{0,80})(?:\s{1,60}(?P<rest>\S[^\n]{0,200}))?"
)
# what a report of vLLM ends with: NAME=value
_VARIABLE = compiled(r"(?P<key>[A-Z][A-Z0-9_]{3,60})=(?P<value>.{0,500})")

# PyTorch version: 2.7.1+cu126, and what vLLM's report of later releases begins with: its first
# heading, System Info, and "PyTorch version              : 2.9.0+cu128"
_BEGINS = compiled(r"\s{0,12}(?:(?:PyTorch version|Is debug build)\s{0,30}:|System Info\s{0,4}$)")

#         "nvidia_driver_version": "552.44", of what A1111 makes of the same report
_FIELD = compiled(
    r"\s{0,24}\"(?P<key>[a-z_]{5,40})\": \"(?P<value>[^\"\n]{1,400})\",?"
    r"|\s{0,24}\"(?P<package>[A-Za-z0-9][\w.-]{0,100})==(?P<version>\d[\w.+!-]{0,80})\",?"
)
#         "pip_packages": [
_LIST = compiled(r"\s{0,24}\"(?:pip_p|P)ackages\": \[")
_FIELDS = {
    "torch_version": "PyTorch version",
    "cuda_compiled_version": "CUDA used to build PyTorch",
    "hip_compiled_version": "ROCM used to build PyTorch",
    "gcc_version": "GCC version",
    "libc_version": "Libc version",
    "os": "OS",
    "python_version": "Python version",
    "python_platform": "Python platform",
    "is_cuda_available": "Is CUDA available",
    "cuda_runtime_version": "CUDA runtime version",
    "nvidia_driver_version": "Nvidia driver version",
}
"""Names of torch's `SystemEnv` -> the words that its report has for them."""

_NONE = "No CUDA"
"""What the tool writes only where torch sees no GPU, and nvidia-smi names no GPU and no driver."""

_GPUS = "GPU models and configuration"
_COUNTS = ("gpu.count", "gpu.visible_count")

_ANSWERS = {"True": True, "False": False, "Yes": True, "No": False}
"""Of torch since 1.5, and of those before it."""

_ONE = {
    "PyTorch version": (RUNTIME, _VERSION),
    "CUDA runtime version": ("toolkit.nvcc.version", _SHORT),
    "GCC version": ("toolkit.gcc.version", _LAST),
    "Libc version": ("host.glibc", _LIBC),
    "OS": ("host.distribution", _SYSTEM),
    "Nvidia driver version": ("driver.version", _VERSION),
    "vLLM Version": ("package:vllm", _VERSION),
}


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what these reports say; other lines of the same shape say nothing."""
    inside, catalogue, in_list = False, build_catalogue(), False
    for line in lines:
        in_list = '"' in line.text and (in_list or _LIST.match(line.text) is not None)
        if '"' in line.text and (field := _FIELD.fullmatch(line.text)):
            yield from _field(field, line) if in_list or field["key"] else ()
            continue
        inside = inside or _BEGINS.match(line.text) is not None
        if not inside:
            continue
        if gpu := _GPU.fullmatch(line.text):
            yield from gpu_claims(int(gpu["index"]), gpu["name"], line.number, TOOL)
        elif listed := _LISTED.fullmatch(line.text):
            yield from _package(listed, line)
        elif variable := _VARIABLE.fullmatch(line.text.strip()):
            if find_spec(catalogue, f"env.{variable['key']}") is not None:
                yield Claim(f"env.{variable['key']}", variable["value"], line.number, TOOL)
        elif pair := _PAIR.fullmatch(line.text):
            yield from _pair(pair["key"].strip(), pair["value"].strip(), line.number)


def _field(found: re.Match[str], line: PastedLine) -> Iterator[Claim]:
    """Yield what a field of the report says where a program has written it as JSON."""
    if found["package"]:
        yield Claim(f"package:{found['package']}", found["version"], line.number, TOOL)
    elif found["key"] in _FIELDS:
        yield from _pair(_FIELDS[found["key"]], found["value"], line.number)
    elif found["key"] == "nvidia_gpu_models":
        for number, model in enumerate(found["value"].split("\\n")):
            gpu = _GPU.fullmatch(model)
            name = gpu["name"] if gpu else model
            yield from gpu_claims(int(gpu["index"]) if gpu else number, name, line.number, TOOL)


def _package(found: re.Match[str], line: PastedLine) -> Iterator[Claim]:
    """Yield a package; of conda's list only what pip has put there, which keeps pip's names."""
    if found["by"] == "conda" and not (found["rest"] or "").startswith("pypi"):
        if found["name"] == "pytorch":
            yield Claim(INSTALLER, "conda", line.number, TOOL)
        return
    yield Claim(f"package:{found['name']}", found["version"], line.number, TOOL)
    if found["name"] == "torch":
        yield Claim(INSTALLER, "pip", line.number, TOOL)


def _pair(key: str, value: str, line: int) -> Iterator[Claim]:
    if key in _ONE:
        name, pattern = _ONE[key]
        found = pattern.fullmatch(value)
        if found is not None:
            yield Claim(name, found["found"], line, TOOL)
    elif key == "CUDA used to build PyTorch":
        yield from _cuda(value, line)
    elif key == "ROCM used to build PyTorch" and (found := _VERSION.fullmatch(value)):
        yield Claim("torch.hip", found["found"], line, TOOL)
    elif key == "Python platform":
        yield from platform_claims(value, line, TOOL)
    elif key == "Python version":
        yield from _python(value, line)
    elif key == _GPUS and value == _NONE:
        yield from (Claim(name, 0, line, TOOL) for name in _COUNTS)
    elif key == _GPUS and value not in NOT_SAID:
        # AMD Instinct MI300X (gfx942:sramecc+:xnack-): on ROCm without a number
        yield from gpu_claims(0, value, line, TOOL)
    elif key == "Is CUDA available" and value in _ANSWERS:
        yield Claim(AVAILABLE, _ANSWERS[value], line, TOOL)


def _cuda(value: str, line: int) -> Iterator[Claim]:
    """Yield the CUDA of torch; where torch knows none the tool could not collect it."""
    found = _SHORT.fullmatch(value)
    if found is not None:
        yield Claim("torch.cuda", found["found"], line, TOOL)
    elif value in NOT_SAID and value != "N/A":
        yield Claim("torch.cuda", None, line, TOOL)


def _python(value: str, line: int) -> Iterator[Claim]:
    found = _PYTHON.match(value)
    if found is None:
        return
    free = "free-threading" in value
    said: dict[str, Value | None] = {"python.version": found["found"], "python.free_threaded": free}
    if "[PyPy" not in value:
        tag = f"cp{found[2]}{found[3]}"
        said |= {"python.implementation": "cpython", "python.tag": tag}
        said["python.abi_tag"] = f"{tag}t" if free else tag
    for name, fact in said.items():
        yield Claim(name, fact, line, TOOL)
