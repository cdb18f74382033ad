"""The one error of the readers of binaries."""

from __future__ import annotations

from fadoctor.model.errors import FadoctorError


class BadBinaryError(FadoctorError):
    """A file that is not what it should be: truncated, malformed, of another kind."""
