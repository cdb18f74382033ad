"""From a log to the report, alone and held against an environment."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.diagnose import Judged
from fadoctor.judging.engine.settings import OWN_OPTIONS
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.model.environment import Environment, Target
from fadoctor.model.explanation import Agreement, Explanation
from fadoctor.model.fact import Absent, Fact, Known, Value
from fadoctor.model.finding import Severity
from tests.unit.judging.explain.conftest import CAUSES, noise

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
TARGET = Target(kind="environment", label="/v", reason="--python")


def environment(**facts: Value) -> Environment:
    named: dict[str, Fact] = {
        name.replace("__", ".").replace("gpu0", "gpu[0]"): Known(value, "test")
        for name, value in facts.items()
    }
    return Environment("0", TARGET, named)


def machine(gpu: str, compute_capability: str) -> Environment:
    return environment(
        host__os="linux", gpu__count=1, gpu__visible_count=1, gpu0__name=gpu, gpu0__visible=True,
        gpu0__vendor="nvidia", gpu0__compute_capability=compute_capability,
        flash_attn__version="2.8.3", torch__version="2.8.0", torch__cuda="12.8",
    )  # fmt: skip


def explained(
    knowledge: Knowledge, log: str, facts: Environment | None = None, ignore: tuple[str, ...] = ()
) -> Explanation:
    reading = read_log(io.BytesIO(log.encode()), "a.log", knowledge)
    return explain(reading, knowledge, Judged(facts, knowledge) if facts else None, ignore)


def test_evidence_is_the_line_with_its_number(knowledge: Knowledge) -> None:
    (finding,) = explained(knowledge, f"one\ntwo\n{AMPERE}").findings
    (evidence,) = finding.evidence
    assert (evidence.fact, evidence.source) == ("log", "a.log:3")
    assert evidence.value == AMPERE.strip()


def test_captured_values_fill_the_message(knowledge: Knowledge) -> None:
    log = CAUSES["abi-undefined-symbol"]
    (finding,) = explained(knowledge, log).findings
    assert "_ZN3c104cuda9SetDeviceEab" in finding.message
    assert "flash_attn_2_cuda.cpython-311" in finding.message


def test_a_silent_log_has_no_findings_and_no_notes(knowledge: Knowledge) -> None:
    report = explained(knowledge, noise(20))
    assert (report.findings, report.notes, report.summary.error) == ((), (), 0)


def test_an_empty_log_is_said_to_be_empty(knowledge: Knowledge) -> None:
    assert explained(knowledge, "\n\n").notes == ("The log is empty.",)


def test_an_ignored_rule_is_left_out(knowledge: Knowledge) -> None:
    assert explained(knowledge, AMPERE, ignore=("gpu-too-old-fa2",)).findings == ()


def test_an_environment_confirms_a_cause_with_its_facts(knowledge: Knowledge) -> None:
    report = explained(knowledge, AMPERE, machine("Tesla V100-SXM2-16GB", "7.0"))
    (check,) = report.checks
    assert check.agreement is Agreement.CONFIRMED
    (finding,) = report.findings
    assert finding.confidence.value == "high"
    assert "gpu[0].compute_capability" in [each.fact for each in finding.evidence]


def test_an_environment_speaks_against_a_cause_and_confidence_falls(knowledge: Knowledge) -> None:
    report = explained(knowledge, AMPERE, machine("NVIDIA A100-SXM4-80GB", "8.0"))
    assert report.checks[0].agreement is Agreement.REFUTED
    assert report.findings[0].confidence.value == "medium"


def test_an_environment_adds_no_finding(knowledge: Knowledge) -> None:
    dtype = "RuntimeError: query and key must have the same dtype\n"
    report = explained(knowledge, dtype, machine("Tesla V100-SXM2-16GB", "7.0"))
    assert [each.rule_id for each in report.findings] == ["fa2-mixed-qkv-dtype"]
    assert explained(knowledge, noise(3), machine("Tesla V100-SXM2-16GB", "7.0")).findings == ()


def test_an_assumption_is_said(knowledge: Knowledge) -> None:
    assumed = msgspec.structs.replace(machine("Tesla T4", "7.5"), overlays=("--gpu T4",))
    assert explained(knowledge, AMPERE, assumed).overlays == ("--gpu T4",)


def test_versions_of_the_log_outrank_those_of_the_environment(knowledge: Knowledge) -> None:
    log = f"torch==2.1.0\nflash-attn                2.5.8\n{AMPERE}"
    report = explained(knowledge, log, machine("NVIDIA A100-SXM4-80GB", "8.0"))
    assert report.log.named["torch.version"] == "2.1.0"
    assert report.log.named["flash_attn.version"] == "2.5.8"
    (check,) = report.checks
    assert check.agreement is Agreement.OPEN
    assert "torch.version" in check.detail


FOLLOWS = ("torch.build", "torch.cuda", "flash_attn.wheel.origin", "flash_attn.wheel.python")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("torch 2.6.0+cu124", {"torch.version": "2.6.0+cu124"}),
        ("- PyTorch version: 2.3.0+cu121 (GPU)", {"torch.version": "2.3.0+cu121"}),
        ("torch.__version__  = 2.7.0+rocm6.3", {"torch.version": "2.7.0+rocm6.3"}),
        ("flash_attn==2.8.3", {"flash_attn.version": "2.8.3"}),
        ("Python 3.10.12", {"python.version": "3.10.12"}),
        ("| NVIDIA-SMI 535.1  Driver Version: 535.129.03  CUDA Version: 12.2 |",
         {"driver.version": "535.129.03", "driver.cuda": "12.2"}),
        ("vllm 0.9.0 requires torch==2.7.0", {}),
        ("Collecting torch 2.7.0", {}),
        ("torch>=2.1.0", {}),
        ("torch 2.6.0 and later torch 2.7.0", {}),
    ],
)  # fmt: skip
def test_what_a_log_names(knowledge: Knowledge, line: str, named: dict[str, str]) -> None:
    said = explained(knowledge, line).log.named
    assert {name: said[name] for name in said if name not in FOLLOWS} == named


def test_without_an_environment_a_fix_says_what_it_depends_on(knowledge: Knowledge) -> None:
    (finding,) = explained(knowledge, CAUSES["triton-torch-version"]).findings
    steps = [step.text for fix in finding.fixes for step in fix.steps]
    assert any("pip show torch" in text for text in steps)
    assert not any(step.items for fix in finding.fixes for step in fix.steps)


def test_where_one_is_named_it_does_not_ask_for_one(knowledge: Knowledge) -> None:
    here = environment()  # nothing could be read in it
    (finding,) = explained(knowledge, CAUSES["triton-torch-version"], here).findings
    steps = [step.text for fix in finding.fixes for step in fix.steps]
    assert any(text.startswith("Not read here: ") for text in steps)
    assert not any("name it with" in text for text in steps)


def test_a_package_that_is_not_there_is_not_a_matter_of_configuration(knowledge: Knowledge) -> None:
    """Of a GPU that is too old it said that the run's configuration decides."""
    facts: dict[str, Fact] = {
        "flash_attn.version": Absent("metadata"),
        "gpu.count": Known(1, "nvml"),
        "gpu[0].visible": Known(True, "nvml"),
        "gpu[0].compute_capability": Known("7.0", "nvml"),
    }
    here = msgspec.structs.replace(environment(), facts=facts)
    log = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    (check,) = explained(knowledge, log, here).checks
    assert "is not installed here" in check.detail


