"""Settings come from pip and show no credentials."""

from __future__ import annotations

import pytest

from tools.refresh.errors import SettingsError
from tools.refresh.settings import default_index, parse_config, read_settings, settings_for

HELP = """
  -i, --index-url <url>       Base URL of the Python Package Index (default
                              https://index.test/simple). This should point to a
                              repository compliant with PEP 503
  --extra-index-url <url>     Extra URLs of package indexes to use in addition
"""


def pip(config: str) -> object:
    return lambda *arguments: config if arguments == ("config", "list") else HELP


def test_an_unconfigured_pip_tells_its_default() -> None:
    settings = read_settings(pip(""))  # type: ignore[arg-type] # a lambda
    assert settings.indexes == ("https://index.test/simple/",)
    assert settings.timeout_s == 15.0


def test_configured_indexes_certificate_and_timeout() -> None:
    config = (
        "global.index-url='https://a.test/simple/'\n"
        "global.extra-index-url='file:///srv/simple\\nhttps://b.test/s'\n"
        "global.cert='/etc/ca.pem'\n"
        ":env:.default-timeout='180'\n"
    )
    settings = read_settings(pip(config))  # type: ignore[arg-type] # a lambda
    assert settings.indexes == (
        "https://a.test/simple/",
        "file:///srv/simple/",
        "https://b.test/s/",
    )
    assert (settings.cert, settings.timeout_s) == ("/etc/ca.pem", 180.0)


def test_variables_win_against_sections_and_sections_against_global() -> None:
    lines = [":env:.cert='c'", "install.cert='b'", "global.cert='a'", "install.proxy='p'"]
    assert parse_config("\n".join(lines)) == {"cert": "c", "proxy": "p"}


def test_what_is_no_option_is_left_out() -> None:
    assert parse_config("nonsense\nwheel.cert='x'\nglobal.cert=__import__('os')") == {"cert": ""}


def test_no_index_is_an_error() -> None:
    with pytest.raises(SettingsError, match="no index"):
        read_settings(pip("global.no-index='true'"))  # type: ignore[arg-type] # a lambda


def test_help_without_a_default_is_an_error() -> None:
    with pytest.raises(SettingsError, match="--index-url"):
        default_index("--index-url <url> Base URL")


def test_credentials_leave_the_address() -> None:
    settings = settings_for(("https://me:se%40cret@a.test/simple",))
    assert settings.indexes == ("https://a.test/simple/",)
    assert settings.authorization == {"https://a.test": "Basic bWU6c2VAY3JldA=="}


def test_an_index_of_another_kind_is_refused() -> None:
    with pytest.raises(SettingsError):
        settings_for(("ftp://a.test/simple",))
