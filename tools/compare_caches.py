"""Let released kernels packages fill caches from a Hub on the loopback, and compare what is read.

Usage: python -m tools.compare_caches --cache FOLDER [--release VERSION]...

Each release fetches a tiny kernel in each way that it knows (by its version, by its branch, without
either, or all of it through huggingface_hub), then loads it again without the network. Compared is
what fadoctor reads of each cache (repository, branch, builds, metadata), and whether it says right
that the second load works. Ends with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known
from fadoctor.sources.hub.cache import find_cache, read_cache
from fadoctor.sources.hub.choice import System
from tools.compare_choice import RELEASES, helpers, unpacked
from tools.fake_hub import FakeHub, commit_of, kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.hub.cache import Kernel

REPOSITORY = "kernels-community/tiny"
CHOSEN = "torch213-cxx11-cu130-x86_64-linux"
OTHERS = ("torch212-cxx11-cu130-x86_64-linux", "torch213-cxx98-cu130-x86_64-linux")
ARCHS = ("8.0", "9.0a")
SYSTEM = System(torch=(2, 13), backend="cuda", backend_version=(13, 0), cxx11_abi=True)
WAYS: dict[str, dict[str, object]] = {
    "version": {"version": 1}, "branch": {"revision": "v1"}, "nothing": {},
    "whole": {"revision": "v1"},
}  # fmt: skip
_SCRIPT = Path(__file__).with_name("_load_kernel.py")


class Setting:
    """A release with a cache of its own, and a Hub."""

    def __init__(self, release: str, hub: FakeHub, cache: Path, home: Path) -> None:
        path = f"{unpacked(release, cache)}:{helpers(cache)}:{_SCRIPT.parent}"
        self.environ = {
            "PYTHONPATH": path, "PATH": "", "HOME": str(home), "HF_ENDPOINT": hub.origin,
            "HF_HUB_DISABLE_XET": "1", "no_proxy": "127.0.0.1",
        }  # fmt: skip

    def load(self, arguments: dict[str, object], **other: Any) -> dict[str, Any]:
        """Return what a child says that loads the kernel; ``environ`` and ``whole`` are passed."""
        environ = {**self.environ, **other.pop("environ", {})}
        job = {"repository": REPOSITORY, "arguments": arguments,
               "torch": msgspec.to_builtins(SYSTEM), **other}  # fmt: skip
        done = subprocess.run(
            [sys.executable, str(_SCRIPT)], input=json.dumps(job), capture_output=True, text=True,
            check=False, env=environ, timeout=120,
        )  # fmt: skip
        answer = json.loads(done.stdout) if done.stdout else {"traceback": done.stderr}
        return dict(answer)


def habit(release: str, column: str) -> object:
    """Return a cell of the table kernels-releases."""
    asked = {"version": Known(release, "a release")}
    cell = Matrix(load_knowledge().tables).find("kernels-releases", asked).cell(column)
    return getattr(cell, "value", None)


def publish(hub: FakeHub) -> None:
    """Put the tiny kernel there: two versions, of which the second has another build alone."""
    builds = dict.fromkeys((CHOSEN, *OTHERS), ARCHS)
    hub.put(
        REPOSITORY,
        {"v1": kernel(builds), "v2": kernel({OTHERS[0]: ()}, metadata={"version": 2}),
         "main": kernel(builds)},
    )  # fmt: skip


def ways(release: str) -> list[str]:
    """Return how a release can be asked."""
    known = ["branch", "whole"]
    if habit(release, "offline") in ("revisions", "none", "named"):
        known.append("version")
    if not habit(release, "names_version"):
        known.append("nothing")
    return known


def compare(release: str, way: str, hub: FakeHub, cache: Path) -> Iterator[str]:
    """Yield in words what differs for one release and one way to ask."""
    kind = str(habit(release, "repositories"))
    with tempfile.TemporaryDirectory() as home:
        setting = Setting(release, hub, cache, Path(home))
        arguments = WAYS[way]
        first = setting.load(arguments, **({"whole": kind} if way == "whole" else {}))
        if "traceback" in first:
            yield f"it was not fetched: {last_line(first)}"
            return
        folder = find_cache(setting.environ, kind)
        found = read_cache(folder, offline=True) if folder is not None else ()
        branch = "main" if way == "nothing" else "v1"
        files = (hub.branches("kernels", REPOSITORY) or {})[branch]
        yield from misread(found, kind, branch, commit_of(branch, files))
        if way == "whole":
            arguments = WAYS["version" if "version" in ways(release) else "branch"]
        again = setting.load(arguments, environ={"HF_HUB_OFFLINE": "1"})
        loads, says = "traceback" not in again, says_it_loads(release, arguments, found)
        if loads != says:
            yield "offline it loads" if loads else f"offline it fails: {last_line(again)}"
        snapshot = Path(first["file"].partition("/build/")[0])
        yield from by_folder(release, setting, snapshot)


def by_folder(release: str, setting: Setting, snapshot: Path) -> Iterator[str]:
    """Yield what differs where LOCAL_KERNELS names the snapshot, as hub-offline advises."""
    if habit(release, "local_kernels") is not True:
        return
    named = {"HF_HUB_OFFLINE": "1", "LOCAL_KERNELS": f"{REPOSITORY}={snapshot}"}
    found = setting.load({"version": 1}, environ=named)
    if "traceback" in found:
        yield f"LOCAL_KERNELS does not help: {last_line(found)}"


def misread(found: tuple[Kernel, ...], kind: str, branch: str, commit: str) -> Iterator[str]:
    """Yield what is read otherwise than it was published."""
    if [(each.kind, each.repository) for each in found] != [(kind, REPOSITORY)]:
        yield f"read {[(each.kind, each.repository, each.branch) for each in found]}"
        return
    (one,) = found
    if one.branch != branch:
        yield f"the branch is read as {one.branch}, not {branch} ({commit[:12]})"
    if CHOSEN not in one.builds:
        yield f"builds are read as {sorted(one.builds)}"
        return
    metadata = one.builds[CHOSEN]
    if (metadata.version, metadata.archs) != (1, ARCHS):
        yield f"metadata are read as {metadata}"


def says_it_loads(release: str, arguments: dict[str, object], found: tuple[Kernel, ...]) -> bool:
    """Return what the table and the cache say of a load without the network."""
    match habit(release, "offline"):
        case "all":
            return True
        case "revisions":
            return "version" not in arguments
        case "named":
            return any(each.named and each.whole for each in found)
        case _:
            return False


def last_line(answer: dict[str, Any]) -> str:
    """Return the end of a traceback."""
    return str(answer["traceback"].strip().splitlines()[-1])


def main() -> None:
    """Compare all releases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--release", action="append", default=[])
    options = parser.parse_args()
    releases, caches, wrong = options.release or RELEASES, 0, 0
    with FakeHub() as hub:
        publish(hub)
        for release in releases:
            for way in ways(release):
                caches += 1
                for problem in compare(release, way, hub, options.cache):
                    wrong += 1
                    sys.stdout.write(f"kernels {release}, asked by {way}: {problem}\n")
    sys.stdout.write(f"{len(releases)} releases, {caches} caches, {wrong} differences\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
