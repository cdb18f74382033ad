"""Models that a Python script loads, serves and casts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs import python_meaning as meaning
from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed
from fadoctor.sources.configs.vllm import backend

if TYPE_CHECKING:
    from fadoctor.sources.configs.python_meaning import ScriptMeaning
    from fadoctor.sources.scripts.python_calls import Argument, ArgumentValue, Found

# AutoTokenizer, CLIPImageProcessor, LlamaConfig, DDIMScheduler
_NO_MODEL = re.compile(
    r"Tokenizer|Processor|Config(?:$|\.)|FeatureExtractor|Scheduler|Dataset|GenerationConfig"
)
_ROOTS = {
    "unsloth": "unsloth", "vllm": "vllm", "sglang": "sglang", "sgl": "sglang",
    "diffusers": "diffusers", "x_transformers": "x-transformers",
}  # fmt: skip
_DTYPE_KEYS = ("dtype", "torch_dtype")
_MODEL_KEYS = (*_DTYPE_KEYS, "attn_implementation", "_attn_implementation", "load_in_4bit",
               "load_in_8bit", "quantization_config", "device_map", "use_flash_attention_2",
               "trust_remote_code")  # fmt: skip
_CASTS = {"half": "fp16", "bfloat16": "bf16", "float": "fp32"}
_IS_MODEL = re.compile(r"(?:^|[<.])(?:\w*_)?model>?$|from_pretrained|get_peft_model", re.IGNORECASE)

WANTED = frozenset({
    "from_pretrained", "from_config", "pipeline", "SentenceTransformer", "CrossEncoder", "LLM",
    "EngineArgs", "AsyncEngineArgs", "Engine", "half", "bfloat16", "float", "to", "padding_side",
    "_attn_implementation", "set_attn_implementation", "set_attention_backend", "Decoder",
    "Encoder", "AttentionLayers", "CrossAttender", "LLMConfig", "flash_attn_func",
    "flash_attn_qkvpacked_func", "flash_attn_kvpacked_func", "flash_attn_varlen_func",
    "flash_attn_varlen_qkvpacked_func", "flash_attn_varlen_kvpacked_func",
    "scaled_dot_product_attention", "memory_efficient_attention", "load_adapter",
})  # fmt: skip


def say(script: ScriptMeaning, call: Found) -> None:
    """Note what a call or an assignment says of a model."""
    owner, _, last = call.name.rpartition(".")
    if call.form == "assignment":
        _assigned(script, call, last)
    elif last in ("from_pretrained", "from_config", "load_adapter"):
        _loaded(script, call, owner.rpartition(".")[2])
    elif last in ("pipeline", "SentenceTransformer", "CrossEncoder"):
        _wrapped(script, call, last)
    elif last in ("LLM", "EngineArgs", "AsyncEngineArgs", "Engine"):
        _served(script, call, last)
    elif last == "LLMConfig" and call.name.startswith("ray."):
        _ray(script, call)
    elif last.startswith("flash_attn"):
        _flash_attn(script, call)
    elif last in ("scaled_dot_product_attention", "memory_efficient_attention"):
        (_torch_attention if last[0] == "s" else _xformers)(script, call)
    elif last in ("set_attn_implementation", "set_attention_backend"):
        script.take(call, (0, "attn_implementation", "backend"), "config.attention", meaning.text)
    elif last in ("Decoder", "Encoder", "AttentionLayers", "CrossAttender"):
        _x_transformers(script, call)
    else:
        _cast(script, call, owner, last)


def _wrapped(script: ScriptMeaning, call: Found, last: str) -> None:
    """Note what a wrapper of a model is given; a pipeline of the script's own is none."""
    if last == "pipeline" and call.name not in ("pipeline", "transformers.pipeline"):
        return
    script.uses("transformers", "inference" if last == "pipeline" else "", call)
    say_arguments(script, _with_mapping(call, "model_kwargs"))


def _assigned(script: ScriptMeaning, call: Found, last: str) -> None:
    if call.value is None:
        return
    name = {
        "padding_side": "config.padding_side",
        "_attn_implementation": "config.attention",
    }.get(last)
    if name:
        script.add(name, call, meaning.text(call.value), call)


def _adapter(script: ScriptMeaning, call: Found) -> None:
    """Remember the folder of an adapter that a model is loaded with."""
    at = 0 if call.name.endswith("load_adapter") else 1
    given = call.argument(at, "model_id", "peft_model_id")
    folder = meaning.text(given.value) if given is not None else None
    if isinstance(folder, str):
        script.adapters.append(folder)


