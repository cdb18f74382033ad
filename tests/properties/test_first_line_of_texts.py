"""The first line of manifests, configurations and pasted texts: nothing that they do not say.

Some dozens of texts among the long tests; 20,000 where FADOCTOR_TESTS_REQUIRE has ``invariants``,
in parts: ``-k part-3`` runs one of them again.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from fadoctor.interfaces.commands.answer import judge
from fadoctor.model.fact import Absent
from fadoctor.model.finding import Severity
from fadoctor.model.packages import FLASH_ATTN, PACKAGES
from fadoctor.model.report import Report
from fadoctor.model.verdict import Predicted
from fadoctor.report.markdown import alike
from fadoctor.report.markdown import render as as_markdown
from fadoctor.report.markdown_screen import SCREEN, height
from fadoctor.report.style import Style
from fadoctor.report.text import render
from tests.properties.invariants import about_first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.property

FULL = "invariants" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
TRIES = 20_000 if FULL else 48
PARTS = range(16 if FULL else 1)
"""Of the texts, for processes to share, and to go on where a run was stopped."""
GPUS = ("V100", "T4", "A100", "RTX 4090", "H100", "RTX 5090", "B200", "MI300X", "7900 XTX", "none")
PINS = {
    "torch": ("2.3.1", "2.6.0", "2.8.0", "2.10.0"), "flash-attn": ("2.5.8", "2.7.4.post1", "2.8.3"),
    "transformers": ("4.46.0", "4.57.1"), "xformers": ("0.0.28", "0.0.32.post2"),
    "vllm": ("0.6.3", "0.11.0"), "unsloth": ("2025.10.1",), "triton": ("3.2.0", "3.4.0"),
    "bitsandbytes": ("0.48.1",),
}  # fmt: skip
CONFIGS = (
    "model_name_or_path: a/b\nstage: sft\nflash_attn: fa2\nbf16: true\n",
    "base_model: a/b\nflash_attention: true\nbf16: auto\n",
    '{"torch_dtype": "bfloat16", "attn_implementation": "flash_attention_2", "model_type": "x"}',
    "#!/bin/sh\nvllm serve a/b --dtype bfloat16\n",
)


def texts(seed: int, count: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield texts as people have them, each with GPUs that are assumed."""
    chance = random.Random(seed)  # noqa: S311 -- not for secrets
    for _ in range(count):
        names = chance.sample(sorted(PINS), chance.randint(1, 4))
        chosen = {name: chance.choice(PINS[name]) for name in names}
        gpus = (chance.choice(GPUS),) if chance.random() < 0.8 else ()
        kind = chance.randrange(3)
        if kind == 0:
            form = chance.choice(("{}=={}", "{}>={}", "{}"))
            yield "".join(f"{form.format(*each)}\n" for each in chosen.items()), gpus
        elif kind == 1:
            lines = [f"[pip3] {name}=={version}" for name, version in chosen.items()]
            lines += [f"PyTorch version: {chance.choice(PINS['torch'])}+cu124"] * chance.randint(
                0, 1
            )
            lines += ["GPU 0: NVIDIA A100-SXM4-80GB"] * chance.randint(0, 1)
            lines += ["Nvidia driver version: 550.90.07"] * chance.randint(0, 1)
            yield "Collecting environment information...\n" + "\n".join(lines), gpus
        else:
            yield chance.choice(CONFIGS), gpus


def faults(report: Report) -> Iterator[str]:
    """Yield what a report says in its first lines against its own facts."""
    yield from about_first_line(report)
    first = render(report, Style(width=400)).partition("\n\n")[0]
    called = [(package, names[0]) for package, names in PACKAGES.items()]
    for package, name in (*called, (FLASH_ATTN, "FlashAttention")):
        fact = report.environment.get(f"{package}.version")
        if f"{name} is not installed" in first and not isinstance(fact, Absent):
            yield f"{name} is not installed, which the text does not say"
    if "✓" in first and report.summary.error:
        yield "a check mark above an error"
    if height(as_markdown(report)) > SCREEN * max(1, len(alike(report.findings))):
        yield "more Markdown than a screen for each cause"


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part-{part}")
def test_the_first_line_says_only_what_the_text_says(part: int) -> None:
    wrong: dict[str, str] = {}
    seen = {"reports": 0, "errors": 0}
    # The same text is judged once: a third of all are four configurations with eleven GPUs.
    every = list(dict.fromkeys(texts(seed=3, count=TRIES)))
    mine = every[part :: len(PARTS)]
    for text, gpus in mine:
        document = judge(text, gpus).document
        if not isinstance(document, Report):
            continue
        seen["reports"] += 1
        seen["errors"] += any(each.severity is Severity.ERROR for each in document.findings)
        for fault in faults(document):
            wrong.setdefault(fault, f"{gpus}: {text[:200]}")
    assert wrong == {}
    assert min(seen.values()) > len(mine) // 5, seen


def test_a_first_line_that_says_more_is_found() -> None:
    """The property can fail: a ✓ above an error, and an absence that nobody stated."""
    document = judge("torch==2.6.0\n", ("RTX 5090",)).document
    assert isinstance(document, Report)
    assert list(faults(document)) == []
    works = [structs.replace(each, predicted=Predicted.WORKS) for each in document.verdicts]
    silenced = structs.replace(document, findings=(), verdicts=tuple(works))
    assert "a check mark above an error" in list(faults(silenced))
    facts = dict(document.environment)
    invented = structs.replace(
        silenced, environment=facts, not_looked=("triton is not installed here.",)
    )
    assert any("which the text does not say" in fault for fault in faults(invented))


def test_files_ask_for_packages_and_install_none() -> None:
    """It was "flash_attention_2 fails here: flash-attn is not installed" of a file."""
    text = "transformers==4.46.0\ntriton==3.4.0\nunsloth==2025.10.1\n"
    document = judge(text, ("RTX 5090",)).document
    assert isinstance(document, Report)
    assert list(faults(document)) == []
    first = render(document, Style(width=400)).partition("\n\n")[0]
    assert "flash_attention_2 fails here: flash-attn is not asked for" in first
