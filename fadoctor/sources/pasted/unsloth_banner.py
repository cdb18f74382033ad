r"""The banner that unsloth prints when it loads a model.

==((====))==  Unsloth 2025.3.19: Fast Llama patching. Transformers: 4.50.3. vLLM: 0.8.2.
\\   /|    Tesla T4. Num GPUs = 1. Max memory: 14.741 GB. Platform: Linux.
O^O/ \_/ \    Torch: 2.6.0+cu124. CUDA: 7.5. CUDA Toolkit: 12.4. Triton: 3.2.0
\        /    Bfloat16 = FALSE. FA [Xformers = 0.0.29.post3. FA2 = False]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import AVAILABLE, RUNTIME, Claim, PastedLine, gpu_claims
from fadoctor.sources.pasted.sizes import size_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "unsloth's banner"

_VERSION = r"(?P<found>\d[\w+-]{0,20}(?:\.[\w+-]{1,30}){1,4})"
_PATTERNS = (
    (compiled(rf"Unsloth:? {_VERSION}: Fast "), "package:unsloth"),
    (compiled(rf"Transformers ?[:=] ?{_VERSION}"), "package:transformers"),
    (compiled(rf"vLLM ?[:=] ?{_VERSION}"), "package:vllm"),
    (compiled(rf"\b(?:Py)?[Tt]orch ?[:=] {_VERSION}"), RUNTIME),
    (
        compiled(r"\.\s{1,2}CUDA ?[:=] (?P<found>\d{1,2}\.\d)\.\s{1,2}CUDA Toolkit"),
        "gpu[0].compute_capability",
    ),
    (compiled(r"CUDA Toolkit ?[:=] (?P<found>\d{1,2}\.\d)\b"), "torch.cuda"),
    (compiled(rf"Triton ?[:=] {_VERSION}"), "package:triton"),
    (compiled(rf"Xformers ?[:=] {_VERSION}\. FA"), "package:xformers"),
    (compiled(r"patching release (?P<found>\d{4}\.\d{1,2}(?:\.\w{1,12})?)"), "package:unsloth"),
)
# Tesla T4. Num GPUs = 1. Max memory: 14.741 GB. Platform: Linux.
_GPU = compiled(
    r"(?:[\s\\/|O^]{3,20})?(?:GPU: )?(?P<name>[A-Z][\w .-]{1,60}?)\. "
    r"(?:Num GPUs ?[:=] (?P<count>\d{1,3})\. )?"
    r"Max memory ?[:=] (?P<memory>[\d.]{1,12} GB)\b(?:\. Platform ?[:=] (?P<os>\w{3,10}))?"
)
# \\   /| and O^O/ \_/ \ at the beginning of a line
_ART = compiled(r"[\s\\/|O^_\"=()-]{2,20}(?=\s|\w)")
LINES = 10
"""Lines of a banner that a mail has wrapped, at most."""
_MARK = "((====))"
_SYSTEMS = {"Linux": "linux", "Windows": "windows"}


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what the banners say; one is printed where torch sees a GPU."""
    several = tuple(lines)
    for at, line in enumerate(several):
        if _MARK in line.text:
            yield from _said("".join(_banner(several[at : at + LINES])), line.number)


def _banner(lines: tuple[PastedLine, ...]) -> Iterator[str]:
    """Yield the words of a banner, without its drawing: a mail can have wrapped any line."""
    for at, line in enumerate(lines):
        if at and _MARK in line.text:
            return
        drawing = _ART.match(line.text)
        yield f"\n{line.text[drawing.end() :].strip()}" if drawing else f" {line.text.strip()}"
        if "license" in line.text:
            return


def _said(text: str, line: int) -> Iterator[Claim]:
    if gpu := _GPU.search(text):
        memory = size_of(gpu["memory"])
        for index in range(min(int(gpu["count"] or 1), 64)):
            yield from gpu_claims(index, gpu["name"], line, TOOL, memory)
        yield Claim(AVAILABLE, True, line, TOOL)
        if gpu["os"] in _SYSTEMS:
            yield Claim("host.os", _SYSTEMS[gpu["os"]], line, TOOL)
    for pattern, name in _PATTERNS:
        if found := pattern.search(text):
            yield Claim(name, found["found"].rstrip("."), line, TOOL)
