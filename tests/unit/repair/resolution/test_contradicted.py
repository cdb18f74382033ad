"""What releases require and the files rule out, where no rule could compare two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor import api
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.environment import Environment, Target
from fadoctor.model.finding import Severity
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.repair.resolution import resolver_worlds
from fadoctor.repair.resolution.judge import foresee_planned, plan_base
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_planner import changed
from tests.unit.repair.resolution.test_judge import findings, judged, on

if TYPE_CHECKING:
    from pathlib import Path

RULE = "requirements-contradict"


@pytest.fixture(autouse=True)
def all_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try all versions however many there are."""
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 10_000)


def told(folder: Path, *lines: str) -> str:
    """Return what is said, "" where nothing is."""
    found = findings(judged(folder, "".join(f"{line}\n" for line in lines), "H100", "580.65"))
    return found[RULE].message if RULE in found else ""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ("trl==0.24.0", "transformers<4.50"),
            "trl==0.24.0 requires transformers>=4.56.1, and transformers<4.50 is asked for",
        ),
        (
            ("vllm==0.11.0", "transformers<4.50"),
            "vllm==0.11.0 requires transformers>=4.55.2, and transformers<4.50 is asked for",
        ),
        (
            ("transformers==4.57.1", "huggingface_hub>=1.0"),
            "transformers==4.57.1 requires huggingface-hub>=0.34.0,<1.0",
        ),
        (("datasets==3.2.0", "fsspec>=2025.1"), "datasets==3.2.0 requires fsspec<=2024.9.0"),
        (
            ("vllm==0.11.0", "sglang==0.5.3"),
            "vllm==0.11.0 requires outlines-core==0.2.11, and sglang==0.5.3 requires outlines-core",
        ),
        (
            ("vllm==0.8.5", "sglang[all]==0.4.6.post1", "torch==2.6.0"),
            "vllm==0.8.5 requires xgrammar==0.1.18, and sglang==0.4.6.post1 requires xgrammar",
        ),
        (
            ("trl>=0.20,<0.25", "transformers<4.50"),
            "every known release of trl<0.25,>=0.20 requires another transformers",
        ),
        (("trl>=0.20", "transformers<4.50"), "every known release of trl>=0.20 requires another"),
        (("llamafactory==0.9.4", "transformers>=5"), "and transformers>=5 is asked for"),
    ],
)
def test_a_range_that_is_ruled_out_is_an_error(
    tmp_path: Path, lines: tuple[str, ...], said: str
) -> None:
    assert said in told(tmp_path, *lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("trl==0.24.0", "transformers<5"),
        ("trl==99.0", "transformers<4.50"),  # nobody knows what it requires
        ("trl", "transformers<4.50"),  # an old trl may do
        ("trl>=0.1", "transformers<4.30"),  # the tables do not have those
        ("transformers<5", "huggingface-hub>=1.5"),  # an ancient transformers may do
        ("llamafactory>=0.9.4", "transformers>=6"),  # a later one may do
        ("trl==0.24.0", "transformers @ git+https://github.com/huggingface/transformers"),
    ],
)
def test_what_some_release_may_meet_is_none(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert not told(tmp_path, *lines)


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("3.9.18", "needs Python >=3.11.0, as "),
        ("3.9", "4.57.6 is the last release for it"),
        ("3.13", ""),
        ("", ""),
    ],
)
def test_a_main_branch_needs_the_python_of_its_newest_release(
    tmp_path: Path, python: str, said: str
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("git+https://github.com/huggingface/transformers\n")
    facts = {"python.version": fact_of(python)} if python else {}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    found = planned_environment(machine, (read_manifest(str(file)),), session().matrix)
    told = str(found.facts["packages.contradicted"])
    assert (said in told) if said else "main branch" not in told


def test_both_lines_are_shown_and_fix_says_the_same(tmp_path: Path) -> None:
    text = "transformers==4.57.1\nhuggingface_hub>=1.0\n"
    finding = findings(judged(tmp_path, text, "H100", "580.65"))[RULE]
    assert finding.severity is Severity.ERROR
    assert [each.line for each in finding.locations] == [1, 2]
    base = plan_base(on(tmp_path, text, "H100", "580.65"), session().knowledge)
    made = make_plan(base, session(), PlannerRequest())
    assert changed(made) == {"huggingface-hub": "0.36.2"}
    assert not made.proof.errors


def test_what_is_ruled_out_is_told_once(tmp_path: Path) -> None:
    text = "sentence-transformers==3.0.1\ntransformers>=5\n"
    assert set(findings(judged(tmp_path, text, "H100", "580.65"))) == {RULE}


def test_what_has_a_version_is_told_too(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "torch==2.8.0\ntriton>=3.5\n", "H100", "580.65"))
    assert found["triton-torch-version"].message == (
        "torch 2.8.0 requires triton==3.4.0, but triton>=3.5 is asked for."
    )


