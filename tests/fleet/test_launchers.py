"""What runs a command on many hosts, for real: pdsh, clush, Open MPI and Ansible."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.fleet.nodes import ROOT, fleet, text_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.launchers

HOSTS = "n[06-09,11]"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--tag-output"]
ANSIBLE = os.environ.get("FADOCTOR_TESTS_ANSIBLE", "")
"""An environment with ansible-core."""
AS_A_NODE = 'SLURMD_NODENAME=n0$((6 + OMPI_COMM_WORLD_RANK)) OMPI_COMM_WORLD_LOCAL_RANK=0 exec "$@"'


def output(argv: list[str], **environ: str) -> bytes:
    env = {**os.environ, **environ}
    run = subprocess.run(argv, env=env, capture_output=True, timeout=120, check=False, cwd=ROOT)
    return run.stdout


def differing(text: bytes, *arguments: str) -> tuple[int, dict[str, set[str]], str]:
    """Return the exit code of a page, what differs on which nodes, and who is silent."""
    code, page = fleet(text, *arguments)
    differs = {
        group["nodes"]: {each["key"] for each in group["differs"]}
        for group in page["groups"]
        if not group["is_reference"]
    }
    return code, differs, page["silent"]


@pytest.mark.parametrize(
    "launcher", [["pdsh", "-R", "exec"], ["pdsh", "-N", "-R", "exec"], ["clush", "-R", "exec"]]
)
def test_hosts_that_differ_are_named(launcher: list[str], node: Path) -> None:
    """One prints garbage instead of a record, and fails."""
    name = "SLURMD_NODENAME=" + ("%host" if launcher[0] == "clush" else "%h")
    command = ["env", name, "FADOCTOR_TEST_DRIFT=1", str(node), "--format", "fleet"]
    text = output([*launcher, "-w", HOSTS, *command])
    code, differs, silent = differing(text, "--expect", HOSTS)
    assert differs == {"n07": {"gpu.driver"}, "n09": {"pkg.flash-attn"}}, text_of(text)
    assert (code, silent) == (3, "n11")


def test_ranks_that_differ_are_named(node: Path) -> None:
    command = ["sh", "-c", AS_A_NODE, "sh", str(node), "--format", "fleet"]
    text = output([*MPIRUN, "-np", "4", *command], FADOCTOR_TEST_DRIFT="1")
    _, differs, silent = differing(text, "--expect", "4")
    assert differs == {"n07": {"gpu.driver"}, "n09": {"pkg.flash-attn"}}, text_of(text)
    assert silent == ""


def test_ranks_of_one_node_report_once(node: Path) -> None:
    text = output([*MPIRUN, "-np", "3", str(node), "--format", "fleet"])
    _, page = fleet(text)
    assert text.count(b"@fad1 ") == 3
    assert (page["answered"], page["unreadable_count"]) == (1, 0)


@pytest.mark.skipif(not ANSIBLE, reason="FADOCTOR_TESTS_ANSIBLE names no environment")
@pytest.mark.parametrize("through", ["files", "output"])
def test_hosts_of_an_inventory_that_differ_are_named(
    through: str, node: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "reports"
    kind = f"--output-dir {folder}" if through == "files" else "--format fleet"
    command = (
        f"env SLURMD_NODENAME={{{{ inventory_hostname }}}} FADOCTOR_TEST_DRIFT=1 {node} {kind}"
    )
    inventory = tmp_path / "hosts"
    host = f"ansible_connection=local ansible_python_interpreter={sys.executable}"
    inventory.write_text(f"n[06:09] {host}\n")
    argv = [f"{ANSIBLE}/bin/ansible", "all", "-o", "-i", str(inventory), "-m", "command"]
    text = output([*argv, "-a", command], LC_ALL="C.UTF-8", HOME=str(tmp_path))
    places = [str(folder)] if through == "files" else []
    _, differs, silent = differing(b"" if places else text, *places, "--expect", "n[06-09]")
    assert differs == {"n07": {"gpu.driver"}, "n09": {"pkg.flash-attn"}}, text
    assert silent == ""
