"""Whose names are read: distribution, import name, and the release that reading begins with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Package:
    """A package of the stack."""

    distribution: str
    module: str
    """Its import name."""
    first: str
    """Older releases are not read."""
    asks: bool = True
    gives: bool = True
    loads: str = ""
    """The release from which on its imports are followed, where that is an older one."""


PACKAGES = (
    Package("transformers", "transformers", "4.36.0", loads="4.28.0"),
    Package("peft", "peft", "0.7.0", loads="0.3.0"),
    Package("trl", "trl", "0.7.10", loads="0.4.1"),
    Package("accelerate", "accelerate", "0.25.0", loads="0.16.0"),
    Package("bitsandbytes", "bitsandbytes", "0.41.3"),
    Package("liger-kernel", "liger_kernel", "0.1.0"),
    Package("unsloth", "unsloth", "2024.8"),
    Package("unsloth-zoo", "unsloth_zoo", "2024.10.0"),
    Package("llamafactory", "llamafactory", "0.7.1", gives=False),
    Package("ms-swift", "swift", "2.0.0", gives=False),
    Package("axolotl", "axolotl", "0.5.0", gives=False),
    Package("diffusers", "diffusers", "0.25.0", loads="0.10.0"),
    Package("optimum", "optimum", "1.16.0"),
    Package("sentence-transformers", "sentence_transformers", "2.2.2", loads="2.0.0"),
    Package("vllm", "vllm", "0.5.0"),
    Package("sglang", "sglang", "0.3.0"),
    Package("xformers", "xformers", "0.0.23"),
    Package("torchao", "torchao", "0.3.0"),
    Package("kernels", "kernels", "0.1.7"),
    Package("huggingface-hub", "huggingface_hub", "0.19.0", asks=False),
    Package("datasets", "datasets", "2.15.0", loads="2.4.0"),
    Package("pyarrow", "pyarrow", "10.0.0", asks=False),
    Package("deepspeed", "deepspeed", "0.12.0"),
    Package("auto-gptq", "auto_gptq", "0.5.0"),
    Package("autoawq", "awq", "0.1.8"),
    Package("gptqmodel", "gptqmodel", "1.0.1"),
    Package("exllamav2", "exllamav2", "0.0.4", asks=False),
    Package("exllamav3", "exllamav3", "0.0.1", asks=False),
    Package("quack-kernels", "quack", "0.1.0"),
    Package("triton", "triton", "2.1.0", asks=False),
    Package("torch", "torch", "2.1.0"),
    Package("torchvision", "torchvision", "0.9.0", asks=False),
    Package("torchaudio", "torchaudio", "0.8.0", asks=False),
    Package("pytorch-lightning", "pytorch_lightning", "1.4.0", asks=False),
    Package("megatron-core", "megatron", "0.1.0", asks=False),
    Package("nemo_toolkit", "nemo", "1.23.0", gives=False),
    Package("timm", "timm", "0.4.12", asks=False),
)

EXPORTS = ("transformers", "diffusers", "peft", "trl", "accelerate")
"""Distributions whose names at the top are all read: programs and examples ask them for these."""


def class_files() -> dict[str, list[str]]:
    """Return distribution -> where the classes lie whose attributes are read, as patterns."""
    return _patterns("class-files.yaml")


def argument_files() -> dict[str, list[str]]:
    """Return distribution -> where the classes lie whose arguments are read, as patterns."""
    return _patterns("argument-files.yaml")


def _patterns(name: str) -> dict[str, list[str]]:
    text = Path(__file__).with_name(name).read_text("utf-8")
    found: dict[str, list[str]] = yaml.safe_load(text)
    return found


def remote_names() -> dict[str, list[str]]:
    """Return module -> the names that code of models on the Hub asks of it."""
    text = Path(__file__).with_name("remote-names.yaml").read_text("utf-8")
    return {module: str(names).split() for module, names in yaml.safe_load(text).items()}
