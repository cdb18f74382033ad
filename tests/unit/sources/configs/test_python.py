"""What Python scripts and notebooks ask for."""

from __future__ import annotations

import json

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.configs.intent import Computed
from tests.unit.sources.configs.read import UNREAD, facts, intents, read

LOAD = "import torch\nfrom transformers import AutoModelForCausalLM\n"


def script(text: str) -> dict[str, object]:
    return facts(("train.py", text))


def loaded(arguments: str, before: str = "", after: str = "") -> dict[str, object]:
    call = f"model = AutoModelForCausalLM.from_pretrained('m', {arguments})\n"
    return script(f"{LOAD}{before}{call}{after}model.generate()\n")


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ("torch_dtype=torch.float16", "weights_dtype", "fp16"),
        ("torch_dtype='bfloat16'", "weights_dtype", "bf16"),
        ("torch_dtype='auto'", "weights_dtype", "auto"),
        ("dtype=torch.float32", "dtype", "fp32"),
        ("dtype=torch.float32", "dtype_keyword", "dtype"),
        ("torch_dtype=torch.half", "dtype_keyword", "torch_dtype"),
        ("torch_dtype=pick()", "weights_dtype", UNREAD),
        ("attn_implementation='flash_attention_2'", "attention", "flash_attention_2"),
        ("use_flash_attention_2=True", "attention", "flash_attention_2"),
        ("attn_implementation=args.attn", "attention", UNREAD),
        ("load_in_4bit=True", "quantization", "4bit"),
        ("device_map='auto'", "device_map", "auto"),
        ("device_map={'': 0}", "device_map", "custom"),
        ("trust_remote_code=True", "trust_remote_code", True),
        ("model_kwargs={'attn_implementation': 'sdpa'}", "attention", "sdpa"),
    ],
)
def test_how_a_model_is_loaded(arguments: str, name: str, value: object) -> None:
    assert loaded(arguments)[name] == value


def test_a_tokenizer_is_no_model() -> None:
    text = "from transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained('m')\n"
    assert script(text) == {}
    assert script(text + "t.padding_side = 'left'\n") == {"padding_side": "left"}


@pytest.mark.parametrize(
    ("after", "dtype"),
    [
        ("", "bf16"),
        ("model.half()\n", UNREAD),  # two dtypes: which one the attention sees is not told
        ("model = model.to(torch.bfloat16)\n", "bf16"),
        ("model.to('cuda')\n", "bf16"),
        ("x = images.half()\n", "bf16"),
        ("x = model(y).to(torch.float32)\n", "bf16"),
        (
            "p = AutoProcessor.from_pretrained('m')\nx = p(y).to('cuda', torch.float16)\n",
            "bf16",
        ),
        ("with torch.autocast('cuda'):\n    pass\n", "fp16"),
        ("with torch.autocast('cuda', dtype=torch.bfloat16):\n    pass\n", "bf16"),
        ("with torch.autocast('cpu'):\n    pass\n", "bf16"),
        ("with torch.autocast('cuda', enabled=False):\n    pass\n", "bf16"),
        ("with torch.autocast('cuda', enabled=flag):\n    pass\n", UNREAD),
        ("if flag:\n    model.half()\n", UNREAD),
    ],
)
def test_what_attention_is_computed_in(after: str, dtype: str) -> None:
    assert loaded("torch_dtype=torch.bfloat16", after=after)["dtype"] == dtype


def test_without_a_sign_of_how_it_is_run_float32_is_not_held_against_a_script() -> None:
    text = f"{LOAD}m = AutoModelForCausalLM.from_pretrained('m', dtype=torch.float32)\n"
    assert script(text)["dtype"] == UNREAD


ARGUMENTS = "from transformers import TrainingArguments\nTrainingArguments('o', {})\n"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("bf16=True", {"bf16": True, "autocast": "bf16", "dtype": "bf16"}),
        ("bf16=False, fp16=True", {"bf16": False, "fp16": True, "autocast": "fp16"}),
        ("bf16=True, fp16=True", {"bf16": True, "fp16": True, "autocast": "bf16"}),
        ("bf16=supported()", {"bf16": UNREAD, "autocast": UNREAD, "dtype": UNREAD}),
        ("tf32=True", {"tf32": True}),
        ("gradient_checkpointing=True", {"gradient_checkpointing": True}),
        ("deepspeed={'fp16': {'enabled': True}}", {"deepspeed_precision": "fp16"}),
        ("**more", {}),
    ],
)
def test_training_arguments(arguments: str, found: dict[str, object]) -> None:
    told = script(ARGUMENTS.format(arguments))
    assert (told["framework"], told["purpose"]) == ("transformers", "training")
    assert {name: told[name] for name in found} == found


