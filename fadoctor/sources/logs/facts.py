"""The facts that a log holds: what reports of tools in it say, and what single lines mention."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.model.environment import OF_A_LOG, Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.logs.mentions import mentions
from fadoctor.sources.pasted.claims import RUNTIME, Claim, machine_facts
from fadoctor.sources.pasted.claims import Line as PlainLine
from fadoctor.sources.pasted.cleaning import plain
from fadoctor.sources.pasted.combine import Combined
from fadoctor.sources.pasted.report import claims_in
from fadoctor.sources.targets.derived import derive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.logs.cleaning import Line

# 2.6.0+cu124
_RELEASE = re.compile(r"\d{1,2}\.\d{1,3}\.\d{1,3}\+(cu\d{2,3})")
# C:\Users, D:/a. What the character before may not be is asked behind: a pattern that begins with
# a class of characters is found many times faster.
_DRIVE = re.compile(r"[A-Z](?<!\w[A-Z]):[\\/]")
_WINDOWS = re.compile(r"\.pyd\b|win_amd64|\bWindows\b")
_WINDOWS_MARKS = (".pyd", "win_amd64", "Windows")
_OTHER_MACHINES = ("aarch64", "arm64", "jetson", "dgx spark", "mac os", "macos", "darwin")
# GB200, GH200: of small letters
_OTHER_CHIP = re.compile(r"g(?<!\wg)[bh]\d{2,3}\b")
_APPLE = re.compile(r"\bapple\b")
_SILENT = "assumed: the log names no other platform"

ENDS = 1_500
"""Lines at the beginning and at the end of a log in which facts are looked for."""

_BUILD_KEYS = {"version": "torch.version", "build": "torch.build", "platform": "host.platform"}
"""Column of the table torch-builds -> the fact that it is asked by."""

_TORCH = (RUNTIME, "torch.version", "package:torch")


class LogFacts(msgspec.Struct, frozen=True):
    """What a log says of the environment that wrote it."""

    environment: Environment
    """Known is what the log says; all else is Unknown."""
    named: dict[str, Fact]
    """What is Known of it, by name, before anything follows from it."""


def facts_of(lines: Sequence[Line], name: str, matrix: Matrix) -> LogFacts:
    """Return the facts that a log holds. What it says in two ways is Unknown."""
    ends = lines if len(lines) <= 2 * ENDS else (*lines[:ENDS], *lines[-ENDS:])
    read = [PlainLine(line.number, plain(line.text)) for line in ends]
    reported = claims_in(read)
    mentioned = _agreed(_beside(reported, mentions(read, matrix.tables)))
    combined = Combined([*reported, *mentioned], name)
    named: dict[str, Fact] = {
        key: fact for key, fact in combined.facts.items() if isinstance(fact, Known)
    }
    target = Target(kind=OF_A_LOG, label="log", reason="named in the log")
    facts = {**combined.facts, **assumed(combined, read)}
    facts |= _assumed_abi(facts, matrix)
    environment = Environment(__version__, target, facts)
    return LogFacts(derive(environment, matrix), named)


def assumed(combined: Combined, lines: Iterable[PlainLine]) -> dict[str, Fact]:
    """Return what is taken for granted where a log says nothing else: it only weighs causes.

    A label of CUDA is that of torch's own files, whichever index they came from; and a log that
    names neither Windows nor another processor is Linux's on x86_64.
    """
    found: dict[str, Fact] = {}
    runtime = combined.fact(RUNTIME)
    if isinstance(runtime, Known) and isinstance(combined.facts.get("torch.build"), Unknown):
        label = _RELEASE.fullmatch(str(runtime.value))
        found |= {"torch.build": Known(label[1], runtime.source)} if label else {}
    if isinstance(combined.facts.get("torch.version"), Known):
        found["torch.requires"] = Absent("a log holds no metadata: the table of releases serves")
    if isinstance(combined.facts.get("host.platform"), Unknown):
        text = "\n".join(line.text for line in lines)
        if _names_windows(text):
            said = machine_facts("windows", "amd64")
        elif _names_another_machine(text.lower()):
            said = {}
        else:
            said = machine_facts("linux", "x86_64")
        found |= {name: Known(value, _SILENT) for name, value in said.items()}
    return found


def _assumed_abi(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return the C++ ABI of torch's own build, where the log says which build it is.

    A release without a label may be conda's: then only what holds for all of its builds, and the
    new ABI, which conda's have had for longer.
    """
    if not isinstance(facts.get("torch.cxx11_abi"), Unknown):
        return {}
    keys = {key: facts[fact] for key, fact in _BUILD_KEYS.items() if fact in facts}
    is_labelled = isinstance(keys.get("build"), Known)
    if not is_labelled:
        keys.pop("build", None)
    abi = matrix.find("torch-builds", keys).cell("cxx11_abi")
    is_told = isinstance(abi, Known) and (is_labelled or abi.value is True)
    return {"torch.cxx11_abi": abi} if is_told else {}


def _names_windows(text: str) -> bool:
    is_marked = any(mark in text for mark in _WINDOWS_MARKS)
    return bool(_DRIVE.search(text) or (is_marked and _WINDOWS.search(text)))


def _names_another_machine(lowered: str) -> bool:
    """Return whether a text in small letters names a machine that is no x86_64 of Linux."""
    if any(name in lowered for name in _OTHER_MACHINES) or _OTHER_CHIP.search(lowered):
        return True
    return "apple" in lowered and _APPLE.search(lowered) is not None


def _subject(name: str) -> str:
    """Return what a claim is about: the one word of a report on it counts for all of it."""
    if name in _TORCH:
        return "torch"
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
    same = all(_is_short_for(str(each.value), str(longest.value)) for each in claims)
    return longest if same else None


def _is_short_for(short: str, long: str) -> bool:
    return long == short or long.startswith((f"{short}.", f"{short}+"))