@pytest.mark.parametrize(
    "rule_id",
    ["dtype-fp32-into-fa2", "fa2-mixed-qkv-dtype", "sdpa-mixed-qkv-dtype",
     "xformers-mixed-qkv-dtype", "dora-fp32-promotion"],
)  # fmt: skip
def test_a_dtype_error_brings_no_advice_about_the_gpu(knowledge: Knowledge, rule_id: str) -> None:
    finding = explained(knowledge, CAUSES[rule_id]).findings[0]
    advice = " ".join(
        [fix.title for fix in finding.fixes]
        + [step.text for fix in finding.fixes for step in fix.steps if step.kind.value != "advice"]
    )
    for word in ("GPU", "Ampere", "hardware", "driver", "CUDA"):
        assert word not in advice


@pytest.mark.parametrize(
    ("query", "key", "value", "said"),
    [
        ("float", "float", "c10::BFloat16", "a rotary embedding or a norm on query and key"),
        ("c10::BFloat16", "float", "float", "a cache, an encoder or adapters"),
        ("float", "c10::Half", "c10::Half", "Only the query was promoted"),
        ("c10::Half", "float", "c10::Half", "Only the key was promoted"),
        ("c10::Half", "c10::Half", "float", "Only the value is float32"),
    ],
)
def test_who_promoted_a_tensor(
    knowledge: Knowledge, query: str, key: str, value: str, said: str
) -> None:
    log = (
        "RuntimeError: Expected query, key, and value to have the same dtype, but got"
        f" query.dtype: {query} key.dtype: {key} and value.dtype: {value} instead."
    )
    assert said in explained(knowledge, log).findings[0].message


