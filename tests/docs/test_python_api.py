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
    assert len(EXAMPLES) == 6


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
    names: dict[str, object] = {}
    exec(compile(EXAMPLES[number], str(PAGE), "exec"), names)  # noqa: S102 -- our own page
    said = {0: "V100", 2: "The GPU is too old", 3: "no/such/environment", 5: "gpu-too-old-fa2"}

    assert said.get(number, "") in capsys.readouterr().out
    if number == 4:
        assert "<table>" in str(names["html"])
