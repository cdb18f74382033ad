"""The founding cases with real libraries, for an interpreter that has them.

Usage: founding.py [NAME]...    Each case is forked off when the libraries have been imported, and
has its line of output: name, process, exit code. flash_attn is a stand-in with the checks of the
real one; everything above it is real.
"""
# ruff: noqa: ANN001, ANN003, ANN201, ANN202, FBT002, PLC0415, PLR0917, T201
# mypy: ignore-errors

from __future__ import annotations

import os
import sys
import threading
import traceback
import warnings
from types import ModuleType

import torch

warnings.filterwarnings("ignore")
BF16 = torch.bfloat16
PROMPT = torch.arange(3, 9).reshape(1, 6)


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
    """Refuse what the real one refuses, in its order."""
    if q.dtype not in (torch.float16, BF16):
        raise RuntimeError("FlashAttention only support fp16 and bf16 data type")
    if k.dtype != q.dtype:
        raise RuntimeError("query and key must have the same dtype")
    if v.dtype != q.dtype:
        raise RuntimeError("query and value must have the same dtype")
    scores = q.transpose(1, 2).float() @ k.permute(0, 2, 3, 1).float()
    return (scores.softmax(-1) @ v.transpose(1, 2).float()).to(q.dtype).transpose(1, 2)


def unguarded(module, query, key, value, attention_mask, **options):
    """Call flash_attn without a guard, as unsloth did."""
    import flash_attn

    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    heads = (each.transpose(1, 2) for each in (query, key, value))
    return flash_attn.flash_attn_func(*heads, causal=True), None


def on_cpu():
    """Return whether autocast is on for a CPU, also in a torch before 2.4."""
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:
        return torch.is_autocast_cpu_enabled()


def guarded(module, query, key, value, attention_mask, **options):
    """Cast a float32 query, and the others with it, as transformers does before it calls."""
    if query.dtype == torch.float32 and on_cpu():
        query, key, value = (each.to(BF16) for each in (query, key, value))
    return unguarded(module, query, key, value, attention_mask, **options)


def prepare():
    """Import what the cases need, and put the stand-in in its place."""
    from transformers import AttentionInterface

    standin = ModuleType("flash_attn")
    standin.flash_attn_func = flash_attn_func
    standin.__version__ = "2.8.3"
    sys.modules["flash_attn"] = standin
    watch = next((each for each in sys.meta_path if type(each).__name__ == "Watch"), None)
    if watch is not None:  # a module that was not imported: tell the tracer of it
        watch.came("flash_attn", standin)
    AttentionInterface.register("unguarded", unguarded)
    AttentionInterface.register("guarded", guarded)


def llama(attention="unguarded"):
    """Return a tiny Llama that calls it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=32, attn_implementation=attention,
    ))  # fmt: skip


def llamafactory():
    """Weights of float32, autocast off."""
    llama()(PROMPT)


def llamafactory_repaired():
    """The same in bfloat16."""
    llama().to(BF16)(PROMPT)


def deepscaler():
    """Masters of float32 under autocast: the warning at the start is harmless."""
    with torch.autocast("cpu", dtype=BF16):
        llama("guarded")(PROMPT, labels=PROMPT).loss.backward()


def qwen_v100():
    """Half precision, and the eager attention that a V100 is left with."""
    llama("eager").half()(PROMPT)


def _dora(use_dora):
    import bitsandbytes as bnb
    from peft import LoraConfig, get_peft_model

    model = llama().to(BF16)
    for module in list(model.modules()):
        for name, linear in list(module.named_children()):
            if isinstance(linear, torch.nn.Linear) and name != "lm_head":
                quantized = bnb.nn.Linear4bit(
                    linear.in_features, linear.out_features, bias=False, compute_dtype=BF16,
                    quant_type="nf4",
                )  # fmt: skip
                quantized.load_state_dict(linear.state_dict(), strict=False)
                setattr(module, name, quantized.to("cpu"))
    model.is_loaded_in_4bit = True
    model = get_peft_model(
        model, LoraConfig(use_dora=use_dora, target_modules=["k_proj", "v_proj"], r=4)
    )
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = parameter.data.float()
    asked = torch.is_autocast_enabled
    # peft asks for CUDA's autocast, which a CPU cannot switch on.
    torch.is_autocast_enabled = lambda *kind: asked(*kind) if kind else True
    with torch.autocast("cpu", dtype=BF16):
        model(PROMPT)


def unsloth_dora():
    """DoRA on keys and values of a 4-bit base."""
    _dora(use_dora=True)


def unsloth_dora_repaired():
    """Plain LoRA."""
    _dora(use_dora=False)


def _x_transformers(dtype):
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, attn_flash=True)
    model = TransformerWrapper(num_tokens=20, max_seq_len=64, attn_layers=layers).to(BF16)
    for module in model.modules():
        if hasattr(module, "inv_freq"):  # buffers stay float32 where only parameters are cast
            module.inv_freq = module.inv_freq.to(dtype)
    model(PROMPT)


def x_transformers():
    """Rotary frequencies of float32."""
    _x_transformers(torch.float32)


def x_transformers_repaired():
    """All in bfloat16."""
    _x_transformers(BF16)


def qwen3(*, wide=True):
    """Return a tiny Qwen 3 in bfloat16 whose second layer may norm its keys in float32."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    model = Qwen3ForCausalLM(Qwen3Config(
        hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, vocab_size=32, attn_implementation="unguarded",
        pad_token_id=0, eos_token_id=None,
    )).to(BF16)  # fmt: skip
    if wide:
        model.model.layers[1].self_attn.k_norm.float()
    return model


def generate(model):
    """Write two words."""
    model.generate(PROMPT, max_new_tokens=2, do_sample=False)


def offload(model):
    """Hang the hooks of a device map on each module."""
    import accelerate

    accelerate.cpu_offload(model, execution_device=torch.device("cpu"))
    model(PROMPT)


def checkpoint(model, reentrant=False):
    """Recompute in the backward pass, in the way that does not re-enter it."""
    model.train()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model(PROMPT, labels=PROMPT).loss.backward()


def checkpoint_reentrant(model):
    """The same in the way that does."""
    checkpoint(model, reentrant=True)


def infer_in_thread(model):
    """Run in a thread of its own, in inference mode."""
    failed = []

    def infer():
        try:
            with torch.inference_mode():
                model(PROMPT)
        except RuntimeError as error:
            failed.append(error)

    thread = threading.Thread(target=infer)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


WAYS = (generate, offload, checkpoint, checkpoint_reentrant, infer_in_thread)

CASES = {
    case.__name__: case
    for case in (
        llamafactory, llamafactory_repaired, deepscaler, qwen_v100, unsloth_dora,
        unsloth_dora_repaired, x_transformers, x_transformers_repaired,
    )
} | {
    f"{way.__name__}{'' if wide else '_repaired'}": lambda way=way, wide=wide: way(qwen3(wide=wide))
    for way in WAYS
    for wide in (True, False)
}  # fmt: skip


def fork(name):
    """Run a case in a process of its own; return its number and its exit code."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        CASES[name]()
        code = 0
    except BaseException:  # noqa: BLE001 -- the exit code is what the parent sees
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    prepare()
    for name in sys.argv[1:] or CASES:
        print(name, *fork(name))
