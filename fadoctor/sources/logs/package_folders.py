"""The torch that the name of a one-click package's folder tells, where nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import RUNTIME, Claim
from fadoctor.syntax.likely_lines import likely_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.sources.pasted.claims import PastedLine

TOOL = "the name of a folder"
# D:\\webui_forge_cu121_torch231\\system\\python | framepack_cu126_torch26
_FOLDER = compiled(
    r"(?i)(?<![a-z0-9])[a-z]\w{2,30}_(?P<label>cu1\d\d)_torch(?P<major>2)(?P<minor>\d)(?P<patch>\d?)(?!\d)"
)
# A torch that was replaced since is another build than the one that the folder came with.
_REPLACED = compiled(
    r"(?i)not compiled with cuda|\d\+(?:cpu|rocm|xpu)|cuda[^\n]{0,30}not available|no cuda gpus"
)


def folder_claims(lines: Sequence[PastedLine]) -> Iterator[Claim]:
    """Yield torch's release and build, as the names of folders tell them."""
    has_label = not any(_REPLACED.search(line.text) for line in likely_of(lines, _REPLACED))
    for line in likely_of(lines, _FOLDER):
        found = _FOLDER.search(line.text)
        if found is not None:
            patch = found["patch"] or "0"
            release = f"{found['major']}.{found['minor']}.{patch}"
            name = RUNTIME if has_label else "package:torch"
            label = f"+{found['label'].lower()}" if has_label else ""
            yield Claim(name, release + label, line.number, TOOL)
