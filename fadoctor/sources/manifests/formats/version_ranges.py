"""Ranges of versions as Poetry and conda write them, as specifiers of PEP 440.

What PEP 440 cannot say, a union, becomes the range from its lowest to its highest version: what is
wrong in all of that is wrong in the union, too.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from fadoctor.sources.manifests.entries import is_specifier, is_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _Clause = Callable[[str, str], str | None]

_LENGTH_LIMIT = 500

# >=1.2, ^1.2, 1.2.*, ~=1.2
_CLAUSE = re.compile(r"\s{0,20}(\^|~=|===?|!=|<=|>=|~|<|>|=|)\s{0,20}v?([^\s,<>=!~^|]{1,200})")
_UNION = re.compile(r"\s{0,20}\|\|?\s{0,20}")
_BETWEEN = re.compile(r"\s{0,20}(?:,\s{0,20})?")


@lru_cache(maxsize=4096)
def poetry_range(text: str) -> str | None:
    """Return ``>=1.2,<2.0`` for ``^1.2``, "" for any version, None where it is no range."""
    return _range(text, _poetry_clause)


@lru_cache(maxsize=4096)
def conda_range(text: str) -> str | None:
    """Return ``==1.2.*`` for ``=1.2`` or ``1.2.*``; None where PEP 440 has no such thing."""
    return _range(text, _conda_clause)


def _range(text: str, clause: _Clause) -> str | None:
    branches = []
    for part in _UNION.split(text[:_LENGTH_LIMIT].strip()) if len(text) <= _LENGTH_LIMIT else ():
        branch = _branch(part, clause)
        if branch is None:
            return None
        branches.append(branch)
    if not branches:
        return None
    return branches[0] if len(branches) == 1 else _hull(branches)


def _branch(text: str, clause: _Clause) -> str | None:
    """Return clauses that all hold, in PEP 440."""
    if text in {"", "*"}:
        return ""
    found, position = [], 0
    while position < len(text):
        match = _CLAUSE.match(text, position)
        one = clause(match[1], match[2]) if match else None
        if match is None or one is None:
            return None
        found.append(one)
        between = _BETWEEN.match(text, match.end())
        position = between.end() if between else match.end()
    joined = ",".join(each for each in found if each)
    return joined if is_specifier(joined) else None


def _poetry_clause(operator: str, version: str) -> str | None:
    if version == "*":
        return "" if operator in {"", "=", "==", ">="} else None
    if operator in {"^", "~"}:
        return _caret(version) if operator == "^" else _tilde(version)
    if operator in {"", "="}:
        operator = "=="
    if operator in {">=", ">", "<", "<="}:  # PEP 440 has no label there; Poetry compares it last
        version = version.removesuffix(".*").partition("+")[0]
    return f"{operator}{version}"


def _conda_clause(operator: str, version: str) -> str | None:
    if version == "*":
        return ""
    if version.endswith("*") and not version.endswith(".*"):  # 1.2* is 1.2.*, and 1.20
        version = f"{version[:-1].rstrip('.')}.*"
        if operator in {"==", "="}:
            operator = ""
    if operator == "=":  # fuzzy: =1.2 is 1.2.*
        return f"=={version.removesuffix('.*')}.*"
    if operator == "~":
        return None
    if version.endswith(".*") and operator in {">=", ">", "<", "<="}:
        version = version[:-2]
    return f"{operator or '=='}{version}"


def _caret(text: str) -> str | None:
    """``^0.2.3`` allows what leaves the first number that is not zero alone."""
    if not is_version(text):
        return None
    release = Version(text).release
    index = next((i for i, number in enumerate(release) if number), len(release) - 1)
    return f">={Version(text).public},<{_next(release[: index + 1])}"


def _tilde(text: str) -> str | None:
    if not is_version(text):
        return None
    return f">={Version(text).public},<{_next(Version(text).release[:2])}"


def _next(release: tuple[int, ...]) -> str:
    parts = [*release[:-1], release[-1] + 1]
    return ".".join(map(str, [*parts, 0] if len(parts) == 1 else parts))


def _hull(branches: Iterable[str]) -> str:
    lows, highs = [], []
    for branch in branches:
        low, high = _ends(branch)
        lows.append(low)
        highs.append(high)
    out = []
    if all(lows):
        out.append(min((each for each in lows if each), key=lambda end: end[0])[1])
    if all(highs):
        out.append(max((each for each in highs if each), key=lambda end: end[0])[1])
    return ",".join(out)


_End = tuple[Version, str]


def _ends(branch: str) -> tuple[_End | None, _End | None]:
    """Return the lowest and the highest version of a branch, and the clauses that say so."""
    lows: list[_End] = []
    highs: list[_End] = []
    for operator, text in _CLAUSE.findall(branch):
        try:
            version = Version(text.removesuffix(".*"))
        except InvalidVersion:
            continue
        if operator in {">", ">=", "==", "===", "~="}:
            lows.append((version, f"{'>' if operator == '>' else '>='}{version}"))
        if operator in {"<", "<="}:
            highs.append((version, f"{operator}{version}"))
        elif operator == "~=":
            after = _next(version.release[:-1] or version.release)
            highs.append((Version(after), f"<{after}"))
        elif operator in {"==", "==="} and text.endswith(".*"):
            after = _next(version.release)
            highs.append((Version(after), f"<{after}"))
        elif operator in {"==", "==="}:
            highs.append((version, f"<={version}"))
    return max(lows, default=None), min(highs, default=None)
