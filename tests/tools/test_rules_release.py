"""The wheel that holds rules only: the same bytes each time, and nothing that could be run."""

from __future__ import annotations

import base64
import hashlib
import shutil
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.utils import parse_wheel_filename

from fadoctor.knowledge.updates import DISTRIBUTION, FORMAT
from fadoctor.knowledge.updates.archive import read_wheel
from tests.unit.knowledge.matrix.folders import rule_text, table_text, write
from tools import rules_release

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    write(folder, area__some_rule=rule_text(), matrix__some_table=table_text())
    (folder / "knowledge.yaml").write_text('version: "2026.01.09"\n')
    return folder


def test_it_is_the_same_wheel_each_time(rules: Path, tmp_path: Path) -> None:
    first = rules_release.build(rules, tmp_path / "one")
    other = tmp_path / "elsewhere"
    shutil.copytree(rules, other, copy_function=shutil.copyfile)
    (other / "area" / ".some-rule.yaml.swp").write_text("")
    assert rules_release.build(other, tmp_path / "two").read_bytes() == first.read_bytes()


def test_installers_and_fadoctor_read_it(rules: Path, tmp_path: Path) -> None:
    path = rules_release.build(rules, tmp_path)
    name, version, _, _ = parse_wheel_filename(path.name)
    assert (name, str(version)) == (DISTRIBUTION, f"{FORMAT}.2026.1.9")
    found = read_wheel(path)
    assert found.version == "2026.01.09"
    assert found.files == {
        each.relative_to(rules).as_posix(): each.read_bytes() for each in rules.rglob("*.yaml")
    }
    with zipfile.ZipFile(path) as archive:
        info = f"fadoctor_rules-{version}.dist-info"
        metadata = message_from_bytes(archive.read(f"{info}/METADATA"))
        assert (metadata["Name"], metadata["Version"]) == (name, str(version))
        record = [line.split(",") for line in archive.read(f"{info}/RECORD").decode().splitlines()]
        assert [row[0] for row in record] == archive.namelist()
        for member, digest, size in record[:-1]:
            data = archive.read(member)
            hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert (digest, size) == (f"sha256={hashed}", str(len(data)))


@pytest.mark.long
def test_the_rules_of_this_checkout_fit_into_what_is_read(tmp_path: Path) -> None:
    path = rules_release.build(RULES, tmp_path)
    names = {p.relative_to(RULES).as_posix() for p in RULES.glob("*/*.yaml")} | {"knowledge.yaml"}
    assert read_wheel(path).files.keys() == names


@pytest.mark.parametrize(
    ("version", "text"), [("tomorrow", "not a version of rules"), ("1.0", "not a version of rules")]
)
def test_rules_without_a_date_are_no_release(
    rules: Path, tmp_path: Path, version: str, text: str
) -> None:
    (rules / "knowledge.yaml").write_text(f'version: "{version}"\n')
    with pytest.raises(rules_release.NoReleaseError, match=text):
        rules_release.build(rules, tmp_path)
    write(rules, area__some_rule=rule_text(when="{no.fact: x}"))
    with pytest.raises(rules_release.NoReleaseError, match=r"some-rule\.yaml:7"):
        rules_release.build(rules, tmp_path)
