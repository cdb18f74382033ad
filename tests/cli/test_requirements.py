"""``--requirements``: from files to findings, exit codes and changed lines, with the program."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ASSUMED = ("--gpu", "H100", "--driver", "550.54", "--platform", "linux_x86_64",
           "--python-version", "3.12", "--glibc", "2.39")  # fmt: skip
WRONG = "torch==2.8.0\nxformers==0.0.31\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(WRONG)
    return path


def test_findings_point_at_the_lines(run: Run, file: Path) -> None:
    done = run("check", "--requirements", str(file), *ASSUMED, "--format", "json")
    report = json.loads(done.stdout)
    found = {each["rule_id"]: each for each in report["findings"]}
    assert found.keys() == {"requirements-contradict", "xformers-torch-mismatch"}
    finding = found["xformers-torch-mismatch"]
    assert {(each["file"], each["line"]) for each in finding["locations"]} == {
        (str(file), 1),
        (str(file), 2),
    }
    assert report["target"]["kind"] == "manifest"
    assert report["environment"]["torch.binary.file"]["state"] == "unknown"
    assert done.returncode == 1  # pip refuses both pins at once


def test_two_files_and_a_lock_of_another_platform(run: Run, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "more.txt"
    other.write_text("torch==2.7.1\n")
    done = run("check", "--requirements", str(file), "--requirements", str(other), *ASSUMED)
    assert "says ==2.8.0" in done.stdout.replace("\n", " ")
    assert done.returncode == 1  # pip refuses both at once


def test_a_plan_says_which_torch_of_an_image_a_package_takes_away(run: Run, tmp_path: Path) -> None:
    """And it writes no torch over that of the image: `check` alone named the other one."""
    (tmp_path / "Dockerfile").write_text(
        "FROM nvcr.io/nvidia/pytorch:25.01-py3\nRUN pip install torchvision==0.20.1\n"
    )
    done = run("fix", "--requirements", "Dockerfile", "--dry-run", "--gpu", "H100", cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert "requires torch==2.5.1: an installer replaces torch==2.6.0a0+ecf3bae40a" in said
    assert "+RUN" not in done.stdout


@pytest.mark.long
def test_facts_replay(run: Run, file: Path, tmp_path: Path) -> None:
    file.write_text("torch>=2.9,<2.12\n")
    saved = tmp_path / "facts.json"
    run("facts", "--requirements", str(file), *ASSUMED, "--output", str(saved))
    direct = run("check", "--requirements", str(file), *ASSUMED, "--format", "json")
    again = run("check", "--facts", str(saved), "--format", "json")
    found = [json.loads(done.stdout)["findings"] for done in (direct, again)]
    assert [each["rule_id"] for each in found[0]] == [each["rule_id"] for each in found[1]]
    assert found[0][0]["severity"] == "warning"
    assert found[0][0]["locations"] == found[1][0]["locations"]


def test_fix_shows_the_lines_and_writes_them_only_where_told(run: Run, file: Path) -> None:
    options = ("--requirements", str(file), *ASSUMED, "--want", "xformers")
    shown = run("fix", "--dry-run", *options)
    assert "-xformers==0.0.31\n" in shown.stdout
    assert "+xformers==0.0.32" in shown.stdout
    assert shown.returncode == 1
    assert file.read_text() == WRONG
    written = run("fix", "--write", *options)
    assert written.returncode == 1
    assert file.read_text().startswith("torch==2.8.0\nxformers==0.0.32")
    clean = run("fix", "--dry-run", *options)
    assert "-xformers" not in clean.stdout


def test_a_bound_is_written_that_keeps_what_fails_away(run: Run, file: Path) -> None:
    """vLLM brings the newest transformers, and a package that nobody knows may bound it."""
    file.write_text("vllm==0.8.5\ngradio>=4.0.0\n")
    options = ("--requirements", str(file), *ASSUMED)
    run("fix", "--write", *options)
    assert file.read_text() == "vllm==0.8.5\ngradio>=4.0.0\ntransformers<4.53\n"
    again = run("fix", "--dry-run", *options)
    assert "Ask for" not in again.stdout
    assert again.returncode == 0


def test_fix_says_which_group_nobody_asked_for(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[project]\nname = "x"\nversion = "0"\ndependencies = ["torch==2.8.0"]\n'
        '[dependency-groups]\ngpu = ["vllm==0.8.5"]\n'
    )
    shown = run("fix", "--dry-run", "--requirements", str(project), *ASSUMED)
    assert "--group gpu takes it" in shown.stdout.replace("\n", " ")


@pytest.mark.sampled
@pytest.mark.parametrize("pinned", ["flash-attn==2.7.4.post1", "flash-attn"])
def test_a_line_that_pip_builds_in_isolation_becomes_its_wheel(
    run: Run, file: Path, pinned: str
) -> None:
    """The plan said that no combination of releases works, after eight searches in vain."""
    file.write_text(f"torch==2.6.0\n{pinned}\n")
    options = ("--requirements", str(file), *ASSUMED)
    assert "build-no-torch-isolation" in errors(run, options)
    run("fix", "--write", *options)
    first, second = file.read_text().splitlines()
    assert first == "torch==2.6.0"
    assert second.startswith("flash-attn @ https://github.com/Dao-AILab/flash-attention/")
    assert second.endswith("2.7.4.post1%2Bcu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl")
    assert errors(run, options) == []


@pytest.mark.long
def test_a_pair_that_pip_refuses_is_settled_by_the_release_that_comes(run: Run, file: Path) -> None:
    file.write_text("torch==2.8.0\nxformers==0.0.30\n")
    options = ("--requirements", str(file), *ASSUMED, "--want", "xformers")
    assert "requirements-contradict" in errors(run, options[:-2])
    shown = run("fix", "--dry-run", *options)
    assert "Still wrong" not in shown.stdout
    run("fix", "--write", "--yes", *options)
    assert file.read_text() == "torch==2.8.0\nxformers==0.0.32.post2\n"
    assert errors(run, options[:-2]) == []


MANIFESTS = (
    "transformer-engine[pytorch]==1.12\nflash-attn==2.6.3\n",
    "vllm==0.8.4\ntransformers==4.49.0\nhuggingface-hub==0.30.2\ntokenizers==0.21.1\n",
    "vllm==0.11.0\ntransformers>=4.55.2\n",
    "torch==2.4.0\nflash-attn==2.8.3\nxformers==0.0.30\n",
    "torch==2.6.0\nsglang==0.5.23\n",
    "-r more.txt\nflash-attn==2.7.4.post1\n",
)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(
    "gpu", ["H100", *(pytest.param(gpu, marks=pytest.mark.long) for gpu in ("V100", "RTX 5090"))]
)
@pytest.mark.parametrize("text", MANIFESTS, ids=range(len(MANIFESTS)))
def test_a_written_file_is_never_worse(run: Run, file: Path, text: str, gpu: str) -> None:
    """gpt-neox's two lines had one error before, and three afterwards."""
    file.write_text(text)
    file.with_name("more.txt").write_text("torch==2.6.0\ntransformers==4.49.0\n")
    options = ("--requirements", str(file), "--gpu", gpu, *ASSUMED[2:])
    before = errors(run, options)
    run("fix", "--write", *options)
    assert len(errors(run, options)) <= len(before)


