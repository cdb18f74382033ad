"""What the names of files in a line say: of Python, the machine, a package, NVIDIA's driver."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.model.packages import TORCH
from fadoctor.sources.logs.named_gpus import MOST, TOOL
from fadoctor.sources.pasted.claims import RUNTIME, Claim, machine_facts
from fadoctor.sources.pasted.names import (
    NAME,
    VERSION,
    WINDOWS_DRIVER,
    distribution_of,
    is_wished,
    windows_driver,
)
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.pasted.claims import PastedLine

# flash_attn_2_cuda.cpython-312-aarch64-linux-gnu.so
_SO = compiled(
    r"\.cpython-3(?P<minor>\d{1,2})(?P<free>t?)-(?P<machine>x86_64|aarch64)-linux-gnu\.so"
)
# flash_attn_2_cuda.cp312-win_amd64.pyd
_PYD = compiled(r"\.cp3(?P<minor>\d{1,2})(?P<free>t?)-win_amd64\.pyd")
# /opt/venv/lib/python3.11/site-packages/
_FOLDER = compiled(r"[\\/]python3\.(?P<minor>\d{1,2})(?P<free>t?)[\\/](?:site|dist)-packages")
# File "C:\Users\me\AppData\Local\Programs\Python\Python310\lib\runpy.py", line 196: what runs
# C:\Users\me\.pyenv\pyenv-win\versions\3.10.11\lib\site-packages\wheel\wheel.py:4
_HOME = compiled(
    r"[\\/](?:Python3|versions[\\/]{1,4}3\.)(?P<minor>\d{1,2})(?P<free>)(?:-32|\.\d{1,2})?"
    r"[\\/]{1,4}(?:[Ll]ib|site-packages)[\\/]"
    r"[^\"\n]{1,200}\.py(?:\"?, line |:)\d"
)

# python_embeded\Lib\site-packages\torch-2.8.0+cu129.dist-info
_RECORD = compiled(rf"(?<![\w.-])(?P<name>{NAME})-{VERSION}\.dist-info\b", re.IGNORECASE)

# /usr/lib/x86_64-linux-gnu/libcuda.so.545.23.08: the file of a driver that is there
_LIBRARY = compiled(
    r"\blib(?:cuda|nvidia-ml)\.so\.(?P<version>[3-6]\d{2}\.\d{2,3}(?:\.\d{2,3})?)(?![\w.])"
)
# Of another driver than the one that runs: of cuda-compat, of an image, or not there.
_OTHER_LIBRARY = compiled(
    r"(?i)compat|mount|\bno such|not found|cannot|could not|can't|exists|\berror|fail"
    r"|missing|mismatch"
)

_OF_WINDOWS = (".13.", ".14.", ".15.", ".16.")
"""One of them is in every number that Windows gives a driver of NVIDIA."""


def file_claims(line: PastedLine) -> Iterator[Claim]:
    """Yield what the name of a file says of Python, the machine, and what is installed."""
    for record in islice(_RECORD.finditer(line.text), MOST) if ".dist-info" in line.text else ():
        yield package_claim(record["name"], record["version"], line)
    for form, system in ((_SO, "linux"), (_PYD, "windows"), (_FOLDER, ""), (_HOME, "")):
        found = form.search(line.text)
        if found is None:
            continue
        tag = f"cp3{found['minor']}"
        yield Claim("python.tag", tag, line.number, TOOL)
        yield Claim("python.version", f"3.{found['minor']}", line.number, TOOL)
        yield Claim("python.abi_tag", tag + found["free"], line.number, TOOL)
        if system:
            machine = found["machine"] if system == "linux" else "amd64"
            for name, value in machine_facts(system, machine).items():
                yield Claim(name, value, line.number, TOOL)
    yield from _driver(line)


def _driver(line: PastedLine) -> Iterator[Claim]:
    """Yield the driver that a library belongs to, or that Windows counts in its own way."""
    if ".so." in line.text and (found := _LIBRARY.search(line.text)):
        if not _OTHER_LIBRARY.search(line.text):
            yield Claim("driver.version", found["version"], line.number, TOOL)
    elif any(mark in line.text for mark in _OF_WINDOWS):
        found = WINDOWS_DRIVER.search(line.text)
        if found and not is_wished(line.text, *found.span()):
            yield Claim("driver.version", windows_driver(found), line.number, TOOL)


def package_claim(name: str, version: str, line: PastedLine) -> Claim:
    """Return the claim of a version; of torch, its label is what torch says of itself."""
    distribution = distribution_of(name)
    labelled = distribution == TORCH and "+" in version
    return Claim(RUNTIME if labelled else f"package:{distribution}", version, line.number, TOOL)
