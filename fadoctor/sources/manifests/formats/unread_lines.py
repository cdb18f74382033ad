"""Leave out of locks in YAML what nobody asks about, before it is parsed: most of their lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fadoctor.sources.manifests.source import Source

# "  sha256: 0f1e..." and "  depends:" with the items below it, as pixi and conda-lock write them
_UNREAD = re.compile(
    r"^  (?:sha256|md5|size|timestamp|license|license_family|build_number|arch|platform_tag"
    r"|legacy_bz2_md5|requires_python|noarch): (?![|>&*\[{'\"])[^\n]*$"
    r"|^  (?:depends|constrains|track_features|dependencies|hash|purls|features):\n"
    r"(?:  (?:- |  )[^\n]*(?:\n|\Z)){0,2000}",
    re.MULTILINE,
)


def without_unread(source: Source) -> Source:
    """Return a source with empty lines in place of those, so that places stay as they are."""
    text = _UNREAD.sub(lambda found: "\n" * found[0].count("\n"), source.text)
    return msgspec.structs.replace(source, text=text)