def test_a_trainer_without_half_precision_computes_in_its_weights_dtype() -> None:
    load = "AutoModelForCausalLM.from_pretrained('m', dtype=torch.float32)\n"
    assert script(LOAD + load + ARGUMENTS.format(""))["dtype"] == "fp32"
    trl = "from trl import SFTConfig\nSFTConfig('o')\n"  # bf16 is its default in some releases
    assert script(LOAD + load + trl)["dtype"] == UNREAD


def test_models_of_trl_are_loaded_with_its_arguments() -> None:
    text = (
        "import torch\nfrom trl import SFTConfig\n"
        "SFTConfig('o', bf16=True, model_init_kwargs={'attn_implementation': 'flash_attention_2',"
        " 'torch_dtype': torch.bfloat16})\n"
    )
    found = script(text)
    assert (found["attention"], found["weights_dtype"]) == ("flash_attention_2", "bf16")


def test_what_is_changed_of_a_trainers_arguments() -> None:
    text = (
        "from trl import SFTConfig\nargs = SFTConfig('o')\nargs.bf16 = True\n"
        "args.model_init_kwargs = dict(attn_implementation=pick(), dtype='bfloat16')\n"
    )
    found = script(text)
    assert (found["attention"], found["weights_dtype"]) == (UNREAD, "bf16")
    assert (found["bf16"], found["autocast"]) == (True, "bf16")
    assert "bf16" not in script("class A:\n    def f(self, bf16):\n        self.bf16 = bf16\n")


def test_arguments_that_no_trainer_has() -> None:
    text = "from transformers import Trainer\nTrainer(model=m, bf16=True, fp16=True)\n"
    assert script(text)["trainer_arguments"] == ("bf16", "fp16")
    own = "class Trainer:\n    pass\nTrainer(model=m, bf16=True)\n"
    assert "trainer_arguments" not in script(own)
    assert "trainer_arguments" not in script("from transformers import Trainer\nTrainer(model=m)\n")


def test_adapters_and_quantisation() -> None:
    text = (
        "import torch\nfrom peft import LoraConfig\nfrom transformers import BitsAndBytesConfig\n"
        "LoraConfig(r=8, use_dora=True, target_modules=['k_proj', 'v_proj'])\n"
        "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.float16)\n"
    )
    assert script(text) == {
        "adapter": "lora",
        "adapter_modules": ("k_proj", "v_proj"),
        "compute_dtype": "fp16",
        "purpose": "training",
        "quantization": "4bit",
        "use_dora": True,
    }


def test_unsloth_loads_in_four_bits_unless_told_otherwise() -> None:
    text = "from unsloth import FastLanguageModel\nFastLanguageModel.from_pretrained('m'{})\n"
    found = script(text.format(""))
    assert (found["framework"], found["use_unsloth"], found["quantization"]) == (
        "unsloth", True, "4bit",
    )  # fmt: skip
    assert "quantization" not in script(text.format(", load_in_4bit=False"))
    assert script(text.format(", **more"))["quantization"] == UNREAD


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("torch.set_default_dtype(torch.bfloat16)", "default_dtype", "bf16"),
        (
            "from torch.nn.attention import *\nsdpa_kernel(SDPBackend.MATH)",
            "sdpa_kernel",
            ("math",),
        ),
        (
            "import torch.nn.attention as a\nB = a.SDPBackend\n\
a.sdpa_kernel([B.FLASH_ATTENTION, B.EFFICIENT_ATTENTION])",
            "sdpa_kernel",
            ("flash", "efficient"),
        ),
        (
            "torch.backends.cuda.sdp_kernel(enable_math=False, enable_mem_efficient=False)",
            "sdpa_kernel",
            ("flash", "cudnn"),
        ),
        (
            "torch.backends.cuda.enable_flash_sdp(False)\n\
torch.backends.cuda.enable_cudnn_sdp(False)",
            "sdpa_kernel",
            ("efficient", "math"),
        ),
        ("torch.backends.cuda.enable_math_sdp(pick())", "sdpa_kernel", UNREAD),
        ("model = torch.compile(model)", "compile", True),
        ("re.compile('x')\nx = 1", "compile", None),
        (
            "from accelerate import Accelerator\nAccelerator(mixed_precision='fp16')",
            "dtype",
            "fp16",
        ),
        ("import lightning as L\nL.Trainer(precision='bf16-mixed')", "autocast", "bf16"),
        ("from x_transformers import Decoder\nDecoder(attn_flash=True)", "attn_flash", True),
        ("from mine import Decoder\nDecoder(attn_flash=True)", "attn_flash", None),
    ],
)
def test_switches_of_libraries(text: str, name: str, value: object) -> None:
    assert script(f"import torch\n{text}\n").get(name) == value


