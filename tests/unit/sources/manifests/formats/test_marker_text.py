"""Markers turned into those that hold where they do not."""

from __future__ import annotations

from itertools import product

import pytest
from packaging.markers import Marker

from fadoctor.sources.manifests.formats.marker_text import opposite

MARKERS = (
    "sys_platform == 'linux'",
    "sys_platform == 'linux' and platform_machine == 'aarch64'",
    "sys_platform == 'linux' and (platform_machine == 'aarch64')",
    "(sys_platform == 'win32' or sys_platform == 'darwin') and python_version < '3.12'",
    "python_version >= '3.10' and (sys_platform != 'linux' or platform_machine == 'x86_64')",
    'sys_platform == "linux" or (python_version < "3.11" and platform_machine != "arm64")',
)
MACHINES = tuple(
    product(("linux", "win32", "darwin"), ("x86_64", "aarch64", "arm64"), ("3.9", "3.12"))
)


@pytest.mark.parametrize("text", MARKERS)
def test_one_of_both_holds_on_every_machine(text: str) -> None:
    turned = opposite(text)
    assert turned is not None
    for system, machine, python in MACHINES:
        given = {"sys_platform": system, "platform_machine": machine, "python_version": python}
        assert Marker(text).evaluate(given) is not Marker(turned).evaluate(given)


@pytest.mark.parametrize("text", ["'linux' in sys_platform", "(" * 400 + "a" + ")" * 400, "a and"])
def test_what_is_not_plain_to_say(text: str) -> None:
    assert opposite(text) is None


def test_a_word_in_quotes_joins_nothing() -> None:
    assert opposite("platform_version == 'this and that'") == "platform_version != 'this and that'"
