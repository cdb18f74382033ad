"""The forms in which a line gives packages their versions.

Names of packages are hundreds of alternatives: they are tried only where one may begin.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.model.packages import FLASH_ATTN, VLLM
from fadoctor.sources.logs.named_gpus import MOST
from fadoctor.sources.pasted.names import DISTRIBUTIONS, NAME, VERSION
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENOUGH = 4
"""Letters of the first word of a name that are looked for alone: x begins x-transformers, too."""


def _first_words() -> tuple[str, ...]:
    """Return what the names of packages begin with; none of them begins with another."""
    found: set[str] = set()
    for name in DISTRIBUTIONS:
        first, dash, _ = name.partition("-")
        is_enough = not dash or len(first) >= _ENOUGH
        found.update((first,) if is_enough else (f"{first}-", f"{first}_"))
    return tuple(
        word for word in sorted(found) if not any(word.startswith(each) for each in found - {word})
    )


_FIRST_WORDS = _first_words()

IS = "是|为|は|:|变成了?|变为|becomes|became|is now"
"""What stands between a name and the version that it has, in words."""

STOPS = r"(?!\w|[.+]\w)"
"""Where a version ends: at the end of a sentence too, but not before its own label."""

_PACKAGE_FORMS = (
    # flash-attn   2.6.1 | Transformers version: 4.41.2 | torch版本是2.1.2 | "torch" : "2.6.0",
    # PyTorch version (torch.__version__): 2.5.1+cu121
    # -torch 2.6.0 too, but not humming-kernels 0.1.19
    (
        rf"(?<![\x00-\x08\x0e-\x1f!#-')+.-_a-{{}}~\x7f])(?<![\w.]-)(?P<name>{NAME})(?:\+cuda)?"
        rf"(?:[ -]?(?:version(?: \([\w.]{{3,24}}\))?|ver\.?|的?版本号?|のバージョン|버전))?[`\"]?"
        rf"(?:(?::|\s=|\s?\()?[*`]{{0,3}}\s{{1,40}}|\s?[:(=]\s?|\s{{0,20}}:\s{{0,4}}\""
        rf"|\s?(?:{IS})\s?|版|的?版本号?)"
        rf"[*`]{{0,3}}v?{VERSION}{STOPS}"
    ),
    # torch==2.5.1 | torch.__version__  = 2.7.0+rocm6.3
    (
        rf"(?<![\w.<>~=!-])(?P<name>{NAME})(?:\.__version__)?\s{{0,4}}={{1,2}}\s{{0,4}}'?"
        rf"{VERSION}{STOPS}"
    ),
    # my torch version is 1.11.0, my torch is 2.5, but not: check that the torch version is 2.4.0
    (
        r"(?:^\W{0,4}|[.,;] |(?<!if )(?<!sure )(?<!that )(?<!when )(?<!whether )"
        r"\b(?:my|our|the|and) )"
        rf"(?:current |installed )?(?P<name>{NAME})(?: version)? is v?{VERSION}{STOPS}"
    ),
    # torch2.4.1 | torch2.6 | PyTorch2.7.0+cu126 | PyTorch-2.4.1, but no name of a file
    (
        rf"(?<![\w./\\+-])(?P<name>(?:{NAME})(?=\d)|pytorch(?=-\d))-?"
        rf"(?P<version>\d{{1,2}}\.\d{{1,3}}(?:\.\d{{1,3}}(?:\+(?:cu\d{{3}}|cpu))?)?)"
        rf"(?![\w/\\+-]|\.\w)"
    ),
    # DeepSpeed info: version=0.14.2, git-hash=unknown
    rf"(?<![\w.-])(?P<name>{NAME}) info: version={VERSION}{STOPS}",
)
_PACKAGES = tuple(compiled(form, re.IGNORECASE) for form in _PACKAGE_FORMS)
# 2.8.0+cu129 torch | FlashAttention 2.6.3, of which an interface has two numbers
# vLLM API server version 0.10.1 | Initializing a V1 LLM engine (v0.11.0)
_OTHER_FORMS = (
    (
        "torch",
        compiled(r"(?<![\w.])(?P<version>2\.\d{1,2}\.\d\+cu1\d\d) (?:py)?torch\b"),
        "torch",
    ),
    (
        FLASH_ATTN,
        compiled(
            r"(?i)(?<![\w./\\-])flash[ -]?attention ?v?"
            r"(?P<version>2\.\d\.\d(?:\.post\d)?)(?![\w.]*\d)"
        ),
        "attention",
    ),
    (
        VLLM,
        compiled(r"\bvLLM API server version (?P<version>\d\.\d{1,2}\.[\w.]{1,9})\b"),
        "api server",
    ),
    (
        VLLM,
        compiled(
            r"\bInitializing an? (?:V1 )?LLM engine \(v(?P<version>\d\.\d{1,2}\.[\w.]{1,9})\)"
        ),
        "llm engine",
    ),
)
"""A distribution, how a text gives its version, and a word of each such line, in small letters."""

_IN_A_SENTENCE = 2
"""The form with words before the name: all others begin with the name."""


def _names_begin(text: str, lowered: str) -> list[int] | None:
    """Return where names of packages may begin in a line; None where small letters are more."""
    if len(text) != len(lowered):
        return None
    begins: list[int] = []
    for word in _FIRST_WORDS:
        at = lowered.find(word)
        while at >= 0:
            begins.append(at)
            at = lowered.find(word, at + 1)
    return sorted(begins)


def packages_in(text: str, lowered: str) -> Iterator[re.Match[str]]:
    """Yield where a line gives packages their versions, form by form."""
    begins = _names_begin(text, lowered)
    for number, form in enumerate(_PACKAGES):
        found = form.finditer(text)
        if begins is not None and number != _IN_A_SENTENCE:
            found = _at(begins, form, text)
        yield from islice(found, MOST)


def _at(begins: list[int], form: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what `finditer` does of a form whose matches begin at one of some places."""
    end = 0
    for at in begins:
        if at >= end and (found := form.match(text, at)):
            yield found
            end = found.end()


def other_forms(text: str, lowered: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield distributions, their versions and where they stand, in forms without such a name."""
    for name, form, word in _OTHER_FORMS:
        for found in islice(form.finditer(text), MOST) if word in lowered else ():
            yield name, found["version"], found.span()
