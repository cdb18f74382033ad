"""The pictures of the README and the pages, made from what the program really prints.

    python -m tools.pictures                write docs/pictures anew
    python -m tools.pictures --look FOLDER  every picture as PNG, at every width, in both themes

A terminal is an SVG with its text inside, so that a test holds it against the program
(tests/cli/test_pictures.py); a page is a PNG that carries the digest of its text. The recorded
machines of tests/golden are what is looked at. Pages need Debian's chromium.
"""

from __future__ import annotations

import hashlib
import html
import io
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tools.browser import Browser, chromium, pictures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
THEMES = ("light", "dark")
COLUMNS = 80

_GOLDEN = "tests/golden"


class Terminal(msgspec.Struct, frozen=True):
    """What is typed, and where the picture ends: before the line that begins so."""

    name: str
    arguments: tuple[str, ...]
    until: str = ""


class Page(msgspec.Struct, frozen=True):
    """A page: how it is made, and which part of it is shown, at which width in which theme."""

    name: str
    arguments: tuple[str, ...]
    width: int
    height: int
    theme: str


TERMINALS = (
    Terminal(
        "check",
        ("check", "--facts", f"{_GOLDEN}/linux-4090-wheel-mismatch/facts.json"),
        until="  Why ",
    ),
    Terminal("healthy", ("check", "--facts", f"{_GOLDEN}/linux-a100-healthy/facts.json")),
    Terminal(
        "fix",
        ("fix", "--dry-run", "--facts", f"{_GOLDEN}/linux-v100-torch210/facts.json"),
    ),
    Terminal("explain", ("explain", f"{_GOLDEN}/founding/unsloth-dora/log.txt")),
)

_REPORT = ("check", "--facts", f"{_GOLDEN}/linux-v100-and-a100/facts.json", "--format", "html")

PAGES = (
    Page("page", _REPORT, 1440, 900, "light"),
    Page("page-narrow", _REPORT, 360, 900, "dark"),
    Page(
        "fleet", ("fleet", f"{_GOLDEN}/fleet/records.txt", "--format", "html"), 1024, 900, "light"
    ),
)

_LIGHT = TerminalTheme(
    (255, 255, 255), (31, 35, 40),
    [(31, 35, 40), (180, 25, 25), (17, 99, 41), (125, 78, 0), (9, 80, 180), (110, 50, 160),
     (15, 95, 110), (89, 99, 110)],
)  # fmt: skip
_DARK = TerminalTheme(
    (13, 17, 23), (230, 237, 243),
    [(110, 118, 129), (255, 130, 120), (86, 211, 100), (227, 179, 65), (121, 192, 255),
     (210, 168, 255), (86, 212, 221), (230, 237, 243)],
)  # fmt: skip

_FORM = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px "DejaVu Sans Mono", Menlo, Consolas,
  "Liberation Mono", monospace; }}
.{unique_id}-title {{ font: bold 18px "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""An SVG that asks for nothing: the fonts are those of whoever looks at it."""

_PIECE = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)" textLength[^>]*>([^<]*)</text>')
_CHARACTER = 12.2
"""The width of a character, as rich draws it."""

_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_TAG = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL)
_KEYWORD = b"fadoctor-text"


def output_of(arguments: tuple[str, ...], *, colour: bool) -> str:
    """Return what the program prints, in a terminal of 80 columns."""
    env = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONIOENCODING": "utf-8"}
    env |= {"CLICOLOR_FORCE": str(int(colour)), "NO_COLOR": "" if colour else "1"}
    done = subprocess.run(
        [sys.executable, "-m", "fadoctor", *arguments],
        cwd=ROOT, env=env, capture_output=True, encoding="utf-8", check=False, timeout=120,
    )  # fmt: skip
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr)
    return done.stdout


def shown(terminal: Terminal, printed: str) -> list[str]:
    """Return the lines that a picture shows of what was printed: the prompt, the answer."""
    typed = f"$ fadoctor {' '.join(terminal.arguments)}"
    lines = printed.rstrip("\n").split("\n")
    ends = [place for place, line in enumerate(lines) if line.startswith(terminal.until)]
    if terminal.until and ends:
        lines = [*"\n".join(lines[: ends[0]]).rstrip("\n").split("\n"), "..."]
    return [piece for line in (typed, *lines) for piece in _folded(line)]


