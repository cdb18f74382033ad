"""Bad input: one clear line on standard error, nothing on standard output, exit 2."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND
from tests.cli.environments import add_package, add_torch, make_environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


TARGET = '"target": {"kind": "x", "label": "x", "reason": "x"}'


def refused(run: Run, *arguments: str, **options: object) -> str:
    result = run("check", "--no-smoke", *arguments, **options)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    lines = result.stderr.strip().splitlines()
    assert "Traceback" not in result.stderr
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no facts as JSON"),
        ("{", "not JSON"),
        ("[1]", "JSON object"),
        ("{}", "missing required field"),
        ('{"fadoctor": "1", "target": 3, "facts": {}}', "$.target"),
        (f'{{"fadoctor": "1", {TARGET}, "facts": {{"a": {{"state": "perhaps"}}}}}}', "perhaps"),
        (f'{{"fadoctor": "1", "schema_version": 9, {TARGET}, "facts": {{}}}}', "version 9"),
        ("[" * 100_000, "not JSON: nested too deeply"),
    ],
)  # fmt: skip
def test_malformed_facts(run: Run, tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "facts.json"
    file.write_text(content)
    message = refused(run, "--facts", str(file))
    assert words in message
    assert "facts.json" in message


def test_facts_that_are_not_there(run: Run, tmp_path: Path) -> None:
    assert "No such file" in refused(run, "--facts", str(tmp_path / "none.json"))
    assert "is a folder" in refused(run, "--facts", str(tmp_path))


@pytest.mark.long
def test_unknown_gpu_gets_near_names(run: Run) -> None:
    assert "V100" in refused(run, "--gpu", "V10O")
    assert "RTX 4090" in refused(run, "--gpu", "RTX 4090 Pro")
    assert "sm_89" in refused(run, "--gpu", "sm_33")


@pytest.mark.parametrize(
    ("option", "value"),
    [("--driver", "new"), ("--glibc", "2.x"), ("--python-version", "3.x"), ("--platform", "amiga")],
)
def test_bad_overlays(run: Run, option: str, value: str) -> None:
    assert value in refused(run, option, value)


def test_target_that_cannot_be_examined(run: Run, tmp_path: Path) -> None:
    assert "nowhere" in refused(run, "--python", str(tmp_path / "nowhere"))
    (tmp_path / "text").write_text("hello")
    assert "text" in refused(run, "--python", str(tmp_path / "text"))
    assert "nowhere" in refused(run, "--site-packages", str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: [1", "broken-rule.yaml:2: not valid YAML"),
        ("id: broken-rule\n", "broken-rule.yaml:1: Object missing required field"),
        ("id: &a x\n", "anchors and aliases"),
    ],
)
def test_malformed_rules(run: Run, tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "own" / "area").mkdir(parents=True)
    (tmp_path / "own" / "area" / "broken-rule.yaml").write_text(content)
    assert words in refused(run, "--rules", str(tmp_path / "own"))


def test_own_rule_with_an_unknown_fact_names_file_line_and_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own" / "area").mkdir(parents=True)
    (tmp_path / "own" / "area" / "house-pin.yaml").write_text(
        "id: house-pin\ntitle: Pin\nsince: 1.0.0\narea: area\nseverity: warning\n"
        "confidence: high\nwhen:\n  torch.vresion: 2.8.0\nmessage: m\nwhy: w\n"
        "references: [{type: WEB, url: 'https://example.org/pins'}]\nverified: reproduced\n"
    )
    message = refused(run, "--rules", str(tmp_path / "own"))
    assert "house-pin.yaml:8 at `when.torch.vresion`" in message


def test_own_rule_is_used(run: Run, tmp_path: Path, stack: Path) -> None:
    (tmp_path / "own" / "area").mkdir(parents=True)
    (tmp_path / "own" / "area" / "house-pin.yaml").write_text(
        "id: house-pin\ntitle: Not our torch\nsince: 1.0.0\narea: area\nseverity: error\n"
        "confidence: high\nwhen:\n  torch.version: {violates: '==2.7.1'}\n"
        "message: torch {torch.version} is not the house's\nwhy: w\n"
        "references: [{type: WEB, url: 'https://example.org/pins'}]\nverified: reproduced\n"
    )
    result = run("check", "--no-smoke", "--rules", str(tmp_path / "own"), "--python", str(stack))
    assert result.returncode == 1
    assert "torch 2.8.0 is not the house's" in result.stdout


def test_broken_metadata_is_unknown_or_reported_and_never_a_stack(run: Run, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_package(site, "torch", "2.8.0")
    (site / "torch-2.8.0.dist-info" / "METADATA").write_bytes(b"\x00\xff\xfe" * 5000)
    (site / "triton-3.4.0.dist-info").mkdir()
    with (site / "triton-3.4.0.dist-info" / "METADATA").open("wb") as file:
        file.truncate(100 << 20)
    (site / "xformers-0.0.30.dist-info").mkdir()
    (site / "xformers-0.0.30.dist-info" / "METADATA").write_text("Name: xformers\n")
    (site / "~orch-2.7.0.dist-info").mkdir()
    result = run("check", "--no-smoke", "--exit-zero", "--python", str(tmp_path / "env"))
    assert result.returncode == 0
    assert "Traceback" not in result.stderr + result.stdout
    assert "package-half-removed" in result.stdout


def test_hostile_version_file_is_read_and_never_run(run: Run, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    with (site / "torch" / "version.py").open("a") as file:
        file.write(f"\nopen({str(tmp_path / 'was-run')!r}, 'w').write('x')\n")
        file.write("x = " + "(" * 5000 + "\n")
    result = run("check", "--no-smoke", "--exit-zero", "--python", str(tmp_path / "env"))
    assert "torch 2.8.0" in result.stdout
    assert not (tmp_path / "was-run").exists()


def test_escape_sequences_and_markup_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    (site / "torch" / "version.py").write_text(
        "__version__ = '2.8.0+cu128'\ncuda = '12.8\x1b]0;title\x07[bold red]x[/]'\n"
    )
    for arguments in (("--color", "always"), ("--format", "json")):
        result = run(
            "check",
            "--no-smoke",
            "--exit-zero",
            "--python",
            str(tmp_path / "env"),
            "-v",
            *arguments,
        )
        assert result.returncode == 0
        assert "\x1b]0;" not in result.stdout
        assert "\x07" not in result.stdout


def test_fix_without_dry_run_says_so(run: Run) -> None:
    result = run("fix")
    assert (result.returncode, result.stdout) == (2, "")
    assert "--dry-run" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--driver", "abc"), "--driver abc: not a version like 550.54.15"),
        (("--gpu", "V1000"), "Did you mean"),
        (("--ignore", "driver-to-old"), "Did you mean driver-too-old"),
    ],
)
def test_what_is_misspelt_gets_a_hint(run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run("check", "--no-smoke", "--python", sys.prefix, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_wish_that_is_misspelt_gets_a_hint(run: Run) -> None:
    base = ("fix", "--dry-run", "--python", sys.prefix, "--gpu", "A100", "--want")
    assert "Did you mean torch" in run(*base, "torchh").stderr
    assert "It plans for torch, triton, flash-attn" in run(*base, "qqqq").stderr


def test_a_deleted_working_folder_matters_only_where_a_name_is_relative(
    stack: Path, tmp_path: Path
) -> None:
    """It ended every command, also where the target was named by an absolute path."""
    gone = tmp_path / "gone"

    def in_it(*arguments: str) -> subprocess.CompletedProcess[str]:
        gone.mkdir()
        words = shlex.join([*COMMAND, *arguments])
        line = f'cd "{gone}" && rmdir "{gone}" && exec {words}'
        return subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, timeout=120, check=False
        )

    absolute = in_it("check", "--no-smoke", "--format", "json", "--python", str(stack))
    assert absolute.returncode in (0, 1), absolute.stderr
    assert json.loads(absolute.stdout)["target"]["label"] == str(stack)
    relative = in_it("check", "--no-smoke", "--python", ".venv")
    assert relative.returncode == 2
    assert "the current folder is gone, so .venv cannot be found" in relative.stderr
