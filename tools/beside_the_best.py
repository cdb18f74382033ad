"""Put plans beside what uv and rigsolve choose and an expert would install, as a page of the docs.

Usage: python -m tools.beside_the_best [--output docs/beside-the-best.md] [--rigsolve PROGRAM]

For each state of tools/beside-the-best.yaml `fadoctor fix --new --dry-run` plans, and uv resolves
by `uv pip install --dry-run --torch-backend=auto` for the same driver, Python and platform. Where
uv does not reach the index of its choice, the page has what it takes from the index that is
configured. rigsolve solves for the same target. Nothing is installed. It takes a few minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[1]
STATES = Path(__file__).with_name("beside-the-best.yaml")
LINUX = "linux_x86_64"
UV_PLATFORMS = {LINUX: "x86_64-manylinux_2_39", "win_amd64": "x86_64-pc-windows-msvc"}
FIRST_OF_CUDA_13 = Version("2.11")
"""The first torch whose file on PyPI is for CUDA 13."""

_INDEX = re.compile(r"/whl/(cu\d{2,4}|cpu)/")
_CHOSEN = re.compile(r"^ \+ ([\w.-]{1,60})==(\S{1,60})", re.MULTILINE)

State = dict[str, Any]
Versions = dict[str, str]
Row = tuple[State, Versions, bool, str, str]
"""A state, fadoctor's plan, whether the expert accepts it, and what uv and rigsolve say."""


def main(arguments: list[str] | None = None) -> int:
    """Write the page; return 1 where fadoctor differs from the expert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "beside-the-best.md")
    parser.add_argument("--rigsolve", default="rigsolve", help="the program, or its path")
    asked = parser.parse_args(arguments)
    states = yaml.safe_load(STATES.read_text(encoding="utf-8"))["states"]
    rows: list[Row] = []
    for state in states:
        mine = planned(state)
        agrees, theirs = agrees_with(state, mine), of_rigsolve(state, asked.rigsolve)
        rows.append((state, mine, agrees, of_uv(state), theirs))
    programs = " and ".join(version_of(program) for program in ("uv", asked.rigsolve))
    asked.output.write_text(page(rows, programs), encoding="utf-8")
    return int(not all(agrees for _, _, agrees, _, _ in rows))


def planned(state: State) -> Versions:
    """Return what fadoctor plans to install."""
    platform = state.get("platform", LINUX)
    command = [sys.executable, "-m", "fadoctor", "fix", "--new", "--dry-run", "--no-config-file",
               "--gpu", state["gpu"], "--platform", platform, "--python-version", state["python"],
               "--format", "json"]  # fmt: skip
    command += ["--glibc", "2.39"] if platform == LINUX else []
    command += ["--driver", state["driver"]] if "driver" in state else []
    command += [word for name in state["want"] for word in ("--want", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    changes = json.loads(done.stdout)["changes"]
    return {change["distribution"]: change["after"] for change in changes if change["after"]}


def agrees_with(state: State, chosen: Versions) -> bool:
    """Return whether the expert accepts what is chosen."""
    if "refuse" in state:
        return not chosen
    taken = (
        name in chosen and SpecifierSet(bounds).contains(chosen[name], prereleases=True)
        for name, bounds in state["takes"].items()
    )
    return all(taken) and cuda_of(chosen["torch"]) in state["cuda"].split()


def cuda_of(torch: str) -> str:
    """Return the CUDA major of a build of torch, by its label or by PyPI's default."""
    found = re.search(r"\+cu(\d\d)", torch)
    if found:
        return found[1]
    return "13" if Version(torch) >= FIRST_OF_CUDA_13 else "12"


def of_uv(state: State) -> str:
    """Return what uv chooses, in words."""
    done = _uv(state, "--torch-backend=auto")
    if done.returncode == 0:
        return _named(state, done.stderr)
    if "Failed to fetch" not in done.stderr:
        return "refused"
    index = _INDEX.search(done.stderr)
    plain = _uv(state)
    found = _named(state, plain.stderr) if plain.returncode == 0 else "refused"
    return f"{index[1] if index else 'no index'} (not reached); without it {found}"


