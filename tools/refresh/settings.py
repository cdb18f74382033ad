"""Read where pip looks for packages, from pip itself."""

from __future__ import annotations

import ast
import base64
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from tools.refresh.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SECTIONS = ("global", "download", "install", ":env:")
"""Sections of pip's configuration, weakest first."""

# -i, --index-url <url>   Base URL of the Python Package Index (default https://...). This should
_DEFAULT_INDEX = re.compile(r"--index-url <url>[^()]{0,200}\(default\s+(\S{1,500}?)\)")


@dataclass(frozen=True)
class Settings:
    """Where to look and how to get there."""

    indexes: tuple[str, ...]
    """Base URLs of the Simple API, without credentials, the main one first."""
    authorization: Mapping[str, str]
    """Value of the header Authorization, by scheme and host."""
    cert: str = ""
    proxy: str = ""
    timeout_s: float = 15.0


def ask_pip(*arguments: str) -> str:
    """Return what this interpreter's pip prints."""
    environment = {**os.environ, "COLUMNS": "400", "NO_COLOR": "1"}
    command = (sys.executable, "-m", "pip", *arguments)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, env=environment
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SettingsError(f"pip cannot be asked: {type(error).__name__}") from error
    return done.stdout


def read_settings(ask: Callable[..., str] = ask_pip) -> Settings:
    """Return pip's settings; its files and its variables count as they do for pip."""
    values = parse_config(ask("config", "list"))
    if values.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        raise SettingsError("pip is told to use no index (no-index)")
    main = values.get("index-url") or default_index(ask("download", "--help"))
    timeout = values.get("default-timeout") or values.get("timeout") or "15"
    return replace(
        settings_for((main, *values.get("extra-index-url", "").split())),
        cert=values.get("cert", ""),
        proxy=values.get("proxy", ""),
        timeout_s=float(timeout) if re.fullmatch(r"\d{1,4}(\.\d+)?", timeout) else 15.0,
    )


def parse_config(text: str) -> dict[str, str]:
    """Return the options of ``pip config list``; a stronger section wins.

    A line is ``global.index-url='https://...'``: the value is a Python literal.
    """
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in text.splitlines()[:1000]:
        name, _, literal = line.partition("=")
        section, _, key = name.strip().rpartition(".")
        if section in found:
            found[section][key] = _literal(literal)
    return {key: value for section in _SECTIONS for key, value in found[section].items()}


def _literal(text: str) -> str:
    try:
        return str(ast.literal_eval(text[:10_000]))
    except (SyntaxError, ValueError):
        return ""


def default_index(help_text: str) -> str:
    """Return the index that pip uses where none is configured, from its help."""
    match = _DEFAULT_INDEX.search(" ".join(help_text.split()))
    if match is None:
        raise SettingsError("pip does not say which index it uses; name one with --index-url")
    return match.group(1)


def settings_for(urls: tuple[str, ...]) -> Settings:
    """Return settings for base URLs; credentials leave the URLs, so that no message shows them."""
    authorization, clean = {}, []
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in {"https", "http", "file"}:
            raise SettingsError("an index is neither https, http nor file")
        place, _, host = parts.netloc.rpartition("@")
        if place:
            header = base64.b64encode(unquote(place).encode()).decode()
            authorization[f"{parts.scheme}://{host}"] = f"Basic {header}"
        path = parts.path.rstrip("/") + "/"
        clean.append(urlunsplit((parts.scheme, host, path, "", "")))
    return Settings(tuple(clean), authorization)
