"""Which extensions may be missing: the same list in the same order, whoever asks."""

from __future__ import annotations

import os
import subprocess
import sys

_ASK = """
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known
from fadoctor.model.packages import EXTENSIONS
from fadoctor.sources.targets.optional_extensions import optional_extensions

versions = {"torch": "2.6.0", "vllm": "0.8.5", "xformers": "0.0.29.post2"}
facts = {f"{name}.version": Known(version, "a test") for name, version in versions.items()}
environment = Environment("0", Target("environment", "x", "a test"), facts)
print(*optional_extensions(environment, Matrix(load_knowledge().tables), EXTENSIONS))
"""


def asked(seed: str) -> list[str]:
    environ = {**os.environ, "PYTHONHASHSEED": seed}
    words = [sys.executable, "-c", _ASK]
    done = subprocess.run(words, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_the_order_does_not_change_from_run_to_run() -> None:
    first, *others = (asked(seed) for seed in ("0", "1", "3"))
    assert len(first) > 1
    assert others == [first, first]
