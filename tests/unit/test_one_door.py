"""What a name from outside leads to is opened by `fadoctor.model.files`, and nowhere else."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2] / "fadoctor"

METHODS = {"open", "fdopen", "read_text", "read_bytes"}
"""Of paths, of `os` and of whatever else has methods of these names."""

OTHERS = {
    "model/files.py": "the door itself",
    "binary/files.py": "libraries, in pieces, below a root; it opens as the door does",
    "binary/loader.py": "opens by binary/files.py",
    "binary/interpreter_process.py": "opens by binary/files.py",
    "binary/extension_report.py": "opens by binary/files.py",
    "binary/predict.py": "opens by binary/files.py",
    "sources/probes/foreign_cuda.py": "opens by binary/files.py",
    "fleet/builds.py": "opens by binary/files.py",
    "binary/source.py": "gives the door's descriptor a name",
    "syntax/shell_grammar.py": "opens blocks of a script, and no file",
    "syntax/named_file.py": "gives the door's descriptor a name",
    "fleet/sources.py": "gives the door's descriptor a name",
    "report/html/document.py": "files of this package",
    "judging/engine/suite.py": "files of this package",
    "judging/explain/recognise/pages.py": "files of this package",
    "knowledge/matrix/load.py": "files of this package, and what `rules update` compiled",
    "processes/orphans.py": "/proc",
    "processes/run.py": "a pipe of its own",
    "processes/own_files.py": "what fadoctor keeps for itself, through no link",
    "knowledge/matrix/fetched.py": "what `rules update` keeps, through no link",
    "repair/apply/": "the state of an environment's repair, which has rules of its own",
    "proof/smoke/watching.py": "a file of its own in a temporary folder",
    "repair/resolution/write.py": "writes",
    "knowledge/updates/archive.py": "members of an archive",
    "sources/import_names/verdicts.py": "writes",
    "interfaces/cli/": "writes results, and /dev/null",
}
"""Module, or folder -> why it may open by itself. What is not here may not."""


def opened(path: Path) -> list[int]:
    """Return the lines of a module that open a file by another way than the door's functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        called = node.func if isinstance(node, ast.Call) else None
        is_method = isinstance(called, ast.Attribute) and called.attr in METHODS
        if is_method or (isinstance(called, ast.Name) and called.id == "open"):
            found.append(node.lineno)  # type: ignore[attr-defined]  # a call has a line
    return found


def modules() -> dict[str, Path]:
    """Return what runs in our own process; scripts in folders `child` have limits of their own."""
    found = (path for path in ROOT.rglob("*.py") if "child" not in path.parts)
    return {path.relative_to(ROOT).as_posix(): path for path in found}


@cache
def openers() -> dict[str, list[int]]:
    return {name: lines for name, path in modules().items() if (lines := opened(path))}


def is_allowed(name: str) -> bool:
    return any(name == each or (each.endswith("/") and name.startswith(each)) for each in OTHERS)


def test_nothing_else_opens_files() -> None:
    found = openers()
    assert len(found) > 10
    assert {n: ls for n, ls in found.items() if not is_allowed(n)} == {}


def test_the_list_names_only_what_is_there() -> None:
    found = openers()
    assert [each for each in OTHERS if not any(name.startswith(each) for name in found)] == []


def test_an_opener_is_seen(tmp_path: Path) -> None:
    module = tmp_path / "x.py"
    module.write_text(
        "from fadoctor.model.files import read_bytes\n"
        "read_bytes(p, 1)\nopen(p)\np.open()\nos.fdopen(1)\np.read_text()\nPath(p).read_bytes()\n"
    )
    assert sorted(opened(module)) == [3, 4, 5, 6, 7]
