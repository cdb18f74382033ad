"""The pictures of the documentation show what the program prints: ``python -m tools.pictures``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import INSTALLED
from tools import pictures

if TYPE_CHECKING:
    from tests.cli.conftest import Run

pytestmark = pytest.mark.skipif(bool(INSTALLED), reason="pictures belong to a checkout")

_RELEASE = re.compile(r"Rules [\d.]+, fadoctor [\w.]+")
_LARGEST = 150_000
"""A picture, bytes."""


def worded(lines: list[str]) -> list[str]:
    """Return lines without what every release changes, and without the empty ones."""
    return [_RELEASE.sub("", line).rstrip() for line in lines if line.strip()]


@pytest.mark.parametrize("terminal", pictures.TERMINALS, ids=lambda each: str(each.name))
def test_a_terminal_shows_what_is_printed(run: Run, terminal: pictures.Terminal) -> None:
    env = {"COLUMNS": str(pictures.COLUMNS)}
    printed = run(*terminal.arguments, cwd=pictures.ROOT, env=env).stdout
    for theme in pictures.THEMES:
        svg = (pictures.PICTURES / f"{terminal.name}-{theme}.svg").read_text(encoding="utf-8")
        found = worded(pictures.text_of_svg(svg))
        assert found == worded(pictures.shown(terminal, printed)), "python -m tools.pictures"
        assert len(found) > 5
        assert "url(http" not in svg
        assert re.findall(r"""(?:href|src)=""", svg) == []


@pytest.mark.parametrize("page", pictures.PAGES, ids=lambda each: str(each.name))
def test_a_page_is_the_one_that_is_written(run: Run, page: pictures.Page) -> None:
    written = run(*page.arguments, cwd=pictures.ROOT).stdout
    picture = (pictures.PICTURES / f"{page.name}.png").read_bytes()
    assert pictures.digest_of_png(picture) == pictures.digest_of_page(written), (
        "python -m tools.pictures"
    )


def test_pictures_are_few_and_small_and_none_is_left_over() -> None:
    wanted = {f"{each.name}-{theme}.svg" for each in pictures.TERMINALS
              for theme in pictures.THEMES}  # fmt: skip
    wanted |= {f"{page.name}.png" for page in pictures.PAGES}
    files = {path.name: path.stat().st_size for path in pictures.PICTURES.iterdir()}
    assert set(files) == wanted
    assert max(files.values()) <= _LARGEST


def test_a_line_folds_where_a_terminal_folds_it_and_keeps_its_colour() -> None:
    terminal = pictures.Terminal("x", ("check",))
    line = f"ab \x1b[31m{'c' * 100}\x1b[0m d"
    assert pictures.shown(terminal, f"{line}\n") == [
        "$ fadoctor check", f"ab \x1b[31m{'c' * 77}", f"\x1b[31m{'c' * 23}\x1b[0m d",
    ]  # fmt: skip


def test_a_picture_ends_where_it_is_told_to() -> None:
    terminal = pictures.Terminal("x", ("check",), until="  Why")
    printed = "one\n\n  Why so\n  more\n"
    assert pictures.shown(terminal, printed) == ["$ fadoctor check", "one", "..."]


def test_the_text_of_a_picture_can_be_read_back() -> None:
    terminal = pictures.Terminal("x", ("check",))
    printed = "\x1b[1;31mx  <bold>\x1b[0m & plain\n\nlast\n"
    svg = pictures.svg_of(terminal, printed, "dark")
    assert worded(pictures.text_of_svg(svg)) == ["$ fadoctor check", "x  <bold> & plain", "last"]
