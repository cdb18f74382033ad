"""Commands that plans print, on six Pythons and two architectures, to be put to a resolver.

``python -m tests.states.sequences --count 500 --seed 1 > FILE`` writes what
`tools.compare_resolutions` asks uv about. One of four is a wish from nothing, one a wish where
something is installed, one the repair of a state of the enumeration, and one a file as
``fix --write`` leaves it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.interfaces.commands.fix import FixRequest
from fadoctor.interfaces.commands.fix import make_plan as plan_of_files
from fadoctor.interfaces.commands.plan import PlanRequest
from fadoctor.interfaces.commands.request import ProgramRequest, request_of
from fadoctor.knowledge.matrix.versions import is_in, version_part
from fadoctor.model.fact import Absent, Known
from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.choices.indexes import CPU
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.sources.targets.derived import derive
from tests.shipped import compiled
from tests.states import written
from tests.states.commands import installed_in
from tests.states.enumeration import made, members, space_of
from tests.states.starts import STARTS, start
from tests.states.test_commands import MACHINES, WISHES
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan

Sequence = dict[str, Any]

PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("linux_x86_64", "linux_aarch64")
_MORE = (
    ("torch",), ("sglang",), ("transformers", "peft"), ("transformers", "trl", "bitsandbytes"),
    ("trl",), ("unsloth", "flash-attn"), ("xformers",), ("kernels",), ("vllm", "unsloth"),
    ("accelerate", "transformers"), ("llamafactory",), ("sglang", "flash-attn"),
    ("torchvision", "torchaudio"), ("liger-kernel", "transformers"),
)  # fmt: skip
_MACHINES = (
    *MACHINES,
    ("NVIDIA L4", "8.9", "535.183.01"),
    ("NVIDIA GeForce RTX 4090", "8.9", "570.124.06"),
    ("NVIDIA H200", "9.0", "570.86.15"),
    ("Tesla V100-SXM2-16GB", "7.0", "535.104.05"),
    ("NVIDIA GH200 480GB", "9.0", "560.35.03"),
)
_GPUS = {
    "7.0": "V100", "7.5": "T4", "8.0": "A100", "8.9": "L4", "9.0": "H100", "10.0": "B200",
    "12.0": "RTX 5090",
}  # fmt: skip
"""GPUs that the states of the enumeration are about, by name."""


def sequences(count: int, seed: int) -> Iterator[Sequence]:
    """Yield so many sequences of commands, no two alike, of each kind as many."""
    sources = [
        _wishes(("empty",), random.Random(seed)),  # noqa: S311 -- a sample
        _wishes([name for name in STARTS if name != "empty"], random.Random(seed + 1)),  # noqa: S311
        _states(seed),
        _files(random.Random(seed)),  # noqa: S311
    ]
    seen: set[str] = set()
    while True:
        for source in sources:
            found = next(each for each in source if _is_new(each, seen))
            yield found
            if len(seen) == count:
                return


def _is_new(found: Sequence, seen: set[str]) -> bool:
    """Return whether a sequence installs something, and was not there yet; remember it."""
    parts = ("installed", "requirements", "python", "platform")
    key = json.dumps([found[part] for part in parts])
    is_new = bool(found["requirements"]) and key not in seen
    return is_new and not seen.add(key)  # type: ignore[func-returns-value] # None


def _wishes(names: Iterable[str], chance: random.Random) -> Iterator[Sequence]:
    """Yield what is printed for every wish, machine, Python and platform, from some starts."""
    every = list(product(names, (*WISHES, *_MORE), _MACHINES, PYTHONS, PLATFORMS))
    chance.shuffle(every)
    for name, want, machine, python, platform in every:
        environment = _as_published(on_platform(start(name, machine, python), platform))
        if environment and _is_real(name, python):
            plan = make_plan(environment, session(), PlannerRequest(want=want))
            there = installed_in(environment)
            yield _sequence(plan, (name, *want), (machine[0], machine[2]), python, platform, there)


def _states(seed: int) -> Iterator[Sequence]:
    """Yield what is printed for states of the enumeration."""
    space = space_of(compiled().knowledge)
    for state in members(space, seed):
        environment = made(state, space)
        plan = make_plan(environment, session(), PlannerRequest())
        python = f"3.{state.python[3:]}"
        platform = str(environment.facts["host.platform"].value)  # type: ignore[union-attr]
        machine = (_GPUS[state.gpu], state.driver)
        there = installed_in(environment)
        told = (state.file.version, str(state.extension), state.triton)
        yield _sequence(plan, told, machine, python, platform, there)


def _files(chance: random.Random) -> Iterator[Sequence]:
    """Yield files as they would be written, to be installed where nothing is."""
    every = list(product(written.BASES, written.MORE, written.MACHINES, PYTHONS, PLATFORMS))
    chance.shuffle(every)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.txt")
        for base, more, machine, python, platform in every:
            file.write_text(f"{base}\n{more}\n")
            what = ProgramRequest(requirements=file, gpu=machine[0], driver=machine[1],
                                  python_version=python, platform=platform)  # fmt: skip
            found = plan_of_files(FixRequest(request_of(what, cache=True), PlanRequest()))
            if found.rewrites and found.plan.outcome.value == "repairs":
                asked = _sequence(found.plan, (base, more), machine, python, platform, {})
                asked["requirements"] = written.asked_lines(found.rewrites[0].text)
                yield asked


def _sequence(  # noqa: PLR0917 -- what is told of it
    plan: Plan,
    told: tuple[str, ...],
    machine: tuple[str, str],
    python: str,
    platform: str,
    installed: dict[str, str],
) -> Sequence:
    """Return what a plan runs, and what it says of the end."""
    kinds = {kind: [i for a in plan.actions if a.kind is kind for i in a.requirements]
             for kind in (ActionKind.INSTALL, ActionKind.UNINSTALL)}  # fmt: skip
    return {
        "from": told,
        "machine": machine,
        "python": python,
        "platform": platform,
        "installed": installed,
        "requirements": kinds[ActionKind.INSTALL],
        "uninstalled": kinds[ActionKind.UNINSTALL],
        "indexes": [action.index for action in plan.actions if action.index],
        "changes": [[each.distribution, each.before, each.after] for each in plan.changes],
        "errors": [*plan.proof.errors, *plan.proof.by_setting],
    }


def on_platform(environment: Environment, platform: str) -> Environment:
    """Return an environment on another architecture."""
    told = {"host.platform": platform, "host.machine": platform.partition("_")[2]}
    facts = {**environment.facts, **{name: fact_of(value) for name, value in told.items()}}
    return derive(msgspec.structs.replace(environment, facts=facts), session().matrix)


def _as_published(environment: Environment) -> Environment | None:
    """Return an environment with the torch that has a file there; None where it has none.

    What an index has of a release for one platform alone is the CPU's for the others.
    """
    torch = environment.fact("torch.version")
    if not isinstance(torch, Known):
        return environment
    version = str(torch.value)
    base, label = version_part(version, "base"), version_part(version, "local")
    builds = {choice.version: choice for choice in session().candidates.torch(environment)}
    kin = [each for name, each in builds.items() if version_part(name, "base") == base]
    if not kin or (version not in builds and label not in (None, "", CPU)):
        return None
    found = builds.get(version, kin[0])
    facts = {name: found.facts[name] for name in ("torch.cuda", "torch.cxx11_abi")}
    if version not in builds:
        facts["torch.cuda"] = Absent("no build with CUDA")
    return msgspec.structs.replace(environment, facts={**environment.facts, **facts})


def _is_real(name: str, python: str) -> bool:
    """Return whether an installer puts all of a start on a Python: Requires-Python of each."""
    rows = session().matrix.tables["release-pythons"].rows
    there = dict(line.split()[:2] for line in STARTS[name])
    return not any(
        is_in(there[str(row["package"])], str(row["version"])) is True
        and is_in(python, str(row["python"])) is False
        for row in rows
        if row["package"] in there
    )


def main() -> None:
    """Write sequences, one a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for each in sequences(asked.count, asked.seed):
        sys.stdout.write(json.dumps(each) + "\n")


if __name__ == "__main__":
    main()
