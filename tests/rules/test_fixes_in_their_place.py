"""No fix that comes first is impossible in the place that a log shows."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.settings import named_frameworks, shown_frameworks
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.situations import situations, suiting
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import StepKind
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.facts import facts_of
from tests.shipped import compiled

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation

# A line that shows the place, and what a fix that comes first there must not hold, in words
# of this test: what cannot be typed there, or belongs to another machine.
COMPILES = "MAX_JOBS=|TORCH_CUDA_ARCH_LIST|CUDA_HOME"
BARE_PIP = r"(?m)^pip (?:un)?install"
KERNEL = r"modprobe|rmmod|dkms|linux-headers|mokutil"
PLACES = {
    "on-wsl": ("uname -r: 5.15.167.4-microsoft-standard-WSL2", rf"{KERNEL}|systemctl restart"),
    "in-a-container": ("I start it by docker run --gpus all -it img", KERNEL),
    "in-a-container-of-amd": ("I start it by docker run --device=/dev/kfd rocm/pytorch", KERNEL),
    "in-a-dockerfile": ("RUN pip install vllm", rf"(?m){KERNEL}|^sudo |^export "),
    "in-a-server-image": ("docker run --gpus all vllm/vllm-openai:latest", rf"{KERNEL}|{COMPILES}"),
    "a-server-by-docker-run": (
        "docker run --gpus all vllm/vllm-openai:latest",
        r"(?m)^export (?:VLLM|SGLANG)_",
    ),
    "on-a-notebook-service": ("I run this in Google Colab, in /content/app", rf"{KERNEL}|winget"),
    "on-a-rented-machine": ("This is a pod of RunPod", rf"{KERNEL}|winget"),
    "on-a-cluster": ("#SBATCH --gres=gpu:1, sent by sbatch to Slurm", rf"{KERNEL}|\bapt-get\b"),
    "in-jetson": ("This is a Jetson Orin Nano", r"whl/cu\d|winget"),
    "frozen-program": (
        r"torch\cuda\__init__.py:215: UserWarning: CUDA initialization",
        r"(?m)^(?:pip|conda|uv) |-m pip install",
    ),
    "comfyui-portable": (r"D:\ComfyUI_windows_portable>.\python_embeded\python.exe", BARE_PIP),
    "in-a-uv-project": ("$ uv run python train.py", BARE_PIP),
    "in-a-poetry-project": ("$ poetry run python train.py", BARE_PIP),
    "on-a-mac": ("I have no CUDA in my Mac", r"whl/cu\d|CUDA_HOME|winget|apt-get"),
    "without-nvidia": ("My laptop does not have an NVIDIA graphics card", r"whl/cu\d|CUDA_HOME"),
}
OWN = {
    "on-wsl": "WSL",
    "in-a-container": "host|container|Docker",
    "in-a-container-of-amd": "host|container|Docker",
    "in-a-dockerfile": "host|container|Docker",
    "in-a-server-image": "image|host|Docker",
    "a-server-by-docker-run": "docker run",
    "on-a-notebook-service": "Colab|Kaggle|notebook",
    "on-a-rented-machine": "provider|host's",
    "on-a-cluster": "administrator|cluster|module load",
    "in-jetson": "Jetson|JetPack",
    "frozen-program": "own torch inside|packed program",
    "comfyui-portable": "python_embeded",
    "in-a-uv-project": "uv ",
    "in-a-poetry-project": "poetry",
    "on-a-mac": "Mac|mps|CPU",
    "without-nvidia": "CPU",
}
COMPILED = compiled()
KNOWLEDGE = COMPILED.knowledge
MATRIX = Matrix(KNOWLEDGE.tables)
LABELS = {str(row["label"]) for row in KNOWLEDGE.tables["frameworks"].rows}
SAID = {
    place: facts_of((Line(1, line, ""),), "a.txt", MATRIX).environment
    for place, (line, _) in PLACES.items()
}
HERE = {
    place: situations((line,), SAID[place], MATRIX.tables) for place, (line, _) in PLACES.items()
}
RULES = [each.id for each in KNOWLEDGE.rules if each.fixes and each.symptoms]


def _logs(rule: str) -> list[str]:
    cases = COMPILED.cases[rule]
    return [each["log"] for each in cases if "log" in each and each["expect"]["outcome"] == "fail"]


def _named(log: str) -> set[str]:
    """Return the labels of the frameworks that a log shows or names."""
    lines = log.splitlines()
    shown = {name for line in lines for name in shown_frameworks(line, MATRIX)}
    named = shown | set(named_frameworks(lines, MATRIX))
    rows = KNOWLEDGE.tables["frameworks"].rows
    return {str(row["label"]) for row in rows if row["framework"] in named}


def _labels(report: Explanation) -> set[str]:
    """Return the frameworks whose settings come with the first fix of each finding."""
    first = [step for each in report.findings for fix in each.fixes[:1] for step in fix.steps]
    return {step.text.partition(": ")[0] for step in first if step.kind is StepKind.SETTING}


def test_each_line_shows_its_place() -> None:
    assert [place for place, here in HERE.items() if place not in {x.name for x in here}] == []


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("rule", RULES)
def test_no_fix_that_comes_first_is_impossible_where_it_is_read(rule: str) -> None:
    for log in _logs(rule)[:1]:
        report = explain(read_log(io.BytesIO(log.encode()), "a.txt", KNOWLEDGE), KNOWLEDGE)
        assert _labels(report) & LABELS <= {"transformers", *_named(log)}
        for place, (_, impossible) in PLACES.items():
            here = HERE[place]
            for first in (suiting(each.fixes, here)[0] for each in report.findings if each.fixes):
                said = "\n".join((first.title, *(step.text for step in first.steps)))
                found = re.search(impossible, said)
                assert found is None or re.search(OWN[place], said), (place, first.id, found)
