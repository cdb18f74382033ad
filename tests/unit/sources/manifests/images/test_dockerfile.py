from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.images.container_image import read_image
from fadoctor.sources.manifests.images.dockerfile import read, recognises
from fadoctor.sources.manifests.source import open_source
from tests.unit.sources.manifests.given import by_name, given, sample, wanted

if TYPE_CHECKING:
    from pathlib import Path

PYTORCH = "FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-devel\n"
CU128 = "https://download.pytorch.org/whl/cu128"
BESIDE = {"torchvision": "==0.22.1", "torchaudio": "==2.7.1"}
"""What the image has beside its torch 2.7.1."""


def test_the_last_stage_with_what_it_is_built_from() -> None:
    manifest = read(sample("Dockerfile"))
    assert wanted(manifest) == {
        "torch": "==2.6.0", "transformers": ">=4.51", "flash-attn": "==2.8.3", "trl": "",
        "xformers": "==0.0.31", "peft": "==0.15.0", **BESIDE,
    }  # fmt: skip
    found = by_name(manifest)
    assert found["transformers"].place == Place("Dockerfile", 10, 7)
    assert found["trl"].place == Place("Dockerfile", 18, 13)
    assert found["torch"].index == "https://download.pytorch.org/whl/cu124"
    assert found["torchvision"].index == CU128
    assert found["xformers"].index == CU128
    assert manifest.image is not None
    assert manifest.image.value == "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-devel"
    assert manifest.image.place == Place("Dockerfile", 4, 6)
    assert manifest.variables["TORCH_CUDA_ARCH_LIST"].value == "8.0;9.0"
    assert {name: setting.value for name, setting in manifest.facts.items()} == {
        "toolkit.nvcc.version": "12.8", "host.glibc": "2.35",
    }  # fmt: skip
    assert not manifest.is_complete
    notes = "\n".join(manifest.notes)
    assert "Dockerfile:14: /tmp/requirements.txt is not read" in notes
    assert "Dockerfile:19: the value of $UNKNOWN is not known" in notes
    assert "Dockerfile:22: runs only under a condition" in notes
    assert "pw@" not in repr(manifest)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("pytorch/pytorch:2.7.1-cuda12.8-cudnn9-devel",
         {"torch": "==2.7.1", "torch.cuda": "12.8", "toolkit.nvcc.version": "12.8",
          "host.glibc": "2.35", "python": "==3.11.*", **BESIDE}),
        ("docker.io/pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime",
         {"torch": "==2.7.1", "torch.cuda": "12.8", "host.glibc": "2.35", "python": "==3.11.*",
          **BESIDE}),
        ("pytorch/pytorch:2.0.1-cuda11.7-cudnn8-runtime",
         {"torch": "==2.0.1", "torch.cuda": "11.7"}),
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04",
         {"toolkit.nvcc.version": "12.4", "host.glibc": "2.35"}),
        ("nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04",
         {"toolkit.nvcc.version": "12.4", "host.glibc": "2.35"}),
        ("nvcr.io/nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu20.04", {"host.glibc": "2.31"}),
        ("nvcr.io/nvidia/pytorch:25.12-py3",
         {"torch": "==2.10.0a0+b4e4ee81d3", "torch.cuda": "13.1",
          "toolkit.nvcc.version": "13.1", "python": "==3.12.*"}),
        ("vllm/vllm-openai:v0.10.2", {"vllm": "==0.10.2", "python": "==3.12.*"}),
        ("vllm/vllm-openai:v0.7.3", {"vllm": "==0.7.3"}),
        ("lmsysorg/sglang:v0.5.2-cu126", {"sglang": "==0.5.2", "torch": ""}),
        ("lmsysorg/sglang:latest", {"sglang": ""}),
        ("vllm/vllm-openai", {"vllm": "", "python": "==3.12.*"}),
        ("python:3.11-slim", {"python": "==3.11.*"}),
        ("python:3.11.9-slim-bookworm", {"python": "==3.11.9", "host.glibc": "2.36"}),
        ("ghcr.io/astral-sh/uv:python3.12-bookworm-slim",
         {"python": "==3.12.*", "host.glibc": "2.36"}),
        ("ubuntu:24.04", {"host.glibc": "2.39"}),
        ("debian:bookworm-slim@sha256:0123456789abcdef", {"host.glibc": "2.36"}),
        ("library/python:3.12", {"python": "==3.12.*"}),
        ("nvcr.io/nvidia/pytorch:25.04-py3",
         {"torch": "==2.7.0a0+79aa17489c", "torch.cuda": "12.9",
          "toolkit.nvcc.version": "12.9", "python": "==3.12.*"}),
        ("nvcr.io/nvidia/pytorch:24.10-py3",
         {"torch": "==2.5.0a0+e000cf0ad9", "torch.cuda": "12.6",
          "toolkit.nvcc.version": "12.6", "python": "==3.10.*"}),
        ("nvcr.io/nvidia/pytorch:24.10-py3-igpu", {}),
        ("nvcr.io/nvidia/pytorch:25.07-py3", {}),  # there was none
        ("nvidia/cuda:12.4.1-devel-ubi9", {"toolkit.nvcc.version": "12.4", "host.glibc": "2.34"}),
        ("mine/pytorch:2.7.1-cuda12.8-cudnn9-devel", {}),
        ("python:latest", {}),
        ("python", {}),
        ("runpod/pytorch:2.2.0-py3.10-cuda12.1.1-devel-ubuntu22.04",
         {"torch": "==2.2.0", "torchvision": "==0.17.0", "torchaudio": "==2.2.0",
          "torch.cuda": "12.1", "toolkit.nvcc.version": "12.1",
          "host.glibc": "2.35", "python": "==3.10.*"}),
        ("runpod/pytorch:2.8.0-py3.11-cuda12.8.1-cudnn-devel-ubuntu22.04",
         {"torch": "==2.8.0.dev20250319", "torchvision": "", "torchaudio": "",
          "torch.cuda": "12.8", "toolkit.nvcc.version": "12.8", "host.glibc": "2.35",
          "python": "==3.11.*"}),
        ("runpod/pytorch:1.0.3-cu1290-torch260-ubuntu2404",
         {"torch": "==2.6.0", "torchvision": "==0.21.0", "torchaudio": "==2.6.0",
          "torch.cuda": "12.6", "toolkit.nvcc.version": "12.9", "host.glibc": "2.39",
          "python": "==3.12.*"}),
        ("runpod/pytorch:2.0.1-py3.10-cuda11.8.0-devel",
         {"torch": "==2.0.1", "torchvision": "==0.15.2", "torchaudio": "==2.0.2",
          "torch.cuda": "11.8", "toolkit.nvcc.version": "11.8", "host.glibc": "2.35",
          "python": "==3.10.*"}),
        ("mcr.microsoft.com/devcontainers/python:1-3.12-bookworm",
         {"python": "==3.12.*", "host.glibc": "2.36"}),
        ("mcr.microsoft.com/devcontainers/base:ubuntu-24.04", {"host.glibc": "2.39"}),
        ("x" * 1000, {}),
    ],
)  # fmt: skip
def test_what_a_tag_says(reference: str, expected: dict[str, str]) -> None:
    said = read_image(reference, Place("x", 1), load_knowledge().tables)
    found = {each.name: each.specifier for each in said.requirements}
    found |= {name: setting.value for name, setting in said.facts.items()}
    found |= {"python": said.python.value} if said.python else {}
    assert found == expected


