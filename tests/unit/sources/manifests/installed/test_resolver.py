"""What a resolver is asked, what is read of its answer, and when it is not asked at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Fact, Known
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.sources.manifests.installed.question import ResolverQuestion, Unaskable, question_of
from fadoctor.sources.manifests.installed.resolver import ask
from fadoctor.sources.manifests.read import read_held

if TYPE_CHECKING:
    from pathlib import Path

FACTS: dict[str, Fact] = {
    "python.version": Known("3.12.3", "t"),
    "host.platform": Known("linux_x86_64", "t"),
    "host.glibc": Known("2.36", "t"),
}
SOURCES_ONLY = "hint: Wheels are required for `flash-attn` because building from source is disabled"


def asked(text: str, name: str = "requirements.txt") -> ResolverQuestion:
    return question_of((read_held(name, text),), FACTS)


class Resolver:
    """Answers in turn with what was recorded, and keeps what it was asked."""

    def __init__(self, *results: Result) -> None:
        self.results = list(results)
        self.argv: list[tuple[str, ...]] = []
        self.files: list[str] = []
        self.cwd: str | None = None

    def run(self, command: Command) -> Result:
        if "--version" in command.argv:
            return said("uv 0.9.1 (x86_64)\n")
        self.argv.append(command.argv)
        self.cwd = command.cwd
        with open(command.argv[-1], encoding="utf-8") as stream:  # noqa: PTH123
            self.files.append(stream.read())
        return self.results.pop(0)


def said(stdout: str = "", stderr: str = "", code: int = 0) -> Result:
    return Result(Ending.EXITED, code, stdout, stderr, 0.1)


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """Return variables with a PATH on which a uv is found."""
    program = tmp_path / "uv"
    program.write_text("")
    program.chmod(0o755)
    return {"PATH": str(tmp_path)}


def test_the_question_is_the_files() -> None:
    found = asked("torch>=2.6,<2.9 ; sys_platform == 'linux'\nvllm[audio]\n")
    assert found.requirements[1] == "vllm[audio]"
    assert found.requirements[0].startswith("torch<2.9,>=2.6; sys_platform")
    assert (found.python, found.platform, found.only_index) == ("3.12.3", "linux_x86_64", "")


def test_an_index_is_handed_on() -> None:
    index = "https://download.pytorch.org/whl/cu128"
    assert asked(f"--index-url {index}\ntorch\n").only_index == index
    assert asked(f"--extra-index-url {index}\ntorch\n").indexes == (index,)


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("FROM python:3.12\nRUN pip install torch\n", "Dockerfile", "in steps"),
        ("-r https://example.org/more.txt\ntorch\n", "requirements.txt", "not read"),
        ("--find-links https://example.org/files\ntorch\n", "requirements.txt", "not read"),
        ("a @ git+https://example.org/a\n", "requirements.txt", "no file of an index"),
        ("# nothing\n", "requirements.txt", "nothing"),
    ],
)
def test_what_one_resolution_does_not_answer_is_not_asked(text: str, name: str, why: str) -> None:
    with pytest.raises(Unaskable, match=why):
        asked(text, name)


def test_an_unknown_python_is_not_guessed() -> None:
    with pytest.raises(Unaskable, match="--python-version"):
        question_of((read_held("requirements.txt", "torch\n"),), {})


def test_uv_is_asked_for_the_target_and_builds_nothing(path: dict[str, str]) -> None:
    uv = Resolver(said("torch==2.8.0\nnvidia-cublas-cu12==12.8.4.1 ; sys_platform == 'linux'\n"))
    answer = ask(asked("torch<2.9\n"), uv.run, path)
    assert answer.by == "uv 0.9.1"
    assert answer.pins == {"torch": "2.8.0", "nvidia-cublas-cu12": "12.8.4.1"}
    assert uv.files == ["torch<2.9\n"]
    assert {
        "--no-build", "--python-version=3.12.3", "--python-platform=x86_64-manylinux_2_36"
    } <= set(uv.argv[0])  # fmt: skip
    assert uv.cwd is not None  # where no project's settings are
    assert uv.argv[0][-1].startswith(uv.cwd)


def test_a_package_of_sources_alone_is_left_out(path: dict[str, str]) -> None:
    uv = Resolver(said(stderr=f"error: No solution found\n{SOURCES_ONLY}", code=1),
                  said("torch==2.8.0\n"))  # fmt: skip
    answer = ask(asked("flash_attn\ntorch\n"), uv.run, path)
    assert answer.left_out == ("flash-attn",)
    assert uv.files[1] == "torch\n"
    assert answer.pins == {"torch": "2.8.0"}


@pytest.mark.parametrize(
    ("words", "is_proof"),
    [
        ("No solution found: Because a depends on b>=2 and you require b==1, unsatisfiable.", True),
        (f"No solution found: a has no usable wheels. {SOURCES_ONLY}", False),
        ("No solution found: Because a was not found in the package registry", False),
        ("No solution found: Because there is no version of torch==2.8.0+cu128", False),
        ("No solution found: hint: the network was disabled", False),
        ("Failed to fetch: http://example.org/simple/torch/", False),
        ("", False),
    ],
)
def test_only_what_packages_require_is_a_refusal(
    path: dict[str, str], words: str, *, is_proof: bool
) -> None:
    answer = ask(asked("a\nb==1\n"), Resolver(said(stderr=words, code=1)).run, path)
    assert bool(answer.refusal) is is_proof
    assert bool(answer.failure) is not is_proof
    assert answer.pins == {}


def test_a_resolver_that_hangs_or_says_nothing_is_a_failure(path: dict[str, str]) -> None:
    hangs = Result(Ending.TIMED_OUT, 0, "", "", 120.0)
    for result in (hangs, said("# nothing\n"), said("\x00\xff==\n" * 5)):
        answer = ask(asked("torch\n"), Resolver(result).run, path)
        assert answer.failure
        assert answer.pins == {}


def test_without_a_resolver_nothing_is_run(tmp_path: Path) -> None:
    answer = ask(asked("torch\n"), Resolver().run, {"PATH": str(tmp_path)})
    assert answer.failure == "neither uv nor pip is on PATH"


def test_pip_is_asked_only_about_its_own_python(tmp_path: Path) -> None:
    program = tmp_path / "pip"
    program.write_text("")
    program.chmod(0o755)
    listed = '{"install": [{"metadata": {"name": "Torch", "version": "2.8.0"}, "more": 1}]}'
    tried: list[tuple[str, ...]] = []

    def pip(minor: str, command: Command) -> Result:
        tried.append(command.argv)
        is_version = "--version" in command.argv
        return said(f"pip 25.0 from /x/pip (python {minor})\n" if is_version else listed)

    environ = {"PATH": str(tmp_path)}
    other = ask(asked("torch\n"), lambda command: pip("3.11", command), environ)
    assert "its own Python" in other.failure
    assert len(tried) == 1
    own = ask(asked("torch\n"), lambda command: pip("3.12", command), environ)
    assert own.pins == {"torch": "2.8.0"}
    assert {"--dry-run", "--only-binary", ":all:"} <= set(tried[-1])
