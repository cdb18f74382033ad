"""Models that a script loads without a dtype, where nothing else in it decides one either.

What transformers does then is another thing in each of its releases: tables say what.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs import python_meaning as meaning
from fadoctor.sources.configs.intent import Computed
from fadoctor.sources.configs.kinds import DEEPSPEED, TRANSFORMERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.sources.configs.python_meaning import ScriptMeaning
    from fadoctor.sources.scripts.python_calls import Found

# transformers.AutoModelForCausalLM.from_pretrained, transformers.LlamaForCausalLM.from_pretrained
_LOADS = re.compile(r"transformers\.\w{0,80}(?:Model|For[A-Z]\w{0,60})\.from_pretrained")
_OTHERS = (
    "dtype", "torch_dtype", "quantization_config", "load_in_4bit", "load_in_8bit", "config",
    "trust_remote_code", "gguf_file", "state_dict",
)  # fmt: skip
"""Arguments that decide the dtype, or hand the decision to somebody else."""
_DECIDE = frozenset({
    "config.weights_dtype", "config.default_dtype", "config.quantization", "config.dtype",
    "config.deepspeed_precision", "config.compute_dtype", "config.use_unsloth",
})  # fmt: skip
# what people write in the names of checkpoints that are quantized: a loader takes half precision
_QUANTIZED = re.compile(
    r"gptq|awq|bnb|hqq|eetq|aqlm|gguf|quant|exl[23]|marlin|bitnet"
    r"|(?:int|fp|mxfp|nvfp|w)-?[48](?!\d)|[48]-?bit|gpt-oss|deepseek-(?:v[34]|r1(?!-distill))|kimi",
    re.IGNORECASE,
)
_FLASH = ("flash_attention_2", "flash_attention_3")
_ENGINES = frozenset({
    "init_inference", "initialize", "optimize", "quantize_", "quantize",
    "prepare_model_for_kbit_training", "convert_model",
})  # fmt: skip
"""Functions of engines that are handed a model and may change its dtype."""
_ENCODES = frozenset(("encode", "rank"))
"""What a SentenceTransformer is called for."""
WANTED = _ENGINES | _ENCODES
# `model.to(device)`, `model.to(args.local_rank)`
_DEVICE = re.compile(r"dev|cuda|rank|gpu", re.IGNORECASE)


def say(script: ScriptMeaning, found: Sequence[Found]) -> None:
    """Note that transformers is left to choose, where a model of its own gets no dtype at all.

    Silent wherever something may decide: a cast, a quantized checkpoint, autocast, an engine.
    """
    loads = [each for call in found if call.form == "call" for each in _loading(call)]
    asked = [call for call in loads if _asks_for_flash(call)]
    for call in found:
        if call.name.rpartition(".")[2] in _ENCODES and any(e.name in _HAND_ON for e in asked):
            script.uses("", "inference", call)
    if len(loads) == len(asked) == 1 and _is_open_to_default(script, found):
        script.add("config.dtype_left_to", asked[0], TRANSFORMERS, asked[0])


def _loading(call: Found) -> Iterator[Found]:
    """Yield a call where it loads a model; SentenceTransformer hands its ``model_kwargs`` on."""
    if _LOADS.fullmatch(call.name):
        yield call
    elif call.name in _HAND_ON:
        given = call.argument("model_kwargs")
        if given is not None and given.value.kind == "mapping":
            items, is_open = given.value.items, given.value.open or call.open
            yield msgspec.structs.replace(call, arguments=(*call.arguments, *items), open=is_open)


_HAND_ON = ("sentence_transformers.SentenceTransformer", "sentence_transformers.CrossEncoder")


def _asks_for_flash(call: Found) -> bool:
    """Return whether a call loads a checkpoint for flash attention by name, and says no more."""
    attention, model = call.argument("attn_implementation"), call.argument(0)
    model = model or call.argument("pretrained_model_name_or_path")
    if attention is None or model is None or call.open or call.condition:
        return False
    name = meaning.text(model.value)
    is_plain = isinstance(name, str) and not _QUANTIZED.search(name)
    return is_plain and meaning.text(attention.value) in _FLASH and call.argument(*_OTHERS) is None


def _is_open_to_default(script: ScriptMeaning, found: Sequence[Found]) -> bool:
    """Return whether it is known how the model runs, and that nothing makes it half precision."""
    said = {intent.name: intent.value for intent in script.intents}
    purposes = {purpose for purpose, _ in script.purposes}
    if _DECIDE & said.keys() or isinstance(said.get("config.autocast"), Computed):
        return False
    if any(_may_cast(call) for call in found) or said.get("config.autocast") is not None:
        return False
    return purposes == {"inference"} or "config.autocast" in said


def _may_cast(call: Found) -> bool:
    """Return whether a call may change the dtype of a model: an engine, or a cast to a variable."""
    last = call.name.rpartition(".")[2]
    if last in _ENGINES or call.argument(DEEPSPEED, "fsdp", "fsdp_config") is not None:
        return True
    moved = call.arguments if last == "to" else ()
    return not all(
        _DEVICE.search(one.written) or isinstance(one.value.literal, bool | int) for one in moved
    )
