"""Write rules/matrix/flash-attn-for-torch.yaml from the tables of wheels.

Usage: python tools/write_flash_attn_fit.py

For each torch, CUDA, ABI, Python and platform: the newest release of flash-attn for which setup.py
asks for a file that is there, and that really has this ABI.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.knowledge.matrix.load import load_apart, load_knowledge
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.knowledge.matrix.wheels import WheelRequest, Wheels
from fadoctor.model.fact import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.rule import Table

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "rules" / "matrix" / "flash-attn-for-torch.yaml"

_HEAD = """\
table: flash-attn-for-torch
doc: >-
  The newest flash-attn whose setup.py finds a prebuilt wheel for a torch: asked for by exactly
  this version, nothing is compiled. torch is a minor, cuda the major of torch.version.cuda, abi
  torch's C++ string ABI, python the ABI tag. Made from flash-attn-lookup, flash-attn-wheels and
  flash-attn-wheel-abi by tools/write_flash_attn_fit.py; files that may be missing, and releases
  with a known fault, are left out. label: the CUDA in the file's name, such as cu118.
keys: {torch: word, cuda: word, abi: word, python: word, platform: word}
columns: {version: version, label: text}
references:
  - type: EVIDENCE
    url: https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/setup.py
    note: which file a version asks for
verified: source-read
complete: true
rows:
"""


class Fit(NamedTuple):
    """One combination with a file."""

    torch: str
    cuda: str
    abi: str
    platform: str
    python: str
    version: str
    label: str


def fits(tables: Mapping[str, Table]) -> Iterator[Fit]:
    """Yield the newest fitting release for every combination that has one."""
    wheels = Wheels(tables)
    bad = {word for row in tables["flash-attn-known-bad"].rows for word in _words(row["version"])}
    published = {
        word
        for row in tables["flash-attn-releases"].rows
        if row.get("on_pypi") is True and row.get("yanked") is not True
        for word in _words(row["version"])
    }
    newest: dict[tuple[str, str, str, str, str], tuple[str, str]] = {}
    for file in wheels.official():
        if not file.verified or file.version in bad or file.release not in published:
            continue
        if version_key(file.release) < version_key("2") or file.label_abi is None:
            continue
        if isinstance(file.real_abi, Known) and file.real_abi.value is not file.label_abi:
            continue  # the label lies: it does not load beside the torch that asks for it
        for cuda in ("11", "12", "13"):
            key = (file.torch, cuda, str(file.label_abi).lower(), file.platform, file.python)
            if version_key(newest.get(key, ("0",))[0]) >= version_key(file.release):
                continue
            wanted = WheelRequest(
                file.torch, f"{cuda}.0", file.python, file.platform, file.label_abi
            )
            asked = wheels.asked_for(file.release, wanted).file
            if asked is not None and asked.name == file.name and file.cuda_major == cuda:
                newest[key] = (file.release, file.name.partition("+")[2].partition("torch")[0])
    yield from (Fit._make((*key, *found)) for key, found in newest.items())


def rows(tables: Mapping[str, Table]) -> list[str]:
    """Return the rows of the table, Pythons of one version together."""
    together: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for fit in fits(tables):
        together[fit.torch, fit.cuda, fit.abi, fit.platform, fit.version, fit.label].append(
            fit.python
        )
    found = []
    for key in sorted(
        together, key=lambda key: (version_key(key[0]), *key[1:4], version_key(key[4]))
    ):
        torch, cuda, abi, platform, version, label = key
        pythons = " ".join(sorted(together[key], key=lambda tag: (len(tag), tag)))
        found.append(
            f'  - {{torch: "{torch}", cuda: "{cuda}", abi: "{abi}", platform: {platform}, '
            f"python: {pythons}, version: {version}, label: {label}}}\n"
        )
    return found


def _words(cell: object) -> list[str]:
    return str(cell).split()


def main() -> None:
    """Write the table."""
    tables = load_apart(load_knowledge(()).tables)
    FILE.write_text(_HEAD + "".join(rows(tables)), encoding="utf-8")


if __name__ == "__main__":
    main()
