"""Who may keep a ranged package from its newest release: then its version stays unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.place import Place
from fadoctor.repair.resolution.resolver_worlds import come_today
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.planned import Manifest, Requirement
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import HOST, planned

if TYPE_CHECKING:
    from pathlib import Path

RANGE = "transformers>=4.50\n"


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("axolotl\n", "axolotl"),
        ("axolotl==0.3.0\n", "axolotl"),  # older than what the tables have
        ("llamafactory\n", "llamafactory"),
        ("llamafactory==0.9.4\n", "llamafactory"),
        ("unsloth==2025.11.6\n", "unsloth"),
        ("huggingface-hub<1\n", "huggingface-hub"),
        ("tokenizers==0.21.0\n", "tokenizers"),
        ("datasets~=2.14.0\n", "datasets"),
        ("trl==0.8.6\n", "trl"),  # a release whose requirements no table has
        ("trl<0.9\n", "trl"),
        ("trl[vllm]>=0.20\n", "trl[vllm]"),
        ("peft @ git+https://github.com/huggingface/peft\n", "peft"),
        ("vllm==0.0.99\n", "vllm"),  # of which no table knows what it requires
        ("a\nb\nc\nd\n", "a, b, c and 1 more"),
    ],
)
def test_what_may_bound_a_range_leaves_it_open(tmp_path: Path, text: str, who: str) -> None:
    found = planned(tmp_path, RANGE + text)
    fact = found.fact("transformers.version")
    assert isinstance(fact, Unknown)
    assert fact.reason == f"an installer decides: transformers>=4.50, and {who} may bound it"
    assert "transformers" not in found.ranges


@pytest.mark.parametrize("text", [RANGE, "transformers\n", ""])
def test_what_a_pin_requires_in_one_release_is_not_for_others_to_bound(
    tmp_path: Path, text: str
) -> None:
    """An installer takes that release or none."""
    fact = planned(tmp_path, text + "axolotl==0.17.0\n").fact("transformers.version")
    assert isinstance(fact, Unknown)
    assert "may bound" not in fact.reason


@pytest.mark.parametrize(
    "text",
    [
        "torch==2.8.0\nxformers==0.0.32.post2\n",
        "numpy<2\npandas==2.2.0\nwandb\n",
        "huggingface-hub>=0.30\ndatasets\n",  # a lower bound keeps nothing from its newest
        "trl==1.0.0\npeft<0.18\naccelerate\n",
        "vllm==0.11.0\n",
        "vllm>=0.11\n",
        "wandb[media]==0.20.0\n",
    ],
)
def test_what_is_known_to_bound_or_not_is_held_against_it(tmp_path: Path, text: str) -> None:
    found = planned(tmp_path, RANGE + text)
    assert found.ranges["transformers"] == ">=4.50"
    fact = found.fact("transformers.version")
    assert isinstance(fact, Unknown)
    assert "may bound" not in fact.reason


def test_a_constraint_can_bound_what_comes_along(tmp_path: Path) -> None:
    (tmp_path / "constraints.txt").write_text("huggingface-hub<1\n")
    bounded = planned(tmp_path, f"-c {tmp_path / 'constraints.txt'}\n{RANGE}")
    assert "transformers" not in bounded.ranges
    (tmp_path / "constraints.txt").write_text("transformers<5\nwandb<1\nrequests>=2\n")
    free = planned(tmp_path, f"-c {tmp_path / 'constraints.txt'}\n{RANGE}")
    assert free.ranges == {"transformers": ">=4.50,<5"}


def test_conda_has_releases_of_its_own() -> None:
    place = Place("environment.yml", 3)
    asked = Requirement("transformers", place, specifier=">=4.50", manager="conda")
    facts = {name: fact_of(value) for name, value in HOST.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    manifest = Manifest("environment.yml", "environment.yml", (asked,))
    assert planned_environment(machine, [manifest], session().matrix).ranges == {}


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("torch==2.1.2\ntransformers==4.37.2\n", ""),
        ("torch==2.1.2\nflash-attn==2.5.0\npeft==0.10.0\n", ""),
        ("torch==2.1.2\ntransformers==4.42.0\n", "transformers"),  # it takes no NumPy 2
        ("torch==2.1.2\ntransformers>=4.37\n", "transformers"),
        ("torch==2.1.2\nscipy\n", "scipy"),
        ("torch==2.1.2\ntorchvision @ git+https://github.com/pytorch/vision\n", "torchvision"),
    ],
)
def test_what_may_bound_numpy(tmp_path: Path, text: str, who: str) -> None:
    found = planned(tmp_path, f"numpy\n{text}")
    fact = found.fact("numpy.version")
    assert isinstance(fact, Unknown)
    assert ("numpy" in found.ranges) == (not who)
    assert not who or fact.reason == f"an installer decides: numpy, and {who} may bound it"


@pytest.mark.parametrize(
    ("text", "comes"),
    [
        ("torch==2.2.2\ntorchvision==0.17.2\n", True),
        ("torch==2.2.2\ntransformers==4.41.2\n", True),
        ("torch==2.2.2\ntransformers==4.57.6\nsentence-transformers==2.7.0\n", True),
        ("torch==2.2.2\nopencv-python\n", True),
        ("torch==2.2.2\ndatasets==2.19.1\n", True),  # which may bound others than NumPy
        ("torch==2.2.2\n", False),  # asks for none
        ("torch==2.2.2\ntorchvision==0.17.2\nscipy\n", False),  # which may bound it
        ("torch==2.2.2\ntorchvision==0.17.2\nopencv-python==4.12.0.88\n", False),
        ("torch==2.2.2\ntransformers==4.42.4\n", False),  # it takes no NumPy 2
        ("torch==2.2.2\ntorchvision==0.17.2; sys_platform == 'win32'\n", False),
    ],
)
def test_a_package_brings_the_newest_numpy(tmp_path: Path, text: str, *, comes: bool) -> None:
    assert ("numpy" in planned(tmp_path, text).ranges) == comes


@pytest.mark.parametrize(
    ("text", "comes"),
    [
        ("torch==2.6.0\npeft==0.17.0\n", True),
        ("torch==2.6.0\ntrl==0.15.2\n", True),
        ("torch==2.5.1\ndeepspeed\npeft\n", True),  # so does each release of peft
        ("peft<0.17; sys_platform == 'win32'\n", False),
        ("trl==0.8.6\n", False),  # a release whose requirements no table has
        ("trl==0.12.2\n", False),  # it bounds transformers itself
        ("peft==0.17.0\naxolotl\n", False),  # which may bound it
    ],
)
def test_a_library_brings_the_newest_transformers(
    tmp_path: Path, text: str, *, comes: bool
) -> None:
    """Nobody names transformers in such a list: it came, and nothing was said of it."""
    assert ("transformers" in planned(tmp_path, text).ranges) == comes


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (
            "torch==2.2.2\nnumpy==1.22.*\n",
            ("1.22.0", "1.22.999"),
        ),  # of which no table has a release
        ("torch==2.2.2\nscipy\nnumpy==1.26.*\n", ("1.26.0", "1.26.999")),
        ("torch==2.2.2\nscipy\nnumpy==2.*\n", ()),
        ("torch==2.2.2\nscipy\nnumpy>=2.1\n", ()),
        ("scipy\ntransformers==4.50.*\n", ()),  # a rule may speak of one release between
    ],
)
def test_a_minor_release_of_numpy_has_two_ends(
    tmp_path: Path, text: str, ends: tuple[str, ...]
) -> None:
    found = planned(tmp_path, text)
    package = "numpy" if "numpy" in text else "transformers"
    fact = found.fact(f"{package}.version")
    assert isinstance(fact, Unknown)
    assert fact.among == ends


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("axolotl==0.18.0\nan-unknown-package\n", "torch<=2.12.1,>=2.11.0"),
        (
            "axolotl==0.18.0\ndeepspeed\n",
            "",
        ),  # its newest release takes each torch: that is decided
        ("axolotl==0.18.0\ntorch==2.11.0\n", ""),
        ("axolotl\ndeepspeed\n", ""),
    ],
)
def test_a_range_of_torch_that_a_pinned_package_requires(
    tmp_path: Path, text: str, bound: str
) -> None:
    """No file names torch: it comes along, of a release within what that package requires."""
    fact = planned(tmp_path, text).fact("torch.version")
    said = fact.reason if isinstance(fact, Unknown) else ""
    assert (f"an installer decides: {bound}" in said) is bool(bound)


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("llamafactory==0.9.3\n", True),  # it requires peft, each release of which requires torch
        ("llamafactory==0.9.3\nsome-other\n", False),  # which may bound torch
        ("llamafactory\n", False),
        ("transformers==4.57.1\n", False),  # it requires nothing that requires torch
    ],
)
def test_torch_comes_along_with_what_a_pinned_framework_requires(
    tmp_path: Path, text: str, *, is_known: bool
) -> None:
    found = come_today(planned(tmp_path, text), session().matrix)
    assert isinstance(found.fact("torch.version"), Known) is is_known
