"""How a Python script trains and runs: trainers, adapters, autocast, torch's switches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs import python_meaning as meaning
from fadoctor.sources.configs import python_models as models
from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed
from fadoctor.sources.configs.variables import is_asked

if TYPE_CHECKING:
    from fadoctor.sources.configs.python_meaning import ScriptMeaning
    from fadoctor.sources.scripts.python_calls import Argument, ArgumentValue, Found

_TRL = frozenset({
    "SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "CPOConfig", "RewardConfig",
    "PPOConfig", "RLOOConfig", "GKDConfig", "OnlineDPOConfig", "XPOConfig", "NashMDConfig",
    "PRMConfig", "BCOConfig",
})  # fmt: skip
"""Arguments of TRL's trainers: bf16 is on by default in some of its releases."""

_ARGUMENTS = frozenset({
    "TrainingArguments", "Seq2SeqTrainingArguments", "UnslothTrainingArguments",
    "SentenceTransformerTrainingArguments",
})  # fmt: skip
_TRAINERS = frozenset({
    "Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer", "GRPOTrainer", "KTOTrainer",
    "ORPOTrainer", "RewardTrainer", "UnslothTrainer",
})  # fmt: skip
_NOT_TRAINERS = frozenset({
    "bf16", "fp16", "tf32", "gradient_checkpointing", "deepspeed", "torch_compile", "output_dir",
    "per_device_train_batch_size", "learning_rate", "num_train_epochs",
})  # fmt: skip
"""Arguments of TrainingArguments that people hand to a Trainer."""

_ADAPTERS = frozenset({"LoraConfig", "get_peft_model"})
_TORCH = frozenset({
    "set_default_dtype", "autocast", "custom_fwd", "sdpa_kernel", "sdp_kernel", "enable_flash_sdp",
    "enable_mem_efficient_sdp", "enable_math_sdp", "enable_cudnn_sdp", "compile", "backward",
    "generate", "gradient_checkpointing_enable", "Accelerator", "Fabric", "GradScaler",
})  # fmt: skip
_ENVIRONMENT = frozenset({"setdefault", "putenv", "update"})
_QUANTISED = {"GPTQConfig": "gptq", "AwqConfig": "awq", "HqqConfig": "hqq", "EetqConfig": "eetq"}

CHANGED = frozenset({"model_init_kwargs", "bf16", "fp16"})

WANTED = (
    CHANGED |
    _TRL | _ARGUMENTS | _TRAINERS | _ADAPTERS | _TORCH | _ENVIRONMENT | set(_QUANTISED)
    | {"BitsAndBytesConfig"}
)  # fmt: skip

# `training_args.bf16 = True`, `args.fp16 = use_half`
_ARGUMENTS_OF = re.compile(r"(?:args|arguments|config)>?$", re.IGNORECASE)
_SWITCHES = {
    "enable_flash": "flash", "enable_mem_efficient": "efficient", "enable_cudnn": "cudnn",
    "enable_math": "math",
}  # fmt: skip
_SWITCHED = {
    "enable_flash_sdp": "flash", "enable_mem_efficient_sdp": "efficient",
    "enable_cudnn_sdp": "cudnn", "enable_math_sdp": "math",
}  # fmt: skip
"""Functions of ``torch.backends.cuda`` that allow a backend, or do not."""

_LIGHTNING = {
    "bf16-mixed": "bf16", "bf16": "bf16", "16-mixed": "fp16", "16": "fp16", "32-true": None,
    "32": None, "bf16-true": None, "16-true": None,
}  # fmt: skip
"""What ``precision`` of Lightning's Trainer switches autocast to."""


def say(script: ScriptMeaning, call: Found) -> bool:
    """Note what a call says; False where it says nothing of how a script trains and runs."""
    owner, _, last = call.name.rpartition(".")
    root = call.name.partition(".")[0]
    if call.form == "assignment":
        return _environment(script, call) or _changed(script, call, owner, last)
    if last in _TRL or last in _ARGUMENTS:
        _arguments(script, call, is_trl=last in _TRL)
    elif last in _TRAINERS or last == "Fabric":
        _trainer(script, call, root)
    elif last in _ADAPTERS:
        _adapter(script, call, owner)
    elif last == "BitsAndBytesConfig":
        models.quantised(script, call)
        keys = ("bnb_4bit_compute_dtype",)
        script.take(call, keys, "config.compute_dtype", meaning.dtype)
    elif last in _QUANTISED:
        script.add("config.quantization", call, _QUANTISED[last], call)
    elif last in _ENVIRONMENT:
        _environment_call(script, call, owner, last)
    elif last in _TORCH:
        _torch(script, call, owner, last)
    else:
        return False
    return True


