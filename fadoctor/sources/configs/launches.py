"""What a command starts: whose arguments they are that stand after it."""

from __future__ import annotations

import posixpath
import re

import msgspec

from fadoctor.sources.configs.docker_run import (
    container_run,
    given_options,
    speaks_of_settings,
)
from fadoctor.sources.configs.kinds import COMFYUI
from fadoctor.sources.configs.shell_commands import ConfigWord

_PYTHON = re.compile(r"(?:python|pypy)[\d.]{0,6}|\$\{?PYTHON\w{0,12}\}?", re.IGNORECASE)

_COMMANDS = {
    ("vllm", "serve"): "vllm", ("vllm", "bench"): "", ("sglang", "serve"): "sglang",
    ("tune", "run"): "torchtune",
    ("swift", "sft"): "ms-swift", ("swift", "pt"): "ms-swift", ("swift", "rlhf"): "ms-swift",
    ("swift", "infer"): "ms-swift", ("swift", "deploy"): "ms-swift", ("swift", "eval"): "ms-swift",
    ("swift", "export"): "ms-swift", ("swift", "app"): "ms-swift",
    ("llamafactory-cli", "train"): "llamafactory", ("llamafactory-cli", "chat"): "llamafactory",
    ("llamafactory-cli", "api"): "llamafactory", ("llamafactory-cli", "webchat"): "llamafactory",
    ("llamafactory-cli", "export"): "llamafactory", ("lmf", "train"): "llamafactory",
    ("axolotl", "train"): "axolotl", ("axolotl", "inference"): "axolotl",
    ("trl", "sft"): "trainer", ("trl", "dpo"): "trainer", ("trl", "grpo"): "trainer",
    ("lmdeploy", "serve"): "server", ("aphrodite", "run"): "server",
    ("infinity_emb", "v2"): "server", ("openllm", "serve"): "server",
    ("fabric", "run"): "", ("lightning", "run"): "",
    ("trl", "kto"): "trainer", ("trl", "reward"): "trainer", ("trl", "rloo"): "trainer",
}  # fmt: skip
"""A command and its first word -> the kind whose reader knows the arguments."""
OPTIONS = "(options)"
"""What stands for a program that a file does not name, before options that it gives it."""
_ALONE = {
    OPTIONS: "", "text-generation-launcher": "server", "text-embeddings-router": "server",
    "lm_eval": "server", "lm-eval": "server", "lmms_eval": "server",
    "lmms-eval": "server", "lighteval": "server", "trtllm-serve": "server",
    "litgpt": "", "oumi": "", "xtuner": "",
}  # fmt: skip
"""Commands of which any word may follow -> the kind, "" for one whose options are those of any."""

_MODULES = (
    ("vllm.entrypoints", "vllm"), ("sglang.launch_server", "sglang"), ("openrlhf.cli", "openrlhf"),
    ("verl.trainer", "verl"), ("recipe.", "verl"), ("axolotl.cli", "axolotl"),
    ("swift.cli", "ms-swift"), ("fastchat.serve", "server"), ("llamafactory", "llamafactory"),
)  # fmt: skip
"""Beginnings of ``python -m NAME``."""

_SCRIPTS = (
    (re.compile(r"(?:^|/)verl/|main_ppo\.py$|fsdp_sft_trainer\.py$"), "verl"),
    (re.compile(r"openrlhf/|train_ppo_ray\.py$"), "openrlhf"),
    (re.compile(r"vllm/entrypoints/|api_server\.py$"), "vllm"),
    (re.compile(r"sglang/|launch_server\.py$"), "sglang"),
    (re.compile(r"swift/cli/|(?:^|/)llm_sft\.py$"), "ms-swift"),
    (re.compile(r"(?i)(?:^|[/\\])ComfyUI[/\\]main\.py$"), COMFYUI),
    (re.compile(r"llamafactory|LLaMA-Factory|train_bash\.py$"), "llamafactory"),
)  # fmt: skip


# docker.io/vllm/vllm-openai:v0.8.5, ghcr.io/huggingface/text-generation-inference:3.0
_IMAGE = re.compile(
    r"(?:[\w.-]{1,80}(?::\d{1,5})?/)?([\w.-]{1,80}/[\w.-]{1,80})(?::[\w.${}-]{1,128})?(?:@sha256:\w{1,64})?"
)
_IMAGES = {
    "vllm/vllm-openai": "vllm", "lmsysorg/sglang": "sglang",
    "huggingface/text-generation-inference": "server", "openmmlab/lmdeploy": "server",
}  # fmt: skip
"""Images that take the arguments of a server -> the kind whose reader knows them."""
# us-docker.pkg.dev/.../gcr.io/huggingface-text-generation-inference-cu121.2-1.ubuntu2204.py310
_MIRRORED = re.compile(r"/huggingface-text-generation-inference[\w.-]{0,100}(?::[\w.-]{1,128})?$")


