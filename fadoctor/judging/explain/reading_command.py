"""One command that reads torch itself, and installs the file for it."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LEAST = compiled(r">=2\.(?P<minor>\d{1,2})")


def reading_command(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a command that installs the `url` of the row for torch and its CUDA.

    `rows`: with `torch`, a range without gaps between the rows, `cuda`, the major version, and
    `url`; "" where they are not all from one place.
    """
    urls = [str(row["url"]) for row in rows]
    bounds = [_LEAST.match(str(row["torch"])) for row in rows]
    start = _beginning(urls)
    end = _beginning([url[::-1] for url in urls])[::-1]
    if not start.startswith("https://") or not all(bounds) or not end.endswith(".whl"):
        return ""
    least = [int(bound["minor"]) if bound else 0 for bound in bounds]
    listed = sorted(zip(least, rows, urls, strict=True), key=lambda each: -each[0])
    known = ", ".join(
        f"({minor}, '{row['cuda']}', '{url.removeprefix(start).removesuffix(end)}')"
        for minor, row, url in listed
    )
    return (
        'python -c "import sys, subprocess as s, torch as t; '
        "v = int(t.__version__.split('.')[1]); c = t.version.cuda[:2]; "
        f"f = [f for m, k, f in [{known}] if v >= m and k == c][0]; "
        "s.call([sys.executable, '-m', 'pip', 'install', '--no-deps', '--force-reinstall', "
        f"'{start}' + f + '{end}'])\""
    )


def _beginning(texts: Sequence[str]) -> str:
    """Return what all texts begin with."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in alike)
