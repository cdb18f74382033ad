"""What an installed package requires and is not met."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.targets.unmet_requirements import unmet_requirements
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment

FA4 = {
    "flash_attn_4.version": "4.0.0b36",
    "flash_attn_4.requires": {"nvidia-cutlass-dsl": ">=4.6.2", "einops": "", "torch": ""},
    "torch.build": "pypi",
}


def unmet(facts: dict[str, Any], package: str = "flash_attn_4") -> dict[str, Fact]:
    matrix = Matrix(load_knowledge().tables)
    found = unmet_requirements(environment(facts).facts, matrix, (package,))
    return {name.removeprefix(f"{package}."): fact for name, fact in found.items()}


def values(found: dict[str, Fact]) -> dict[str, object]:
    return {name: fact.value for name, fact in found.items() if isinstance(fact, Known)}


def test_what_is_missing_and_what_is_too_old() -> None:
    found = unmet({**FA4, "packages.installed": {"nvidia-cutlass-dsl": "4.2.0", "torch": "2.14.0"}})
    assert values(found) == {
        "unmet": {
            "nvidia-cutlass-dsl": "(>=4.6.2, but 4.2.0 is installed)",
            "einops": "(not installed)",
        },
        "unmet_alone": ("nvidia-cutlass-dsl>=4.6.2", "einops"),
        "unmet_told": found["unmet"].value,  # type: ignore[union-attr] # values saw to it
        "unmet_outside": {"nvidia-cutlass-dsl": "4.2.0"},
        "missing": ("einops",),
    }


def test_what_another_rule_speaks_of_is_not_said_twice() -> None:
    facts = {"vllm.version": "0.33.0", "vllm.requires": {"torch": "==2.14.0"}}
    host = {"torch.build": "pypi"}
    found = unmet({**facts, **host, "packages.installed": {"torch": "2.12.0"}}, "vllm")
    assert values(found) == {"unmet": {"torch": "(==2.14.0, but 2.12.0 is installed)"}}
    found = unmet({**facts, **host, "packages.installed": {}}, "vllm")
    assert values(found) == {
        "unmet": {"torch": "(==2.14.0, not installed)"},
        "missing": ("torch",),
    }


LLAMAFACTORY = {"transformers": "!=4.52.0,!=4.57.0,<=4.57.1,>=4.51.0", "peft": "<=0.17.1,>=0.14.0"}
OUTSIDE = [
    ("accelerate", "0.33.0", {"numpy": "<2,>=1.17"}, {"numpy": "2.1.3"}),
    ("flashinfer", "0.7.0", {"torch": ">=2.13"}, {"torch": "2.12.0"}),
    ("liger_kernel", "0.8.5", {"triton": ">=2.3.1"}, {"triton": "2.1.0"}),
    ("llamafactory", "0.9.4", LLAMAFACTORY, {"transformers": "5.23.0", "peft": "0.21.2"}),
    ("sglang", "0.5.15", {"flash-attn-4": "==4.0.0b15"}, {"flash-attn-4": "4.0.0b36"}),
    ("sglang", "0.5.20", {"torch": "==2.13.0"}, {"torch": "2.14.1"}),
    ("trl", "1.16.0", {"accelerate": ">=1.10.1"}, {"accelerate": "1.3.0"}),
    ("unsloth", "2026.1.4", {"trl": "<=0.24.0,!=0.19.0,>=0.18.2"}, {"trl": "0.27.2"}),
    ("unsloth", "2026.10.9", {"bitsandbytes": "!=0.46.0,>=0.45.5"}, {"bitsandbytes": "0.46.0"}),
    ("vllm", "0.20.0", {"flashinfer-python": "==0.6.8.post1"}, {"flashinfer-python": "0.7.0"}),
    ("vllm", "0.9.2", {"xformers": "==0.0.30"}, {"xformers": "0.0.32.post2"}),
]


@pytest.mark.parametrize(("package", "version", "requires", "there"), OUTSIDE)
def test_another_version_of_any_package_is_told(
    package: str, version: str, requires: dict[str, str], there: dict[str, str]
) -> None:
    """One rule speaks of all of them: none of these has a rule of its own."""
    facts = {f"{package}.version": version, f"{package}.requires": requires, "torch.build": "pypi"}
    found = values(unmet({**facts, "packages.installed": there}, package))
    assert found["unmet_outside"] == there
    assert found["unmet_alone"] == tuple(f"{name}{text}" for name, text in requires.items())
    assert found["unmet_why"], "what another version does"
    assert "unmet_checked" not in found, "nobody has read that it compares them itself"


@pytest.mark.parametrize(
    ("version", "there", "checked"),
    [
        ("5.23.0", "0.34.0", ("accelerate",)),
        ("5.23.0", "1.1.0", None),
        ("4.57.1", "0.34.0", None),
        ("4.57.1", "0.25.0", ("accelerate",)),
        ("4.30.0", "0.10.0", None),
        ("5.23.0", None, None),
    ],
)
def test_what_transformers_compares_where_it_is_installed(
    version: str, there: str | None, checked: tuple[str, ...] | None
) -> None:
    """Its metadata name accelerate for an extra only; its import looks at it all the same."""
    facts = {"transformers.version": version, "transformers.requires": {"numpy": ">=1.17"}}
    installed = {"numpy": "2.1.3", **({"accelerate": there} if there else {})}
    found = values(unmet({**facts, "packages.installed": installed}, "transformers"))
    assert found.get("unmet_checked") == checked


def test_what_transformers_declares_and_compares() -> None:
    facts = {"transformers.version": "4.42.4", "transformers.requires": {"numpy": "<2.0,>=1.17"}}
    found = values(unmet({**facts, "packages.installed": {"numpy": "2.1.3"}}, "transformers"))
    assert found["unmet_checked"] == ("numpy",)


@pytest.mark.parametrize(
    ("loads", "outside"), [(True, None), (False, {"torch": "2.4.1"}), (UNREAD, {"torch": "2.4.1"})]
)
def test_a_library_that_loads_outranks_the_pin(
    loads: object, outside: dict[str, str] | None
) -> None:
    facts = {
        "torchvision.version": "0.19.0",
        "torchvision.requires": {"torch": "==2.4.0"},
        "torchvision.loads": loads,
        "torch.build": "pypi",
        "packages.installed": {"torch": "2.4.1"},
    }
    assert values(unmet(facts, "torchvision")).get("unmet_outside") == outside


@pytest.mark.parametrize(
    "there",
    [
        {"nvidia-cutlass-dsl": "4.6.2", "einops": "0.8", "torch": "2.14.0"},
        {"nvidia-cutlass-dsl": "an own build", "einops": "0.8", "torch": "2.14.0"},
    ],
)
def test_all_is_met(there: dict[str, str]) -> None:
    found = unmet({**FA4, "packages.installed": there})
    assert {type(fact) for fact in found.values()} == {Absent}


def test_another_distribution_can_stand_in() -> None:
    facts = {"torch.version": "2.8.0", "torch.requires": {"triton": "==3.4.0"}}
    found = unmet({**facts, "packages.installed": {"pytorch-triton": "3.4.0+git"}}, "torch")
    assert values(found) == {}


def test_an_own_torch_is_newer_than_its_name() -> None:
    facts = {"xformers.version": "0.0.29", "xformers.requires": {"torch": "==2.6.0"}}
    there = {"packages.installed": {"torch": "2.6.0a0+nv24"}, "torch.build": "other"}
    assert values(unmet({**facts, **there}, "xformers")) == {}


def test_conda_has_names_of_its_own() -> None:
    conda = {"flash_attn_4.installer": "conda", "packages.installed": {}}
    assert values(unmet({**FA4, **conda})) == {}


@pytest.mark.parametrize("lost", ["packages.installed", "flash_attn_4.requires"])
def test_what_nobody_could_read_is_unknown(lost: str) -> None:
    found = unmet({**FA4, "packages.installed": {}, lost: UNREAD})
    assert {type(fact) for fact in found.values()} == {Unknown}


def test_a_package_that_is_not_there_requires_nothing() -> None:
    assert unmet({"packages.installed": {}, "flash_attn_4.version": ABSENT}) == {}
    assert unmet(FA4) == {}  # facts of an older release, without the list


def test_what_installed_sources_compare_counts_before_the_table() -> None:
    """A release that no table knows refuses what its own sources say."""
    facts = {
        "transformers.version": "7.0.0",
        "transformers.requires": {"tqdm": ">=4"},
        "transformers.checks": {"tqdm": ">=4", "accelerate": ">=9.0", "safetensors": ">=1"},
        "packages.installed": {"tqdm": "3.0", "accelerate": "8.0"},
    }
    found = values(unmet(facts, "transformers"))
    assert found["unmet_told"] == {
        "tqdm": "(>=4, but 3.0 is installed)",
        "accelerate": "(>=9.0, but 8.0 is installed)",
    }
    assert found["unmet_checked"] == ("tqdm", "accelerate")


@pytest.mark.parametrize(
    ("installed", "refused"), [({}, ("unsloth-zoo",)), ({"unsloth-zoo": "2026.8.1"}, None)]
)
def test_what_only_has_to_be_there_is_refused_where_it_is_not(
    installed: dict[str, str], refused: tuple[str, ...] | None
) -> None:
    """unsloth stops without its second half; beside an old one it prints a line and goes on."""
    facts = {"unsloth.version": "2026.10.9", "unsloth.requires": {"unsloth-zoo": ">=2026.10.9"}}
    found = values(unmet({**facts, "packages.installed": installed}, "unsloth"))
    assert found["unmet_alone"] == ("unsloth-zoo>=2026.10.9",)
    assert found.get("unmet_checked") == refused


def test_what_diffusers_compares_at_import_is_an_error() -> None:
    facts = {"diffusers.version": "0.42.1", "diffusers.requires": {"filelock": "", "pillow": ""}}
    facts["diffusers.distribution"] = "diffusers"
    found = values(unmet({**facts, "packages.installed": {}}, "diffusers"))
    assert found["unmet_checked"] == ("filelock",)


@pytest.mark.parametrize(
    ("diffusers", "beside", "refused"),
    [
        ("0.23.1", {"peft": "0.14.0"}, ("peft",)), ("0.23.1", {"peft": "0.6.2"}, None),
        ("0.23.0", {"peft": "0.14.0"}, None), ("0.24.0", {"peft": "0.14.0"}, None),
        ("0.33.1", {"peft": "0.13.2"}, None), ("0.34.0", {"peft": "0.14.0"}, ("peft",)),
        ("0.34.0", {"peft": "0.15.2"}, None), ("0.36.0", {"peft": "0.16.0"}, ("peft",)),
        ("0.36.0", {"peft": "0.17.0"}, None), ("0.40.0", {"peft": "0.16.0"}, None),
        ("0.36.0", {"peft": "0.6.0"}, ("peft",)), ("0.34.0", {"peft": "0.5.0"}, None),
        ("0.39.0", {"peft": "0.5.0"}, None),
        ("0.36.0", {"peft": "0.16.0", "transformers": "4.33.3"}, None),
        ("0.36.0", {"peft": "0.16.0", "transformers": ""}, None),
    ],
)  # fmt: skip
def test_diffusers_compares_a_peft_that_is_there(
    diffusers: str, beside: dict[str, str], refused: tuple[str, ...] | None
) -> None:
    """Newer releases go on without an old peft, and these before asked little of it.

    In between a peft is compared that is new enough to be used, beside such a transformers.
    """
    facts = {"diffusers.version": diffusers, "diffusers.requires": {},
             "diffusers.distribution": "diffusers"}  # fmt: skip
    there = {
        name: version for name, version in {"transformers": "4.57.6", **beside}.items() if version
    }
    found = values(unmet({**facts, "packages.installed": there}, "diffusers"))
    assert found.get("unmet_checked") == refused


def _of_transformers(version: str, installed: dict[str, str]) -> dict[str, object]:
    facts = {"transformers.version": version, "transformers.requires": {}, "torch.build": "pypi"}
    return values(unmet({**facts, "packages.installed": installed}, "transformers"))


def test_what_a_part_needs_is_told_and_refuses_nothing() -> None:
    facts = {"peft.version": "0.19.1", "peft.requires": {}, "peft.distribution": "peft"}
    found = values(unmet({**facts, "packages.installed": {"torchao": "0.10.0"}}, "peft"))
    assert found["unmet_alone"] == ("torchao>=0.16.0",)
    assert "unmet_checked" not in found
    assert not values(unmet({**facts, "packages.installed": {"torchao": "0.16.0"}}, "peft"))


def test_a_part_that_trainers_do_not_use_needs_nothing() -> None:
    """Trainers and servers take peft's own classes: transformers compares nothing then."""
    assert not _of_transformers("5.14.0", {"peft": "0.18.0"})
    assert not _of_transformers("4.49.0", {"peft": "0.4.0"})


def test_an_annotation_counts_beside_a_parser_that_resolves_it() -> None:
    old = {"accelerate": "1.6.0"}
    assert not _of_transformers("4.56.2", old)
    found = _of_transformers("4.56.2", {**old, "trl": "0.22.1"})
    assert found["unmet_alone"] == ("accelerate>=1.10.1",)
    assert "unmet_checked" not in found
    assert not _of_transformers("4.57.1", {**old, "trl": "0.22.1"})


def test_two_of_one_release_have_one_version() -> None:
    facts = {"flashinfer.version": "0.6.3", "flashinfer.distribution": "flashinfer-python"}
    for installed, alone in (
        ({"flashinfer-cubin": "0.6.4"}, ("flashinfer-cubin==0.6.3",)),
        ({"flashinfer-cubin": "0.6.3"}, None),
        ({"torch": "2.9.1"}, None),
    ):
        found = unmet({**facts, "packages.installed": installed}, "flashinfer")
        assert values(found).get("unmet_alone") == alone
