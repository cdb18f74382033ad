"""Loading: the compiled file of a checkout follows its YAML, whatever state either is in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fadoctor.knowledge.matrix.load import Stamped, source_stamp, write_compiled
from fadoctor.knowledge.matrix.rule_words import words_in_rules
from fadoctor.model.errors import FadoctorError, RuleDataError
from fadoctor.model.packed import pack
from fadoctor.model.rule import with_written_parts
from tests.unit.knowledge.matrix.folders import rule_text, table_text, write

PACKAGE = Path(__file__).parents[4] / "fadoctor"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    return write(folder, area__some_rule=rule_text(), matrix__some_table=table_text())


def stored(target: Path) -> Stamped:
    return msgspec.json.decode((target / "knowledge.json").read_bytes(), type=Stamped)


def test_what_is_written_is_what_was_compiled(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "compiled"
    knowledge = write_compiled(source, target)
    assert [rule.id for rule in knowledge.rules] == ["some-rule"]
    assert stored(target).stamp == source_stamp(source)
    opened = stored(target).opened(target / "knowledge.json")
    assert words_in_rules(opened) == words_in_rules(knowledge) >= {"title", "reason"}
    rules = tuple(map(with_written_parts, opened.rules))
    unpacked = msgspec.structs.replace(opened, rules=rules, tables=dict(opened.tables), words=b"")
    assert unpacked == knowledge
    assert msgspec.json.decode((target / "cases.json").read_bytes()) == {"some-rule": []}
    assert {path.suffix for path in target.iterdir()} == {".json"}


def test_large_tables_are_compiled_apart(source: Path, tmp_path: Path) -> None:
    write(source, matrix__large_table=table_text("large-table", apart="true"))
    knowledge = write_compiled(source, tmp_path / "compiled")
    assert list(knowledge.tables) == ["some-table"]
    apart = msgspec.json.decode((tmp_path / "compiled" / "apart.json").read_bytes())
    assert list(apart) == ["large-table"]


def test_a_rule_that_does_not_compile_leaves_the_old_file(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "compiled"
    write_compiled(source, target)
    before = (target / "knowledge.json").read_bytes()
    write(source, area__other_rule=rule_text("other-rule", when="{no.fact: x}"))
    with pytest.raises(RuleDataError, match=r"other-rule\.yaml:7 at `when.no.fact`"):
        write_compiled(source, target)
    assert (target / "knowledge.json").read_bytes() == before


@pytest.mark.parametrize("where", ["a-file", "a-file/below", "/proc/compiled", "no/such/folder"])
def test_where_nothing_can_be_written_it_is_compiled_in_memory(
    source: Path, tmp_path: Path, where: str
) -> None:
    (tmp_path / "a-file").write_text("")
    knowledge = write_compiled(source, tmp_path / where)
    assert [rule.id for rule in knowledge.rules] == ["some-rule"]


def test_the_stamp_changes_with_every_change(source: Path) -> None:
    path = source / "area" / "some-rule.yaml"
    seen = [source_stamp(source), source_stamp(source)]
    path.write_text(rule_text(why="Another reason."))
    seen.append(source_stamp(source))
    os.utime(path, ns=(1, 1))
    seen.append(source_stamp(source))
    path.rename(path.with_name("other-rule.yaml"))
    seen.append(source_stamp(source))
    path.with_name("other-rule.yaml").unlink()
    seen.append(source_stamp(source))
    assert seen[0] == seen[1]
    assert len(set(seen)) == 5


def test_the_stamp_ignores_what_is_not_compiled(source: Path) -> None:
    before = source_stamp(source)
    (source / "area" / "notes.txt").write_text("x")
    (source / "area" / ".some-rule.yaml.swp").write_text("x")
    assert source_stamp(source) == before


def test_a_dangling_link_does_not_end_a_command(source: Path) -> None:
    (source / "area" / ".#some-rule.yaml").symlink_to("somebody@somewhere.1234")
    assert "some-rule" in source_stamp(source)


LOADED = """
from fadoctor.knowledge.matrix.load import load_knowledge
knowledge = load_knowledge()
print(",".join(rule.title for rule in knowledge.rules))
"""


@pytest.fixture
def checkout(source: Path) -> Path:
    """Return a folder with the package beside the small rules: a checkout of its own."""
    for name in ("model", "syntax", "knowledge"):
        folder = source.parent / "fadoctor" / name
        shutil.copytree(PACKAGE / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (source.parent / "fadoctor" / "__init__.py").write_text("")
    return source.parent


def load(checkout: Path, program: str = LOADED) -> str:
    """Return what a fresh process prints there, or its last words."""
    command = (sys.executable, "-B", "-c", program)
    result = subprocess.run(  # noqa: PLW1510 -- both endings are looked at
        command, cwd=checkout, capture_output=True, text=True, timeout=60
    )
    return result.stdout.strip() or result.stderr.strip().splitlines()[-1]


def test_a_checkout_is_compiled_and_follows_its_files(checkout: Path) -> None:
    compiled = checkout / "fadoctor" / "compiled" / "knowledge.json"
    assert load(checkout) == "A title"
    first = compiled.stat().st_mtime_ns
    assert load(checkout) == "A title"
    assert compiled.stat().st_mtime_ns == first
    write(checkout / "rules", area__some_rule=rule_text(title="Another title"))
    assert load(checkout) == "Another title"


def test_a_corrupt_compiled_file_is_built_again(checkout: Path) -> None:
    assert load(checkout) == "A title"
    compiled = checkout / "fadoctor" / "compiled" / "knowledge.json"
    good = compiled.read_bytes()
    compiled.write_bytes(good[: len(good) // 2])
    assert load(checkout) == "A title"
    assert compiled.read_bytes() == good


def test_without_rules_beside_it_the_compiled_file_is_all_there_is(checkout: Path) -> None:
    write_compiled(checkout / "rules", checkout / "fadoctor" / "compiled")
    shutil.rmtree(checkout / "rules")
    assert load(checkout) == "A title"
    (checkout / "fadoctor" / "compiled" / "knowledge.json").write_text("[]")
    assert load(checkout).endswith("has no compiled rules: install fadoctor again")


WITH_OWN = """
from pathlib import Path
from fadoctor.knowledge.matrix.load import load_apart, load_knowledge
print(*(rule.id for rule in load_knowledge((Path("own"),)).rules), *load_apart())
"""


def test_own_rules_come_on_top_and_large_tables_on_demand(checkout: Path) -> None:
    write(checkout / "rules", matrix__large_table=table_text("large-table", apart="true"))
    (checkout / "own").mkdir()
    write(checkout / "own", area__own_rule=rule_text("own-rule"))
    assert load(checkout, WITH_OWN) == "own-rule some-rule large-table"
    write(checkout / "own", area__own_rule=rule_text("own-rule", when="{no.fact: x}"))
    assert "own/area/own-rule.yaml:7 at `when.no.fact`" in load(checkout, WITH_OWN)


def test_large_tables_are_found_where_nothing_can_be_written(checkout: Path) -> None:
    write(checkout / "rules", matrix__large_table=table_text("large-table", apart="true"))
    (checkout / "own").mkdir()
    write(checkout / "own", area__own_rule=rule_text("own-rule"))
    (checkout / "fadoctor" / "compiled").write_text("a file, no folder")
    assert load(checkout, WITH_OWN) == "own-rule some-rule large-table"


LOOKED = """
import sys
from fadoctor.knowledge.matrix.load import compiled_in_use, load_apart, load_knowledge
knowledge = load_knowledge()
load_apart()
print(knowledge.version, knowledge.origin or "shipped", compiled_in_use().name, end=" ")
print("fadoctor.knowledge.matrix.fetched" in sys.modules)
"""


def test_an_installation_looks_once_for_fetched_rules_and_loads_nothing_for_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "fadoctor" / "__init__.py").write_text('__version__ = "1"\n')
    write_compiled(checkout / "rules", checkout / "fadoctor" / "compiled")
    shutil.rmtree(checkout / "rules")
    monkeypatch.setenv("XDG_DATA_HOME", str(checkout / "data"))
    assert load(checkout, LOOKED) == "7 shipped compiled False"
    pointer = checkout / "data" / "fadoctor" / "rules" / "current.json"
    pointer.parent.mkdir(parents=True)
    pointer.write_text("{")
    said = load(checkout, LOOKED)
    assert said.startswith("7 as shipped, because what was fetched is damaged")
    assert said.endswith(" compiled True")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "")
    assert load(checkout, LOOKED) == "7 shipped compiled False"
    monkeypatch.setenv("HOME", str(checkout))
    pointer.parent.parent.rename(checkout / "share")
    (checkout / ".local").mkdir()
    (checkout / ".local" / "share").mkdir()
    (checkout / "share").rename(checkout / ".local" / "share" / "fadoctor")
    assert load(checkout, LOOKED).endswith(" compiled True")


def test_a_checkout_goes_by_its_own_files(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(checkout / "data"))
    pointer = checkout / "data" / "fadoctor" / "rules" / "current.json"
    pointer.parent.mkdir(parents=True)
    pointer.write_text("{")
    assert load(checkout, LOOKED) == "7 shipped compiled False"


def test_what_is_loaded_decodes_the_tables_that_are_asked_for(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "compiled"
    write_compiled(source, target)
    form = stored(target)
    form.tables["a-damaged-table"] = pack({"table": 1})
    tables = form.opened(target / "knowledge.json").tables
    assert tables["some-table"].rows
    with pytest.raises(FadoctorError, match=r"knowledge\.json: the table a-damaged-table is dam"):
        tables["a-damaged-table"]


ANSWERS_MANY = """
from fadoctor.knowledge.matrix.load import COMPILED, load_knowledge
first = load_knowledge()
assert load_knowledge() is first
file = COMPILED / "knowledge.json"
text = file.read_bytes()
other = file.with_name("other.json")
other.write_bytes(text + b" ")
other.replace(file)
assert load_knowledge() is not first
print("read anew")
"""


def test_a_program_decodes_its_knowledge_once_for_all_texts(checkout: Path) -> None:
    """Each text that the page in the browser answered decoded every table once more."""
    load(checkout)
    assert load(checkout, ANSWERS_MANY) == "read anew"
