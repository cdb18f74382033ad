"""One file that runs the GPU programme by a bare Python."""

from __future__ import annotations

import ast
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import gpu_bundle

OWN = gpu_bundle.tag(f"{sys.version_info[0]}.{sys.version_info[1]}", platform.machine())
ROOT = Path(__file__).resolve().parents[2]


def test_bundle_has_every_tool_that_its_tools_import() -> None:
    wanted: set[str] = set()
    for name in gpu_bundle.TOOLS:
        for node in ast.walk(ast.parse((ROOT / "tools" / name).read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if node.module == "tools":
                wanted |= {f"{each.name}.py" for each in node.names}
            elif node.module.startswith("tools."):
                wanted.add(f"{node.module.partition('.')[2]}.py")
    assert wanted - set(gpu_bundle.TOOLS) == set()
    assert "gpu_judge.py" in wanted


def wheel(folder: Path, name: str, **files: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{file}.py", text)
    return path


def run(bundle: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-S", str(bundle), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


def test_pure_packages_are_there_once_and_compiled_ones_for_each(tmp_path: Path) -> None:
    pure = wheel(tmp_path, "rich-1-py3-none-any.whl", rich="")
    newer = wheel(tmp_path, "rich-2-py3-none-any.whl", rich="newer")
    built = wheel(tmp_path, "msgspec-1-cp310-cp310-linux_x86_64.whl", msgspec="")
    bundle = tmp_path / "x.pyz"
    gpu_bundle.write(bundle, {"cp310-x86_64/": [built, pure], "cp311-x86_64/": [built, newer]})
    with zipfile.ZipFile(bundle) as archive:
        names = archive.namelist()
        assert archive.read("app/rich.py") == b""
    assert len(names) == len(set(names))
    assert {"cp310-x86_64/msgspec.py", "cp311-x86_64/msgspec.py"} < set(names)
    assert "app/tools/on_a_gpu.py" in names


def test_a_python_that_is_not_served_is_told_so(tmp_path: Path) -> None:
    bundle = tmp_path / "x.pyz"
    built = wheel(tmp_path, "msgspec-1-cp310-cp310-linux_x86_64.whl", msgspec="")
    gpu_bundle.write(bundle, {"cp27-vax/": [built]})
    done = run(bundle)
    assert done.returncode == 1
    assert done.stderr == f"this file serves cp27-vax, not {OWN[:-1]}\n"


@pytest.mark.network
def test_the_bundle_runs_by_a_bare_python(tmp_path: Path) -> None:
    bundle = tmp_path / "on-a-gpu.pyz"
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    machine = platform.machine()
    assert gpu_bundle.main(
        ["--output", str(bundle), "--python", python, "--machine", machine]
    ) == 0  # fmt: skip
    words = ("--pretend", "--python", sys.executable, "--out", str(tmp_path / "kept"))
    done = run(bundle, *words, "--step", "facts")
    assert "pretended on a CPU" in done.stdout, done.stderr
    assert "| facts |" in done.stdout
    assert (tmp_path / "kept" / "facts.json").is_file()
