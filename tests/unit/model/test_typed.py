"""Types are made once, whoever asks for them at the same time."""

from __future__ import annotations

import subprocess
import sys

RACE = """
import sys, threading
sys.setswitchinterval(1e-6)
from fadoctor.knowledge.matrix.load import load_knowledge
barrier, found = threading.Barrier(3), []
def ask():
    barrier.wait()
    found.append(len(load_knowledge().rules))
threads = [threading.Thread(target=ask) for _ in range(3)]
for each in threads: each.start()
for each in threads: each.join()
assert len(found) == 3 and len(set(found)) == 1
"""


def test_threads_may_ask_for_the_same_types_at_once() -> None:
    """It ended by SIGSEGV each other time; `check --requirements Dockerfile` was such a case."""
    for _ in range(4):
        run = subprocess.run([sys.executable, "-c", RACE], capture_output=True, check=False)
        assert run.returncode == 0, run.stderr
