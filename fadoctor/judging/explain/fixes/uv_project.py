"""What a fix installs in a project of uv: it goes into pyproject.toml, which uv follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.contradicted import default_build
from fadoctor.judging.explain.fixes.companions import PYTORCH_INDEXES
from fadoctor.model.fact import Known
from fadoctor.model.fix import Step, StepKind

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fix import Fix

SITUATION = "in-a-uv-project"

_PIP, _ADD, _UPGRADE = "pip install ", "uv add ", "-U "
# pip install -U "accelerate>=0.26.0"
_ONE = re.compile(
    r"pip install (?:-U )?\"?[A-Za-z][\w.-]{1,60}(?:[=<>~!]=?[\w.,<>=]{1,40})?\"?", re.ASCII
)
_LABEL = re.compile(r"(==\d[\w.]{0,30})\+[a-z0-9.]{2,12}$", re.ASCII)
_TORCH = re.compile(r"torch==(?P<version>\d[\w.]{0,20})(?:\+[a-z0-9.]{2,12})?", re.ASCII)


def as_uv_adds(fix: Fix, matrix: Matrix) -> Fix:
    """Return a fix that tells uv what it installs: of torch with the index that has the build.

    The index is bound to these packages alone. What is replaced is not uninstalled before. A step
    with options of pip stays: they are not those of uv.
    """
    added = [step for step in fix.steps if _is_torch(step) or _is_plain(step)]
    if not added:
        return fix
    replaced = {re.split(r"[=<>~! \[]", item)[0] for step in added for item in step.items}
    steps = tuple(
        _added(step, matrix) if step in added else step
        for step in fix.steps
        if step.kind is not StepKind.UNINSTALL or not replaced.issuperset(step.items)
    )
    return msgspec.structs.replace(fix, steps=steps)


def _is_torch(step: Step) -> bool:
    return step.kind is StepKind.INSTALL and any(map(_TORCH.fullmatch, step.items))


def _is_plain(step: Step) -> bool:
    if step.kind is StepKind.SYSTEM:
        return _ONE.fullmatch(step.text) is not None
    return step.kind is StepKind.INSTALL and step.text.startswith(_PIP) and not step.options


def _added(step: Step, matrix: Matrix) -> Step:
    if not _is_torch(step):
        text = _ADD + step.text.removeprefix(_PIP).removeprefix(_UPGRADE)
        return step if step.index else msgspec.structs.replace(step, text=text)
    items = tuple(_LABEL.sub(r"\1", item) for item in step.items)
    index = step.index or _index_of(items, matrix)
    name = index.removeprefix(PYTORCH_INDEXES).replace("/", "-")
    named = f" --index pytorch-{name}={index}" if index.startswith(PYTORCH_INDEXES) else ""
    text = f"uv add{named} {' '.join(items)}"
    return msgspec.structs.replace(step, items=items, index=index, text=text)


def _index_of(items: tuple[str, ...], matrix: Matrix) -> str:
    """Return the index with the usual build of the torch that is asked for.

    Without one, uv keeps to the index that the project binds torch to, which may not have it.
    """
    torch = next(filter(None, map(_TORCH.fullmatch, items)))
    build = default_build(torch["version"], matrix)
    found = matrix.find("torch-indexes", {"build": Known(build, "asked")}).cell("index")
    return str(found.value) if build and isinstance(found, Known) else ""
