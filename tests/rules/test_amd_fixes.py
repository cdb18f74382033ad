"""What a fix tells someone with a GPU of AMD works there: a property over all fixes of all rules.

A fix is left out by its condition, or by words that stand only in fixes for GPUs of NVIDIA
(vendor-words). What is left installs no package for CUDA and calls no program of CUDA.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.vendors import AMD, foreign_words
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.vendor import Vendor
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.rule import with_rows
from fadoctor.sources.logs.cleaning import Line
from tests.properties.worlds import knowledge
from tests.shipped import compiled
from tests.unit.judging.engine.builders import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.rule import FixTemplate, Rule

KNOWLEDGE = knowledge()
MATRIX = Matrix(KNOWLEDGE.tables)
FOREIGN = foreign_words(KNOWLEDGE.tables, AMD)
ON_AMD = environment({
    "host.os": "linux", "host.platform": "linux_x86_64", "gpu.count": 1, "gpu.visible_count": 1,
    "gpu[0].vendor": AMD, "gpu[0].visible": True, "gpu[0].gfx": "gfx1100",
    "gpu[0].isa": "gfx1100", "torch.version": "2.9.1+rocm6.4", "torch.hip": "6.4",
    "torch.build": "rocm",
})  # fmt: skip
_OF_CUDA = re.compile(
    r"whl/(?:nightly/)?cu\d|\bcu1[1-3]\d?\b|\bnvcc\b|CUDA_HOME|\bnvidia-(?!smi)[\w-]+|\bflashinfer\b|\bFLASHINFER\b"
    r"|\bsgl[-_]kernel\b|\bcuda-(?:toolkit|compat)\b|TORCH_CUDA_ARCH_LIST|(?<!torch\.backends\.)\bcudnn\b"
    # the wheel with your torch and CUDA | the index of that CUDA | built for the wheel's CUDA
    r"|torch(?: and|,) CUDA\b|\bof (?:that|your|an? (?:older )?)\s?CUDA\b"
    r"|\b(?:wheel|toolkit|torch)'s CUDA\b"
)
_SAID = re.compile(r"(?i:nvidia)|\bCUDA \d|for CUDA|with CUDA")


def left_on_amd() -> Iterator[tuple[Rule, FixTemplate]]:
    """Yield the fixes that may be told for a GPU of AMD."""
    for rule in KNOWLEDGE.rules:
        for fix in rule.fixes:
            scope = Scope(ON_AMD, MATRIX, with_rows(rule, fix), {})
            is_out = bool(fix.when) and holds(fix.when, scope) is Truth.FALSE
            texts = [fix.title, *texts_of(fix)]
            if not is_out and not any(word in text for word in FOREIGN for text in texts):
                yield rule, fix


def texts_of(fix: FixTemplate) -> list[str]:
    """Return what is installed, run and read."""
    found = []
    for step in fix.steps:
        items = (*step.install, *step.uninstall, *step.set, *step.unset)
        found += [*items, *(each for each in (step.index, step.system, step.advice) if each)]
    return found


LEFT = list(left_on_amd())


def test_many_fixes_are_for_amd_too() -> None:
    assert len(LEFT) > 300


def test_no_fix_for_amd_needs_cuda() -> None:
    found = [
        (rule.id, fix.id, match[0])
        for rule, fix in LEFT
        for text in texts_of(fix)
        for sentence in re.split(r"(?<=[.;])\s+", text)
        if (match := _OF_CUDA.search(sentence)) and not _SAID.search(sentence)
    ]
    assert found == []


def logs_on_amd() -> list[str]:
    """Return the logs of all cases that name a GPU of AMD alone."""
    logs = [str(raw["log"]) for each in compiled().cases.values() for raw in each if "log" in raw]
    return [log for log in logs if Vendor([Line(1, log, "")], KNOWLEDGE).name == AMD]


PARTS = 3


@pytest.mark.long
@pytest.mark.thinned(every=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_step_for_a_log_of_amd_needs_cuda(part: int) -> None:
    """The property again, over what is printed: bindings and companions are in it."""
    found = []
    for log in logs_on_amd()[part::PARTS]:
        report = explain(read_log(io.BytesIO(log.encode()), "a.log", KNOWLEDGE), KNOWLEDGE)
        steps = [step for each in report.findings for fix in each.fixes for step in fix.steps]
        texts = [f"{step.text} {' '.join(step.items)} {step.index}" for step in steps]
        sentences = [part for text in texts for part in re.split(r"(?<=[.;])\s+", text)]
        found += [each for each in sentences if _OF_CUDA.search(each) and not _SAID.search(each)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "bad"),
    [("--index-url https://download.pytorch.org/whl/cu128", True), ("nvidia-cudnn-cu12", True),
     ("flashinfer-python", True), ("bitsandbytes", False), ("nvidia-smi", False),
     ("a newer cudnn", True), ("the index of that CUDA", True),
     ("this torch, CUDA and Python", True),
     ("torch2.8 and cu12 in its name", True),
     ("torch.backends.cudnn.enabled = False", False)],
)  # fmt: skip
def test_the_property_sees(text: str, *, bad: bool) -> None:
    assert bool(_OF_CUDA.search(text)) is bad