def test_vllm_in_a_script() -> None:
    text = (
        "from vllm import LLM\n"
        "LLM(model='m', dtype='half', kv_cache_dtype='fp8', attention_backend='FLASHINFER')\n"
    )
    assert script(text) == {
        "attention": "FLASHINFER",
        "dtype": "fp16",
        "framework": "vllm",
        "kv_cache_dtype": "fp8",
        "model": "m",
        "purpose": "inference",
        "weights_dtype": "fp16",
    }
    assert script(text.replace("FLASHINFER", "flashinfer"))["attention"] == "FLASHINFER"
    config = "from vllm import LLM\nLLM('m', attention_config={'backend': 'TRITON_ATTN'})\n"
    assert script(config)["attention"] == "TRITON_ATTN"


def test_a_server_beside_a_training_or_another_model() -> None:
    server = "from vllm import LLM\nLLM('s', attention_backend='FLASHINFER')\n"
    load = f"{LOAD}AutoModelForCausalLM.from_pretrained('m', attn_implementation='sdpa')\n"
    training = script(load + ARGUMENTS.format("bf16=True") + server)
    assert (training["framework"], training["attention"]) == ("transformers", "sdpa")
    both = script(load + server)
    assert (both["framework"], both["attention"]) == (UNREAD, UNREAD)
    tokenizer = "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('s')\n"
    assert script(tokenizer + server)["attention"] == "FLASHINFER"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("os.environ['VLLM_ATTENTION_BACKEND'] = 'XFORMERS'", "XFORMERS"),
        ("os.environ.update({'VLLM_ATTENTION_BACKEND': 'XFORMERS'})", "XFORMERS"),
        ("os.environ.update(VLLM_ATTENTION_BACKEND='XFORMERS')", "XFORMERS"),
        ("os.putenv('VLLM_ATTENTION_BACKEND', 'XFORMERS')", "XFORMERS"),
        ("os.environ.setdefault('VLLM_ATTENTION_BACKEND', 'XFORMERS')", UNREAD),
        ("if x:\n    os.environ['VLLM_ATTENTION_BACKEND'] = 'XFORMERS'", UNREAD),
        ("os.environ['SECRET_TOKEN'] = 'hf_123'", None),
    ],
)
def test_variables_that_a_script_sets(text: str, value: str | None) -> None:
    found = intents(f"import os\n{text}\n", "serve.py")
    assert found.get("env.VLLM_ATTENTION_BACKEND") == value
    assert not any("SECRET" in name for name in found)


def test_arguments_that_are_put_together_leave_open_what_they_may_say() -> None:
    found = script(f"{LOAD}AutoModelForCausalLM.from_pretrained('m', **pick())\n")
    assert (found["attention"], found["weights_dtype"]) == (UNREAD, UNREAD)
    given = script(f"{LOAD}AutoModelForCausalLM.from_pretrained('m', dtype='half', **pick())\n")
    assert (given["attention"], given["weights_dtype"]) == (UNREAD, "fp16")
    assert script(ARGUMENTS.format("bf16=False, **more"))["autocast"] == UNREAD


def test_two_models_that_differ_leave_open_which_one_is_meant() -> None:
    text = (
        f"{LOAD}AutoModelForCausalLM.from_pretrained('a', attn_implementation='sdpa')\n"
        "AutoModelForCausalLM.from_pretrained('b', attn_implementation='eager')\n"
    )
    assert script(text)["attention"] == UNREAD


def test_places_and_words_of_the_file() -> None:
    text = f"{LOAD}kw = dict(\n    attn_implementation='flash_attention_2',\n)\n"
    text += "AutoModelForCausalLM.from_pretrained('m', **kw)\n"
    [found] = [one for one in read(text, "a.py").intents if one.name == "config.attention"]
    assert str(found.place) == "a.py:4:5"
    assert found.written == "attn_implementation='flash_attention_2'"


def notebook(*cells: str, indent: int | None = 1) -> str:
    code = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "source": cell.splitlines(keepends=True),
        }
        for cell in cells
    ]
    text = {"cell_type": "markdown", "source": ["model.half()\n"]}
    return json.dumps({"cells": [text, *code], "nbformat": 4}, indent=indent)


