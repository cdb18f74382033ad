"""What a start loads: heavy modules only where they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fadoctor import __version__
from fadoctor.interfaces.cli.app import COMMANDS, GROUPS
from fadoctor.knowledge.matrix.load import load_knowledge
from tests.cli.environments import add_package, add_torch, make_environment

pytestmark = pytest.mark.skipif(
    "FADOCTOR_TESTS_COMMAND" in os.environ, reason="looks into this process's modules"
)

HEAVY = (
    "asyncio", "elftools", "importlib.metadata", "packaging", "pydantic", "pynvml", "rich",
    "torch", "urllib.request", "yaml",
)  # fmt: skip

READS_LISTS = (
    "fadoctor.syntax.toml_tree",
    "fadoctor.sources.manifests.installed.index_releases",
    "fadoctor.sources.manifests.installed.isolated",
    "fadoctor.sources.manifests.installed.wheel_tags",
)  # fmt: skip
"""Modules that only those load who read lists of requirements."""

RUN = "from fadoctor.interfaces.cli.app import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
"""A program that is the command line, and goes on when that has ended."""


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
    modules = loaded("import fadoctor.interfaces.cli.app")
    assert "fadoctor.interfaces.cli.app" in modules
    assert sorted(modules.intersection(HEAVY)) == []


def test_a_static_json_check_loads_neither_torch_nor_rich_nor_pydantic(stack: Path) -> None:
    code = RUN
    arguments = ("check", "--no-smoke", "--format", "json", "--python", str(stack))
    modules = loaded(code, *arguments)
    assert "fadoctor.judging.diagnose" in modules
    unwanted = {"torch", "pydantic", "rich", "yaml", "pynvml", "importlib.metadata", "asyncio"}
    if sys.platform == "linux":
        unwanted |= {"fadoctor.binary.pe", "fadoctor.sources.probes.windows_binaries"}
    assert sorted(modules & unwanted) == []


def test_the_version_is_told_without_any_command() -> None:
    code = RUN
    modules = loaded(code, "--version")
    assert "fadoctor.interfaces.cli.app" in modules
    assert [
        name for name in (*COMMANDS, *GROUPS) if f"fadoctor.interfaces.cli.{name}" in modules
    ] == []


def test_a_static_check_compiles_few_patterns_beforehand(stack: Path) -> None:
    """Each costs 0.05 to 0.3 ms; one that is rarely needed stays a text, and `re` compiles it."""
    code = (
        f"{RUN}\n"
        "import re\n"
        "for name, module in list(sys.modules.items()):\n"
        "    for key, value in vars(module).items() if name.startswith('fadoctor.') else ():\n"
        "        if isinstance(value, re.Pattern): sys.modules[f'pattern {name}.{key}'] = None"
    )
    told = loaded(code, "check", "--no-smoke", "--python", str(stack))
    patterns = sorted(name for name in told if name.startswith("pattern "))
    assert 20 < len(patterns) < 45, patterns


def test_a_short_text_is_explained_with_few_patterns_and_without_what_it_does_not_ask(
    tmp_path: Path,
) -> None:
    """Compiling all patterns that are tried was more than half of the whole time."""
    log = tmp_path / "train.log"
    log.write_text("RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n", "utf-8")
    code = (
        "import re\n"
        "take, counted = re.compile, []\n"
        "def count(pattern, flags=0):\n"
        "    counted.append(pattern)\n"
        "    return take(pattern, flags)\n"
        "re.compile = count\n"
        f"{RUN}\n"
        "sys.modules[f'compiled {len(counted)}'] = None"
    )
    modules = loaded(code, "explain", str(log))
    assert "fadoctor.judging.explain.explain" in modules
    (told,) = (name for name in modules if name.startswith("compiled "))
    assert 50 < int(told.split()[1]) < 350
    unasked = {"packaging.requirements", "packaging.markers", "rich", "yaml"}
    unasked |= {"fadoctor.report.plan_text", "fadoctor.sources.configs.settings", *READS_LISTS}
    assert sorted(modules & unasked) == []


def test_what_reads_facts_is_loaded_while_the_targets_python_starts(stack: Path) -> None:
    """The thread that reads waits for that; it would load its modules when nothing else runs."""
    code = (
        "import fadoctor.processes.run as processes\n"
        "import time\n"
        "answer = processes.run\n"
        "last = 'fadoctor.sources.probes.hub'\n"
        "def slow(*given, **options):\n"
        "    for _ in range(6_000):\n"
        "        if last in sys.modules: break\n"
        "        time.sleep(0.01)\n"
        "    else: sys.modules['loaded too late'] = None\n"
        "    return answer(*given, **options)\n"
        "processes.run = slow\n"
        f"{RUN}"
    )
    modules = loaded(code, "check", "--no-smoke", "--python", str(stack))
    assert "fadoctor.sources.probes.hub" in modules
    assert "loaded too late" not in modules


def test_a_check_of_nothing_that_imports_others_follows_nothing(tmp_path: Path) -> None:
    add_torch(make_environment(tmp_path / "env"), "2.8.0", "12.8")
    code = RUN
    modules = loaded(code, "check", "--no-smoke", "--python", str(tmp_path / "env"))
    assert "fadoctor.judging.diagnose" in modules
    followers = ("fadoctor.sources.import_names", "fadoctor.sources.targets.import_name_facts")
    assert [name for name in modules if name.startswith(followers)] == []


def test_a_check_of_nothing_that_imports_others_opens_no_file_for_it(tmp_path: Path) -> None:
    add_torch(make_environment(tmp_path / "env"), "2.8.0", "12.8")
    hook = (
        "touched = []\n"
        "def note(event, given):\n"
        "    if event in ('open', 'os.listdir', 'os.scandir', 'os.mkdir', 'subprocess.Popen'):\n"
        "        touched.append(repr(given))\n"
        "sys.addaudithook(note)\n"
        f"{RUN}\n"
        "sys.modules.update(dict.fromkeys(f'touched {each}' for each in touched))"
    )
    told = loaded(hook, "check", "--no-smoke", "--python", str(tmp_path / "env"))
    touched = [line for line in told if line.startswith("touched ")]
    assert any("METADATA" in line for line in touched)
    assert [line for line in touched if "fadoctor/sources/import_names" in line] == []


def test_a_check_of_one_machine_loads_nothing_of_fleets(stack: Path) -> None:
    code = RUN
    modules = loaded(code, "check", "--no-smoke", "--python", str(stack))
    assert "fadoctor.report.text" in modules
    assert [
        name
        for name in modules
        if name.startswith(("fadoctor.fleet", "fadoctor.interfaces.cli.node"))
    ] == []


def test_a_check_without_a_finding_loads_no_planner() -> None:
    code = RUN
    facts = Path(__file__).parents[1] / "golden" / "linux-a100-healthy" / "facts.json"
    modules = loaded(code, "check", "--no-smoke", "--facts", str(facts))
    assert "fadoctor.judging.diagnose" in modules
    later = (
        "fadoctor.repair.plan",
        "fadoctor.sources.manifests",
        "fadoctor.repair.resolution",
        "fadoctor.sources.configs",
        "fadoctor.judging.engine.fixes",
        "fadoctor.judging.engine.possible",
        "fadoctor.judging.engine.settings",
        "fadoctor.judging.engine.symptom",
        "fadoctor.judging.verdicts.root_causes",
        "fadoctor.judging.verdicts.vain_fixes",
    )
    assert [name for name in modules if name.startswith(later)] == []
    assert len([name for name in modules if name.startswith("fadoctor.")]) < 130


def test_a_check_with_a_fix_to_prove_loads_nothing_that_reads_what_is_not_there(
    tmp_path: Path,
) -> None:
    site = make_environment(tmp_path / "env")
    add_torch(site, "2.8.0", "12.8", "networkx>=3")
    add_package(site, "networkx", "2.8")
    modules = loaded(RUN, "check", "--no-smoke", "--python", str(tmp_path / "env"))
    assert "fadoctor.repair.plan.search.problem" in modules
    unasked = {
        "fadoctor.judging.engine.possible",
        "fadoctor.repair.plan.search.conflict",
        "fadoctor.sources.targets.hub",
        "fadoctor.sources.targets.missing_names",
        "tempfile",
        *READS_LISTS,
    }
    assert sorted(modules & unasked) == []


def test_a_check_without_settings_reads_none(tmp_path: Path) -> None:
    code = (
        "import os; from fadoctor.interfaces.cli.app import main\nos.chdir(sys.argv.pop())\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )
    facts = Path(__file__).parents[1] / "golden" / "linux-a100-healthy" / "facts.json"
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    arguments = ("check", "--no-smoke", "--facts", str(facts), str(tmp_path))
    modules = loaded(code, *arguments)
    assert "fadoctor.interfaces.commands.settings" in modules
    unwanted = {
        "fadoctor.interfaces.commands.settings_file",
        "fadoctor.syntax.toml_tree",
    }
    assert sorted(modules & unwanted) == []
    (tmp_path / "fadoctor.toml").write_text("")
    assert "fadoctor.interfaces.commands.settings_file" in loaded(code, *arguments)


def test_a_text_check_loads_nothing_heavy_either(stack: Path) -> None:
    code = RUN
    modules = loaded(code, "check", "--no-smoke", "--python", str(stack))
    assert "fadoctor.report.text" in modules
    assert sorted(modules & {"torch", "pydantic", "rich", "yaml", "pynvml", "asyncio"}) == []
    later = (
        "fadoctor.knowledge.updates", "fadoctor.knowledge.matrix.fetched",
        "fadoctor.proof.smoke.watching",
        "fadoctor.interfaces.cli.completion", "fadoctor.interfaces.cli.rules",
    )  # fmt: skip
    assert [name for name in modules if name.startswith(later)] == []


def test_what_was_judged_is_not_taken_apart_before_the_end(stack: Path) -> None:
    code = (
        f"{RUN}\n"
        "import gc\n"
        "if any(type(each).__name__ == 'Prognosis' for each in gc.get_objects()):\n"
        "    sys.modules['kept'] = None"
    )
    assert "kept" in loaded(code, "check", "--no-smoke", "--python", str(stack))


def test_a_command_loads_no_other_command_and_no_log() -> None:
    code = RUN
    facts = Path(__file__).parents[1] / "golden" / "linux-a100-healthy" / "facts.json"
    modules = loaded(code, "facts", "--facts", str(facts))
    commands = {f"fadoctor.interfaces.cli.{name}" for name in (*COMMANDS, *GROUPS)}
    assert modules & commands == {"fadoctor.interfaces.cli.facts"}
    assert "logging" not in modules


def ended(before: str, **options: Any) -> subprocess.CompletedProcess[str]:
    code = f"import atexit, sys; from fadoctor.__main__ import main; {before}; main()"
    argv = [sys.executable, "-c", code, "--version"]
    return subprocess.run(argv, stderr=subprocess.PIPE, text=True, check=False, **options)


def test_the_end_is_at_once_but_does_what_was_to_be_done() -> None:
    run = ended("atexit.register(print, 'done')", stdout=subprocess.PIPE)
    assert (run.returncode, run.stdout) == (0, f"fadoctor {__version__}\ndone\n")
    assert run.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_what_cannot_be_said_in_the_end_is_no_success() -> None:
    with Path("/dev/full").open("w") as full:
        run = ended("atexit.register(print, 'lost'); sys.argv[1:] = ['rules', '--help']",
                    stdout=full)  # fmt: skip
    assert run.returncode != 0
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(sys.version_info < (3, 11), reason="typing lacks what msgspec asks for")
def test_a_start_does_without_a_second_typing() -> None:
    code = (
        "import atexit\n"
        "atexit.register(lambda: sys.stderr.write('\\n'.join(sys.modules)))\n"
        "from fadoctor.__main__ import main\n"
        "main()"
    )
    modules = loaded(code, "--version")
    assert "msgspec" in modules
    assert "typing_extensions" not in modules
