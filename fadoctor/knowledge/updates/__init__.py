"""Newer rules without a newer fadoctor: fetched when typed, checked, kept, and taken back.

A release of rules is a wheel that holds data only. Nothing in it is ever run or imported.
"""

from __future__ import annotations

from fadoctor.model.errors import FadoctorError

DISTRIBUTION = "fadoctor-rules"
"""The name of the distribution on an index."""

FOLDER = "fadoctor_rules"
"""The folder of the wheel that holds everything."""

FORMAT = 1
"""Of the files of a release. It is the first number of the distribution's version, so that an
installer finds the newest release that this fadoctor can read by itself."""


class ReleaseError(FadoctorError):
    """A release of rules that is not used, and why."""

    exit_code = 2


class NotFetchedError(FadoctorError):
    """No release could be looked at."""

    exit_code = 3