def _arguments(script: ScriptMeaning, call: Found, *, is_trl: bool) -> None:
    script.uses("transformers", "training", call)
    _switches(script, call, may_default=is_trl or call.open)
    script.take(call, ("tf32",), "config.tf32", meaning.flag)
    keys = ("gradient_checkpointing",)
    script.take(call, keys, "config.gradient_checkpointing", meaning.flag)
    script.take(call, ("torch_compile",), "config.compile", meaning.flag)
    deepspeed = call.argument("deepspeed")
    if deepspeed is not None and deepspeed.value.kind == "mapping":
        _deepspeed(script, call, deepspeed)
    model = call.argument("model_init_kwargs")
    if model is not None:
        _init_keywords(script, call, model.value)


def _init_keywords(script: ScriptMeaning, call: Found, value: ArgumentValue) -> None:
    """Note what TRL's trainers are to load a model with."""
    if value.kind == "mapping":
        inner = msgspec.structs.replace(call, arguments=value.items, open=value.open)
        models.say_arguments(script, inner)


def _changed(script: ScriptMeaning, call: Found, owner: str, last: str) -> bool:
    """Note what a script changes of a trainer's arguments after they were made."""
    if call.value is None or last not in CHANGED:
        return False
    if last == "model_init_kwargs":
        _init_keywords(script, call, call.value)
    elif _ARGUMENTS_OF.search(owner):
        switch = meaning.flag(call.value)
        script.add(f"config.{last}", call, switch, call)
        if switch is not False:
            script.add("config.autocast", call, last if switch is True else switch, call)
    return True


def _switches(script: ScriptMeaning, call: Found, *, may_default: bool) -> None:
    """Say what ``bf16`` and ``fp16`` come to: the first that is on is the trainer's autocast."""
    given = {key: call.argument(key) for key in ("bf16", "fp16")}
    values = {key: meaning.flag(one.value) for key, one in given.items() if one is not None}
    for key, one in given.items():
        if one is not None:
            script.add(f"config.{key}", one, values[key], call)
    for key, value in values.items():
        one = given[key]
        if one is not None and value is not False:
            script.add("config.autocast", one, key if value is True else value, call)
            return
    if call.open and len(values) < len(given):
        script.add("config.autocast", call, Computed("arguments that are put together"), call)
    elif len(values) == len(given) or not may_default:
        script.default("config.autocast", call, None)


def _deepspeed(script: ScriptMeaning, call: Found, given: Argument) -> None:
    for section in given.value.items:
        if section.key not in ("bf16", "fp16") or section.value.kind != "mapping":
            continue
        enabled = next((one for one in section.value.items if one.key == "enabled"), None)
        switch = meaning.flag(enabled.value) if enabled is not None else False
        if enabled is not None and switch is not False:
            value = str(section.key) if switch is True else switch
            script.add("config.deepspeed_precision", enabled, value, call)


def _trainer(script: ScriptMeaning, call: Found, root: str) -> None:
    if root in ("lightning", "pytorch_lightning"):
        script.uses("lightning", "training", call)
        given = call.argument("precision")
        if given is not None:
            word = meaning.text(given.value)
            value = _LIGHTNING.get(word, word) if isinstance(word, str) else word
            script.add("config.autocast", given, value, call)
        return
    script.uses("transformers", "training", call)
    wrong = [one for one in call.arguments if one.key in _NOT_TRAINERS]
    if wrong and root in ("transformers", "trl"):
        script.add("config.trainer_arguments", wrong[0], tuple(str(w.key) for w in wrong), call)


def _adapter(script: ScriptMeaning, call: Found, owner: str) -> None:
    is_config = call.name.endswith("LoraConfig")
    if is_config or owner.rpartition(".")[2].startswith("Fast"):
        script.uses("" if is_config else "unsloth", "training", call)
        script.add("config.adapter", call, "lora", call)
        script.take(call, ("use_dora",), "config.use_dora", meaning.flag)
        script.take(call, ("target_modules",), "config.adapter_modules", meaning.names)