@pytest.mark.parametrize(
    ("reference", "is_known"),
    [
        ("mcr.microsoft.com/devcontainers/python:3.11", True),
        ("mcr.microsoft.com/devcontainers/python:3", True),
        ("mcr.microsoft.com/devcontainers/base:jammy", True),
        ("mcr.microsoft.com/devcontainers/universal:2", False),
        ("mcr.microsoft.com/devcontainers/miniconda:0-3", True),
        ("mambaorg/micromamba:1.5.8-bookworm-slim", True),
        ("mambaorg/micromamba:2.0-noble-cuda-12.6.1", False),
        ("continuumio/miniconda3", True),
        ("continuumio/anaconda3", False),
        ("ghcr.io/astral-sh/uv:0.8-debian-slim", True),
        ("ghcr.io/astral-sh/uv:latest", False),
        ("python", True),
        ("python:3-slim", True),
        ("python@sha256:0123456789abcdef", False),
        ("ubuntu", True),
        ("ubuntu:jammy", True),
        ("debian:12-slim", True),
        ("lmsysorg/sglang:dev", False),
        ("runpod/pytorch:2.2.0-py3.10-cuda11.8.0-devel-ubuntu22.04", False),
    ],
)
def test_images_without_packages_of_their_own(reference: str, *, is_known: bool) -> None:
    said = read_image(reference, Place("x", 1), load_knowledge().tables)
    assert said.is_known == is_known
    assert said.requirements == ()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("RUN pip install torch==2.6.0", {"torch": "==2.6.0"}),
        ("RUN pip install torch", {"torch": "==2.7.1"}),
        ("RUN pip install 'torch>=2.6'", {"torch": "==2.7.1"}),
        ("RUN pip install -U 'torch>=2.6'", {"torch": ">=2.6"}),
        ("RUN pip install 'torch<2.7'", {"torch": "<2.7"}),
        ("RUN pip uninstall -y torch", {}),
        ("RUN pip3.11 install --pre torch==2.8.0", {"torch": "==2.8.0"}),
        ("RUN pip install --target /x torch==2.6.0", {"torch": "==2.7.1"}),
        ("RUN /opt/venv/bin/pip install einops", {"torch": "==2.7.1", "einops": ""}),
        ("RUN uv pip install --system einops", {"torch": "==2.7.1", "einops": ""}),
        ("RUN uv add einops && uv tool install ruff", {"torch": "==2.7.1", "einops": ""}),
        ("RUN python3 -m pip install einops; python -mpip install peft",
         {"torch": "==2.7.1", "einops": "", "peft": ""}),
        ("RUN conda install -y -c conda-forge einops=0.8",
         {"torch": "==2.7.1", "einops": "==0.8.*"}),
        ("RUN conda run -n base pip install einops", {"torch": "==2.7.1", "einops": ""}),
        ("RUN bash -lc 'pip install einops'", {"torch": "==2.7.1", "einops": ""}),
        ("RUN sudo -E FOO=1 pip install einops", {"torch": "==2.7.1", "einops": ""}),
        ("RUN echo pip install einops", {"torch": "==2.7.1"}),
        ("RUN pip install https://example.org/torch-2.6.0%2Bcu124-cp311-cp311-linux_x86_64.whl",
         {"torch": "==2.6.0+cu124"}),
        ("ARG T=2.6.0\nRUN pip install torch==${T}", {"torch": "==2.6.0"}),
        ("ARG T\nRUN pip install torch==${T:-2.5.1}", {"torch": "==2.7.1"}),
        ("ENV P='einops peft'\nRUN pip install $P", {"torch": "==2.7.1", "einops": "", "peft": ""}),
        ("ENV T 2.6.0\nRUN pip install torch==$T", {"torch": "==2.6.0"}),
        ("RUN pip install einops \\\n\n  # why\n  peft",
         {"torch": "==2.7.1", "einops": "", "peft": ""}),
        ("RUN <<-'EOF' bash\n\tpip install einops\n\tEOF", {"torch": "==2.7.1", "einops": ""}),
        ("run pip install einops", {"torch": "==2.7.1", "einops": ""}),
        ("RUN pip install torch==2.6.0 || pip install torch==2.5.1", {"torch": "==2.6.0"}),
    ],
)  # fmt: skip
def test_what_commands_install(lines: str, expected: dict[str, str]) -> None:
    assert wanted(read(given(PYTORCH + lines + "\n"))) == BESIDE | expected


