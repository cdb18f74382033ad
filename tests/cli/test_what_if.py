"""What if: a GPU and a configuration suffice; no package need be installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.environments import add_package, add_torch, make_environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

TRAINING = (
    "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\nflash_attn: fa2\nbf16: true\n"
)
SCRIPT = (
    "from transformers import AutoModel\n"
    'AutoModel.from_pretrained("m", attn_implementation="flash_attention_2")\n'
)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    make_environment(tmp_path / "empty")
    return tmp_path / "empty"


@pytest.fixture
def cpu(tmp_path: Path) -> Path:
    site = make_environment(tmp_path / "cpu")
    add_torch(site, "2.8.0+cpu", None)
    return tmp_path / "cpu"


def cells(report: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(v["backend"], v["dtype"]): v["predicted"] for v in report["verdicts"]}


@pytest.mark.parametrize(("file", "text"), [("train.yaml", TRAINING), ("train.py", SCRIPT)])
def test_a_gpu_and_a_configuration_suffice(
    run: Run, empty: Path, tmp_path: Path, file: str, text: str
) -> None:
    """It was "None of the packages that fadoctor checks is installed here"."""
    (tmp_path / file).write_text(text)
    base = ("check", "--python", str(empty), "--config", str(tmp_path / file), "--gpu", "V100")
    said = run(*base).stdout
    head = said.partition("error:")[0]
    assert "V100: FlashAttention-2 cannot run on this GPU." in head
    assert "Use float16 with torch's memory-efficient attention" in head
    assert "wheel" not in said
    report = json.loads(run(*base, "--format", "json").stdout)
    assert cells(report)["fa2", "fp16"] == "fails"
    assert report["recommendation"]["backend"] == "sdpa-efficient"


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("gpu", ["A100", "H100", "L4", "RTX 4090", "B200"])
def test_a_gpu_that_is_new_enough(run: Run, empty: Path, gpu: str) -> None:
    base = ("check", "--python", str(empty), "--gpu", gpu)
    assert "FlashAttention-2 supports this GPU; add --driver" in run(*base).stdout
    known = run(*base, "--driver", "580.65.06")
    assert f"{gpu}: FlashAttention-2 works in bf16 and fp16 once it is installed." in known.stdout
    assert "which are not installed here." in known.stdout
    assert run(*base, "--driver", "580.65.06", "--strict").returncode == 3


@pytest.mark.sampled
@pytest.mark.parametrize("gpu", ["V100", "T4", "A100", "H100"])
def test_a_cpu_build_is_one_finding_and_the_table_still_answers(
    run: Run, cpu: Path, gpu: str
) -> None:
    """Each GPU got "torch is a CPU build" and a table in which all fails."""
    base = ("check", "--python", str(cpu), "--gpu", gpu, "--driver", "580.65.06")
    report = json.loads(run(*base, "--format", "json").stdout)
    assert [each["rule_id"] for each in report["findings"]] == ["torch-cpu-only"]
    found = cells(report)
    assert found["fa2", "fp16"] == ("fails" if gpu in ("V100", "T4") else "works")
    assert found["sdpa-math", "fp32"] == "works"
    assert run(*base).stdout.startswith("✗ torch is a CPU build, which uses no GPU.")
    assert run(*base, "--strict", "--fail-on", "never").returncode == 3


def test_a_table_that_is_not_asked_for_is_not_made(run: Run, empty: Path, cpu: Path) -> None:
    for folder in (empty, cpu):
        for more in ((), ("--gpu", "none")):
            found = run("check", "--python", str(folder), *more, "--format", "json").stdout
            assert json.loads(found)["verdicts"] == []


def test_what_is_installed_is_what_the_table_is_about(run: Run, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.6.0", "12.4")
    add_package(site, "transformers", "4.55.0")
    report = run("check", "--python", str(tmp_path / "env"), "--gpu", "A100", "--format", "json")
    versions = {v["package_version"] for v in json.loads(report.stdout)["verdicts"]}
    assert versions == {"2.6.0"}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        ("A100", ("vLLM's FlashAttention supports this GPU", "vllm: --dtype bfloat16")),
        ("T4", ("vLLM's FlashAttention cannot run on this GPU", "--dtype half")),
        ("V100", ("vLLM's FlashAttention cannot run on this GPU", "--dtype half")),
    ],
)
def test_a_server_gets_its_own_words(
    run: Run, empty: Path, tmp_path: Path, gpu: str, words: tuple[str, str]
) -> None:
    script = tmp_path / "serve.sh"
    script.write_text("vllm serve a/b --dtype bfloat16\n")
    found = run("check", "--python", str(empty), "--config", str(script), "--gpu", gpu).stdout
    assert all(each in found for each in words)
    assert "attn_implementation" not in found.partition("error:")[0]


def test_a_gpu_of_amd_is_answered_for_too(run: Run, empty: Path, tmp_path: Path) -> None:
    """It was "None of the packages that fadoctor checks is installed here", and no table."""
    (tmp_path / "train.yaml").write_text(TRAINING)
    base = ("check", "--python", str(empty), "--config", str(tmp_path / "train.yaml"))
    said = run(*base, "--gpu", "7900XTX", "--platform", "linux_x86_64").stdout
    head, _, rest = said.partition("warning:")
    assert "RX 7900 XTX: FlashAttention is not installed" in head
    assert "llamafactory: flash_attn: sdpa, bf16: true" in head
    assert "The table is about torch 2" in rest
    assert "+rocm" in rest


def test_without_a_gpu_that_is_the_first_line(run: Run, empty: Path) -> None:
    said = run("check", "--python", str(empty), "--gpu", "none").stdout
    assert said.splitlines()[0].endswith("FlashAttention needs a GPU, and --gpu none means no GPU.")


LOADED = (
    "from transformers import AutoModel\n"
    'AutoModel.from_pretrained("m", attn_implementation="flash_attention_3")\n'
)
SERVED = "python -m sglang.launch_server --model-path a/b --attention-backend fa3\n"


def test_the_flash_attention_that_is_asked_for_is_the_one_that_is_answered(
    run: Run, empty: Path, tmp_path: Path
) -> None:
    """A script for FlashAttention-3 was told that FlashAttention-2 supports the GPU."""
    (tmp_path / "train.py").write_text(LOADED)
    base = ("check", "--python", str(empty), "--config", str(tmp_path / "train.py"))
    said = run(*base, "--gpu", "H200").stdout
    assert "H200: FlashAttention-3 supports this GPU; add --driver" in said
    assert 'attn_implementation="flash_attention_3"' in said
    # The tables do not know whether a build has code for 8.9: a driver does not decide that.
    first = run(*base, "--gpu", "RTX 4090").stdout.partition("\n")[0]
    assert first.endswith("RTX 4090: FlashAttention-3 could not be decided here.")


@pytest.mark.parametrize(("gpu", "rule"), [
    ("RTX 5090", "sglang-backend-unsupported"), ("MI300X", "sglang-rocm-backend-unfit"),
])  # fmt: skip
def test_a_backend_of_sglang_that_a_gpu_does_not_support_is_an_error(
    run: Run, empty: Path, tmp_path: Path, gpu: str, rule: str
) -> None:
    """It was "attention works" above a start command that no SGLang accepts there."""
    (tmp_path / "serve.sh").write_text(SERVED)
    base = ("check", "--python", str(empty), "--config", str(tmp_path / "serve.sh"), "--gpu")
    done = run(*base, gpu, "--format", "json")
    assert done.returncode == 1
    [found] = json.loads(done.stdout)["findings"]
    assert found["rule_id"] == rule
    assert {each["file"].rpartition("/")[2] for each in found["locations"]} == {"serve.sh"}
    assert run(*base, "A100").returncode == 0


def test_a_gpu_is_answered_for_windows_too(run: Run, empty: Path) -> None:
    """PyPI has torch for Windows without CUDA, and no table was shown."""
    base = ("check", "--python", str(empty), "--gpu", "RTX 3060", "--platform", "win_amd64")
    report = json.loads(run(*base, "--format", "json").stdout)
    assert ("sdpa-efficient", "bf16") in cells(report)


def test_a_driver_is_not_all_that_is_open_where_the_code_of_torch_is_unknown(
    run: Run, tmp_path: Path
) -> None:
    """It was "supports this GPU; add --driver" for a build whose list of GPUs no table has."""
    (tmp_path / "Dockerfile").write_text(
        "FROM nvidia/cuda:12.9.0-devel-ubuntu22.04\n"
        "RUN pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu129\n"
        "RUN pip install flash-attn==2.8.3 --no-build-isolation\n"
    )
    base = ("check", "--requirements", str(tmp_path / "Dockerfile"), "--gpu")
    first = run(*base, "RTX 5080").stdout.partition("\n")[0]
    assert first.endswith("RTX 5080: FlashAttention-2 could not be decided here.")


def test_the_next_command_names_the_options_that_it_needs(
    run: Run, empty: Path, tmp_path: Path
) -> None:
    """`fadoctor fix --dry-run` alone planned for another environment than the one of the answer."""
    (tmp_path / "train.yaml").write_text(TRAINING)
    said = run(
        "check", "--python", str(empty), "--config", str(tmp_path / "train.yaml"), "--gpu", "V100",
        env={"COLUMNS": "120"},
    ).stdout  # fmt: skip
    assert "`fadoctor fix --dry-run`, with the same --config, --gpu and --python, shows" in said


@pytest.mark.parametrize(("gpu", "says"), [("T4", True), ("A100", False)])
def test_a_package_that_would_not_help_is_not_what_is_missing(
    run: Run, tmp_path: Path, gpu: str, *, says: bool
) -> None:
    """A T4 was told that flash_attention_2 fails because flash-attn is not installed."""
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\ntransformers==4.57.1\n")
    base = ("check", "--requirements", str(tmp_path / "requirements.txt"), "--gpu", gpu)
    said = " ".join(run(*base, "--driver", "580.65.06").stdout.split())
    assert ("FlashAttention-2 does not support this GPU" in said) is says
