"""``fadoctor mcp``: without the SDK a sentence, with it what the SDK's own client gets."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import INSTALLED
from tests.uv import UV

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
FACTS = ROOT / "tests" / "golden" / "linux-4090-wheel-mismatch" / "facts.json"

CLIENT = """
import asyncio, json, sys
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    calls = json.load(sys.stdin)
    server = StdioServerParameters(command=sys.executable, args=["-m", "fadoctor", "mcp"])
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        answers = []
        for name, arguments in calls:
            answer = await client.call_tool(name, arguments)
            text = "".join(part.text for part in answer.content)
            answers.append([answer.is_error, text, answer.structured_content])
    print(json.dumps({
        "tools": {
            tool.name: [tool.annotations.read_only_hint, tool.description, tool.input_schema]
            for tool in tools
        },
        "answers": answers,
    }))

asyncio.run(main())
"""


@pytest.mark.long
@pytest.mark.skipif(
    bool(INSTALLED) or importlib.util.find_spec("mcp") is not None, reason="the SDK is here"
)
def test_without_the_sdk_it_says_what_to_install(run: Run) -> None:
    result = run("mcp")
    assert (result.returncode, result.stdout) == (2, "")
    assert "pip install 'mcp>=2,<3'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_that_is_none_is_wrong_usage(run: Run) -> None:
    result = run("mcp", "--folder", "nowhere")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "fadoctor: --folder nowhere: not a folder\n"


def test_no_other_command_loads_any_of_it() -> None:
    code = (
        "import sys; from fadoctor.interfaces.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    argv = [sys.executable, "-c", code, "check", "--no-smoke", "--facts", str(FACTS)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    modules = done.stderr.split("\n")
    assert "fadoctor.judging.diagnose" in modules
    ours = ("fadoctor.interfaces.assistants", "fadoctor.interfaces.cli.mcp", "mcp", "pydantic")
    assert [name for name in modules if name.startswith(ours)] == []


@pytest.fixture(scope="module")
def with_sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with fadoctor and the extra."""
    folder = tmp_path_factory.mktemp("mcp") / "venv"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    python = folder / "bin" / "python"
    argv = [UV, "pip", "install", "-q", "--python", str(python), f"{ROOT}[mcp]"]
    subprocess.run(argv, check=True, timeout=600)
    return python


def asked(python: Path, folder: Path, calls: list[tuple[str, dict[str, Any]]]) -> Any:
    done = subprocess.run(
        [str(python), "-c", CLIENT], input=json.dumps(calls), cwd=folder,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.network
def test_the_client_of_the_sdk_gets_answers_and_errors(with_sdk: Path, tmp_path: Path) -> None:
    facts = FACTS.read_text(encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\nflash-attn==2.8.3\n")
    manifest = {"requirements": ["requirements.txt"], "gpu": ["V100"], "driver": "550.54"}
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("check", {"environment": "/nowhere"}),
        ("check", {"enviroment": "."}),
        ("check", {"requirements": ["/etc/passwd"]}),
        ("check", {"gpu": ["H100"] * 17}),
        ("explain", {"log": ""}),
        ("plan", {"report": facts, "want": ["no-such-thing"]}),
    ]
    found = asked(
        with_sdk,
        tmp_path,
        [
            ("check", {"report": facts}),
            ("plan", {"report": facts}),
            ("explain", {"log": "FlashAttention only supports Ampere GPUs or newer."}),
            ("check", manifest),
            *wrong,
        ],
    )
    assert sorted(found["tools"]) == ["check", "explain", "plan"]
    for reads_only, description, schema in found["tools"].values():
        assert reads_only is True
        assert len(description) > 50
        assert schema["additionalProperties"] is False
    answers = found["answers"]
    assert [is_error for is_error, _, _ in answers] == [False] * 4 + [True] * len(wrong)
    assert answers[0][2]["findings"][0]["rule_id"] == "wheel-torch-mismatch"
    assert "flash_attn-2.7.3%2Bcu12torch2.5" in answers[1][1]
    assert answers[2][2]["findings"][0]["rule_id"] == "gpu-too-old-fa2"
    assert "FlashAttention-2 cannot run on this GPU" in answers[3][1]
    errors = [text for _, text, _ in answers[4:]]
    assert "does not exist" in errors[0]
    assert "enviroment" in errors[1]
    assert "is outside" in errors[2]
    assert "at most 16" in errors[3]
    assert "no text" in errors[4]
    assert "no-such-thing" in errors[5]


@pytest.mark.network
def test_ctrl_c_ends_it_though_the_other_side_is_there(with_sdk: Path, tmp_path: Path) -> None:
    """It waited for another line of standard input first."""
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "test", "version": "1"}},
    }  # fmt: skip
    with subprocess.Popen(
        [str(with_sdk), "-m", "fadoctor", "mcp"], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(f"{json.dumps(hello)}\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "fadoctor"
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == 130
        assert server.stderr.read().endswith("fadoctor: interrupted\n")
