"""Every state of torch, flash-attn, Python, GPU and driver: one for each way to be broken.

The whole product has more than a hundred million members. How a rule comes out depends on some of
the parts only, so it is judged once for each combination of those. What torch, file and Python are
together is summed up by how every rule comes out for them over all GPUs, drivers and tritons; pairs
of one sum are alike. Each distinct set of violated relations that is left gets one state.
"""

from __future__ import annotations

import random
import re
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.judging.engine.evaluate import evaluate
from fadoctor.knowledge.matrix.versions import is_in, version_part
from fadoctor.knowledge.matrix.wheels import Wheels
from fadoctor.model.fact import Absent, Fact
from fadoctor.model.finding import Outcome, Severity
from tests.catalogue.environments import READ, Torch, Torches, environment, known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.wheels import WheelFile
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge, Rule
    from tests.catalogue.evaluation import Doctor

GPUS = ("7.0", "7.5", "8.0", "8.9", "9.0", "10.0", "12.0")
DRIVERS = ("470.82.01", "525.60.13", "550.54.15", "580.65.06")
PYTHONS = ("cp39", "cp310", "cp311", "cp312", "cp313")
PLATFORM = "linux_x86_64"
EXTENSIONS = (True, False)
TRITONS = ("pinned", "wrong", "missing")

WRONG_TRITON = "2.0.0"


class State(NamedTuple):
    """One state, broken or not."""

    torch: Torch
    file: WheelFile
    python: str
    gpu: str
    driver: str
    extension: bool = True
    triton: str = "pinned"


class Space:
    """The parts that states are made of."""

    def __init__(
        self, knowledge: Knowledge, torches: Torches, files: tuple[WheelFile, ...]
    ) -> None:
        """Take the knowledge base, its torch builds, and the official files."""
        self.knowledge = knowledge
        self.torches = [
            torch
            for (platform, _), found in torches.by_minor.items()
            for torch in found
            if platform == PLATFORM
        ]
        tested = [file for file in files if file.platform == PLATFORM and file.verified]
        self.files = [file for file in tested if file.python in PYTHONS]
        self.pins: dict[str, str] = {}
        self.pythons: dict[str, tuple[str, ...]] = {}
        for row in knowledge.tables["torch-releases"].rows:
            for version in str(row["version"]).split():
                if PLATFORM in str(row["platform"]).split():
                    self.pins[version] = str(row.get("triton") or "")
                    tags = str(row["python"]).split()
                    self.pythons[version] = tuple(f"cp{tag.replace('.', '')}" for tag in tags)
        self.bands = {
            minor: str(row["band"])
            for row in knowledge.tables["torch-symbols"].rows
            for minor in str(row["minor"]).split()
        }
        self.bad = {
            word
            for row in knowledge.tables["flash-attn-known-bad"].rows
            for word in str(row["version"]).split()
        }
        self.ranges = sorted(
            {
                str(row["version"])
                for name in ("flash-attn-known-bad", "kernel-support", "flash-attn-wheel-abi")
                for row in knowledge.tables[name].rows
            }
        )

    def size(self) -> int:
        """Return how many states there are."""
        pairs = sum(len(self._pythons(torch)) for torch in self.torches)
        other = len(GPUS) * len(DRIVERS) * len(EXTENSIONS) * len(TRITONS)
        return pairs * len(self.files) * other

    def _pythons(self, torch: Torch) -> tuple[str, ...]:
        wanted = self.pythons.get(version_part(torch.version, "base") or "", ())
        return tuple(python for python in PYTHONS if python in wanted)

    def member(self, numbers: tuple[int, ...]) -> State | None:
        """Return the state that some numbers choose; None where that torch has no such Python."""
        torch = self.torches[numbers[0] % len(self.torches)]
        pythons = self._pythons(torch)
        if not pythons:
            return None
        return State(
            torch,
            self.files[numbers[1] % len(self.files)],
            pythons[numbers[2] % len(pythons)],
            GPUS[numbers[3] % len(GPUS)],
            DRIVERS[numbers[4] % len(DRIVERS)],
            EXTENSIONS[numbers[5] % 2],
            TRITONS[numbers[6] % 3],
        )

    def pairs(self, part: int = 0, parts: int = 1) -> Iterator[State]:
        """Yield torch, file, Python and extension; GPU, driver and triton are the first ones.

        With `parts`, only those of every so many-th torch: for processes that share the work.

        One pair for each look: what else they differ in are names.
        """
        seen: set[object] = set()
        for torch in self.torches[part::parts]:
            pythons = self._pythons(torch)
            for file in self.files:
                same = [python for python in pythons if python == file.python][:1]
                other = [python for python in pythons if python != file.python][:1]
                for python in (*same, *other):
                    look = (*self._pair_look(torch, file), python in same)
                    if look not in seen:
                        seen.add(look)
                        for extension in EXTENSIONS:
                            yield State(torch, file, python, GPUS[0], DRIVERS[0], extension)

    def _pair_look(self, torch: Torch, file: WheelFile) -> tuple[object, ...]:
        minor = version_part(torch.version, "minor") or ""
        here, there = self.bands.get(minor), self.bands.get(file.torch)
        relation = (minor == file.torch, here == there, there is None)
        return (*self._torch_look(torch), *self._file_look(file), *relation)

    def _torch_look(self, torch: Torch) -> tuple[object, ...]:
        base = version_part(torch.version, "base") or ""
        major = version_part(torch.cuda, "major")
        return (torch.cxx11_abi, major, torch.sm, self.pins.get(base), is_in(base, ">=2.6,<2.7"))

    def _file_look(self, file: WheelFile) -> tuple[object, ...]:
        ranges = tuple(is_in(file.version, each) for each in self.ranges if _is_range(each))
        bad = file.version if file.version in self.bad else ""
        label = (str(file.real_abi), file.label_abi, file.cuda_major, bad)
        return (*label, str(file.sm), str(file.sm_at_least), ranges, str(file.glibc_needed))


