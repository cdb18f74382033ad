"""Labels of builds are read in one way, whichever package has them."""

from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.build_labels import (
    FILES,
    INSTEAD,
    MISLABELLED,
    label_facts,
    read_label,
)
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping, fact_text
from tests.unit.repair.plan.problems import session


@pytest.mark.parametrize(
    ("label", "torch", "cuda", "later", "new_abi"),
    [
        ("cu12torch2.6cxx11abitrue", "2.6", "cu12", False, True),
        ("cu12torch2.5cxx11abiFALSE", "2.5", "cu12", False, False),
        ("cu128torch2.8.0.post3", "2.8", "cu128", False, None),
        ("cu130torch2.9.0andhigher.post4", "2.9", "cu130", True, None),
        ("torch2.8", "2.8", "", False, None),
        ("cu13.0torch2.10", "2.10", "cu130", False, None),
        ("pt26cu124", "2.6", "cu124", False, None),
        ("pt210cu130", "2.10", "cu130", False, None),
        ("pt113cu117", "1.13", "cu117", False, None),
        ("pt2.4.1cu121", "2.4", "cu121", False, None),
        ("torch280cu128", "2.8", "cu128", False, None),
        ("torch2100cu130", "2.10", "cu130", False, None),
        ("cu128.torch2.9.1", "2.9", "cu128", False, None),
    ],
)
def test_every_spelling_of_a_torch_is_read(
    label: str, torch: str, cuda: str, *, later: bool, new_abi: bool | None
) -> None:
    found = read_label(label)
    assert found is not None
    assert (found.torch, found.cuda, found.later, found.new_abi) == (torch, cuda, later, new_abi)


@pytest.mark.parametrize("label", ["cu124", "rocm6.4", "cpu", "d20250915", "git96316ce5", "local"])
def test_a_label_without_a_torch_says_nothing(label: str) -> None:
    assert read_label(label) is None


def told(installed: dict[str, str], torch: str = "2.8.0+cu128", **more: Fact) -> dict[str, Fact]:
    label = torch.partition("+cu")[2]
    facts: dict[str, Fact] = {
        "torch.version": Known(torch, "test"),
        "torch.build": Known(f"cu{label}" if label else "pypi", "test"),
        "torch.cuda": Known(f"{label[:2]}.{label[2:]}" if label else "12.4", "test"),
        "torch.hip": Absent("test"),
        "packages.installed": Known({"torch": torch, **installed}, "test"),
        **{name.replace("__", "."): fact for name, fact in more.items()},
    }
    return label_facts(facts, session().matrix)


def test_all_packages_of_another_torch_are_named_with_what_each_needs() -> None:
    """Regression: of two with the same fault one was built again, and the other not named."""
    found = told(
        {
            "mamba-ssm": "2.2.4+cu12torch2.6cxx11abitrue",
            "causal-conv1d": "1.5.0.post8+cu12torch2.6cxx11abitrue",
            "torch-scatter": "2.1.2+pt26cu124",
            "a-package-of-nobody": "1.0+pt26cu124",
            "nunchaku": "1.0.1+torch2.8",
        }
    )
    assert set(fact_mapping(found[MISLABELLED])) == {
        "mamba-ssm", "causal-conv1d", "torch-scatter", "a-package-of-nobody",
    }  # fmt: skip
    instead = fact_text(found[INSTEAD], "")
    assert "causal-conv1d==1.5.0.post8 mamba-ssm==2.2.4" in instead
    assert "torch-2.8.0+cu128.html" in instead
    assert "a-package-of-nobody whose name has torch 2.8" in instead


@pytest.mark.parametrize(
    ("version", "torch"),
    [
        ("2.2.0+cu130torch2.9.0andhigher.post4", "2.12.0+cu130"),
        ("2.2.0+cu128torch2.8.0.post3", "2.8.0+cu129"),
        ("2.2.0+cu126", "2.9.0+cu130"),
        ("2.2.0", "2.9.0+cu130"),
    ],
)
def test_what_its_label_allows_is_not_named(version: str, torch: str) -> None:
    assert isinstance(told({"sageattention": version}, torch)[MISLABELLED], Absent)


def test_another_cuda_major_is_another_build() -> None:
    found = told({"sageattention": "2.2.0+cu128torch2.9.0andhigher.post4"}, "2.10.0+cu130")
    assert "sageattention" in fact_mapping(found[MISLABELLED])


@pytest.mark.parametrize(
    ("label", "torch", "new", "fits"),
    [
        ("cu12torch2.6cxx11abitrue", "2.6.0", False, False),
        ("cu12torch2.6cxx11abitrue", "2.6.0+cu126", True, True),
        ("cu12torch2.5cxx11abifalse", "2.5.1", True, False),
        ("cu12torch2.6cxx11abifalse", "2.6.0+cu126", True, True),  # such labels are known to lie
        ("cu12torch2.8cxx11abifalse", "2.8.0+cu128", True, True),
    ],
)
def test_the_abi_of_a_label_counts_where_torch_has_two(
    label: str, torch: str, *, new: bool, fits: bool
) -> None:
    found = told({"causal-conv1d": f"1.5.0+{label}"}, torch, torch__cxx11_abi=Known(new, "test"))
    assert isinstance(found[MISLABELLED], Absent) is fits


def test_the_file_that_a_text_installs_has_the_label_that_its_release_has_not() -> None:
    files = Known({"mamba-ssm": "cu12torch2.6cxx11abitrue"}, "test")
    found = told({"mamba-ssm": "2.2.4"}, packages__file_labels=files)
    assert FILES == "packages.file_labels"
    assert "mamba-ssm" in fact_mapping(found[MISLABELLED])


def test_what_was_read_beside_this_torch_is_judged_by_that() -> None:
    found = told(
        {"mamba-ssm": "2.2.4+cu12torch2.6cxx11abitrue"}, mamba_ssm__loads=Known(True, "test")
    )
    assert isinstance(found[MISLABELLED], Absent)


def test_a_torch_of_somebodys_own_and_an_unknown_one() -> None:
    installed = {"nunchaku": "1.0.1+torch2.7"}
    own = told(installed, torch__build=Known("other", "test"))
    assert isinstance(own[MISLABELLED], Absent)
    unread = told(installed, torch__cuda=Unknown("not read", "test"))
    assert isinstance(unread[MISLABELLED], Unknown)
