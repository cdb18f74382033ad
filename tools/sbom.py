"""Finish a CycloneDX bill of materials by what the wheel says, and check one against the other.

`python -m tools.sbom BOM WHEEL`: the version, the address and the hash of the wheel itself are
added, which a project with a version in its code does not state elsewhere. What the wheel requires
must be listed; what is listed without a reason is refused. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class SbomError(Exception):
    """The bill and the wheel do not agree."""


def metadata_of(wheel: Path) -> Message:
    """Return the METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def required(metadata: Message) -> set[str]:
    """Return the names that a wheel requires of everybody, without those of its extras."""
    found = set()
    for line in metadata.get_all("Requires-Dist", []):
        match = _NAME.match(line)
        if match and "extra ==" not in line:
            found.add(_plain(match[0]))
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def finished(bill: dict[str, Any], metadata: Message, digest: str) -> dict[str, Any]:
    """Return the bill with what the wheel says of itself."""
    name, version = metadata["Name"], metadata["Version"]
    component = bill["metadata"]["component"]
    if component.get("name") != name:
        raise SbomError(f"the bill is of {component.get('name')}, the wheel of {name}")
    own = {
        **component,
        "version": version,
        "purl": f"pkg:pypi/{_plain(name)}@{version}",
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }
    return {**bill, "metadata": {**bill["metadata"], "component": own}}


def problems(bill: dict[str, Any], metadata: Message) -> Iterator[str]:
    """Yield what the bill lacks, and what it lists that nothing asks for."""
    root = bill["metadata"]["component"]["bom-ref"]
    listed = {each["bom-ref"]: _plain(each["name"]) for each in bill.get("components", [])}
    edges = {each["ref"]: each.get("dependsOn", []) for each in bill.get("dependencies", [])}
    asked = {listed.get(ref, ref) for ref in edges.get(root, [])}
    for name in sorted(required(metadata) ^ asked):
        verb = "requires" if name in required(metadata) else "does not require"
        yield f"the wheel {verb} {name}, and the bill says otherwise"
    reached: set[str] = set()
    open_ = [root]
    while open_:
        for ref in edges.get(open_.pop(), []):
            if ref not in reached:
                reached.add(ref)
                open_.append(ref)
    for ref in sorted(listed.keys() - reached):
        yield f"the bill lists {ref}, which nothing requires"
    for each in bill.get("components", []):
        if not each.get("version") or not each.get("purl"):
            yield f"the bill has no version or address of {each['name']}"


def main() -> None:
    """Finish the bill in its place; exit 1 with every reason where it does not fit the wheel."""
    path, wheel = map(Path, sys.argv[1:3])
    metadata = metadata_of(wheel)
    try:
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        bill = finished(json.loads(path.read_text("utf-8")), metadata, digest)
    except SbomError as error:
        sys.exit(f"sbom: {error}")
    if found := list(problems(bill, metadata)):
        sys.exit("sbom: " + "\nsbom: ".join(found))
    path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(f"{path}: {len(bill['components'])} components below {wheel.name}\n")


if __name__ == "__main__":
    main()
