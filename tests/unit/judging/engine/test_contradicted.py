"""Tables speak against a command: no such build, no code for the GPU, a driver too old."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fadoctor.judging.engine.contradicted import fitted
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import ASSUMED_PLATFORM, Environment
from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Step, StepKind
from tests.unit.judging.engine.builders import environment

ANY_OLDER = "torch>=2.4.0,<2.11.0"
INDEX = "https://download.pytorch.org/whl/"
LINUX = {"host.os": "linux", "host.platform": "linux_x86_64"}


def installing(item: str, index: str = "") -> Fix:
    text = f"pip install {item}"
    return Fix("one", "Install it", steps=(Step(StepKind.INSTALL, text, (item,), index),))


def fit(facts: dict[str, Any], item: str, index: str = "") -> Fix | None:
    return fitted(installing(item, index), environment(facts), Matrix(load_knowledge().tables))


@pytest.mark.parametrize(
    ("facts", "item"),
    [
        ({}, "torch==2.1.0+cu126"),  # there is no such build
        ({"gpu[0].compute_capability": "12.0"}, "torch==2.7.1"),
        ({"gpu[0].compute_capability": "7.0"}, "torch==2.13.0"),
        ({"driver.cuda": "12.2"}, "torch==2.13.0"),
        ({"driver.version": "535.183.01"}, "torch==2.13.0"),
        ({"python.version": "3.8.10"}, "torch==2.6.0"),
    ],
)
def test_what_a_table_excludes(facts: dict[str, Any], item: str) -> None:
    assert fit({**LINUX, **facts}, item) is None


@pytest.mark.parametrize(
    ("facts", "item"),
    [
        ({}, "torch==2.6.0+cu124"),
        ({}, "torch==99.0"),  # newer than the tables
        ({"gpu[0].compute_capability": "12.0"}, "torch==2.10.0"),
        ({"gpu[0].compute_capability": "12.0", "gpu[1].compute_capability": "8.0"}, "torch==2.7.1"),
        ({"driver.cuda": "13.0", "driver.version": "580.65.06"}, "torch==2.13.0"),
        ({"python.version": "3.12.3"}, "torch==2.6.0"),
        ({"gpu[0].compute_capability": "12.0"}, "einops==0.8.2"),
    ],
)
def test_what_none_excludes(facts: dict[str, Any], item: str) -> None:
    assert fit({**LINUX, **facts}, item) is not None


def test_windows_takes_the_index_of_torch() -> None:
    windows = {"host.os": "windows", "host.platform": "win_amd64"}
    found = fit(windows, "torch==2.1.0")
    assert found is not None
    assert found.steps[0].items == ("torch==2.1.0+cu121",)
    assert found.steps[0].text == f"pip install --index-url {INDEX}cu121 torch==2.1.0+cu121"
    assert fit({**windows, "gpu[0].compute_capability": "12.0"}, "torch==2.1.0") is None


@pytest.mark.parametrize(
    ("item", "index"),
    [
        ("torch==2.5.1+cu121", "cu121"),
        ("torchvision==0.20.1+cu121", "cu121"),
        ("torch==2.6.0+rocm6.2.4", "rocm6.2.4"),
        ("torch==2.6.0", ""),
    ],
)
def test_a_build_with_a_label_is_taken_from_its_index(item: str, index: str) -> None:
    """Regression: `pip install torch==2.5.1+cu121` finds nothing on PyPI."""
    found = fit(LINUX, item)
    assert found is not None
    assert found.steps[0].index == (index and INDEX + index)
    assert found.steps[0].items == (item,)


@pytest.mark.parametrize("item", ["flash-attn==2.8.3", "torch==2.10.0+cu128", "xformers==0.0.35"])
def test_a_mac_installs_nothing_of_cuda(item: str) -> None:
    assert fit({"host.os": "macos", "host.platform": "macosx_arm64"}, item) is None
    assert fit(LINUX, item) is not None


def assumed(**facts: str) -> Environment:
    """Return an environment of a text that names no platform."""
    found = environment({**LINUX, **facts})
    platform = {"host.platform": Known("linux_x86_64", ASSUMED_PLATFORM)}
    return msgspec.structs.replace(found, facts={**found.facts, **platform})


@pytest.mark.parametrize(
    ("facts", "item", "expected"),
    [
        ({}, "torch==2.10.0", ("torch==2.10.0+cu128", "cu128")),
        ({"torch.version": "2.11.0+cu130"}, ANY_OLDER, (ANY_OLDER, "cu130")),
        ({"torch.version": "2.11.0"}, ANY_OLDER, (ANY_OLDER, "cu128")),
        ({}, "torch==2.0.1", ("torch==2.0.1+cu118", "cu118")),  # no index has its cu117
        ({}, "torch==99.0", ("torch==99.0", "")),
        ({}, "einops==0.8.2", ("einops==0.8.2", "")),
    ],
)  # fmt: skip
def test_the_index_of_torch_where_it_may_be_windows(
    facts: dict[str, str], item: str, expected: tuple[str, str]
) -> None:
    """Regression: `pip install torch==2.10.0` gave a build for the CPU on Windows."""
    found = fitted(installing(item), assumed(**facts), Matrix(load_knowledge().tables))
    assert found is not None
    [step] = found.steps
    assert (step.items[0], step.index) == (expected[0], expected[1] and INDEX + expected[1])
    on_linux = fit({**LINUX, **facts}, item)
    assert on_linux is not None
    assert on_linux.steps[0].index == ""
