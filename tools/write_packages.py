"""Write what packages and backends are into fadoctor/model/packages.py, from rules/matrix.

Usage: python -m tools.write_packages [--check]    (--check: exit 1 where the module is stale)

The program knows them before it reads any rule: as literals they cost nothing at start. What is
between the two marks of the module is written; the rest is code.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.absent_cells import filled
from fadoctor.knowledge.matrix.yaml_reader import read_yaml
from tools.python_literals import assigned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
MODULE = Path("fadoctor/model/packages.py")
BEGIN = "# Written by tools/write_packages.py, up to the line that says so.\n# fmt: off\n"
END = "# fmt: on\n# Up to here it is written by tools/write_packages.py.\n"

OF_FRAMEWORKS = "framework-releases"
"""The table that has the releases of several packages."""

_ROWS = """
PACKAGES|dict[str, tuple[str, ...]]|Fact prefix -> distributions (normalised names) that can
    provide it, the usual one first. Packages are known by *distribution*: flash-attn-4 imports as
    ``flash_attn`` too.
BYSTANDERS||Packages that lie in environments without anything of the stack, too.
STACK||Distributions that lie only where something of the stack does.
COMPANIONS||Distributions that belong to the stack without facts of their own: what they require
    counts.
IMPORTS|dict[str, tuple[str, ...]]|Fact prefix -> the modules that it is imported as, where those
    have another name.
EXTENSIONS|dict[str, dict[str, tuple[str, ...]]]|Fact prefix -> its compiled extensions: name ->
    files, below an import folder, without suffix. The first file that is there counts. ``binary``
    is the extension without which the package does not work; facts about it are named
    ``flash_attn.binary.needed``. The ``*`` of bitsandbytes stands for the CUDA version of torch,
    as its own loader has it.
LOADS_ALONE||Packages whose extensions are linked to nothing of torch: they load beside any.
ATTENTION||Packages that exist for attention on a GPU: without one they may go.
FRAMEWORKS||What environments exist for: an old release that declares few bounds accepts much, and
    is no better for that.
ORDER||The packages that come first in plans: what pins others goes before them.
AT_ONCE||What follows from the choice of torch, where it is there or was asked for; kernels of the
    Hub, and the library that decides whether they and transformers go together.
REMOVABLE||What may go where nothing else helps. Frameworks are why an environment exists: they
    stay.
BESIDE_TORCH||Packages that are published together with each torch, in the same builds.
COMPILED_BESIDE||Packages whose wheels are compiled against the torch of PyPI: with its CUDA, and
    no other.
CORE||Packages whose versions a fleet keeps where not all have room.
RELEASE_TABLES||Package -> the table whose rows are its releases.
RELEASES|dict[str, tuple[str, dict[str, str]]]|Package -> its table of releases, and the columns
    that are requirements -> of what.
PARTLY|dict[str, tuple[str, dict[str, str]]]|Packages whose table says what they require of some
    packages, and not of all that they bring.
PARTLY_ALONG|dict[str, dict[str, str]]|Package -> more columns of that table: what counts where
    somebody names it.
PARTLY_EXTRAS|dict[str, tuple[str, ...]]|Package -> the extras that ask for what
    its table says of an extra.
ALWAYS|dict[str, dict[str, str]]|Package -> what all its releases require, in any version.
FRAMEWORK_TABLE||The table with the releases of several packages.
TABLED_FRAMEWORKS||Packages that plans decide about by that table: they decide which torch there
    is.
PLANNED||The packages of which plans know the releases, beside torch, triton and files of
    flash-attn.
SETUPS||Distribution of which PyPI has sources alone, which are compiled for the torch that is
    there -> the table of what its setup imports.
ASKING_SETUPS||Distributions whose setup asks for the torch that it sees: table ``sdist-torch`` has
    the rest.
NOT_ON_PYTORCH||What PyTorch's own index does not serve, so that it counts for nothing there.
OWN_PYTHON_RULE||Distributions of whose wheels' Python another rule speaks.
TRAINERS||Packages of training, the one first whose settings people write.
SETTINGS||Packages whose settings a recommendation gives.
SETTINGS_ON_ROUTES||Those of which there is something to say only where another way to a kernel is
    recommended.
