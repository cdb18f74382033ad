r"""The banner that unsloth prints when it loads a model.

==((====))==  Unsloth 2025.3.19: Fast Llama patching. Transformers: 4.50.3. vLLM: 0.8.2.
\\   /|    Tesla T4. Num GPUs = 1. Max memory: 14.741 GB. Platform: Linux.
O^O/ \_/ \    Torch: 2.6.0+cu124. CUDA: 7.5. CUDA Toolkit: 12.4. Triton: 3.2.0
\        /    Bfloat16 = FALSE. FA [Xformers = 0.0.29.post3. FA2 = False]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import AVAILABLE, RUNTIME, Claim, PastedLine, gpu_claims
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
        compiled(r"\. CUDA ?[:=] (?P<found>\d{1,2}\.\d)\. CUDA Toolkit"),
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
    r"Max memory ?[:=] [\d.]{1,12} GB\. Platform ?[:=] (?P<os>\w{3,10})"
)
_SYSTEMS = {"Linux": "linux", "Windows": "windows"}


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what the banner says; it is printed where torch sees a GPU."""
    left = 0
    for line in lines:
        left = 6 if "((====))" in line.text else left - 1
        if left <= 0:
            continue
        if gpu := _GPU.search(line.text):
            for index in range(min(int(gpu["count"] or 1), 64)):
                yield from gpu_claims(index, gpu["name"], line.number, TOOL)
            yield Claim(AVAILABLE, True, line.number, TOOL)
            if gpu["os"] in _SYSTEMS:
                yield Claim("host.os", _SYSTEMS[gpu["os"]], line.number, TOOL)
        for pattern, name in _PATTERNS:
            if found := pattern.search(line.text):
                yield Claim(name, found["found"].rstrip("."), line.number, TOOL)
