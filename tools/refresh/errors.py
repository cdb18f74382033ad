"""What can go wrong, with a sentence for the maintainer."""


class RefreshError(Exception):
    """Base of the errors below."""


class SettingsError(RefreshError):
    """No index is configured, or pip could not be asked."""


class FetchError(RefreshError):
    """An answer is missing, too large, or not what was asked for."""


class WheelError(RefreshError):
    """A wheel is not what a wheel should be, or holds not what was looked for."""
