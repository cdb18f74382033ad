"""Commands in compose, Kubernetes, Helm values, SkyPilot, workflows, Makefiles and their like."""

from __future__ import annotations

import pytest

from tests.unit.sources.configs.read import facts, read

SERVE = "vllm serve m --dtype bfloat16"

COMPOSE = """services:
  a:
    image: vllm/vllm-openai:v1
    command: --dtype bfloat16
"""
COMPOSE_LIST = """services:
  a:
    image: x
    command:
      - vllm
      - serve
      - m
      - --dtype=bfloat16
"""
KUBERNETES = """kind: Service
---
kind: Job
spec:
  containers:
    - image: vllm/vllm-openai
      args: [--dtype, bfloat16]
"""
KUBERNETES_SHELL = f"""spec:
  - command: [bash, -c]
    args:
      - |
        ls
        {SERVE}
"""
SUBPROCESS = """import subprocess
subprocess.run(["vllm", "serve", "m", "--dtype", "bfloat16"])
"""
FILES = [
    ("compose.yaml", COMPOSE, 4),
    ("c.yml", COMPOSE_LIST, 8),
    ("k.yaml", KUBERNETES, 7),
    ("j.yaml", KUBERNETES_SHELL, 6),
    ("sky.yaml", f"resources: {{}}\nrun: |\n  ls\n  {SERVE}\n", 4),
    ("w.yml", f"jobs:\n  a:\n    steps:\n      - run: {SERVE}\n", 4),
    ("Makefile", "M = m\nserve: a\n\t@vllm serve $(M) \\\n\t--dtype bfloat16\n", 4),
    ("justfile", f"m := 'x'\nserve:\n    {SERVE}\n", 3),
    ("run.bat", f"@echo off\r\nset A=b\r\n{SERVE}\r\n", 3),
    ("run.ps1", "vllm serve m `\n  --dtype bfloat16\n", 2),
    ("up.sh", "docker run -e A=b vllm/vllm-openai:v1 --dtype bfloat16\n", 1),
    (".env", "MODEL=m\nDTYPE=bfloat16\n", 2),
    ("a.py", SUBPROCESS, 2),
    ("b.py", f'import os\nos.system("{SERVE}")\n', 2),
]
COMPOSE_VARIABLE = """services:
  a:
    image: vllm/vllm-openai
    command: --dtype half
    environment:
      VLLM_ATTENTION_BACKEND: XFORMERS
"""
KUBERNETES_VARIABLE = """spec:
  - image: vllm/vllm-openai
    args: [--dtype, half]
    env:
      - {name: VLLM_ATTENTION_BACKEND, value: XFORMERS}
"""


@pytest.mark.parametrize(("name", "text", "line"), FILES)
def test_the_dtype_that_is_asked_for(name: str, text: str, line: int) -> None:
    assert facts((name, text))["weights_dtype"] == "bf16"
    places = [i.place.line for i in read(text, name).intents if i.name == "config.weights_dtype"]
    assert line in places


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("compose.yaml", COMPOSE_VARIABLE),
        ("k.yaml", KUBERNETES_VARIABLE),
        ("up.sh", "docker run -e VLLM_ATTENTION_BACKEND=XFORMERS vllm/vllm-openai --dtype half\n"),
        (".env", "VLLM_ATTENTION_BACKEND=XFORMERS\nDTYPE=half\n"),
    ],
)
def test_variables_of_what_is_started(name: str, text: str) -> None:
    found = {each.name: each.value for each in read(text, name).intents}
    assert found["env.VLLM_ATTENTION_BACKEND"] == "XFORMERS"
    assert facts((name, text))["weights_dtype"] == "fp16"


def test_what_runs_on_a_condition_is_not_sure() -> None:
    text = 'import os, sys\nif sys.argv:\n    os.system("vllm serve m --dtype half")\n'
    served = read(text, "a.py").intents
    assert [each.name for each in served]


