"""The errors of the readers of binaries."""

from __future__ import annotations

from fadoctor.model.errors import FadoctorError


class BadBinaryError(FadoctorError):
    """A file that is not what it should be: truncated, malformed, of another kind."""


class TruncatedError(BadBinaryError):
    """A file that ends before what its headers announce."""
