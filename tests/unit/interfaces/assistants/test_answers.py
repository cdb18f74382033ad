"""What an assistant is told: bounded, redacted, and nothing of an environment is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fadoctor.interfaces.assistants import answers
from fadoctor.interfaces.assistants.answers import AssistantRequest
from fadoctor.model.errors import FadoctorError, InputError, TargetError, UsageError
from tests.cli.environments import add_flash_attn, add_torch, make_environment

GOLDEN = Path(__file__).parents[3] / "golden"
FACTS = (GOLDEN / "linux-4090-wheel-mismatch" / "facts.json").read_text(encoding="utf-8")
AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return an environment whose interpreter leaves a trace where it is run."""
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8")
    add_flash_attn(site, "2.8.3")
    python = tmp_path / "env" / "bin" / "python"
    python.unlink()
    python.write_text(f"#!/bin/sh\ntouch {tmp_path / 'it-was-run'}\n")
    python.chmod(0o755)
    return tmp_path / "env"


def was_run(environment: Path) -> bool:
    return (environment.parent / "it-was-run").exists()


def test_a_report_that_was_sent_is_judged(tmp_path: Path) -> None:
    found = answers.check(AssistantRequest(report=FACTS), tmp_path)
    assert found.text.startswith("✗ NVIDIA GeForce RTX 4090: FlashAttention-2 does not work here.")
    assert [each["rule_id"] for each in found.document["findings"]] == ["wheel-torch-mismatch"]
    assert "environment" not in found.document
    assert json.loads(json.dumps(found.document)) == found.document
    assert found.document["verdicts"][0]["predicted"] == "fails"


def test_what_other_tools_print_is_a_report_too(tmp_path: Path) -> None:
    pip_list = "Package    Version\n---------- -------\ntorch      2.8.0\nflash-attn 2.8.3\n"
    found = answers.check(
        AssistantRequest(report=pip_list, gpu=("V100",), driver="550.54"), tmp_path
    )
    assert "V100: FlashAttention-2 cannot run on this GPU" in found.text


def test_a_plan_is_a_plan(tmp_path: Path) -> None:
    found = answers.plan(AssistantRequest(report=FACTS), (), ("torch",), tmp_path)
    assert "Install flash-attn 2.7.3 (the prebuilt wheel for this torch)" in found.text
    assert found.document["outcome"] == "repairs"
    with pytest.raises(UsageError):
        answers.plan(AssistantRequest(report=FACTS), ("no-such-thing",), (), tmp_path)


def test_an_error_is_explained_and_held_against_a_report(tmp_path: Path) -> None:
    alone = answers.explain(AMPERE, AssistantRequest(), tmp_path)
    assert alone.document["findings"][0]["rule_id"] == "gpu-too-old-fa2"
    assert alone.document["checks"] == []
    against = answers.explain(AMPERE, AssistantRequest(report=FACTS), tmp_path)
    assert [each["agreement"] for each in against.document["checks"]] == ["refuted"]
    with pytest.raises(InputError, match="no text"):
        answers.explain("  \n", AssistantRequest(), tmp_path)


@pytest.mark.parametrize("name", ["", "bin/python"])
def test_nothing_of_an_environment_that_is_named_is_run(
    hostile: Path, tmp_path: Path, name: str
) -> None:
    found = answers.explain(
        "train.py: nothing\n", AssistantRequest(environment=str(hostile / name)), tmp_path
    )
    assert found.document["target"]["reason"] == "environment"
    assert not was_run(hostile)


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "FADOCTOR_PYTHON"])
def test_nor_of_one_that_is_active(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(hostile))
    found = answers.explain("train.py: nothing\n", AssistantRequest(gpu=("V100",)), tmp_path)
    assert found.document["target"]["reason"].strip("$") == variable
    assert not was_run(hostile)


def test_an_interpreter_without_an_environment_is_not_run_either(tmp_path: Path) -> None:
    program = tmp_path / "python3"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'it-was-run'}\n")
    program.chmod(0o755)
    with pytest.raises(TargetError, match="not in an environment"):
        answers.check(AssistantRequest(environment=str(program)), tmp_path)
    assert not (tmp_path / "it-was-run").exists()


