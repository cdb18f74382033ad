"""What a report says of torch: its build follows from the label, the CUDA and who installed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.wheel_label import wheel_facts
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.pasted.claims import INSTALLER, RUNTIME
from fadoctor.sources.probes.torch_build import BuildClues, classify_build
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# 2.7.1+cu126, 2.6.0+cpu, 2.8.0+rocm6.4
_LABEL = compiled(
    r"cu(?P<major>\d{2})(?P<minor>\d{1,2})(?:\..{0,40})?|(?P<other>cpu|rocm|xpu).{0,40}"
)


def torch_facts(
    facts: Mapping[str, Fact], fact: Callable[[str], Fact], silent: Unknown
) -> dict[str, Fact]:
    """Return version, CUDA and build of torch, and what the label of flash-attn says."""
    found: dict[str, Fact] = {}
    listed, runtime = facts.get("torch.version", silent), fact(RUNTIME)
    if isinstance(listed, Absent):
        return found
    if isinstance(listed, Unknown) and isinstance(runtime, Known):
        found["torch.version"] = runtime
        found["torch.distribution"] = Known("torch", runtime.source)
    cuda = facts.get("torch.cuda", silent)
    named = runtime if isinstance(runtime, Known) else listed
    if isinstance(cuda, Unknown) and isinstance(named, Known):
        cuda = _of_label(named, silent)
        found["torch.cuda"] = cuda
    if isinstance(listed, Known) or isinstance(runtime, Known):
        found["torch.build"] = _build(listed, runtime, cuda, fact)
    version = facts.get("flash_attn.version", silent)
    if isinstance(version, Known):
        known = facts.get("flash_attn.direct_url", silent)
        # Absent is what a record says that was read: a text holds none.
        recorded = {"flash_attn.direct_url": known, "flash_attn.wheel.tags": silent}
        found |= wheel_facts(version, silent, recorded)
    return found


def _of_label(version: Known, silent: Unknown) -> Fact:
    label = _LABEL.fullmatch(str(version.value).partition("+")[2])
    if label is None:
        return silent
    if label["other"]:
        return Absent(f"{version.source}: {version.value}")
    return Known(f"{label['major']}.{label['minor']}", f"{version.source}: {version.value}")


def _build(listed: Fact, runtime: Fact, cuda: Fact, fact: Callable[[str], Fact]) -> Fact:
    """Return the build; Unknown where the report does not tell PyPI's from another."""
    if isinstance(cuda, Unknown):
        return cuda
    file = str(runtime.value) if isinstance(runtime, Known) else ""
    clues = BuildClues(
        metadata=listed,
        file=file,
        cuda=cuda,
        hip=isinstance(fact("torch.hip"), Known) or "+rocm" in file,
        xpu="+xpu" in file,
        installer=fact(INSTALLER),
    )
    return classify_build(clues, runtime.source if isinstance(runtime, Known) else listed.source)
