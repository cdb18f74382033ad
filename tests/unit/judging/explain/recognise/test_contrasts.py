"""Two situations that a person sets against each other, and texts that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.recognise.contrasts import worse_line
from fadoctor.judging.explain.recognise.ideas import small_idea
from fadoctor.sources.logs.cleaning import Line

if TYPE_CHECKING:
    import re

    from fadoctor.model.rule import Knowledge

ROOT, BUILD = "as-root-told>>as-user-told", "in-a-running-container>at-an-image-build"
IGPU, GPUS = "igpu-away-told>igpu-there-told", "on-one-gpu-told>on-several-gpus-told"


def told(text: str, contrast: str, knowledge: Knowledge) -> bool:
    def pattern(idea: str) -> re.Pattern[str]:
        return small_idea(idea, knowledge)

    lines = [Line(number, each, "") for number, each in enumerate(text.splitlines(), 1)]
    return worse_line(lines, contrast, pattern) is not None


@pytest.mark.parametrize(
    ("text", "contrast"),
    [
        ("As root it finds the GPU. As a normal user it sees no device.", ROOT),
        ("It only works with sudo.", ROOT),
        ("用 root 可以看到显卡\uff0c普通用户看不到", ROOT),
        ("In docker run the build goes through, but it fails in docker build.", BUILD),
        ("Why does it only fail in docker build? I typed the same steps in the container.", BUILD),
        ("With the iGPU disabled it runs without errors, with the iGPU on it crashes.", IGPU),
        ("On one GPU the answers are good; over two GPUs it prints garbage.", GPUS),
    ],
)
def test_a_contrast_is_read(text: str, contrast: str, knowledge: Knowledge) -> None:
    assert told(text, contrast, knowledge)


@pytest.mark.parametrize(
    ("text", "contrast"),
    [
        ("It works as root, and as a normal user as well.", ROOT),
        ("Neither as root nor as a normal user does it find the GPU.", ROOT),
        ("I use sudo to install it. My user is in the group video. It crashes.", ROOT),
        ("It fails as a normal user.", ROOT),
        ("The program only uses one GPU of four.", GPUS),
        ("Why does it only fail in docker build?", BUILD),
        ("With docker run the GPU is there. How do I show it to docker build?", BUILD),
        ("On one GPU it crashes, and over two GPUs it crashes, too.", GPUS),
    ],
)
def test_what_is_no_contrast(text: str, contrast: str, knowledge: Knowledge) -> None:
    assert not told(text, contrast, knowledge)
