"""Which Python a planned environment will have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_older, parse_specifier
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.fact import Fact, Known, Unknown, printable
from fadoctor.sources.manifests.planned import Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packaging.specifiers import SpecifierSet

    from fadoctor.sources.manifests.planned import Manifest

# ==3.12.*, ==3.12.4, 3.12
_EXACT = re.compile(r"(?:={2,3}\s{0,4})?([23]\.\d{1,2}(?:\.\d{1,3})?)(?:\.\*)?")
# flash_attn-2.8.1+cu12torch2.8cxx11abiFALSE-cp312-cp312-linux_x86_64.whl
_WHEEL_TAG = re.compile(r"-cp(3\d{1,2})-cp3\d{1,2}t?-[\w.]{1,200}\.whl$")
_OPTION = "--python-version"
_MINORS, _PATCHES = range(6, 31), range(41)
"""Which releases of Python 3 a range is tried with: no minor release has had as many patches."""


def python_facts(
    facts: Mapping[str, Fact], manifests: Iterable[Manifest], overlays: tuple[str, ...]
) -> dict[str, Fact]:
    """Return the facts of the Python that the files ask for, where this one is not in their range.

    An assumed Python goes before everything; the first exact version before ranges. A range
    with one minor release names that one, and the lowest one is meant of a range of newer ones for
    all of which a tool resolves.
    """
    if any(text.startswith(_OPTION) for text in overlays):
        return {}
    manifests = tuple(manifests)
    settings = [manifest.python for manifest in manifests if manifest.python]
    settings = settings or list(_of_wheels(manifests))
    exact = next((each for each in settings if _EXACT.fullmatch(each.value.strip())), None)
    if exact is not None:
        return _exactly(facts, exact)
    here = facts.get("python.version")
    for setting in settings:
        allowed = parse_specifier(setting.value.strip())
        if allowed is None:
            continue
        if not isinstance(here, Known) or not allowed.contains(str(here.value), prereleases=True):
            minor = _only_minor(allowed)
            whole = any(m.is_resolved_whole for m in manifests if m.python is setting)
            if not minor and whole and isinstance(here, Known):
                minor = _lowest_above(str(here.value), allowed)
            return _of_minor(setting, minor) if minor else _another(setting)
    return {}


def _only_minor(allowed: SpecifierSet) -> str:
    """Return the minor release that alone has releases in a range, "" where several have."""
    found = [
        f"3.{minor}"
        for minor in _MINORS
        if any(allowed.contains(f"3.{minor}.{patch}") for patch in _PATCHES)
    ]
    return found[0] if len(found) == 1 else ""


def _lowest_above(here: str, allowed: SpecifierSet) -> str:
    """Return the lowest minor release in a range, "" where it is not newer than the one here.

    A tool that resolves for all Pythons of a range needs releases for this one, too.
    """
    found = (
        minor
        for minor in _MINORS
        if any(allowed.contains(f"3.{minor}.{patch}") for patch in _PATCHES)
    )
    lowest = next(found, 0)
    is_newer = is_older(here, f"3.{lowest}") is True
    return f"3.{lowest}" if lowest and is_newer else ""


def _of_wheels(manifests: Iterable[Manifest]) -> Iterator[Setting]:
    """Yield the Python that commands are for, as the wheels that they name say: all the same."""
    urls = [
        (each.url, each.place)
        for manifest in manifests
        if manifest.is_in_steps
        for each in manifest.requirements
    ]
    tags = {found[1]: place for url, place in urls if (found := _WHEEL_TAG.search(url))}
    if len(tags) == 1:
        [(tag, place)] = tags.items()
        yield Setting(f"=={tag[0]}.{tag[1:]}.*", place)


def _exactly(facts: Mapping[str, Fact], setting: Setting) -> dict[str, Fact]:
    found = _EXACT.fullmatch(setting.value.strip())
    version = found[1] if found else ""
    here = facts.get("python.version")
    if isinstance(here, Known) and f"{here.value}.".startswith(f"{version}."):
        return {}
    return _of_minor(setting, version)


def _of_minor(setting: Setting, version: str) -> dict[str, Fact]:
    """Return the facts of a release of Python, as a setting names it."""
    source = printable(f"{setting.place}: {setting.value}")
    tag = "cp" + "".join(version.split(".")[:2])
    return {
        **_another(setting),
        "python.version": Known(version, source),
        "python.tag": Known(tag, source),
        "python.abi_tag": Known(tag, source),
        "python.implementation": Known("cpython", source),
    }


def _another(setting: Setting) -> dict[str, Fact]:
    source = printable(f"{setting.place}: {setting.value}")
    reason = f"the files ask for Python {setting.value}: name one with {_OPTION}"
    open_ = Unknown(printable(reason), source)
    return {name: open_ for name in build_catalogue() if name.startswith("python.")}
