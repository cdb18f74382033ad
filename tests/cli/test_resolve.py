"""``--resolve``: a resolver on PATH decides what files leave open; without it nothing is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor import api
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Unknown

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ASSUMED = ("--gpu", "H100", "--driver", "580.65", "--platform", "linux_x86_64",
           "--python-version", "3.12", "--glibc", "2.39")  # fmt: skip
_UV = """#!/bin/sh
echo "$*" >> {asked}
case "$*" in --version) echo "uv 0.9.1"; exit 0;; esac
{answer}
"""


class Bench:
    """A folder with a manifest, and a PATH that begins with a uv made for the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "requirements.txt"
        self.asked = folder / "asked"
        self.env = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
        (folder / "bin").mkdir()

    def uv(self, answer: str) -> None:
        program = self.folder / "bin" / "uv"
        program.write_text(_UV.format(asked=self.asked, answer=answer))
        program.chmod(0o755)

    def options(self, text: str) -> tuple[str, ...]:
        self.file.write_text(text)
        return ("--requirements", str(self.file), *ASSUMED)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_answer_decides(run: Run, bench: Bench) -> None:
    bench.uv("echo torch==2.8.0; echo xformers==0.0.31; echo triton==3.4.0")
    options = bench.options("torch\nxformers\n")
    done = run("check", *options, "--resolve", "--format", "json", env=bench.env)
    report = json.loads(done.stdout)
    assert report["environment"]["torch.version"]["value"] == "2.8.0"
    found = {each["rule_id"]: each for each in report["findings"]}
    assert {at["file"] for at in found["xformers-torch-mismatch"]["locations"]} == {str(bench.file)}
    assert any("Picked by uv 0.9.1" in note for note in report["target"]["notes"])


def test_nothing_is_asked_without_the_option(run: Run, bench: Bench) -> None:
    bench.uv("exit 1")
    run("check", *bench.options("torch\n"), env=bench.env)
    assert not bench.asked.exists()
    done = run("check", "--resolve", "--gpu", "H100", env=bench.env)
    assert done.returncode == 2
    assert "--resolve needs --requirements" in done.stderr


def test_a_refusal_is_an_error_and_a_failure_is_none(run: Run, bench: Bench) -> None:
    options = (*bench.options("torch==2.8.0\neinops\n"), "--resolve")
    bench.uv("echo 'No solution found: einops depends on torch==2.7.0.' >&2; exit 1")
    done = run("check", *options, env=bench.env)
    assert "einops depends on torch==2.7.0" in done.stdout.replace("\n", " ")
    assert done.returncode == 1
    bench.uv("echo 'Failed to fetch: connection refused' >&2; exit 2")
    done = run("check", *options, env=bench.env)
    assert "uv 0.9.1 gave no answer: Failed to fetch" in done.stdout
    assert done.returncode == 3


def test_fix_plans_on_the_answer(run: Run, bench: Bench) -> None:
    bench.uv("echo torch==2.8.0; echo xformers==0.0.31; echo triton==3.4.0")
    options = (*bench.options("torch<2.9\nxformers\n"), "--resolve", "--dry-run")
    done = run("fix", *options, "--want", "xformers", env=bench.env)
    assert "+xformers==0.0.32" in done.stdout
    assert done.returncode == 1


def _asked(bench: Bench, text: str) -> dict[str, Any]:
    bench.file.write_text(text)
    return {"requirements": str(bench.file), "gpu": "H100", "driver": "580.65",
            "platform": "linux_x86_64", "python_version": "3.12", "glibc": "2.39"}  # fmt: skip


def test_a_program_asks_as_the_command_does(
    run: Run, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts that a resolver decided are judged later, without asking again."""
    bench.uv("echo torch==2.8.0; echo xformers==0.0.31; echo triton==3.4.0")
    options = bench.options("torch\nxformers\n")
    printed = run("facts", *options, "--resolve", env=bench.env)
    monkeypatch.setenv("PATH", bench.env["PATH"])
    asked = _asked(bench, "torch\nxformers\n")
    read = api.facts(**asked, resolve=True)
    told = json.loads(printed.stdout)["facts"]
    for name in ("torch.version", "xformers.version", "triton.version", "packages.resolved"):
        assert msgspec.to_builtins(read.facts[name]) == told[name]
    assert len(bench.asked.read_text().splitlines()) == 4  # a version and a question, twice
    later = api.check(facts=read)
    assert "xformers-torch-mismatch" in {each.rule_id for each in later.findings}
    assert later.findings == api.check(**asked, resolve=True).findings
    planned = api.plan(**asked, resolve=True, want="xformers")
    assert any("xformers==0.0.32" in edit.diff for edit in planned.edits)


def test_a_program_asks_nobody_unless_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.uv("exit 1")
    monkeypatch.setenv("PATH", bench.env["PATH"])
    asked = _asked(bench, "torch\n")
    for call in (api.check, api.facts, api.plan):
        call(**asked)
    assert not bench.asked.exists()
    with pytest.raises(UsageError, match="needs --requirements"):
        api.check(resolve=True)


def test_a_program_sees_that_nobody_answered(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.uv("echo 'Failed to fetch: connection refused' >&2; exit 2")
    monkeypatch.setenv("PATH", bench.env["PATH"])
    report = api.check(**_asked(bench, "torch\n"), resolve=True)
    found = report.environment["packages.resolved"]
    assert isinstance(found, Unknown)
    assert "connection refused" in found.reason


@pytest.mark.network
@pytest.mark.usefixtures("uv_on_path")
def test_the_real_resolver_answers(run: Run, bench: Bench) -> None:
    options = bench.options("torch==2.8.0\nxformers\n")
    done = run("check", *options, "--resolve", "--format", "json")
    facts = json.loads(done.stdout)["environment"]
    assert facts["xformers.version"]["value"].startswith("0.0.32")
    assert facts["packages.resolved"]["value"].startswith("uv ")
