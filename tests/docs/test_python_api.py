"""The examples of the page about the API run as they are printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python-api.md"
FACTS = ROOT / "tests" / "golden" / "linux-a100-healthy" / "facts.json"

_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = _FENCE.findall(PAGE.read_text(encoding="utf-8"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 8


@pytest.mark.parametrize(
    "number",
    [
        # plans, and judges three machines
        pytest.param(number, marks=pytest.mark.long if number == 1 else ())
        for number in range(len(EXAMPLES))
    ],
)
def test_an_example_runs(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(FACTS, "facts.json")
    Path("requirements.txt").write_text("torch==2.7.1\nflash-attn==2.8.3\n")
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\necho torch==2.7.1\necho flash-attn==2.8.3\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:/usr/bin:/bin")
    names: dict[str, object] = {}
    exec(compile(EXAMPLES[number], str(PAGE), "exec"), names)  # noqa: S102 -- our own page
    said = {0: "V100", 2: "Known", 3: "The GPU is too old", 4: "no/such/environment",
            5: "FlashAttention gets float32", 7: "gpu-too-old-fa2"}  # fmt: skip

    assert said.get(number, "") in capsys.readouterr().out
    if number == 6:
        assert "<table>" in str(names["html"])
