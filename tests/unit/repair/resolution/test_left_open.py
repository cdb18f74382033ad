"""What is said of a release that the files leave to an installer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.resolution.judge import plan_base
from fadoctor.repair.resolution.left_open import open_bounds, open_notes
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_planner import changed
from tests.unit.repair.resolution.test_judge import on

if TYPE_CHECKING:
    from pathlib import Path

UNREAD = "gradio>=4.0.0\n"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"torch==2.2.0\ntransformers>=4.41.2\n{UNREAD}", "transformers>=4.52,<5"),
        (f"torch==2.2.0\ntransformers>=4.41.2,<5\n{UNREAD}", ""),
        (f"torch==2.9.1\ntransformers>=4.41.2\n{UNREAD}", ""),
        ("torch==2.2.0\ntransformers>=4.41.2\n", ""),  # that is decided, and planned for
    ],
)
def test_what_the_newest_release_would_break_is_said(tmp_path: Path, text: str, asked: str) -> None:
    here = on(tmp_path, text, "RTX 4090", "550.54.15")
    notes = [n for n in open_notes(here, session().knowledge) if "which numpy" not in n]
    assert [asked] * bool(asked) == [each.partition("Ask for ")[2].split(" ")[0] for each in notes]
    assert all(each.startswith("an installer decides which transformers") for each in notes)


def test_a_release_that_a_pin_keeps_out_does_not_come(tmp_path: Path) -> None:
    """Regression: of a transformers that unsloth itself bounds, the newest of all was judged."""
    text = "unsloth==2025.12.9\ntrl==0.24.0\nan-unknown-package\n"
    here = on(tmp_path, text, "A100", "580.95")
    notes = list(open_notes(here, session().knowledge))
    assert not [each for each in notes if "transformers" in each]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"vllm==0.8.5\ntransformers>=4.51\n{UNREAD}", ["transformers>=4.51,<4.53"]),
        (f"vllm==0.8.5\n{UNREAD}", ["transformers<4.53"]),  # no file names it, and vLLM brings it
        (f"vllm==0.7.3\n{UNREAD}", ["transformers<4.51"]),  # what came long after it is untried
        (f"vllm==0.7.3\ntransformers>=4.55\n{UNREAD}", ["transformers>=4.55,<5"]),
        (f"torch==2.6.0\nvllm>=0.8\n{UNREAD}", ["transformers<4.54"]),  # one that pins this torch
        (f"vllm>=0.8\n{UNREAD}", []),
        (f"vllm==0.8.5\ntransformers>=4.51,<5\n{UNREAD}", []),
        (f"vllm==0.19.0\n{UNREAD}", []),  # its metadata bound it
        (f"torch==2.5.1\ntransformers>=5,<6\n{UNREAD}", ["transformers>=5.15,<5.20"]),
        ("vllm==0.8.5\n", []),  # that is decided, and planned for
        (f"torch==2.6.0\ntransformers\nbitsandbytes==0.45.3\n{UNREAD}", ["transformers<5"]),
        (f"torch==2.6.0\ntransformers\nbitsandbytes==0.49.0\n{UNREAD}", []),
        (f"torch==2.6.0\ntransformers>=5\nbitsandbytes==0.45.3\n{UNREAD}", []),  # none is left
        (f"torch==2.3.1\ntransformers==4.41.2\npeft>=0.10\n{UNREAD}", ["peft>=0.10,<0.14.0"]),
        (f"torch==2.3.1\ntransformers==4.41.2\npeft>=0.10,<0.13\n{UNREAD}", []),
    ],
)
def test_a_bound_keeps_what_fails_away(tmp_path: Path, text: str, asked: list[str]) -> None:
    here = on(tmp_path, text, "H100", "550.54.15")
    found = list(open_bounds(here, session().knowledge))
    assert [each.requirement for each in found] == asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("torch==2.1.2\ntransformers==4.36.2\nan-unknown-package\n", ["numpy<2"]),
        ("torch==2.2.0\ntorchvision==0.17.0\nnumpy>=1.21\nmatplotlib\n", ["numpy>=1.21,<2"]),
        ("torch==2.1.2\ntransformers==4.36.2\nmatplotlib==3.8.2\n", []),  # takes NumPy 1 alone
        ("torch==2.1.2\ntransformers==4.36.2\nnumpy<2\nan-unknown-package\n", []),
        # all that the line admits fails: the bound takes its place
        ("torch==2.1.2\ntransformers==4.36.2\nnumpy>=2,<3\nan-unknown-package\n", ["numpy<2"]),
        ("torch==2.3.1\ntransformers==4.36.2\nan-unknown-package\n", []),
        ("torch==2.1.2\nan-unknown-package\n", []),  # nothing is known to bring it
    ],
)
def test_an_old_torch_keeps_numpy_1_whoever_else_is_named(
    tmp_path: Path, text: str, asked: list[str]
) -> None:
    """Regression: beside one package of which no table knew, nothing was said of NumPy."""
    found = open_bounds(on(tmp_path, text, "A100", "550.54.15"), session().knowledge)
    assert [each.requirement for each in found] == asked


@pytest.mark.parametrize(
    ("text", "comes"),
    [
        ("vllm==0.8.5\n", "4.52.4"),
        ("vllm==0.8.5\n--constraint more.txt\n", None),
        ("vllm==0.19.0\n", None),
        ("vllm==0.8.5\ntransformers==4.51.3\n", None),
    ],
)
def test_what_a_pinned_server_brings_is_judged(
    tmp_path: Path, text: str, comes: str | None
) -> None:
    """Alone, vLLM 0.8.5 brings the newest transformers, with which it does not start."""
    (tmp_path / "0").mkdir(exist_ok=True)
    (tmp_path / "0" / "more.txt").write_text("transformers<4.53\n", "utf-8")
    here = on(tmp_path, text, "H100", "550.54.15")
    assert changed(plan(plan_base(here, session().knowledge))).get("transformers") == comes


def test_a_range_goes_with_who_asks_for_it(tmp_path: Path) -> None:
    """A newer vLLM was planned beside a bound that it refuses, so that no line was written."""
    here = on(tmp_path, "vllm==0.9.2\ntransformers\ntrl\n", "H100", "570.133.20")
    moved = changed(plan(plan_base(here, session().knowledge)))
    assert moved == {"transformers": "4.53.3", "trl": "0.15.2"}


@pytest.mark.parametrize(
    ("driver", "asked"), [("550.54.15", ["torch>=2.0.0,<2.11"]), ("580.95.05", [])]
)
def test_a_torch_that_comes_along_keeps_to_the_cuda_of_the_driver(
    tmp_path: Path, driver: str, asked: list[str]
) -> None:
    """Regression: no bound was found but torch<2, of another decade."""
    text = "accelerate==1.6.0\nunheard-of-package==1.0\n"
    found = open_bounds(on(tmp_path, text, "RTX 4090", driver), session().knowledge)
    assert [each.requirement for each in found if each.name == "torch"] == asked


def test_an_open_framework_gives_way_to_a_pinned_one(tmp_path: Path) -> None:
    """Regression: of two that do not go together the pinned one was moved to a new major."""
    text = "torch==2.8.0\ntrl==0.19.1\ntransformers>=4.51\npeft==0.15.2\naccelerate==1.8.1\n"
    here = plan_base(on(tmp_path, text, "A100", "570.124"), session().knowledge)
    found = changed(plan(here))
    assert set(found) == {"transformers"}


def test_an_open_framework_stays_in_the_range_of_its_line(tmp_path: Path) -> None:
    """Regression: the release of the other's time was written, though the line asks for newer."""
    text = "torch==2.6.0\ntrl==0.15.2\ntransformers>=4.51.3\npeft==0.14.0\naccelerate==1.4.0\n"
    here = plan_base(on(tmp_path, text, "L4", "580.95"), session().knowledge)
    found = changed(plan(here))
    assert set(found) == {"transformers"}
    assert found["transformers"].startswith("4.5")
