"""Build a release of rules from this checkout: a wheel that holds data only.

`python -m tools.rules_release dist` writes it; the same files give the same bytes, on any machine
and with any zlib (members are stored as they are). What `fadoctor rules update` reads of it is in
fadoctor/knowledge/updates/archive.py.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import zipfile
from pathlib import Path

import msgspec

from fadoctor.knowledge.matrix.compile import compile_rules
from fadoctor.knowledge.matrix.fetched import version_key
from fadoctor.knowledge.updates import DISTRIBUTION, FOLDER, FORMAT

ROOT = Path(__file__).resolve().parents[1]
_DATE = (1980, 1, 1, 0, 0, 0)
"""Of every member: the earliest that an archive can say."""

_METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Rules and tables of fadoctor, without any code: `fadoctor rules update` fetches them.
License-Expression: Apache-2.0
License-File: LICENSE
Description-Content-Type: text/markdown

{readme}"""

_README = """\
# {name} {version}

Rules and tables of fadoctor, format {format}, of {date}. Data only: there is nothing to import.

    fadoctor rules update
"""


class NoReleaseError(Exception):
    """The rules cannot be released as they are."""


def build(rules: Path, target: Path) -> Path:
    """Write the wheel of a rules folder into a folder; return its path."""
    compiled = compile_rules(rules)
    if compiled.problems:
        raise NoReleaseError(str(compiled.problems[0]))
    date = compiled.knowledge.version
    key = version_key(date)
    if key is None:
        raise NoReleaseError(f"{rules / 'knowledge.yaml'}: {date!r} is not a version of rules")
    version = ".".join(map(str, (FORMAT, *key)))
    info = f"{FOLDER}-{version}.dist-info"
    readme = _README.format(name=DISTRIBUTION, version=version, format=FORMAT, date=date)
    members = {
        f"{FOLDER}/release.json": msgspec.json.encode({"format": FORMAT, "version": date}),
        f"{FOLDER}/README.md": readme.encode(),
        **_sources(rules),
        f"{info}/METADATA": _METADATA.format(
            name=DISTRIBUTION, version=version, readme=readme
        ).encode(),
        f"{info}/WHEEL": (
            b"Wheel-Version: 1.0\nGenerator: fadoctor\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    members[f"{info}/RECORD"] = _record(members, f"{info}/RECORD")
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{FOLDER}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, _DATE)
            member.external_attr = 0o100644 << 16
            archive.writestr(member, data)
    return path


def _sources(rules: Path) -> dict[str, bytes]:
    """Return the files that `compile_rules` reads, by name, sorted."""
    paths = [rules / "knowledge.yaml", *sorted(rules.glob("*/*.yaml"))]
    wanted = [path for path in paths if path.parent.name != "schema" and path.name[0] != "."]
    return {
        f"{FOLDER}/rules/{path.relative_to(rules).as_posix()}": path.read_bytes() for path in wanted
    }


def _record(members: dict[str, bytes], own: str) -> bytes:
    lines = []
    for name, data in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join((*lines, f"{own},,", "")).encode()


def main() -> None:
    """Build the wheel of this checkout's rules, and say its name and hash."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("target", type=Path, help="the folder to write to")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="the folder of rules")
    given = parser.parse_args()
    try:
        path = build(given.rules, given.target)
    except NoReleaseError as error:
        sys.exit(f"no release: {error}")
    sys.stdout.write(f"{path}\nsha256 {hashlib.sha256(path.read_bytes()).hexdigest()}\n")


if __name__ == "__main__":
    main()
