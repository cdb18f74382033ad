"""What a start loads: heavy modules only where they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fadoctor.matrix.load import load_knowledge

pytestmark = pytest.mark.skipif(
    "FADOCTOR_TESTS_COMMAND" in os.environ, reason="looks into this process's modules"
)

HEAVY = (
    "asyncio", "elftools", "importlib.metadata", "packaging", "pydantic", "pynvml", "rich",
    "torch", "urllib.request", "yaml",
)  # fmt: skip


def loaded(code: str, *arguments: str) -> set[str]:
    script = f"import sys\n{code}\nsys.stderr.write('\\n'.join(sys.modules))"
    argv = [sys.executable, "-c", script, *arguments]
    run = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    return set(run.stderr.split("\n"))


@pytest.fixture(autouse=True)
def _compiled() -> None:
    """A checkout whose rules changed is compiled first, which loads the YAML parser."""
    load_knowledge()


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    modules = loaded("import fadoctor.cli.app")
    assert "fadoctor.cli.app" in modules
    assert sorted(modules.intersection(HEAVY)) == []


def test_a_static_json_check_loads_neither_torch_nor_rich_nor_pydantic(stack: Path) -> None:
    code = "from fadoctor.cli.app import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    arguments = ("check", "--no-smoke", "--format", "json", "--python", str(stack))
    modules = loaded(code, *arguments)
    assert "fadoctor.diagnose" in modules
    unwanted = {"torch", "pydantic", "rich", "yaml", "pynvml", "importlib.metadata", "asyncio"}
    assert sorted(modules & unwanted) == []


def test_a_check_without_a_finding_loads_no_planner() -> None:
    code = "from fadoctor.cli.app import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    facts = Path(__file__).parents[1] / "golden" / "linux-a100-healthy" / "facts.json"
    modules = loaded(code, "check", "--no-smoke", "--facts", str(facts))
    assert "fadoctor.diagnose" in modules
    assert [name for name in modules if name.startswith("fadoctor.plan")] == []
    assert [name for name in modules if name.startswith("fadoctor.configs")] == []


def test_a_text_check_loads_nothing_heavy_either(stack: Path) -> None:
    code = "from fadoctor.cli.app import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    modules = loaded(code, "check", "--no-smoke", "--python", str(stack))
    assert "fadoctor.report.text" in modules
    assert sorted(modules & {"torch", "pydantic", "rich", "yaml", "pynvml", "asyncio"}) == []