def test_an_argument_before_the_first_stage_must_be_named_again() -> None:
    text = "ARG T=2.6.0\nFROM python:3.11\nRUN pip install torch==$T\n"
    assert wanted(read(given(text))) == {}
    assert wanted(read(given(text.replace("RUN", "ARG T\nRUN")))) == {"torch": "==2.6.0"}


@pytest.mark.parametrize(
    ("options", "index"),
    [
        ("--index-url " + CU128, CU128),
        ("-i " + CU128, CU128),
        ("--extra-index-url=" + CU128, CU128),
        ("--index pytorch=" + CU128, CU128),
        ("--torch-backend=cu128", CU128),
        ("--torch-backend auto", ""),
        ("-f " + CU128, ""),
    ],
)
def test_which_index_serves_a_command(options: str, index: str) -> None:
    manifest = read(given(f"FROM python:3.11\nRUN uv pip install torch==2.7.1 {options}\n"))
    assert by_name(manifest)["torch"].index == index


def test_variables_name_indexes_for_all() -> None:
    manifest = read(given(f"FROM python:3.11\nENV PIP_EXTRA_INDEX_URL={CU128}\n"))
    assert [each.value for each in manifest.indexes] == [CU128]


def test_an_environment_is_copied_from_another_stage() -> None:
    text = """FROM python:3.11 AS builder
RUN pip install torch==2.7.1
FROM python:3.11-slim-bookworm
COPY --from=builder {0} {0}
"""
    assert wanted(read(given(text.format("/opt/venv")))) == {"torch": "==2.7.1"}
    other = read(given(text.format("/src/data")))
    assert wanted(other) == {}
    assert "not treated as packages" in other.notes[0]
    assert other.facts["host.glibc"].value == "2.36"


