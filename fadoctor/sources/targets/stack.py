"""Whether folders hold packages of the stack, by the names of their metadata alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.packages import STACK
from fadoctor.sources.probes.interpreter_files import list_folder
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable

# flash_attn-2.8.3.dist-info, torch-2.8.0+cu128.dist-info, xformers-0.0.35-py3.11.egg-info
_METADATA = r"(?P<name>[A-Za-z0-9][\w.]{0,80})-[^-]{1,80}(-py[\d.]{1,8})?\.(dist|egg)-info"
_MAX_ENTRIES = 20_000


def holds_stack(folders: Iterable[str]) -> bool:
    """Return whether one of the folders holds the metadata of a package of the stack."""
    entries = (entry for folder in folders for entry in list_folder(folder, _MAX_ENTRIES))
    matches = (re.fullmatch(_METADATA, entry.name) for entry in entries)
    return any(match and normalise_name(match["name"]) in STACK for match in matches)
