"""The facts that a log holds: what reports of tools in it say, and what single lines mention."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.model.environment import OF_A_LOG, Environment, Target
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.sources.completion.texts import completed
from fadoctor.sources.logs.attempts import attempts
from fadoctor.sources.logs.ends import ends_of
from fadoctor.sources.logs.mentions import mentions
from fadoctor.sources.logs.moved import typed_steps
from fadoctor.sources.logs.named_gpus import ABOUT_ROCM, cards_first
from fadoctor.sources.logs.named_systems import named_systems
from fadoctor.sources.logs.package_folders import folder_claims
from fadoctor.sources.logs.pasted_settings import settings_in
from fadoctor.sources.logs.unwrapping import unwrapped
from fadoctor.sources.logs.variables import variable_claims
from fadoctor.sources.pasted import LINES
from fadoctor.sources.pasted.claims import RUNTIME, Claim
from fadoctor.sources.pasted.claims import PastedLine as PlainLine
from fadoctor.sources.pasted.cleaning import is_fence, plain
from fadoctor.sources.pasted.combine import CombinedClaims, is_short_for
from fadoctor.sources.pasted.package_lists import TOOL as LISTS
from fadoctor.sources.pasted.report import claims_in
from fadoctor.sources.pasted.requirement_lines import TOOL as UNMET
from fadoctor.sources.pasted.whole_names import with_whole_names
from fadoctor.sources.targets.derived import derive
from fadoctor.syntax.likely_lines import stands

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.logs.cleaning import Line

ENDS = 1_500
"""Lines at the beginning and at the end of a log in which facts are looked for."""

ZLUDA = "[ZLUDA]"
"""What torch for CUDA calls a GPU of AMD that ZLUDA shows it: its build is no mistake there."""

_TORCH = (RUNTIME, "torch.version", "package:torch")


class LogFacts(msgspec.Struct, frozen=True):
    """What a log says of the environment that wrote it."""

    environment: Environment
    """Known is what the log says; all else is Unknown."""
    named: dict[str, Fact]
    """What is Known of it, by name, before anything follows from it."""
    reported: frozenset[int] = frozenset()
    """Numbers of the lines that belong to the reports of tools."""


def facts_of(lines: Sequence[Line], name: str, matrix: Matrix) -> LogFacts:
    """Return the facts that a log holds. What it says in two ways is Unknown."""
    read = plain_lines(ends_of(lines, ENDS))
    reported = tuple(claims_in(read))
    combined = _beside_reports(reported, read, name, matrix)
    named: dict[str, Fact] = {
        key: fact for key, fact in combined.facts.items() if isinstance(fact, Known)
    }
    target = Target(kind=OF_A_LOG, label="log", reason="named in the log")
    facts, _ = completed(combined, read, matrix)
    facts = {**facts, **settings_in(read, name)}
    if any(ZLUDA in line.text for line in read):
        facts = {**facts, "torch.cuda": Unknown("ZLUDA runs a build for CUDA on this GPU", name)}
    environment = Environment(__version__, target, facts)
    return LogFacts(derive(environment, matrix), named, _lines_of(reported))


def plain_lines(lines: Iterable[Line]) -> list[PlainLine]:
    """Return lines without what trackers put around them, put together, and without blank ones."""
    found = (PlainLine(line.number, plain(line.text)) for line in unwrapped([*lines]))
    return [line for line in found if line.text.strip() and not is_fence(line.text)]


def stated(lines: Sequence[PlainLine], name: str, matrix: Matrix) -> CombinedClaims:
    """Return what lines state, held against each other: nothing that follows from it.

    A report of a tool counts more than a pair of name and value, and that more than a sentence.
    """
    return _beside_reports(claims_in(lines), lines, name, matrix)


def _beside_reports(
    reported: Iterable[Claim], lines: Sequence[PlainLine], name: str, matrix: Matrix
) -> CombinedClaims:
    """Return what the reports of tools state, and what lines add."""
    claims = [*reported]
    tried = attempts(lines)
    paired, mentioned = _present(
        [*claims_in(lines, LINES)], [*mentions(lines, matrix.tables)], tried
    )
    claims += _agreed(_beside(claims, paired))
    is_on_rocm = stands(ABOUT_ROCM, (line.text for line in lines))
    claims += _agreed(_beside(claims, cards_first(mentioned, claims, is_on_rocm=is_on_rocm)))
    claims += _agreed(_beside(claims, folder_claims(lines)))
    claims += _beside(claims, variable_claims(lines, tried))
    claims += _agreed(_beside(claims, named_systems(lines, matrix.tables)))
    names = {"package:torch" if each.name in _TORCH else each.name for each in mentioned}
    claims += _agreed(_beside(claims, typed_steps(lines, frozenset(names))))
    return CombinedClaims(with_whole_names(claims, matrix.tables), name)


def _present(
    paired: list[Claim], mentioned: list[Claim], tried: Container[int]
) -> tuple[list[Claim], list[Claim]]:
    """Return claims without those of lines that were tried in vain, where another line tells."""
    told = {_subject(each.name) for each in (*paired, *mentioned) if each.line not in tried}

    def is_present(claim: Claim) -> bool:
        return claim.line not in tried or _subject(claim.name) not in told

    return [*filter(is_present, paired)], [*filter(is_present, mentioned)]


def _lines_of(reported: Iterable[Claim]) -> frozenset[int]:
    """Return the numbers of lines that belong to the reports of tools, which tell no problem."""
    of_tool: dict[str, list[int]] = {}
    for claim in reported:
        of_tool.setdefault(claim.tool, []).append(claim.line)
    found: set[int] = set()
    for tool, numbers in of_tool.items():
        # A list of packages says nothing of the lines between two of its own.
        is_apart = tool in (LISTS, UNMET)
        found.update(numbers if is_apart else range(min(numbers), max(numbers) + 1))
    return frozenset(found)


def _subject(name: str) -> str:
    """Return what a claim is about: the one word of a report on it counts for all of it."""
    if name in _TORCH:
        return "torch"
    if name.endswith(".gfx"):
        return "gfx"
    return "gpu" if name.startswith("gpu[") else name


def _beside(reported: list[Claim], mentioned: Iterable[Claim]) -> Iterator[Claim]:
    """Yield what lines mention that no report tells."""
    told = {_subject(claim.name) for claim in reported}
    yield from (claim for claim in mentioned if _subject(claim.name) not in told)


def _agreed(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims that no other contradicts; the longer spelling of a version counts."""
    by_name: dict[str, dict[str, Claim]] = defaultdict(dict)
    for claim in claims:
        by_name[claim.name].setdefault(str(claim.value), claim)
    kept = (_longest(list(values.values())) for values in by_name.values())
    agreed = [claim for claim in kept if claim is not None]
    names = {claim.name for claim in agreed}
    listed = by_name.get("package:torch", {})
    if RUNTIME in names and any(not _spells(claim, agreed) for claim in listed.values()):
        agreed = [claim for claim in agreed if _subject(claim.name) != "torch"]
    return agreed


def _spells(listed: Claim, agreed: list[Claim]) -> bool:
    """Return whether torch's own version is the listed one with a label."""
    runtime = next(claim for claim in agreed if claim.name == RUNTIME)
    return str(runtime.value).startswith(str(listed.value))


def _longest(claims: list[Claim]) -> Claim | None:
    """Return the claim that spells out all others, None where they differ."""
    longest = max(claims, key=lambda claim: len(str(claim.value)))
    same = all(is_short_for(str(each.value), str(longest.value)) for each in claims)
    return longest if same else None
