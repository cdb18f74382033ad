"""Programs get what the command line prints, quietly, from any thread."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor import api
from fadoctor.model.environment import Environment
from fadoctor.model.errors import InputError, RuleDataError, TargetError, UsageError
from fadoctor.model.fact import Known
from fadoctor.model.report import Report
from fadoctor.model.smoke import SmokeRun
from fadoctor.model.verdict import Backend
from tests.cli.environments import add_torch, make_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

GOLDEN = Path(__file__).parents[1] / "golden"
HEALTHY = GOLDEN / "linux-a100-healthy" / "facts.json"
AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
SEVEN: Any = 7
CHECKOUT = pytest.mark.skipif(
    "FADOCTOR_TESTS_COMMAND" in os.environ, reason="looks into this process's modules"
)


def plain(document: Any) -> Any:
    """Return a document as JSON has it, without who named the target."""
    found = json.loads(msgspec.json.encode(document))
    (found.get("target") or {}).pop("reason", None)
    return found


@CHECKOUT
def test_importing_it_loads_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import {0};"
        "print(*sorted(set(sys.modules) - before))"
    )
    wanted = {"fadoctor": ["fadoctor"], "fadoctor.api": ["fadoctor", "fadoctor.api"]}
    for name, loaded in wanted.items():
        argv = [sys.executable, "-c", code.format(name)]
        run = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
        assert [name for name in run.stdout.split() if name != "__future__"] == loaded


def test_check_and_facts_are_what_the_commands_print(run: Run, stack: Path) -> None:
    options = ("--python", str(stack), "--gpu", "V100", "--driver", "550.54.15")
    printed = run("check", "--format", "json", *options)
    report = api.check(stack, gpu="V100", driver="550.54.15")
    assert report.findings
    expected = json.loads(printed.stdout)
    expected["target"].pop("reason")
    assert plain(report) == expected
    printed = run("facts", *options)
    expected = json.loads(printed.stdout)
    expected["target"].pop("reason")
    assert plain(api.facts(str(stack), gpu=["V100"], driver="550.54.15")) == expected


def test_explain_and_plan_are_what_the_commands_print(
    run: Run, stack: Path, tmp_path: Path
) -> None:
    log = tmp_path / "train.log"
    log.write_text(AMPERE)
    printed = run("explain", "--format", "json", str(log))
    assert plain(api.explain(log)) == json.loads(printed.stdout)
    options = ("--want", "flash-attn", "--gpu", "H100", "--driver", "580.65.06")
    printed = run("fix", "--dry-run", "--format", "json", "--python", str(stack), *options)
    expected = json.loads(printed.stdout)
    expected["target"].pop("reason")
    found = api.plan(stack, want="flash-attn", gpu="H100", driver="580.65.06")
    assert plain(found) == expected


def test_without_a_target_it_is_about_this_interpreter() -> None:
    report = api.check()
    assert report.target.python == sys.executable
    assert report.target.reason == "the interpreter that runs this program"


def test_facts_are_judged_later_and_elsewhere(tmp_path: Path) -> None:
    saved = api.check(facts=HEALTHY)
    environment = msgspec.json.decode(HEALTHY.read_bytes(), type=Environment)
    assert msgspec.structs.asdict(api.check(facts=environment)) == {
        **msgspec.structs.asdict(saved),
        "target": msgspec.structs.replace(saved.target, reason="saved facts from the program"),
    }
    worse = api.check(facts=environment, gpu="V100")
    assert any(each.predicted.value == "fails" for each in worse.verdicts)
    assert isinstance(worse, Report)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: api.check("/nowhere/at/all"), TargetError, "target /nowhere/at/all"),
        (lambda: api.check(facts="/nowhere.json"), InputError, "/nowhere.json"),
        (lambda: api.check(facts="-"), UsageError, "facts"),
        (lambda: api.check(facts=HEALTHY, ignore="driver-to-old"), UsageError, "driver-too-old"),
        (lambda: api.check(facts=HEALTHY, gpu=SEVEN), UsageError, "gpu: give a name"),
        (lambda: api.check(facts=HEALTHY, gpu="GTX 9999"), UsageError, "GTX 9999"),
        (lambda: api.check(facts=HEALTHY, site_packages="/x"), UsageError, "exclude each other"),
        (lambda: api.check(facts=HEALTHY, rules=Path("/nowhere")), RuleDataError, "/nowhere"),
        (lambda: api.explain("  \n"), InputError, "no text"),
        (lambda: api.explain(Path("/nowhere.log")), InputError, "/nowhere.log"),
        (lambda: api.explain(SEVEN), UsageError, "log: give"),
        (lambda: api.explain(AMPERE, ignore=["no-such"]), UsageError, "ignore: there is no rule"),
        (lambda: api.plan(facts=HEALTHY, want="flash-atn"), UsageError, "flash-attn"),
        (lambda: api.plan(facts=HEALTHY, installer="apt"), UsageError, "installer"),
        (lambda: api.plan(facts=HEALTHY, verify=True), UsageError, "--verify"),
        (lambda: api.smoke(backend="fa9"), UsageError, "'fa9' is not one of"),
        (lambda: api.smoke(backend="fa1"), UsageError, "never run"),
        (lambda: api.smoke(dtype=["bf16", "int8"]), UsageError, "'int8' is not one of"),
        (lambda: api.smoke(device="tpu"), UsageError, "device tpu"),
        (lambda: api.smoke(timeout=0), UsageError, "timeout"),
    ],
)
def test_what_cannot_be_is_an_error_of_the_command_line(
    call: Callable[[], object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        call()


def test_nothing_is_printed_and_no_signal_is_taken(
    stack: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    taken: list[int] = []
    take = signal.signal

    def noted(number: Any, how: Any) -> Any:
        taken.append(number)
        return take(number, how)

    monkeypatch.setattr(signal, "signal", noted)
    hook = sys.unraisablehook
    report = api.check(stack, gpu="V100", ignore="")
    api.explain(AMPERE)
    api.plan(stack, want="flash-attn", gpu="H100", driver="580.65.06")
    assert report.findings
    assert taken == []
    assert [signal.getsignal(number) for number in numbers] == before
    assert sys.unraisablehook is hook
    assert capfd.readouterr() == ("", "")


@pytest.mark.long
def test_threads_get_what_the_main_thread_gets(stack: Path) -> None:
    gpus = ("V100", "H100", "A100", "T4")
    one_by_one = [plain(api.facts(stack, gpu=gpu, driver="550.54.15")) for gpu in gpus]
    at_once = threading.Barrier(len(gpus), timeout=60)

    def ask(gpu: str) -> Any:
        at_once.wait()
        return plain(api.facts(stack, gpu=gpu, driver="550.54.15"))

    with ThreadPoolExecutor(len(gpus)) as pool:
        assert list(pool.map(ask, gpus)) == one_by_one
        judged = pool.submit(api.check, facts=HEALTHY, gpu="V100")
        assert plain(judged.result()) == plain(api.check(facts=HEALTHY, gpu="V100"))


def test_an_exception_a_file_and_bytes_are_explained_alike(tmp_path: Path) -> None:
    def patient() -> None:
        raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.")

    (tmp_path / "train.log").write_text(AMPERE)
    with pytest.raises(RuntimeError) as caught:
        patient()
    ids = [
        [each.rule_id for each in api.explain(log).findings]
        for log in (AMPERE, AMPERE.encode(), tmp_path / "train.log", caught.value)
    ]
    assert ids[0] == ["ampere-required"] or len(ids[0]) == 1
    assert ids[1:] == ids[:1] * 3


def test_a_log_of_this_interpreter_is_held_against_it() -> None:
    line = f'  File "{sys.prefix}/lib/x.py", line 1, in f\n{AMPERE}\n'
    assert api.explain(AMPERE).target is None
    found = api.explain(line).target
    assert found is not None
    assert found.python == sys.executable


def test_what_comes_from_outside_is_escaped_in_a_notebook() -> None:
    environment = msgspec.json.decode(HEALTHY.read_bytes(), type=Environment)
    hostile = '<script>alert("1")</script>\x1b[31m'
    facts = {**environment.facts, "gpu[0].name": Known(hostile, hostile)}
    target = msgspec.structs.replace(environment.target, label=hostile)
    environment = msgspec.structs.replace(environment, facts=facts, target=target)
    shown: list[Any] = [
        api.check(facts=environment),
        api.facts(facts=environment),
        api.plan(facts=environment, want="fa2"),
        api.explain(f"{hostile}\n{AMPERE}\n{hostile}"),
    ]
    for each in shown:
        page = each._repr_html_()
        assert "<script" not in page
        assert "\x1b" not in page
        assert page.startswith('<div class="fadoctor">')
        assert page.endswith("</div>")
    assert "&lt;script&gt;" in shown[1]._repr_html_()
    assert "<table>" in shown[0]._repr_html_()


def test_the_types_of_the_model_show_nothing_themselves() -> None:
    assert not hasattr(Report, "_repr_html_")
    assert not hasattr(Environment, "_repr_html_")


def test_an_interrupted_run_is_an_interrupt(stack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> SmokeRun:
        return SmokeRun((), interrupted=True)

    monkeypatch.setattr("fadoctor.proof.smoke.parent.run_smoke", interrupted)
    with pytest.raises(KeyboardInterrupt):
        api.smoke(stack)


def test_a_smoke_run_leaves_other_children_alone(tmp_path: Path) -> None:
    """A program has children of its own: those that appear meanwhile are not ours to end."""
    folder = tmp_path / "env"
    add_torch(make_environment(folder), "2.8.0", None)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = api.smoke(folder, backend=Backend.SDPA_MATH, dtype="fp32", device="cpu")
        assert child.poll() is None
        child.communicate(b"\n", timeout=60)
    assert child.returncode == 0
    assert found.summary.passed == 0


@pytest.mark.torch
@pytest.mark.long
def test_smoke_measures_on_the_cpu() -> None:
    found = api.smoke(device="cpu", backend="sdpa-math", dtype="fp32")
    assert found.summary.passed > 0
    assert found.summary.failed == 0
    assert "passed" in found._repr_html_()
    report = api.check(smoke=True)
    assert any("NO GPU WAS TESTED" in note for note in report.notes)