# AutoModelForCausalLM, AutoPeftModelForCausalLM; not AutoDraftModel or AutoAWQForCausalLM of others
_AUTO = re.compile(r"Auto(?:Peft)?Model(?:For\w{1,60})?")


def _loaded(script: ScriptMeaning, call: Found, owner: str) -> None:
    if owner == "PeftModel" or call.name.endswith("load_adapter"):
        _adapter(script, call)
        return
    if _NO_MODEL.search(owner):
        script.take(call, ("padding_side",), "config.padding_side", meaning.text)
        if owner.endswith("Config"):
            script.take(call, ("attn_implementation",), "config.attention", meaning.text)
        return
    root = call.name.partition(".")[0]
    framework = "unsloth" if owner.startswith("Fast") else _ROOTS.get(root, "transformers")
    call = _with_mapping(call, "model_kwargs")
    if framework == "transformers" and not owner and call.argument(*_MODEL_KEYS) is None:
        return
    script.uses(framework, "", call)
    if framework == "unsloth":
        _unsloth(script, call)
    if not owner.startswith("Peft"):  # whose first argument is a model
        keys = (0, "pretrained_model_name_or_path", "model_name")
        script.take(call, keys, "config.model", meaning.text)
    is_its = root == "transformers" or _AUTO.fullmatch(owner) is not None
    say_arguments(script, call, is_renamed=is_its and not owner.startswith("Flax"))


def say_arguments(script: ScriptMeaning, call: Found, *, is_renamed: bool = True) -> None:
    """Note what the arguments of a call say that loads a model.

    `is_renamed`: whether it is transformers that takes them, where the dtype changed its name.
    """
    device = call.argument("device_map", "device")
    if device is not None and meaning.text(device.value) == "cpu":
        return  # nothing of it asks for a GPU
    _left_open(script, call)
    given = script.take(call, _DTYPE_KEYS, "config.weights_dtype", meaning.dtype)
    is_named = given is not None and call.name.rpartition(".")[2] != "from_config"
    if given is not None and is_named and is_renamed:
        script.add("config.dtype_keyword", given, str(given.key), call)
    keys = ("attn_implementation", "_attn_implementation")
    script.take(call, keys, "config.attention", meaning.text)
    old = call.argument("use_flash_attention_2")
    if old is not None:
        switch = meaning.flag(old.value)
        value = "flash_attention_2" if switch is True else switch or None
        script.add("config.attention", old, value, call)
    quantised(script, call)
    script.take(call, ("device_map",), "config.device_map", meaning.modules_map)
    script.take(call, ("trust_remote_code",), "config.trust_remote_code", meaning.flag)


def _left_open(script: ScriptMeaning, call: Found) -> None:
    """Note what arguments that are put together may say beside those that are written."""
    if not call.open:
        return
    why = Computed("arguments that are put together")
    if call.argument(*_DTYPE_KEYS) is None:
        script.add("config.weights_dtype", call, why, call)
    if call.argument("attn_implementation", "_attn_implementation") is None:
        script.add("config.attention", call, why, call)


