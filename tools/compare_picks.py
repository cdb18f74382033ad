"""Hold the releases that fadoctor assumes a resolver to pick against those that uv picks.

Usage: python -m tools.compare_picks [--count N] [--seed TEXT] [--remember DIR] [--report FILE]

Draws manifests of six kinds of users from a seed: requirements with exact pins, ranges and nothing,
for a Python and a platform. uv resolves each against the index that it is configured for;
fadoctor answers from its tables alone. A pick agrees where uv picks that release. Where uv finds no
solution, no pick agrees. A package that fadoctor leaves open makes no claim. Ends with 1 below
``--bar`` per cent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from packaging.version import Version

from fadoctor.knowledge.matrix.load import load_apart, load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.overlays import Overlays
from fadoctor.repair.resolution.resolver_worlds import name_of, picks
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from fadoctor.sources.targets.overlay import apply_overlays

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.model.rule import Knowledge

TABLES = Path(__file__).parents[1] / "rules" / "matrix"
PLATFORMS = {
    "linux_x86_64": "x86_64-manylinux_2_39",
    "linux_aarch64": "aarch64-manylinux_2_39",
    "win_amd64": "x86_64-pc-windows-msvc",
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
KINDS: dict[str, tuple[tuple[str, float], ...]] = {
    # package and how often it is listed
    "serving": (("vllm", 1), ("torch", 0.6), ("transformers", 0.4), ("torchvision", 0.2)),
    "fine-tuning": (("transformers", 1), ("torch", 0.8), ("accelerate", 0.7), ("peft", 0.7),
                    ("trl", 0.5), ("bitsandbytes", 0.5)),
    "unsloth": (("unsloth", 1), ("torch", 0.5), ("trl", 0.4), ("xformers", 0.3)),
    "images": (("torch", 1), ("torchvision", 0.8), ("xformers", 0.7), ("transformers", 0.5),
               ("accelerate", 0.4)),
    "kernels": (("torch", 1), ("triton", 0.5), ("xformers", 0.4), ("einops", 0.5)),
    "speech": (("torch", 0.9), ("torchaudio", 1), ("transformers", 0.6), ("torchvision", 0.3)),
}  # fmt: skip
_LINUX_ONLY = ("vllm", "triton")
_TABLES = {
    "torch": "torch-releases", "torchvision": "torchvision-releases",
    "torchaudio": "torchaudio-releases", "triton": "triton-releases",
    "xformers": "xformers-releases", "vllm": "vllm-releases", "unsloth": "unsloth-releases",
}  # fmt: skip
_AT_ONCE = 10
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Manifest:
    """What is asked, of whom, and where it should be installed."""

    kind: str
    lines: tuple[str, ...]
    python: str
    platform: str

    def __str__(self) -> str:
        return f"{self.kind}, Python {self.python}, {self.platform}: {' '.join(self.lines)}"


@dataclass(frozen=True)
class Outcome:
    """What both say of one manifest."""

    manifest: Manifest
    mine: dict[str, str]
    uv: dict[str, str] | None
    """None where uv finds no solution."""

    @property
    def differing(self) -> list[str]:
        """Return in words which picks differ."""
        if self.uv is None:
            return [f"{name} {version} (uv: no solution)" for name, version in self.mine.items()]
        return [
            f"{name} {version} (uv: {self.uv.get(name, 'none')})"
            for name, version in self.mine.items()
            if name not in self.uv or Version(self.uv[name]).public != Version(version).public
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 1 where less than the bar agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", default="2026-11-26")
    parser.add_argument("--bar", type=float, default=95.0)
    parser.add_argument("--remember", type=Path, help="a folder that keeps what uv says")
    parser.add_argument("--report", type=Path, help="write what both say as JSON")
    asked = parser.parse_args(arguments)
    knowledge = load_knowledge()
    manifests = list(drawn(asked.count, random.Random(asked.seed)))  # noqa: S311 -- a seed
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        theirs = pool.map(partial(remembered, asked.remember), manifests)
        outcomes = [
            Outcome(manifest, of_fadoctor(manifest, knowledge), uv)
            for manifest, uv in zip(manifests, theirs, strict=True)
        ]
    for each in outcomes:
        if each.differing:
            sys.stdout.write(f"DIFFERS {each.manifest}\n    {'; '.join(each.differing)}\n")
    right = sum(not each.differing for each in outcomes)
    none = sum(not each.mine for each in outcomes)
    unsolved = sum(each.uv is None for each in outcomes)
    picks = sum(len(each.mine) for each in outcomes)
    sys.stdout.write(
        f"{right} of {len(outcomes)} manifests agree; {picks} picks, none in {none} manifests; "
        f"uv solves {len(outcomes) - unsolved}\n"
    )
    if asked.report:
        found = [{"manifest": str(o.manifest), "fadoctor": o.mine, "uv": o.uv} for o in outcomes]
        asked.report.write_text(json.dumps(found, indent=1), "utf-8")
    return int(100 * right < asked.bar * len(outcomes))


def drawn(count: int, dice: random.Random) -> Iterator[Manifest]:
    """Yield manifests, each kind in turn."""
    kinds = list(KINDS)
    versions = {name: listed(name) for name in _TABLES | dict.fromkeys(_HELPERS)}
    for number in range(count):
        kind = kinds[number % len(kinds)]
        platform = dice.choices(list(PLATFORMS), (7, 1, 2))[0]
        packages = [name for name, often in KINDS[kind] if dice.random() < often]
        if platform != "linux_x86_64":
            packages = [name for name in packages if name not in _LINUX_ONLY] or ["torch"]
        lines = tuple(name + _bound(versions[name], dice) for name in packages)
        yield Manifest(kind, lines, dice.choice(PYTHONS), platform)


_HELPERS = ("transformers", "accelerate", "peft", "trl", "bitsandbytes", "einops")


def listed(package: str) -> list[str]:
    """Return the releases that the tables list of a package, oldest first."""
    table = _TABLES.get(package, "helper-releases")
    rows = yaml.safe_load((TABLES / f"{table}.yaml").read_text("utf-8"))["rows"]
    of_it = [row for row in rows if package in str(row.get("package", package)).split()]
    found = {word for row in of_it for word in str(row["version"]).split()}
    return sorted(found, key=Version)


def _bound(versions: Sequence[str], dice: random.Random) -> str:
    """Return a bound as people write it: none, exact, from, below, or compatible."""
    recent = versions[-25:]
    one = dice.choice(recent)
    release = Version(one)
    form = dice.choices(("", "==", ">=", "<", "~=", "range"), (30, 25, 20, 8, 5, 12))[0]
    if form == "~=":
        return f"~={release.major}.{release.minor}.{release.micro}"
    if form == "range":
        return f">={one},<{release.major}.{release.minor + dice.randint(1, 4)}"
    return f"{form}{one}" if form else ""


def of_fadoctor(manifest: Manifest, knowledge: Knowledge) -> dict[str, str]:
    """Return what fadoctor assumes to be picked; exact pins are no picks."""
    matrix = Matrix(load_apart(knowledge.tables))
    overlays = Overlays(python_version=manifest.python, platform=manifest.platform)
    host = Environment("1", Target("manifest", "drawn", "compared"), {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text("\n".join(manifest.lines) + "\n", "utf-8")
        machine = apply_overlays(host, overlays, matrix)
        environment = planned_environment(machine, [read_manifest(str(path))], matrix)
    return {name_of(package): version for package, version in picks(environment, matrix).items()}


def remembered(folder: Path | None, manifest: Manifest) -> dict[str, str] | None:
    """Return what uv picks, from the folder where it was asked before."""
    if folder is None:
        return of_uv(manifest)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(str(manifest).encode()).hexdigest()}.json"
    if not path.is_file():
        path.write_text(json.dumps(of_uv(manifest)), "utf-8")
    found: dict[str, str] | None = json.loads(path.read_text("utf-8"))
    return found


def of_uv(manifest: Manifest) -> dict[str, str] | None:
    """Return what uv picks, None where it finds no solution."""
    done = subprocess.run(
        ["uv", "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--no-config",
         "--python-version", manifest.python, "--python-platform", PLATFORMS[manifest.platform],
         "--no-build", "--no-emit-index-url"],
        input="\n".join(manifest.lines), capture_output=True, text=True, check=False,
        timeout=_TIMEOUT_S,
    )  # fmt: skip
    if done.returncode:
        if "No solution found" not in done.stderr and "no wheels" not in done.stderr:
            sys.stderr.write(f"{manifest}: {done.stderr.strip()[:300]}\n")
        return None
    lines = (line.partition(";")[0].strip() for line in done.stdout.splitlines())
    return dict(line.split("==") for line in lines if "==" in line)


if __name__ == "__main__":
    raise SystemExit(main())
