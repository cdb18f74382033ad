"""Facts that a log names itself: versions of packages, Python and the driver."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.catalogue import EXTENSIONS, PACKAGES
from fadoctor.model.fact import Fact, Known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.explain.cleaning import Line

LINES_LIMIT = 20_000
"""Most lines that are searched for versions."""

_VERSION = (
    r"(?P<version>\d{1,4}(?:\.\d{1,8}){1,3}(?:[.+_-]?[a-zA-Z0-9]{1,20}(?:\.[a-z0-9]{1,20}){0,3})?)"
)
_NAMES = {
    **{name: fact for fact, names in PACKAGES.items() for name in names},
    "pytorch": "torch",
}
_ANY_NAME = "|".join(sorted((name.replace("-", "[-_]") for name in _NAMES), key=len, reverse=True))

_PACKAGE_FORMS = (
    # flash-attn           2.6.1 (pip list) | torch 2.6.0 | Transformers version: 4.41.2
    rf"(?:^|[\s,(*`-])(?P<name>{_ANY_NAME})(?: version)?(?::|\s=)?\s{{1,40}}v?{_VERSION}(?![\w.])",
    # torch==2.5.1 | torch.__version__  = 2.7.0+rocm6.3
    rf"(?<![\w.<>~=!-])(?P<name>{_ANY_NAME})(?:\.__version__)?\s{{0,4}}={{1,2}}\s{{0,4}}{_VERSION}(?![\w.])",
)
_PACKAGES = tuple(re.compile(form, re.IGNORECASE) for form in _PACKAGE_FORMS)
_PLAIN = (
    # Python 3.10.12 | Python version: 3.10.12
    (
        "python.version",
        re.compile(r"\bPython(?: version)?:? {1,4}(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)\b"),
    ),
    # Driver Version: 535.129.03
    (
        "driver.version",
        re.compile(r"\bDriver Version: {0,4}(?P<version>\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b"),
    ),
)

# /site-packages/x_transformers/attend.py | C:\\v\\Lib\\site-packages\\peft\\peft_model.py
_FOLDER = re.compile(r"[\\/](?=[a-z])(\w{2,30})(?=[\\/])")

# "xformers 0.0.27 requires torch==2.4.0": what is wanted is not what is there.
_WISH = re.compile(r"(?i)require|depend|incompatible|specifier|built for|>=|<=|collecting|download")


def facts_named(lines: Iterable[Line], name: str) -> dict[str, Fact]:
    """Return what a log says is installed; what it names in two versions is left out."""
    found: dict[str, dict[str, Known]] = {}
    for count, line in enumerate(lines):
        if count >= LINES_LIMIT:
            break
        if not any(digit in line.text for digit in "0123456789") or _WISH.search(line.text):
            continue
        for fact, version in _in_line(line.text):
            known = Known(version, f"{name}:{line.number}")
            found.setdefault(fact, {}).setdefault(version, known)
    return {fact: next(iter(each.values())) for fact, each in found.items() if len(each) == 1}


def _in_line(text: str) -> Iterable[tuple[str, str]]:
    for form in _PACKAGES:
        for match in form.finditer(text):
            package = _NAMES[match["name"].lower().replace("_", "-")]
            yield f"{package}.version", match["version"]
    for fact, form in _PLAIN:
        for match in form.finditer(text):
            yield fact, match["version"]


def packages_in(text: str) -> frozenset[str]:
    """Return the packages whose folders stand in paths of a text, by the prefix of their facts.

    .../site-packages/x_transformers/attend.py is one of x_transformers.
    """
    return frozenset(_FOLDER.findall(text)) & PACKAGES.keys()


def package_of(text: str) -> str:
    """Return the fact prefix of the package whose extension a text names, "" where it names none.

    .../site-packages/xformers/_C.so is one of xformers.
    """
    for key, names in EXTENSIONS.items():
        stems = [stem.rstrip("*") for several in names.values() for stem in several]
        if any(re.search(rf"(?<![A-Za-z0-9_]){re.escape(stem)}", text) for stem in stems):
            return key
    return "torch" if "/torch/lib/" in text else ""
