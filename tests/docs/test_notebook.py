"""Results in a real notebook: a kernel of its own shows them as tables."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.network, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FACTS = ROOT / "tests" / "golden" / "linux-a100-healthy" / "facts.json"

CELLS = (
    "from fadoctor.api import check, explain, facts, plan",
    "check(facts='facts.json', gpu='V100', driver='550.54.15')",
    "facts()",
    "explain('RuntimeError: FlashAttention only supports Ampere GPUs or newer.')",
    "plan(facts='facts.json', want='flash-attn', gpu='H100', driver='580.65.06')",
    "check('/no/such/environment')",
)

RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell(text) for text in json.loads(sys.argv[1])]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=120, allow_errors=True, kernel_name="python3").execute()
nbformat.validate(book)
print(json.dumps([cell.outputs for cell in book.cells]))
"""


def written_by_us_is_one(python: Path, folder: Path) -> None:
    """Validate the notebook of ``fix --format colab`` with the format's own library."""
    code = (
        "import nbformat, sys; from fadoctor.interfaces.cli.app import main\n"
        "sys.argv[1:] = ['fix', '--dry-run', '--new', '--want', 'flash-attn', '--gpu', 'H100',"
        " '--driver', '580.65.06', '--output', 'colab:book.ipynb']\n"
        "try: main()\n"
        "except SystemExit: nbformat.validate(nbformat.read('book.ipynb', 4)); print('valid')\n"
    )
    run = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False, timeout=120, cwd=folder
    )
    assert run.stdout == "valid\n", run.stderr


def test_results_show_as_tables_in_a_notebook(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    for argv in (
        ["uv", "venv", "-q", "--python", sys.executable, str(tmp_path / "venv")],
        ["uv", "pip", "install", "-q", "--python", str(python), "nbclient", "ipykernel", str(ROOT)],
    ):
        run = subprocess.run(
            [sys.executable, "-m", *argv], capture_output=True, text=True, check=False, timeout=600
        )
        assert run.returncode == 0, run.stderr
    shutil.copy(FACTS, tmp_path / "facts.json")
    done = subprocess.run(
        [python, "-c", RUN, json.dumps(CELLS)],
        capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written_by_us_is_one(python, tmp_path)
    outputs = json.loads(done.stdout.splitlines()[-1])
    assert outputs[0] == []
    for shown in outputs[1:5]:
        [output] = shown
        assert output["output_type"] == "execute_result"
        assert output["data"]["text/html"].startswith('<div class="fadoctor">')
    assert "<table>" in outputs[1][0]["data"]["text/html"]
    # without a target it is about the kernel's own interpreter
    assert str(tmp_path / "venv") in outputs[2][0]["data"]["text/html"]
    [error] = outputs[5]
    assert (error["output_type"], error["ename"]) == ("error", "TargetError")
