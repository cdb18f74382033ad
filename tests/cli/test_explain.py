"""`explain` and `run` as a user meets them."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.cli.environments import add_package, add_torch, make_environment

if TYPE_CHECKING:
    from tests.cli.conftest import Run

GOLDEN = Path(__file__).parents[1] / "golden"
SCHEMA = Path(__file__).parents[2] / "rules" / "schema" / "explanation.schema.json"
AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
PIP = """\
Collecting flash-attn
  Getting requirements to build wheel: finished with status 'error'
  error: subprocess-exited-with-error
  Getting requirements to build wheel did not run successfully.
      ModuleNotFoundError: No module named 'torch'
"""
SILENCE = "No known error about attention, CUDA or the build was found."


def explain(run: Run, log: str, *arguments: str, **options: Any) -> Any:
    result = run("explain", "--format", "json", *arguments, input=log, **options)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def test_a_piped_log(run: Run) -> None:
    result = run("explain", "-", input=PIP)
    assert result.returncode == 1
    assert "rule: build-no-torch-isolation" in result.stdout
    assert "standard input:5: ModuleNotFoundError" in result.stdout
    assert result.stderr == ""


def test_standard_input_is_read_where_no_file_is_named(run: Run) -> None:
    assert run("explain", input=AMPERE).returncode == 1


def test_a_file_in_utf_16(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(f"PS C:\\w> python a.py\r\n{AMPERE}".encode("utf-16"))
    result = run("explain", str(log))
    assert result.returncode == 1
    assert "train.log:2: RuntimeError" in result.stdout.replace("\n      ", "")


SYMBOL = (
    "ImportError: /srv/v/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-"
    "gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs\n"
)


@pytest.mark.long
def test_the_fix_is_the_plan_of_an_environment_that_confirms_it(run: Run) -> None:
    facts = str(GOLDEN / "linux-4090-wheel-mismatch" / "facts.json")
    result = run("explain", "--facts", facts, "--format", "json", input=SYMBOL)
    report = json.loads(result.stdout)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    [check] = report["checks"]
    assert check["agreement"] == "confirmed"
    assert report["plan"]["outcome"] == "repairs"
    [action] = report["plan"]["actions"]
    assert "wheel-torch-mismatch" in action["findings"]
    text = run("explain", "--facts", facts, input=SYMBOL).stdout
    assert "How `fadoctor fix` would repair this environment" in text
    assert action["requirements"][0] in text


def test_no_plan_where_the_environment_speaks_against_it(run: Run) -> None:
    facts = str(GOLDEN / "linux-a100-healthy" / "facts.json")
    report = json.loads(run("explain", "--facts", facts, "--format", "json", input=SYMBOL).stdout)
    assert report["checks"][0]["agreement"] != "confirmed"
    assert report["plan"] is None


def test_silence(run: Run) -> None:
    result = run("explain", input="loss 0.1\nValueError: bad labels\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert SILENCE in result.stdout


@pytest.mark.long
def test_what_is_of_the_field_and_not_recognised_is_called_so(run: Run) -> None:
    for text in (
        "ninja: build stopped: subcommand failed.",
        "the flash-attn that I installed behaves oddly",
        "注意力机制报错了",
    ):
        said = run("explain", input=f"{text}\n").stdout
        assert "Not recognised" in said, text
        assert SILENCE not in said


def test_the_report_fits_the_shipped_schema(run: Run) -> None:
    report = explain(run, PIP + AMPERE)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    assert [each["rule_id"] for each in report["findings"]] == [
        "build-no-torch-isolation",
        "gpu-too-old-fa2",
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 1),
        (("--exit-zero",), 0),
        (("--fail-on", "never"), 0),
        (("--ignore", "gpu-too-old-fa2"), 0),
        (("--ignore", "no-such-rule"), 2),
        (("--facts", "-"), 2),
    ],
)
def test_exit_codes(run: Run, arguments: tuple[str, ...], code: int) -> None:
    assert run("explain", "-", *arguments, input=AMPERE).returncode == code


def test_what_cannot_be_read_is_said_in_one_line(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.log", tmp_path):
        result = run("explain", str(path))
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.count("\n") == 1


def test_what_is_no_log_is_said_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(b"\x7fELF\x02\x01\x01" + b"\0" * 4_000)
    (tmp_path / "empty.log").write_bytes(b" \n\n")
    for name, words in (("core", "not a log but"), ("empty.log", "there is no text in it")):
        done = run("explain", name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_packed_log_is_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log.gz").write_bytes(gzip.compress(AMPERE.encode()))
    assert "gpu-too-old-fa2" in run("explain", "train.log.gz", cwd=tmp_path).stdout


def test_escapes_and_markup_of_a_log_do_not_get_through(run: Run) -> None:
    start = "\x1b]0;owned\x07[bold]\x1b[31mImportError: /a\u202e/flash_attn_2_cuda.so: "
    log = f"{start}undefined symbol: _ZN3c104cudaE\x00\n"
    result = run("explain", input=log)
    assert result.returncode == 1
    assert not any(bad in result.stdout for bad in ("\x1b", "\x07", "\u202e", "\x00"))


def test_redaction(run: Run) -> None:
    log = "ImportError: /home/ada/v/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cudaE\n"
    for form in ("text", "json"):
        result = run("explain", "-", "--redact", "--format", form, input=log)
        assert (result.returncode, result.stderr) == (1, "")
        assert "ada" not in result.stdout
    assert "/home/ada" in run("explain", input=log).stdout


@pytest.mark.parametrize("columns", ["80", "160"])
def test_no_line_is_wider_than_the_terminal(run: Run, columns: str) -> None:
    lines = run("explain", input=PIP, env={"COLUMNS": columns}).stdout.splitlines()
    # A command stays on one line, however long: a shell takes it as it was copied.
    wide = [line for line in lines if len(line) > int(columns)]
    assert [line for line in wide if not line.startswith("    - python -c ")] == []
    assert len(lines) > len(wide) + 5


def test_an_ascii_locale_gets_ascii(run: Run) -> None:
    env = {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    log = "ImportError: DLL load failed while importing flash_attn_2_cuda: 找不到指定的模块。\n"
    result = run("explain", "-", "--fail-on", "warning", input=log, env=env, encoding="utf-8")
    assert result.returncode == 1
    assert result.stdout.isascii()


def test_a_named_environment_is_asked_and_adds_nothing(run: Run, tmp_path: Path) -> None:
    site = make_environment(tmp_path / "v")
    add_torch(site, "2.6.0", "12.4", "triton==3.2.0")
    add_package(site, "triton", "3.3.1")
    missing = "'AttrsDescriptor' from 'triton.compiler.compiler' (/v/a.py)"
    log = f"ImportError: cannot import name {missing}\n"
    report = explain(run, log, "-", "--python", str(tmp_path / "v"))
    assert [each["rule_id"] for each in report["findings"]] == ["triton-torch-version"]
    assert [each["agreement"] for each in report["checks"]] == ["confirmed"]
    steps = [step["text"] for fix in report["findings"][0]["fixes"] for step in fix["steps"]]
    assert any("triton==3.2.0" in text for text in steps)


def test_the_active_environment_is_asked_only_where_the_log_names_it(
    run: Run, tmp_path: Path
) -> None:
    add_torch(make_environment(tmp_path / "v"), "2.6.0", "12.4")
    env = {"VIRTUAL_ENV": str(tmp_path / "v")}
    assert explain(run, AMPERE, env=env)["target"] is None
    inside = f'  File "{tmp_path}/v/lib/a.py", line 1\n{AMPERE}'
    assert explain(run, inside, env=env)["target"]["reason"] == "$VIRTUAL_ENV"


def test_run_passes_everything_through(run: Run) -> None:
    result = run(
        "run", "--", sys.executable, "-c", "print(input()); raise SystemExit(5)", input="x\n"
    )
    assert (result.returncode, result.stdout, result.stderr) == (5, "x\n", "")


def test_run_explains_a_failure_on_standard_error(run: Run) -> None:
    code = f"import sys; sys.stderr.write({AMPERE!r}); sys.exit(3)"
    result = run("run", "--", sys.executable, "-c", code)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith(AMPERE)
    assert "rule: gpu-too-old-fa2" in result.stderr


def test_run_says_nothing_about_success(run: Run) -> None:
    result = run("run", "--", sys.executable, "-c", f"print({AMPERE!r})")
    assert (result.returncode, result.stderr) == (0, "")


def test_run_takes_options_of_the_command_for_the_command(run: Run) -> None:
    result = run(
        "run", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--quiet", "--help"
    )
    assert result.stdout == "['--quiet', '--help']\n"


def test_run_of_nothing_that_exists(run: Run) -> None:
    result = run("run", "--", "no-such-command-anywhere")
    assert result.returncode == 127
    assert result.stderr == "fadoctor: no-such-command-anywhere: No such file or directory\n"


def broken_names(tmp_path: Path) -> Path:
    """Return packages of which one asks another for a name that it has not."""
    site = tmp_path / "names"
    for name, version in {"optimum": "1.27.0", "transformers": "5.23.0"}.items():
        (site / name).mkdir(parents=True)
        metadata = site / f"{name}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        (metadata / "RECORD").write_text(f"{name}/__init__.py,,\n")
    (site / "optimum" / "__init__.py").write_text(
        "from transformers import AutoModelForVision2Seq\n"
    )
    (site / "transformers" / "__init__.py").write_text("AutoModel = 1\n")
    return site


@pytest.mark.long
def test_the_plan_for_a_name_that_is_missing_follows_imports(run: Run, tmp_path: Path) -> None:
    """Without it `explain` said that nobody had followed them, and planned nothing."""
    site, cache = broken_names(tmp_path), {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    log = "ImportError: cannot import name 'AutoModelForVision2Seq' from 'transformers' (/x)\n"
    told = explain(run, log, "--site-packages", str(site), env=cache)
    [check] = [each for each in told["checks"] if each["rule_id"] == "imported-name-missing"]
    assert check["agreement"] == "confirmed"
    options = ("--format", "json", "--dry-run", "--site-packages", str(site))
    fixed = json.loads(run("fix", *options, env=cache).stdout)
    assert told["plan"]["actions"] == fixed["actions"] != []


def test_imports_are_followed_only_where_a_log_misses_a_name(run: Run, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    options = ("--site-packages", str(broken_names(tmp_path)))
    explain(run, AMPERE, *options, env={"XDG_CACHE_HOME": str(cache)})
    assert not list(cache.rglob("verdict-*"))
