"""Digests of files as the RECORD of their distribution has them: the files need not be read.

A line of a RECORD: ``peft/config.py,sha256=<43 letters of base64>,11027``. It is believed where the
file has this size and was last changed before the RECORD was written, which installers do last.
"""

from __future__ import annotations

import binascii
import os
from typing import Dict, Optional

from fadoctor.sources.import_names.child._fadoctor_shipped import DIGEST

RECORD_LIMIT = 16 << 20
_LETTERS = bytes.maketrans(b"-_", b"+/")
_SIGN = b"sha256="


class Recorded:
    """The lines of one RECORD, read when it is first asked."""

    def __init__(self, record: str) -> None:
        self._record = record
        self._folder = os.path.dirname(os.path.dirname(record)) + os.sep
        self._lines: Optional[Dict[bytes, bytes]] = None
        self._written = 0

    def digest_of(self, path: str, size: int, changed: int) -> str:
        """Return the digest of a file that is what was installed; empty where nobody can tell."""
        if self._lines is None:
            self._lines = self._read()
        if changed > self._written or not path.startswith(self._folder):
            return ""
        name = path[len(self._folder) :].replace(os.sep, "/").encode("utf-8", "replace")
        digest, _, recorded = self._lines.get(name, b"").partition(b",")
        if not digest.startswith(_SIGN) or recorded.strip() != b"%d" % size:
            return ""
        # 16 letters are 12 bytes, which are 24 hexadecimal digits.
        letters = digest[len(_SIGN) :][: DIGEST * 2 // 3].translate(_LETTERS)
        try:
            return binascii.a2b_base64(letters).hex()
        except ValueError:
            return ""

    def _read(self) -> Dict[bytes, bytes]:
        try:
            with open(self._record, "rb") as file:
                found = os.fstat(file.fileno())
                lines = file.read(RECORD_LIMIT).split(b"\n")
        except (OSError, ValueError):
            return {}
        self._written = min(found.st_mtime_ns, found.st_ctime_ns)
        parts = (line.partition(b",") for line in lines if b".py,sha256=" in line)
        return {name: rest for name, _, rest in parts}
