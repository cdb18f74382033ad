"""Hold what is predicted of imports against imports: real wheels, real Python, nothing of a GPU.

    python tools/compare_contracts.py FOLDER [STACK ...]

FOLDER keeps wheels and what is unpacked of them. The stacks stand in `import-stacks.yaml` beside
this file; each is a folder of links to unpacked wheels in front of the packages of the Python that
runs this, whose torch and numpy are shared. What the table `entry-modules` names is imported for
real, one after the other in one process for each stack. Printed are: found, missed, silent, ALARM,
other name, and what breaks for other reasons (`elsewhere`), one line each, then the counts.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import yaml

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.import_names.model import Broken, Site
from fadoctor.sources.import_names.read import entries_of, read_contracts, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.sources.import_names.model import ModuleEntry

STACKS = Path(__file__).with_name("import-stacks.yaml")
IMPORT_S = 600

_IMPORTER = r"""
import json, os, sys, warnings
warnings.simplefilter("ignore")
told = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
for statement in json.load(sys.stdin):
    chain = []
    try:
        exec(statement, {})
    except BaseException as error:
        while error is not None and len(chain) < 10:
            chain.append(f"{type(error).__name__}: {error}"[:300])
            error = error.__cause__ or error.__context__
    print(json.dumps([statement, chain]), file=told, flush=True)
os._exit(0)
"""


class Row(msgspec.Struct, frozen=True):
    """One import in one stack."""

    stack: str
    statement: str
    verdict: str
    said: str
    predicted: str

    @property
    def text(self) -> str:
        """How it is printed."""
        known = f"{self.verdict:10} {self.stack:20} {self.statement:52}"
        return f"{known} {self.predicted or '-'}  [{self.said}]"


def main(arguments: list[str]) -> int:
    """Compare; 1 where something healthy raised an alarm."""
    folder, names = Path(arguments[0]).resolve(), set(arguments[1:])
    data = yaml.safe_load(STACKS.read_text())
    entries = entries_of(load_knowledge().tables["entry-modules"])
    counts: Counter[str] = Counter()
    for stack in data["stacks"]:
        if not names or stack["name"] in names:
            for row in compare(stack["name"], [*data["base"], *stack["with"]], folder, entries):
                counts[row.verdict] += 1
                sys.stdout.write(row.text + "\n")
                sys.stdout.flush()
    sys.stdout.write(", ".join(f"{name} {count}" for name, count in sorted(counts.items())) + "\n")
    return 1 if counts["ALARM"] else 0


def compare(
    name: str, requirements: list[str], folder: Path, entries: Mapping[str, ModuleEntry]
) -> Iterator[Row]:
    """Yield a row for each import that the packages of a stack are for."""
    place = linked(folder / "stacks" / name, [unpacked(each, folder) for each in requirements])
    site = site_of(place)
    began = time.monotonic()
    answer = read_contracts(site, entries, None)
    took = time.monotonic() - began
    sys.stdout.write(f"# {name}: {took:.1f} s, {answer.source} {answer.problem}\n")
    predicted = {text: each for each in answer.broken for text in each.breaks}
    own = {path.name for path in place.iterdir()}
    statements = [text for module in wanted(entries, site.installed)
                  if module in own for text in statements_of(module, entries[module])]  # fmt: skip
    for statement, said in imported(statements, place):
        top = statement.split()[1].partition(".")[0]
        whole = predicted.get(f"import {top}")  # what is in it stops with it
        yield judged(name, statement, said, predicted.get(statement, whole))


def judged(stack: str, statement: str, said: list[str], broken: Broken | None) -> Row:
    """Return how prediction and truth compare."""
    named = (broken.name.rpartition(".")[2] or broken.module) if broken else ""
    predicted = f"{broken.asker}: {broken.module} {broken.name}" if broken else ""
    own = re.fullmatch(r"from (\S+) import (\w+)", statement)
    absent = f"ImportError: cannot import name '{own[2]}' from '{own[1]}'" if own else "?"
    module = f"ModuleNotFoundError: No module named '{statement.split()[1]}'"
    causes = [each for each in said
              if is_contract(each) and each != module and not each.startswith(absent)]  # fmt: skip
    if not said:
        verdict = "ALARM" if broken else "silent"
    elif broken and any(re.search(rf"\b{re.escape(named)}\b", each) for each in said):
        verdict = "found"
    elif broken:
        verdict = "other name"
    else:
        verdict = "missed" if causes else "elsewhere"
    return Row(stack, statement, verdict, (causes or said or ["ok"])[-1][:150], predicted)


def is_contract(said: str) -> bool:
    """Return whether an error is about a name or a part of a package that is there."""
    return bool(re.match(r"(?:ImportError: cannot import name|AttributeError: module|"
                         r"AttributeError: type object|"
                         r"ModuleNotFoundError: No module named '\w+\.)", said))  # fmt: skip


def statements_of(module: str, entry: ModuleEntry) -> Iterator[str]:
    """Yield the imports of an entry."""
    yield f"import {module}"
    for each in entry.next:
        name, _, attribute = each.partition(":")
        yield f"from {name} import {attribute}" if attribute else f"import {name}"


def imported(statements: list[str], place: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield what each import says: nothing where it works."""
    environment = {**os.environ, "PYTHONPATH": str(place), "HF_HUB_OFFLINE": "1",
                   "CUDA_VISIBLE_DEVICES": ""}  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", _IMPORTER], input=json.dumps(statements), capture_output=True,
        text=True, check=False, timeout=IMPORT_S, env=environment,
    )  # fmt: skip
    for line in run.stdout.splitlines():
        statement, said = json.loads(line)
        yield statement, said


def unpacked(requirement: str, folder: Path) -> Path:
    """Return the folder of an unpacked wheel, fetched where it is not there."""
    place = folder / "unpacked" / requirement
    if not place.is_dir():
        wheels = folder / "wheels" / requirement
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                        "--only-binary=:all:", "-d", str(wheels), requirement],
                       check=True, capture_output=True)  # fmt: skip
        [wheel] = wheels.iterdir()
        part = place.with_name(f".{requirement}")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(part)
        part.rename(place)
    return place


def linked(place: Path, packages: list[Path]) -> Path:
    """Return a folder of links to what the packages hold."""
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    for package in packages:
        for part in package.iterdir():
            target = place / part.name
            if not target.exists():
                target.symlink_to(part)
    return place


def site_of(place: Path) -> Site:
    """Return a stack as the reader of names wants it."""
    own = next(path for path in sys.path if path.endswith("site-packages"))
    installed: dict[str, str] = {}
    records: dict[str, str] = {}
    for folder in (str(place), own):
        for name in sorted(each.name for each in Path(folder).iterdir()):
            match = re.fullmatch(r"(.+?)-([^-]+)\.dist-info", name)
            if match:
                normal = re.sub(r"[-_.]+", "-", match[1]).lower()
                installed.setdefault(normal, match[2])
                records.setdefault(normal, str(Path(folder, name, "RECORD")))
    return Site((str(place), own), installed, records, tuple(sys.version_info[:3]), "linux", False,
                tuple(sorted(os.environ)))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
