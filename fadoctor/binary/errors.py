"""The one error that the readers of binaries raise."""

from __future__ import annotations

from fadoctor.model.errors import FadoctorError


class BadBinaryError(FadoctorError):
    """A file that is not what it should be: truncated, malformed, of another kind."""