def test_a_notebook_is_read_with_the_lines_of_its_file() -> None:
    text = notebook(
        "!pip install unsloth\n%env X=1\n",
        "%%bash\nfor x in 1; do\n",
        "x = !ls\nfrom unsloth import FastLanguageModel\n",
        "m = FastLanguageModel.from_pretrained('m', dtype=None, load_in_4bit=True)\n",
    )
    configuration = read(text, "n.ipynb")
    [found] = [one for one in configuration.intents if one.name == "config.quantization"]
    assert "load_in_4bit=True" in text.split("\n")[found.place.line - 1]
    assert configuration.notes == ()


def test_commands_of_a_notebook_are_read_as_the_shell_does() -> None:
    text = notebook(
        "%env VLLM_ATTENTION_BACKEND=FLASHINFER\n!vllm serve m \\\n   --dtype half\nx = 1\n",
        "%%bash\nexport VLLM_USE_V1=0\n",
        "%%capture\nmodel.half()\n!pip install x\n",
    )
    configuration = read(text, "n.ipynb")
    found = {each.name: each for each in configuration.intents if each.written}
    assert found["env.VLLM_ATTENTION_BACKEND"].value == "FLASHINFER"
    assert found["env.VLLM_USE_V1"].value == "0"
    assert found["config.framework"].value == "vllm"
    served = [each for each in configuration.intents if each.written == "--dtype half"]
    assert [text.split("\n")[each.place.line - 1].strip() for each in served] == [
        '"   --dtype half\\n",'
    ]
    assert configuration.notes == ()


def test_a_cell_that_is_no_python_is_noted() -> None:
    configuration = read(notebook("print 'x'\n", "model.half()\n"), "n.ipynb")
    assert len(configuration.notes) == 1
    assert configuration.intents[0].name == "config.weights_dtype"


def test_a_notebook_in_one_line_is_read_too() -> None:
    found = read(notebook("model.half()\n", indent=None), "n.ipynb").intents
    assert found[0].place.line == 1


@pytest.mark.parametrize("text", ["[]", "{", "[" * 100_000, '{"cells": 3}', ""])
def test_what_is_no_notebook_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"n\.ipynb: is not a notebook"):
        read(text, "n.ipynb", "python")


def test_values_are_never_guessed() -> None:
    text = (
        f"{LOAD}d = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16\n"
        "AutoModelForCausalLM.from_pretrained('m', torch_dtype=d)\n"
    )
    [found] = [one for one in read(text, "a.py").intents if one.name == "config.weights_dtype"]
    assert found.value == Computed("it depends on a condition")


@pytest.mark.parametrize(
    ("line", "keyword"),
    [
        ("from transformers import LlamaForCausalLM as M", "dtype"),
        ("from mamba_ssm.models.mixer_seq_simple import MambaLMHeadModel as M", None),
        ("from transformers import FlaxWhisperForConditionalGeneration as M", None),
        ("class M: pass", None),
    ],
)
def test_the_name_of_dtype_is_that_of_transformers_alone(line: str, keyword: str | None) -> None:
    text = f"import transformers\n{line}\nM.from_pretrained('x', dtype='float16')\n"
    assert facts(("a.py", text)).get("dtype_keyword") == keyword


@pytest.mark.parametrize(
    ("made", "dtype"), [("dtype=torch.bfloat16", "bf16"), ("", "fp32"), ("dtype=d", None)]
)
def test_tensors_that_xformers_is_given(made: str, dtype: str | None) -> None:
    text = f"""
import torch
import xformers.ops as xops
q = torch.randn(1, 128, 8, 64, {made})
xops.memory_efficient_attention(q, q, q)
"""
    assert facts(("a.py", text)).get("dtype") == dtype


@pytest.mark.parametrize(
    "lines",
    [
        ["cmd = ['python', 't.py']", "cmd += ['--bf16']", "subprocess.run(cmd)"],
        ["cmd = ['python', 't.py']", "cmd.extend(['--bf16'])", "subprocess.run(cmd)"],
        ["cmd = ['python', 't.py']", "cmd.append('--bf16')", "subprocess.run(cmd)"],
        ["cmd = ['python', 't.py']", "cmd = cmd + ['--bf16']", "subprocess.run(cmd)"],
        [
            "more = ['--bf16', '--x', '1']",
            "subprocess.run(['python', 't.py'] + more + sys.argv[1:])",
        ],
        ["m = 't.py'", "subprocess.run(f'python {m} --bf16 --x {y}', shell=True)"],
        ["c = f'python t.py --x {y} --bf16'", "subprocess.run(c.split())"],
        ["c = 'python t.py ' + '--bf16'", "subprocess.run(shlex.split(c))"],
    ],
)
def test_commands_that_are_put_together(lines: list[str]) -> None:
    text = "\n".join(["import shlex, subprocess, sys", *lines])
    assert facts(("go.py", text))["autocast"] == "bf16"