def test_files_beside_are_followed(tmp_path: Path) -> None:
    (tmp_path / "needs").mkdir()
    (tmp_path / "needs" / "gpu.txt").write_text("flash-attn==2.8.3\n")
    (tmp_path / "env.yml").write_text("dependencies:\n- pytorch=2.5.1=cuda126*\n- python=3.11\n")
    (tmp_path / "pdm.lock").write_text("[[package]]\nname = 'peft'\nversion = '0.15.0'\n")
    (tmp_path / "bounds.txt").write_text("numpy<2\n")
    path = tmp_path / "Dockerfile"
    path.write_text(
        "FROM continuumio/miniconda3\nCOPY needs/gpu.txt /tmp/\nRUN conda env update -f env.yml\n"
        "RUN pip install -r /tmp/gpu.txt -c bounds.txt -r https://example.org/x.txt\n"
        "COPY pdm.lock pyproject.toml ./\nRUN pdm sync\nRUN poetry install\n"
    )
    manifest = read(open_source(str(path)))
    assert wanted(manifest) == {
        "torch": "==2.5.1", "flash-attn": "==2.8.3", "peft": "==0.15.0",
    }  # fmt: skip
    assert by_name(manifest)["flash-attn"].place.file.endswith("needs/gpu.txt")
    assert [each.name for each in manifest.constraints] == ["numpy"]
    assert manifest.python is not None
    assert manifest.python.value == "==3.11.*"
    assert manifest.facts["torch.cuda"].value == "12.6"
    notes = "\n".join(manifest.notes)
    assert "https://example.org/x.txt was not fetched" in notes
    assert "poetry install: there is no poetry.lock or pyproject.toml" in notes


