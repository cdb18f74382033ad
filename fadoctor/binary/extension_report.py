"""What an extension says of itself, whether it loads or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.loader import File

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.binary.loader import LoadedFiles
    from fadoctor.binary.prediction import Prediction


def described(files: LoadedFiles, prediction: Prediction) -> Prediction:
    """Add what the file itself says."""
    file = files.open(prediction.path)
    if not isinstance(file, File):
        return prediction
    try:
        names = [need.name for need in file.needs]
    except (BadBinaryError, OSError):
        names = []
    return msgspec.structs.replace(
        prediction,
        needed=file.elf.needed,
        glibc=_highest(names, "GLIBC_"),
        glibcxx=_highest(names, "GLIBCXX_"),
        cxxabi=_highest(names, "CXXABI_"),
        libcudart=next((n for n in file.elf.needed if n.startswith("libcudart.so")), ""),
    )


def _highest(names: Sequence[str], prefix: str) -> str:
    # GLIBC_2.34, GLIBCXX_3.4.30, CXXABI_1.3; not GLIBC_PRIVATE, CXXABI_FLOAT128
    found = [m[1] for n in names if (m := re.fullmatch(prefix + r"(\d{1,4}(?:\.\d{1,4}){1,3})", n))]
    return max(found, key=lambda text: [int(part) for part in text.split(".")], default="")
