"""What surrounds an environment: the project that it belongs to, and whether it may be changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.sources.probes.interpreter_files import is_file

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment, Target

_LOCKS = {
    "uv.lock": "uv-project",
    "poetry.lock": "poetry",
    "pixi.lock": "pixi",
    "pdm.lock": "pdm",
}
"""Lock file -> the tool whose project it belongs to."""

_PROJECT_FOLDERS = (1, 3)
"""How many folders above an environment its project is: ``.venv``, ``.pixi/envs/default``."""


def project_tool(target: Target) -> str:
    """Return the tool whose lock file lies in the project of an environment, "" for none."""
    prefix = target.roots.get("prefix", "")
    parents = Path(prefix).parents if prefix else ()
    for up in _PROJECT_FOLDERS:
        for lock, tool in _LOCKS.items():
            in_reach = len(parents) >= up and (up == 1) is (tool != "pixi")
            if in_reach and is_file(parents[up - 1] / lock):
                return tool
    return ""


def project_folder(target: Target) -> Path:
    """Return the folder that an environment such as ``.venv`` lies in."""
    return Path(target.roots.get("prefix", "")).parent


def is_on_path(program: str, target: Target) -> bool:
    """Return whether a program that is called by its name alone is that of an environment."""
    found = shutil.which(program)
    return bool(found and target.python) and (
        Path(str(found)).parent == Path(str(target.python)).parent
    )


def must_stay(environment: Environment) -> bool:
    """Return whether an environment must not be changed: the system's, or read-only."""
    managed = environment.fact("python.externally_managed")
    if isinstance(managed, Known) and managed.value is True:
        return True
    site = environment.target.site
    return bool(site) and not os.access(site[0], os.W_OK)
