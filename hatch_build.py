"""Build hook: compile rules/ into the package, for wheels and for editable installs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface[Any]):
    """Writes fadoctor/compiled/*.json before the files are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile; a rule that does not compile ends the build with its file and line.

        An sdist holds the rules alone: they are compiled when a wheel is made of it.
        """
        if self.target_name == "sdist":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        try:
            from fadoctor.judging.explain.recognise.pages import write_pages  # noqa: PLC0415
            from fadoctor.knowledge.matrix.load import write_compiled  # noqa: PLC0415

            write_compiled(root / "rules", root / "fadoctor" / "compiled")
            write_pages(root / "fadoctor" / "compiled")
        finally:
            sys.path.remove(str(root))
