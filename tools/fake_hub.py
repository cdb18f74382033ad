"""A Hub on the loopback: what huggingface_hub and kernels ask for, answered out of memory.

    with FakeHub() as hub:
        hub.put("kernels-community/tiny", {"v1": kernel({"torch-cuda": ()})})
        ...  # HF_ENDPOINT=hub.origin

A repository answers as a kernel, as a model (that is how they were called before), or as both.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Files = dict[str, bytes]
"""Path in a repository -> content."""

_API = re.compile(
    r"/api/(?P<kind>kernels|models)/(?P<repository>[^/]+/[^/]+)"
    r"(?:/(?P<what>refs|revision|tree)(?:/(?P<branch>[^/]+)(?:/(?P<path>.+))?)?)?"
)
_RESOLVE = re.compile(
    r"/(?P<kind>kernels/|)(?P<repository>[^/]+/[^/]+)/resolve/(?P<branch>[^/]+)/(?P<path>.+)"
)
_ORGANIZATION = re.compile(r"/api/organizations/(?P<name>[^/]+)/overview")


def kernel(
    builds: Mapping[str, Sequence[str]],
    name: str = "tiny",
    *,
    metadata: Mapping[str, object] | None = None,
    source: str = "answer = 42\n",
) -> Files:
    """Return the files of a kernel: builds of Python alone, each with the architectures it names.

    ``metadata`` stands in every metadata.json beside what all have; None in it takes a key away.
    """
    files: Files = {"README.md": b"a kernel\n"}
    module = name.replace("-", "_")
    for build, archs in builds.items():
        document: dict[str, object] = {
            "id": f"_{module}_cuda_1a2b3c4",
            "name": name,
            "version": 1,
            "license": "Apache-2.0",
            "python-depends": [],
            "backend": {"type": "cuda", **({"archs": list(archs)} if archs else {})},
            "digest": {"algorithm": "sha256", "files": {}},
            **(metadata or {}),
        }
        said = {key: value for key, value in document.items() if value is not None}
        folder = f"build/{build}"
        files[f"{folder}/metadata.json"] = json.dumps(said).encode()
        files[f"{folder}/__init__.py"] = source.encode()
        # where releases before 0.11.2 look for the module
        files[f"{folder}/{module}/__init__.py"] = source.encode()
    return files


class FakeHub:
    """Repositories with branches, served while the context lasts; ``asked`` lists the requests."""

    def __init__(self) -> None:
        self.trusted = True
        self.asked: list[str] = []
        self._repositories: dict[tuple[str, str], dict[str, Files]] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.hub = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> FakeHub:  # noqa: PYI034 -- not meant to be subclassed
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def origin(self) -> str:
        """Return what HF_ENDPOINT has to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def put(
        self,
        repository: str,
        branches: dict[str, Files],
        kinds: Sequence[str] = ("kernels", "models"),
    ) -> None:
        """Publish a repository; main is its first branch where it has none of that name."""
        for kind in kinds:
            self._repositories[kind, repository] = {
                "main": next(iter(branches.values())),
                **branches,
            }

    def branches(self, kind: str, repository: str) -> dict[str, Files] | None:
        """Return what is published; None where nothing is."""
        return self._repositories.get((kind, repository))


def commit_of(branch: str, files: Files) -> str:
    """Return the commit of a branch: the same for the same files."""
    text = branch + json.dumps({path: body.decode() for path, body in sorted(files.items())})
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class _Server(ThreadingHTTPServer):
    hub: FakeHub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub = cast("_Server", self.server).hub  # no other server has this handler
        path = unquote(urlsplit(self.path).path)
        hub.asked.append(path)
        if found := _ORGANIZATION.fullmatch(path):
            self._json({"name": found[1], "fullname": found[1], "avatarUrl": "",
                        "trustedKernelPublisher": hub.trusted})  # fmt: skip
            return
        found = _API.fullmatch(path) or _RESOLVE.fullmatch(path)
        kind = (found["kind"].rstrip("/") or "models") if found else ""
        branches = hub.branches(kind, found["repository"]) if found else None
        if found is None or branches is None:
            self._missing("RepoNotFound")
        elif found.re is _RESOLVE:
            self._file(branches, found["branch"], found["path"])
        elif found["what"] == "refs":
            self._refs(branches)
        else:
            self._about(found, branches)

    def _refs(self, branches: dict[str, Files]) -> None:
        listed = [
            {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit_of(name, files)}
            for name, files in branches.items()
        ]
        self._json({"branches": listed, "tags": [], "converts": []})

    def _about(self, found: re.Match[str], branches: dict[str, Files]) -> None:
        """Answer for a revision, or for the entries of one of its folders."""
        chosen = _chosen(branches, found["branch"] or "main")
        if chosen is None:
            self._missing("RevisionNotFound")
            return
        commit, files = chosen
        if found["what"] == "tree":
            self._json(
                _entries(
                    files, found["path"] or "", recursive="recursive=true" in self.path.lower()
                )
            )
            return
        document: dict[str, object] = {
            "id": found["repository"],
            "sha": commit,
            "private": False,
            "tags": [],
        }
        if found["kind"] == "models":
            siblings = [{"rfilename": path} for path in sorted(files)]
            document |= {"modelId": found["repository"], "siblings": siblings}
        self._json(document)

    def _file(self, branches: dict[str, Files], branch: str, path: str) -> None:
        chosen = _chosen(branches, branch)
        if chosen is None:
            self._missing("RevisionNotFound")
        elif path not in chosen[1]:
            self._missing("EntryNotFound", {"X-Repo-Commit": chosen[0]})
        else:
            body = chosen[1][path]
            self._send(200, body, {"ETag": f'"{_oid(body)}"', "X-Repo-Commit": chosen[0]})

    def _missing(self, code: str, headers: dict[str, str] | None = None) -> None:
        self._send(404, b"{}", {"X-Error-Code": code, **(headers or {})})

    def _json(self, document: Any) -> None:
        self._send(200, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _chosen(branches: dict[str, Files], branch: str) -> tuple[str, Files] | None:
    """Return the commit and the files of a branch, or of a commit."""
    for name, files in branches.items():
        if branch in (name, f"refs/heads/{name}", commit_of(name, files)):
            return commit_of(name, files), files
    return None


def _entries(files: Files, folder: str, *, recursive: bool) -> list[dict[str, object]]:
    prefix = f"{folder.rstrip('/')}/" if folder else ""
    below = [path for path in sorted(files) if path.startswith(prefix)]
    folders = {
        prefix + "/".join(parts[:depth])
        for path in below
        if (parts := path.removeprefix(prefix).split("/"))
        for depth in range(1, len(parts) if recursive else min(2, len(parts)))
    }
    listing: list[dict[str, object]] = [
        {"type": "directory", "path": path, "oid": 40 * "0"} for path in sorted(folders)
    ]
    for path in below:
        if recursive or "/" not in path.removeprefix(prefix):
            body = files[path]
            listing.append({"type": "file", "path": path, "size": len(body), "oid": _oid(body)})
    return listing


def _oid(body: bytes) -> str:
    return hashlib.sha1(body, usedforsecurity=False).hexdigest()
