"""Next to each official wheel, one thing wrong at a time: the right rule speaks, and no other.

Judged are the rules that can decide the cell of FlashAttention-2 or are about flash-attn itself;
`test_clean` shows, with every rule, that nothing else is wrong in these environments. Only one rule
reads the interpreter (a test here says so), so that every file is tried on other Pythons, and one
Python of each file on all the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fadoctor.knowledge.matrix.versions import is_in, version_part
from fadoctor.model.fact import Known, Unknown
from tests.catalogue.environments import (
    Torch,
    Torches,
    environment,
    own_build,
    really_new,
    words_of,
)
from tests.catalogue.evaluation import Doctor, failed, undecided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fadoctor.knowledge.matrix.wheels import WheelFile
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge

AMPERE = ("8.0",)


class Case(NamedTuple):
    """One neighbour of a wheel, with one GPU."""

    file: WheelFile
    made: Environment
    rules: set[str]
    """The rules that must fail, and no others."""
    verdict: str = "fails"
    unknown: str = ""
    """A rule that must stay unknown."""


@pytest.fixture(scope="module")
def doctor(knowledge: Knowledge) -> Doctor:
    """Return a doctor with the rules that can matter here."""
    return Doctor(knowledge, only_about="flash-attn")


@pytest.fixture(scope="module", params=[True, False], ids=["binary read", "labels alone"])
def make(request: pytest.FixtureRequest) -> Callable[..., Environment]:
    """Return what makes environments, with the binary's own word and without."""

    def made(
        file: WheelFile, torch: Torch, gpus: tuple[str, ...] = AMPERE, **changes: Any
    ) -> Environment:
        return environment(file, torch, gpus, binary=bool(request.param), **changes)

    return made


def wrong(doctor: Doctor, cases: Iterable[Case]) -> list[object]:
    """Return the first cases that come out otherwise."""
    found: list[object] = []
    for case in cases:
        assessment = doctor.assess(case.made)
        verdict = doctor.half_precision(case.made, assessment)["gpu[0]"]
        open_ = undecided(assessment)
        right = (failed(assessment), verdict) == (case.rules, case.verdict)
        if not right or (case.unknown and case.unknown not in open_):
            found.append((case.file.name, failed(assessment), verdict, open_, case[2:]))
    return found[:5]


def test_only_one_rule_reads_the_interpreter(doctor: Doctor) -> None:
    """Beside the one about Requires-Python, which no file here states."""
    readers = {rule.id for rule in doctor.rules if "python." in repr((rule.when, rule.rows))}
    assert readers == {"python-unsupported", "wheel-python-mismatch"}


@pytest.mark.long
def test_other_python(tried: tuple[WheelFile, ...], torches: Torches, doctor: Doctor) -> None:
    def cases() -> Iterator[Case]:
        for file in tried:
            torch = torches.fitting(file, "8.0")
            later = f"cp3{int(file.python.rstrip('m')[3:]) + 1}"
            made = environment(file, torch, AMPERE, python__tag=later, python__abi_tag=later)
            yield Case(file, made, {"wheel-python-mismatch"})

    assert wrong(doctor, cases()) == []


def test_other_torch_minor(
    some: tuple[WheelFile, ...],
    knowledge: Knowledge,
    torches: Torches,
    doctor: Doctor,
    make: Callable[..., Environment],
) -> None:
    """The nearest minor of other symbols fails, the nearest of the same symbols is a warning."""
    bands = {
        minor: str(row["band"])
        for row in knowledge.tables["torch-symbols"].rows
        for minor in str(row["minor"]).split()
    }

    def cases() -> Iterator[Case]:
        for file in some:
            for minor in _nearest(file.torch, bands):
                torch = own_build(minor, f"{file.cuda_major}.0", cxx11_abi=really_new(file))
                published = [
                    each
                    for each in torches.published(file.platform, minor)
                    if not each.sm or torches.covers(each.sm, "8.0")
                ]
                torch = next((each for each in published if _as_near(each, torch)), torch)
                made = make(file, torch)
                same = bands[minor] == bands.get(file.torch)
                if file.torch == "2.3" and not same and is_in(file.release, "<2.5.8"):
                    yield Case(file, made, set(), "works")  # built with nightlies of torch 2.3
                elif same and torch.build == "other":
                    yield Case(file, made, set(), _on_ampere(file), "wheel-torch-minor")
                elif file.torch not in bands or torch.build == "other":
                    yield Case(file, made, set(), "unknown", "wheel-torch-mismatch")
                elif same:
                    yield Case(file, made, {"wheel-torch-minor"}, _on_ampere(file))
                else:
                    yield Case(file, made, {"wheel-torch-mismatch"})

    assert wrong(doctor, cases()) == []


def _nearest(minor: str, bands: dict[str, str]) -> Iterator[str]:
    """Yield the nearest minor on either side of the same symbols and of others."""
    order = [*bands] if minor in bands else [minor, *bands]
    here = order.index(minor)
    for side in (order[here + 1 :], order[:here][::-1]):
        for same in (True, False):
            yield from [m for m in side if (bands[m] == bands.get(minor)) is same][:1]


def _as_near(one: Torch, wanted: Torch) -> bool:
    mine, theirs = version_part(one.cuda, "major"), version_part(wanted.cuda, "major")
    return mine == theirs and one.cxx11_abi is wanted.cxx11_abi


