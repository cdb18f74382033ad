"""The comments of one issue, by GitHub's REST interface: read, add one, replace one of ours."""

from __future__ import annotations

import re
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

import msgspec

from fadoctor.model.errors import InputError, UsageError
from tools.triage.event import Comment

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

PAGES = 5
"""Pages of comments that are read: a hundred comments each."""
REPLY_LIMIT = 16 * 2**20
"""Bytes of one reply: a hundred comments of 65,536 characters each."""

_PER_PAGE = 100
_TIMEOUT_S = 30
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_REPOSITORY = re.compile(r"[A-Za-z0-9-]{1,39}/[\w.-]{1,100}", re.ASCII)


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none."""


class Thread:
    """The comments of one issue."""

    def __init__(self, api: str, repository: str, number: int, token: str) -> None:
        """Take the interface's address, ``owner/name``, the issue and the token of the workflow.

        UsageError for an address without encryption, or a name that is none.
        """
        parts = urlsplit(api)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise UsageError("GITHUB_API_URL: the token is sent by https only")
        if not _REPOSITORY.fullmatch(repository):
            raise UsageError("GITHUB_REPOSITORY: expected owner/name")
        self._repository = f"{api.rstrip('/')}/repos/{repository}"
        self._comments = f"{self._repository}/issues/{number}/comments"
        self._token = token
        # Proxies of the runner apply, but for the loopback.
        local = [ProxyHandler({})] if parts.hostname in _LOOPBACK else []
        self._opener: OpenerDirector = build_opener(_NoRedirects, *local)

    def comments(self) -> list[Comment]:
        """Return the first `PAGES` pages of comments, oldest first."""
        found: list[Comment] = []
        for page in range(1, PAGES + 1):
            data = self._ask("GET", f"{self._comments}?per_page={_PER_PAGE}&page={page}")
            try:
                new = msgspec.json.decode(data, type=list[Comment])
            except (msgspec.DecodeError, RecursionError) as error:
                raise InputError("GitHub", f"the reply is no list of comments: {error}") from None
            found += new
            if len(new) < _PER_PAGE:
                break
        return found

    def add(self, body: str) -> None:
        """Add a comment."""
        self._ask("POST", self._comments, body)

    def replace(self, comment: Comment, body: str) -> None:
        """Give a comment another text."""
        self._ask("PATCH", f"{self._repository}/issues/comments/{comment.id}", body)

    def _ask(self, method: str, address: str, body: str | None = None) -> bytes:
        """Return a reply's bytes; InputError where there is none, without the token in it."""
        data = None if body is None else msgspec.json.encode({"body": body})
        request = Request(address, data, method=method)  # noqa: S310 -- https or the loopback
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("Content-Type", "application/json")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        request.add_header("User-Agent", "fadoctor")
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as reply:
                found: bytes = reply.read(REPLY_LIMIT + 1)
        except HTTPError as error:
            raise InputError("GitHub", f"{method} was refused with {error.code}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise InputError("GitHub", f"{method} failed: {type(error).__name__}") from None
        if len(found) > REPLY_LIMIT:
            raise InputError("GitHub", f"the reply is larger than {REPLY_LIMIT} bytes")
        return found
