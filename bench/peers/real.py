"""How long each tool takes on an environment with a real torch: its build for processors."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

from bench.peers import tools
from bench.peers.cases import A100
from bench.peers.planted import Case, Torch, environ_of, write_smi

if TYPE_CHECKING:
    from pathlib import Path

TORCH = "torch==2.13.0"
_TIMES = 5
_COLLECT_ENV = tools.Tool("collect_env", "", ("-m", "torch.utils.collect_env"), lambda _: iter(()))
_CASE = Case("real", "", "", A100, Torch("", None, "", ()))


class Times(msgspec.Struct, frozen=True):
    """Seconds of each tool, the least of several."""

    torch: str
    seconds: dict[str, float]


def times_of_a_real_torch(folder: Path, others: Path) -> Times:
    """Install torch once, and run everything on it."""
    root = folder / "real"
    python = root / "env" / "bin" / "python"
    if not (root / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(root / "env")], check=True, timeout=120)
        argv = [str(python), "-m", "pip", "install", "--quiet", TORCH]
        subprocess.run(argv, check=True, timeout=1800)
        write_smi(A100, root)
        (root / "home").mkdir(exist_ok=True)
        (root / "installed").touch()
    environ = environ_of(_CASE, root)
    asked = (*tools.TOOLS, _COLLECT_ENV)
    for tool in asked:  # what is read first is slow once, for all alike
        tools.ask(tool, root, environ, others, 1)
    said = {tool.name: tools.ask(tool, root, environ, others, _TIMES) for tool in asked}
    return Times(TORCH, {name: each.seconds for name, each in said.items()})
