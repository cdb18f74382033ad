"""Manifests, locks, configurations and notebooks. An input begins with the name of its file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.knowledge.matrix.yaml_reader import read_yaml
from fadoctor.model.environment import Environment, Target
from fadoctor.model.errors import FadoctorError, InputError
from fadoctor.model.fact import Known
from fadoctor.sources.configs import READERS
from fadoctor.sources.configs.reading import read_configurations
from fadoctor.sources.manifests.commands import install_script
from fadoctor.sources.manifests.formats import conda_spec
from fadoctor.sources.manifests.images import dockerfile
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from fadoctor.sources.scripts.child._fadoctor_script import read as read_script
from fadoctor.syntax.notebook import read_notebook
from tools.fuzz.loop import FailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.fuzz.loop import Read

_TESTS = Path(__file__).parents[2] / "tests" / "unit" / "sources"
_HOST = {"host.os": "linux", "host.machine": "x86_64", "host.platform": "linux_x86_64",
         "python.version": "3.12.3", "python.implementation": "cpython"}  # fmt: skip
_STARTS = ("python", "shell")
"""Kinds of configurations whose readers start a process."""


def _samples(*patterns: str) -> list[bytes]:
    """Return samples of the tests, each with its name in front."""
    folder = _TESTS / "manifests" / "samples"
    found = dict.fromkeys(path for each in patterns for path in sorted(folder.glob(each)))
    return [f"{path.name}\n".encode() + path.read_bytes() for path in found]


def _configs(*patterns: str) -> list[bytes]:
    folder = _TESTS / "configs" / "public"
    found = [path for each in patterns for path in sorted(folder.glob(each))]
    return [f"{path.name.removesuffix('.txt')}\n".encode() + path.read_bytes() for path in found]


def yaml_corpus() -> list[bytes]:
    """Return environments, locks and configurations in YAML."""
    return [*_samples("*.yml", "*.yaml", "pixi*.lock"), *_configs("*.yaml", "*.yml")]


def toml_corpus() -> list[bytes]:
    """Return projects in TOML."""
    return _samples("*.toml", "Pipfile")


def locks_corpus() -> list[bytes]:
    """Return locks of every kind."""
    return _samples("*.lock", "pylock.toml", "conda-lock.yml", "explicit.txt")


def lists_corpus() -> list[bytes]:
    """Return lists of requirements, Dockerfiles and scripts that install."""
    listed = (
        b"requirements.txt\n-r more.txt\n-c ../bounds.txt\n--extra-index-url https://x.example/\n"
    )
    listed += (
        b'torch==2.6.0 ; python_version < "3.13" \\\n  --hash=sha256:00\n-e git+https://x/y#z\n'
    )
    script = b"install.sh\npip install -U torch==2.6.0 'flash-attn>=2,<3' --no-build-isolation\n"
    setup = b"setup.cfg\n[options]\ninstall_requires =\n  torch>=2\n  flash-attn\n"
    return [listed, script, setup, *_samples("Dockerfile", "*.txt")]


def notebooks_corpus() -> list[bytes]:
    """Return notebooks."""
    cell = (
        b'{"cells": [{"cell_type": "code", "source": ["%pip install torch==2.6.0\\n", "x = 1"]}]}'
    )
    return [b"a.ipynb\n" + cell, *_configs("*.ipynb.txt")]


class _Reading:
    """Reads a file in a folder in every way that somebody may ask for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        knowledge = load_knowledge()
        for module in (conda_spec, dockerfile, install_script):  # each input would load it again
            module.load_knowledge = lambda: knowledge  # type: ignore[attr-defined]
        self.matrix = Matrix(knowledge.tables)
        facts = {name: Known(value, "given") for name, value in _HOST.items()}
        self.host = Environment("0", Target("environment", "x", "y"), dict(facts))

    def file(self, data: bytes) -> Path:
        """Write an input to the file that it names."""
        name, _, text = data.partition(b"\n")
        base = name.decode("utf-8", "replace").replace("/", "").replace("\0", "").strip(". ")[:80]
        path = self.folder / (base or "requirements.txt")
        path.write_bytes(text)
        return path

    def manifest(self, path: Path) -> bool:
        """Read what it asks for, and plan with it."""
        try:
            planned_environment(self.host, [read_manifest(str(path))], self.matrix)
        except InputError as error:
            _said(error)
            return False
        return True

    def configuration(self, path: Path) -> bool:
        """Read it as a configuration, of the kind that it says, and as YAML of rules."""
        found = False
        try:
            read_yaml(path.read_text(encoding="utf-8", errors="replace"), str(path))
        except FadoctorError as error:
            _said(error)
        for kind in ("", "axolotl", "deepspeed"):
            found |= self._as(path, kind)
        return found

    @staticmethod
    def _as(path: Path, kind: str) -> bool:
        try:
            read_configurations([str(path)], kind)
        except FadoctorError as error:
            _said(error)
            return False
        return True


def _said(error: FadoctorError) -> None:
    """Look at what a person would read: no control may be in it, and no whole file."""
    text = str(error)
    if any(not char.isprintable() for char in text) or len(text) > 4000:
        raise FailedError(0, b"", f"an error of {len(text)} characters: {text[:200]!r}")


def _both(folder: Path, *, configs: bool) -> Read:
    reading = _Reading(folder)

    def read(data: bytes) -> bool:
        path = reading.file(data)
        try:
            found = reading.manifest(path)
            if configs and path.suffix not in (".py", ".sh", ".ipynb"):
                found |= reading.configuration(path)
            return found
        finally:
            path.unlink()

    return read


def yaml_reader(folder: Path) -> Read:
    """Return what reads YAML as a manifest, as a configuration and as rules.

    Readers that start a process are left out: what runs in it is a target of its own.
    """
    both = _both(folder, configs=True)
    harmless = {kind: module for kind, module in READERS.items() if kind not in _STARTS}

    def read(data: bytes) -> bool:
        with patch("fadoctor.sources.configs.reading.READERS", harmless):
            return both(data)

    return read


def toml_reader(folder: Path) -> Read:
    """Return what reads a project."""
    return _both(folder, configs=False)


locks_reader = lists_reader = toml_reader


class _Text(NamedTuple):
    text: str

    def error(self, problem: str) -> Exception:
        """Return the error to raise about it."""
        return InputError("given", problem)


def notebooks_reader(folder: Path) -> Read:
    """Return what reads a notebook: what it installs, its cells, and the calls in them."""
    reading = _Reading(folder)
    warnings.simplefilter("ignore")

    def read(data: bytes) -> bool:
        path = reading.file(data)
        found = reading.manifest(path)
        path.unlink()
        try:
            book = read_notebook(_Text(data.partition(b"\n")[2].decode("utf-8", "surrogateescape")))
        except InputError as error:
            _said(error)
            return found
        _parsed(lambda: read_script(
            {"source": book.text, "cells": list(book.cells), "wanted": ["from_pretrained"]}
        ))  # fmt: skip
        return True

    return read


def _parsed(read: Callable[[], object]) -> None:
    """Parse Python; what its parser raises is answered in words by the process that runs it."""
    try:
        read()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
