"""What was tried in vain says nothing where another line tells what is there."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import read_log
from fadoctor.model.fact import fact_text

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.mark.parametrize(
    ("log", "torch"),
    [
        ("My torch version is 2.6.0\nI have tried:\n1. torch=2.4.0 + flash_attn==2.5.9", "2.6.0"),
        ("torch 2.7.1 is here\n- torch==2.5.1 (still the same error)", "2.7.1"),
        ("已经尝试过:\n- torch==2.3.0\nEnvironment:\ntorch: 2.5.1", "2.5.1"),
        ("Versuche, ich habe versucht:\n* torch==2.3.1\nDa ist torch 2.6.0", "2.6.0"),
        # nothing else tells it
        ("I tried these:\n- torch==2.5.1", "2.5.1"),
        # a list of what is there
        ("I tried everything.\n- torch==2.6.0\n- numpy==1.26", "2.6.0"),
        ("Environment:\n- torch==2.6.0\n- torchvision==0.21.0", "2.6.0"),
    ],
)
def test_the_torch_that_is_there(knowledge: Knowledge, log: str, torch: str) -> None:
    environment = read_log(io.BytesIO(log.encode()), "a.log", knowledge).facts().environment
    assert fact_text(environment.fact("torch.version"), "") == torch
