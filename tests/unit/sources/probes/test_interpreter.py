"""The target's interpreter: real ones, broken ones, and those of which only files are read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.processes.command import Command, Ending, Result, last_json_object
from fadoctor.processes.run import remember, run
from fadoctor.sources.probes.interpreter import (
    SCRIPT,
    InterpreterAnswer,
    InterpreterProblem,
    ask_interpreter,
    probe,
)
from fadoctor.sources.probes.interpreter_files import is_file, is_folder, list_folder, read_pyvenv
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.fact import Fact

VERSIONS = Path.home() / ".pyenv" / "versions"
PYTHONS = [sys.executable, "/usr/bin/python3", *map(str, VERSIONS.glob("3.*/bin/python"))]
SUPPORTED = [python for python in PYTHONS if "/3.6." not in python and "/3.7." not in python]

ANSWER = InterpreterAnswer(
    version="3.11.7",
    implementation="cpython",
    tag="cp311",
    abi_tag="cp311",
    ext_suffix=".cpython-311-x86_64-linux-gnu.so",
    platform_tag="linux_x86_64",
    free_threaded=False,
    executable="",
    prefix="/usr",
    base_prefix="/usr",
    headers="",
    externally_managed=False,
    stdlib="/usr/lib/python3.11",
    sys_path=(),
)


def never(command: Command) -> Result:
    raise AssertionError(f"was run: {command.argv}")


def script(folder: Path, text: str) -> str:
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def facts_of(
    prefix: Path | None,
    *site: Path,
    python: str | None = None,
    may_run: bool = False,
    run: Callable[[Command], Result] = never,
    timeout_s: float = 60.0,
) -> dict[str, Fact]:
    roots = {"prefix": str(prefix)} if prefix else {}
    folders = tuple(str(folder) for folder in site)
    target = Target("environment", "x", "--python", python, folders, roots, may_run)
    return probe(World(target, {"PATH": "/usr/bin:/bin"}, run, "linux"), {}, timeout_s)


def value(facts: dict[str, Fact], name: str) -> object:
    fact = facts[f"python.{name}"]
    assert isinstance(fact, Known), fact
    return fact.value


def reason(facts: dict[str, Fact], name: str) -> str:
    fact = facts[f"python.{name}"]
    assert isinstance(fact, Unknown), fact
    return fact.reason


def packages(prefix: Path, *files: str) -> Path:
    site = prefix / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    for name in files:
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).touch()
    return site


@pytest.mark.parametrize("python", SUPPORTED)
def test_real_interpreters_describe_themselves(python: str, tmp_path: Path) -> None:
    if not is_file(python):
        pytest.skip("not on this machine")
    answer = ask_interpreter(python, run, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert isinstance(answer, InterpreterAnswer), answer
    major, minor = answer.version.split(".")[:2]
    assert answer.tag == answer.abi_tag == f"cp{major}{minor}"
    assert answer.ext_suffix.startswith(f".cpython-{major}{minor}-")
    assert answer.implementation == "cpython"
    assert answer.platform_tag.startswith(("linux_", "macosx_"))
    assert is_folder(answer.prefix)
    assert not answer.free_threaded
    assert str(SCRIPT.parent) not in answer.sys_path
    assert answer.stdlib in answer.sys_path
    assert all(is_folder(folder) for folder in answer.package_folders())


def test_the_oldest_and_the_newest_interpreters_are_among_them() -> None:
    there = [version for version in ("3.8.18", "3.13.0") if (VERSIONS / version).is_dir()]
    if not there:
        pytest.skip("neither Python 3.8 nor 3.13 is on this machine")
    assert all(str(VERSIONS / version / "bin" / "python") in SUPPORTED for version in there)


def test_every_fact_of_the_catalogue_is_provided() -> None:
    names = {s.name for s in build_catalogue().values() if s.provider == "interpreter"}
    assert set(facts_of(None)) == names
    assert set(facts_of(None, python=sys.executable, may_run=True, run=run)) == names


def test_facts_of_this_interpreter() -> None:
    facts = facts_of(Path(sys.prefix), python=sys.executable, may_run=True, run=run)
    assert value(facts, "version") == ".".join(str(part) for part in sys.version_info[:3])
    assert value(facts, "free_threaded") is False
    assert isinstance(facts["python.headers"], Known | Absent)
    assert facts["python.tag"] == Known(
        f"cp{sys.version_info[0]}{sys.version_info[1]}",
        f"{sys.executable.replace(sys.prefix, '$prefix')}: sysconfig",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sleep 60", "gave no answer within"),
        ("kill -SEGV $$", "died of SIGSEGV"),
        ("echo hello; printf '\\033[31m{not json}\\n'", "printed no answer; its output ends with"),
        ("head -c 10000000 /dev/zero | tr '\\0' '{'", "printed no answer"),
        ("echo oops >&2; exit 3", "exited with status 3: oops"),
        ('echo \'{"schema": 1, "ok": false, "error": "no sysconfig"}\'', "no sysconfig"),
        ('echo \'{"ok": true, "version": 3}\'', "an answer that cannot be understood"),
    ],
)
def test_each_way_to_break_has_its_own_reason(tmp_path: Path, text: str, words: str) -> None:
    python = script(tmp_path, text)
    # Only who sleeps may be ended: a busy machine takes its time to answer.
    limit_s = 0.5 if text.startswith("sleep") else 60.0
    facts = facts_of(None, python=python, may_run=True, run=run, timeout_s=limit_s)
    assert words in reason(facts, "version")
    assert "\x1b" not in reason(facts, "version")
    assert reason(facts, "version") == reason(facts, "headers")


def test_what_cannot_be_started_has_one_too(tmp_path: Path) -> None:
    facts = facts_of(None, python=str(tmp_path / "gone"), may_run=True, run=run)
    assert "could not be started: No such file" in reason(facts, "version")


def test_a_broken_interpreter_leaves_what_files_tell(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("version = 3.11.7\n")
    python = script(tmp_path, "kill -SEGV $$")
    facts = facts_of(tmp_path, packages(tmp_path), python=python, may_run=True, run=run)
    assert value(facts, "version") == "3.11.7"
    assert "SIGSEGV" in reason(facts, "ext_suffix")


def test_an_answer_with_a_strange_version_is_none(tmp_path: Path) -> None:
    told = json.dumps({"schema": 1, "ok": True, "version": "three"})
    result = Result(Ending.EXITED, 0, told, "", 0.0)
    assert isinstance(ask_interpreter("python", lambda _: result, {}), InterpreterProblem)


@pytest.mark.parametrize(
    "code",
    [
        "print('hello')",
        "import sys; sys.stdout.write('no line end')",
        "print('{\"ok\": false}')",
        "raise RuntimeError('broken')",
        "import atexit; atexit.register(print, '{late')",
        "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()",
        "import sys; sys.stdout = None",
        "import sys; sys.path.append(3); sys.path.append('\\udc80')",
    ],
)
def test_a_noisy_or_broken_sitecustomize_does_not_matter(tmp_path: Path, code: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(code)
    answer = ask_interpreter(sys.executable, run, {"PYTHONPATH": str(tmp_path)})
    assert isinstance(answer, InterpreterAnswer), answer
    assert str(tmp_path) in answer.package_folders()
    assert not (tmp_path / "__pycache__").exists()


def test_the_current_folder_is_not_imported_from(tmp_path: Path) -> None:
    for name in ("json", "sysconfig", "os"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    argv = (sys.executable, "-B", str(SCRIPT))
    result = run(Command(argv, 5.0, {}, cwd=str(tmp_path)))
    answer = last_json_object(result.stdout)
    assert answer is not None, result
    assert str(tmp_path) not in str(answer["sys_path"])


def test_headers_and_the_mark_of_a_distribution_are_passed_on() -> None:
    told = msgspec.structs.replace(ANSWER, headers="/usr/include/Python.h", externally_managed=True)
    text = msgspec.json.encode({**msgspec.to_builtins(told), "ok": True}).decode()
    result = Result(Ending.EXITED, 0, text, "", 0.0)
    facts = facts_of(Path("/usr"), python="/usr/bin/python3", may_run=True, run=lambda _: result)
    assert value(facts, "headers") == "$prefix/include/Python.h"
    assert value(facts, "externally_managed") is True


def test_the_answer_is_one_line_on_its_own() -> None:
    result = subprocess.run([sys.executable, SCRIPT], capture_output=True, check=True, text=True)
    assert result.stdout.startswith("\n{")
    assert result.stdout.endswith("}\n")
    assert result.stdout.count("\n") == 2


def test_the_standard_library_holds_no_packages() -> None:
    stdlib = ("/usr/lib/python3.11", "/usr/lib/python3.11/lib-dynload", "C:\\Py\\DLLs")
    told = ("/repo", *stdlib, "relative", "/x/site-packages", "/nul\0")
    answer = msgspec.structs.replace(ANSWER, base_prefix="C:\\Py", stdlib=stdlib[0], sys_path=told)
    assert answer.package_folders() == ("/repo", "/x/site-packages")


def test_the_same_question_is_asked_once() -> None:
    asked = []

    def counted(command: Command) -> Result:
        asked.append(command)
        return Result(Ending.EXITED, 0, str(len(asked)), "", 0.0)

    once = remember(counted)
    first, other = Command(("a",), 1.0, {"X": "1"}), Command(("a",), 1.0, {"X": "2"})
    assert [once(c).stdout for c in (first, other, first, other)] == ["1", "2", "1", "2"]


def test_what_was_only_found_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    site = packages(tmp_path)
    facts = facts_of(tmp_path, site, python=str(tmp_path / "bin/python"))
    assert (value(facts, "version"), value(facts, "tag")) == ("3.11.7", "cp311")
    assert value(facts, "externally_managed") is False
    assert "name it with --python" in reason(facts, "ext_suffix")
    assert "name it with --python" in reason(facts, "headers")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("home = /usr/bin\nversion = 3.11.7\n", "venv"),
        ("home = /usr/bin\nuv = 0.13.8\nversion_info = 3.11.7\n", "uv"),
        ("home = /usr/bin\nversion_info = 3.11.7.final.0\nvirtualenv = 20.26.0\n", "virtualenv"),
    ],
)
def test_what_made_an_environment_stands_in_its_files(
    tmp_path: Path, config: str, expected: str
) -> None:
    (tmp_path / "pyvenv.cfg").write_text(config)
    facts = facts_of(tmp_path, packages(tmp_path))
    assert value(facts, "installer") == expected
    assert value(facts, "version") == "3.11.7"


def test_conda_and_the_system_are_told_apart(tmp_path: Path) -> None:
    python = str(tmp_path / "bin/python")
    assert value(facts_of(tmp_path, python=python), "installer") == "system"
    assert "neither" in reason(facts_of(tmp_path), "installer")
    (tmp_path / "conda-meta").mkdir()
    assert value(facts_of(tmp_path, python=python), "installer") == "conda"


def test_a_folder_tells_the_version_and_compiled_files_the_rest(tmp_path: Path) -> None:
    site = packages(tmp_path, "torch/_C.cpython-311-x86_64-linux-gnu.so", "torch/lib/libc10.so")
    facts = facts_of(None, site)
    assert (value(facts, "version"), value(facts, "tag")) == ("3.11", "cp311")
    assert value(facts, "ext_suffix") == ".cpython-311-x86_64-linux-gnu.so"
    assert (value(facts, "abi_tag"), value(facts, "implementation")) == ("cp311", "cpython")
    assert "name one with --python" in reason(facts, "headers")


@pytest.mark.parametrize(
    ("file", "tag", "abi"),
    [
        ("flash_attn_2_cuda.cpython-39-x86_64-linux-gnu.so", "cp39", "cp39"),
        ("a.cpython-313t-darwin.so", "cp313", "cp313t"),
        ("numpy.cp312-win_amd64.pyd", "cp312", "cp312"),
    ],
)
def test_names_of_compiled_files_tell_where_the_folder_does_not(
    tmp_path: Path, file: str, tag: str, abi: str
) -> None:
    (tmp_path / file).touch()
    (tmp_path / "stable.abi3.so").touch()
    facts = facts_of(None, tmp_path)
    assert (value(facts, "tag"), value(facts, "abi_tag")) == (tag, abi)
    assert value(facts, "free_threaded") is abi.endswith("t")
    assert value(facts, "version") == f"{tag[2]}.{tag[3:]}"


def test_compiled_files_that_disagree_tell_nothing(tmp_path: Path) -> None:
    for tag in ("310", "311"):
        (tmp_path / f"a{tag}.cpython-{tag}-x86_64-linux-gnu.so").touch()
    facts = facts_of(None, tmp_path)
    assert reason(facts, "tag") == "compiled files are there for cp310, cp311"
    assert reason(facts, "version") == reason(facts, "tag")


def test_left_overs_of_another_version_do_not_count(tmp_path: Path) -> None:
    names = ("a.cpython-310-x86_64-linux-gnu.so", "b.cpython-311-x86_64-linux-gnu.so")
    facts = facts_of(None, packages(tmp_path, *names))
    assert (value(facts, "tag"), value(facts, "abi_tag")) == ("cp311", "cp311")


@pytest.mark.parametrize(
    ("folder", "tag", "threads"),
    [("python3.13t", "cp313", True), ("pypy3.10", "pp310", False), ("python3.9", "cp39", False)],
)
def test_names_of_folders(tmp_path: Path, folder: str, tag: str, threads: object) -> None:
    facts = facts_of(None, tmp_path / "lib" / folder / "site-packages")
    assert value(facts, "tag") == tag
    assert value(facts, "free_threaded") is threads


def test_without_the_gil_files_for_the_other_python_are_left_overs(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.13t" / "site-packages"
    site.mkdir(parents=True)
    for abi in ("313", "313t"):
        (site / f"a.cpython-{abi}-x86_64-linux-gnu.so").touch()
    facts = facts_of(None, site)
    assert (value(facts, "tag"), value(facts, "abi_tag")) == ("cp313", "cp313t")
    assert value(facts, "ext_suffix") == ".cpython-313t-x86_64-linux-gnu.so"


def test_a_folder_of_pythonpath_says_nothing_of_the_interpreter(tmp_path: Path) -> None:
    more, own = (tmp_path / name / "site-packages" for name in ("python3.9", "python3.11"))
    for folder in (more, own):
        folder.mkdir(parents=True)
    (more / "a.cpython-39-x86_64-linux-gnu.so").touch()
    roots = {"site": str(own)}
    target = Target("environment", "x", "found", None, (str(more), str(own)), roots)
    facts = probe(World(target, {}, never, "linux"), {})
    assert value(facts, "tag") == "cp311"


def test_a_bare_folder_tells_nothing(tmp_path: Path) -> None:
    facts = facts_of(None, tmp_path)
    of_windows = {"python.embedded", "python.import_library"}
    assert all(isinstance(facts[name], Unknown) for name in facts.keys() - of_windows)
    assert all(isinstance(facts[name], Absent) for name in of_windows)


@pytest.mark.parametrize("junk", [b"", b"\0\xff" * 50_000, b"version = \x1b[31m9.9\n", b"=\n==\n"])
def test_junk_in_pyvenv_cfg_makes_no_version(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "pyvenv.cfg").write_bytes(junk)
    facts = facts_of(tmp_path, tmp_path)
    assert "name one with --python" in reason(facts, "version")
    assert value(facts, "installer") == "venv"


def test_a_huge_pyvenv_cfg_is_cut_off(tmp_path: Path) -> None:
    with (tmp_path / "pyvenv.cfg").open("wb") as file:
        file.write(b"Home = /usr/bin\n")
        file.truncate(100_000_000)
    config = read_pyvenv(tmp_path)
    assert config is not None
    assert config["home"] == "/usr/bin"
    assert sum(len(text) for pair in config.items() for text in pair) < 20_000


def test_paths_that_cannot_be_are_neither_file_nor_folder(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "loop", "x" * 5000, "a\0b", tmp_path / "missing"):
        assert not is_file(path)
        assert not is_folder(path)
        assert list_folder(path, 10) == []


def test_a_folder_is_listed_up_to_the_limit(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).touch()
    assert len(list_folder(tmp_path, 7)) == 7
