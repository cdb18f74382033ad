"""Make one file that runs `on_a_gpu` by a bare Python: the tools, fadoctor and what it needs.

Usage: python -m tools.gpu_bundle [--wheel FILE] [--output FILE] [--python X.Y]...
           [--machine NAME]...

Then, on a machine with a GPU, without an installation and without a network:

    python3 on-a-gpu.pyz --python ENVIRONMENT --page FILE

Serves Linux, x86_64 and aarch64, and the Pythons that fadoctor supports. Needs pip and the package
index that it is configured for.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
TOOLS = (
    "__init__.py", "gpu_across.py", "gpu_build.py", "gpu_consistent.py", "gpu_faults.py",
    "gpu_fields.py", "gpu_judge.py", "gpu_page.py", "gpu_trace.py", "on_a_gpu.py",
)  # fmt: skip
COMMON = "app/"
"""Where in the bundle that stands which each Python takes."""

_PLATFORMS = ("manylinux2014_{}", "manylinux_2_17_{}", "manylinux_2_28_{}")

START = '''\
"""Unpack what this Python needs into a folder of its own, and run the programme there."""

import platform
import runpy
import shutil
import sys
import tempfile
import zipfile

COMMON = "app/"


def main():
    own = "cp%d%d-%s/" % (*sys.version_info[:2], platform.machine())
    folder = tempfile.mkdtemp(prefix="on-a-gpu-")
    try:
        with zipfile.ZipFile(sys.argv[0]) as bundle:
            names = bundle.namelist()
            if not any(name.startswith(own) for name in names):
                served = sorted({name.split("/")[0] for name in names if name.startswith("cp")})
                sys.exit("this file serves %s, not %s" % (", ".join(served), own[:-1]))
            for name in names:
                for head in (COMMON, own):
                    if name.startswith(head):
                        member = bundle.getinfo(name)
                        member.filename = name[len(head):]
                        bundle.extract(member, folder)
        sys.argv[0] = folder + "/tools/on_a_gpu.py"
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
'''


def tag(python: str, machine: str) -> str:
    """Return the folder of what one Python on one machine needs: ``cp312-x86_64/``."""
    return f"cp{python.replace('.', '')}-{machine}/"


def fetch(wheel: Path, python: str, machine: str, folder: Path) -> list[Path]:
    """Let pip fetch the wheels that fadoctor needs there, its own among them."""
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
            "--only-binary=:all:", "--implementation", "cp", "--python-version", python,
            "--dest", str(folder)]  # fmt: skip
    for platform in _PLATFORMS:
        argv += ["--platform", platform.format(machine)]
    done = subprocess.run(
        [*argv, str(wheel)], capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:] or done.stdout[-2000:])
    return sorted(folder.glob("*.whl"))


def write(output: Path, wheels: dict[str, Sequence[Path]]) -> None:
    """Write the bundle of wheels by `tag`: those of pure Python once, the others for each."""
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        bundle.writestr("__main__.py", START)
        for name in TOOLS:
            bundle.write(ROOT / "tools" / name, f"{COMMON}tools/{name}")
        taken: set[str] = set()
        for own, files in wheels.items():
            for file in files:
                pure, name = file.name.endswith("-none-any.whl"), file.name.partition("-")[0]
                if not pure or name not in taken:  # the first Python's release serves all
                    _copy(bundle, file, COMMON if pure else own)
                taken.add(name)


def _copy(bundle: zipfile.ZipFile, wheel: Path, head: str) -> None:
    with zipfile.ZipFile(wheel) as found:
        for name in found.namelist():
            if not name.endswith("/"):
                bundle.writestr(head + name, found.read(name))


def main(arguments: Iterable[str]) -> int:
    """Write the bundle and say how large it is."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="the wheel of fadoctor; built where not given")
    parser.add_argument("--output", type=Path, default=Path("on-a-gpu.pyz"))
    parser.add_argument("--python", action="append", choices=PYTHONS)
    parser.add_argument("--machine", action="append", choices=MACHINES)
    given = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory() as folder:
        wheel = given.wheel or build(Path(folder) / "own")
        wheels: dict[str, Sequence[Path]] = {}
        for python in given.python or PYTHONS:
            for machine in given.machine or MACHINES:
                own = tag(python, machine)
                wheels[own] = fetch(wheel, python, machine, Path(folder) / own)
        write(given.output, wheels)
    sys.stderr.write(f"{given.output}: {given.output.stat().st_size / 2**20:.1f} MiB\n")
    return 0


def build(folder: Path) -> Path:
    """Build the wheel of this checkout and return it."""
    argv = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(argv, check=True, capture_output=True, timeout=900)
    return next(folder.glob("fadoctor-*.whl"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
