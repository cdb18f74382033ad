"""A lock was resolved by its tool: what it holds together, that tool was told to let be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.finding import Severity
from fadoctor.model.overlays import Overlays
from fadoctor.repair.resolution import resolver_worlds
from fadoctor.repair.resolution.judge import foresee_planned
from fadoctor.sources.targets.overlay import apply_overlays
from tests.unit.repair.plan.problems import session
from tests.unit.repair.resolution.test_judge import findings, judged
from tests.unit.sources.manifests.installed.test_environment import planned, value

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def all_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try all versions however many there are."""
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 10_000)


def lock(*pins: str, manifest: str = "", needs: dict[str, tuple[str, ...]] | None = None) -> str:
    """Return a lock of a project that requires all that is pinned."""
    text = f"version = 1\nrevision = 3\n{manifest}"
    for pin in pins:
        name, version = pin.split("==")
        edges = ", ".join(f'{{ name = "{each}" }}' for each in (needs or {}).get(name, ()))
        text += f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        text += 'source = { registry = "https://index.example.org/simple" }\n'
        text += f"dependencies = [{edges}]\n"
    edges = ", ".join(f'{{ name = "{pin.split("==")[0]}" }}' for pin in pins)
    text += '[[package]]\nname = "ours"\nversion = "0"\nsource = { virtual = "." }\n'
    return f"{text}dependencies = [{edges}]\n"


VLLM = ("vllm==0.8.5.post1", "torch==2.6.0", "triton==3.2.0", "xformers==0.0.29.post3")


def test_what_an_override_let_be_is_no_unmet_requirement(tmp_path: Path) -> None:
    """Regression: vLLM's pin of xformers was held against a lock that overrides it."""
    text = lock(*VLLM, needs={"vllm": ("torch", "xformers"), "torch": ("triton",)})
    found = findings(judged(tmp_path, text, "A100"))
    assert "requirement-unmet" not in found
    needs = value(planned(tmp_path, text), "vllm.requires")
    assert isinstance(needs, dict)
    assert needs["xformers"] == ""
    assert needs["torch"] == "==2.6.0", "what is met still bounds what a plan may choose"


def test_a_list_with_the_same_pins_has_one(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "".join(f"{pin}\n" for pin in VLLM), "A100"))
    assert {"requirement-unmet", "requirements-contradict"} & found.keys()


def test_what_has_no_facts_of_its_own_neither(tmp_path: Path) -> None:
    """Regression: numba's bound on NumPy was, which tables alone tell."""
    pins = ("torch==2.8.0", "triton==3.4.0", "numba==0.61.2", "numpy==2.4.0")
    needs: dict[str, tuple[str, ...]] = {"numba": ("numpy",), "torch": ("triton",)}
    assert "requirement-unmet" not in findings(judged(tmp_path, lock(*pins, needs=needs), "A100"))
    listed = findings(judged(tmp_path, "".join(f"{pin}\n" for pin in pins), "A100"))
    assert {"requirement-unmet", "requirements-contradict"} & listed.keys()


LEFT_OUT = """[manifest]
overrides = [
    { name = "torch", marker = "sys_platform == 'never'" },
    { name = "urllib3", specifier = ">=2.6" },
]
"""


def test_what_a_project_keeps_out_of_its_lock_is_there_before(tmp_path: Path) -> None:
    """Regression: torch was missing, which the image of the project holds."""
    text = lock("accelerate==1.14.0", "peft==0.20.0", manifest=LEFT_OUT)
    assert value(planned(tmp_path, text), "torch.version") == "?"
    assert "torch-missing" not in findings(judged(tmp_path, text, "H100", "580.82"))
    whole = lock("accelerate==1.14.0", "peft==0.20.0")
    assert "torch-missing" in findings(judged(tmp_path, whole, "H100", "580.82"))


def test_an_override_for_one_system_keeps_nothing_out(tmp_path: Path) -> None:
    manifest = LEFT_OUT.replace("never", "darwin")
    text = lock("accelerate==1.14.0", "peft==0.20.0", manifest=manifest)
    assert "torch-missing" in findings(judged(tmp_path, text, "H100", "580.82"))


def test_a_torch_that_comes_along_is_the_one_that_a_pin_requires(tmp_path: Path) -> None:
    """Regression: all that goes wrong beside other releases of torch was told as notes."""
    text = "xformers==0.0.33.post2\naccelerate==1.13.*\nours\n"
    found = findings(judged(tmp_path, text, "RTX 3090", "570.133"))
    assert not {"xformers-torch-mismatch", "driver-too-old"} & found.keys()


def test_a_torch_that_no_file_names_may_be_there_before(tmp_path: Path) -> None:
    """Regression: an error where another package may bound it, a warning elsewhere."""
    for text in ("accelerate==1.13.*\nours\n", "accelerate==1.13.0\n"):
        here = apply_overlays(planned(tmp_path, text), Overlays(("RX 7900 XTX",)), session().matrix)
        found = findings(foresee_planned(here, session().knowledge))
        assert found["torch-other-vendor"].severity is Severity.WARNING
        assert "No file names torch" in found["torch-other-vendor"].message


def test_old_releases_of_what_comes_along_are_not_told(tmp_path: Path) -> None:
    """Regression: torch 2.0 has no code for Hopper, and nobody takes it any more."""
    found = findings(judged(tmp_path, "accelerate==1.1.1\n", "H100", "580.82"))
    assert "torch-arch-unsupported" not in found