def _uv(state: State, *options: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        command = ["uv", "pip", "install", "--dry-run", *options, "--target", folder,
                   "--python-version", state["python"], "--no-build", "--python-platform",
                   UV_PLATFORMS[state.get("platform", LINUX)], *state["want"], "torch"]  # fmt: skip
        variables = {**os.environ, "UV_HTTP_RETRIES": "0"}
        if "driver" in state:
            variables["UV_CUDA_DRIVER_VERSION"] = state["driver"]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=120, env=variables
        )


def _named(state: State, told: str) -> str:
    versions = dict(_CHOSEN.findall(told))
    return ", ".join(f"{name} {versions[name]}" for name in names_of(state) if name in versions)


def names_of(state: State) -> list[str]:
    """Return torch, and what is asked for, without versions."""
    wanted = (re.split("[=<>]", name)[0] for name in state["want"])
    return list(dict.fromkeys(["torch", *wanted]))


def of_rigsolve(state: State, program: str) -> str:
    """Return what rigsolve plans, in words, and whether the expert differs."""
    system = "windows" if state.get("platform", LINUX).startswith("win") else "linux"
    driver = f",driver={state['driver']}" if "driver" in state else ""
    target = f"{state['gpu']}{driver},python={state['python']},{system}"
    command = [program, "solve", "--want", *state["want"], "--target", target, "--output", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except OSError:
        return "not installed"
    versions = rigsolve_versions(done.stdout) if done.returncode == 0 else {}
    shown = ", ".join(f"{name} {versions[name]}" for name in names_of(state) if name in versions)
    words = shown or "refused"
    return words if agrees_with(state, versions) else f"{words} (differs)"


def rigsolve_versions(told: str) -> Versions:
    """Return what a plan of rigsolve installs; torch with the label of its index."""
    found = {}
    for step in json.loads(told)["steps"]:
        index = _INDEX.search(f"{step.get('index_url') or ''}/")
        label = f"+{index[1]}" if index and step["package"] == "torch" else ""
        found[step["package"]] = step["version"] + label
    return found


def version_of(program: str) -> str:
    """Return name and version of a program, as it says them."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    except OSError:
        return f"no {Path(program).name}"
    return " ".join(done.stdout.split()[:2])


def page(rows: list[Row], programs: str) -> str:
    """Return the page."""
    agreed = sum(agrees for _, _, agrees, _, _ in rows)
    theirs = sum(not found.endswith("(differs)") for *_, found in rows)
    date = datetime.now(tz=timezone.utc).date()
    lines = [
        "# Beside the best",
        "",
        "What `fadoctor fix` plans from nothing, beside uv, rigsolve and an expert. Made by",
        f"`python -m tools.beside_the_best` on {date}, with {programs}.",
        "",
        "The expert's answers are ranges, written before the run (`tools/beside-the-best.yaml`).",
        "uv ran with `--dry-run --torch-backend=auto --no-build` for the driver of each state.",
        "Where it did not reach PyTorch's index, the table names the build that uv chose,",
        "and what uv takes without one.",
        f"fadoctor agrees with the expert in {agreed} of {len(rows)} states, rigsolve in {theirs}.",
        "",
        "| machine | asked for | fadoctor | uv | rigsolve | the expert |",
        "|---|---|---|---|---|---|",
    ]
    for state, mine, agrees, *others in rows:
        shown = (f"{name} {mine[name]}" for name in names_of(state) if name in mine)
        plan = ", ".join(shown) or "refused"
        plan = plan if agrees else f"{plan} (differs)"
        cells = (machine_of(state), ", ".join(state["want"]), plan, *others, expert(state))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def machine_of(state: State) -> str:
    """Return the machine in words."""
    driver = f"driver {state['driver']}" if "driver" in state else ""
    parts = (state["gpu"], driver, f"Python {state['python']}", state.get("platform", ""))
    return ", ".join(filter(None, parts))


def expert(state: State) -> str:
    """Return the expert's answer in words."""
    if "refuse" in state:
        return f"refuse: {state['refuse']}"
    taken = ", ".join(f"{name} {bounds}" for name, bounds in state["takes"].items())
    return f"{taken}, CUDA {' or '.join(state['cuda'].split())}"


if __name__ == "__main__":
    sys.exit(main())