@pytest.mark.parametrize(
    "text",
    [
        "torch==2.4.0\ntorchvision==0.20.1\n",
        "torch==2.8.0\ntrl==0.12.2\ntransformers==4.57.1\n",
        "torch==2.6.0\nvllm==0.8.4\ntransformers==4.49.0\n",
    ],
)
def test_exact_pins_that_exclude_each_other_are_an_error(tmp_path: Path, text: str) -> None:
    """Regression: an installer refuses the list, and it was a warning."""
    found = findings(judged(tmp_path, text, "A100", "580.65"))
    assert found[RULE].severity is Severity.ERROR


def test_a_constraint_bounds_what_something_else_brings(tmp_path: Path) -> None:
    """Without it the newest torch was assumed, whatever the constraint said."""
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "bounds.txt").write_text("torch==2.5.1\n")
    found = judged(tmp_path, "-c bounds.txt\nflash-attn\n", "H100", "580.65")
    assert found.planned.environment.fact("torch.version").value == "2.5.1"  # type: ignore[union-attr] # Known
    broken = judged(tmp_path, "-c bounds.txt\nvllm==0.11.0\n", "H100", "580.65")
    assert findings(broken)["vllm-torch-mismatch"].message == (
        "vLLM 0.11.0 requires torch==2.8.0, but torch==2.5.1 is asked for."
    )


def test_only_what_an_index_has_is_picked(tmp_path: Path) -> None:
    environment = on(tmp_path, "torch>=2.4,<2.9\n", "A100", "550.54")
    tied = msgspec.structs.replace(environment, builds={"torch": "cu121"})
    picked = [
        plan_base(each, session().knowledge).fact("torch.version") for each in (environment, tied)
    ]
    assert [str(getattr(each, "value", "")).partition("+")[0] for each in picked] == [
        "2.8.0", "2.5.1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        # NumPy has a table of its own
        ("verl==0.6.1\nnumpy==2.2.6\n", {"numpy": "1.26.4"}),
        # no table lists the releases of openai: a newer vLLM was chosen, to have its openai
        ("vllm==0.11.0\nopenai==1.50.0\ntransformers==4.57.1\n", {"openai": ">=1.99.1"}),
        # an extra pins it, and the release is in no table
        ("sglang[srt]==0.4.9.post2\nsgl-kernel==0.1.2.post1\n", {"sgl-kernel": "0.2.5"}),
        # an extra that does not pin it
        ("sglang[blackwell]==0.4.6.post4\nsgl-kernel==0.1.3\ntorch==2.6.0\n", {}),
        # a line that bounds it, of the major version that the line is about
        ("trl==0.24.0\ntransformers<4.50\n", {"transformers": "4.57.6"}),
        # vLLM moved to another release, which requires the same
        ("vllm==0.11.0\ntransformers<4.50\n", {"transformers": "4.57.6"}),
        # a later release that no other line refuses
        (
            "torch==2.6.0\ndeepspeed==0.14.2\npydantic==1.10.13\n",
            {"deepspeed": "0.14.5"},
        ),
        ("torch==2.6.0\ndeepspeed==0.14.2\npydantic==2.9.2\n", {"deepspeed": "0.19.8"}),
        ("datasets==3.2.0\nfsspec>=2025.1\n", {"fsspec": "<=2024.9.0,>=2023.1.0"}),
        # what it compares at import
        (
            "transformer-engine==2.5.0\ntransformer-engine-torch==2.7.0\n",
            {"transformer-engine": "2.7.0"},
        ),
    ],
)
def test_the_line_that_another_rules_out_is_changed_alone(
    tmp_path: Path, text: str, changes: dict[str, str]
) -> None:
    base = plan_base(on(tmp_path, text, "H100", "580.65"), session().knowledge)
    plan = make_plan(base, session(), PlannerRequest())
    assert changed(plan) == changes
    assert not plan.proof.errors


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("axolotl==0.15.0\ntorch==2.9.1\n", {"torch": "2.8.0"}),
        ("tensordict==0.15.1\ntorch==2.4.1\n", {"torch": "2.13.0"}),
        ("sglang==0.5.6\nsgl-kernel==0.3.14\n", {"sgl-kernel": "0.3.18.post2"}),
    ],
)
def test_pins_of_frameworks_without_facts_of_their_own_count(
    tmp_path: Path, text: str, changes: dict[str, str]
) -> None:
    base = plan_base(on(tmp_path, text, "H100", "580.65"), session().knowledge)
    assert changed(make_plan(base, session(), PlannerRequest())).items() >= changes.items()


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ("- torchvision==0.15.2", "torchvision==0.15.2 requires torch==2.0.1"),
        ("- torchvision==0.20.1", ""),
        ("- pip:\n  - torchvision==0.15.2", ""),
    ],
)
def test_torch_of_conda_is_told_beside_what_conda_brings(
    tmp_path: Path, beside: str, said: str
) -> None:
    file = tmp_path / "environment.yml"
    file.write_text(f"channels: [pytorch]\ndependencies:\n- pytorch==2.5.1\n{beside}\n")
    machine = on(tmp_path, "", "H100", "580.65")
    environment = planned_environment(machine, (read_manifest(str(file)),), session().matrix)
    found = findings(foresee_planned(environment, session().knowledge))
    assert bool(said) == (RULE in found)
    assert not said or said in found[RULE].message


