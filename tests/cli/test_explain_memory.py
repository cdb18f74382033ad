"""What explaining keeps: a command reads few of the tables and fixes that are compiled.

`bench/explain.py` measures whole processes; here it is counted, with generous bounds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge

pytestmark = pytest.mark.skipif(
    "FADOCTOR_TESTS_COMMAND" in os.environ, reason="looks into a process of this checkout"
)

MIB = 1 << 20

COUNTED = """
import io, json, sys, tracemalloc
import fadoctor.interfaces.commands.explain
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.knowledge.matrix.load import load_knowledge
tracemalloc.start()
knowledge = load_knowledge()
loaded, _ = tracemalloc.get_traced_memory()
report = explain(read_log(io.BytesIO(sys.stdin.buffer.read()), "a.log", knowledge), knowledge)
held, peak = tracemalloc.get_traced_memory()
print(json.dumps({
    "causes": [each.rule_id for each in report.findings],
    "loaded": loaded, "held": held, "peak": peak,
    "fixes": sum("fixes" in rule.__dict__ for rule in knowledge.rules),
    "tables": sorted(knowledge.tables._unpacked),
    "of": len(knowledge.tables),
    "openssl": "_hashlib" in sys.modules,
}))
"""

FAILURE = """\
torch                    2.6.0+cu124
Python 3.11.9
Traceback (most recent call last):
  File "/srv/site-packages/flash_attn/flash_attn_interface.py", line 15, in <module>
    import flash_attn_2_cuda as flash_attn_gpu
ImportError: /srv/lib/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: \
_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
"""
STEP = "2026-11-30 10:00:00 INFO step {} of the training: loss 0.25, 410 samples a second\n"


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compiling what changed needs more than reading it."""
    load_knowledge()


def counted(log: str) -> dict[str, Any]:
    argv = [sys.executable, "-c", COUNTED]
    run = subprocess.run(argv, input=log.encode(), capture_output=True, check=True, timeout=120)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("steps", [0, 1_000])
def test_explaining_unpacks_little_of_what_is_compiled(steps: int) -> None:
    found = counted("".join(map(STEP.format, range(steps))) + FAILURE)
    assert found["causes"] == ["abi-undefined-symbol-cxx11"]
    assert found["fixes"] < 20
    assert len(found["tables"]) < found["of"] / 2
    assert not found["openssl"]
    # 6.5 MiB and 13 were measured; whole tables and rules alone were 20, and the report 61.
    assert found["loaded"] < 10 * MIB
    assert found["peak"] < 22 * MIB


def test_tables_of_which_something_else_is_kept_are_not_kept_too() -> None:
    found = counted("My flash attention does not work since the last update, what can I do?\n")
    assert not {"told-words", "told-causes", "status-codes"}.intersection(found["tables"])
    # 21 MiB were measured: the patterns of all that people tell, and words of all pages.
    assert found["peak"] < 28 * MIB
