"""Compare which build of a Hub kernel fadoctor expects with what released kernels packages take.

Usage: python tools/compare_choice.py --cache FOLDER [--release VERSION]... [--sets N] [--seed N]

Downloads the releases of kernels into the cache folder (through the index that pip is configured
for), makes up sets of builds and systems, and lets each release choose, in a child, with a stand-in
for torch. Where several builds are equally good either answer is right. Ends with 1 where anything
differs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.sources.hub.choice import Habits, System, choose, preference
from fadoctor.sources.hub.variant import parse_variant
from fadoctor.sources.targets.hub import habits_of

RELEASES = (
    "0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.9.1", "0.10.0", "0.10.1", "0.10.2", "0.10.3", "0.10.4",
    "0.10.5", "0.11.0", "0.11.1", "0.11.2", "0.11.3", "0.11.4", "0.11.5", "0.11.6", "0.11.7",
    "0.12.0", "0.12.1", "0.12.2", "0.12.3", "0.13.0", "0.14.0", "0.14.1", "0.15.1", "0.15.2",
    "0.16.0", "0.16.1", "0.16.2", "0.17.0", "0.17.1", "0.17.2",
)  # fmt: skip
_HELPERS = ("huggingface_hub>=1.10,<2", "packaging", "pyyaml", "tomlkit", "sigstore>=4,<5")
_WITH_DATA = "kernels-data=="
_SCRIPT = Path(__file__).with_name("_choice_by_kernels.py")

_BACKENDS = (
    "cu118", "cu121", "cu124", "cu126", "cu128", "cu129", "cu130", "cu132", "rocm63", "rocm64",
    "rocm70", "xpu20252", "cpu", "metal", "cann80", "cu", "vulkan",
)  # fmt: skip
_TORCHES = ((2, 6), (2, 7), (2, 8), (2, 9), (2, 10), (2, 11), (2, 12), (2, 13), (2, 15))
_MACHINES = ("x86_64", "aarch64")
_SYSTEMS = ("linux", "linux", "linux", "windows", "darwin")


def made_up_name(draw: random.Random) -> str:
    """Return the name of a build, sometimes one that nobody reads."""
    major, minor = draw.choice(_TORCHES)
    tail = f"{draw.choice(_BACKENDS)}-{draw.choice(_MACHINES)}-{draw.choice(_SYSTEMS)}"
    return draw.choice(
        (
            f"torch{major}{minor}-cxx11-{tail}",
            f"torch{major}{minor}-cxx11-{tail}",
            f"torch{major}{minor}-cxx98-{tail}",
            f"torch{major}{minor}-{tail}",
            f"torch-stable-abi{major}{minor}-{tail}",
            f"torch-{draw.choice(('cuda', 'rocm', 'cpu', 'xpu', 'metal', 'universal', 'npu'))}",
            f"torch{major}.{minor}-{tail}",
        )
    )


def made_up_system(draw: random.Random) -> System:
    """Return a system with a torch for CUDA, ROCm or the processor alone."""
    system = draw.choice(_SYSTEMS)
    backend = draw.choice(("cuda", "cuda", "cuda", "rocm", "cpu"))
    version = {
        "cuda": draw.choice(((11, 8), (12, 1), (12, 4), (12, 6), (12, 8), (13, 0), (13, 2))),
        "rocm": draw.choice(((6, 3), (6, 4), (7, 0))),
    }.get(backend, (0, 0))
    return System(
        torch=draw.choice(_TORCHES),
        backend=backend,
        backend_version=version,
        cxx11_abi=draw.random() < 0.8 if system == "linux" else None,
        machine="x86_64" if system == "windows" else draw.choice(_MACHINES),
        system=system,
    )


def made_up(draw: random.Random) -> tuple[System, list[str]]:
    """Return a system and builds, some of which are made to fit it nearly."""
    system = made_up_system(draw)
    names = {made_up_name(draw) for _ in range(draw.randrange(1, 12))}
    major, minor = system.torch or (0, 0)
    torch = f"torch{major}{minor}"
    backend = {"cuda": "cu{}{}", "rocm": "rocm{}{}"}.get(system.backend, "cpu")
    tail = f"{backend.format(*system.backend_version)}-{system.machine}-{system.system}"
    near = [f"{torch}-cxx11-{tail}", f"{torch}-{tail}", f"torch-stable-abi29-{tail}"]
    names |= set(draw.sample(near, draw.randrange(3)))
    return system, sorted(names)


def unpacked(release: str, cache: Path) -> Path:
    """Return the folder with a release of kernels, and with what it imports of its own."""
    folder = cache / "kernels" / release
    if not folder.exists():
        wanted = [f"kernels=={release}"]
        if (0, 14) <= tuple(map(int, release.split(".")[:2])) < (0, 17):
            wanted.append(_WITH_DATA + release)
        wheels = cache / "wheels"
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
        subprocess.run([*download, str(wheels), *wanted], check=True)
        for requirement in wanted:
            stem = requirement.replace("==", "-").replace("kernels-data", "kernels_data")
            with zipfile.ZipFile(next(wheels.glob(f"{stem}-*.whl"))) as wheel:
                wheel.extractall(folder)
    return folder


def helpers(cache: Path) -> Path:
    """Return the folder with what every release imports."""
    folder = cache / "helpers"
    if not folder.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        subprocess.run([*install, *_HELPERS], check=True)
    return folder


def differences(release: str, cache: Path, sets: int, seed: int) -> list[str]:
    """Return in words where a release takes another build than was expected."""
    habits = habits_of(release, Matrix(load_knowledge().tables))
    if habits is None:
        return [f"the table kernels-releases says nothing of kernels {release}"]
    draw = random.Random(f"{seed} {release}")  # noqa: S311 -- made-up names
    cases = [made_up(draw) for _ in range(sets)]
    lines = [json.dumps([msgspec.to_builtins(system), names]) for system, names in cases]
    path = f"{unpacked(release, cache)}:{helpers(cache)}"
    done = subprocess.run(
        [sys.executable, str(_SCRIPT)], input="\n".join(lines) + "\n", capture_output=True,
        text=True, check=False, env={"PYTHONPATH": path, "PATH": ""}, timeout=300,
    )  # fmt: skip
    if done.returncode:
        return [done.stderr.strip().splitlines()[-1]]
    found = []
    for (system, names), line in zip(cases, done.stdout.splitlines(), strict=True):
        taken = json.loads(line)
        problem = difference(habits, system, names, taken)
        if problem:
            found.append(f"kernels {release} on {system}, of {names}: {problem}")
    return found


def difference(habits: Habits, system: System, names: list[str], taken: list[str]) -> str:
    """Return what is expected instead, "" where it is as expected."""
    variants = [variant for name in names if (variant := parse_variant(name))]
    choice = choose(variants, habits, system)
    if habits.by_name:  # it says one alone
        expected = [choice.best.name] if choice.best else []
        return "" if taken == expected else f"took {taken}, expected {expected}"
    of = {variant.name: preference(variant, habits) for variant in choice.accepted}
    if sorted(taken) != sorted(of):
        return f"took {taken}, expected {sorted(of)}"
    order = [of[name] for name in taken]
    return "" if order == sorted(order) else f"order {taken}, expected {list(of)}"


def main() -> None:
    """Compare all releases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--release", action="append", default=[])
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    releases = options.release or RELEASES
    wrong = [
        text
        for release in releases
        for text in differences(release, options.cache, options.sets, options.seed)
    ]
    for text in wrong:
        print(text)
    print(f"{len(releases)} releases, {len(releases) * options.sets} choices, {len(wrong)} differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
