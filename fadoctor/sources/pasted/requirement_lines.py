"""Lines that say of one requirement that it is, or is not, met: who asks, for what, what is there.

pip, uv, conda, poetry, pkg_resources, importlib.metadata and transformers each have a form of
their own. All are read here, into one kind of row.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import OF_CONDA
from fadoctor.sources.pasted.requirement_rows import RANGE, VERSION, ToldRequirement, specifier_of
from fadoctor.sources.pasted.requirements_in_words import told_by_people
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

READ_AGAIN = 2_048
"""Lines whose requirements are kept: three readers ask one after another."""

TOOL = "a line about an unmet requirement"

LINE_LIMIT = 4_000
"""Characters of a line that are read: pip writes one line for each requirement."""


_NAMED = r"[A-Za-z](?:[\w.-]{0,98}\w)?"
_EXTRAS = r"(?:\[[\w, -]{1,40}\])?"
# numpy<2,>=1.22; python_version < "3.13"
_REQUIREMENT = (
    rf"(?P<needs>{_NAMED}){_EXTRAS} {{0,2}}(?P<range>{RANGE})?(?: {{0,2}};[^`\n]{{1,120}}?)?"
)

# vllm 0.16.0+cu130 requires transformers<5,>=4.56.0, but you have transformers 5.2.0 which is
# incompatible. | flash-attn 2.8.3 requires torch, which is not installed.
# xformers==0.0.30 requires torch==2.7.0 | vllm (0.6.4) depends on tokenizers (>=0.19.1,<0.20)
_OF_INSTALLERS = compiled(
    rf"(?<![\w.-])(?P<asker>[A-Za-z][\w.-]{{0,99}}){_EXTRAS}(?: |==| \()v?"
    rf"(?P<release>{VERSION})\)? "
    rf"(?:requires|has requirement|depends on) (?P<needs>{_NAMED}){_EXTRAS}"
)
_OF_RANGE = compiled(rf" ?\(?(?P<range>{RANGE})")
_OF_TAIL = compiled(
    r"[^,\n]{0,120},? (?:(?P<missing>which is not installed)"
    rf"|but you(?:.ll)?(?: will)? have (?P<there>[A-Za-z][\w.-]{{0,99}}) (?P<found>{VERSION}))"
)
# The package `numba` requires `numpy>=1.22,<2.1`, but `2.1.3` is installed
_OF_UV = compiled(
    rf"The package `(?P<asker>{_NAMED}){_EXTRAS}` requires `{_REQUIREMENT}`, but "
    rf"(?:`(?P<found>{VERSION})` is installed|(?P<missing>it.s not installed))"
)
# package torchvision-0.15.2-py310_cu117 requires pytorch 2.0.1, but none of the providers ...
_OF_CONDA = compiled(
    rf"package (?P<asker>[A-Za-z][\w.-]{{0,98}})-(?P<release>{VERSION})-\w{{1,80}} requires "
    rf"(?P<needs>{_NAMED}) {{1,4}}(?P<range>[^\s][^\s]{{0,80}})(?: \S{{1,80}})?, but none of the "
)
# ContextualVersionConflict: (numpy 1.26.4 (/opt/x), Requirement.parse('numpy<1.24'), {'librosa'})
_OF_SETUPTOOLS = compiled(
    rf"\((?P<there>{_NAMED}) (?P<found>{VERSION}) \([^()\n]{{1,300}}\), "
    rf"Requirement\.parse\(['\"]{_REQUIREMENT}['\"]\)"
    rf"(?:, \{{['\"](?P<asker>{_NAMED}){_EXTRAS}['\"]\}})?"
)
# numpy 1.26.4 is installed but numpy<1.24 is required by {'librosa'}
_OF_SETUPTOOLS_TOLD = compiled(
    rf"(?<![\w.-])(?P<there>{_NAMED}) (?P<found>{VERSION}) is installed but {_REQUIREMENT} is "
    rf"required(?: by \{{['\"](?P<asker>{_NAMED}){_EXTRAS}['\"]\}})?"
)
# The 'fire>=0.5' distribution was not found and is required by lmdeploy
_OF_LACKS = compiled(
    rf"The '{_REQUIREMENT}' distribution (?P<missing>was not found) and is required by "
    rf"(?:th(?:e|is) application|(?P<asker>{_NAMED}))"
)
# accelerate>=1.1.0 is required for a normal functioning of this module, but found accelerate==0.34
_OF_TRANSFORMERS = compiled(
    rf"(?<![\w.-]){_REQUIREMENT} is required for a normal functioning of this module,? but found "
    rf"(?P<there>{_NAMED})==(?P<found>{VERSION})"
)
# importlib.metadata.PackageNotFoundError: No package metadata was found for optimum
_OF_METADATA = compiled(
    rf"(?P<missing>No package metadata was found for) (?!The ')(?P<needs>{_NAMED})(?!\w)"
)


@lru_cache(maxsize=READ_AGAIN)
def requirement_lines(text: str) -> tuple[ToldRequirement, ...]:
    """Return the requirements that a line tells of, those too that may be met."""
    return tuple(_requirements(text))


def _requirements(text: str) -> Iterator[ToldRequirement]:
    formed = tuple(_in_a_form(text))
    yield from formed
    if len(text) <= LINE_LIMIT and _RANGED.search(text) and _COMPARED.search(text):
        known = {(each.asker, each.needs) for each in formed}
        told = told_by_people(text)
        yield from (each for each in told if (each.asker, each.needs) not in known)


def _in_a_form(text: str) -> Iterator[ToldRequirement]:
    if any(word in text for word in _OF_INSTALLERS_WORDS):
        yield from _of_installers(text[:LINE_LIMIT])
    for word, pattern in _OTHERS:
        if word in text:
            for found in pattern.finditer(text[:LINE_LIMIT]):
                yield from _row(found.groupdict(""))


# What a comparison ends with: most lines have none, and its own pattern tries every letter.
_RANGED = compiled(r"[<>~=!](?:(?<=[<>])|=) ?\d")
_COMPARED = compiled(r"[A-Za-z][`'\"]? ?\(?(?:[<>~=!]=|[<>]) ?\d")
_OF_INSTALLERS_WORDS = ("requires ", "has requirement ", "depends on ")
_OTHERS = (
    ("The package `", _OF_UV),
    ("but none of the ", _OF_CONDA),
    ("Requirement.parse(", _OF_SETUPTOOLS),
    (" is installed but ", _OF_SETUPTOOLS_TOLD),
    ("distribution was not found", _OF_LACKS),
    ("for a normal functioning", _OF_TRANSFORMERS),
    ("No package metadata was found", _OF_METADATA),
)
"""What a line holds that is written in a form, and the form."""


def _of_installers(text: str) -> Iterator[ToldRequirement]:
    for found in _OF_INSTALLERS.finditer(text):
        ranged = _OF_RANGE.match(text, found.end())
        tail = _OF_TAIL.match(text, ranged.end() if ranged else found.end())
        parts = (part.groupdict("") for part in (found, ranged, tail) if part)
        yield from _row({name: value for part in parts for name, value in part.items()})


def _row(said: Mapping[str, str]) -> Iterator[ToldRequirement]:
    """Yield what the parts of a line say; nothing of one that says what another package is."""
    needs, there = normalise_name(said["needs"]), normalise_name(said.get("there", ""))
    if there and there != needs:
        return
    yield ToldRequirement(
        asker=normalise_name(said.get("asker", "")),
        release=said.get("release", "").rstrip("."),
        needs=OF_CONDA.get(needs, needs),
        specifier=specifier_of(said.get("range", "")),
        found=said.get("found", "").rstrip("."),
        is_missing=bool(said.get("missing")),
    )
