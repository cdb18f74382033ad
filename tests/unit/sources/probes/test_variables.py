"""The probe of environment variables: the allow-list, and nothing secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.catalogue import build_catalogue, find_spec
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.variables import probe
from fadoctor.syntax.secrets import hide_secrets
from tests.unit.sources.probes.dist_info import value, world_of
from tests.work import examples

HOME = Path("/home/ada")
SITE = Path("/opt/venv/lib/python3.11/site-packages")


def read(os: str = "linux", **environ: str) -> dict[str, Fact]:
    return probe(world_of(SITE, home=HOME, environ=environ, os=os), {})


def test_every_variable_of_the_catalogue_has_a_fact() -> None:
    catalogue = build_catalogue()
    names = {name for name, spec in catalogue.items() if spec.provider == "variables"}
    facts = read(FLASH_ATTENTION_FORCE_BUILD="TRUE")
    assert names <= facts.keys()
    assert all(find_spec(catalogue, name) is not None for name in facts)


def test_set_empty_and_unset_are_three_things() -> None:
    facts = read(CUDA_VISIBLE_DEVICES="", MAX_JOBS="4")
    assert facts["env.MAX_JOBS"] == Known("4", "the environment")
    assert value(facts, "env.CUDA_VISIBLE_DEVICES") == ""
    assert facts["env.CUDA_HOME"] == Absent("the environment: CUDA_HOME is not set")


def test_no_other_variable_is_read() -> None:
    facts = read(HF_TOKEN="hf_x", CUDA_HOMER="x", HOME="/home/ada", UNSLOTH="1")  # noqa: S106
    assert all(isinstance(fact, Absent) for fact in facts.values())


def test_endings_are_matched() -> None:
    facts = read(FLASH_ATTENTION_TRITON_AMD_ENABLE="TRUE", XFORMERS_MORE_DETAILS="1")
    assert value(facts, "env.FLASH_ATTENTION_TRITON_AMD_ENABLE") == "TRUE"
    assert value(facts, "env.XFORMERS_MORE_DETAILS") == "1"
    assert isinstance(facts["env.FLASH_ATTENTION_*"], Absent)


def test_a_flood_of_variables_is_bounded_and_told() -> None:
    facts = read(**{f"UNSLOTH_{number:03}": "1" for number in range(200)})
    assert sum(name.startswith("env.UNSLOTH_") for name in facts) == 101
    assert isinstance(facts["env.UNSLOTH_*"], Unknown)


def test_a_name_with_escape_sequences_is_no_variable() -> None:
    facts = read(**{"UNSLOTH_\x1b[31m": "1", "UNSLOTH_OK": "1"})
    assert [name for name in facts if name.startswith("env.UNSLOTH_")] == [
        "env.UNSLOTH_OK",
        "env.UNSLOTH_*",
    ]


def test_home_is_hidden_in_lists_too() -> None:
    facts = read(
        LD_LIBRARY_PATH="/usr/lib:/home/ada/lib:/home/adam:/home/ada",
        CC="ccache /home/ada/gcc",
        LD_PRELOAD=f"{SITE}/x.so",
    )
    assert value(facts, "env.LD_LIBRARY_PATH") == "/usr/lib:~/lib:/home/adam:~"
    assert value(facts, "env.CC") == "ccache ~/gcc"
    assert value(facts, "env.LD_PRELOAD") == "$site/x.so"


def test_windows_lists_keep_their_drives() -> None:
    facts = read("windows", PYTHONPATH=r"C:\Users\ada b;D:\x")
    assert value(facts, "env.PYTHONPATH") == r"C:\Users\ada b;D:\x"


def test_values_are_printable_and_limited() -> None:
    facts = read(CUDA_HOME="/x\x1b[31m\n/y", LD_LIBRARY_PATH="/a:" * 100_000)
    assert value(facts, "env.CUDA_HOME") == "/x?[31m /y"
    assert len(str(value(facts, "env.LD_LIBRARY_PATH"))) == 2_000


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://me:pw@host/x", "https://***@host/x"),
        ("https://me:p@w@host/x", "https://***@host/x"),
        ("git+https://tok@host", "git+https://***@host"),
        ("--token=abc123 --x", "--token=*** --x"),
        ("password: hunter2", "password: ***"),
        ("hf_" + "aB3" * 10, "***"),
        ("x=ghp_" + "aB3" * 10, "x=***"),
        ("AKIA" + "ABCD1234" * 2, "***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "***"),
        ("0123456789abcdef" * 3, "***"),
    ],
)
def test_secrets_are_hidden(text: str, hidden: str) -> None:
    assert hide_secrets(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,GPU-8932f937-d72c-4106-c12f-20bd9faed9f7",
        "MIG-8932f937-d72c-4106-c12f-20bd9faed9f6",
        "/nix/store/0c1nwq8m8p7y6zjxkqv5b4g2d3f1h9sa-cuda-merged-12.4/lib:/usr/lib",
        "/data/hf_transformers_cache:/opt/sk-learn-contributions-of-2024",
        "expandable_segments:True,garbage_collection_threshold:0.8",
        "8.0;8.6;9.0+PTX",
        "https://host/path@2",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert hide_secrets(text) == text


def test_a_variable_that_is_named_as_a_secret_is_hidden_whole() -> None:
    assert value(read(UNSLOTH_API_KEY="x"), "env.UNSLOTH_API_KEY") == "***"


@settings(max_examples=examples(60))
@given(st.text(max_size=400))
def test_no_value_breaks_the_probe(text: str) -> None:
    fact = read(CUDA_HOME=text)["env.CUDA_HOME"]
    assert isinstance(fact, Known)
    assert str(fact.value).isprintable() or not text.isascii()
