"""Files of conda's packages: ``.../linux-64/pytorch-2.5.1-cuda126_py312h30b5a27_306.conda``."""

from __future__ import annotations

import re

from fadoctor.sources.manifests.formats.conda_spec import Spec

_FILE = re.compile(
    r"(?:(?P<channel>\S{1,500}?)/(?:noarch|[a-z]{3,10}-[a-z0-9]{2,10})/)?"
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]{0,100})-(?P<version>[^-/\s]{1,100})-(?P<build>[^-/\s]{1,100})"
    r"\.(?:conda|tar\.bz2)"
)


def conda_file(url: str) -> Spec | None:
    """Return what the address of a package says, None where it is none."""
    found = _FILE.fullmatch(url) if len(url) <= 2000 else None
    if found is None:
        return None
    channel = (found["channel"] or "").rstrip("/")
    return Spec(found["name"].lower(), f"=={found['version']}", found["build"], channel)