@pytest.mark.parametrize(
    ("log", "note"),
    [
        ('  File "/w/a.py", line 3, in f\n    g()\n', "ends inside a traceback"),
        ('  File "/w/a.py", line 3, in f\n    g()\nKeyError: 1\n', "begins inside a traceback"),
        ("error: subprocess-exited-with-error\n", "above pip's summary"),
        (f"{AMPERE}Traceback (most recent call last):\n  File \"a\", line 1\nKeyError: 'x'\n",
         "ends with another error, in line 4"),
    ],
)  # fmt: skip
def test_what_more_to_paste(knowledge: Knowledge, log: str, note: str) -> None:
    assert any(note in each for each in explained(knowledge, log).notes)


OF_OURS = (
    "AttributeError: 'dict' object has no attribute 'bucket'",
    "RuntimeError: expected scalar type Float but found Half",
)
"""How a log ends in what is not ours, and in what is."""


@pytest.mark.parametrize(("last", "is_other"), [(OF_OURS[0], True), (OF_OURS[1], False)])
def test_an_error_of_ours_at_the_end_is_no_other(
    knowledge: Knowledge, last: str, *, is_other: bool
) -> None:
    log = f"""{OF_OURS[1]}

Traceback (most recent call last):
  File "/w/models/t5.py", line 15, in forward
    return norm(x)
{last}
"""
    notes = explained(knowledge, log).notes
    assert any("another error" in each for each in notes) is is_other


def test_a_warning_whose_error_ends_the_log_stays_one(knowledge: Knowledge) -> None:
    log = """    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
torch.OutOfMemoryError: HIP out of memory. Tried to allocate 41.50 GiB. GPU 0 has 16 GiB
"""
    [finding] = explained(knowledge, log).findings
    assert finding.rule_id == "rocm-sdpa-flash-unavailable"
    assert finding.severity is Severity.WARNING


def test_the_same_log_gives_the_same_report(knowledge: Knowledge) -> None:
    log = "\n".join(list(CAUSES.values())[::6])
    assert explained(knowledge, log) == explained(knowledge, log)


OF_A_PART = {"use-what-replaced-it", "build-the-part"}


@pytest.mark.parametrize(
    ("module", "of_a_part"),
    [
        ("rotary_emb", {"use-what-replaced-it", "build-the-part"}),
        ("fused_dense_lib", {"build-the-part"}),
        ("flash_attn_2_cuda", set()),
    ],
)
def test_what_is_missing_decides_which_fixes_are_offered(
    knowledge: Knowledge, module: str, of_a_part: set[str]
) -> None:
    log = f"ModuleNotFoundError: No module named '{module}'"
    [finding] = explained(knowledge, log).findings
    offered = {fix.id for fix in finding.fixes}
    assert finding.rule_id == "fa-extension-missing"
    assert offered & OF_A_PART == of_a_part
    assert ("remove-flash-attn" in offered) is not bool(of_a_part)


def test_what_hangs_on_packages_that_nobody_named_comes_later(knowledge: Knowledge) -> None:
    said = "AutoModel requires the PyTorch library but it was not found in your environment."
    (finding,) = explained(knowledge, said).findings
    assert [fix.id for fix in finding.fixes] == ["install-torch"]
    (finding,) = explained(knowledge, f"vllm 0.11.0\n{said}").findings
    assert finding.fixes[0].id == "install-torch-of-vllm"


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("causal_conv1d_cuda.cpython-311-x86_64-linux-gnu.so", "causal-conv1d"),
        ("transformer_engine_torch.cpython-311-x86_64-linux-gnu.so", "transformer-engine"),
    ],
)
def test_a_neighbour_of_another_torch_is_not_answered_with_flash_attn(
    knowledge: Knowledge, file: str, package: str
) -> None:
    """Its file was named, and wheels and builds of flash-attn were offered for it."""
    symbol = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
    log = f"ImportError: /v/site-packages/{file}: undefined symbol: {symbol}\n"
    (finding,) = explained(knowledge, log).findings
    assert f"Install the build of {package} for this torch" in {fix.title for fix in finding.fixes}
    steps = [step.text for fix in finding.fixes for step in fix.steps]
    assert any("--no-build-isolation" in step and package in step for step in steps)
    assert not any("flash" in step for step in steps)


