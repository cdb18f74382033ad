"""The tool for releases: what must agree does, and a release is made without losing a line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.release import Files, ReleaseError, notes, prepare, problems, run

ROOT = Path(__file__).parents[2]
CHANGELOG = """\
# Changelog

Words.

## [Unreleased]

### Added

- A thing.

## [0.1.0] - 2026-11-20

### Added

- Everything.
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    found = Files(tmp_path)
    for path, text in {
        found.code: '"""Doc."""\n\n__version__ = "0.1.0"\n',
        found.recipe: (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"),
        found.changelog: CHANGELOG,
        found.rules: 'version: "2026.11.19"\n# version: x\nretired:\n  a-version: b\n',
    }.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found.recipe.write_text(
        found.recipe.read_text().replace(recipe_line(found.recipe), '  version: "0.1.0"')
    )
    return found


def recipe_line(path: Path) -> str:
    return next(line for line in path.read_text().splitlines() if line.startswith('  version: "'))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_this_checkout_agrees() -> None:
    assert list(problems(Files(ROOT))) == []


def test_a_release_agrees_with_its_tag(files: Files) -> None:
    assert list(problems(files)) == []
    assert list(problems(files, "v0.1.0")) == []
    assert run(["check", "--tag", "v0.1.0"], files) == "v0.1.0: everything agrees\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("code", "0.1.0", "0.2.0", "recipe.yaml says 0.1.0, __init__.py 0.2.0"),
        ("code", "0.1.0", "next", "'next' is not a version of three numbers"),
        ("recipe", '"0.1.0"', '"0.1.1"', "recipe.yaml says 0.1.1, __init__.py 0.1.0"),
        ("changelog", "## [Unreleased]\n", "", "does not begin with [Unreleased]"),
        ("changelog", "2026-11-20", "yesterday", "the heading [0.1.0] - yesterday is not"),
        ("changelog", "[0.1.0] - ", "[0.1.1] - ", "has no heading [0.1.0]"),
        ("changelog", "## [0.1.0]", "## [0.0.9] - 2026-10-20\n\n## [0.1.0]", "are not ordered"),
        ("changelog", "## [0.1.0]", "## [0.1.0] - 2026-11-20\n\n## [0.1.0]", "a heading twice"),
        ("rules", "2026.11.19", "2026.11.21", "the rules are of 2026.11.21, after the release"),
        ("rules", "2026.11.19", "latest", "'latest' is no date"),
    ],
)
def test_what_does_not_agree_is_said(
    files: Files, name: str, old: str, new: str, said: str
) -> None:
    change(getattr(files, name), old, new)
    found = list(problems(files, "v0.1.0"))
    assert any(said in each for each in found), found
    with pytest.raises(ReleaseError):
        run(["check", "--tag", "v0.1.0"], files)


def test_a_tag_of_another_version_is_refused(files: Files) -> None:
    with pytest.raises(ReleaseError, match=r"the tag is v0\.2\.0, the version 0\.1\.0"):
        run(["check", "--tag", "v0.2.0"], files)


def test_what_is_unreleased_moves_to_its_version_everywhere(files: Files) -> None:
    run(["prepare", "0.2.0", "--date", "2026-12-01"], files)
    text = files.changelog.read_text()
    assert "## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A thing.\n" in text
    assert text.replace("\n\n## [0.2.0] - 2026-12-01", "") == CHANGELOG
    assert '__version__ = "0.2.0"' in files.code.read_text()
    assert recipe_line(files.recipe) == '  version: "0.2.0"'
    assert list(problems(files, "v0.2.0")) == []
    assert run(["notes", "0.2.0"], files) == "### Added\n\n- A thing.\n"
    assert notes(files, "0.1.0") == "### Added\n\n- Everything.\n"
    with pytest.raises(ReleaseError, match="nothing is unreleased"):
        prepare(files, "0.3.0", "2026-12-02")


@pytest.mark.parametrize(
    ("version", "date"), [("0.1.0", "2026-12-01"), ("v2", "2026-12-01"), ("0.2.0", "soon")]
)
def test_nothing_is_written_where_a_release_cannot_be(
    files: Files, tmp_path: Path, version: str, date: str
) -> None:
    before = tmp_path.parent / "before"
    shutil.copytree(tmp_path, before, dirs_exist_ok=True)
    with pytest.raises(ReleaseError):
        run(["prepare", version, "--date", date], files)
    for path in (files.code, files.recipe, files.changelog):
        assert path.read_bytes() == (before / path.relative_to(tmp_path)).read_bytes()


def test_a_version_that_has_no_notes_is_named(files: Files) -> None:
    with pytest.raises(ReleaseError, match=r"no heading \[9\.9\.9\]"):
        notes(files, "9.9.9")
