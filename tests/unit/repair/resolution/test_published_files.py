"""Wheels, sources alone, or nothing: what an installer can take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.knowledge.matrix.published_files import PublishedFiles
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.model.fact import fact_mapping
from fadoctor.repair.resolution.resolver_worlds import picks
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "version", "platform", "python", "come"),
    [
        ("bitsandbytes", "0.45.5", "linux_x86_64", "3.12", True),
        ("bitsandbytes", "0.45.5", "linux_aarch64", "3.12", None),
        ("xformers", "0.0.33", "linux_aarch64", "3.12", False),
        ("vllm", "0.2.5", "linux_x86_64", "3.13", False),
        ("vllm", "0.2.5", "linux_x86_64", "3.11", True),
        ("triton", "3.4.0", "win_amd64", "3.12", None),
        ("triton", "99.0", "win_amd64", "3.12", True),
        ("nobody", "1.0", "win_amd64", "3.12", True),
        ("triton", "3.4.0", "", "", True),
        ("tokenizers", "0.13.3", "linux_x86_64", "3.11", True),
        ("tokenizers", "0.13.3", "linux_x86_64", "3.12", False),
        ("tokenizers", "0.21.0", "linux_aarch64", "3.14", True),
        ("tokenizers", "0.21.0", "linux_aarch64", "3.8", False),
        ("tokenizers", "0.14.1", "win_amd64", "3.13", False),
        ("mmcv", "2.1.0", "", "", False),
        ("outlines-core", "0.1.13", "linux_aarch64", "3.11", None),
    ],
)
def test_what_comes(name: str, version: str, platform: str, python: str, come: bool | None) -> None:  # noqa: FBT001 -- a row of a table
    assert PublishedFiles(session().matrix, platform, python).come(name, version) is come


@pytest.mark.parametrize(
    ("name", "specifier", "python", "there"),
    [
        ("tokenizers", ">=0.11.1,!=0.11.3,<0.14", "3.12", False),
        ("tokenizers", ">=0.11.1,!=0.11.3,<0.14", "3.11", True),
        ("tokenizers", "", "3.12", True),
        ("tokenizers", ">=99", "3.12", True),
        ("nobody", "<2", "3.12", True),
    ],
)
def test_a_range_may_hold_no_release_with_a_file(
    name: str,
    specifier: str,
    python: str,
    there: bool,  # noqa: FBT001 -- a row of a table
) -> None:
    files = PublishedFiles(session().matrix, "linux_x86_64", python)
    assert files.has_one_in(name, specifier) is there


@pytest.mark.parametrize(("python", "compiled"), [("3.11", ()), ("3.12", ("tokenizers",))])
def test_what_a_release_requires_may_have_no_file(python: str, compiled: tuple[str, ...]) -> None:
    """transformers 4.33 itself serves every Python, and its tokenizers none since 3.12."""
    ready, place = ReadyMadeFiles(session().matrix), InstalledWhere("linux_x86_64", python)
    assert tuple(ready.compiled_along("transformers", "4.33.3", place)) == compiled
    assert ready.can_be_had("transformers", "4.33.3", {}, place) is (not compiled)


def test_what_is_pinned_may_require_what_no_file_is_for(tmp_path: Path) -> None:
    """Regression: vllm 0.7.3 stayed on Python 3.13, for which there is no file of its ray."""
    arm: dict[str, Any] = {"host__platform": "linux_aarch64", "host__machine": "aarch64"}
    files = PublishedFiles(session().matrix, "linux_aarch64", "3.13")
    assert files.has_nothing_in("ray", "==2.40.0")
    assert not files.has_nothing_in("ray", ">=2.40.0")
    assert not files.has_nothing_in("tokenizers", "<0.14")  # it has sources
    newer, older = (
        planned(tmp_path, "vllm==0.7.3\n", python__version=each, **arm).fact(
            "packages.contradicted"
        )
        for each in ("3.13.1", "3.12.1")
    )
    assert "ray==2.40.0, which has no file" in fact_mapping(newer)["vllm"]
    assert "ray" not in fact_mapping(older).get("vllm", "")


def test_a_release_that_only_sources_give_leaves_all_picks_open(tmp_path: Path) -> None:
    """Whether an installer compiles xformers decides about torch, too."""
    asked = "torch>=2.2\nxformers<0.0.34\n"
    arm = planned(tmp_path, asked, host__platform="linux_aarch64", host__machine="aarch64")
    assert picks(arm, session().matrix) == {}
    assert "xformers" in picks(planned(tmp_path, asked), session().matrix)


def test_a_release_whose_bounds_were_not_read_is_never_picked(tmp_path: Path) -> None:
    """Regression: vllm 0.7.0, which pins torch 2.5.1, was assumed beside torch 2.15.0."""
    found = picks(planned(tmp_path, "torch==2.15.0\nvllm>=0.6\n"), session().matrix)
    assert "vllm" not in found


def test_a_numpy_that_is_compiled_leaves_the_others_decided(tmp_path: Path) -> None:
    """Regression: of numpy<2 on Python 3.13 "no combination" was said, and nothing was picked."""
    asked = "torch==2.5.1\ntransformers\nnumpy<2\naccelerate\n"
    found = planned(tmp_path, asked, python__version="3.13.1")
    assert "transformers" in picks(found, session().matrix)


def test_what_the_newest_release_brings_is_picked(tmp_path: Path) -> None:
    """Regression: of trl without a release nobody asked which transformers comes along."""
    found = picks(planned(tmp_path, "torch==2.5.1\ntrl\n"), session().matrix)
    assert {"trl", "transformers"} <= found.keys()


def test_pins_that_exclude_each_other_give_no_picks(tmp_path: Path) -> None:
    asked = "torch==2.9.1\ntorchvision==0.17.2\ntransformers>=5\n"
    assert picks(planned(tmp_path, asked), session().matrix) == {}


def test_windows_has_no_triton(tmp_path: Path) -> None:
    windows = planned(tmp_path, "unsloth\n", host__platform="win_amd64", host__os="windows")
    assert "triton" not in picks(windows, session().matrix)
