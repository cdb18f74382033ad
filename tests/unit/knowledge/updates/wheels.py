"""Small releases of rules, and such as nobody should send."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING

from fadoctor.knowledge.updates import FOLDER, FORMAT

if TYPE_CHECKING:
    from pathlib import Path

KNOWLEDGE = f"{FOLDER}/rules/knowledge.yaml"
SAID = f"{FOLDER}/release.json"


def said(version: str = "2026.12.1", format_: int = FORMAT) -> bytes:
    return json.dumps({"format": format_, "version": version}).encode()


def plain(**changes: bytes) -> dict[str, bytes]:
    """Return the members of a release that is right; a change replaces one, by its last name."""
    members = {SAID: said(), KNOWLEDGE: b'version: "2026.12.1"\n'}
    for name, data in changes.items():
        members[f"{FOLDER}/{name}"] = data
    return members


def write(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def with_mode(name: str, mode: int, data: bytes = b"x") -> bytes:
    """Return an archive whose one odd member has a file mode, as that of a link."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for each, content in plain().items():
            archive.writestr(each, content)
        member = zipfile.ZipInfo(name)
        member.external_attr = mode << 16
        archive.writestr(member, data)
    return buffer.getvalue()
