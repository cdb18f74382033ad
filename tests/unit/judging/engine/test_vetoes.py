"""Who raised a line, and whether it was survived: by where the words stand, not that they do."""

from __future__ import annotations

import re

import pytest

from fadoctor.judging.engine.vetoes import is_of_others, is_survived, lines_around

OTHERS = re.compile("(?i:ollama|ggml)")
ERROR = "RuntimeError: No CUDA GPUs are available"
FAR = "\n" * 30


def at(text: str) -> re.Match[str]:
    found = re.search("No CUDA GPUs", text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'  File "/v/site-packages/torch/x.py"\n{ERROR}\n\nOther programs (Ollama) work.', False),
        (f"My other machine runs Ollama, too.\n  import torch\n{ERROR}", False),
        (f"ollama: {ERROR}", True),
        (f"ggml_cuda_init: failed\n{ERROR}\nimport torch", True),
        (f"/opt/ollama/bin/x\n{ERROR}\nimport torch", True),
        (f"[ollama] started\n{ERROR}\nimport torch", True),
        (f"ollama-1  | up\n{ERROR}\nimport torch", True),
        (f"/opt/ollama/bin/x{FAR}{ERROR}\nimport torch", False),
        (f"Ollama says on my computer:\n{ERROR}", True),  # no other program is named
        (f"ollama==0.4.1\n{ERROR}", False),
        (f"ollama is installed, too.\n{ERROR}", False),
        (f"ggml runs on another machine.\n{ERROR}", False),
        (f'  File "/v/ollama/x.py"\n  File "/v/torch/x.py", line 2\n    init()\n{ERROR}', False),
        (f'  File "/v/torch/x.py"\n  File "/v/ollama/x.py", line 2\n    init()\n{ERROR}', True),
        (ERROR, False),
    ],
)
def test_who_raised_it(text: str, *, expected: bool) -> None:
    assert is_of_others(OTHERS, text, at(text), 8_192) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{ERROR}, falling back to the CPU", True),
        (f"{ERROR}\nfalling back to the CPU", True),
        (f"{ERROR}\n\n\nfalling back to the CPU", False),
        (f"falling back to slow images\n{ERROR}", False),
    ],
)
def test_whether_it_was_survived(text: str, *, expected: bool) -> None:
    assert is_survived(re.compile("falling back"), text, at(text), 8_192) is expected


def test_lines_end_at_the_reach() -> None:
    text = "x" * 50 + ERROR + "y" * 50
    start, end = lines_around(text, at(text), 3, 10)
    assert (start, end) == (at(text).start() - 10, at(text).end() + 10)
    lines = "a\nb\nNo CUDA GPUs\nc\nd"
    assert lines[slice(*lines_around(lines, at(lines), 0, 99))] == "No CUDA GPUs"
    assert lines[slice(*lines_around(lines, at(lines), 1, 99))] == "b\nNo CUDA GPUs\nc"
