"""Files that a text installs: their names hold a label that the release does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.build_labels import FILES
from fadoctor.model.fact import Fact, Known
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

# pip install mamba_ssm-2.2.4+cu12torch2.6cxx11abiTRUE-cp311-cp311-linux_x86_64.whl
_FILE = compiled(
    r"(?P<name>[A-Za-z0-9](?<![\w.-][A-Za-z0-9])[\w.]{0,60})-\d[\w.!]{0,30}(?:\+|%2B)(?P<label>[\w.]{1,60})"
    r"-(?:cp|py)\d[\w.-]{1,80}\.whl"
)
_ENDING, _INSTALLED = ".whl", "install"


def file_labels(text: str) -> Mapping[str, Fact]:
    """Return the labels of the files that commands of a text install, of each package that has one.

    Of two files of one package nobody knows which is there.
    """
    if _ENDING not in text:
        return {}
    labels: dict[str, set[str]] = {}
    for line in text.splitlines():
        if _ENDING in line and _INSTALLED in line:
            for found in _FILE.finditer(line):
                labels.setdefault(normalise_name(found["name"]), set()).add(found["label"].lower())
    told = {name: label for name, (label, *others) in labels.items() if not others}
    return {FILES: Known(told, "files that the text installs")} if told else {}
