"""People and machines go; versions, packages, code and public addresses stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.syntax.identities import hide_identities, hide_names, identities_in
from tests.leaks.people import identities
from tests.work import examples

if TYPE_CHECKING:
    from tests.leaks.plants import Plant

TOLD_ELSEWHERE = ("belongs to", "ssh://")
"""Plants whose name only the rest of a document, or the hiding of credentials, hides."""


@pytest.mark.parametrize("plant", identities(), ids=lambda each: each.kind)
def test_each_plant_is_hidden(plant: Plant) -> None:
    if any(mark in plant.text for mark in TOLD_ELSEWHERE):
        return
    hidden = hide_identities(plant.text)
    assert [name for name in plant.secrets if name in hidden] == []


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.6.0+cu124, nvidia-cublas-cu12==12.4.5.8, nvidia-curand-cu12 10.3.5.147",
        "10.3.5.147",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
        "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so libcudart.so.12",
        "listening on 127.0.0.1:8000 and localhost:29500, ::1",
        "std::runtime_error c10::Half at::add dead code",
        "10:22:33 step 12:34:56",
        "requirements.in setup.py pyproject.toml threading.local",
        "pip install --user torch; /opt/user/x /usr/lib",
        "github.com/a/b@v1.0 is a tag",
        "sdpa-flash on A100, on gpu[0], on sm_90",
        "/root/x /home/",
        "\\n\\t and C:\\Windows\\System32",
    ],
)
def test_what_names_nobody_stays(text: str) -> None:
    assert hide_identities(text, {"github.com"}) == text


def test_a_public_host_stays() -> None:
    assert hide_identities("https://example.org/a", {"example.org"}) == "https://example.org/a"
    assert hide_identities("https://example.org/a") == "https://<host>/a"


def test_a_name_that_one_place_tells_is_hidden_in_all() -> None:
    text = "/home/wilhelmina/x belongs to wilhelmina on quokka17, root@quokka17"
    told = identities_in(text)
    assert "wilhelmina" in told.users
    assert hide_names(told, text) == "/home/<user>/x belongs to <user> on <host>, root@<host>"


@settings(max_examples=examples(100), deadline=None, database=None)
@given(st.text(alphabet="ab:/=@\"'\\\n -_.~Uusershome19%<>", max_size=80))
def test_no_text_raises(text: str) -> None:
    identities_in(text)
    hide_identities(text)