def space_of(knowledge: Knowledge) -> Space:
    """Return the space of what a knowledge base lists."""
    files = tuple(Wheels(knowledge.tables).official())
    return Space(knowledge, Torches(knowledge.tables), files)


def members(space: Space, seed: int) -> Iterator[State]:
    """Yield states at random, without end."""
    chance = random.Random(seed)  # noqa: S311 -- not for secrets
    while True:
        state = space.member(tuple(chance.randrange(10**9) for _ in range(7)))
        if state is not None:
            yield state


def _is_range(text: str) -> bool:
    return text.startswith((">", "<", "=", "~"))


def made(state: State, space: Space) -> Environment:
    """Return a state as facts: what a check would read there."""
    torch, file = state.torch, state.file
    pin = space.pins.get(version_part(torch.version, "base") or "", "")
    triton = {
        "pinned": pin.removeprefix("==").removeprefix("~="),
        "wrong": WRONG_TRITON,
        "missing": "",
    }
    found = environment(file, torch, (state.gpu,), binary=False)
    changes: dict[str, Fact] = {
        "python.tag": known(state.python),
        "python.abi_tag": known(state.python),
        "python.version": known(f"3.{state.python[3:]}.1"),
        "python.ext_suffix": known(f".cpython-{state.python[2:]}-x86_64-linux-gnu.so"),
        "driver.version": known(state.driver),
        "driver.forward_compat": known(False),
        "torch.requires": known({"triton": pin} if pin else {}),
        "flash_attn.requires": known({"torch": "", "einops": ""}),
        "toolkit.count": known(0),
        "host.cores": known(8),
    }
    version = triton[state.triton]
    changes["triton.version"] = known(version or None)
    changes["triton.distribution"] = known("triton" if version else None)
    changes["triton.requires"] = known({} if version else None)
    changes["triton.binary.file"] = known("$site/triton/_C/libtriton.so" if version else None)
    if not state.extension:
        changes["flash_attn.extension"] = Absent(READ)
        changes["flash_attn.binary.file"] = Absent(READ)
        changes["flash_attn.wheel.python"] = Absent(READ)
    installed = {"torch": torch.version, "flash-attn": file.version, "einops": "0.8.1"}
    if version:
        installed["triton"] = version
    changes["packages.installed"] = known(installed)
    changes["packages.nvidia"] = known({})
    return msgspec.structs.replace(found, facts={**found.facts, **changes})


def violated(environment: Environment, doctor: Doctor) -> frozenset[str]:
    """Return the relations that a state violates: rules of any weight above a note."""
    return frozenset(
        each.rule.id
        for each in doctor.assess(environment).judgements
        if each.outcome is Outcome.FAIL and each.rule.severity is not Severity.NOTE
    )


