"""Packages that an installer builds in isolation, where their setup misses torch."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.fact import Absent, Fact, Known, printable
from fadoctor.model.packages import ASKING_SETUPS, SETUPS, SGLANG, TORCH, VLLM, XFORMERS
from fadoctor.sources.manifests.installed.fact_names import ISOLATED, ISOLATED_BY_NEW, ISOLATED_KIND
from fadoctor.sources.manifests.installed.from_pypi import is_locked_without_wheels
from fadoctor.sources.manifests.installed.planned_torch import is_conda
from fadoctor.sources.manifests.planned import speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.commands.install_options import InstallArguments
    from fadoctor.sources.manifests.images.planned_stage import Stage
    from fadoctor.sources.manifests.installed.combine import Combined, Planned
    from fadoctor.sources.manifests.planned import Requirement

ISOLATED_TORCH = "packages.isolated_torch"
_SOURCE = "how the files install it"
_TOLD = ("PIP_NO_BUILD_ISOLATION", "UV_NO_BUILD_ISOLATION", "UV_NO_BUILD_ISOLATION_PACKAGE")
"""Variables that switch isolation off, whatever their value: pip reads 0 as off too."""

# export PIP_NO_BUILD_ISOLATION=1, pip config set install.no-build-isolation true
_SWITCHED_OFF = re.compile(
    r"\b(?:PIP|UV)_NO_BUILD_ISOLATION|\bconfig set [^\n]{0,60}no[-_]build[-_]isolation"
)
_MARKED = frozenset((*SETUPS, *ASKING_SETUPS))
_FLAGS = frozenset(("--no-build-isolation", "--no-use-pep517", "--dry-run", "--no-isolation"))


BEFORE_TORCH = "a command before torch"
"""Where a command builds without isolation, and nothing has brought torch yet."""

PIXI, POETRY, PDM, PIPENV = "pixi", "Poetry", "PDM", "Pipenv"
"""Tools that turn isolation off in ways of their own, or not at all.

