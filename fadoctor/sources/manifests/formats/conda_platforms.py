"""Platforms as conda names them."""

from __future__ import annotations

_MARKERS = {
    "linux-64": "sys_platform == 'linux' and platform_machine == 'x86_64'",
    "linux-aarch64": "sys_platform == 'linux' and platform_machine == 'aarch64'",
    "linux-ppc64le": "sys_platform == 'linux' and platform_machine == 'ppc64le'",
    "osx-64": "sys_platform == 'darwin' and platform_machine == 'x86_64'",
    "osx-arm64": "sys_platform == 'darwin' and platform_machine == 'arm64'",
    "win-64": "sys_platform == 'win32' and platform_machine == 'AMD64'",
    "win-arm64": "sys_platform == 'win32' and platform_machine == 'ARM64'",
    "linux": "sys_platform == 'linux'",
    "osx": "sys_platform == 'darwin'",
    "win": "sys_platform == 'win32'",
    "unix": "sys_platform != 'win32'",
    "noarch": "",
}
"""Conda's name -> the marker that holds on it."""


def platform_marker(name: str) -> str | None:
    """Return the marker of a platform, None where it is not one of those that are known."""
    return _MARKERS.get(name)