def test_a_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    path = tmp_path / "Dockerfile"
    path.write_text("FROM python:3.11\nRUN pip install -r zero.txt -r ../../../etc/hostname\n")
    notes = "\n".join(read(open_source(str(path))).notes)
    assert "zero.txt is not read: is not a regular file" in notes
    assert "hostname is not read: No such file" in notes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("RUN pip install x\n", "given:1 at `RUN`: found before the first FROM"),
        ("# nothing\n", "given:1: no FROM"),
        (PYTORCH + "!!\n", "given:2: no instruction of a Dockerfile"),
        ("FROM a b\n", "given:1 at `FROM`: not as FROM is written"),
        (PYTORCH + "ENV A=1 B\n", "given:2 at `ENV`: not as ENV is written"),
        (PYTORCH + "RUN <<EOF\npip install x\n", "given:2: the here-document EOF has no end"),
        (PYTORCH + "RUN a && \\\n pip install torch=2\n", "given:3: no requirement"),
        (PYTORCH + "RUN conda install 'numpy=>1'\n", "given:2 at `numpy=>1`: '=>1' is not"),
        (PYTORCH + "USER a\n" * 3000, "given:2001: more than 2,000 instructions"),
        ("FROM a\n" * 200, "given:101 at `FROM`: more than 100 stages"),
        (PYTORCH + "RUN pip install" + " a" * 6000, "given:2: more than 5,000 packages"),
        (PYTORCH + "RUN conda install" + " a" * 6000, "given:2: more than 5,000 packages"),
        (PYTORCH + "RUN " + "aa \\\n" * 90_000, "given:2: an instruction that is too long"),
    ],
)  # fmt: skip
def test_a_fault_names_line_and_instruction(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text))


@pytest.mark.parametrize(
    "line",
    [
        "RUN cat x | xargs pip install",
        "RUN python setup.py install && for i in a b; do pip install $i; done",
        "RUN python - <<EOF\nimport os; os.system('pip install x')\nEOF",
        "RUN pip install *.whl",
        "RUN pip install .",
        "RUN pip install $(cat x)",
        "RUN pip install torch>=2.0",
        "RUN pip install -r $FILE",
    ],
)
def test_what_cannot_be_followed_is_noted(line: str) -> None:
    manifest = read(given(PYTORCH + line + "\n"))
    assert wanted(manifest) == {"torch": "==2.7.1"} | BESIDE
    assert manifest.notes
    assert manifest.notes[0].startswith("given:")


def test_it_is_known_by_name() -> None:
    assert recognises("Dockerfile", "")
    assert recognises("Dockerfile.gpu", "# x\nFROM a\n")
    assert recognises("train.dockerfile", "ARG A=1\n")
    assert all(recognises(f"Dockerfile.{each}", "FROM a\n") for each in ("python", "interact"))
    assert not recognises("Dockerfile.md", "# how\n")
    assert not recognises("Dockerfile.python.json", "FROM a\n")
    assert not recognises("Dockerfile.txt", "FROM a\n")
    assert not recognises("docker-compose.yml", "services:\n")


def test_a_line_that_is_no_instruction_is_noted() -> None:
    manifest = read(given(PYTORCH + "pip install vllm\nRUN pip install einops==0.8.0\n"))
    assert wanted(manifest)["einops"] == "==0.8.0"
    assert any("no instruction of a Dockerfile: pip install vllm" in n for n in manifest.notes)


def test_what_an_image_has_in_an_unknown_release_may_meet_a_range() -> None:
    image = "FROM runpod/pytorch:2.8.0-py3.11-cuda12.8.1-cudnn-devel-ubuntu22.04\n"
    found = read(
        given(image + "RUN pip install 'torchaudio>=2.1' torchvision==0.23.0\n", "Dockerfile")
    )
    doubts = {each.name: bool(each.doubt) for each in found.requirements}
    assert doubts == {"torch": False, "torchaudio": True, "torchvision": False}


def test_an_index_of_another_stage_comes_with_what_was_installed_there() -> None:
    """Regression: PyPI was said to lack a build that a stage took from the index it names."""
    text = (
        f"FROM python:3.11 AS build\nENV UV_INDEX={CU128}\n"
        "RUN uv venv /venv && uv pip install torch==2.7.0+cu128\n"
        "FROM python:3.11\nCOPY --from=build /venv /venv\n"
    )
    assert [each.value for each in read(given(text)).indexes] == [CU128]