Poetry builds every sdist in an environment of its own, and has no setting for it
(``installation/chef.py``, ``utils/isolated_build.py``, since 1.4; 1.2 and 1.3 give pip
``--use-pep517``). PDM has ``build_isolation`` and ``--no-isolation`` (``builders/base.py``). Pipenv
builds while it locks, in isolation unless ``PIP_NO_BUILD_ISOLATION`` is set
(``utils/resolver.py``).
"""


def marked(
    asked: Iterable[Requirement],
    apart: Collection[str] = (),
    *,
    is_always: bool = False,
    tool: str = "",
) -> list[Requirement]:
    """Return requirements with the mark of those that are built in isolation.

    They are so where torch itself is installed by the same command: it is not there before. Where
    it only comes along with another package, it may be there: the newer releases of pip isolate.
    `apart`: packages that the file builds without isolation; `is_always`: torch or not. Of a
    package with wheels in a lock nothing is built.
    """
    asked = list(asked)
    names = {each.name for each in asked}
    if not is_always and TORCH not in names:
        return marked_by_new(asked, apart) if names & _bringing_torch() else asked
    return [
        msgspec.structs.replace(each, is_isolated=True, isolated_by=tool)
        if each.name in _MARKED and each.name not in apart and not each.files
        else each
        for each in asked
    ]


def unmarked(asked: Iterable[Requirement]) -> list[Requirement]:
    """Return requirements of which a command says that they are built without isolation."""
    return [
        msgspec.structs.replace(each, is_isolated=False, is_isolated_by_new=False) for each in asked
    ]


def as_built(
    stage: Stage, asked: list[Requirement], given: InstallArguments, text: str, *, is_uv: bool
) -> list[Requirement]:
    """Return what a command asks for, with the mark of what is surely built in isolation.

    None is where an earlier command may have installed it. `text`: the whole file.

    uv isolates always. Older releases of pip may build in the environment itself: there it is
    sure only where torch comes with the same command, else it is what newer releases do.
    """
    options = {name for name, _ in given.options}
    if stage.is_open:
        return unmarked(asked)
    if is_told(given.flags, options, stage.variables, text):
        is_off = "--no-build-isolation" in given.flags
        return early(stage, asked) if is_off else unmarked(asked)
    if is_uv:
        return marked(asked, is_always=True)
    if TORCH in stage.packages:
        is_chosen = any(each.specifier for each in stage.packages.get("pip", []))
        return unmarked(asked) if is_chosen else marked_by_new(asked)
    is_new = not any(speaks_of_image(note) for _, note in stage.notes)
    return marked(unmarked(asked)) if is_new else unmarked(asked)


def early(stage: Stage, asked: Iterable[Requirement]) -> list[Requirement]:
    """Return requirements built without isolation, with the mark of those that find no torch.

    In a script the mark counts where nothing is there before its commands: `found_early`.
    """
    is_empty = stage.packages.keys() <= _bringing_nothing() and not stage.is_open
    if stage.image is not None or stage.notes or not is_empty:
        return too_early(stage, asked)
    return [
        msgspec.structs.replace(each, isolated_by=BEFORE_TORCH) if each.name in SETUPS else each
        for each in unmarked(asked)
    ]


def found_early(asked: Iterable[Requirement]) -> list[Requirement]:
    """Return what a script installs where nothing is there before it.

    What it builds without isolation before a command that may bring torch finds none.
    """
    return [
        msgspec.structs.replace(each, is_isolated=True)
        if each.isolated_by == BEFORE_TORCH
        else each
        for each in asked
    ]


def too_early(stage: Stage, asked: Iterable[Requirement]) -> list[Requirement]:
    """Return requirements built without isolation, with the mark of those that find no torch.

    Only of an image whose packages are known, to which nothing was added that may bring torch.
    """
    asked = unmarked(asked)
    if not is_without_torch(stage):
        return asked
    return [
        msgspec.structs.replace(each, is_isolated=True, isolated_by=BEFORE_TORCH)
        if each.name in SETUPS
        else each
        for each in asked
    ]


def is_without_torch(stage: Stage) -> bool:
    """Return whether surely nothing of an image, or what was added to it, brought torch."""
    is_known = stage.image is not None and not stage.notes and not stage.is_open
    return is_known and stage.packages.keys() <= _bringing_nothing()


def marked_by_new(asked: Iterable[Requirement], apart: Collection[str] = ()) -> list[Requirement]:
    """Return requirements with the mark of those that the newer releases of pip isolate."""
    return [
        msgspec.structs.replace(
            each, is_isolated_by_new=each.name in SETUPS and each.name not in apart
        )
        for each in unmarked(asked)
    ]


@lru_cache(maxsize=1)
def _bringing_torch() -> frozenset[str]:
    """Return the packages that bring torch along, without those that are built for it."""
    rows = load_knowledge().tables["may-bring"].rows
    found = {
        name
        for row in rows
        if isinstance(row.get("brings"), list | tuple | str) and TORCH in str(row["brings"]).split()
        for name in str(row["package"]).split()
    }
    return frozenset((found | {VLLM, SGLANG, XFORMERS}) - SETUPS.keys())


@lru_cache(maxsize=1)
def _bringing_nothing() -> frozenset[str]:
    """Return the packages with which nothing of the stack comes along."""
    rows = load_knowledge().tables["may-bring"].rows
    return frozenset(n for r in rows if not r.get("brings") for n in str(r["package"]).split())


def is_told(
    flags: Collection[str],
    options: Collection[str],
    variables: Mapping[str, str | None],
    text: str,
) -> bool:
    """Return whether a command, or a variable, builds without isolation, or builds nothing.

    `text`: the whole file, which may set the variable anywhere.
    """
    is_of_one = not {"--no-build-isolation-package", "--only-binary"}.isdisjoint(options)
    return is_of_one or not _FLAGS.isdisjoint(flags) or _is_off(variables, text)


def _is_off(variables: Mapping[str, str | None], text: str) -> bool:
    return any(name in variables for name in _TOLD) or _SWITCHED_OFF.search(text) is not None


def isolated_builds(
    combined: Combined, elsewhere: Collection[str], matrix: Matrix
) -> dict[str, Fact]:
    """Return which packages cannot be built as the files install them, and in which kind of file.

    Only sources from PyPI, or by an address: of what another index serves nobody knows.
    """
    found: dict[str, str] = {}
    by_new: dict[str, str] = {}
    kinds: dict[str, None] = {}
    for name in SETUPS:
        planned = combined.packages.get(name)
        if planned is None or not _is_built(planned, elsewhere, matrix):
            continue
        at = f"{planned.places[0]}: " if planned.places else ""
        if planned.is_isolated:
            is_early = planned.isolated_by == BEFORE_TORCH
            how = "before torch is installed" if is_early else "in isolation, without torch"
            found[name] = printable(f"({at}built {how})", 300)
            kinds[planned.isolated_by or planned.kind] = None
        else:
            by_new[name] = printable(f"({at}pip 25.3 or newer builds it in isolation)", 300)
    kind: Fact = Known(next(iter(kinds)), _SOURCE) if kinds else Absent(_SOURCE)
    return {
        ISOLATED: Known(found, _SOURCE),
        ISOLATED_KIND: kind,
        ISOLATED_BY_NEW: Known(by_new, _SOURCE) if by_new and not found else Absent(_SOURCE),
    }


def isolated_torch(
    combined: Combined, elsewhere: Collection[str], matrix: Matrix
) -> dict[str, Fact]:
    """Return which torch packages ask for as they are built in isolation, where they see none."""
    found: dict[str, str] = {}
    for name in ASKING_SETUPS:
        planned = combined.packages.get(name)
        if planned is None or not (planned.version and planned.is_isolated and planned.is_sure):
            continue
        if planned.open or planned.url or is_conda(planned) or name in elsewhere:
            continue
        keys = {"package": Known(name, "asked"), "version": Known(planned.version, "asked")}
        torch = matrix.find("sdist-torch", keys).cell("torch")
        if isinstance(torch, Known):
            found[name] = str(torch.value)
    return {ISOLATED_TORCH: Known(found, _SOURCE) if found else Absent(_SOURCE)}


def _is_built(planned: Planned, elsewhere: Collection[str], matrix: Matrix) -> bool:
    is_isolated = planned.is_isolated or planned.is_isolated_by_new
    if not is_isolated or not planned.is_sure or is_conda(planned) or planned.open:
        return False
    is_elsewhere = planned.name in elsewhere and not is_locked_without_wheels(planned)
    if planned.url.endswith(".whl") or (is_elsewhere and not planned.url):
        return False
    version: Fact = Known(planned.version, planned.source)
    rows = matrix.find(SETUPS[planned.name], {"version": version} if planned.version else {})
    imports = rows.cell("imports")
    if isinstance(imports, Known) and isinstance(imports.value, tuple):
        return TORCH in imports.value
    return not planned.version  # every release that the table has imports torch
