"""Ask a resolver what the commands of a plan would do, one after the other, installing nothing."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import venv
from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.plan import ActionKind
from tests.states.tiny_packages import Offer, metadata
from tests.uv import UV

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan

# + torch==2.8.0 / + flash-attn @ file:///x/flash_attn-2.8.3-py3-none-any.whl
_LINE = re.compile(
    r" ([-+~]) ([A-Za-z0-9._-]+)(?:==| @ file:\S+/\w+-)([0-9][0-9A-Za-z.+!]*)", re.MULTILINE
)
_INDEX = ("--index-url", "--extra-index-url")
_DROPPED = ("--index-strategy",)

State = dict[str, str]


class Refused(Exception):  # noqa: N818 -- the word of the resolver
    """The resolver has no answer to a command."""


class Resolver:
    """uv, over folders that hold what the tables know; one environment that is filled anew."""

    def __init__(self, matrix: Matrix, folder: Path) -> None:
        self.matrix = matrix
        self.folder = folder
        self.offers: dict[str, Offer] = {}
        self.uv = UV
        self.environment = folder / "env"
        venv.create(self.environment, with_pip=False)
        [self.site] = self.environment.glob("lib/python*/site-packages")
        self.asked = 0

    def after(
        self, plan: Plan, before: Environment, requires: Mapping[str, dict[str, str]]
    ) -> State:
        """Return what is installed once every command of a plan has been run."""
        installed = before.fact("packages.installed")
        assert isinstance(installed, Known)
        state: State = {name: version for name, version in installed.value.items() if version}  # type: ignore[union-attr]
        version = before.fact("python.version")
        assert isinstance(version, Known)
        python = ".".join(str(version.value).split(".")[:2])
        offer = self._offer(python)
        known = dict(requires)
        for name, there in state.items():
            offer.also(name, there, requires.get(name, {}))
        for action in plan.actions:
            if action.kind is ActionKind.UNINSTALL:
                for name in action.requirements:
                    state.pop(name, None)
            elif action.kind is ActionKind.INSTALL:
                state = self._install(action.argv, state, offer, known)
        return state

    def undone(
        self, plan: Plan, after: State, before: Environment, requires: Mapping[str, dict[str, str]]
    ) -> State:
        """Return what is installed once every step was taken back by the command beside it."""
        version = before.fact("python.version")
        assert isinstance(version, Known)
        offer = self._offer(".".join(str(version.value).split(".")[:2]))
        state = after
        for action in reversed(plan.actions):
            for command in action.undo.split(" && ") if action.argv else ():
                argv = shlex.split(command)
                if "uninstall" in argv:
                    names = argv[argv.index("uninstall") :]
                    state = {name: v for name, v in state.items() if name not in names}
                elif argv:
                    state = self._install(argv, state, offer, requires)
        return state

    def _offer(self, python: str) -> Offer:
        if python not in self.offers:
            self.offers[python] = Offer(self.matrix, python, self.folder / python)
        return self.offers[python]

    def _install(
        self,
        argv: Sequence[str],
        state: State,
        offer: Offer,
        requires: Mapping[str, dict[str, str]],
    ) -> State:
        self._fill(state, requires)
        words = self._words(argv, offer)
        command = [
            self.uv, "pip", "install", "--dry-run", "--offline", "--no-config", "--no-index",
            "--cache-dir", str(self.folder / "cache"), "--python", str(self.environment), *words,
        ]  # fmt: skip
        self.asked += 1
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise Refused(f"{' '.join(words)}: {done.stderr}")
        said = _LINE.findall(done.stderr)
        gone = {name for sign, name, _ in said if sign == "-"}
        new = {name: version for sign, name, version in said if sign != "-"}
        return {name: version for name, version in state.items() if name not in gone} | new

    def _words(self, argv: Sequence[str], offer: Offer) -> list[str]:
        """Return a command's options and requirements, with folders for indexes and addresses."""
        rest = iter(argv[argv.index("install") + 1 :])
        places, words = [offer.place("")], []
        for word in rest:
            if word in _INDEX:
                place = offer.place(next(rest))
                places = [place] if word == _INDEX[0] else [*places, place]
            elif word in _DROPPED or word == "--python":
                next(rest)
            elif " @ " in word:
                name, _, url = word.partition(" @ ")
                words.append(f"{name} @ {offer.file(url).as_uri()}")
            else:
                words.append(word)
        return [*(f"--find-links={place}" for place in places), *words]

    def _fill(self, state: State, requires: Mapping[str, dict[str, str]]) -> None:
        for path in self.site.glob("*.dist-info"):
            shutil.rmtree(path)
        for name, version in state.items():
            info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
            info.mkdir()
            text = metadata(name, version, requires.get(name, {}))
            (info / "METADATA").write_text(text, encoding="utf-8")
            (info / "RECORD").write_text("", encoding="utf-8")
            (info / "INSTALLER").write_text("pip", encoding="utf-8")
