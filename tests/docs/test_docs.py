"""The documentation: a page for each rule, examples that work, links that lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.judging.engine.suite import load_suite, run_suite
from fadoctor.knowledge.matrix.compile import compile_rules
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent
from fadoctor.sources.configs.source import Source
from fadoctor.sources.probes.world import World
from tests.golden import cases
from tests.unit.knowledge.matrix.folders import rule_text, table_text, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ADDING = DOCS / "adding-a-rule.md"
EXTENDING = DOCS / "extending.md"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])

_FENCE = re.compile(r"^```yaml\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MODULE = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^```.*?^```$|^ {4}.*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_PATH = re.compile(r"`((?:rules|docs|tests|fadoctor)/[\w./-]+)`")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    rules = {path.stem for path in (ROOT / "rules").glob("*/*.yaml")}
    rules -= {path.stem for path in (ROOT / "rules" / "matrix").glob("*.yaml")}
    assert {path.stem for path in (DOCS / "rules").glob("*.md")} - {"README"} == rules


def test_the_index_names_every_page() -> None:
    index = (DOCS / "rules" / "README.md").read_text(encoding="utf-8")
    linked = set(_LINK.findall(index))
    assert {path.name for path in (DOCS / "rules").glob("*.md")} - {"README.md"} <= linked


def test_relative_links_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)} links to {each}" for page in PAGES for each in broken_links(page)
    ]
    assert broken == []


def broken_links(page: Path) -> Iterator[str]:
    prose = _CODE.sub("`", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(prose):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        is_page = file.suffix == ".md"  # of a picture, #only-dark says in which theme it stands
        if not file.exists() or (anchor and is_page and anchor not in anchors(file)):
            yield target


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def test_paths_that_the_guide_names_exist() -> None:
    named = _PATH.findall(ADDING.read_text(encoding="utf-8"))
    assert len(named) > 15
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_paths_that_the_page_on_extending_names_exist() -> None:
    named = _PATH.findall(EXTENDING.read_text(encoding="utf-8"))
    made = {  # by who follows the page
        "tests/unit/sources/probes/test_numa.py",
        "rules/matrix/toyattn-releases.yaml",
    }
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists() and path not in made] == []


@pytest.fixture(scope="module")
def written() -> dict[str, dict[str, Any]]:
    """Return the modules of the page on extending, by the names that they are given there."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in _MODULE.findall(EXTENDING.read_text(encoding="utf-8")):
        found[name] = {"__name__": "example"}
        exec(compile(text, name, "exec"), found[name])  # noqa: S102 -- our own page
    assert len(found) == 3
    return found


def test_the_probe_of_the_page_reads(written: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    probe = written["fadoctor/sources/probes/numa.py"]["probe"]
    world = World(Target("environment", "x", "--python"), {}, _never, "linux", tmp_path)
    assert isinstance(probe(world, {})["host.numa_nodes"], Absent)
    (tmp_path / "sys/devices/system/node/node0").mkdir(parents=True)
    (tmp_path / "sys/devices/system/node/possible").touch()
    assert probe(world, {})["host.numa_nodes"].value == 1


def _never(command: object) -> Any:
    raise AssertionError(command)


def test_the_format_of_the_page_writes(written: dict[str, dict[str, Any]]) -> None:
    report = cases.report("linux-a100-healthy", load_knowledge())
    lines = written["fadoctor/report/csv_.py"]["render"](report).splitlines()
    assert lines[0] == "gpu,backend,dtype,predicted,measured"
    assert "gpu[0] NVIDIA A100-SXM4-80GB,fa2,bf16,works,not_run" in lines


def test_the_reader_of_the_page_reads(written: dict[str, dict[str, Any]]) -> None:
    reader = written["fadoctor/sources/configs/toytune.py"]
    source = Source("toy.yaml", "toytune_version: 1\nattention: sdpa\nprecision: bf16\n")
    assert reader["recognises"](source)
    assert not reader["recognises"](Source("x.yaml", "attention: sdpa\n"))
    said = {each.name: each.value for each in reader["read"](source).intents}
    assert said["config.attention"] == "sdpa"
    assert said["config.autocast"] == "bf16"


@pytest.mark.long
def test_the_example_of_the_guide_compiles_and_its_cases_pass(tmp_path: Path) -> None:
    blocks = _FENCE.findall(ADDING.read_text(encoding="utf-8"))
    assert [name for name, _ in blocks] == [
        "house/matrix/house-pins.yaml",
        "house/pins/house-pin-missed.yaml",
    ]
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    tested = run_suite(load_suite([tmp_path / "house"]), own=True)
    assert (tested.rules, tested.cases, tested.failures, tested.changed) == (1, 3, (), ())


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(folder: Path) -> Any:
    folder.mkdir()
    return compile_rules(
        write(folder, area__some_rule=rule_text(), matrix__some_table=table_text())
    )


def test_generator_writes_what_is_missing_and_removes_what_is_left_over(
    generator: ModuleType, tmp_path: Path
) -> None:
    root = tmp_path / "checkout"
    files = generator.generate(compiled(tmp_path / "rules"))
    gone = root / "docs" / "rules" / "gone-rule.md"
    gone.parent.mkdir(parents=True)
    gone.write_text("# Gone\n")
    assert generator.orphans(root, files) == ["docs/rules/gone-rule.md"]
    assert generator.stale(root, files) == list(files)
    generator.write(root, files)
    assert (generator.orphans(root, files), generator.stale(root, files)) == ([], [])
    assert not gone.exists()
    page = root / "docs" / "rules" / "some-rule.md"
    page.write_text(page.read_text() + "by hand\n")
    assert generator.stale(root, files) == ["docs/rules/some-rule.md"]


def test_generated_files(generator: ModuleType, tmp_path: Path) -> None:
    files = generator.generate(compiled(tmp_path / "rules"))
    assert sorted(name for name in files if name.startswith("docs/")) == [
        "docs/cli.md",
        "docs/man/fadoctor.1",
        "docs/matrix.md",
        "docs/rules/README.md",
        "docs/rules/some-rule.md",
        "docs/tables-checked.md",
    ]
    assert "| [some-table](matrix.md#some-table) |" in files["docs/tables-checked.md"]
    assert "## some-table\n" in files["docs/matrix.md"]
    assert "- [`some-rule`](some-rule.md) (error): A title" in files["docs/rules/README.md"]


def test_page_of_commands_has_groups_and_no_broken_row(generator: ModuleType) -> None:
    text = generator.commands_page()
    assert "## fadoctor rules show\n" in text
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