def errors(run: Run, options: tuple[str, ...]) -> list[str]:
    done = run("check", *options, "--format", "json")
    found = json.loads(done.stdout)["findings"]
    return [each["rule_id"] for each in found if each["severity"] == "error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fix", "--requirements", "{}"), "give --dry-run, which shows the lines to change"),
        (
            ("fix", "--requirements", "{}", "--yes"),
            "give --dry-run, which shows the lines to change",
        ),
        (("fix", "--write"), "--write needs --requirements"),
        (("check", "--requirements", "/dev/zero"), "/dev/zero: is not a regular file"),
        (("check", "--requirements", "{}.gone"), "requirements.txt.gone: No such file"),
        (("check", *("--requirements", "{}") * 33), "at most 32 files"),
    ],
)
def test_what_cannot_be_is_refused(
    run: Run, file: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = run(*(each.replace("{}", str(file)) for each in arguments))
    assert done.returncode == 2
    assert said in done.stderr.replace("\n", " ")


def test_a_malformed_file_is_named_with_its_line(run: Run, file: Path) -> None:
    file.write_text("torch==2.8.0\ntorch=>2\n")
    done = run("check", "--requirements", str(file))
    assert done.returncode == 2
    assert f"{file}:2: no requirement as PEP 508 has it: 'torch=>2'" in done.stderr


def test_a_pipe_is_not_waited_for(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "requirements.txt")
    done = run("check", "--requirements", str(tmp_path / "requirements.txt"))
    assert done.returncode == 2
    assert "is not a regular file" in done.stderr


def test_no_environment_need_be_here(run: Run, file: Path, tmp_path: Path) -> None:
    done = run(
        "check", "--requirements", str(file), *ASSUMED,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "xformers-torch-mismatch" in done.stdout


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("wanted", "severity", "code"),
    [
        ("transformers>=4.56", "warning", 0),
        ("transformers>=5", "error", 1),
        ("transformers>=4.50,<5", "", 0),
        # which may bound it: nobody knows how, but it is so in all of the range, or in a part
        ("transformers>=5\naxolotl", "warning", 0),
        ("transformers>=4.56\naxolotl", "note", 0),
    ],
)
def test_a_ranged_helper_goes_wrong_from_a_version_on(
    run: Run, file: Path, wanted: str, severity: str, code: int
) -> None:
    file.write_text(f"torch==2.8.0\npeft==0.17.0\n{wanted}\n")
    done = run(
        "check", "--requirements", str(file), "--gpu", "H100", "--driver", "580.65",
        *ASSUMED[4:], "--format", "json",
    )  # fmt: skip
    report = json.loads(done.stdout)
    found = {each["rule_id"]: each for each in report["findings"]}
    # What transformers compares before it loads an adapter: a later peft is needed there, too.
    beside = found.pop("requirement-unmet", {"severity": "note"})
    assert beside["severity"] == "note"
    assert {each["severity"] for each in found.values()} == ({severity} if severity else set())
    if severity:
        assert found.keys() == {"peft-hybrid-cache"}
    if severity == "warning":
        said = "with every release that" if "axolotl" in wanted else "this happens since 5.0.0"
        assert said in found["peft-hybrid-cache"]["message"]
    if severity == "note":
        assert "this happens since 5.0.0" in found["peft-hybrid-cache"]["message"]
    assert done.returncode == code


def test_extras_are_chosen_by_name(run: Run, tmp_path: Path) -> None:
    """What is not chosen is said; what nobody has is refused with what there is."""
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[project]\nname = "mine"\ndependencies = ["torch==2.7.1"]\n'
        '[project.optional-dependencies]\ntrain = ["flash-attn==2.8.3"]\n'
    )
    options = ("check", "--requirements", str(project), "--gpu", "V100")
    plain, chosen = run(*options), run(*options, "--extra", "train")
    assert (plain.returncode, chosen.returncode) == (0, 1)
    said = " ".join(plain.stdout.split())
    assert "the extra train is not asked for by default: flash-attn" in said
    assert "--extra train takes it" in said
    assert "gpu-too-old-fa2" in chosen.stdout
    assert "pyproject.toml:5:10" in " ".join(chosen.stdout.split())
    wrong = run(*options, "--extra", "trian")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Did you mean train?" in wrong.stderr
    alone = run("check", "--extra", "train")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "--extra and --group belong to --requirements" in alone.stderr
