"""Commands that plans print, on five Pythons and two architectures, to be put to a resolver.

``python -m tests.states.sequences --count 500 --seed 1 > FILE`` writes what
`tools.compare_resolutions` asks uv about.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known
from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.sources.targets.derived import derive
from tests.states.commands import installed_in
from tests.states.starts import STARTS, start
from tests.states.test_commands import MACHINES, WISHES
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan

Sequence = dict[str, Any]
Case = tuple[str, tuple[str, ...], tuple[str, str, str], str, str]

PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
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
_PYTHON_311 = ("transformers alone", "a transformers whose kernels nobody can install")
"""Starts with a transformers that is not to be had for older Pythons."""


def cases(seed: int) -> list[Case]:
    """Return every case in an order by chance, those from nothing one of two."""
    chance = random.Random(seed)  # noqa: S311 -- a sample
    wishes = (*WISHES, *_MORE)
    empty = list(product(("empty",), wishes, _MACHINES, PYTHONS, PLATFORMS))
    others = list(
        product([n for n in STARTS if n != "empty"], wishes, _MACHINES, PYTHONS, PLATFORMS)
    )
    chance.shuffle(empty)
    chance.shuffle(others)
    return [case for pair in zip(empty, others, strict=False) for case in pair]


def sequences(count: int, seed: int) -> Iterator[Sequence]:
    """Yield so many sequences of commands, no two alike."""
    seen = set()
    for case in cases(seed):
        name, want, machine, python, platform = case
        environment = on_platform(start(name, machine, python), platform)
        if not is_real(name, environment, python):
            continue
        found = make_plan(environment, session(), PlannerRequest(want=want))
        made = sequence(found, environment, case)
        key = json.dumps(
            [made[part] for part in ("installed", "requirements", "python", "platform")]
        )
        if made["requirements"] and key not in seen:
            seen.add(key)
            yield made
        if len(seen) == count:
            return


def sequence(plan: Plan, environment: Environment, case: Case) -> Sequence:
    """Return what a plan runs, and what it says of the end."""
    kinds = {kind: [i for a in plan.actions if a.kind is kind for i in a.requirements]
             for kind in (ActionKind.INSTALL, ActionKind.UNINSTALL)}  # fmt: skip
    return {
        "from": case[:3],
        "python": case[3],
        "platform": case[4],
        "installed": installed_in(environment),
        "requirements": kinds[ActionKind.INSTALL],
        "uninstalled": kinds[ActionKind.UNINSTALL],
        "changes": [[each.distribution, each.before, each.after] for each in plan.changes],
    }


def on_platform(environment: Environment, platform: str) -> Environment:
    """Return an environment on another architecture."""
    told = {"host.platform": platform, "host.machine": platform.partition("_")[2]}
    facts = {**environment.facts, **{name: fact_of(value) for name, value in told.items()}}
    return derive(msgspec.structs.replace(environment, facts=facts), session().matrix)


def is_real(name: str, environment: Environment, python: str) -> bool:
    """Return whether somebody may have an environment: its torch has a file there."""
    torch = environment.fact("torch.version")
    if not isinstance(torch, Known):
        return True
    if name in _PYTHON_311 and python in PYTHONS[:2]:
        return False
    base = version_part(str(torch.value), "base")
    builds = {version_part(c.version, "base") for c in session().candidates.torch(environment)}
    return base in builds


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
