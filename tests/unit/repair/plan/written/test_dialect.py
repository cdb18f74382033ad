"""The same change in the words of each installer, for both kinds of shell."""

from __future__ import annotations

import shlex

import pytest

from fadoctor.repair.plan.written.dialect import Dialect, choose_dialect, command_line
from fadoctor.sources.manifests.formats.project_lists import Listed
from tests.unit.judging.engine.builders import environment

PYTHON = "/opt/my envs/bin/python"
ITEMS = ("torch==2.8.0", "flash-attn @ https://e.org/a%2Bb.whl")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("pip", (PYTHON, "-m", "pip", "install", "--index-url", "https://e.org/x")),
        ("conda", (PYTHON, "-m", "pip", "install", "--index-url", "https://e.org/x")),
        ("uv", ("uv", "pip", "install", "--python", PYTHON, "--index-url", "https://e.org/x")),
        ("uv-project", ("uv", "add", "--index", "https://e.org/x")),
        ("poetry", ("poetry", "add")),
        ("pixi", ("pixi", "add", "--pypi")),
        ("pdm", ("pdm", "add")),
    ],
)
def test_install(name: str, start: tuple[str, ...]) -> None:
    argv = Dialect(name, PYTHON).install(ITEMS, "https://e.org/x")
    assert argv == (*start, *ITEMS)


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("pip", (PYTHON, "-m", "pip", "uninstall", "--yes", "a", "b")),
        ("uv", ("uv", "pip", "uninstall", "--python", PYTHON, "a", "b")),
        ("uv-project", ("uv", "remove", "a", "b")),
        ("poetry", ("poetry", "remove", "a", "b")),
        ("pixi", ("pixi", "remove", "--pypi", "a", "b")),
        ("pdm", ("pdm", "remove", "a", "b")),
    ],
)
def test_uninstall(name: str, argv: tuple[str, ...]) -> None:
    assert Dialect(name, PYTHON).uninstall(("a", "b")) == argv


@pytest.mark.parametrize("name", ["uv-project", "poetry", "pdm"])
def test_a_package_of_a_group_is_changed_there(name: str) -> None:
    """Seen: `uv add peft==0.21.2` beside a group with peft==0.17.0, which uv refuses."""
    dialect = Dialect(name, PYTHON, {"my-peft": (Listed(("--group", "train")),)})
    tool = dialect.install(("x",))[0]
    assert dialect.install(("My_Peft==1",)) == (tool, "add", "--group", "train", "My_Peft==1")
    assert dialect.install(("x==1", "my-peft")) == (tool, "add", "x==1", "my-peft")
    assert dialect.uninstall(("my-peft",)) == (tool, "remove", "--group", "train", "my-peft")


def test_a_release_is_named_in_each_list_that_refuses_it() -> None:
    """Seen: `uv add peft==0.18.0` beside a group with peft==0.17.1; the dependencies take both."""
    group = Listed(("--group", "dev"), "==0.17.1")
    open_, pinned = (
        Dialect("uv-project", PYTHON, {"peft": (Listed((), specifier), group)})
        for specifier in (">=0.17", "==0.17.1")
    )
    assert open_.lists_of("peft==0.18.0") == [("--group", "dev")]
    assert pinned.lists_of("peft==0.18.0") == [(), ("--group", "dev")]
    assert pinned.lists_of("peft>=0.18") == pinned.lists_of("other==1") == [()]
    argv = pinned.install(("peft==0.18.0",), within=("--group", "dev"))
    assert argv == ("uv", "add", "--group", "dev", "peft==0.18.0")


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("uv-project", ("uv", "pip", "uninstall", "--python", PYTHON, "triton")),
        ("poetry", (PYTHON, "-m", "pip", "uninstall", "--yes", "triton")),
    ],
)
def test_what_a_project_does_not_list_goes_from_its_environment(
    name: str, argv: tuple[str, ...]
) -> None:
    """Seen: `uv remove` refuses a package that was installed by hand."""
    dialect = Dialect(name, PYTHON, {"torch": (Listed(),)})
    assert dialect.uninstall(("triton",)) == argv
    assert dialect.uninstall(("Torch",))[1] == "remove"
    assert Dialect(name, PYTHON).uninstall(("triton",))[1] == "remove"


def test_an_extra_of_poetry_is_installed_after_the_change() -> None:
    """Seen: after `poetry add --optional data ...` the package was as before."""
    lists = [(), ("--optional", "data"), ("--group", "dev")]
    argv = ("poetry", "install", "--extras", "data")
    assert Dialect("poetry", PYTHON).install_extras(lists) == argv
    assert Dialect("poetry", PYTHON).install_extras(lists[::2]) == ()
    assert Dialect("uv-project", PYTHON).install_extras(lists) == ()


@pytest.mark.parametrize(
    ("wanted", "made_by", "project", "name"),
    [
        ("auto", "venv", "", "pip"),
        ("auto", "uv", "", "uv"),
        ("auto", "uv", "uv-project", "uv-project"),
        ("auto", None, "poetry", "poetry"),
        ("pip", "uv", "uv-project", "pip"),
        ("conda", "venv", "", "conda"),
    ],
)
def test_who_is_spoken_to(wanted: str, made_by: str | None, project: str, name: str) -> None:
    facts = environment({"python.installer": made_by})
    assert choose_dialect(wanted, facts, project).name == name


@pytest.mark.parametrize(
    ("name", "command"), [("poetry", "`poetry sync`"), ("pdm", "`pdm sync --clean`")]
)
def test_what_came_new_goes_when_a_project_comes_back(name: str, command: str) -> None:
    """Seen: after `poetry install` four packages were left that `poetry add` had installed."""
    assert command in Dialect(name, PYTHON).project_files


def test_posix_quoting_survives_a_shell() -> None:
    argv = (PYTHON, "-m", "pip", "install", "a==1; rm -rf /", "$(x)")
    assert tuple(shlex.split(command_line(argv, windows=False))) == argv


def test_variables_stand_before_a_posix_command() -> None:
    line = command_line(("pip", "install"), windows=False, env={"MAX_JOBS": "4 4"})
    assert line == "MAX_JOBS='4 4' pip install"


def test_windows_quoting() -> None:
    line = command_line(("C:\\my env\\python.exe", "install", "a b"), windows=True)
    assert line == '& "C:\\my env\\python.exe" install "a b"'


@pytest.mark.parametrize("name", ["uv-project", "poetry", "pixi", "pdm"])
def test_a_project_comes_back_by_its_own_files(name: str) -> None:
    """`uv add huggingface-hub==1.5.0` was printed as the undo: the project refuses that."""
    assert "restore" in Dialect(name, PYTHON).project_files
    assert Dialect("uv", PYTHON).project_files == ""