def test_comfyui_is_told_in_its_own_words(knowledge: Knowledge) -> None:
    log = f"ComfyUI version: 0.3.40\n{AMPERE}"
    (finding,) = explained(knowledge, log).findings
    (step,) = finding.fixes[0].steps
    assert step.text.startswith("ComfyUI: --use-pytorch-cross-attention")


@pytest.mark.parametrize(
    ("frames", "title"),
    [
        (("transformers/a.py", "vllm/platforms/cuda.py"), "Install vLLM with a torch of its own"),
        (("sgl_kernel/__init__.py", "torch/_ops.py"), "Install SGLang with a torch of its own"),
        (
            ("transformers/a.py", "flash_attn/flash_attn_interface.py"),
            "Install the flash-attn wheel",
        ),
    ],
)
def test_who_imports_says_whose_library_is_missing(
    knowledge: Knowledge, frames: tuple[str, str], title: str
) -> None:
    """A vLLM for CUDA 13 beside a torch for CUDA 12 was answered with another flash-attn."""
    lines = [f'  File "/v/site-packages/{frame}", line 2, in <module>\n' for frame in frames]
    error = "ImportError: libcudart.so.13: cannot open shared object file: No such file\n"
    log = f"torch 2.9.0+cu128\n{''.join(lines)}{error}"
    (finding,) = explained(knowledge, log).findings
    assert finding.fixes[0].title.startswith(title)


def test_what_a_program_has_no_words_for_is_not_offered(knowledge: Knowledge) -> None:
    """A fix was shown that only asked for the environment, and said nothing else."""
    refusal = "NotImplementedError: flash_attn at sgl-kernel is only supported on sm90 and above"
    (finding,) = explained(
        knowledge, f'  File "/v/sglang/srt/layers/attention/vision.py", line 4, in f\n{refusal}\n'
    ).findings
    assert [fix.id for fix in finding.fixes] == ["other-sglang-backend", "use-sdpa"]
    assert [step.text for step in finding.fixes[1].steps] == [
        "SGLang: --attention-backend torch_native"
    ]


def test_what_a_program_proposes_was_not_tried(knowledge: Knowledge) -> None:
    """vLLM's own advice stands in its refusal, and was taken for what somebody had done."""
    refusal = (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
        "Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead by explicitly "
        "setting the `dtype` flag in CLI, for example: --dtype=half."
    )
    (finding,) = explained(knowledge, refusal).findings
    assert finding.fixes[0].id == "serve-in-fp16"
    assert not any("was tried" in step.text for step in finding.fixes[0].steps)
    (finding,) = explained(knowledge, f"$ vllm serve m --dtype=half\n{refusal}").findings
    assert any("was tried" in step.text for step in finding.fixes[0].steps)


def test_flash_attention_is_asked_about_only_where_a_text_speaks_of_it(
    knowledge: Knowledge,
) -> None:
    error = "ImportError: libcudart.so.11.0: cannot open shared object file: No such file\n"
    (finding,) = explained(knowledge, f"vllm 0.2.1 and torch 2.1.0\n{error}").findings
    assert finding.fixes[0].id == "build-for-this-cuda"
    assert "flash-attn" not in finding.fixes[0].title


def test_a_release_that_contradicts_the_error_chooses_no_fix(knowledge: Knowledge) -> None:
    """Regression: the floor of CUDA 11 was told beside an error of a torch for CUDA 12."""
    log = (
        "PyTorch 2.1.2+cu118 is there\n"
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11080).\n"
    )
    first = explained(knowledge, log).findings[0]
    assert first.rule_id == "driver-too-old"
    assert "450" not in first.fixes[0].steps[0].text