def svg_of(terminal: Terminal, printed: str, theme: str) -> str:
    """Return a picture of a terminal."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard"
    )
    for line in shown(terminal, printed):
        console.print(Text.from_ansi(line), soft_wrap=True)
    console.print("")  # or the lowest letters are cut off
    svg = console.export_svg(
        title="fadoctor",
        theme=_DARK if theme == "dark" else _LIGHT,
        code_format=_FORM,
        unique_id=f"{terminal.name}-{theme}",
    )
    return svg.replace('stroke="rgba(255,255,255,0.35)"', 'stroke="#8c959f"')


def text_of_svg(svg: str) -> list[str]:
    """Return the lines of text that stand in a picture of a terminal."""
    rows: dict[float, str] = {}
    for left, height, text in _PIECE.findall(svg):
        row = rows.get(float(height), "").ljust(round(float(left) / _CHARACTER))
        rows[float(height)] = row + html.unescape(text).replace("\xa0", " ")
    return [rows[each].rstrip() for each in sorted(rows)]


def digest_of_page(page: str) -> str:
    """Return the digest of the text of a page, without the versions that every release changes."""
    text = " ".join(html.unescape(_TAG.sub(" ", page)).split())
    text = re.sub(r"Rules [\d.]+, fadoctor [\w.]+", "", text)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_png(picture: bytes) -> str:
    """Return the digest that a picture of a page carries."""
    found = re.search(re.escape(_KEYWORD) + rb"\0([0-9a-f]{64})", picture)
    return found[1].decode() if found else ""


def write(folder: Path, say: Callable[[str], object]) -> None:
    """Write every picture; pages only where there is a Chromium."""
    folder.mkdir(parents=True, exist_ok=True)
    for terminal in TERMINALS:
        printed = output_of(terminal.arguments, colour=True)
        for theme in THEMES:
            file = folder / f"{terminal.name}-{theme}.svg"
            file.write_text(svg_of(terminal, printed, theme), encoding="utf-8")
            say(f"{file.name}: {file.stat().st_size} bytes\n")
    if not chromium():
        say("pages are left as they are: there is no chromium\n")
        return
    with tempfile.TemporaryDirectory() as scratch, Browser() as browser:
        for page in PAGES:
            text = output_of(page.arguments, colour=False)
            source = Path(scratch) / f"{page.name}.html"
            source.write_text(text, encoding="utf-8")
            browser.open(source, page.width, page.height, page.theme)
            picture = _signed(browser.picture(page.width, page.height), digest_of_page(text))
            (folder / f"{page.name}.png").write_bytes(picture)
            say(f"{page.name}.png: {len(picture)} bytes\n")


def look(folder: Path, say: Callable[[str], object]) -> None:
    """Write every picture as PNG, pages at every width and in both themes: to be looked at."""
    write(folder, say)
    for page in {each.arguments: each for each in reversed(PAGES)}.values():
        source = folder / f"{page.name}.html"
        source.write_text(output_of(page.arguments, colour=False), encoding="utf-8")
        pictures_of(source, folder)
    with Browser() as browser:
        for svg in sorted(folder.glob("*.svg")):
            browser.open(svg, 1000, 900, "light")
            svg.with_suffix(".png").write_bytes(browser.picture(1000, 1000))


def _folded(line: str) -> Iterator[str]:
    """Break what is longer than the window where a terminal does, between its escapes."""
    width, place, row, colour = 0, 0, "", ""
    while place < len(line):
        escape = _ESCAPE.match(line, place)
        if escape:
            row, colour, place = row + escape[0], escape[0], escape.end()
            continue
        if width == COLUMNS:
            yield row
            width, row = 0, colour
        width, row, place = width + 1, row + line[place], place + 1
    yield row


def _signed(picture: bytes, digest: str) -> bytes:
    """Return a PNG with a text chunk behind its header."""
    chunk = b"tEXt" + _KEYWORD + b"\0" + digest.encode()
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    header = 8 + 25  # the signature, and IHDR
    return picture[:header] + whole + picture[header:]


def main(arguments: list[str]) -> int:
    """Write the pictures of the documentation, or all of them into a folder."""
    if arguments[:1] == ["--look"] and len(arguments) == 2:
        look(Path(arguments[1]), sys.stderr.write)
    elif arguments:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    else:
        write(PICTURES, sys.stderr.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
