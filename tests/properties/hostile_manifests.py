"""Hostile manifests, read in a process of their own: what each costs is printed as JSON."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.errors import InputError
from fadoctor.model.fact import Known
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from tests.work import calls_of, which_ends

HOST = {"host.os": "linux", "host.machine": "x86_64", "host.platform": "linux_x86_64",
        "python.version": "3.12.3", "python.implementation": "cpython"}  # fmt: skip


def package(name: str, more: str = "") -> str:
    return f'[[package]]\nname = "{name}"\nversion = "1"\nsource = {{ registry = "x" }}\n{more}'


def locks() -> dict[str, str]:
    """Return name -> text of locks that are too large, too deep, or too much."""
    chain = "".join(
        package(f"a{i}", f'dependencies = [{{ name = "a{i + 1}" }}]\n') for i in range(2_990)
    )
    every = ", ".join(f'{{ name = "a{i}" }}' for i in range(60))
    dense = "".join(package(f"a{i}", f"dependencies = [{every}]\n") for i in range(1_500))
    marked = "".join(
        package(f"a{i}", f"resolution-markers = [\"python_full_version < '3.{i}'\"]\n")
        for i in range(2_990)
    )
    root = '[[package]]\nname = "r"\nsource = { virtual = "." }\ndependencies = [{ name = "a0" }]\n'
    return {
        "20,000 packages": "version = 1\n" + package("a") * 20_000,
        "a chain": "version = 1\n" + chain + root,
        "a dense graph": "version = 1\n" + dense + root,
        "many markers": "version = 1\n" + marked,
        "10 MB": "version = 1\n" + package("a", "# " + "x" * 100 + "\n") * 100_000,
        "8 MB of one string": 'version = 1\nx = "' + "a" * 8_000_000 + '"\n',
        "8 MB of brackets": "version = 1\nx = " + "[" * 8_000_000,
        "8 MB of tables": "version = 1\nx = [" + "{}," * 2_500_000 + "]",
        "NUL": "version = 1\n\0",
        "10,000 deep": "version = 1\nx = " + "[\n" * 10_000 + "]\n" * 10_000,
        "parts": "a." * 100_000 + "b = 1",
    }


def lists() -> dict[str, str]:
    """Return name -> text of lists of requirements."""
    return {
        "9,999 ranges": "".join(f"a{i}>=1.{i},<9\n" for i in range(9_999)),
        "9,999 markers": "".join(f"a{i}==1 ; python_version<'3.{i}'\n" for i in range(9_999)),
        "30,000 pins": "".join(f"a{i}==1\n" for i in range(30_000)),
        "one name": "torch>=2\n" * 9_999,
        "one line": "torch" + ",<3" * 2_000_000,
        "continued": "torch==2 \\\n" * 99_000,
    }


def cost(path: Path, text: str, host: Environment, matrix: Matrix) -> dict[str, object]:
    """Return how many calls a file took, and whether it was read."""
    path.write_text(text, encoding="utf-8")
    said = ["read"]

    def work() -> None:
        try:
            planned_environment(host, [read_manifest(str(path))], matrix)
        except InputError as error:
            said[0] = str(error).replace(str(path.parent), "")

    with which_ends():
        calls = calls_of(work)
    return {"said": said[0][:200], "calls": calls}


def most_memory() -> int:
    """Return the most KiB that this process had; getrusage counts what a parent had, too."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Print the costs of all, and the most memory that this process had."""
    folder = Path(sys.argv[1])
    matrix = Matrix(load_knowledge().tables)
    facts = {name: Known(value, "test") for name, value in HOST.items()}
    host = Environment("0", Target("environment", "x", "y"), dict(facts))
    files = {"uv.lock": locks(), "requirements.txt": lists()}
    found = [
        {"name": name, **cost(folder / file, text, host, matrix)}
        for file, texts in files.items()
        for name, text in texts.items()
    ]
    peak = most_memory()
    sys.stdout.write(json.dumps({"costs": found, "peak_mb": peak / 1024}))


if __name__ == "__main__":
    main()