CONFIG_MAP = """kind: ConfigMap
data:
  train.yaml: |
    model: x
    torch_dtype: bfloat16
---
kind: Job
"""


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (CONFIG_MAP, "weights_dtype", "bf16"),
        ("kind: Model\nspec:\n  engine: VLLM\n  args: [--dtype=bfloat16]\n", "framework", "vllm"),
        ("a:\n  image: own/server:1\n  args: [--dtype, bfloat16]\n", "weights_dtype", "bf16"),
        ("a:\n  environment:\n  - CLI_ARGS=--medvram --xformers\n", "attention", "xformers"),
        ("a:\n  env:\n  - {name: DTYPE, value: bfloat16}\n", "weights_dtype", "bf16"),
    ],
)
def test_programs_that_the_file_does_not_name(text: str, name: str, value: str) -> None:
    assert read(text, "a.yaml").kind == "container"
    assert facts(("a.yaml", text))[name] == value


def test_options_that_nobody_knows_are_no_program() -> None:
    with pytest.raises(StopIteration):
        read("a:\n  image: x/controller\n  args: [--leader-elect, --port=1]\n", "a.yaml")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("lm_eval --model hf --model_args pretrained=m,dtype=bfloat16\n", "weights_dtype", "bf16"),
        ("python -m lmms_eval --model_args=pretrained=m,attn_implementation=sdpa\n", "attention",
         "sdpa"),
        ("text-generation-launcher --dtype bfloat16 --port 1\n", "weights_dtype", "bf16"),
        ("litgpt finetune_lora m --precision bf16-true\n", "weights_dtype", "bf16"),
    ],
)  # fmt: skip
def test_programs_whose_options_are_those_of_any(text: str, name: str, value: str) -> None:
    assert facts(("a.sh", text))[name] == value


@pytest.mark.parametrize(
    "start",
    [
        'subprocess.Popen(" ".join(cmd), shell=True)',
        "subprocess.run(cmd)",
        'cmd += ["--enforce-eager"]\nsubprocess.Popen(" ".join(cmd), shell=True)',
        'cmd.append("--enforce-eager")\nsubprocess.run(shlex.join(cmd), shell=True)',
    ],
)
def test_a_list_of_words_that_python_starts(start: str) -> None:
    words = '["vllm", "serve", "m", "--dtype", "bfloat16"]'
    text = f"import shlex, subprocess\ncmd = {words}\n{start}\n"
    assert facts(("app.py", text))["weights_dtype"] == "bf16"


@pytest.mark.parametrize("key", ["serveConfigV2", "engineArgs", "train.yaml", "modelValues"])
def test_a_document_that_stands_as_a_text_in_another(key: str) -> None:
    text = f"kind: X\nspec:\n  {key}: |\n    a:\n    - engine_kwargs:\n        dtype: bfloat16\n"
    found = read(text, "x.yaml")
    assert [each.place.line for each in found.intents if each.name == "config.weights_dtype"] == [6]


def test_a_text_of_another_kind_is_no_document() -> None:
    with pytest.raises(StopIteration):
        read("kind: X\nspec:\n  description: |\n    dtype: bfloat16\n", "x.yaml")


MAKEFILE = """ARGS = pretrained=$(M),dtype=bfloat16
eval:
\t$(eval MORE := $(if $(P),$(shell \\
\t\techo "tp=2"; \\
\t)))
\t$(if $(P),export A=1 &&) \\
\tMORE="$(ARGS),$(MORE),sampling={top_p:1,top_k:2}" && \\
\tif [ "$(T)" = a ]; then lighteval vllm $$MORE "a|0"; else lighteval vllm $$MORE "b|0"; fi
"""


def test_what_make_works_out_itself_is_no_command() -> None:
    assert facts(("Makefile", MAKEFILE))["weights_dtype"] == "bf16"


ARGUMENTS_OF_A_SCRIPT = """\
containers:
  - image: trainer:1
    command: ["/bin/bash", "-c"]
    args:
      - |
        prepare data
        exec trl sft "$@"
      - "--"
      - "--attn_implementation=flash_attention_2"
      - "--bf16"
"""


