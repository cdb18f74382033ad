"""Answers are bounded, checked and kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tools.refresh import transport
from tools.refresh.errors import FetchError
from tools.refresh.settings import Settings, settings_for
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.tools.tiny_index import Handler, TinyIndex

BODY = bytes(range(256)) * 40


def test_ranges_from_the_start_and_the_end(index: TinyIndex) -> None:
    index.files["/x"] = BODY
    fetched = index.transport()
    assert fetched.part(f"{index.origin}/x", 10, 20).body == BODY[10:30]
    tail = fetched.part(f"{index.origin}/x", -1, 100)
    assert (tail.body, tail.total) == (BODY[-100:], len(BODY))
    assert fetched.part(f"{index.origin}/x", -1, 99999).body == BODY


def test_a_second_run_asks_nothing_and_offline_needs_no_server(index: TinyIndex) -> None:
    index.files["/x"] = BODY
    index.transport().part(f"{index.origin}/x", 10, 20)
    index.transport().page(f"{index.origin}/x")
    asked = len(index.asked)
    again = index.transport(offline=True)
    assert again.part(f"{index.origin}/x", 10, 20).body == BODY[10:30]
    assert again.page(f"{index.origin}/x").body == BODY
    assert (len(index.asked), again.requests) == (asked, 0)
    with pytest.raises(FetchError, match="--offline"):
        again.part(f"{index.origin}/x", 11, 20)


def test_an_old_page_is_asked_for_again(index: TinyIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    index.files["/x"] = b"one"
    index.transport().page(f"{index.origin}/x")
    index.files["/x"] = b"two"
    assert index.transport().page(f"{index.origin}/x").body == b"one"
    monkeypatch.setattr(transport, "PAGE_AGE_S", -1)
    assert index.transport().page(f"{index.origin}/x").body == b"two"


def endless(handler: Handler) -> None:
    handler.send_response(206)
    handler.send_header("Content-Range", "bytes 0-9/10")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"x" * 65536)
    except OSError:
        pass


def no_ranges(handler: Handler) -> None:
    handler.reply(200, BODY)


def another_range(handler: Handler) -> None:
    handler.reply(206, BODY[1:11], f"bytes 1-10/{len(BODY)}")


def too_few(handler: Handler) -> None:
    handler.reply(206, BODY[:5], f"bytes 0-9/{len(BODY)}")


def nonsense(handler: Handler) -> None:
    handler.reply(206, BODY[:10], "bytes 0-9/*")


def broken_off(handler: Handler) -> None:
    handler.send_response(206)
    handler.send_header("Content-Range", "bytes 0-9/10")
    handler.send_header("Content-Length", "10")
    handler.end_headers()
    handler.wfile.write(b"abc")


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"\0\0\0\n" * 10)


@pytest.mark.parametrize(
    "behaviour", [endless, no_ranges, another_range, too_few, nonsense, broken_off, no_http]
)
def test_a_wrong_answer_to_a_range_is_an_error_and_not_kept(
    index: TinyIndex, behaviour: Callable[[Handler], None]
) -> None:
    index.behaviours["/x"] = behaviour
    with pytest.raises(FetchError):
        index.transport().part(f"{index.origin}/x", 0, 10)
    assert not list((index.folder / "cache").glob("*"))


def test_an_endless_page_is_cut(index: TinyIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PAGE_LIMIT", 1 << 18)
    index.behaviours["/x"] = endless
    with pytest.raises(FetchError, match="more than"):
        index.transport().page(f"{index.origin}/x")


def test_a_dripping_page_is_cut(index: TinyIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_PATIENCE_S", 0.0)

    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        time.sleep(0.01)
        handler.wfile.write(b"x")

    index.behaviours["/x"] = drip
    with pytest.raises(FetchError, match="longer"):
        index.transport().page(f"{index.origin}/x")


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/x", "/loop"])
def test_a_redirection_away_from_http_or_in_a_circle_is_refused(
    index: TinyIndex, target: str
) -> None:
    def redirect(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    index.behaviours["/loop"] = redirect
    with pytest.raises(FetchError):
        index.transport().page(f"{index.origin}/loop")


def test_the_number_of_requests_is_bounded(
    index: TinyIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "REQUEST_LIMIT", 1)
    index.files |= {"/a": b"", "/b": b""}
    fetched = index.transport()
    fetched.page(f"{index.origin}/a")
    with pytest.raises(FetchError, match="requests"):
        fetched.page(f"{index.origin}/b")


def test_credentials_go_to_their_host_only(index: TinyIndex, tmp_path: Path) -> None:
    index.files["/x"] = b""
    settings = Settings((), {index.origin: "Basic abc", "http://localhost": "Basic no"})
    Transport(settings, tmp_path / "one").page(f"{index.origin}/x")
    assert index.headers[-1]["Authorization"] == "Basic abc"
    port = index.origin.rpartition(":")[2]
    Transport(settings, tmp_path / "two").page(f"http://localhost:{port}/x")
    assert "Authorization" not in index.headers[-1]


def test_files_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "index.html").write_bytes(BODY)
    local = Transport(settings_for((tmp_path.as_uri(),)), tmp_path / "cache")
    url = (tmp_path / "a b").as_uri() + "/"
    assert local.page(url).body == BODY
    assert local.part(url, 5, 10).body == BODY[5:15]
    assert local.part(url, -1, 10).body == BODY[-10:]
    with pytest.raises(FetchError):
        local.page((tmp_path / "missing").as_uri())


def test_another_scheme_is_not_followed(index: TinyIndex) -> None:
    with pytest.raises(FetchError, match="kind"):
        index.transport().page("data:text/html,x")
