"""No fix that comes first is impossible in the place that a log shows."""

from __future__ import annotations

import io
import re

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.situations import situations, suiting
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.sources.logs.facts import facts_of
from tests.shipped import compiled

# A line that shows the place, and what a fix that comes first there must not hold, in words
# of this test: what cannot be typed there, or belongs to another machine.
KERNEL = r"modprobe|rmmod|dkms|linux-headers|mokutil"
PLACES = {
    "on-wsl": ("uname -r: 5.15.167.4-microsoft-standard-WSL2", rf"{KERNEL}|systemctl restart"),
    "in-a-container": ("I start it by docker run --gpus all -it img", KERNEL),
    "in-a-server-image": ("docker run --gpus all vllm/vllm-openai:latest", rf"{KERNEL}|MAX_JOBS="),
    "on-a-notebook-service": ("I run this in Google Colab, in /content/app", rf"{KERNEL}|winget"),
    "on-a-rented-machine": ("This is a pod of RunPod", rf"{KERNEL}|winget"),
    "on-a-cluster": ("#SBATCH --gres=gpu:1, sent by sbatch to Slurm", rf"{KERNEL}|\bapt-get\b"),
    "in-jetson": ("This is a Jetson Orin Nano", r"whl/cu\d|winget"),
    "without-nvidia": ("My laptop does not have an NVIDIA graphics card", r"whl/cu\d|CUDA_HOME"),
}
OWN = {
    "on-wsl": "WSL",
    "in-a-container": "host|container|Docker",
    "in-a-server-image": "image|host|Docker",
    "on-a-notebook-service": "Colab|Kaggle|notebook",
    "on-a-rented-machine": "provider|host's",
    "on-a-cluster": "administrator|cluster|module load",
    "in-jetson": "Jetson|JetPack",
    "without-nvidia": "CPU",
}
COMPILED = compiled()
KNOWLEDGE = COMPILED.knowledge
SAID = facts_of((), "a.txt", Matrix(KNOWLEDGE.tables)).environment
RULES = [each.id for each in KNOWLEDGE.rules if each.fixes and each.symptoms]


def _logs(rule: str) -> list[str]:
    cases = COMPILED.cases[rule]
    return [each["log"] for each in cases if "log" in each and each["expect"]["outcome"] == "fail"]


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("rule", RULES)
def test_no_fix_that_comes_first_is_impossible_where_it_is_read(rule: str) -> None:
    for log in _logs(rule)[:1]:
        report = explain(read_log(io.BytesIO(log.encode()), "a.txt", KNOWLEDGE), KNOWLEDGE)
        for place, (line, impossible) in PLACES.items():
            here = situations((line,), SAID, KNOWLEDGE.tables)
            assert place in {each.name for each in here}
            for first in (suiting(each.fixes, here)[0] for each in report.findings if each.fixes):
                said = "\n".join((first.title, *(step.text for step in first.steps)))
                found = re.search(impossible, said)
                assert found is None or re.search(OWN[place], said), (place, first.id, found)
