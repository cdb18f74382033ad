"""Lists of hosts, as schedulers write and take them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fadoctor.fleet.hostlist import HostlistError, compress, expand


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n[1-3,7]", ("n1", "n2", "n3", "n7")),
        ("n[1-2],gpu[01-02]-ib", ("n1", "n2", "gpu01-ib", "gpu02-ib")),
        ("login", ("login",)),
        ("a,b a", ("a", "b")),
        ("r[1-2]n[08-09]", ("r1n08", "r1n09", "r2n08", "r2n09")),
        ("", ()),
    ],
)
def test_expand(text: str, hosts: tuple[str, ...]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    "text",
    ["n[1-", "n1]", "n[a-b]", "n[3-1]", "n[[1]]", "n[1-9000000]", "n[]", "a[1-9000]b[1-999]"],
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(HostlistError):
        expand(text)


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        (("n3", "n1", "n2", "n7"), "n[1-3,7]"),
        (("n08", "n09", "n10", "n11"), "n[08-11]"),
        (("gpu01-ib", "gpu02-ib", "login"), "gpu[01-02]-ib,login"),
        (("n0", "n1", "n10"), "n[0-1,10]"),
        (("vm#0", "vm#1"), "vm#[0-1]"),
    ],
)
def test_compress(hosts: tuple[str, ...], text: str) -> None:
    assert compress(hosts) == text


@given(st.sets(st.from_regex(r"[a-z]{1,3}[0-9]{0,4}(-ib)?", fullmatch=True), max_size=40))
def test_a_list_names_the_same_hosts(hosts: set[str]) -> None:
    assert set(expand(compress(hosts))) == hosts
