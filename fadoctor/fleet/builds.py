"""The build ids of an environment's compiled extensions: one read of each file's head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.binary.build_id import build_id
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.files import Tree
from fadoctor.model.fact import Known
from fadoctor.model.packages import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Target
    from fadoctor.model.fact import Fact

_ROOTS = {"$site": "site", "$prefix": "prefix", "~": "home"}


def builds_of(target: Target, facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return ``flash_attn.binary`` -> build id, of what is there and can be read."""
    found = {}
    with Tree() as tree:
        for path in (f"{key}.{name}" for key, names in EXTENSIONS.items() for name in names):
            file = facts.get(f"{path}.file")
            if isinstance(file, Known) and (place := _place(target, str(file.value))):
                try:
                    found[path] = build_id(tree.open(place))
                except (BadBinaryError, OSError):
                    continue
    return found


def _place(target: Target, name: str) -> str:
    """Return where a file really is that a fact names below a root, "" where nobody knows."""
    marker, _, rest = name.partition("/")
    folder = target.roots.get(_ROOTS.get(marker, ""), "") if marker else ""
    return f"{folder.rstrip('/')}/{rest}" if folder else name if name.startswith("/") else ""