def test_other_abi(
    some: tuple[WheelFile, ...],
    step: int,
    torches: Torches,
    doctor: Doctor,
    make: Callable[..., Environment],
) -> None:
    """The published torch of the other ABI (2.6 has both), else a build of one's own.

    Files whose label lies are among them: cxx11abiFALSE for torch 2.6 from 2.8.0 on.
    """

    def cases() -> Iterator[Case]:
        for file in some:
            other = not really_new(file)
            torch = own_build(file.torch, f"{file.cuda_major}.0", cxx11_abi=other)
            published = torches.published(file.platform, file.torch)
            torch = next((each for each in published if _as_near(each, torch)), torch)
            yield Case(file, make(file, torch), {"abi-undefined-symbol-cxx11"})

    assert wrong(doctor, cases()) == []
    lying = [f for f in some if f.label_abi is not really_new(f) and f.torch == "2.6"]
    assert step > 1 or len(lying) == 7  # 2.8.0, its two .posts, 2.8.1, 2.8.2, 2.8.3 and its .post1


def test_other_cuda_major(
    some: tuple[WheelFile, ...], torches: Torches, doctor: Doctor, make: Callable[..., Environment]
) -> None:
    def cases() -> Iterator[Case]:
        for file in some:
            major = "12" if file.cuda_major != "12" else "13"
            torch = own_build(file.torch, f"{major}.0", cxx11_abi=really_new(file))
            published = torches.published(file.platform, file.torch)
            torch = next((each for each in published if _as_near(each, torch)), torch)
            yield Case(file, make(file, torch), {"cuda-major-mix"})

    assert wrong(doctor, cases()) == []


def test_driver_below_the_floor(
    some: tuple[WheelFile, ...],
    knowledge: Knowledge,
    torches: Torches,
    doctor: Doctor,
    make: Callable[..., Environment],
) -> None:
    floors = {
        str(row["cuda"]): str(row["driver"])
        for row in knowledge.tables["driver-floors"].rows
        if row["os"] == "linux"
    }

    def cases() -> Iterator[Case]:
        for file in some:
            torch, floor = torches.fitting(file, "8.0"), floors[file.cuda_major]
            below = f"{int(floor.partition('.')[0]) - 1}.99"
            rules = {"driver-too-old"}
            compressed = file.release == "2.8.1"  # which no driver before 550 can read
            if compressed and is_in(below, "<550"):
                rules.add("flash-attn-driver-too-old")
            yield Case(file, make(file, torch, driver__version=below), rules)
            if compressed and is_in("549.99", f">={floor}"):
                made = make(file, torch, driver__version="549.99")
                yield Case(file, made, {"flash-attn-driver-too-old"})
                floor = "550"
            yield Case(file, make(file, torch, driver__version=floor), set(), _on_ampere(file))

    assert wrong(doctor, cases()) == []


def _on_ampere(file: WheelFile) -> str:
    """Return the verdict of a healthy wheel: some implausible ones have code that nobody knows."""
    return "unknown" if file.evidence == "implausible" else "works"


def test_glibc_below_the_floor(
    some: tuple[WheelFile, ...], torches: Torches, doctor: Doctor, make: Callable[..., Environment]
) -> None:
    """Below what a file was seen to need it fails; below its builder's only is unknown."""

    def cases() -> Iterator[Case]:
        for file in some:
            torch = torches.fitting(file, "8.0")
            enough = str(file.glibc_enough.value) if isinstance(file.glibc_enough, Known) else ""
            if isinstance(file.glibc_needed, Known):
                needed = str(file.glibc_needed.value)
                made = make(file, torch, host__glibc=_before(needed))
                yield Case(file, made, {"glibc-too-old"})
                made = make(file, torch, host__glibc=needed)
                yield Case(file, made, set(), _on_ampere(file))
            else:
                made = make(file, torch, host__glibc=_before(enough))
                yield Case(file, made, set(), "unknown", "glibc-too-old")
            yield Case(file, make(file, torch, host__glibc=enough), set(), _on_ampere(file))

    assert wrong(doctor, cases()) == []


def _before(version: str) -> str:
    major, _, minor = version.partition(".")
    return f"{major}.{int(minor) - 1}"


@pytest.mark.long
def test_every_gpu_of_the_matrix(
    some: tuple[WheelFile, ...],
    torches: Torches,
    doctor: Doctor,
    make: Callable[..., Environment],
) -> None:
    """Each wheel with all GPUs at once, under a torch that has code for every one of them.

    No rule about a GPU reads the C++ ABI: files that differ in it alone are tried once.
    """
    gpus = tuple(torches.runs)
    found = []
    for file in {(f.release, f.torch, f.cuda, f.platform): f for f in some}.values():
        cuda = f"{file.cuda_major}.0"
        torch = Torch(f"{file.torch}.0+own", "other", cuda, really_new(file), gpus)
        made = make(file, torch, gpus)
        assessment = doctor.assess(made)
        verdicts = doctor.half_precision(made, assessment)
        for index, cc in enumerate(gpus):
            rules = failed(assessment, f"gpu[{index}]")
            verdict, owed = verdicts[f"gpu[{index}]"], _owed(file, cc, torches)
            said = owed if verdict == "fails" and owed in rules else verdict
            if said != owed or bool(rules) is not (verdict == "fails"):
                found.append((file.name, cc, rules, verdict, "instead of", owed))
    assert found[:5] == []


def _owed(file: WheelFile, cc: str, torches: Torches) -> str:
    """Return the rule that must fail on a GPU, or the verdict where none does."""
    if is_in(cc, "<8.0"):
        return "gpu-too-old-fa2"
    if is_in(cc, ">=10.0") and is_in(file.release, "<2.7.3"):
        return "fa2-too-old-for-gpu"
    runs = torches.runs[cc]
    if not runs or isinstance(file.sm, Unknown):
        return "works" if set(runs) & set(words_of(file.sm_at_least)) else "unknown"
    if set(runs).isdisjoint(words_of(file.sm)):
        return "kernel-image-missing-fa2"
    return "unknown" if cc == "10.7" else "works"  # no source speaks of Rubin