def _torch(script: ScriptMeaning, call: Found, owner: str, last: str) -> None:
    is_torch = call.name.startswith("torch.")
    if last == "set_default_dtype" and is_torch:
        script.take(call, (0, "d"), "config.default_dtype", meaning.dtype)
    elif last == "autocast":
        _autocast(script, call, owner)
    elif last == "Accelerator":
        script.uses("", "training", call)
        _accelerator(script, call)
    elif last in ("sdpa_kernel", "sdp_kernel", *_SWITCHED):
        _kernels(script, call, last)
    elif last == "compile" and is_torch:
        script.add("config.compile", call, True, call)
    elif last == "gradient_checkpointing_enable":
        script.add("config.gradient_checkpointing", call, True, call)
    elif last in ("backward", "GradScaler"):
        script.uses("", "training", call)
    elif last == "generate":
        script.uses("", "inference", call)


def _autocast(script: ScriptMeaning, call: Found, owner: str) -> None:
    """Note ``torch.autocast``: float16 on CUDA unless it says another dtype."""
    is_old = owner.endswith("cuda.amp")
    device = None if is_old else call.argument(0, "device_type")
    kind = meaning.text(device.value) if device is not None else "cuda"
    enabled = call.argument("enabled")
    switch = meaning.flag(enabled.value) if enabled is not None else True
    if switch is False or (isinstance(kind, str) and not kind.startswith("cuda")):
        return
    given = call.argument("dtype", 1) if not is_old else call.argument("dtype")
    if switch is not True:
        script.add("config.autocast", call, switch, call)
    elif given is None:
        value = Computed("arguments that are put together") if call.open else "fp16"
        script.add("config.autocast", call, value, call)
    else:
        script.add("config.autocast", given, meaning.dtype(given.value), call)


def _accelerator(script: ScriptMeaning, call: Found) -> None:
    given = call.argument("mixed_precision")
    if given is None:
        return
    word = meaning.text(given.value)
    if word == "fp8":
        script.add("config.fp8", given, True, call)
    value = None if word == "no" else words.dtype_word(word) if isinstance(word, str) else word
    script.add("config.autocast", given, value, call)


def _kernels(script: ScriptMeaning, call: Found, last: str) -> None:
    """Note which backends torch's attention may take."""
    if last == "sdpa_kernel":
        script.take(call, (0, "backends"), "config.sdpa_kernel", meaning.kernels)
    elif last == "sdp_kernel":
        _old_kernels(script, call)
    elif call.name.startswith("torch."):
        script.switch(_SWITCHED[last], call)


def _old_kernels(script: ScriptMeaning, call: Found) -> None:
    """Note ``torch.backends.cuda.sdp_kernel``: what is not switched off is allowed."""
    allowed = []
    for key, name in _SWITCHES.items():
        given = call.argument(key)
        switch = meaning.flag(given.value) if given is not None else True
        if isinstance(switch, Computed):
            script.add("config.sdpa_kernel", call, switch, call)
            return
        if switch:
            allowed.append(name)
    script.add("config.sdpa_kernel", call, tuple(allowed), call)


def _environment(script: ScriptMeaning, call: Found) -> bool:
    if not call.name.startswith("os.environ[") or call.value is None:
        return False
    _variable(script, call.name[len("os.environ[") : -1], call, meaning.text(call.value), call)
    return True


def _environment_call(script: ScriptMeaning, call: Found, owner: str, last: str) -> None:
    if last == "putenv" or (owner == "os.environ" and last == "setdefault"):
        name, value = call.argument(0), call.argument(1)
        if name is not None and value is not None:
            told = meaning.text(value.value)
            kept = Computed("only if the shell sets no other value")
            _variable(
                script, str(name.value.literal), value, kept if last == "setdefault" else told, call
            )
    elif owner == "os.environ":
        mapping = call.argument(0)
        items = mapping.value.items if mapping is not None else ()
        for item in (*items, *(one for one in call.arguments if isinstance(one.key, str))):
            _variable(script, str(item.key), item, meaning.text(item.value), call)


def _variable(
    script: ScriptMeaning, name: str, at: Found | Argument, value: meaning.Meaning, call: Found
) -> None:
    if is_asked(name):
        script.add(f"env.{name}", at, value, call)
