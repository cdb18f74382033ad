"""Types are made once, whoever asks for them at the same time."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest

from fadoctor.model.typed import decode, encode, encode_for_python

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


class Small(msgspec.Struct):
    name: str


@pytest.mark.parametrize("data", [b'{"name": "\xff"}', b'{"\xff": 1}', b"[" * 100_000, b"", b"1"])
def test_whatever_is_wrong_with_json_is_one_error(data: bytes) -> None:
    """Facts that are no UTF-8 were a UnicodeDecodeError, an internal error of the command."""
    for kind in (Small, dict[str, object]):
        with pytest.raises(msgspec.DecodeError):
            decode(data, kind)


def test_names_that_are_no_utf8_can_be_written() -> None:
    given = {"a\udcff": [Small("\udcfe"), ("x", None, 1)], "b": True}
    assert encode(given) == '{"a\ufffd":[{"name":"\ufffd"},["x",null,1]],"b":true}'.encode()
    assert json.loads(encode_for_python(given)) == {
        "a\udcff": [{"name": "\udcfe"}, ["x", None, 1]], "b": True,
    }  # fmt: skip
    assert encode({"b": 1, "a": 2}, order="sorted") == b'{"a":2,"b":1}'
    assert encode_for_python(Small("ö")) == '{"name":"ö"}'.encode()
