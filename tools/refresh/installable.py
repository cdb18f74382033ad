"""Write the table of releases that no installer can install anew: ``not-installable``."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.derive_frameworks import lacking
from tools.refresh.errors import FetchError, WheelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.refresh.compare import Report
    from tools.refresh.document import Document, Row
    from tools.refresh.index import Index, Release

TABLE = "not-installable"
LOOKED_AT = (
    "vllm", "unsloth", "unsloth-zoo", "sglang", "flashinfer-python", "transformers", "accelerate",
    "peft", "trl", "diffusers", "xformers", "bitsandbytes", "kernels", "flash-attn-4",
)  # fmt: skip
"""Packages whose newest releases are tried."""

_FARTHER = "something that its requirements require"
"""What a release lacks that a resolver alone refuses."""

_TIMEOUT_S = 60


@dataclass(frozen=True)
class Finding:
    """A release, and what it lacks."""

    package: str
    version: Version
    lacks: str


def rewritten(
    document: Document,
    index: Index,
    report: Report,
    *,
    newest: int = 3,
    resolves: Callable[[str, Version], bool | None] | None = None,
) -> Document:
    """Return the table with a row for each release that lacks something, and no other row.

    Rows about some extras or Pythons alone stay: a person looked at them.
    """
    found: list[Finding] = []
    for package in LOOKED_AT:
        try:
            asked = list(_asked(document, index, package, newest))
            kept = {each.version: each.lacks for each in _kept(document, package)}
            for release in asked:
                # a resolver takes long: it is asked for the newest, and for what a row names
                is_asked = release is asked[-1] or release.version in kept
                before = kept.get(release.version, "")
                found += _judged(index, release, resolves if is_asked else None, before)
        except (FetchError, WheelError) as error:  # noqa: PERF203 -- one package is not all
            report.unread.append(f"{TABLE}: {package}: {error}")
            found += _kept(document, package)
    rows = [{"package": f.package, "version": str(f.version), "lacks": f.lacks} for f in found]
    rows += [{k: str(v) for k, v in row.cells.items()} for row in document.rows if _is_narrow(row)]
    after = document.with_all_rows(rows)
    if after.text != document.text:
        names = ", ".join(f"{f.package} {f.version} ({f.lacks})" for f in found) or "none"
        report.changes.append(f"{TABLE}: what no installer can install: {names}")
    else:
        report.agreements.append(f"{TABLE}: {len(found)} releases")
    return after


def _asked(document: Document, index: Index, package: str, newest: int) -> Iterator[Release]:
    releases = index.releases(package)
    usable = [
        each
        for each in releases.values()
        if not each.version.is_prerelease and not all(file.yanked for file in each.files)
    ] or list(releases.values())
    named = {str(each.version) for each in _kept(document, package)}
    recent = usable[-newest:]
    for each in usable:
        if each in recent or str(each.version) in named:
            yield each


def _judged(
    index: Index,
    release: Release,
    resolves: Callable[[str, Version], bool | None] | None,
    before: str,
) -> Iterator[Finding]:
    """Yield what a release lacks; `before` is what its row says.

    It stays where it is a resolver's word, and none can be asked.
    """
    missing = lacking(index, release)
    if not missing:
        answer = resolves(release.package, release.version) if resolves is not None else None
        if answer is False or (answer is None and before == _FARTHER):
            missing = [_FARTHER]
    if missing:
        yield Finding(release.package, release.version, " ".join(missing))


def _is_narrow(row: Row) -> bool:
    """Return whether a row is about some extras or Pythons alone."""
    return not row.cells.keys().isdisjoint(("extras", "python"))


def _kept(document: Document, package: str) -> Iterator[Finding]:
    for row in document.rows:
        if package in str(row.cells["package"]).split() and not _is_narrow(row):
            for word in str(row.cells["version"]).split():
                yield Finding(package, Version(word), str(row.cells["lacks"]))


def uv_resolves(package: str, version: Version) -> bool | None:
    """Return whether uv finds what a release requires; None where uv cannot be asked."""
    uv = shutil.which("uv")
    if uv is None:
        return None
    command = [
        uv, "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--no-config",
        "--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_39", "--no-build",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, input=f"{package}=={version}\n", capture_output=True, text=True, check=False,
            timeout=_TIMEOUT_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode == 0:
        return True
    is_refused = "No solution found" in done.stderr and "source distribution" not in done.stderr
    return False if is_refused else None
