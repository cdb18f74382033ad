"""The torch that a command of a text installed: where an index has one build alone, it is that one.

`pip install torch` on Windows takes the CPU build of PyPI, since PyPI has no other file for it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.torch_builds import as_probed, of_build
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.sources.pasted.claims import AVAILABLE
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.pasted.combine import CombinedClaims

MOST = 32
"""Commands of one text that are read."""

# pip install torch torchvision | uv add torch==2.7.0 | python -m pip install -U "torch>=2.1" numpy
_COMMAND = compiled(
    r"(?i)\b(?:pip3?|uv(?: pip)?|poetry|pdm) (?:install|add)"
    r"(?P<rest>(?: [^\s\u4e00-\u9fff]{1,200}){1,40})"
)
# torch | "torch>=2.1" | torch==2.5.1, which ends a clause
_TORCH = compiled(
    r"[\"'`]{0,2}torch(?:\[[\w,]{1,40}\])?"
    r"(?:[<>=~!]=?(?P<version>\d[\w.]{0,20})?[^\s+]{0,40})?[\"'`,;.)]{0,3}"
)
_EXACT = "=="
# torch.cuda.is_available() returns False | is_available is False | is_available()\n>>> False
_SEES_NONE = compiled(r"\bis_available\b[^\n.;]{0,30}?(?:\n[>\s]{0,12})?\b(?:False|false)\b")
# --index-url https://... | -f page | cu121 | conda install | already satisfied | a build of its own
_OTHER_SOURCE = compiled(
    r"(?i)(?:^|\s)-(?:-(?:extra-)?index(?:-url)?\b|-find-links\b|-torch-backend\b|i |f )"
    r"|\bcu1\d\d\b|download\.pytorch|\bconda\b|\bmamba\b|already satisfied|\.whl\b"
    r"|\bnightly\b|\bindex_url\b|\bpip\.(?:conf|ini)\b"
)


def torch_as_typed(
    facts: Mapping[str, Fact], combined: CombinedClaims, text: str, matrix: Matrix
) -> dict[str, Fact]:
    """Return the build of a torch that sees no GPU, where all commands took it from PyPI.

    Only a build that each release has for the platform, or the one that a command pins. A text
    that names another source says nothing.
    """
    if not isinstance(facts.get("torch.build"), Unknown) or not _sees_none(combined, text):
        return {}
    typed = [*_typed(text)]
    if not typed or _OTHER_SOURCE.search(text):
        return {}
    version = facts.get("torch.version")
    named = str(version.value) if isinstance(version, Known) else ""
    platform = facts.get("host.platform")
    for _, pinned in typed:
        if as_probed("pypi", named or pinned, platform, matrix) != "cpu":
            return {}
    source = f"{typed[-1][0]}: PyPI has the CPU build alone for this platform"
    release = named or typed[-1][1]
    made = of_build(release, "cpu", platform, matrix, source)
    found = {name: made[name] for name in ("torch.build", "torch.cuda", "torch.hip")}
    if release and not named:
        found |= {
            "torch.version": Known(release, source),
            "torch.distribution": Known("torch", source),
        }
    return found


def _sees_none(combined: CombinedClaims, text: str) -> bool:
    """Return whether torch says that it sees no GPU, in a report or in a sentence."""
    seen = combined.fact(AVAILABLE)
    if isinstance(seen, Known):
        return seen.value is False
    return "is_available" in text and _SEES_NONE.search(text) is not None


def _typed(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands that install torch, and the release that each pins, "" without one."""
    for command in islice(_COMMAND.finditer(text), MOST):
        for word in command["rest"].split():
            if found := _TORCH.fullmatch(word):
                is_exact = _EXACT in word and found["version"]
                yield command[0].strip(), found["version"].rstrip(".") if is_exact else ""
                break


def unseen_by_cpu_build(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return that the GPUs of a text are visible, where only a CPU build of torch sees none.

    It sees no GPU, whatever is there: its answer says nothing of CUDA_VISIBLE_DEVICES or a driver.
    """
    build, count = facts.get("torch.build"), facts.get("gpu.count")
    is_cpu = isinstance(build, Known) and build.value == "cpu"
    hidden = isinstance(facts.get("env.CUDA_VISIBLE_DEVICES"), Known)
    is_open = isinstance(facts.get("gpu.visible_count"), Unknown)
    if not is_cpu or hidden or not is_open or not isinstance(count, Known):
        return {}
    number = int(str(count.value))
    found: dict[str, Fact] = {f"gpu[{n}].visible": Known(True, count.source) for n in range(number)}
    return {**found, "gpu.visible_count": count}
