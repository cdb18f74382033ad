"""The package that a log builds: what failed to compile, by its name for installers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fadoctor.judging.explain.named_packages import ABOUT_FLASH
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.knowledge.matrix.query import Matrix

ENDS = 1_500
"""Lines at the beginning and at the end of a log that are searched."""

_NAME = r"(?P<name>[A-Za-z][A-Za-z0-9._-]{1,60}?)"
_END = r"(?=$|[\s,;:)\"'`@]|[=<>~!]=|\[)"

# Failed building wheel for flash-attn | Failed to build `xformers==0.0.29` | running build for
_SURE = tuple(
    compiled(f"(?im){before}{_NAME}{_END}")
    for before in (
        r"failed building (?:wheel|editable) for ",
        r"could not build wheels for ",
        r"failed to build installable wheels for some pyproject\.toml based projects \(",
        r"failed to (?:download and )?build:? [`'\"]?(?:(?:git\+)?[a-z]{2,8}://[^\s'\"`]{1,200}/)?",
        r"building (?:wheel|editable) for ",
        r"building wheels for collected packages: ",
        r"running setup\.py (?:install|clean|bdist_wheel|develop) for ",
    )
)
# /tmp/pip-install-x1/flash-attn_0f3c.../setup.py | sdists-v8/pypi/flash-attn/2.7.4
_FOLDERS = tuple(
    map(
        compiled,
        (
            r"pip-install-\w{4,12}[\\/](?P<name>[A-Za-z][\w.-]{1,60})_[0-9a-f]{32}",
            r"sdists-v\d{1,2}[\\/](?:pypi|index[\\/]\w{1,40})[\\/](?P<name>[A-Za-z][\w.-]{1,60})[\\/]",
            r"(?P<name>[A-Za-z][\w.-]{1,60}) was requested, but nvcc was not found",
            r"copying (?P<name>[a-z]\w{1,60})[\\/][^\n]{1,200} -> build[\\/]",
            r"(?i)github\.com/[\w-]{1,40}/(?P<name>[\w-]{2,60})/releases/download/",
        ),
    )
)
# pip install flash-attn --no-build-isolation
_TYPED = compiled(
    r"(?im)(?:^|[\s`$>#])(?:uv )?pip3? install (?:-{1,2}[a-z-]{1,30} )"
    r"{0,4}['\"]?(?P<name>[a-z][a-z0-9._-]{1,60}?)(?=$|[\s\"'`\[]|[=<>~!]=)"
)
_SENTENCE = compiled(r"(?<=\w[.!?])\s{1,4}(?=\S)")
_NONE = compiled(
    r"(?:the|an?|wheels?|from|one|some|it|this|pip|uv|torch(?:vision|audio)?|ninja|"
    r"packaging|setuptools|cuda|cmake|file|git|https?|requirements|.{0,60}-txt)"
)


def built_in(lines: Sequence[str], matrix: Matrix) -> Fact:
    """Return the distribution whose build a log shows, Absent where it shows none or several alike.

    What an installer says counts more than a folder, that more than a command, and words least.
    """
    text = "\n".join(ends_of(lines, ENDS))
    name = _shown(text) or _told(text, matrix)
    return Known(name, "the log") if name else Absent("the log names no package that is built")


def of_what_is_built(why: str, built: Fact, lines: Sequence[str]) -> str:
    """Return why builds fail without the sentences about flash-attn, where another one is built."""
    names = (str(built.value),) if isinstance(built, Known) else lines
    if any(map(ABOUT_FLASH.search, names)) or not ABOUT_FLASH.search(why):
        return why
    kept: list[str] = []
    is_about_it = False
    for sentence in _SENTENCE.split(why):
        is_about_it = bool(ABOUT_FLASH.search(sentence)) or (
            is_about_it and sentence.startswith(("Its ", "It "))
        )
        if not is_about_it:
            kept.append(sentence)
    return " ".join(kept) or why


def _shown(text: str) -> str:
    for patterns in (_SURE, _FOLDERS, (_TYPED,)):
        names = Counter(
            normal
            for pattern in patterns
            for found in pattern.finditer(text)
            if not _NONE.fullmatch(normal := _normal(found["name"]))
        )
        if names:
            (first, count), *others = names.most_common(2)
            return first if not others or others[0][1] < count else ""
    return ""


def _told(text: str, matrix: Matrix) -> str:
    """Return the one package with compiled parts that words name; "" where there are several."""
    whole = text.lower()
    rows = matrix.tables["build-wheels"].rows
    named = [
        str(row["distribution"]).partition(" ")[0]
        for row in rows
        if any(
            word in whole  # much cheaper than a pattern, and mostly false
            and re.search(rf"(?a)(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", whole)
            for word in str(row["words"]).split()
        )
    ]
    return named[0] if len(named) == 1 else ""


def _normal(name: str) -> str:
    """Return a name as installers compare it."""
    return re.sub(r"[-_.]{1,4}", "-", name).lower()
