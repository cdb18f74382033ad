"""Recorded events against an interface of the same shape on the loopback."""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread as Serving
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.errors import UsageError
from tools.triage import thread as threads
from tools.triage.__main__ import BOT, main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANNA = {"login": "anna", "type": "User"}
FAILS = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
TOKEN = "t0ken-of-the-workflow"  # noqa: S105 -- made up
HERE = "/repos/anna/repo/issues"


class FakeGitHub:
    """Comments of issues, and what was asked."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()
        self.status = 200
        self.reply = b""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                fake.tokens.add(self.headers.get("Authorization"))
                fake.asked.append(f"{self.command} {self.path}")
                data = fake.reply or fake.answer(self.command, self.path, body)
                self.send_response(fake.status)
                if fake.status == 302:
                    self.send_header("Location", f"{fake.address}/elsewhere")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = _answer  # noqa: N815 -- names of the library

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        return Handler

    def answer(self, method: str, path: str, body: bytes) -> bytes:
        if method == "GET":
            page = int(re.search(r"&page=(\d+)", path)[1])  # type: ignore[index]
            return msgspec.json.encode(self.comments[(page - 1) * 100 : page * 100])
        text = msgspec.json.decode(body)["body"]
        if method == "POST":
            user = {"login": BOT, "type": "Bot"}
            self.comments.append({"id": len(self.comments) + 1, "body": text, "user": user})
        else:
            number = int(path.rsplit("/", 1)[1])
            self.comments[number - 1]["body"] = text
        return b"{}"


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    fake = FakeGitHub()
    serving = Serving(target=fake.server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    for name, value in (("API_URL", fake.address), ("REPOSITORY", "anna/repo"), ("TOKEN", TOKEN)):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    yield fake
    fake.server.shutdown()
    serving.join()
    fake.server.server_close()


class Told:
    """Write events, run the program, return its line."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self.capsys, self.code = folder / "event.json", capsys, 0
        self.errors = ""

    def __call__(self, body: str, comment: dict[str, Any] | None = None, *options: str) -> str:
        issue = {"number": 7, "title": "it fails", "body": body, "user": ANNA}
        event = {"action": "created" if comment else "opened", "issue": issue}
        self.path.write_bytes(msgspec.json.encode({**event, "comment": comment}))
        self.code = main([str(self.path), *options])
        out, self.errors = self.capsys.readouterr()
        return out


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    return Told(tmp_path, capsys)


def test_a_new_issue_is_answered_once(github: FakeGitHub, told: Told) -> None:
    assert told(FAILS) == "Comment on #7: cause gpu-too-old-fa2\n"
    assert github.asked == [f"GET {HERE}/7/comments?per_page=100&page=1", f"POST {HERE}/7/comments"]
    assert told(FAILS) == "No comment: the same answer is there.\n"
    assert len(github.comments) == 1
    assert github.tokens == {f"Bearer {TOKEN}"}


def test_another_answer_replaces_the_first(github: FakeGitHub, told: Told) -> None:
    told(FAILS)
    asks = {"id": 2, "body": "/fadoctor", "user": ANNA}
    more = {"id": 2, "user": ANNA, "body": "/fadoctor ImportError: libcudart.so.12: cannot open "
            "shared object file: No such file or directory"}  # fmt: skip
    github.comments.append(more)
    assert told("It stopped working.", asks).startswith("Replaced on #7: cause ")
    assert github.asked[-1] == f"PATCH {HERE}/comments/1"
    assert len(github.comments) == 2
    assert "only supports Ampere" not in github.comments[0]["body"]


def test_a_copied_mark_is_not_ours(github: FakeGitHub, told: Told) -> None:
    told(FAILS)
    github.comments[0]["user"] = ANNA
    assert told(FAILS) == "Comment on #7: cause gpu-too-old-fa2\n"


def test_our_comment_is_found_on_later_pages(github: FakeGitHub, told: Told) -> None:
    told(FAILS)
    github.comments[:0] = [{"id": n, "body": "+1", "user": ANNA} for n in range(230)]
    assert told(FAILS) == "No comment: the same answer is there.\n"
    assert sum(each.startswith("GET") for each in github.asked) == 1 + 3


def test_pages_are_bounded(github: FakeGitHub, told: Told) -> None:
    github.comments = [{"id": n, "body": "+1", "user": ANNA} for n in range(900)]
    told("nothing of ours")
    assert sum(each.startswith("GET") for each in github.asked) == threads.PAGES


def test_silence_writes_nothing(github: FakeGitHub, told: Told) -> None:
    assert told("The page of the documentation has a typo.").startswith("No comment: no cause")
    assert told(FAILS, {"id": 1, "body": "me, too", "user": ANNA}).startswith("No comment: the c")
    assert not any(each.startswith(("POST", "PATCH")) for each in github.asked)


def test_a_dry_run_sends_nothing(github: FakeGitHub, told: Told) -> None:
    assert "fadoctor-triage" in told(FAILS, None, "--dry-run")
    assert github.asked == []


@pytest.mark.parametrize(
    ("status", "reply", "words"),
    [
        (403, b"{}", "GET was refused with 403"),
        (302, b"[]", "GET was refused with 302"),
        (200, b"<html>", "no list of comments"),
        (200, b'[{"id": "x"}]', "no list of comments"),
    ],
)
def test_what_github_refuses_is_said(
    github: FakeGitHub, told: Told, status: int, reply: bytes, words: str
) -> None:
    github.status, github.reply = status, reply
    assert told(FAILS) == ""
    assert told.code == 2
    assert words in told.errors
    assert TOKEN not in told.errors
    assert len(github.asked) == 1


def test_a_reply_is_bounded(
    github: FakeGitHub, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "REPLY_LIMIT", 100)
    github.reply = b"[" + b" " * 200 + b"]"
    told(FAILS)
    assert "larger than 100 bytes" in told.errors


@pytest.mark.parametrize(
    ("api", "repository"),
    [("http://github.example", "a/b"), ("file:///etc", "a/b"), ("https://a.example", "a/../b"),
     ("https://a.example", "a"), ("https://a.example", "")],
)  # fmt: skip
def test_addresses_that_would_leak_are_refused(api: str, repository: str) -> None:
    with pytest.raises(UsageError):
        threads.Thread(api, repository, 1, TOKEN)


def test_no_server_is_an_error(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GITHUB_REPOSITORY", "anna/repo")
    told(FAILS)
    assert (told.code, told.errors) == (2, "fadoctor: GitHub: GET failed: URLError\n")