_PARTS = {
    "torch": ("torch",),
    "flash_attn": ("file", "extension", "python"),
    "python": ("python",),
    "gpu": ("gpu",),
    "driver": ("driver",),
    "triton": ("torch", "triton"),
    "package": ("torch", "file", "triton"),
    "packages": ("torch", "file", "extension", "python", "triton"),
}
"""Head of a fact's name -> the parts of a state that it depends on."""

_HEAD = re.compile(r"(?<![\w.-])\$?([a-z][a-z0-9_]*)[.\[](\w*)")
_SAME_EVERYWHERE = {"distribution", "loads", "binary"}
"""What packages are called, and what reading their files would give: nobody does so here."""
_AROUND = {"gpu": GPUS, "driver": DRIVERS, "triton": TRITONS}
"""The parts that torch and file are tried with."""


class Judged:
    """How rules come out, judged once for each combination of the parts that they read."""

    def __init__(self, space: Space, doctor: Doctor) -> None:
        self.space = space
        self.doctor = doctor
        # rules for each package are about requirements, which hold in every state of this space
        self.rules = [
            rule
            for rule in doctor.rules
            if rule.severity is not Severity.NOTE and rule.for_each[:1] != ("package",)
        ]
        self.parts = {rule.id: _parts(rule) for rule in self.rules}
        self._fails: dict[object, bool] = {}
        self._recent: dict[State, Environment] = {}
        self._rows: dict[object, tuple[bool, ...]] = {}

    def fails(self, rule: Rule, state: State) -> bool:
        """Return whether a rule fails in a state."""
        asked = (rule.id, *(_name(getattr(state, part)) for part in self.parts[rule.id]))
        if asked not in self._fails:
            judgements = evaluate(rule, self._made(state), self.doctor.matrix)
            self._fails[asked] = any(each.outcome is Outcome.FAIL for each in judgements)
        return self._fails[asked]

    def _made(self, state: State) -> Environment:
        """Return a state as facts; the next rules ask for the same few."""
        if state not in self._recent:
            if len(self._recent) > 200:
                self._recent.clear()
            self._recent[state] = made(state, self.space)
        return self._recent[state]

    def broken(self, state: State) -> frozenset[str]:
        """Return the relations that a state violates."""
        return frozenset(rule.id for rule in self.rules if self.fails(rule, state))

    def row(self, rule: Rule, pair: State) -> tuple[bool, ...]:
        """Return how a rule comes out for a pair, over the parts around it that it reads."""
        parts = self.parts[rule.id]
        inside = [part for part in parts if part not in _AROUND]
        asked = (rule.id, *(_name(getattr(pair, part)) for part in inside))
        if asked not in self._rows:
            outside = [part for part in _AROUND if part in parts]
            values = product(*(_AROUND[part] for part in outside))
            self._rows[asked] = tuple(
                self.fails(rule, _around(pair, dict(zip(outside, each, strict=True))))
                for each in values
            )
        return self._rows[asked]

    def representatives(self, part: int = 0, parts: int = 1) -> dict[frozenset[str], State]:
        """Return one state for each distinct set of violated relations."""
        pairs: dict[object, State] = {}
        for pair in self.space.pairs(part, parts):
            pairs.setdefault(tuple(self.row(rule, pair) for rule in self.rules), pair)
        found: dict[frozenset[str], State] = {}
        for pair in pairs.values():
            for gpu, driver, triton in product(GPUS, DRIVERS, TRITONS):
                state = pair._replace(gpu=gpu, driver=driver, triton=triton)
                found.setdefault(self.broken(state), state)
        return found


def _around(pair: State, parts: dict[str, str]) -> State:
    """Return a pair with another GPU, driver or triton."""
    return pair._replace(
        gpu=parts.get("gpu", pair.gpu),
        driver=parts.get("driver", pair.driver),
        triton=parts.get("triton", pair.triton),
    )


def _name(part: object) -> object:
    """Return what tells a part from others of its kind."""
    return getattr(part, "name", None) or getattr(part, "version", None) or part


def _parts(rule: Rule) -> tuple[str, ...]:
    """Return the parts of a state that a rule can read."""
    text = " ".join(str(part) for part in (rule.when, rule.overruled_by, rule.rows, rule.let))
    found = {
        part
        for head, noun in _HEAD.findall(text)
        if head != "package" or noun not in _SAME_EVERYWHERE
        for part in _PARTS.get(head, ())
    }
    return tuple(part for part in State._fields if part in found)
