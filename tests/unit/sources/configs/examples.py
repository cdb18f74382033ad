"""Configurations of the kinds that projects publish, made again in own words: nothing is wrong."""

from __future__ import annotations

import json

FACTORY = """\
model_name_or_path: {model}
trust_remote_code: true
stage: {stage}
do_train: true
finetuning_type: {way}
{more}
dataset: identity,alpaca_en_demo
template: {template}
cutoff_len: 2048
output_dir: saves/{way}/{stage}
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
ddp_timeout: 180000000
"""
ALL_LINEAR = "lora_rank: 8\nlora_target: all\n"


def factory(stage: str, way: str, more: str = "", model: str = "Qwen/Qwen3-4B") -> str:
    return FACTORY.format(model=model, stage=stage, way=way, more=more, template="qwen3")


RECIPE = """\
# a model
model_name_or_path: {model}
model_revision: main
{dtype}
attn_implementation: flash_attention_2
# data
dataset_name: open/data
dataset_num_proc: 12
# a trainer
bf16: true
do_eval: false
eval_strategy: 'no'
gradient_accumulation_steps: 8
gradient_checkpointing: true
gradient_checkpointing_kwargs: {{use_reentrant: false}}
learning_rate: 1.0e-05
lr_scheduler_kwargs: {{min_lr_rate: 0.1}}
max_steps: -1
output_dir: data/out
per_device_train_batch_size: 2
push_to_hub: true
seed: 42
{more}
"""


def recipe(more: str = "", dtype: str = "torch_dtype: bfloat16", model: str = "Qwen/Q") -> str:
    return RECIPE.format(model=model, dtype=dtype, more=more)


def launch(more: str, precision: str = "bf16") -> str:
    return (
        "compute_environment: LOCAL_MACHINE\ndebug: false\ndowncast_bf16: 'no'\nmachine_rank: 0\n"
        f"main_training_function: main\nmixed_precision: {precision}\nnum_machines: 1\n"
        f"num_processes: 8\nrdzv_backend: static\nuse_cpu: false\n{more}"
    )


ZERO = launch("distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3}\n")
FSDP = launch(
    "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_offload_params: false\n"
    "  fsdp_activation_checkpointing: true\n"
)
DEEPSPEED = json.dumps(
    {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "zero_allow_untested_optimizer": True,
        "fp16": {"enabled": "auto", "loss_scale": 0, "min_loss_scale": 1},
        "bf16": {"enabled": "auto"},
        "zero_optimization": {"stage": 3, "sub_group_size": 1e9, "overlap_comm": False},
    },
    indent=2,
)


def model(kind: str, **more: object) -> str:
    shape = {"hidden_size": 4096, "num_attention_heads": 32, "torch_dtype": "bfloat16"}
    named = {"architectures": [f"{kind.title()}ForCausalLM"], "model_type": kind}
    return json.dumps({**named, **shape, **more}, indent=2)


def adapter(**more: object) -> str:
    return json.dumps({"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"], **more})


QLORA = "quantization_bit: 4\nquantization_method: bnb\ndouble_quantization: false\n" + ALL_LINEAR