ADVISED||Those for which there is a first advice, and whose attention somebody chooses.
WORDS||Package -> a pattern of the words by which a complaint is about it.
BACKENDS||Attention backend -> the fact prefix of the package that brings it.
MAIN||The backends that a package is installed for, rather than brings beside.
PREFERRED||The backends that are recommended, the best first.
CALLED||What people call them, where an answer names one.
"""
"""Constant, its type where mypy needs one, and what it says."""

_EXTENSIONS = ("binary", "fa2", "fa3")

Row = dict[str, Any]


def written(rules: Path) -> str:
    """Return the constants, as Python, each with its meaning."""
    rows, backends = (_rows(rules, table) for table in ("packages", "backends"))
    packages = [row for row in rows if row["role"] != "companion"]
    values = _names(rows, packages) | _plans(packages, rows) | _releases(packages)
    asking = dict.fromkeys(str(row["package"]) for row in _rows(rules, "sdist-torch"))
    values |= (
        {"ASKING_SETUPS": tuple(asking)}
        | _installing(packages)
        | _answers(packages, rows)
        | _backends(backends)
    )
    said = [" ".join(line.split()) for line in _ROWS.replace("\n    ", " ").strip().splitlines()]
    found = [*_cases(rows)]
    for name, annotation, meaning in (line.split("|") for line in said):
        found.append(assigned(name, values.pop(name), meaning, annotation))
    if values:
        raise ValueError(f"nothing says what these are: {', '.join(values)}")
    return "\n".join(found)


def renewed(module: str, literals: str) -> str:
    """Return the module with these constants between its marks; ValueError without the marks."""
    before, begin, rest = module.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{MODULE} has lost one of the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{literals}\n{END}{after}"


def _rows(rules: Path, table: str) -> list[Row]:
    file = rules / "matrix" / f"{table}.yaml"
    document: Any = read_yaml(file.read_text("utf-8"), str(file)).data
    columns = {**dict.fromkeys(document["columns"]), **document.get("otherwise", {})}
    return [filled(row, columns) for row in document["rows"]]


def _words(cell: object) -> tuple[str, ...]:
    return tuple(str(cell or "").split())


def _columns(cell: object) -> dict[str, str]:
    """Return ``torch flash_attn=vllm-flash-attn`` as column -> distribution."""
    pairs = (word.partition("=") for word in _words(cell))
    return {column: name or column for column, _, name in pairs}


def _those(rows: list[Row], holds: Callable[[Row], Any]) -> tuple[str, ...]:
    return tuple(row["package"] for row in rows if holds(row))


def _with(rows: list[Row], column: str) -> tuple[str, ...]:
    return _those(rows, lambda row: row[column])


def _placed(rows: list[Row], column: str, key: str = "package") -> tuple[str, ...]:
    """Return those that have a place by a column, in the order of their places."""
    placed = sorted((row for row in rows if row[column]), key=lambda row: row[column])
    return tuple(row[key] for row in placed)


def _cases(rows: list[Row]) -> Iterator[str]:
    """Yield a constant for each package that code names: no other module spells its name."""
    for row in rows:
        if row["code"]:
            name = row["package"].upper().replace("-", "_")
            meaning = f"Code has a case of its own for it: {row['code']}."
            yield assigned(name, row["package"], meaning)


def _names(rows: list[Row], packages: list[Row]) -> dict[str, object]:
    names = {row["package"]: _words(row["distributions"]) for row in packages}
    bystanders = _those(packages, lambda row: row["role"] == "bystander")
    extensions = {
        row["package"]: {name: _words(row[name]) for name in _EXTENSIONS if row[name]}
        for row in sorted(packages, key=lambda row: row["read"] or len(packages))
    }
    return {
        "PACKAGES": names,
        "BYSTANDERS": frozenset(bystanders),
        "STACK": frozenset(n for package in names for n in names[package])
        - frozenset(n for package in bystanders for n in names[package]),
        "COMPANIONS": frozenset(_those(rows, lambda row: row["role"] == "companion")),
        "IMPORTS": {r["package"]: _words(r["imports"]) for r in packages if r["imports"]},
        "EXTENSIONS": {package: found for package, found in extensions.items() if found},
        "LOADS_ALONE": _with(packages, "loads_alone"),
    }


def _plans(packages: list[Row], rows: list[Row]) -> dict[str, object]:
    frameworks = [row for row in packages if row["role"] == "framework"]
    return {
        "ATTENTION": _those(packages, lambda row: row["role"] == "attention"),
        "FRAMEWORKS": _placed(frameworks, "decided"),
        "ORDER": _placed(packages, "decided"),
        "AT_ONCE": _placed(rows, "early"),
        "REMOVABLE": _with(packages, "removable"),
        "BESIDE_TORCH": _with(packages, "with_torch"),
        "COMPILED_BESIDE": _with(packages, "cuda_of_pypi"),
        "CORE": frozenset(_with(packages, "core")),
    }


def _releases(packages: list[Row]) -> dict[str, object]:
    own = [r for r in packages if r["releases"] not in (None, OF_FRAMEWORKS)]
    others = _those(packages, lambda row: row["releases"] == OF_FRAMEWORKS)
    whole = {
        row["package"]: (row["releases"], _columns(row["requirements"]))
        for row in own
        if row["requirements"]
    }
    return {
        "RELEASE_TABLES": {row["package"]: row["releases"] for row in own},
        "RELEASES": whole,
        "PARTLY": {
            row["package"]: (row["partly"], _columns(row["partly_requirements"]))
            for row in packages
            if row["partly"]
        },
        "PARTLY_ALONG": {
            row["package"]: _columns(row["partly_along"]) for row in packages if row["partly_along"]
        },
        "PARTLY_EXTRAS": {
            row["package"]: _words(row["partly_extras"]) for row in packages if row["partly_extras"]
        },
        "ALWAYS": {
            row["package"]: {n: "" for n in _words(row["always"]) if n != "nothing"}
            for row in packages
            if row["always"]
        },
        "FRAMEWORK_TABLE": OF_FRAMEWORKS,
        "TABLED_FRAMEWORKS": others,
        "PLANNED": (*whole, *others),
    }


def _installing(packages: list[Row]) -> dict[str, object]:
    def usual(column: str) -> dict[str, Any]:
        return {_words(row["distributions"])[0]: row[column] for row in packages if row[column]}

    return {
        "SETUPS": usual("setup"),
        "NOT_ON_PYTORCH": tuple(usual("not_on_pytorch")),
        "OWN_PYTHON_RULE": tuple(usual("own_python_rule")),
    }


def _answers(packages: list[Row], rows: list[Row]) -> dict[str, object]:
    return {
        "TRAINERS": _placed(packages, "training"),
        "SETTINGS": _placed(rows, "settings"),
        "SETTINGS_ON_ROUTES": _placed(rows, "settings_on_routes"),
        "ADVISED": _placed(rows, "advised"),
        "WORDS": {row["package"]: row["words"] for row in packages if row["words"]},
    }


def _backends(rows: list[Row]) -> dict[str, object]:
    return {
        "BACKENDS": {row["backend"]: row["package"] for row in rows},
        "MAIN": tuple(row["backend"] for row in rows if not (row["route"] or row["part"])),
        "PREFERRED": _placed(rows, "preference", "backend"),
        "CALLED": {row["backend"]: row["said"] for row in rows if row["said"]},
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    about = "Write what packages and backends are as literals of Python."
    parser = argparse.ArgumentParser(prog="tools.write_packages", description=about)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 where stale")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout; this one by default")
    options = parser.parse_args(arguments)
    file = options.root / MODULE
    before = file.read_text("utf-8")
    now = renewed(before, written(options.root / "rules"))
    if before == now:
        return 0
    if options.check:
        sys.stderr.write(f"{MODULE} is stale: python -m tools.write_packages\n")
        return 1
    file.write_text(now, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