def test_a_script_is_given_the_arguments_after_its_name() -> None:
    found = facts(("job.yaml", ARGUMENTS_OF_A_SCRIPT))

    assert (found["attention"], found["dtype"]) == ("flash_attention_2", "bf16")


@pytest.mark.parametrize(
    "image",
    ["vllm/vllm-openai:v0.10.0", "gcr.io/x/huggingface-text-generation-inference-cu121.2-1.py310"],
)
def test_an_image_alone_starts_what_it_is_made_for(image: str) -> None:
    found = facts(("pod.yaml", f"containers:\n  - image: {image}\n"))

    assert found["purpose"] == "inference"


def test_a_section_of_an_engine_in_a_file_within() -> None:
    text = "kind: ConfigMap\ndata:\n  inference.yaml: |\n    vllm:\n      dtype: bfloat16\n"
    found = facts(("map.yaml", text))

    assert (found["framework"], found["weights_dtype"]) == ("vllm", "bf16")


@pytest.mark.parametrize(
    "command",
    [
        "python main.py --use-flash-attention",
        "python -s ComfyUI/main.py --use-flash-attention",
        r".\python_embeded\python.exe -s ComfyUI\main.py --windows-standalone-build --bf16-unet",
    ],
)
def test_comfyui_is_known_by_its_folder_or_its_options(command: str) -> None:
    found = facts(("run.bat", f"@echo off\r\n{command}\r\npause\r\n"))
    assert found["framework"] == "comfyui"
    assert found.get("attention") == "flash_attention_2" or found["weights_dtype"] == "bf16"


def test_the_main_of_another_program_is_not_comfyui() -> None:
    assert "framework" not in facts(("run.sh", "python main.py --bf16 --use-flash-attn\n"))


PAGE = """{"nodes": [
  {"type": "WanVideoVAELoader", "widgets_values": ["vae.safetensors", "fp16"]},
  {"type": "WanVideoModelLoader",
   "widgets_values": ["m.safetensors", "bf16", "fp8_e4m3fn", "offload_device", "flash_attn_2"]}]}
"""
PROGRAM = """{"3": {"class_type": "WanVideoModelLoader",
  "inputs": {"model": "m", "base_precision": "bf16", "attention_mode": "flash_attn_2"}}}
"""


@pytest.mark.parametrize("text", [PAGE, PROGRAM])
def test_a_workflow_says_how_its_model_is_loaded(text: str) -> None:
    found = facts(("workflow.json", text))
    told = (found["framework"], found["weights_dtype"], found["attention"])
    assert told == ("comfyui", "bf16", "flash_attention_2")


def test_a_workflow_without_a_word_of_it_is_another_kind() -> None:
    with pytest.raises(StopIteration):
        read('{"nodes": [{"type": "KSampler", "widgets_values": [1, "fixed"]}]}', "w.json")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("vllm.service", f"[Service]\nEnvironment=A=b\nExecStart=/opt/v/bin/{SERVE}\n", 3),
        ("supervisord.conf", f"[program:a]\ncommand={SERVE}\n", 2),
        ("Procfile", f"web: {SERVE} --port $PORT\n", 1),
        ("train.def", f"From: x\n%labels\n  a b\n%startscript\n  exec {SERVE}\n", 5),
        ("run.pbs", f"#PBS -q gpu\n{SERVE}\n", 2),
        ("w.yaml", f"script:\n  image: x\n  command: [bash]\n  source: |\n    {SERVE}\n", 5),
        ("run.sh", "fabric run --precision=bf16-true train.py --lr 1\n", 1),
        ("serve.sh", "aphrodite run m --dtype bfloat16\n", 1),
    ],
)
def test_what_else_starts_a_program(name: str, text: str, line: int) -> None:
    found = read(text, name)
    [intent] = [
        each for each in found.intents if each.name == "config.weights_dtype" and each.written
    ]
    assert (intent.value, intent.place.line) == ("bf16", line)


def test_another_file_with_a_colon_in_its_lines_is_no_list_of_programs() -> None:
    with pytest.raises(StopIteration):
        read(f"web: {SERVE}\n", "notes.conf")