_HANDLING = frozenset(("cp", "mv", "rm", "ln", "cat", "ls", "sed", "grep", "chmod", "rsync", "scp"))
"""Commands that handle a file, and start nothing: ``cp model/*.py``."""


class Launch(msgspec.Struct, frozen=True):
    """A program with its arguments."""

    kind: str
    """Whose arguments they are; empty for a script that nobody knows."""
    program: ConfigWord
    arguments: tuple[ConfigWord, ...]
    launcher: tuple[ConfigWord, ...] = ()
    """Arguments of ``accelerate launch``."""
    verb: str = ""
    """What follows the program: ``sft``, ``serve``."""


def find_launch(words: tuple[ConfigWord, ...]) -> Launch | None:
    """Return what a command starts, whatever starts it: torchrun, srun, uv, docker, ray."""
    is_handled = bool(words) and words[0].text in _HANDLING
    return None if is_handled else _started(words)


def _started(words: tuple[ConfigWord, ...]) -> Launch | None:
    launcher: list[ConfigWord] = []
    is_accelerate = False
    for at, word in enumerate(words):
        if any(char.isspace() for char in word.text):  # a text for another shell
            continue
        name = posixpath.basename(word.text)
        following = words[at + 1].text if at + 1 < len(words) else ""
        if name == "accelerate" and following == "launch":
            is_accelerate = True
            continue
        kind = _kind_of_command(name, following)
        if kind is not None:
            begin = at + 1 if name in _ALONE else at + 2
            return Launch(kind, word, words[begin:], tuple(launcher), following)
        if word.text in ("-m", "--module") and at and following:
            is_script = any(_PYTHON.fullmatch(posixpath.basename(w.text)) for w in words[:at])
            if is_script or is_accelerate or word.text == "--module" or "." in following:
                found = _kind_of_module(following)
                if found is None:
                    continue
                return Launch(found, words[at + 1], words[at + 2 :], tuple(launcher))
        if name.endswith(".py"):
            kind = _kind_of_script(word.text, words[at + 1 :])
            return Launch(kind, word, words[at + 1 :], tuple(launcher))
        if is_accelerate and word.text != "launch":
            launcher.append(word)
    return _image_launch(words)


def _image_launch(words: tuple[ConfigWord, ...]) -> Launch | None:
    """Return what an image starts by itself, told by the words after its name."""
    run = container_run(words)
    if run is not None:
        kind, options = of_image(run.image.text), given_options(run)
        is_given = run.arguments[:1] == () or run.arguments[0].text.startswith("-")
        if kind or (is_given and speaks_of_settings(options)):
            return Launch(kind, run.image, options)
    for at, word in enumerate(words):
        if kind := of_image(word.text):
            return Launch(kind, word, words[at + 1 :])
    return None


def of_image(name: str) -> str:
    """Return whose arguments an image takes, "" of one that starts nothing that is known."""
    found = _IMAGE.fullmatch(name)
    if found and (kind := _IMAGES.get(found[1].lower())):
        return kind
    return "server" if _MIRRORED.search(name) else ""


def given_variables(words: tuple[ConfigWord, ...]) -> tuple[tuple[str, ConfigWord], ...]:
    """Return the variables that ``docker run`` is told to set: ``-e NAME=value``."""
    run = container_run(words)
    return run.variables if run is not None else ()


def _kind_of_command(name: str, following: str) -> str | None:
    return _ALONE[name] if name in _ALONE else _COMMANDS.get((name, following))


def _kind_of_module(name: str) -> str | None:
    """Return whose module it is; None of one that starts another program."""
    if name.startswith(("torch.distributed", "accelerate.commands", "deepspeed.launcher")):
        return None
    return next((kind for start, kind in _MODULES if name.startswith(start)), "")


def _kind_of_script(path: str, arguments: tuple[ConfigWord, ...]) -> str:
    """Return whose script it is, by its path, and a ``main.py`` by an option of its own."""
    kind = next((kind for pattern, kind in _SCRIPTS if pattern.search(path)), "")
    is_main = not kind and posixpath.basename(path.replace("\\", "/")) == "main.py"
    options = {word.text.partition("=")[0] for word in arguments} if is_main else set()
    return COMFYUI if options & _OF_COMFYUI else kind


_OF_COMFYUI = frozenset((
    "--windows-standalone-build", "--use-flash-attention", "--use-sage-attention",
    "--use-pytorch-cross-attention", "--use-split-cross-attention", "--use-quad-cross-attention",
    "--bf16-unet", "--fp16-unet", "--force-fp16", "--disable-smart-memory",
))  # fmt: skip
"""Options of ComfyUI's ``main.py``, read in ``comfy/cli_args.py``."""
