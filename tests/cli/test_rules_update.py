"""`fadoctor rules update`, the whole way: built, fetched from a folder, used, damaged, undone.

A checkout goes by its own files; what is tested is the package as an installer puts it somewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.load import write_compiled
from tests.cli.conftest import INSTALLED, TIMEOUT_S
from tools import rules_release

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

    Fadoctor = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
FACTS = ROOT / "tests" / "golden" / "linux-a100-healthy" / "facts.json"
RULE = "gpu-too-old-fa2"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a release of next century, in which one rule has another title."""
    folder = tmp_path_factory.mktemp("release")
    rules = folder / "rules"
    shutil.copytree(ROOT / "rules", rules, ignore=shutil.ignore_patterns("schema"))
    knowledge = rules / "knowledge.yaml"
    lines = knowledge.read_text().splitlines(keepends=True)
    knowledge.write_text("".join(('version: "2999.01.02"\n', *lines[1:])))
    path = next(rules.glob(f"*/{RULE}.yaml"))
    text = path.read_text()
    title = next(line for line in text.splitlines() if line.startswith("title: "))
    path.write_text(text.replace(title, "title: A title of next century"))
    rules_release.build(rules, folder / "index")
    return folder / "index"


@pytest.fixture
def fadoctor(tmp_path: Path) -> Fadoctor:
    """Run fadoctor as it is installed, with a data folder of its own."""
    command = INSTALLED
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "COLUMNS": "500"}
    if not command:
        command = [sys.executable, "-m", "fadoctor"]
        env["PYTHONPATH"] = str(tmp_path / "site")
        write_compiled(ROOT / "rules", ROOT / "fadoctor" / "compiled")
        shutil.copytree(ROOT / "fadoctor", tmp_path / "site" / "fadoctor")
    (tmp_path / "empty").mkdir()

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words], env={**env, **more}, cwd=tmp_path / "empty", text=True,
            capture_output=True, check=False, timeout=TIMEOUT_S,
        )  # fmt: skip

    return run


def in_use(fadoctor: Fadoctor) -> tuple[str, str]:
    """Return the version that a report says it comes from, and its origin."""
    run = fadoctor("check", "--facts", str(FACTS), "--format", "json")
    assert run.returncode == 0, run.stderr
    rules = json.loads(run.stdout)["rules"]
    return rules["version"], rules.get("origin", "")


@pytest.mark.weekly
def test_the_whole_way(fadoctor: Fadoctor, index: Path, tmp_path: Path) -> None:
    before, origin = in_use(fadoctor)
    assert origin == ""
    wheel = next(index.iterdir())
    taken = fadoctor("rules", "update", "--from", str(wheel))
    assert (taken.returncode, taken.stderr) == (0, "")
    assert taken.stdout.startswith("Rules 2999.01.02 are in use now. Checked: ")
    version, origin = in_use(fadoctor)
    assert version == "2999.01.02"
    assert origin.startswith("fetched on ")
    assert origin.endswith(f" from the file {wheel.name}")
    said = fadoctor("check", "--facts", str(FACTS)).stdout
    assert f"Rules 2999.01.02 ({origin}), fadoctor" in said
    assert "A title of next century" in fadoctor("rules", "show", RULE).stdout
    assert f"Rules 2999.01.02 ({origin}), fadoctor" in fadoctor("rules", "list").stdout

    compiled = next((tmp_path / "data" / "fadoctor" / "rules").glob("2999*/knowledge.json"))
    compiled.write_bytes(compiled.read_bytes()[:-9])
    version, origin = in_use(fadoctor)
    assert (version, "are damaged" in origin) == (before, True)
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    again = fadoctor("rules", "update", **pip)
    assert (again.returncode, again.stderr) == (0, "")
    version, origin = in_use(fadoctor)
    assert (version, origin.partition(" from ")[2]) == (
        "2999.01.02",
        "the index that pip is set to",
    )
    assert fadoctor("rules", "update", **pip).stdout.startswith("Nothing newer: 2999.01.02 was f")
    refuses(fadoctor, tmp_path)
    assert in_use(fadoctor)[0] == "2999.01.02"

    undone = fadoctor("rules", "update", "--undo")
    assert undone.stdout.startswith("Rules 2999.01.02 are no longer used. In use now: ")
    assert in_use(fadoctor) == (before, "")
    nothing = fadoctor("rules", "update", "--undo")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert list((tmp_path / "data" / "fadoctor" / "rules").iterdir()) == []


def refuses(fadoctor: Fadoctor, tmp_path: Path) -> None:
    """Offer what is older, what is no wheel, and an index that has none."""
    older = rules_release.build(ROOT / "rules", tmp_path)
    (tmp_path / "text.whl").write_text("no wheel")
    for path, reason in ((older, "are older than those in use"), (tmp_path / "text.whl", "wheel")):
        refused = fadoctor("rules", "update", "--from", str(path))
        assert (refused.returncode, refused.stdout) == (2, "")
        assert reason in refused.stderr
    nothing = fadoctor("rules", "update", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path / "empty"))
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert "pip fetched no fadoctor-rules==" in nothing.stderr
    assert nothing.stderr.count("\n") == 1


@pytest.mark.long
def test_a_release_can_be_tried_from_a_checkout_too(run: Run, index: Path) -> None:
    env = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    tried = run("rules", "update", "--dry-run", env=env)
    assert (tried.returncode, tried.stderr) == (0, "")
    assert tried.stdout.startswith("Rules 2999.01.02 fit this fadoctor. Checked: ")
    assert "Nothing was changed. In use: " in tried.stdout


@pytest.mark.skipif(bool(INSTALLED), reason="about a checkout")
def test_a_checkout_goes_by_its_own_files(run: Run) -> None:
    for words in ((), ("--undo",)):
        refused = run("rules", "update", *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "runs from a checkout" in refused.stderr
    both = run("rules", "update", "--undo", "--dry-run")
    assert (both.returncode, "--undo takes no other option" in both.stderr) == (2, True)
