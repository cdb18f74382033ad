"""The glibc of the system, as people tell it: by its version, or by the distribution."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import read_log
from fadoctor.model.fact import fact_text

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.mark.parametrize(
    ("text", "glibc"),
    [
        ("I am on Ubuntu 18.04 and flash-attn fails.", "2.27"),
        ("\u670d\u52a1\u5668\u662fCentOS 7\uff0cflash-attn \u62a5\u9519", "2.17"),
        ("Debian GNU/Linux 11, torch 2.8.0", "2.31"),
        ("The nodes have CentOS 7 and I cannot upgrade them.", "2.17"),
        ("Red Hat Enterprise Linux 8.6 on the cluster", "2.28"),
        ("ldd (Ubuntu GLIBC 2.31-0ubuntu9.9) 2.31", "2.31"),
        ("glibc version is 2.28, on Ubuntu 22.04", "2.28"),
        # what something needs or was built on, what is proposed, and two systems
        ("The wheels are built on Ubuntu 22.04.", ""),
        ("It requires glibc 2.32 or newer.", ""),
        ("version GLIBC 2.32 not found", ""),
        ("Maybe I should upgrade to Ubuntu 22.04.", ""),
        ("It runs on one node with Debian 12, and fails on one with Debian 11.", ""),
        # in a container its own system counts
        ("Ubuntu 20.04, in a docker container", ""),
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", ""),
        ("CentOS 5", ""),
    ],
)
def test_the_system_that_a_text_names(knowledge: Knowledge, text: str, glibc: str) -> None:
    found = read_log(io.BytesIO(text.encode()), "a.txt", knowledge).facts()
    assert fact_text(found.environment.fact("host.glibc"), "") == glibc