@pytest.mark.parametrize(
    ("line", "name", "release"),
    [
        ("vllm==0.8.2\n", "vllm", "0.8.5.post1"),
        ("vllm>=0.8.0,<0.8.3\n", "vllm", "0.8.5.post1"),
        ("torch==2.2.2\nnumpy==1.24.4\n", "numpy", "1.26.4"),
    ],
)
def test_what_the_index_has_lost_gives_way_to_a_release_near_it(
    tmp_path: Path, line: str, name: str, release: str
) -> None:
    """Nothing was planned: the pin was taken for one that an installer meets."""
    base = plan_base(on(tmp_path, line, "A100", "550.54.15"), session().knowledge)
    assert changed(plan(base))[name] == release


def test_kernels_that_the_index_has_lost_move_a_pinned_framework(tmp_path: Path) -> None:
    line = "sglang[all]==0.4.5\n"
    base = plan_base(on(tmp_path, line, "H100", "550.54.15"), session().knowledge)
    assert version_key(changed(plan(base))["sglang"]) > version_key("0.4.6")


def test_a_pinned_framework_stays_where_another_line_can_give_way(tmp_path: Path) -> None:
    line = "sglang==0.5.5.post3\ntorch==2.9.1\n"
    base = plan_base(on(tmp_path, line, "H100", "570.124.06"), session().knowledge)
    after = changed(plan(base))
    assert after["torch"] == "2.8.0"
    assert "sglang" not in after


@pytest.mark.parametrize(
    ("pin", "platform", "python", "said"),
    [
        ("bitsandbytes==0.43.0", "linux_aarch64", "3.11", "0.43.0 has no file for linux_aarch64"),
        (
            "triton==3.1.0",
            "linux_x86_64",
            "3.13",
            "3.1.0 has no file for",
        ),
        (
            "sglang==0.5.9",
            "linux_x86_64",
            "3.14",
            "and Python 3.14",
        ),
        ("sglang==0.5.23", "linux_x86_64", "3.14", "0.5.23 has no file for"),
        ("sglang==0.5.9", "linux_x86_64", "3.13", ""),
        ("sglang==0.5.10", "linux_aarch64", "3.14", ""),
        ("bitsandbytes==0.43.0", "linux_x86_64", "3.11", ""),
        ("triton==3.1.0", "linux_x86_64", "3.12", ""),
        ("bitsandbytes>=0.43.0", "linux_aarch64", "3.11", ""),  # a newer one has
        ("xformers==0.0.31", "linux_aarch64", "3.11", ""),  # there are sources
    ],
)
def test_a_pin_without_a_file_here_is_an_error(
    tmp_path: Path, pin: str, platform: str, python: str, said: str
) -> None:
    """Regression: it was left as it was, and said to work."""
    file = tmp_path / "requirements.txt"
    file.write_text(f"{pin}\n")
    found = api.check(requirements=file, gpu="none", python_version=python, platform=platform)
    texts = [each.message for each in found.findings if each.rule_id == RULE]
    assert [said in each for each in texts] == [True] * bool(said)


