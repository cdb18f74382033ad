"""The Hub's cache as huggingface_hub lays it out, made by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def lay(
    cache: Path, repository: str, branch: str, builds: dict[str, list[str]], kind: str = "kernels"
) -> Path:
    """Put a branch of a kernel into a cache and return its folder of builds."""
    owner, name = repository.split("/")
    folder = cache / f"{kind}--{owner}--{name}"
    commit = f"{sum(map(ord, branch)):040x}"
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / branch).write_text(commit)
    root = folder / "snapshots" / commit / "build"
    root.mkdir(parents=True, exist_ok=True)
    for build, archs in builds.items():
        (root / build).mkdir()
        (root / build / "__init__.py").touch()
        document = {"id": "x", "name": name, "backend": {"type": "cuda", "archs": archs}}
        (root / build / "metadata.json").write_text(json.dumps(document))
    return root
