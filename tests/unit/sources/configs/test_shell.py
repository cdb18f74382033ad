"""What shell scripts and Dockerfiles start, with what arguments and variables."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.configs.shell_commands import read_commands
from fadoctor.sources.configs.source import Source
from tests.unit.sources.configs.read import UNREAD, facts, intents, read
from tests.work import calls_of, which_ends


def commands(text: str) -> list[list[str]]:
    source = Source("run.sh", text)
    found = read_commands(source, text)
    return [[word.text for word in one.words] for one in found if one.words]


def script(text: str) -> dict[str, object]:
    return facts(("run.sh", text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c\n", ["a", "b", "c"]),
        ("a \\\n  b\\\n c", ["a", "b", "c"]),
        ("a \\\r\n  b", ["a", "b"]),
        ("a 'b c' \"d e\"f", ["a", "b c", "d ef"]),
        ("a # b c", ["a"]),
        ("a b#c", ["a", "b#c"]),
        ("a b\\ c", ["a", "b c"]),
        ("a 'it''s'", ["a", "its"]),
        ('a "say \\"x\\""', ["a", 'say "x"']),
        ("a > out.txt 2>&1", ["a"]),
        ("a 2> err b", ["a", "b"]),
        ("a <<EOF b\nnot this\nEOF\n", ["a", "b"]),
        ('V=x\na $V ${V}y "$V z"', ["a", "x", "xy", "x z"]),
        ("V='b c'\na $V", ["a", "b", "c"]),
        ("V='b c'\na \"$V\"", ["a", "b c"]),
        ("V=(b 'c d')\na \"${V[@]}\"", ["a", "b", "c d"]),
        ("V=(b)\nV+=(c)\na ${V[@]}", ["a", "b", "c"]),
        ("V=x\nV=y\na $V", ["a", "y"]),
        ("if t; then V=x; fi\na $V", ["t", "a", "$V"]),
        ("a $(b c) `d e` $1", ["a", "${command}", "${command}", "${1}"]),
        ("a ${V:-x} $((1 + 2))", ["a", "${V:-x}", "${command}"]),
        ("V=$V\na $V", ["a", "$V"]),
        ("A=$B\nB=$A\na $A", ["a", "$B"]),
        ("export A=b\nlocal c=d\nA=b", []),
        ("A=b c d", ["c", "d"]),
    ],
)
def test_words_of_a_script(text: str, words: list[str]) -> None:
    found = [word for one in commands(text) for word in one]
    assert found == words


def test_commands_are_taken_apart() -> None:
    text = "a && b; c | d &\n(e)\nfor i in 1 2; do f $i; done\n{ g; }\nh() { i; }\n"
    found = [one[0] for one in commands(text)]
    assert found == ["a", "b", "c", "d", "e", "f", "g", "i"]


MODULE = "python3 -m vllm.entrypoints.openai.api_server"
SERVE = "vllm serve some/model --dtype half --attention-backend FLASHINFER\n"


@pytest.mark.parametrize(
    "text",
    [
        SERVE,
        "CUDA_VISIBLE_DEVICES=0 nohup " + SERVE,
        "exec uv run " + SERVE,
        "docker run --gpus all image:latest " + SERVE,
        f"{MODULE} --model some/model --dtype=half --attention_backend=FLASHINFER",
        f"{MODULE} --model some/model --dtype half --attention-config.backend FLASHINFER",
        'vllm serve some/model --dtype half --attention-config \'{"backend": "FLASHINFER"}\'',
        "D=half\nB=FLASHINFER\nvllm serve some/model \\\n --dtype $D \\\n --attention-backend $B\n",
        "A=(--dtype half --attention-backend FLASHINFER)\nvllm serve some/model ${A[@]}",
        "if [ -d /models ]; then\n  " + SERVE + "fi\n",
        f"srun --jobid $ID bash -c '{SERVE}' 2>&1 | tee log\n",
        f'export RUN="{SERVE}"\nsrun bash -c "$RUN"\n',
    ],
)
def test_vllm_however_it_is_started(text: str) -> None:
    assert script(text) == {
        "attention": "FLASHINFER",
        "dtype": "fp16",
        "framework": "vllm",
        "model": "some/model",
        "purpose": "inference",
        "weights_dtype": "fp16",
    }


STARTS = {
    "accelerate launch --num_processes 8 train.py --model_name_or_path m --output_dir o "
    "--bf16 true --attn_implementation flash_attention_2": (
        "transformers", "flash_attention_2", "bf16",
    ),
    "torchrun --nproc_per_node 8 train.py --model_name_or_path m --output_dir o --fp16 "
    "--attn_implementation sdpa": ("transformers", "sdpa", "fp16"),
    "NPROC_PER_NODE=2 swift sft --model m --torch_dtype bfloat16 --attn_impl flash_attn": (
        "ms-swift", "flash_attention_2", "bf16",
    ),
    "swift infer --model m --torch_dtype float16 --attn_impl sdpa": ("ms-swift", "sdpa", "fp16"),
    "llamafactory-cli train --stage sft --do_train --model_name_or_path m --template t "
    "--finetuning_type lora --flash_attn fa2 --bf16 True": ("llamafactory", "fa2", "bf16"),
    "llamafactory-cli train a.yaml flash_attn=fa2 bf16=true": ("llamafactory", "fa2", "bf16"),
    "python -m sglang.launch_server --model-path m --attention-backend fa3 --dtype half": (
        "sglang", "fa3", "fp16",
    ),
    "deepspeed --module openrlhf.cli.train_sft --ds.param_dtype bf16 "
    "--ds.attn_implementation flash_attention_2": ("openrlhf", "flash_attention_2", "bf16"),
    "ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --pretrain m --bf16 --flash_attn "
    "--zero_stage 3": ("openrlhf", "flash_attention_2", "bf16"),
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=m "
    "+actor_rollout_ref.model.override_config.attn_implementation=sdpa": ("verl", "sdpa", "bf16"),
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo": (
        "verl", "flash_attention_2", "bf16",
    ),
    "tune run lora_finetune_single_device --config a dtype=fp16": ("torchtune", None, "fp16"),
    "trl sft --model_name_or_path m --output_dir o --attn_implementation kernels-community/x "
    "--bf16": ("transformers", "kernels-community/x", "bf16"),
    "python train.py --fp16": (None, None, "fp16"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STARTS.items())
def test_frameworks_by_what_starts_them(
    text: str, expected: tuple[str | None, str | None, str]
) -> None:
    found = script(text)
    assert (found.get("framework"), found.get("attention"), found["dtype"]) == expected


def test_mixed_precision_of_the_launcher() -> None:
    found = script("accelerate launch --mixed_precision fp16 train.py --x y\n")
    assert (found["accelerate_precision"], found["autocast"]) == ("fp16", "fp16")


def test_what_is_left_to_variables_is_not_guessed() -> None:
    found = script('vllm serve "$MODEL" --dtype ${DTYPE:-half} --attention-backend $(pick)\n')
    assert (found["attention"], found["weights_dtype"]) == (UNREAD, UNREAD)


def test_a_variable_may_hold_what_the_script_leaves_out() -> None:
    run = "python train.py --model_name_or_path m --output_dir o {}\n"
    assert "config.autocast" not in intents(run.format("$MORE"), "run.sh")
    for without in ("", '"$@"', "$*", "MORE\nMORE=''\n"):
        assert "config.autocast" in intents(run.format(without), "run.sh")


def test_files_that_a_command_names_are_noted() -> None:
    text = "accelerate launch --config_file acc.yaml train.py sft.yaml --config c.yaml\n"
    assert read(text, "run.sh").named == ("sft.yaml", "c.yaml", "acc.yaml")
    trained = "deepspeed train.py --model_name_or_path m --output_dir o --deepspeed ds.json\n"
    assert read(trained, "run.sh").named == ("ds.json",)
    assert "config.autocast" in intents(trained, "run.sh")


def test_a_server_beside_a_training() -> None:
    train = "accelerate launch t.py --model_name_or_path m --output_dir o --bf16 true "
    train += "--attn_implementation flash_attention_2\n"
    found = script(f"CUDA_VISIBLE_DEVICES=7 vllm serve m --attention-backend FLASHINFER &\n{train}")
    assert (found["framework"], found["attention"]) == ("transformers", "flash_attention_2")
    both = script("vllm serve m\npython -m sglang.launch_server --attention-backend fa3 --tp 2\n")
    assert (both["framework"], both["attention"]) == (UNREAD, UNREAD)


def test_two_servers_that_differ_leave_it_open() -> None:
    text = "vllm serve a --dtype half\nvllm serve b --dtype bfloat16\n"
    assert script(text)["weights_dtype"] == UNREAD


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("export VLLM_ATTENTION_BACKEND=XFORMERS", "XFORMERS"),
        ("VLLM_ATTENTION_BACKEND=XFORMERS python serve.py", "XFORMERS"),
        ("export VLLM_ATTENTION_BACKEND='XFORMERS'", "XFORMERS"),
        ("export VLLM_ATTENTION_BACKEND=$BACKEND", UNREAD),
        ("B=XFORMERS\nexport VLLM_ATTENTION_BACKEND=$B", "XFORMERS"),
        ("if [ x ]; then\nexport VLLM_ATTENTION_BACKEND=XFORMERS\nfi", UNREAD),
        ("[ -z x ] && export VLLM_ATTENTION_BACKEND=XFORMERS", UNREAD),
        ("cd x && export VLLM_ATTENTION_BACKEND=XFORMERS", "XFORMERS"),
        ("VLLM_ATTENTION_BACKEND=XFORMERS\npython x.py", "?not exported"),
        ("export OTHER=XFORMERS", "?not exported"),
    ],
)
def test_variables(text: str, value: str) -> None:
    found = intents(text + "\n", "run.sh")
    assert found.get("env.VLLM_ATTENTION_BACKEND", "?not exported") == value


def test_hosts_paths_and_devices_are_no_intents() -> None:
    text = "export CUDA_VISIBLE_DEVICES=7\nexport LD_LIBRARY_PATH=/x\nexport HF_TOKEN=hf_secret\n"
    assert intents(text, "run.sh") == {}


def test_a_here_document_can_hold_the_command() -> None:
    text = (
        "read -r -d '' cmd <<EOF\nopenrlhf.cli.train_sft \\\n  --ds.param_dtype bf16 \\\n"
        "  --ds.attn_implementation eager\nEOF\n"
        'if [[ ${1} != "slurm" ]]; then\n  deepspeed --module $cmd\nfi\n'
    )
    assert script(text)["attention"] == "eager"
    [place] = [str(i.place) for i in read(text, "a.sh").intents if i.name == "config.attention"]
    assert place == "a.sh:4:3"


def test_places_and_words_are_those_of_the_script() -> None:
    text = "#!/bin/sh\nvllm serve m \\\n   --dtype half\n"
    [found] = [i for i in read(text, "serve").intents if i.value == "fp16"]
    assert (str(found.place), found.written) == ("serve:3:4", "--dtype half")


DOCKER = """\
FROM base AS build
ENV VLLM_ATTENTION_BACKEND=TORCH_SDPA
FROM vllm/vllm-openai:v0.9.2
ENV VLLM_ATTENTION_BACKEND=FLASH_ATTN \\
    OTHER=x
