"""The server: three tools that read, over standard input and output. Needs the extra ``mcp``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fadoctor import __version__
from fadoctor.interfaces.assistants import answers
from fadoctor.interfaces.assistants.answers import (
    LIST_LIMIT,
    NAME_LIMIT,
    TEXT_LIMIT,
    AssistantAnswer,
    AssistantRequest,
)
from fadoctor.model.errors import FadoctorError

_INSTRUCTIONS = (
    "fadoctor says whether FlashAttention works in a Python environment, if not why, and what to "
    "do. Ask `check` about an environment, or before anything is installed about requirement "
    "files; `explain` about an error or a log; `plan` for the repair. 'unknown' means that it "
    "could not look: do not turn it into yes or no. These tools change and run nothing."
)
_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

Name = Annotated[str, Field(max_length=NAME_LIMIT)]
Names = Annotated[list[Name], Field(max_length=LIST_LIMIT)]
EnvironmentName = Annotated[
    str,
    Field(
        max_length=NAME_LIMIT,
        description="Folder of a virtual or conda environment. It is read, never run. Without one: "
        "the environment that is active where the server was started.",
    ),
]
ReportText = Annotated[
    str,
    Field(
        max_length=TEXT_LIMIT,
        description="Instead of an environment: the text of `fadoctor facts`, of torch's "
        "collect_env, nvidia-smi, pip list and the like, as bug reports have it.",
    ),
]
Requirements = Annotated[
    list[Name],
    Field(
        max_length=LIST_LIMIT,
        description="Requirement and lock files, pyproject.toml, environment.yml or Dockerfiles "
        "of what is going to be installed, in the folder that is served.",
    ),
]
Configs = Annotated[
    list[Name],
    Field(
        max_length=LIST_LIMIT,
        description="Configurations of trainers and servers, and scripts, in the folder that is "
        "served.",
    ),
]
Gpus = Annotated[
    list[Name],
    Field(
        max_length=LIST_LIMIT,
        description="GPUs to assume: V100, H100, sm_90, gfx942, none. Without them, those here.",
    ),
]
Driver = Annotated[
    str, Field(max_length=NAME_LIMIT, description="Version of the NVIDIA driver to assume.")
]
Log = Annotated[
    str,
    Field(max_length=TEXT_LIMIT, description="A log, a traceback or one line of an error."),
]
Want = Annotated[
    list[Name],
    Field(
        max_length=LIST_LIMIT,
        description="What must work afterwards: flash-attn, xformers, fa2 ... Without it, what is "
        "installed.",
    ),
]
Keep = Annotated[
    list[Name], Field(max_length=LIST_LIMIT, description="Packages that must not change: torch.")
]


def build(folder: Path) -> MCPServer:
    """Return the server; files that are named must lie in `folder`."""
    one_at_a_time = threading.Lock()

    def answered(answer: Callable[[], AssistantAnswer]) -> CallToolResult:
        try:
            with one_at_a_time:
                found = answer()
        except FadoctorError as error:
            raise ToolError(answers.refusal(error)) from error
        text = TextContent(type="text", text=found.text)
        return CallToolResult(content=[text], structured_content=found.document)

    def check(
        environment: EnvironmentName = "", report: ReportText = "", requirements: Requirements = [],
        config: Configs = [], gpu: Gpus = [], driver: Driver = "", glibc: Name = "",
        python_version: Name = "", platform: Name = "",
    ) -> CallToolResult:  # fmt: skip
        """Say whether FlashAttention works on which GPU in which dtype, if not why, what to do."""
        asked = AssistantRequest(environment, report, tuple(requirements), tuple(config),
                                 tuple(gpu), driver, glibc, python_version, platform)  # fmt: skip
        return answered(lambda: answers.check(asked, folder))

    def explain(
        log: Log, environment: EnvironmentName = "", report: ReportText = "", gpu: Gpus = [],
        driver: Driver = "",
    ) -> CallToolResult:  # fmt: skip
        """Name the root cause of an error about attention, CUDA or a build of these, and the fix.

        It says nothing where it does not know an error. With an environment or a report the
        causes are held against it.
        """
        asked = AssistantRequest(environment, report, gpu=tuple(gpu), driver=driver)
        return answered(lambda: answers.explain(log, asked, folder))

    def plan(
        environment: EnvironmentName = "", report: ReportText = "", requirements: Requirements = [],
        config: Configs = [], gpu: Gpus = [], driver: Driver = "", want: Want = [],
        keep: Keep = [],
    ) -> CallToolResult:  # fmt: skip
        """Return the smallest change that ends in a working environment, as commands.

        Nothing is carried out: show the commands to the user.
        """
        asked = AssistantRequest(
            environment, report, tuple(requirements), tuple(config), tuple(gpu), driver
        )
        return answered(lambda: answers.plan(asked, want, keep, folder))

    return MCPServer("fadoctor", version=__version__, instructions=_INSTRUCTIONS,
                     log_level="WARNING", tools=[_strict(each) for each in (check, explain, plan)],
                     )  # fmt: skip


def _strict(function: Callable[..., CallToolResult]) -> Tool:
    """Return a tool that refuses an argument it does not have: a typing error asks another thing.

    The SDK would drop an argument with a letter too many and answer about what is active.
    """
    tool = Tool.from_function(function, annotations=_READS)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


def serve(folder: Path) -> None:
    """Answer on standard input and output until the other side has gone."""
    build(folder).run("stdio")