def quantised(script: ScriptMeaning, call: Found) -> None:
    """Note ``load_in_4bit`` and ``load_in_8bit`` where they are on, or may be."""
    for key, word in (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit")):
        given = call.argument(key)
        switch = meaning.flag(given.value) if given is not None else False
        if given is not None and switch is not False:
            value = word if switch is True else switch
            script.add("config.quantization", given, value, call)


def _unsloth(script: ScriptMeaning, call: Found) -> None:
    """Unsloth loads in 4 bits unless it is told otherwise."""
    script.add("config.use_unsloth", call, True, call)
    others = ("load_in_4bit", "load_in_8bit", "load_in_16bit", "full_finetuning")
    if call.argument(*others) is None:
        value = Computed("arguments that are put together") if call.open else "4bit"
        script.add("config.quantization", call, value, call)


def _served(script: ScriptMeaning, call: Found, last: str) -> None:
    root = call.name.partition(".")[0]
    framework = "sglang" if root in ("sglang", "sgl") else "vllm"
    if last == "Engine" and framework != "sglang":
        return
    if root not in ("vllm", "sglang", "sgl", last):
        return
    script.uses(framework, "inference", call)
    before, script.intents = script.intents, []
    _server_arguments(script, call, framework)
    script.served += script.intents
    script.intents = before


def _server_arguments(script: ScriptMeaning, call: Found, framework: str) -> None:
    script.take(call, (0, "model", "model_path"), "config.model", meaning.text)
    script.take(call, ("dtype",), "config.weights_dtype", meaning.dtype)
    script.take(call, ("kv_cache_dtype",), "config.kv_cache_dtype", meaning.text)
    script.take(call, ("quantization",), "config.quantization", meaning.text)
    script.take(call, ("trust_remote_code",), "config.trust_remote_code", meaning.flag)
    whole = _with_mapping(call, "attention_config")
    name = _vllm_backend if framework == "vllm" else meaning.text
    script.take(whole, ("attention_backend", "backend"), "config.attention", name)


def _ray(script: ScriptMeaning, call: Found) -> None:
    """Note what Ray Serve gives vLLM: ``engine_kwargs``."""
    script.uses("vllm", "inference", call)
    whole = _with_mapping(call, "engine_kwargs")
    before, script.intents = script.intents, []
    script.take(_with_mapping(call, "model_loading_config"), ("model_id",), "config.model",
                meaning.text)  # fmt: skip
    _server_arguments(script, whole, "vllm")
    script.served += script.intents
    script.intents = before


_TENSORS = (0, 1, 2, "q", "k", "v", "qkv", "kv", "query", "key", "value")
_FLOAT32 = ("torch.float32", "torch.float", "torch.float64", "torch.double")


def _flash_attn(script: ScriptMeaning, call: Found) -> None:
    """Note float32 tensors that the script makes and hands flash-attn itself."""
    if not call.name.startswith("flash_attn"):
        return
    wrong = _float32_tensors(call)
    if wrong:
        script.add("config.attention", call, "fa2", call)
        script.add("config.dtype", wrong[0], "fp32", call)


def _torch_attention(script: ScriptMeaning, call: Found) -> None:
    """Note float32 tensors that torch's own attention is given, which autocast would cast."""
    wrong = _float32_tensors(call)
    if wrong and call.name.startswith("torch."):
        script.float32 = wrong[0], call


def _xformers(script: ScriptMeaning, call: Found) -> None:
    """Note the dtype of tensors that the script makes and hands xformers itself."""
    if not call.name.startswith("xformers."):
        return
    given = [call.argument(key) for key in _TENSORS]
    for one in given:
        if one is None or one.value.kind != "tensor":
            continue
        dtype = words.dtype_word(one.value.name)
        if isinstance(dtype, str):
            script.add("config.attention", call, "xformers", call)
            script.add("config.dtype", one, dtype, call)
            return


def _float32_tensors(call: Found) -> list[Argument]:
    """Return the tensors of a call that the script makes in float32."""
    given = [call.argument(key) for key in _TENSORS]
    found = [one for one in given if one is not None and one.value.kind == "tensor"]
    return [one for one in found if one.value.name in _FLOAT32]


def _vllm_backend(value: ArgumentValue) -> meaning.Meaning:
    found = meaning.text(value)
    return backend(found) if isinstance(found, str) else found


def _x_transformers(script: ScriptMeaning, call: Found) -> None:
    if not call.name.startswith("x_transformers."):
        return
    script.uses("x-transformers", "", call)
    script.take(call, ("attn_flash", "flash"), "config.attn_flash", meaning.flag)
    script.take(call, ("rotary_pos_emb",), "config.rotary", meaning.flag)


def _cast(script: ScriptMeaning, call: Found, owner: str, last: str) -> None:
    """Note a cast of a whole model; tensors are cast by the same methods."""
    makers = call.of if owner.endswith(">") else ()  # of the variable itself, not what it returns
    made_by = [one for one in (owner, *makers) if not _NO_MODEL.search(one.rpartition(".")[0])]
    if _NO_MODEL.search(owner) or not any(_IS_MODEL.search(one) for one in made_by):
        return
    device = call.argument("device")
    if device is not None and meaning.text(device.value) == "cpu":
        return  # where it is converted
    if last in _CASTS:
        script.add("config.weights_dtype", call, _CASTS[last], call)
        return
    for given in call.arguments:
        if given.key == "dtype" or given.value.name.startswith("torch."):
            cast = meaning.dtype(given.value)
            is_dtype = isinstance(cast, str) or given.key == "dtype"
            if is_dtype:
                script.add("config.weights_dtype", given, cast, call)


def _with_mapping(call: Found, key: str) -> Found:
    """Return the call with the items of a mapping among its arguments, as if they were its own."""
    given = call.argument(key)
    if given is None:
        return call
    items = given.value.items if given.value.kind == "mapping" else ()
    is_open = call.open or given.value.kind != "mapping" or given.value.open
    return msgspec.structs.replace(call, arguments=(*call.arguments, *items), open=is_open)
