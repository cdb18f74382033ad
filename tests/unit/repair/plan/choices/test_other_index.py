"""A torch of another CUDA from PyTorch's index for aarch64: what is beside it has no label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.plan import ActionKind
from tests.states.sequences import on_platform
from tests.states.starts import start
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import plan

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Action, Plan

OLD_DRIVER = ("NVIDIA GH200 480GB", "9.0", "565.57.01")
VISION = "torchvision==0.26.0"


def there(platform: str = "linux_aarch64", **changes: str) -> Environment:
    """Return a torch for CUDA 13 with torchvision, and a driver that is too old for both."""
    found = on_platform(start("torch 2.11", OLD_DRIVER), platform)
    new = {name.replace("__", "."): fact_of(value) for name, value in changes.items()}
    return msgspec.structs.replace(found, facts={**found.facts, **new})


def installs(found: Plan) -> list[Action]:
    return [action for action in found.actions if action.kind is ActionKind.INSTALL]


def test_the_same_version_comes_anew_from_the_index_of_the_torch_that_comes() -> None:
    """PyPI's torchvision stayed, which loads the CUDA 13 runtime beside a torch without it."""
    found = plan(there())
    removal, install = (action for action in found.actions if action.is_step)
    assert removal.kind is ActionKind.UNINSTALL
    assert "torchvision" in removal.requirements
    assert "torchvision==0.26.0" in removal.undo
    assert VISION in install.requirements
    assert install.index.endswith("/cu128")
    assert "--extra-index-url" not in install.argv
    assert any("another file" in effect for effect in install.side_effects)


@pytest.mark.parametrize("want", [("flash-attn",), ("transformers",)])
def test_beside_packages_of_pypi_it_is_taken_from_one_index_at_last(want: tuple[str, ...]) -> None:
    """Asked for both indexes, an installer may take either of two files of one version."""
    *_, install, again = installs(plan(there(), want=want))
    assert "--extra-index-url" in install.argv
    assert VISION in again.requirements
    assert "--extra-index-url" not in again.argv
    assert {"--force-reinstall", "--no-deps"} <= set(again.argv)
    assert again.index == install.index


def test_what_has_a_label_is_not_asked_for_twice() -> None:
    found = plan(there("linux_x86_64"), want=("transformers",))
    names = [item for action in installs(found) for item in action.requirements]
    assert sum(name.startswith("torchvision==") for name in names) == 1


@pytest.mark.parametrize("kept", ["torchvision", "torchaudio"])
def test_no_torch_comes_for_which_a_package_that_is_kept_is_another_file(kept: str) -> None:
    found: Any = {c.distribution: c.after for c in plan(there(), keep=(kept,)).changes}
    assert not found.get("torch", "").startswith("2.11.0+")
