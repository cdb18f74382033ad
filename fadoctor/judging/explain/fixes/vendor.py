"""Whose GPU a log is about, and the fixes that are another vendor's.

The torch that is installed and what a report of a tool lists decide; then products that are named;
then words. Where products of two vendors are named, no build of either is offered: it is asked.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.possible import CHOICES, QUESTION
from fadoctor.judging.engine.vendors import AMD, foreign_words, suits
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.rule import kept_with
from fadoctor.sources.logs.ends import ends_of
from fadoctor.sources.logs.facts import plain_lines
from fadoctor.sources.logs.named_gpus import (
    OF_A_MODEL,
    OF_A_PROCESSOR,
    named_gpus,
    without_gone,
)
from fadoctor.syntax.held_words import HeldWords
from fadoctor.syntax.likely_lines import likely_numbers
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge, Table
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.targets.gpu_name import GpuModel

FACT = "log.vendor"

ENDS = 1_500
"""Lines at the beginning and at the end of a log that are searched."""

SHORT = 4
"""Product names of fewer characters (L4, M40) are words of other things, too."""

_PRODUCTS = {"amd": "amd-gpu-names", "nvidia": "gpu-names"}


# can only be used on CUDA or NPU devices or certain XPU devices (with IPEX)
_CHOICE = compiled(
    r"(?i)\b(?:cuda|npu|mps|cpu)\b[^\n]{0,24}\bor\b[^\n]{0,12}\bxpu\b(?:[^\n]{0,12}\(with ipex\))?"
    r"|\bxpu\b[^\n]{0,12}\bor\b[^\n]{0,12}\bcuda\b"
)

# AMD Ryzen 7 4800H with Radeon Graphics: a processor, beside which any card may be
_OF_A_CHIP = compiled(
    r"(?i)\b(?P<chip>(?:Ryzen|Athlon)\b[^\n,;]{0,40}? )(?:with|w/) (?:AMD )?Radeon"
    r"(?:\(TM\)|\u2122)?(?: (?:RX )?Vega(?: \d{1,2})?| \d{3}M)? (?:Graphics|Gfx)\b"
)

# ROCm platform is not available because: No module named 'amdsmi' | Checking if ROCm platform is
# Ollama lists what it has for each vendor: Dynamic LLM libraries [cpu cuda_v12 rocm_v6]
_DENIED = compiled(
    r"(?i)\bplatform is (?:not )?available\b|is not available because"
    r"|\bdynamic llm libraries\b|\bsearching for gpu (?:management )?library\b"
    r"|\bserver config\W{1,3}env="
)

# my 7900XTX | RTX 3060 | Arc A770
_MAY_BE_CARD = compiled(r"(?<![\d.])\d{4}(?!\d)|(?i:\barc\b)|[AHV]100")
_ARC = compiled(r"(?i)\barc(?:\(tm\))? [ab]\d{3}m?\b")

# vllm>=0.8,<0.34 | torch[opt]==2.8.0
_NAME = compiled(r"[\[=<>~! ]")

NVIDIA, INTEL = "nvidia", "intel"
_OF_LABEL = {"roc": AMD, "xpu": INTEL}
"""Whose GPUs a torch with such a label uses; one for CUDA may lie beside any GPU."""


class Vendor:
    """The one vendor that a log is about; "" where it names none, or several and decides not."""

    def __init__(
        self, lines: Sequence[Line], knowledge: Knowledge, said: Environment | None = None
    ) -> None:
        """Look for the names of each vendor and its products.

        `said`, what the log says of its environment, decides where it names both: a message about a
        build for CUDA tells in the same line of the torch for ROCm that is installed.
        """
        tables = knowledge.tables
        words = {str(row["vendor"]): row for row in tables["vendor-words"].rows}
        read = _undenied(ends_of(lines, ENDS))
        text = "\n".join(without_gone(line) for line in _without_choices(read))
        once = HeldWords(text)
        names = _names_of(knowledge)
        named = [
            vendor
            for vendor in words
            if any(once[word] and _stands(name, text) for word, name in names[vendor])
        ]
        products = _products(read, tables) if len(named) != 1 or _MAY_BE_CARD.search(text) else ()
        self._asks: tuple[str, ...] = ()
        self.name = _stated(said, named) or _decided(named, products)
        if not self.name and len(products) > 1:
            self._asks = tuple(
                word for row in words.values() for word in cell_words(row.get("builds"))
            )
        self._foreign = foreign_words(tables, self.name) if self.name else ()
        self._of_others = tuple(
            name
            for vendor, each in words.items()
            if self.name not in ("", vendor)
            for name in cell_words(each.get("pypi"))
        )
        row = _of_package(self.name, text, tables) or words.get(self.name, {})
        self._said = tuple(str(row[key]) for key in ("title", "instead") if row.get(key))
        questions = tables["questions"].rows if "questions" in tables else ()
        self._question = next((each for each in questions if each["about"] == "vendor"), None)
        self._how = frozenset(str(row["how"]) for row in questions)
        self._asks_amd = {
            str(row["how"]): str(row["amd"]) for row in questions if isinstance(row.get("amd"), str)
        }

    @property
    def may_be_nvidia(self) -> bool:
        """Return whether the GPU is one of NVIDIA, or nothing speaks for another vendor's."""
        return self.name == NVIDIA or not (self.name or self._asks)

    def asking(self, fix: Fix) -> Fix:
        """Return a question as the owner of a GPU of AMD can answer it; any other fix as it is."""
        if fix.id != QUESTION or self.name != AMD:
            return fix
        texts = [self._asks_amd.get(step.text, step.text) for step in fix.steps]
        steps = tuple(msgspec.structs.replace(step, text=text)
                      for step, text in zip(fix.steps, texts, strict=True))  # fmt: skip
        return msgspec.structs.replace(fix, steps=steps)

    def suits(self, fix: Fix) -> bool:
        """Return whether nothing in a fix is for another vendor's GPUs alone."""
        # A question names the tools of each vendor.
        does = tuple(step for step in fix.steps if step.text not in self._how)
        own = msgspec.structs.replace(fix, steps=does)
        return suits(own, self._foreign) and not installs(own, self._of_others)

    def asked(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return fixes with one question first where two vendors' GPUs are named.

        It is asked where a fix is a build for one of them: no such build is offered then.
        """
        left = tuple(fix for fix in fixes if suits(fix, self._asks))
        if len(left) == len(fixes) or self._question is None:
            return fixes
        title, how = (str(self._question[key]) for key in ("title", "how"))
        builds = dict.fromkeys(fix.title for fix in fixes if fix not in left)
        then = f"The answer decides on: {'; '.join(islice(builds, CHOICES))}."
        steps = tuple(Step(StepKind.ADVICE, text) for text in (how, then))
        question = Fix(QUESTION, title, Safety.SAFE, steps)
        return (question, *(fix for fix in left if fix.id != QUESTION))

    def instead(self) -> tuple[Fix, ...]:
        """Return what is said where every fix is another vendor's."""
        if len(self._said) < len(("title", "instead")):
            return ()
        title, text = self._said
        return (Fix("of-this-vendor", title, Safety.SAFE, (Step(StepKind.ADVICE, text),)),)


def _undenied(lines: Sequence[Line]) -> list[Line]:
    """Return lines without those that say of a platform whether it is there."""
    likely = set(likely_numbers((line.text for line in lines), _DENIED))
    return [
        line for at, line in enumerate(lines) if at not in likely or not _DENIED.search(line.text)
    ]


def _without_choices(lines: Sequence[Line]) -> list[str]:
    """Return the texts of lines without choices of several vendors, and graphics in processors."""
    texts = [line.text for line in lines]
    for pattern, instead in ((_CHOICE, ""), (_OF_A_CHIP, r"\g<chip>")):
        for number in likely_numbers(texts, pattern):
            texts[number] = pattern.sub(instead, texts[number])
    return texts


def _of_package(vendor: str, text: str, tables: Mapping[str, Table]) -> Mapping[str, object] | None:
    """Return what is said of the first package of the table that a text names."""
    rows = tables["vendor-packages"].rows if "vendor-packages" in tables else ()
    own = (row for row in rows if row["vendor"] == vendor)
    return next((row for row in own if compiled(str(row["words"])).search(text)), None)


def installs(fix: Fix, packages: Collection[str]) -> bool:
    """Return whether a fix installs one of some packages from Python's own index."""
    steps = [each for each in fix.steps if each.kind is StepKind.INSTALL and not each.index]
    names = {_NAME.split(item, maxsplit=1)[0] for step in steps for item in step.items}
    return not names.isdisjoint(packages)


def _decided(named: Sequence[str], products: Sequence[str]) -> str:
    """Return the one vendor that words and products leave.

    AMD's users name CUDA, whose words many messages hold; the words of ROCm stand in fewer.
    """
    vendors = dict.fromkeys((*named, *products))
    if len(vendors) == 1:
        return next(iter(vendors))
    return products[0] if len(products) == 1 and products[0] != NVIDIA else ""


def _products(lines: Sequence[Line], tables: Mapping[str, Table]) -> tuple[str, ...]:
    """Return the vendors whose graphics cards lines name; graphics of processors are none."""
    models: dict[str, GpuModel] = {}
    amd = {str(row["gfx"]): row.get("discrete") for row in tables[_PRODUCTS[AMD]].rows}
    found: dict[str, None] = {}
    for line in plain_lines(lines):
        read = (claim for claim, _ in named_gpus(line, models, tables))
        claims = [each for each in read if each.tool not in (OF_A_PROCESSOR, OF_A_MODEL)]
        chips = [str(claim.value) for claim in claims if claim.name.endswith(".gfx")]
        vendors = dict.fromkeys(str(each.value) for each in claims if each.name.endswith(".vendor"))
        if chips and not any(amd.get(chip) for chip in chips):
            vendors.pop(AMD, None)  # a card may stand beside the graphics of the processor
        found |= vendors
        found |= {INTEL: None} if _ARC.search(line.text) else {}
    return tuple(found)


def _stated(said: Environment | None, named: Sequence[str]) -> str:
    """Return the vendor of the torch of a log, or of all GPUs that a report in it lists.

    A torch for ROCm or XPU tells it, unless another vendor's GPU is there. One for XPU beside
    nothing but words of NVIDIA was installed by mistake.
    """
    if said is None:
        return ""
    gpus = {fact_text(said.fact(f"{each.text}.vendor"), "") for each in said.subjects("gpu")} - {""}
    label = version_part(fact_text(said.fact("torch.version"), ""), "local") or ""
    build = AMD if isinstance(said.fact("torch.hip"), Known) else _OF_LABEL.get(label[:3], "")
    if build == INTEL and NVIDIA in named and INTEL not in named:
        return ""
    if build:
        return build if gpus <= {build} else ""
    return gpus.pop() if len(gpus) == 1 else ""


def _names_of(knowledge: Knowledge) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return each vendor with its names, each beside its first word; they are put together once."""
    return kept_with(
        knowledge,
        "names of vendors",
        lambda known: {
            str(row["vendor"]): tuple(
                (name.partition(" ")[0].rstrip("*"), name)
                for name in _names(str(row["vendor"]), row, known.tables)
            )
            for row in known.tables["vendor-words"].rows
        },
    )


def _names(vendor: str, row: Mapping[str, object], tables: Mapping[str, Table]) -> Iterator[str]:
    yield from cell_words(row["names"])
    for product in tables[_PRODUCTS[vendor]].rows if vendor in _PRODUCTS else ():
        yield from (name for name in cell_words(product["names"]) if len(name) >= SHORT)


def _stands(name: str, text: str) -> bool:
    """Return whether a name stands in a text as a word, or, with a star, begins one.

    What begins the name of a function that code calls, as Triton's for both vendors, names nobody.
    """
    word = name.rstrip("*")
    if word not in text:  # much cheaper than a pattern, and mostly true
        return False
    end = r"(?!_[a-z_]{1,40}\()" if name.endswith("*") else r"(?![\w-])"
    return re.search(rf"(?a)(?<![\w/.-]){re.escape(word)}{end}", text) is not None