def test_a_program_that_is_not_named_has_options_of_its_own(knowledge: Knowledge) -> None:
    error = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
    assert explained(knowledge, error).findings[0].fixes[0].steps[0].text == OWN_OPTIONS
    named = explained(knowledge, f"text-generation-inference on a T4\n{error}").findings[0]
    assert OWN_OPTIONS not in [step.text for step in named.fixes[0].steps]
    assert any("USE_FLASH_ATTENTION=false" in step.text for step in named.fixes[0].steps)


def test_what_a_program_proposes_twice_was_not_tried_either(knowledge: Knowledge) -> None:
    """A title repeats how the message begins; the proposal is in the message alone."""
    message = (
        "MoonModel does not support an attention implementation through "
        "torch.nn.functional.scaled_dot_product_attention yet."
    )
    proposal = 'load your model with the argument `attn_implementation="eager"` meanwhile.'
    log = f"# {message}\n\nValueError: {message} If this is a bug, {proposal}\n"
    [finding] = explained(knowledge, log).findings
    assert finding.fixes[0].id == "use-eager"
    tried = explained(knowledge, f"{log}model = load(attn_implementation='eager')\n").findings[0]
    assert tried.fixes[0].id != "use-eager"


def test_a_name_that_all_releases_have_calls_for_the_package_again(knowledge: Knowledge) -> None:
    log = (
        'File "/home/ada/nodes/describe.py", line 3, in <module>\n'
        "ImportError: cannot import name 'pipeline' from 'transformers' "
        "(/opt/venv/lib/python3.11/site-packages/transformers/__init__.py)\n"
    )
    [finding] = explained(knowledge, log).findings
    assert "its files are damaged" in finding.message
    assert [fix.id for fix in finding.fixes] == ["reinstall"]


@pytest.mark.parametrize(
    ("words", "fixes", "step"),
    [
        ("SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'",
         ["new-name", "older-release"], "max_seq_length"),
        ("SFTConfig.__init__() got an unexpected keyword argument 'loss_type' # trl==0.15.0",
         ["newer-release"], ""),
    ],
)  # fmt: skip
def test_an_argument_that_a_trainer_does_not_take_is_told_by_releases(
    knowledge: Knowledge, words: str, fixes: list[str], step: str
) -> None:
    [finding] = explained(knowledge, f"TypeError: {words}\n").findings
    assert "trl has it" in finding.message
    assert [fix.id for fix in finding.fixes] == fixes
    assert step in finding.fixes[0].steps[0].text


def test_a_range_of_torch_comes_from_the_index_of_the_build_that_is_there(
    knowledge: Knowledge,
) -> None:
    """Regression: on Windows the index of Python gave a build for the CPU in its place."""
    log = (
        "torch: 2.11.0+cu130\nunsloth: 2026.6.8\n"
        "unsloth 2026.6.8 requires torch<2.11.0,>=2.4.0, "
        "but you have torch 2.11.0+cu130 which is incompatible.\n"
    )
    first = explained(knowledge, log).findings[0]
    assert first.rule_id == "unsloth-torch-mismatch"
    assert first.fixes[0].steps[0].index == "https://download.pytorch.org/whl/cu130"


def test_a_message_about_other_processes_may_be_wrapped_between_any_words(
    knowledge: Knowledge,
) -> None:
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
        "total\ncapacity of 23.50 GiB of which 10.00 MiB is free. Process 77 has 20.00\nGiB memory "
        "in use. Including non-PyTorch memory, this process\nhas 3.10 GiB\nmemory in use."
    )
    assert [each.rule_id for each in explained(knowledge, text).findings] == ["gpu-memory-occupied"]


@pytest.mark.parametrize(
    ("folder", "switch"),
    [
        ("C:\\ai\\sd-webui-forge-neo", "--use-pytorch-cross-attention"),
        ("C:\\ai\\stable-diffusion-webui-forge", "--attention-pytorch"),
        ("C:\\ai\\stable-diffusion-webui", "--opt-sdp-attention"),
    ],
)
def test_a_web_interface_is_told_its_own_switch(
    knowledge: Knowledge, folder: str, switch: str
) -> None:
    log = (
        f'File "{folder}\\venv\\lib\\site-packages\\diffusers\\models\\attention_processor.py"\n'
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
    )
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    steps = [step.text for step in report.findings[0].fixes[0].steps]
    assert any(switch in text for text in steps)
    assert not any("set_attention_backend" in text for text in steps)
