"""Models that are loaded without a dtype: only where nothing else may decide one."""

from __future__ import annotations

import pytest

from tests.unit.sources.configs.read import UNREAD, facts

LOAD = (
    "import torch, deepspeed\n"
    "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    "model = AutoModelForCausalLM.from_pretrained({})\n"
)
FLASH = 'attn_implementation="flash_attention_2"'
PLAIN = LOAD.format(f'"acme/writer-7b", {FLASH}')
RUN = "model.generate(x)\n"
TRAIN = 'Trainer(model=model, args=TrainingArguments(output_dir="o"{})).train()\n'


@pytest.mark.parametrize(
    "text",
    [
        PLAIN + RUN,
        PLAIN + "model.to(device).eval()\n" + RUN,
        PLAIN + "model.to(0)\n" + RUN,
        PLAIN + TRAIN.format(""),
        PLAIN + TRAIN.format(", bf16=False, fp16=False"),
        LOAD.format(f'pretrained_model_name_or_path="acme/w", {FLASH}') + RUN,
        f'K = dict({FLASH}, device_map="auto")\n' + LOAD.format('"acme/w", **K') + RUN,
    ],
)
def test_transformers_chooses(text: str) -> None:
    assert facts(("a.py", text))["dtype_left_to"] == "transformers"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,  # nobody knows how it is run
        PLAIN + "model.half()\n" + RUN,
        PLAIN + "model.to(dtype)\n" + RUN,
        PLAIN + 'model.to("cuda", torch.float16)\n' + RUN,
        PLAIN + "model = deepspeed.init_inference(model, dtype=torch.half)\n" + RUN,
        PLAIN + "torch.set_default_dtype(torch.bfloat16)\n" + RUN,
        PLAIN + 'with torch.autocast("cuda", dtype=torch.bfloat16):\n    ' + RUN,
        PLAIN + TRAIN.format(", bf16=True"),
        PLAIN + TRAIN.format(", fp16=use_half"),
        PLAIN + TRAIN.format(', deepspeed="zero3.json"'),
        PLAIN + TRAIN.format(", **more"),
        PLAIN + "loss.backward()\n",
        LOAD.format('"acme/writer-7b", attn_implementation="sdpa"') + RUN,
        LOAD.format(f'"acme/writer-7b", {FLASH}, torch_dtype="auto"') + RUN,
        LOAD.format(f'"acme/writer-7b-GPTQ-Int4", {FLASH}') + RUN,
        LOAD.format(f'"acme/writer-7b", {FLASH}, quantization_config=q') + RUN,
        LOAD.format(f'"acme/writer-7b", {FLASH}, trust_remote_code=True') + RUN,
        LOAD.format(f"args.model, {FLASH}") + RUN,
        LOAD.format(f'"acme/writer-7b", {FLASH}, **more') + RUN,
        PLAIN.replace("transformers", "elsewhere") + RUN,
    ],
)
def test_something_else_may_choose(text: str) -> None:
    assert "dtype_left_to" not in facts(("a.py", text))


@pytest.mark.parametrize(
    ("root", "name", "keyword"),
    [
        ("unsloth", "FastLanguageModel", None),
        ("diffusers", "FluxPipeline", None),
        ("transformers", "AutoModel", "dtype"),
    ],
)
def test_only_transformers_renamed_its_keyword(root: str, name: str, keyword: str | None) -> None:
    text = f'from {root} import {name}\n{name}.from_pretrained("m", dtype="bfloat16")\n'
    assert facts(("a.py", text)).get("dtype_keyword") == keyword


SDPA = (
    "import torch\nimport torch.nn.functional as F\n"
    "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
    'q = torch.randn(1, 8, 128, 64, device="cuda"{})\n{}'
    "    F.scaled_dot_product_attention(q, q, q)\n"
)
FORCED = "with sdpa_kernel({}):\n"


@pytest.mark.parametrize("kernels", ["SDPBackend.FLASH_ATTENTION", "[SDPBackend.FLASH_ATTENTION]"])
def test_a_kernel_of_torch_that_is_forced(kernels: str) -> None:
    found = facts(("a.py", SDPA.format("", FORCED.format(kernels))))
    assert (found["attention"], found["dtype"]) == ("sdpa-flash", "fp32")
    found = facts(("a.py", SDPA.format(", dtype=torch.float16", FORCED.format(kernels))))
    assert (found["attention"], found.get("dtype")) == ("sdpa-flash", None)


@pytest.mark.parametrize(
    "forced",
    [
        FORCED.format("[SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]"),
        FORCED.format("backend"),
        "if fast:\n    torch.backends.cuda.enable_flash_sdp(True)\n",
    ],
)
def test_torch_may_choose_another_kernel(forced: str) -> None:
    assert "sdpa-flash" not in facts(("a.py", SDPA.format("", forced))).values()


def test_autocast_casts_what_torchs_attention_is_given() -> None:
    forced = FORCED.format("SDPBackend.FLASH_ATTENTION")
    text = SDPA.format("", 'torch.autocast("cuda", dtype=torch.float16).__enter__()\n' + forced)
    assert facts(("a.py", text))["dtype"] == "fp16"


SENTENCES = """from sentence_transformers import SentenceTransformer
m = SentenceTransformer("a/b", model_kwargs={"attn_implementation": "flash_attention_2"%s})
m.encode(["x"])
"""


@pytest.mark.parametrize(
    ("more", "left"), [("", "transformers"), (', "torch_dtype": "auto"', None)]
)
def test_what_hands_its_keywords_on(more: str, left: str | None) -> None:
    assert facts(("a.py", SENTENCES % more)).get("dtype_left_to") == left


TENSORS = {
    "a function": (
        "def make(n):\n    return torch.randn(n).cuda()\nq, k, v = make(1), make(1), make(1)\n"
    ),
    "a lambda": "make = lambda: torch.zeros(1)\nq, k, v = make(), make(), make()\n",
    "a comprehension": "q, k, v = [torch.randn(1).cuda() for _ in range(3)]\n",
    "half": "q, k, v = (torch.randn(1).half() for _ in range(3))\n",
    "a dtype that is handed on": (
        "def make(d):\n    return torch.randn(1, dtype=d)\nq, k, v = make(1), make(1), make(1)\n"
    ),
    "two ends": (
        "def make(n):\n    if n:\n        return n\n    return torch.randn(n)\n"
        "q, k, v = make(1), make(1), make(1)\n"
    ),
}


@pytest.mark.parametrize(
    ("how", "dtype"),
    [
        ("a function", "fp32"),
        ("a lambda", "fp32"),
        ("a comprehension", "fp32"),
        ("half", None),
        ("a dtype that is handed on", None),
        ("two ends", None),
    ],
)
def test_tensors_that_a_script_makes(how: str, dtype: str | None) -> None:
    head = "import torch\nfrom flash_attn import flash_attn_func\n"
    text = f"{head}{TENSORS[how]}flash_attn_func(q, k, v)\n"
    found = facts(("a.py", text)).get("dtype")
    assert found == dtype or (dtype is None and found in (None, UNREAD))