@pytest.mark.parametrize(
    "lines",
    [
        ["cmd = ['python', 't.py']", "if a:", "    cmd += ['--bf16']", "subprocess.run(cmd)"],
        ["cmd = ['python', 't.py']", "subprocess.run(cmd)", "cmd += ['--bf16']"],
        ["cmd = ['python', 't.py']", "cmd = ['python', 'u.py']", "cmd += ['--bf16']",
         "subprocess.run(cmd)"],
    ],
)  # fmt: skip
def test_words_that_may_not_be_there_say_nothing(lines: list[str]) -> None:
    found = facts(("go.py", "\n".join(["import subprocess", *lines])))
    assert found.get("autocast") != "bf16"


LOADED = """import torch
from transformers import AutoModelForCausalLM as A
m = A.from_pretrained("x", torch_dtype=torch.bfloat16)
"""


@pytest.mark.parametrize(
    ("after", "dtype"),
    [
        ("m.save_pretrained('y')", UNREAD),
        ("m.push_to_hub('y')", UNREAD),
        ("m.to(torch.bfloat16); m.save_pretrained('y')", UNREAD),
        ("t = e.to(m.dtype); m.save_pretrained('y')", UNREAD),
        ("m.cuda(); m.save_pretrained('y')", "bf16"),
        ("m.to('cuda').save_pretrained('y')", "bf16"),
        ("m.generate(x); m.save_pretrained('y')", "bf16"),
        ("", "bf16"),
    ],
)
def test_a_script_that_only_converts_a_model_runs_nothing(after: str, dtype: str) -> None:
    assert facts(("convert.py", LOADED + after))["weights_dtype"] == dtype


@pytest.mark.parametrize("call", ["self.pipeline", "model.pipeline", "make().pipeline"])
def test_a_pipeline_of_ones_own_is_none_of_transformers(call: str) -> None:
    text = f"import transformers\nclass A:\n    def go(self):\n        {call}(dtype=x.bfloat16)\n"
    assert "dtype_keyword" not in script(f"{text}A().go()\n")


def test_the_pipeline_of_transformers_takes_a_dtype() -> None:
    text = "import torch\nfrom transformers import pipeline\npipeline('x', dtype=torch.bfloat16)\n"
    assert script(text)["dtype_keyword"] == "dtype"


def test_the_attention_of_a_model_of_diffusers() -> None:
    text = (
        "from diffusers import FluxPipeline\npipe = FluxPipeline.from_pretrained('a/b')\n"
        "pipe.transformer.set_attention_backend('_flash_3')\n"
    )
    found = facts(("a.py", text))
    assert (found["framework"], found["attention"]) == ("diffusers", "_flash_3")


@pytest.mark.parametrize(("device", "dtype"), [("cpu", None), ("auto", "bf16")])
def test_a_model_that_is_kept_off_the_gpu(device: str, dtype: str | None) -> None:
    text = (
        "import torch\nfrom transformers import AutoModel\n"
        f"AutoModel.from_pretrained('a', torch_dtype=torch.bfloat16, device_map='{device}')\n"
    )
    assert facts(("a.py", text)).get("weights_dtype") == dtype


PIPELINE = """import torch
from diffusers import AutoencoderKLWan, WanPipeline
vae = AutoencoderKLWan.from_pretrained("m", subfolder="vae", torch_dtype=torch.float32)
pipe = WanPipeline.from_pretrained("m", vae=vae, torch_dtype=torch.{dtype})
"""


@pytest.mark.parametrize(
    ("dtype", "found"), [("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32")]
)
def test_a_part_in_float32_says_nothing_of_the_rest(dtype: str, found: str) -> None:
    assert facts(("a.py", PIPELINE.format(dtype=dtype)))["weights_dtype"] == found


def test_two_kinds_of_half_precision_are_no_answer() -> None:
    more = 'b = WanPipeline.from_pretrained("n", torch_dtype=torch.float16)\n'
    assert facts(("a.py", PIPELINE.format(dtype="bfloat16") + more))["weights_dtype"] == "?"
