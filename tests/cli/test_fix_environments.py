"""`fix`, `check` and `fix --undo`, carried out in the environments that people have.

No torch: transformers and a tokenizers that it refuses are a real finding, and small. A conda
prefix is not among them: no index of Python packages has micromamba.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.cli.conftest import COMMAND
from tests.unit.repair.apply.trees import manifest
from tests.uv import UV

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytestmark = [pytest.mark.slow, pytest.mark.network]

FRAMEWORK = "transformers==4.46.3"
WRONG, RIGHT = "tokenizers==0.22.1", "tokenizers==0.20.3"
BENEATH = ("huggingface_hub==0.36.0", "packaging", "numpy==2.1.0", "regex", "pyyaml", "requests",
           "tqdm", "filelock", "fsspec", "typing_extensions", "safetensors", "hf-xet",
           "charset_normalizer", "idna", "urllib3", "certifi")  # fmt: skip
PROJECT = """\
[project]
name = "tuning"
version = "0.1"
requires-python = ">=3.10"
dependencies = ["transformers==4.46.3", "numpy>=2,<2.3"]
"""
NOBODY = 65534


class Place(NamedTuple):
    """An environment, and how fadoctor is started."""

    prefix: Path
    beside: tuple[Path, ...] = ()
    """What else must be as before: a project's files, a folder of packages that others use."""
    env: Mapping[str, str] = {}
    before: tuple[str, ...] = ()


def _run(*argv: str, **options: object) -> None:
    subprocess.run(argv, check=True, **options)  # type: ignore[call-overload]


def _uv(folder: Path, *python: str) -> Path:
    _run(UV, "venv", "--quiet", *python, str(folder))
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--python", str(folder)]
    _run(*install, FRAMEWORK, WRONG, *BENEATH)
    return folder


def made_by_pip(folder: Path) -> Place:
    _run(sys.executable, "-m", "venv", str(folder))
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    _run(*install, FRAMEWORK, WRONG, *BENEATH)
    return Place(folder)


def made_by_uv(folder: Path) -> Place:
    return Place(_uv(folder, "--python", sys.executable))


def for_the_system_python(folder: Path) -> Place:
    python = shutil.which("python3", path="/usr/bin")
    if python is None:
        pytest.skip("no Python of the system")
    return Place(_uv(folder, "--python", python))


def upon_another(folder: Path) -> Place:
    """Return an environment that sees the packages of a second folder by a .pth file."""
    shared = folder.with_name("shared")
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--target", str(shared)]
    _run(*install, "--python", sys.executable, *BENEATH)
    _run(UV, "venv", "--quiet", "--python", sys.executable, str(folder))
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "shared.pth").write_text(f"{shared}\n")
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--python", str(folder)]
    _run(*install, FRAMEWORK, WRONG)
    return Place(folder, (shared,))


def a_uv_project(folder: Path) -> Place:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    _run(UV, "sync", "--quiet", "--python", sys.executable, cwd=folder)
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--python", str(folder / ".venv")]
    _run(*install, WRONG)
    return Place(folder / ".venv", (folder / "pyproject.toml", folder / "uv.lock"))


def offline_with_a_cache(folder: Path) -> Place:
    place = made_by_uv(folder)
    second = folder.with_name("second")
    _run(UV, "venv", "--quiet", "--python", sys.executable, str(second))
    _run(UV, "pip", "install", "--quiet", "--python", str(second), FRAMEWORK, RIGHT, *BENEATH)
    return place._replace(env={"UV_OFFLINE": "1"})


CHANGED: tuple[Callable[[Path], Place], ...] = (
    made_by_pip,
    made_by_uv,
    for_the_system_python,
    upon_another,
    a_uv_project,
    offline_with_a_cache,
)


def _fadoctor(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(UV).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "COLUMNS": "500", **place.env}
    if place.before:
        env.pop("XDG_CACHE_HOME", None)
    argv = [*place.before, *COMMAND, *arguments, "--python", str(place.prefix)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, env=env)


def _state(place: Place) -> list[object]:
    kept = (place.prefix, *place.beside)
    return [manifest(path) if path.is_dir() else path.read_bytes() for path in kept]


def _tokenizers(place: Place) -> set[str]:
    return {path.name for path in place.prefix.glob("lib/python*/site-packages/tokenizers-*")}


@pytest.fixture(autouse=True)
def needs_uv() -> None:
    """Skip where the tests have no uv."""
    if not UV:
        pytest.skip("no uv")


@pytest.mark.thinned(every=2)
@pytest.mark.parametrize("make", CHANGED, ids=lambda make: make.__name__)
def test_fixed_checked_and_undone(make: Callable[[Path], Place], tmp_path: Path) -> None:
    place = make((tmp_path / "place" / "env").resolve())
    before = _state(place)
    assert _tokenizers(place) == {"tokenizers-0.22.1.dist-info"}
    broken = _fadoctor(place, "check", "--no-smoke")
    assert broken.returncode == 1, broken.stdout
    fixed = _fadoctor(place, "fix", "--yes")
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr
    assert _tokenizers(place) == {"tokenizers-0.20.3.dist-info"}
    checked = _fadoctor(place, "check", "--no-smoke")
    assert checked.returncode == 0, checked.stdout
    undone = _fadoctor(place, "fix", "--undo")
    assert undone.returncode == 0, undone.stderr
    assert _state(place) == before


def test_offline_without_a_cache_everything_is_as_before(tmp_path: Path) -> None:
    place = made_by_uv((tmp_path / "env").resolve())
    place = place._replace(env={"UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "empty")})
    before = _state(place)
    failed = _fadoctor(place, "fix", "--yes")
    assert failed.returncode == 1, failed.stdout
    assert "is as it was before" in failed.stderr
    assert "the plan was not carried out" in failed.stderr
    assert _state(place) == before


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that every user may read: pytest's own are for one user."""
    folder = Path(tempfile.mkdtemp()).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_an_ordinary_user_may_not_write_stays(open_folder: Path) -> None:
    setpriv, python = shutil.which("setpriv"), shutil.which("python3", path="/usr/bin")
    if setpriv is None or python is None:
        pytest.skip("needs setpriv, and a Python that other users may start")
    user = (setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    prefix = _uv(open_folder / "env", "--python", python)
    place = Place(prefix, before=user)
    if _fadoctor(place, "check", "--no-smoke").returncode != 1:
        pytest.skip("another user cannot start the Python of these tests")
    before = _state(place)
    refused = _fadoctor(place, "fix", "--yes")
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "must not be changed" in refused.stderr
    assert "Make a new environment" in refused.stdout
    assert _state(place) == before