# CMD ["wrong"]
ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]
CMD ["--model", "m", \\
     "--dtype", "half"]
"""


def test_a_dockerfile() -> None:
    found = read(DOCKER, "Dockerfile")
    values = {each.name: each.value for each in found.intents if each.written}
    assert found.kind == "dockerfile"
    assert values["env.VLLM_ATTENTION_BACKEND"] == "FLASH_ATTN"
    assert (values["config.framework"], values["config.weights_dtype"]) == ("vllm", "fp16")
    assert [i.place.line for i in found.intents if i.name == "config.weights_dtype"][-1] == 9


@pytest.mark.parametrize(
    "text",
    [
        "FROM x\nCMD vllm serve m --dtype half\n",
        'FROM x\nCMD ["vllm", "serve", "m", "--dtype", "half"]\n',
        'FROM x\nENTRYPOINT ["/bin/bash", "-c", "vllm serve m --dtype half"]\n',
        "FROM x\nENV D=half\nCMD vllm serve m --dtype $D\n",
        'FROM x\nCMD ["wrong"]\nCMD ["vllm", "serve", "m", "--dtype", "half"]\n',
        "FROM x\nCMD vllm serve m \\\n  --dtype half\n",
    ],
)
def test_what_an_image_starts(text: str) -> None:
    assert facts(("Dockerfile", text))["dtype"] == "fp16"


def test_words_of_a_list_have_their_places() -> None:
    text = 'FROM x\nENTRYPOINT ["bash", "-c"]\nCMD ["exec vllm serve m --dtype half"]\n'
    found = {each.name: each for each in read(text, "Dockerfile").intents}
    assert str(found["config.model"].place) == "Dockerfile:3:23"
    assert found["config.weights_dtype"].written == "--dtype half"


def test_a_line_of_the_shell_as_entry_takes_no_command() -> None:
    lines = "FROM x\nCMD --dtype half\nENTRYPOINT vllm serve m\n"
    assert "weights_dtype" not in {
        k for k, v in facts(("Dockerfile", lines)).items() if v == "fp16"
    }


def test_a_stage_begins_with_what_it_stands_on() -> None:
    base = "FROM x AS base\nENV D=half\nENTRYPOINT vllm serve m --dtype $D\n"
    assert facts(("Dockerfile", f"{base}FROM base\n"))["dtype"] == "fp16"
    assert "dtype" not in facts(("Dockerfile", f"{base}FROM other\nENV A=b\n"))


def test_what_nothing_calls_is_left_out() -> None:
    text = "old() { vllm serve a --dtype float; }\nvllm serve b --dtype half\n"
    assert script(text)["weights_dtype"] == "fp16"
    assert script("go() { vllm serve b --dtype half; }\n")["weights_dtype"] == "fp16"


HOSTILE = {
    "quotes": "'" * 2_000_000,
    "open quote": "a '" + "b " * 1_000_000,
    "words": "a " * 1_000_000,
    "commands": "a;" * 1_000_000,
    "nested": "$(" * 1_000_000,
    "backticks": "`" * 1_999_999,
    "backslashes": "\\\n" * 900_000,
    "here": "a <<E\n" * 300_000,
    "dollars": "$" * 2_000_000,
    "doubling": "".join(f"V{i}='{' '.join([f'$V{i + 1}'] * 50)}'\n" for i in range(50)) + "a $V0",
    "arrays": "".join(f"V{i}=({' '.join([f'$V{i + 1}'] * 90)})\n" for i in range(50))
    + "a ${V0[@]}",
    "dots": "vllm serve --" + "a." * 900_000 + "b c",
    "parentheses": "(" * 1_000_000,
    "environment": "ENV " + "A=b \\\n" * 300_000,
}


IN_IMAGES = ("quotes", "nested", "environment", "here")


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("file", "name"),
    [*(("run.sh", name) for name in HOSTILE), *(("Dockerfile", name) for name in IN_IMAGES)],
)
def test_a_hostile_script_costs_little(file: str, name: str) -> None:
    text = HOSTILE[name] if file == "run.sh" else f"FROM x\nCMD {HOSTILE[name]}\n"

    def work() -> None:
        with suppress(InputError):
            read(text, file)

    with which_ends():
        assert calls_of(work) < 8_000_000


ESCAPE = "\x1b[2J\u202e"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "run.sh",
            f"export VLLM_ATTENTION_BACKEND='A{ESCAPE}'\nvllm serve 'm{ESCAPE}' --dtype half\n",
        ),
        ("Dockerfile", f"ENV VLLM_ATTENTION_BACKEND=A{ESCAPE}\nCMD vllm serve m{ESCAPE}\n"),
        ("a.py", f"from vllm import LLM\nLLM('m{ESCAPE}', attention_backend='A{ESCAPE}')\n"),
        ("swift.sh", f"swift sft --model m --attn_impl 'x{ESCAPE}' --torch_dtype 'y{ESCAPE}'\n"),
        ("vllm.sh", f"vllm serve m --attention-backend 'x{ESCAPE}' --quantization 'q{ESCAPE}'\n"),
    ],
)
def test_no_escape_of_a_terminal_gets_through(file: str, text: str) -> None:
    for intent in read(text, file).intents:
        assert intent.written.isprintable(), intent
        assert not isinstance(intent.value, str) or intent.value.isprintable(), intent


def test_options_in_lines_of_their_own_within_a_text_for_a_shell() -> None:
    found = script(
        'ARGS="\n  --bf16 True\n  --attn_implementation sdpa\n"\n'
        'RUN="torchrun --nproc_per_node 4"\nsrun bash -c "$RUN train.py $ARGS"\n'
    )
    assert found["bf16"] is True
    assert found["attention"] == "sdpa"


def test_options_in_lines_of_their_own_in_a_script_are_no_arguments() -> None:
    found = script("torchrun train.py --lr 1 \\\n  # --fp16 \\\n  --bf16 True\n")
    assert "bf16" not in found


@pytest.mark.parametrize(
    ("other", "dtype"), [("--bf16 --x", "bf16"), ("--fp16", UNREAD), ("", UNREAD)]
)
def test_what_each_branch_says_holds_whichever_runs(other: str, dtype: str) -> None:
    text = f"if [ $A = 1 ]; then\n  python t.py --bf16\nelse\n  python t.py {other}\nfi\n"
    assert facts(("run.sh", text))["autocast"] == dtype


@pytest.mark.parametrize(
    "arguments",
    [
        "--model_args pretrained=x,dtype=bfloat16",
        "--model_args=pretrained=$M,dtype=bfloat16,$MORE",
        "--model_args pretrained=x,dtype=bfloat16,generation={top_p:1,top_k:2}",
    ],
)
def test_pairs_in_one_word(arguments: str) -> None:
    found = facts(("run.sh", f"lm_eval --model hf {arguments}\n"))
    assert found["weights_dtype"] == "bf16"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("flash_2", "flash_attention_2"),
        ("flash_attn", "flash_attention_2"),
        ("sdpa", "sdpa"),
        ("xformers", "xformers"),
    ],
)
def test_a_script_may_have_names_of_its_own_for_attention(name: str, meant: str) -> None:
    found = script(
        f"torchrun mine.py --model_name_or_path a --attn_implementation {name} --bf16 1\n"
    )
    assert found["attention"] == meant


@pytest.mark.parametrize(
    ("option", "attention"),
    [
        ("--use-sage-attention", "sageattention"),
        ("--use-flash-attention", "flash_attention_2"),
        ("--use-pytorch-cross-attention", "sdpa"),
    ],
)
def test_a_batch_file_that_starts_comfyui(option: str, attention: str) -> None:
    line = (
        f".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build {option}\n"
    )
    found = facts(("run_nvidia_gpu.bat", f"@echo off\n{line}pause\n"))
    assert (found["framework"], found["attention"]) == ("comfyui", attention)