def test_a_pin_without_a_file_moves_to_a_release_that_has_one(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("bitsandbytes==0.43.0\ntorch==2.9.1\n")
    found = api.plan(requirements=file, gpu="none", python_version="3.11", platform="linux_aarch64")
    assert [each.distribution for each in found.changes] == ["bitsandbytes"]
    assert not found.proof.errors


@pytest.mark.parametrize(
    ("python", "numpy"), [("3.11", "2.3.5"), ("3.12", "2.3.5"), ("3.13", "2.5.5")]
)
def test_what_is_ruled_out_moves_to_a_release_for_this_python(
    tmp_path: Path, python: str, numpy: str
) -> None:
    """Regression: the newest of all was written, which takes only newer Pythons.

    Below Python 3.13 its mistral-common refuses NumPy 2.4.
    """
    file = tmp_path / "requirements.txt"
    file.write_text("axolotl==0.17.0\nnumpy<2\n")
    found = api.plan(requirements=file, gpu="none", python_version=python, platform="linux_x86_64")
    assert changed(found)["numpy"] == numpy


def test_what_the_new_text_alone_brings_is_planned_with_it(tmp_path: Path) -> None:
    """Regression: the text was refused for its torch, and the contradiction was not told."""
    file = tmp_path / "requirements.txt"
    file.write_text("llamafactory==0.9.2\ntransformers==4.51.3\ntrl==0.17.0\n")
    found = api.plan(
        requirements=file,
        gpu="RTX 4090",
        driver="560.35.03",
        python_version="3.11",
        platform="linux_x86_64",
    )
    assert changed(found)["transformers"] == "4.49.0"
    assert changed(found)["torch"].endswith("+cu126")
    assert not found.proof.errors


@pytest.mark.parametrize(
    ("lines", "is_told"),
    [
        # tokenizers 0.14 requires huggingface-hub<0.18 in each release
        (("diffusers==0.24.0", "transformers==4.35.0"), True),
        (("diffusers==0.23.1", "transformers==4.35.0"), False),
        (("diffusers==0.24.0", "transformers==4.36.2"), False),
        (("diffusers==0.24.0", "transformers==4.35.0", "tokenizers"), False),
    ],
)
def test_pins_that_exclude_each_other_through_what_they_bring(
    tmp_path: Path, lines: tuple[str, ...], *, is_told: bool
) -> None:
    said = told(tmp_path, *lines)
    assert bool(said) is is_told
    assert ("tokenizers<0.15,>=0.14, which requires huggingface-hub" in said) is is_told


@pytest.mark.parametrize(("python", "is_told"), [("3.9", False), ("3.10", True)])
def test_what_a_release_requires_on_other_pythons_is_no_contradiction(
    tmp_path: Path, python: str, *, is_told: bool
) -> None:
    """vLLM 0.11.0 requires another numba on Python 3.9: a list that pip froze was an error."""
    file = tmp_path / "requirements.txt"
    file.write_text("vllm==0.11.0\nnumba==0.60.0\nllvmlite==0.43.0\n")
    found = api.check(requirements=file, gpu="none", python_version=python, platform="linux_x86_64")
    assert any(each.rule_id == RULE for each in found.findings) is is_told


@pytest.mark.parametrize(
    ("text", "comes"),
    [
        ("torch==2.4.0\ntransformers==4.43.3\ntrl==0.9.3\ntrl==0.9.6\n", {"trl": "0.9.6"}),
        ("torch==2.4.0\ntransformers==4.43.3\ntransformers==4.44.2\n", {"transformers": "4.44.2"}),
        ("torch==2.4.0\nscipy==1.11.0\nscipy==1.12.0\n", {"scipy": "1.12.0"}),
        ("torch==2.4.0\ntransformers==4.44.2\ntransformers==4.44.2\n", {}),
    ],
)
def test_of_two_pins_the_newer_one_is_meant(
    tmp_path: Path, text: str, comes: dict[str, str]
) -> None:
    """Regression: the newest release of all came, and moved others with it."""
    here = on(tmp_path, text, "A100", "550.54.15")
    assert changed(plan(plan_base(here, session().knowledge))) == comes