def test_files_lie_in_the_folder_that_is_served(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    served = tmp_path / "project"
    served.mkdir()
    (served / "requirements.txt").write_text("flash-attn==2.8.3\ntorch==2.8.0\n")
    (tmp_path / "secret.txt").write_text("flash-attn==2.8.3\n")
    (served / "link.txt").symlink_to(tmp_path / "secret.txt")
    asked = AssistantRequest(
        str(hostile), requirements=("project/requirements.txt",), gpu=("V100",)
    )
    assert "V100: FlashAttention-2 cannot run" in answers.check(asked, served).text
    assert not was_run(hostile)
    for outside in ("secret.txt", "project/../secret.txt", "project/link.txt", "/etc/passwd", "\0"):
        for asked in (
            AssistantRequest(requirements=(outside,)),
            AssistantRequest(config=(outside,)),
        ):
            with pytest.raises(UsageError, match="is outside"):
                answers.check(asked, served)


@pytest.mark.parametrize(
    "asked",
    [
        AssistantRequest(environment="x" * 5_000),
        AssistantRequest(driver="5" * 5_000),
        AssistantRequest(report="x" * 1_000_001),
        AssistantRequest(gpu=("H100",) * 17),
        AssistantRequest(gpu=("H" * 5_000,)),
        AssistantRequest(requirements=("x",) * 17),
        AssistantRequest(report=FACTS, environment="x"),
        AssistantRequest(report='{"facts": 1}'),
        AssistantRequest(report="[" * 100_000),
        AssistantRequest(gpu=("no such GPU",)),
    ],
    ids=range(10),
)
def test_what_cannot_be_answered_is_an_error_of_ours(
    asked: AssistantRequest, tmp_path: Path
) -> None:
    with pytest.raises(FadoctorError):
        answers.check(asked, tmp_path)


def test_too_long_a_log_is_refused_and_a_long_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="log: 1000001 characters"):
        answers.explain("x" * 1_000_001, AssistantRequest(), tmp_path)
    found = answers.explain(f"{'noise ' * 50_000}\n{AMPERE}\n", AssistantRequest(), tmp_path)
    assert found.document["findings"][0]["rule_id"] == "gpu-too-old-fa2"


def test_the_answer_is_redacted(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    found = answers.check(AssistantRequest(environment=str(hostile)), tmp_path)
    assert str(tmp_path) not in found.text + json.dumps(found.document)
    token = "hf_" + "a" * 34
    log = f"{AMPERE}\nat {tmp_path}/train.py with {token}\n"
    explained = answers.explain(log, AssistantRequest(), tmp_path)
    assert token not in explained.text + json.dumps(explained.document)


def test_the_text_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ANSWER_LIMIT", 200)
    text = answers.check(AssistantRequest(report=FACTS), tmp_path).text
    assert len(text) < 260
    assert text.endswith("characters in all)\n")


INCLUDING = {
    "requirements.txt": "-r {name}\n",
    "constrained-requirements.txt": "torch\n-c {name}\n",
    "Dockerfile": "FROM ubuntu\nCOPY {name} /x.txt\nRUN pip install -r /x.txt\n",
    "add.Dockerfile": "FROM ubuntu\nADD {name} x.txt\nRUN pip install -c x.txt torch\n",
    "uv.Dockerfile": "FROM ubuntu\nCOPY {name} uv.lock\nRUN uv sync\n",
    "environment.yml": "dependencies:\n- pip\n- pip:\n  - -r {name}\n",
    "install.sh": "pip install -r {name}\n",
    "book.ipynb": '{{"cells": [{{"cell_type": "code", "source": "!pip install -r {name}"}}]}}',
    "pyproject.toml": '[project]\nname = "x"\ndynamic = ["dependencies"]\n'
    '[tool.setuptools.dynamic]\ndependencies = {{file = ["{name}"]}}\n',
    "setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires = file: {name}\n",
}
"""How files name others."""


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("kind", INCLUDING)
@pytest.mark.parametrize(
    "way", ["../secret.txt", "{outside}/secret.txt", "link.txt", "up/secret.txt"]
)
def test_no_include_leads_out_of_the_folder_that_is_served(
    tmp_path: Path, kind: str, way: str
) -> None:
    """It read ``-r ../x``: an assistant could be talked into reading any file."""
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "secret.txt").write_text("flash-attn==2.0.4\n")
    (served / "link.txt").symlink_to("../secret.txt")
    (served / "up").symlink_to("..")
    name = way.format(outside=tmp_path)
    (served / kind).write_text(INCLUDING[kind].format(name=name))
    said = []
    for there in (True, False):
        if not there:
            (tmp_path / "secret.txt").unlink()
        try:
            found = answers.check(
                AssistantRequest(requirements=(str(served / kind),), gpu=("H100",)), served
            )
            said.append(found.text + json.dumps(found.document))
        except FadoctorError as error:
            said.append(str(error))
    assert "2.0.4" not in said[0]
    assert said[0] == said[1], "whether a file is there was told"


def test_an_include_inside_of_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "requirements.txt").write_text("-r more/base.txt\n")
    (tmp_path / "more" / "base.txt").write_text("flash-attn==2.0.4\ntorch==2.6.0\n")
    asked = AssistantRequest(requirements=(str(tmp_path / "requirements.txt"),), gpu=("H100",))
    assert "2.0.4" in json.dumps(answers.check(asked, tmp_path).document)


def test_a_configuration_that_becomes_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "secret.yaml").write_text("model_type: llama\nbf16: true\nflash_attention: true\n")
    (served / "c.yaml").symlink_to("../secret.yaml")
    monkeypatch.setattr(answers, "_files", lambda _name, values, _folder: tuple(values))
    with pytest.raises(InputError, match="outside of the folder"):
        answers.check(AssistantRequest(config=(str(served / "c.yaml"),), gpu=("H100",)), served)
