"""The Hub's cache as huggingface_hub lays it out, made by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def lay(
    cache: Path,
    repository: str,
    branch: str,
    builds: dict[str, list[str]],
    kind: str = "kernels",
    *,
    named: bool = True,
) -> Path:
    """Put a branch of a kernel into a cache and return its folder of builds.

    ``named=False`` leaves out the reference, as kernels does where it is asked for a version.
    """
    owner, name = repository.split("/")
    folder = cache / f"{kind}--{owner}--{name}"
    commit = f"{sum(map(ord, branch)):040x}"
    if named:
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "refs" / branch).write_text(commit)
    root = folder / "snapshots" / commit / "build"
    root.mkdir(parents=True, exist_ok=True)
    for build, archs in builds.items():
        (root / build).mkdir()
        (root / build / "__init__.py").touch()
        document: dict[str, object] = {
            "id": "x",
            "name": name,
            "backend": {"type": "cuda", "archs": archs},
        }
        if branch[1:].isdigit():
            document["version"] = int(branch[1:])
        (root / build / "metadata.json").write_text(json.dumps(document))
    return root
