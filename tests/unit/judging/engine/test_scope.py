"""What a path leads to, what becomes evidence, and how texts are filled."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.judging.engine.cases import CaseFacts
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment, rule, scope_of, table

SYMBOLS = table("symbols", {"torch": "word"}, {"band": "text"}, [{"torch": "2.6", "band": "old"}])
TWO_ROWS = {
    "built": {"table": "symbols", "torch": "flash_attn.wheel.torch"},
    "here": {"table": "symbols", "torch": "torch.version.minor"},
}


def state(fact: Fact) -> Any:
    """Return a Known value, None for Absent, the reason for Unknown."""
    match fact:
        case Known():
            return fact.value
        case Absent():
            return None
        case Unknown():
            return f"? {fact.reason}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("torch.version", "2.10.0+cu128"),
        ("torch.version.major", "2"),
        ("torch.version.minor", "2.10"),
        ("torch.version.base", "2.10.0"),
        ("torch.version.local", "cu128"),
        ("triton.version.local", None),
        ("host.kernel.major", "? host.kernel is not a version: WSL2-custom"),
        ("host.kernel.local", "? host.kernel is not a version: WSL2-custom"),
        ("host.glibc.minor", None),
        ("driver.version.major", "? could not be read"),
        ("torch.requires.triton", "==3.5.0"),
        ("torch.requires.numpy", None),
        ("torch.requires.filelock", ""),
        ("vllm.requires.torch", "? could not be read"),
        ("env.CC", "gcc-12"),
        ("gpu[0].name", "? it was not read"),
        ("peft.wheel.tags", None),
    ],
)
def test_paths(path: str, expected: Any) -> None:
    scope = scope_of(
        {
            "torch.version": "2.10.0+cu128",
            "triton.version": "3.5.0",
            "host.kernel": "WSL2-custom",
            "host.glibc": None,
            "driver.version": UNREAD,
            "torch.requires": {"triton": "==3.5.0", "filelock": ""},
            "vllm.version": "0.11",
            "vllm.requires": UNREAD,
            "env.CC": "gcc-12",
            "peft.version": None,
        }
    )
    assert state(scope.resolve(path)) == expected


def test_facts_of_a_package_that_is_not_installed_are_absent() -> None:
    scope = scope_of({"flash_attn.version": None, "flash_attn.loads": UNREAD})
    assert state(scope.resolve("flash_attn.wheel.torch")) is None
    assert state(scope.resolve("flash_attn.loads")) == "? could not be read"
    assert state(scope.resolve("flash_attn_3.version")) == "? it was not read"


@pytest.mark.parametrize("path", ["flash_attn.wheel.torch.minor", "flash_attn.requires.torch"])
def test_a_part_of_a_known_fact_of_a_package_without_metadata(path: str) -> None:
    facts = {
        "flash_attn.version": None,  # files without metadata
        "flash_attn.wheel.torch": "2.6",
        "flash_attn.requires": {"torch": "2.6"},
    }
    assert state(scope_of(facts).resolve(path)) == "2.6"


def test_a_variable_that_a_wildcard_stands_for_is_absent_where_variables_were_read() -> None:
    read = scope_of({"env.CUDA_VISIBLE_DEVICES": None, "env.FLASH_ATTENTION_*": None})
    assert state(read.resolve("env.FLASH_ATTENTION_FORCE_BUILD")) is None
    not_read = scope_of({})
    unset = not_read.resolve("env.FLASH_ATTENTION_FORCE_BUILD")
    assert state(unset) == "? it was not read"


@pytest.mark.parametrize(
    "facts",
    [
        {"env.CUDA_VISIBLE_DEVICES": UNREAD},  # the probe of variables broke
        {"env.CUDA_VISIBLE_DEVICES": None, "env.FLASH_ATTENTION_*": UNREAD},  # too many to read
    ],
)
def test_a_variable_that_could_not_be_read_is_unknown(facts: dict[str, Any]) -> None:
    assert isinstance(scope_of(facts).resolve("env.FLASH_ATTENTION_FORCE_BUILD"), Unknown)


def test_what_was_read_is_kept_under_the_name_of_the_fact() -> None:
    scope = scope_of({"torch.version": "2.6.0", "torch.requires": {"triton": "==3.2.0"}})
    scope.resolve("torch.version.minor")
    scope.resolve("torch.requires.triton")
    scope.resolve("torch.requires.numpy")
    assert {name: state(fact) for name, fact in scope.read.items()} == {
        "torch.version": "2.6.0",
        "torch.requires.triton": "==3.2.0",
        "torch.requires.numpy": None,
    }


def test_an_unset_variable_is_evidence() -> None:
    scope = scope_of({"env.CUDA_VISIBLE_DEVICES": None})
    scope.resolve("env.FLASH_ATTENTION_FORCE_BUILD")
    assert "env.FLASH_ATTENTION_FORCE_BUILD" in scope.read


def test_a_cell_and_the_facts_that_led_to_it_are_evidence() -> None:
    scope = scope_of({"torch.version": "2.6.0"}, SYMBOLS, rows={"here": TWO_ROWS["here"]})
    assert state(scope.resolve("here.band")) == "old"
    assert {name: state(fact) for name, fact in scope.read.items()} == {
        "torch.version": "2.6.0",
        "symbols.band": "old",
    }


def test_cells_of_two_rows_of_one_table_are_both_kept() -> None:
    facts = {"flash_attn.wheel.torch": "2.4", "torch.version": "2.6.0"}
    scope = scope_of(facts, SYMBOLS, rows=TWO_ROWS)
    scope.resolve("built.band")
    scope.resolve("here.band")
    assert [fact.reason for fact in scope.unknown_facts().values()] == [
        "the tables have no row for torch 2.4"
    ]


def test_a_key_can_be_a_literal_and_a_row_is_looked_up_once() -> None:
    scope = scope_of({}, SYMBOLS, rows={"r": {"table": "symbols", "torch": "=2.6"}})
    assert state(scope.resolve("r.band")) == "old"
    assert scope.row("r") is scope.row("r")


def test_a_bound_subject_replaces_the_head_of_a_path() -> None:
    facts = {"gpu[1].name": "Tesla T4", "gpu[0].name": "A100"}
    scope = Scope(environment(facts), Matrix({}), rule(), {"gpu": "gpu[1]"})
    assert scope.fill("{gpu.name}, not {gpu[0].name}") == "Tesla T4, not A100"
    assert "gpu[1].name" in scope.read


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("torch {torch.version} ({torch.version.minor})", "torch 2.6.0+cu124 (2.6)"),
        ("{host.wsl} {torch.cxx11_abi}", "yes no"),
        ("{gpu.count} GPUs", "2 GPUs"),
        ("{torch.libraries}", "libc10.so, libtorch.so"),
        ("{torch.requires}", "triton ==3.2.0, filelock"),
        ("{host.glibc}, {driver.version}", "none, unknown"),
        ("{nobody.knows}", "unknown"),
        ("{} {0} {Torch.version} {torch version} { torch.version }", None),
        ("{torch.version!r} {torch.version:>100000000}", None),
        ("{{torch.version}}", "{2.6.0+cu124}"),
        ("{torch.version", None),
        ("no names at all", None),
    ],
)
def test_fill(template: str, filled: str | None) -> None:
    scope = scope_of(
        {
            "torch.version": "2.6.0+cu124",
            "host.wsl": True,
            "torch.cxx11_abi": False,
            "gpu.count": 2,
            "torch.libraries": ("libc10.so", "libtorch.so"),
            "torch.requires": {"triton": "==3.2.0", "filelock": ""},
            "host.glibc": None,
            "driver.version": UNREAD,
        }
    )
    assert scope.fill(template) == (template if filled is None else filled)


@pytest.mark.parametrize(
    "hostile",
    ["{torch.version}", "{0.__class__}", "{host.os", "\\1 \\g<0>", "%s $torch.version ${x}"],
)
def test_a_value_is_not_filled_again(hostile: str) -> None:
    scope = scope_of({"gpu[0].name": hostile, "torch.version": "2.6.0"})
    assert scope.fill("<{gpu[0].name}> {torch.version}") == f"<{hostile}> 2.6.0"


def test_a_number_of_bytes_is_said_as_people_say_it() -> None:
    scope = scope_of({"host.memory_bytes": 34359738368})
    assert scope.fill("{host.memory_bytes} of memory") == "32 GiB of memory"
    assert scope_of({"host.memory_bytes": UNREAD}).fill("{host.memory_bytes}") == "unknown"


def test_can_fill_only_where_everything_is_known() -> None:
    scope = scope_of({"torch.version": "2.6.0", "host.glibc": ABSENT, "driver.version": UNREAD})
    assert scope.can_fill("torch=={torch.version.base}")
    assert scope.can_fill("nothing to fill")
    assert not scope.can_fill("{torch.version} {host.glibc}")
    assert not scope.can_fill("{driver.version}")
    assert not scope.can_fill("{torch.version.local}")


def test_in_a_case_what_is_not_named_is_absent() -> None:
    facts = CaseFacts({"torch.version": Known("2.6.0", "case"), "env.CC": UNREAD})
    scope = Scope(Environment("0", Target("", "", ""), facts), Matrix({}), rule(), {})
    assert state(scope.resolve("torch.version.minor")) == "2.6"
    assert state(scope.resolve("torch.version.local")) is None
    assert state(scope.resolve("driver.version.major")) is None
    assert state(scope.resolve("gpu[0].name")) is None
    assert state(scope.resolve("env.CC")) == "? could not be read"
