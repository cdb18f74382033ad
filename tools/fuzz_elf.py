"""Fuzz the ELF reader, guided by coverage: only BadBinaryError may come out.

Usage: python tools/fuzz_elf.py [--runs N] [--corpus FOLDER]

Needs `pip install atheris`. Starts from the corpus of the tests; what opens new paths is added to
the folder, if one is given. A crash, a hang of more than 5 s or more than 512 MiB ends it with an
error and leaves the input in the working folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(include=["fadoctor.binary"]):
    from fadoctor.binary.errors import BadBinaryError
    from tests.binaries.exercise import SEEDS, exercise


def one_input(data: bytes) -> None:
    """Read one input."""
    try:
        exercise(data)
    except BadBinaryError:
        return


def main() -> None:
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        limits = ["-timeout=5", "-rss_limit_mb=512", "-max_len=8192", f"-runs={options.runs}"]
        corpus = str(options.corpus or fresh)
        atheris.Setup([sys.argv[0], *limits, corpus, str(SEEDS)], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
