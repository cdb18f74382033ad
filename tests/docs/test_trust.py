"""What the page on trust promises: fadoctor itself opens no connection."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NETWORK = re.compile(
    r"^\s*(?:import|from) (?:socket|ssl|http\.client|urllib\.request|ftplib|smtplib|xmlrpc"
    r"|requests|httpx|aiohttp|urllib3)\b",
    re.MULTILINE,
)


def test_no_module_of_ours_can_reach_a_network() -> None:
    """Children of the target are scripts of their own: they take what the target has."""
    sources = [path for path in (ROOT / "fadoctor").rglob("*.py") if "child" not in path.parts]
    assert len(sources) > 300
    found = [path.name for path in sources if _NETWORK.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_the_page_says_so() -> None:
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    assert "fadoctor opens no connection" in page


STARTERS = {
    "fadoctor/sources/probes/toolkit.py": "`nvcc`, `gcc`, `g++` and `ninja`",
    "fadoctor/sources/probes/interpreter.py": "under the interpreter of the environment",
    "fadoctor/sources/probes/nvml.py": "asks NVML",
    "fadoctor/sources/probes/nvidia_smi.py": "`nvidia-smi`",
    "fadoctor/sources/probes/rocminfo.py": "`rocminfo`",
    "fadoctor/processes/script_child.py": "Processes of fadoctor's own Python that parse",
    "fadoctor/knowledge/updates/fetch.py": "`rules update` runs pip or uv",
    "fadoctor/sources/manifests/installed/resolver.py": "`--resolve` runs uv or pip",
    "fadoctor/repair/apply/verify.py": "`fix` runs the installer",
    "fadoctor/repair/apply/carry_out.py": "`fix` runs the installer",
    "fadoctor/repair/apply/installer_check.py": "`fix` runs the installer",
    "fadoctor/proof/smoke/worker.py": "The smoke run of `check` and `smoke`",
    "fadoctor/proof/smoke/imports.py": "The smoke run of `check` and `smoke`",
    "fadoctor/fleet/ray.py": "`fleet --ray`",
    "fadoctor/fleet/slurm.py": "runs `srun`",
}
"""Modules that start a process -> what the page says of it."""


def test_whatever_starts_a_process_stands_on_the_page() -> None:
    """Compilers that are asked for their versions, and srun, did not."""
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    starts = re.compile(r"from fadoctor\.processes\.command import [^\n]*\bCommand\b")
    used = re.compile(r"(?<![\w.])Command\(")
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "fadoctor").rglob("*.py")
        if starts.search(text := path.read_text(encoding="utf-8")) and used.search(text)
    }
    assert found <= STARTERS.keys(), "say it in docs/trust.md, and here"
    assert len(found) > 8
    assert [words for words in STARTERS.values() if words not in page] == []