EXAMPLES: dict[str, dict[str, str]] = {
    "factory, LoRA": {"a.yaml": factory("sft", "lora", ALL_LINEAR)},
    "factory, LoRA with fa2": {"a.yaml": factory("sft", "lora", ALL_LINEAR + "flash_attn: fa2")},
    "factory, DPO": {"a.yaml": factory("dpo", "lora", ALL_LINEAR + "pref_beta: 0.1")},
    "factory, KTO": {"a.yaml": factory("kto", "lora", ALL_LINEAR)},
    "factory, reward": {"a.yaml": factory("rm", "lora", ALL_LINEAR)},
    "factory, pretraining": {"a.yaml": factory("pt", "full", "flash_attn: sdpa")},
    "factory, full": {
        "a.yaml": factory("sft", "full", "deepspeed: z3.json\nflash_attn: fa2"),
        "z3.json": DEEPSPEED,
    },
    "factory, freeze": {"a.yaml": factory("sft", "freeze", "freeze_trainable_layers: 8")},
    "factory, QLoRA": {"a.yaml": factory("sft", "lora", QLORA + "flash_attn: fa2")},
    "factory, HQQ": {"a.yaml": factory("sft", "lora", QLORA.replace("bnb", "hqq"))},
    "factory, DoRA": {"a.yaml": factory("sft", "lora", ALL_LINEAR + "use_dora: true")},
    "factory, QDoRA": {"a.yaml": factory("sft", "lora", QLORA + "use_dora: true\nflash_attn: fa2")},
    "factory, BAdam": {"a.yaml": factory("sft", "full", "use_badam: true\npure_bf16: true")},
    "factory, GaLore": {"a.yaml": factory("sft", "full", "use_galore: true\npure_bf16: true")},
    "factory, OFT": {"a.yaml": factory("sft", "oft", "oft_target: all")},
    "factory, unsloth": {"a.yaml": factory("sft", "lora", ALL_LINEAR + "use_unsloth: true")},
    "factory, gpt-oss": {
        "a.yaml": factory("sft", "lora", ALL_LINEAR, "openai/gpt-oss-20b"),
        "config.json": model("gpt_oss", sliding_window=128, head_dim=64),
    },
    "factory, chat": {"a.yaml": "model_name_or_path: m\ntemplate: qwen3\ninfer_backend: vllm\n"},
    "factory, merge": {
        "a.yaml": "model_name_or_path: m\nadapter_name_or_path: a\ntemplate: q\nexport_dir: o\n",
        "adapter_config.json": adapter(use_dora=False),
    },
    "factory, FSDP and QLoRA": {"a.yaml": factory("sft", "lora", QLORA), "fsdp.yaml": FSDP},
    "recipe, full": {"a.yaml": recipe("packing: false\nmax_length: 32768"), "z.yaml": ZERO},
    "recipe, DPO with QLoRA": {
        "a.yaml": recipe("use_peft: true\nload_in_4bit: true\nlora_r: 128\nbeta: 0.01")
    },
    "recipe, GRPO with vLLM": {
        "a.yaml": recipe("use_vllm: true\nnum_generations: 16\nmax_prompt_length: 512")
    },
    "recipe, dtype of the model": {
        "a.yaml": recipe("packing: true", "torch_dtype: auto"),
        "config.json": model("llama", head_dim=128),
    },
    "recipe, no dtype": {"a.yaml": recipe("packing: true", "torch_dtype: null"), "f.yaml": FSDP},
    "recipe, its first name": {
        "a.yaml": recipe("max_seq_length: 2048").replace(
            "attn_implementation: flash_attention_2", "use_flash_attention_2: true"
        )
    },
    "launcher, one GPU": {
        "a.yaml": recipe("packing: true"),
        "s.yaml": launch("distributed_type: 'NO'\n"),
    },
    "launcher without precision": {
        "a.yaml": recipe("packing: true"),
        "m.yaml": launch("distributed_type: MULTI_GPU\n", "'no'"),
    },
    "command line of TRL": {
        "a.yaml": "model_name_or_path: Qwen/Q\ndataset_name: d\nreport_to: none\nlearning_rate: "
        "0.0001\nlr_scheduler_type: cosine\nmax_length: 512\n"
    },
    "Qwen": {"config.json": model("qwen2", sliding_window=32768, use_sliding_window=False)},
    "Mistral": {"config.json": model("mistral", sliding_window=4096), "a.yaml": recipe()},
    "Gemma 2": {
        "config.json": model("gemma2", head_dim=256, attn_logit_softcapping=50.0),
        "a.yaml": recipe(),
    },
    "a checkpoint in float32": {
        "config.json": model("phi3", torch_dtype="float32"),
        "a.yaml": recipe(),
    },
    "latent attention": {
        "config.json": model("deepseek_v3", kv_lora_rank=512, qk_nope_head_dim=128),
        "a.yaml": recipe(),
    },
    "quantised checkpoint": {
        "config.json": model("llama", quantization_config={"quant_method": "gptq", "bits": 4})
    },
    "images and text": {
        "config.json": json.dumps(
            {
                "architectures": ["XForConditionalGeneration"],
                "model_type": "x_vl",
                "dtype": "bfloat16",
                "text_config": {"hidden_size": 2048, "num_attention_heads": 16},
                "vision_config": {"hidden_size": 1280, "num_heads": 16},
            }
        ),
        "a.yaml": recipe(),
    },
}
