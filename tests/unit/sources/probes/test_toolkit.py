"""Build tools: where they are found, which one counts, and what is run to learn a version."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.catalogue import build_catalogue, generic_name
from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.run import run
from fadoctor.sources.probes.toolkit import probe
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

NVCC = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2024 NVIDIA Corporation
Built on Thu_Mar_28_02:18:24_PDT_2024
Cuda compilation tools, release 12.4, V12.4.131
Build cuda_12.4.r12.4/compiler.34097967_0
"""
VERSION_JSON = {"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}
NOTHING = Target("environment", "x", "--python")


def program(path: Path, text: str = "exit 9") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def never(command: Command) -> Result:
    raise AssertionError(f"was run: {command.argv}")


def printing(**outputs: str) -> Callable[[Command], Result]:
    """Return a `run` that answers by the program's name."""

    def answer(command: Command) -> Result:
        name = Path(command.argv[0]).name.replace("+", "x")
        return Result(Ending.EXITED, 0, outputs[name], "", 0.0)

    return answer


def facts_of(
    root: Path,
    run: Callable[[Command], Result] = never,
    target: Target = NOTHING,
    facts: dict[str, Fact] | None = None,
    timeout_s: float = 60.0,
    **environ: str,
) -> dict[str, Fact]:
    world = World(target, {"PATH": "/usr/bin", **environ}, run, "linux", root)
    return probe(world, facts or {}, timeout_s)


def value(facts: dict[str, Fact], name: str) -> object:
    fact = facts[f"toolkit{name}"]
    assert isinstance(fact, Known), fact
    return fact.value


def reason(facts: dict[str, Fact], name: str) -> str:
    fact = facts[f"toolkit{name}"]
    assert isinstance(fact, Unknown), fact
    return fact.reason


def test_a_machine_without_tools(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    assert facts.pop("toolkit.count") == Known(
        0, "CUDA_HOME, PATH, /usr/local/cuda*, conda, wheels"
    )
    assert all(isinstance(fact, Absent) for fact in facts.values())


def test_every_fact_of_the_catalogue_is_provided(tmp_path: Path) -> None:
    program(tmp_path / "usr/local/cuda/bin/nvcc")
    names = {s.name for s in build_catalogue().values() if s.provider == "toolkit"}
    found = facts_of(tmp_path, printing(nvcc=NVCC))
    assert {generic_name(name) for name in found} == names


def test_this_very_machine() -> None:
    world = World(NOTHING, dict(os.environ), run, "linux")
    facts = probe(world, {})
    if shutil.which("nvcc"):
        assert value(facts, ".nvcc.path") == shutil.which("nvcc")
        assert "." in str(value(facts, ".nvcc.version"))
    if shutil.which("gcc"):
        assert value(facts, ".gcc.path") == shutil.which("gcc")
        assert int(str(value(facts, ".gcc.version")).split(".")[0]) >= 4
    if shutil.which("ninja"):
        assert str(value(facts, ".ninja.version")).startswith("1.")


def test_nvcc_is_asked_where_no_file_tells_its_version(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/nvcc")
    facts = facts_of(tmp_path, printing(nvcc=NVCC))
    line = "Cuda compilation tools, release 12.4,"
    assert facts["toolkit.nvcc.version"] == Known("12.4", f"/usr/bin/nvcc --version: {line}")
    assert facts["toolkit[0].version"] == facts["toolkit.nvcc.version"]


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("version.json", json.dumps(VERSION_JSON), "12.4"),
        ("version.json", '{"cuda_nvcc": {"version": "13.0.88"}, "cuda": {"version": "9"}}', "13.0"),
        ("version.txt", "CUDA Version 10.2.89\n", "10.2"),
    ],
)
def test_files_beside_it_save_the_run(tmp_path: Path, file: str, text: str, expected: str) -> None:
    program(tmp_path / "usr/local/cuda/bin/nvcc")
    (tmp_path / "usr/local/cuda" / file).write_text(text)
    facts = facts_of(tmp_path)
    assert value(facts, ".nvcc.version") == expected
    assert value(facts, "[0].version") == expected


@pytest.mark.parametrize(
    "junk",
    ["", "{", "[]", "3", '{"cuda": 3}', '{"cuda": {"version": [1]}}', "[" * 100_000, "\0\xff"],
)
def test_a_broken_version_file_leads_to_the_run(tmp_path: Path, junk: str) -> None:
    program(tmp_path / "usr/local/cuda/bin/nvcc")
    (tmp_path / "usr/local/cuda/version.json").write_text(junk)
    (tmp_path / "usr/local/cuda/version.txt").write_text(junk)
    facts = facts_of(tmp_path, printing(nvcc=NVCC))
    assert value(facts, ".nvcc.version") == "12.4"


def test_every_toolkit_is_found_once(tmp_path: Path) -> None:
    for name in ("cuda-11.8", "cuda-12.4"):
        program(tmp_path / "usr/local" / name / "bin/nvcc")
        (tmp_path / "usr/local" / name / "version.txt").write_text(f"CUDA Version {name[5:]}.0")
    (tmp_path / "usr/local/cuda").symlink_to("cuda-12.4")
    facts = facts_of(tmp_path, PATH="/usr/local/cuda-12.4/bin:/missing")
    assert value(facts, ".count") == 2
    assert [value(facts, f"[{i}].version") for i in (0, 1)] == ["12.4", "11.8"]
    assert [value(facts, f"[{i}].origin") for i in (0, 1)] == ["PATH", "/usr/local"]
    assert value(facts, "[1].nvcc") == "/usr/local/cuda-11.8/bin/nvcc"


def test_at_most_sixteen_toolkits_are_listed(tmp_path: Path) -> None:
    for number in range(40):
        program(tmp_path / f"usr/local/cuda-{number}/bin/nvcc")
        (tmp_path / f"usr/local/cuda-{number}/version.txt").write_text("CUDA Version 12.4.0")
    facts = facts_of(tmp_path)
    assert value(facts, ".count") == 16
    assert "toolkit[16].nvcc" not in facts


def test_a_build_takes_cuda_home_before_path_before_the_usual_place(tmp_path: Path) -> None:
    for place in ("opt/cuda", "usr", "usr/local/cuda"):
        program(tmp_path / place / "bin/nvcc")
    run = printing(nvcc=NVCC)
    found = [
        facts_of(tmp_path, run, CUDA_HOME="/opt/cuda"),
        facts_of(tmp_path, run, CUDA_PATH="/opt/cuda"),
        facts_of(tmp_path, run),
        facts_of(tmp_path, run, PATH=""),
    ]
    assert [value(facts, ".nvcc.path") for facts in found] == [
        "/opt/cuda/bin/nvcc",
        "/opt/cuda/bin/nvcc",
        "/usr/bin/nvcc",
        "/usr/local/cuda/bin/nvcc",
    ]
    assert value(found[0], "[0].origin") == "CUDA_HOME"


@pytest.mark.parametrize("home", ["/missing", "relative"])
def test_a_cuda_home_without_nvcc_hides_the_others_from_a_build(tmp_path: Path, home: str) -> None:
    program(tmp_path / "usr/bin/nvcc")
    facts = facts_of(tmp_path, printing(nvcc=NVCC), CUDA_HOME=home)
    assert facts["toolkit.nvcc.path"] == Absent(f"$CUDA_HOME: no {home}/bin/nvcc")
    assert isinstance(facts["toolkit.nvcc.version"], Absent)
    assert value(facts, ".count") == 1


def test_the_current_folder_is_never_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nvcc", "gcc", "g++", "ninja", "bin/nvcc", "bin/gcc"):
        program(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    facts = facts_of(tmp_path / "root", PATH=".::bin:", CC="./gcc", CUDA_HOME="")
    assert value(facts, ".count") == 0
    assert isinstance(facts["toolkit.gcc.path"], Absent)


def test_folders_and_plain_files_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "usr/bin/gcc").mkdir(parents=True)
    (tmp_path / "usr/bin/nvcc").touch(mode=0o644)
    facts = facts_of(tmp_path)
    assert isinstance(facts["toolkit.gcc.path"], Absent)
    assert isinstance(facts["toolkit.nvcc.path"], Absent)


def test_the_name_that_gcc_leads_to_saves_the_run(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/x86_64-linux-gnu-gcc-12")
    (tmp_path / "usr/bin/gcc-12").symlink_to("x86_64-linux-gnu-gcc-12")
    (tmp_path / "usr/bin/gcc").symlink_to("gcc-12")
    facts = facts_of(tmp_path)
    source = "/usr/bin/gcc leads to x86_64-linux-gnu-gcc-12"
    assert facts["toolkit.gcc.version"] == Known("12", source)
    assert facts["toolkit.gcc.path"] == Known("/usr/bin/gcc", "PATH")


def test_other_compilers_are_asked(tmp_path: Path) -> None:
    for name in ("gcc", "g++"):
        program(tmp_path / "usr/bin" / name)
    facts = facts_of(tmp_path, printing(gcc="13.3.1\n", gxx="4.8\n"))
    assert value(facts, ".gcc.version") == "13.3.1"
    assert value(facts, ".gxx.version") == "4.8"


@pytest.mark.parametrize("stated", ["/opt/bin/gcc-11", "ccache /opt/bin/gcc-11 -m64", "gcc-11"])
def test_the_variable_names_the_compiler(tmp_path: Path, stated: str) -> None:
    program(tmp_path / "opt/bin/gcc-11")
    program(tmp_path / "usr/bin/gcc")
    facts = facts_of(tmp_path, CC=stated, PATH="/opt/bin")
    assert facts["toolkit.gcc.path"] == Known("/opt/bin/gcc-11", "$CC")
    assert value(facts, ".gcc.version") == "11"


def test_a_variable_that_names_nothing_leaves_no_compiler(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/gcc")
    facts = facts_of(tmp_path, CC="/opt/gone")
    assert facts["toolkit.gcc.path"] == Absent("/opt/gone ($CC) is not there")


@pytest.mark.parametrize("name", ["clang-17", "icx", "nvc++", "clang++"])
def test_another_compiler_is_not_taken_for_gcc(tmp_path: Path, name: str) -> None:
    """clang 17 would pass for a gcc that no CUDA accepts."""
    program(tmp_path / "usr/bin" / name)
    facts = facts_of(tmp_path, CXX=name)
    assert value(facts, ".gxx.path") == f"/usr/bin/{name}"
    assert reason(facts, ".gxx.version") == f"it is {name}, not gcc"


def test_apples_gcc_is_not_started(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/gcc")
    world = World(NOTHING, {"PATH": "/usr/bin"}, never, "macos", tmp_path)
    assert "Apple's clang" in reason(probe(world, {}), ".gcc.version")


def env(prefix: Path, *, may_run: bool, python: str = "python3.11") -> Target:
    site = prefix / "lib" / python / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    roots = {"prefix": str(prefix), "site": str(site)}
    return Target("environment", "x", "--python", None, (str(site),), roots, may_run)


def test_ninja_of_the_target_comes_first_and_its_metadata_saves_the_run(tmp_path: Path) -> None:
    program(tmp_path / "root/usr/bin/ninja")
    target = env(tmp_path / "venv", may_run=True)
    program(tmp_path / "venv/bin/ninja")
    installed: dict[str, Fact] = {"packages.installed": Known({"ninja": "1.11.1.4"}, "metadata")}
    facts = facts_of(tmp_path / "root", never, target, installed)
    assert value(facts, ".ninja.version") == "1.11.1.4"


def test_ninja_of_the_system_is_asked(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/ninja")
    facts = facts_of(tmp_path, printing(ninja="1.11.1.git.kitware.jobserver-1\n"))
    assert value(facts, ".ninja.version") == "1.11.1"


@pytest.mark.parametrize("may_run", [True, False])
def test_no_tool_of_the_environment_is_run(tmp_path: Path, *, may_run: bool) -> None:
    """A named one had its ninja run by `check --no-smoke`, which runs nothing but Python."""
    target = env(tmp_path / "venv", may_run=may_run)
    for name in ("ninja", "gcc", "nvcc"):
        program(tmp_path / "venv/bin" / name)
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "venv/bin")
    facts = facts_of(root, never, target, PATH=f"{tmp_path}/venv/bin", CXX="/link/gcc")
    for name in (".ninja.version", ".gcc.version", ".gxx.version", ".nvcc.version", "[0].version"):
        assert "is in the examined environment" in reason(facts, name)


def test_what_conda_records_saves_the_run_of_its_tools(tmp_path: Path) -> None:
    target = env(tmp_path / "conda", may_run=True)
    meta = tmp_path / "conda/conda-meta"
    meta.mkdir()
    recorded = (
        "gcc_impl_linux-64-12.4.0-hb2e57f8_1", "gxx_impl_linux-64-11.3.0-h_1",
        "gcc_linux-64-9.9.9-h_1", "ninja-1.12.1-h297d8ca_0", "ninja-base-1.1-0",
    )  # fmt: skip
    for name in recorded:
        (meta / f"{name}.json").touch()
    for name in ("gcc", "g++", "ninja"):
        program(tmp_path / "conda/bin" / name)
    root = tmp_path / "root"
    root.mkdir()
    facts = facts_of(root, never, target, PATH=f"{tmp_path}/conda/bin")
    assert value(facts, ".gcc.version") == "12.4.0"
    assert value(facts, ".gxx.version") == "11.3.0"
    assert value(facts, ".ninja.version") == "1.12.1"


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ({"nvidia-cuda-nvcc": "13.0.88"}, "13.0"),
        ({"nvidia-cuda-nvcc-cu12": "12.4.131", "nvidia-cuda-nvrtc-cu12": "12.4.127"}, "12.4"),
    ],
)
def test_a_toolkit_of_wheels_has_the_version_of_its_wheel(
    tmp_path: Path, packages: dict[str, str], expected: str
) -> None:
    target = env(tmp_path / "venv", may_run=False)
    program(Path(target.site[0]) / "nvidia/cu13/bin/nvcc")
    facts: dict[str, Fact] = {"packages.nvidia": Known(packages, "metadata")}
    found = facts_of(tmp_path / "root", never, target, facts)
    assert value(found, "[0].version") == expected
    assert value(found, "[0].origin") == "wheel"
    assert value(found, "[0].nvcc") == "$site/nvidia/cu13/bin/nvcc"
    assert isinstance(found["toolkit.nvcc.path"], Absent)


def test_a_toolkit_of_conda_has_the_version_of_its_package(tmp_path: Path) -> None:
    target = env(tmp_path / "conda", may_run=False)
    program(tmp_path / "conda/bin/nvcc")
    (tmp_path / "conda/conda-meta").mkdir()
    (tmp_path / "conda/conda-meta/cuda-nvcc-tools-12.6.85-he02047a_1.json").touch()
    facts = facts_of(tmp_path / "root", never, target)
    assert (value(facts, "[0].version"), value(facts, "[0].origin")) == ("12.6", "conda")


@pytest.mark.parametrize("inside", ["backends/nvidia/bin", "third_party/cuda/bin"])
def test_the_ptxas_that_triton_brings(tmp_path: Path, inside: str) -> None:
    target = env(tmp_path / "venv", may_run=True)
    program(Path(target.site[0]) / "triton" / inside / "ptxas")
    facts = facts_of(tmp_path / "root", never, target)
    assert value(facts, ".ptxas.path") == f"$site/triton/{inside}/ptxas"
    assert "was not run" in reason(facts, ".ptxas.version")


def test_a_ptxas_that_is_named_comes_first_and_a_wrong_name_does_not_count(tmp_path: Path) -> None:
    target = env(tmp_path / "venv", may_run=True)
    program(Path(target.site[0]) / "triton/backends/nvidia/bin/ptxas")
    program(tmp_path / "root/opt/cuda/bin/ptxas")
    (tmp_path / "root/opt/cuda/version.json").write_text(json.dumps(VERSION_JSON))
    named = facts_of(tmp_path / "root", never, target, TRITON_PTXAS_PATH="/opt/cuda/bin/ptxas")
    assert named["toolkit.ptxas.path"] == Known("/opt/cuda/bin/ptxas", "$TRITON_PTXAS_PATH")
    assert value(named, ".ptxas.version") == "12.4"
    wrong = facts_of(tmp_path / "root", never, target, TRITON_PTXAS_PATH="/opt/gone")
    assert value(wrong, ".ptxas.path") == "$site/triton/backends/nvidia/bin/ptxas"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sleep 60", "gave no answer within"),
        ("kill -SEGV $$", "died of SIGSEGV"),
        ("echo no >&2; exit 4", "exited with status 4: no"),
        ("echo garbage", "names no version"),
        ("head -c 10000000 /dev/zero", "names no version"),
    ],
)
def test_each_way_to_break_has_its_own_reason(tmp_path: Path, text: str, words: str) -> None:
    for name in ("nvcc", "gcc", "ninja"):
        program(tmp_path / name, text)
    # Only who sleeps may be ended: a busy machine takes its time to answer.
    limit_s = 0.5 if text.startswith("sleep") else 60.0
    facts = facts_of(Path("/"), run, timeout_s=limit_s, PATH=f"{tmp_path}:/usr/bin:/bin")
    for name in (".nvcc.version", ".gcc.version", ".ninja.version"):
        assert words in reason(facts, name)


def test_a_long_path_variable_is_cut_off(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/gcc-12")
    facts = facts_of(tmp_path, PATH="/x:" * 100_000 + "/usr/bin", CC="gcc-12")
    assert isinstance(facts["toolkit.gcc.path"], Absent)
