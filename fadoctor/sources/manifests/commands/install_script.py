"""Commands that install, of a shell script or the cells of a notebook: one after the other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.manifests.commands.docker_installs import Installs, shared_by
from fadoctor.sources.manifests.commands.install_options import is_installer
from fadoctor.sources.manifests.commands.named_script import LENGTH_LIMIT
from fadoctor.sources.manifests.commands.new_environment import (
    begins_empty,
    is_fresh,
    over_nothing,
)
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.images.planned_stage import Stage
from fadoctor.sources.manifests.planned import UNSEEN_BASE
from fadoctor.syntax.dockerfile import Text
from fadoctor.syntax.notebook import in_lines, read_notebook
from fadoctor.syntax.text_lines import line_starts

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND, NOTEBOOK = "install script", "notebook"
LINE_LIMIT = 500_000

_SUFFIXES = (".sh", ".bash", ".ipynb", ".slurm", ".sbatch", ".pbs", ".lsf", ".qsub")
_SHEBANG = re.compile(r"#![^\n]{0,100}\b(?:bash|dash|zsh|ksh|sh)\b")


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one, by its name or its first line."""
    return name.endswith(_SUFFIXES) or _SHEBANG.match(head) is not None


def read(source: Source) -> Manifest:
    """Return what is there after the last command, as far as it is known."""
    is_notebook = source.name.endswith(".ipynb")
    draft = Draft(source, NOTEBOOK if is_notebook else KIND)
    script = _cells(source, draft) if is_notebook else source.text
    if len(script) > LENGTH_LIMIT or script.count("\n") > LINE_LIMIT:
        raise source.error("a script that is too long")
    stage, starts = Stage(), line_starts(script)
    text = Text(msgspec.structs.replace(source, text=script), starts)
    text.add(0, len(script))
    shared = shared_by(source, load_knowledge().tables)
    Installs(shared, stage, text.close()).run(script)
    draft.is_in_steps = True
    draft.requirements = [each for asked in stage.packages.values() for each in asked]
    draft.constraints, draft.indexes = stage.constraints, list(stage.indexes)
    draft.python, draft.facts, draft.later = stage.python, stage.facts, stage.later
    draft.steps = stage.steps
    for line, note in stage.notes:
        draft.note(line, note)
    if not draft.requirements and not stage.notes:
        raise source.error("has no command that installs packages, as far as they can be followed")
    # what a notebook runs on often has torch
    if is_fresh(script) or (not is_notebook and begins_empty(script, draft.requirements)):
        draft.requirements, unread = over_nothing(script, stage, draft)
        draft.notes += unread
    else:
        draft.notes.append(UNSEEN_BASE)
    return draft.manifest()


def _cells(source: Source, draft: Draft) -> str:
    """Return what the cells give to the shell; what stands in a condition is not followed."""
    commands = read_notebook(source).commands
    for each in commands:
        if each.is_inner and is_installer(each.text):
            draft.note(
                each.line, f"runs only under a condition, so not followed: {each.text[:160]}"
            )
    return in_lines(each for each in commands if not each.is_inner)
