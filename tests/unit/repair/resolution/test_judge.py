"""Ranges, three-valued: always wrong, wrong with what a resolver takes today, wrong elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known, Unknown
from fadoctor.model.finding import Severity
from fadoctor.model.overlays import Overlays
from fadoctor.model.verdict import Backend, Dtype, Predicted
from fadoctor.repair.resolution import resolver_worlds
from fadoctor.repair.resolution.judge import Preflight, foresee_planned, plan_base
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from fadoctor.sources.targets.overlay import apply_overlays
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.resolution.test_helper_releases import newest
from tests.unit.sources.manifests.installed.test_environment import LOCK, planned

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding


@pytest.fixture(autouse=True)
def all_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try all versions however many there are."""
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 10_000)


def on(folder: Path, text: str, gpu: str, driver: str = "550.54") -> Environment:
    environment = planned(
        folder, text, host__glibc="2.39", host__libc="glibc", host__glibcxx="3.4.33"
    )
    return apply_overlays(environment, Overlays((gpu,), driver), session().matrix)


def judged(folder: Path, text: str, gpu: str, driver: str = "550.54") -> Preflight:
    return foresee_planned(on(folder, text, gpu, driver), session().knowledge)


def findings(found: Preflight) -> dict[str, Finding]:
    return {each.rule_id: each for each in found.shown.assessment.findings}


def on_arm(folder: Path, text: str, gpu: str, driver: str) -> Environment:
    environment = planned(
        folder, text, host__glibc="2.39", host__platform="linux_aarch64", host__machine="aarch64"
    )
    return apply_overlays(environment, Overlays((gpu,), driver), session().matrix)


def test_nobody_knows_what_is_compiled_where_no_file_is(tmp_path: Path) -> None:
    """Regression: xformers was said to be there with a FlashAttention-3 that no wheel brings."""
    text = "torch==2.7.1+cu128\nxformers==0.0.31.post1\n"
    ready = findings(judged(tmp_path, text, "RTX 5090", "580.95"))
    assert ready["xformers-fa3-blackwell"].severity is Severity.ERROR
    environment = on_arm(tmp_path, text, "RTX 5090", "580.95")
    compiled = foresee_planned(environment, session().knowledge)
    assert "xformers-fa3-blackwell" not in findings(compiled)
    assert isinstance(compiled.planned.environment.fact("xformers.extension"), Unknown)


def test_no_triton_is_wished_for_where_torch_brings_none(tmp_path: Path) -> None:
    """Regression: for ARM a plan ended in "Impossible: flex", for which nobody had asked."""
    text = "torch==2.7.1\nxformers==0.0.31\n"
    environment = on_arm(tmp_path, text, "GH200", "570.86")
    made = plan(plan_base(environment, session().knowledge))
    assert [change.after for change in made.changes] == ["2.7.1+cu128"]
    assert made.conflicts == ()
    assert not [wish for wish in made.wishes if wish.startswith("flex")]


def test_what_is_pinned_is_as_grave_as_installed(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "torch==2.11.0\n", "H100"))["driver-too-old"]
    assert found.severity is Severity.ERROR
    assert [at.line for at in found.locations] == [1]


def test_what_goes_wrong_in_every_version_stands(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "torch==2.7.1\nflash-attn>=2.7,<2.8\n", "V100"))
    assert found["gpu-too-old-fa2"].severity is Severity.ERROR
    assert "resolver" not in found["gpu-too-old-fa2"].message


def test_what_goes_wrong_with_what_a_resolver_takes_today_is_a_warning(tmp_path: Path) -> None:
    found = judged(tmp_path, "torch>=2.9,<2.12\n", "H100")
    finding = findings(found)["driver-too-old"]
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith(
        "A resolver picks torch 2.11.0 today; this happens since 2.11.0."
    )
    [cell] = [
        each
        for each in found.shown.verdicts
        if (each.backend, each.dtype) == (Backend.SDPA_FLASH, Dtype.BF16)
    ]
    assert cell.predicted is Predicted.UNKNOWN
    assert cell.detail.startswith("it depends on the version: fails with torch 2.11.0, works with")


def test_what_goes_wrong_elsewhere_in_the_range_is_a_note(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "torch>=2.6,<2.9\n", "RTX 5090", "580.65"))
    finding = found["torch-arch-unsupported"]
    assert finding.severity is Severity.NOTE
    assert "This happens up to torch 2.7.1, not with torch 2.8.0, which a" in finding.message


def test_what_goes_wrong_nowhere_is_not_said(tmp_path: Path) -> None:
    found = judged(tmp_path, "torch>=2.7,<2.9\n", "H100", "580.65")
    assert findings(found) == {}
    works = {
        each.backend
        for each in found.shown.verdicts
        if each.dtype is Dtype.BF16 and each.predicted is Predicted.WORKS
    }
    assert works >= {Backend.SDPA_FLASH, Backend.SDPA_MATH, Backend.TRITON, Backend.FLEX}


def test_what_a_resolver_brings_fits_what_is_named(tmp_path: Path) -> None:
    found = judged(tmp_path, "xformers==0.0.31\n", "H100", "580.65")
    facts = found.planned.environment
    assert [facts.fact(f"{name}.version") for name in ("torch", "triton")] == [
        Known("2.7.1", "torch==2.7.1"),
        Known("3.3.1", "triton==3.3.1"),
    ]
    notes = found.shown.environment.target.notes
    assert "Assumed to be picked by a resolver: torch 2.7.1, triton 3.3.1, numpy 2.5.5." in notes


def test_releases_that_do_not_fit_together_are_said(tmp_path: Path) -> None:
    found = judged(tmp_path, "torch>=2.8,<2.9\nxformers==0.0.31\n", "H100", "580.65")
    assert any(
        "no combination of releases" in note for note in found.shown.environment.target.notes
    )


def test_files_are_unknown_in_what_is_shown_and_by_label_in_what_is_planned(tmp_path: Path) -> None:
    found = judged(tmp_path, LOCK, "H100", "580.65")
    assert isinstance(found.shown.environment.fact("triton.binary.file"), Unknown)
    undecided = {each.rule_id for each in found.shown.assessment.unknown}
    assert "glibc-too-old" in undecided or "abi-undefined-symbol" in undecided
    base = plan_base(on(tmp_path, "torch==2.7.1\nours\n", "H100"), session().knowledge)
    assert isinstance(base.fact("torch.binary.file"), Known)
    assert base.fact("vllm.version").source == "assumed: no file names it"


def test_other_worlds_end_with_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 0)
    found = judged(tmp_path, "torch>=2.4\n", "H100")
    assert any(
        "were not tried: there are too many" in note
        for note in found.shown.environment.target.notes
    )


def test_what_does_not_fit_is_judged_with_what_it_brings_all_the_same(tmp_path: Path) -> None:
    found = judged(tmp_path, "torch==2.11.0\nvllm==0.9.2\n", "H100", "580.65")
    assert "vllm-torch-mismatch" in findings(found)
    assert "triton-missing" not in findings(found)
    assert any(
        "no combination of releases" in note for note in found.shown.environment.target.notes
    )


PEFT = "torch==2.8.0\npeft==0.17.0\n"


def test_a_helper_that_goes_wrong_from_a_version_on(tmp_path: Path) -> None:
    today = findings(judged(tmp_path, f"{PEFT}transformers>=4.56\n", "H100", "580.65"))
    assert today["peft-hybrid-cache"].severity is Severity.WARNING
    assert today["peft-hybrid-cache"].message.endswith(
        f"A resolver picks transformers {newest('transformers')} today; this happens since 5.0.0."
    )
    always = findings(judged(tmp_path, f"{PEFT}transformers>=5\n", "H100", "580.65"))
    assert always["peft-hybrid-cache"].severity is Severity.ERROR
    never = findings(judged(tmp_path, f"{PEFT}transformers>=4.50,<5\n", "H100", "580.65"))
    assert never == {}


@pytest.mark.sampled
@pytest.mark.parametrize("other", ["axolotl\n", "llamafactory\n", "unsloth\n", "tokenizers<0.22\n"])
def test_a_helper_that_something_may_bound_stays_open(tmp_path: Path, other: str) -> None:
    """Whatever bounds it leaves a part of its range: what is so in all of it is so."""
    always = judged(tmp_path, f"{PEFT}transformers>=5\n{other}", "H100", "580.65")
    said = findings(always)["peft-hybrid-cache"]
    assert said.severity is Severity.WARNING
    assert "The release of transformers>=5 to be installed is unknown" in said.message
    assert said.message.endswith("this happens with every release that the tables list.")
    assert isinstance(always.planned.environment.fact("transformers.version"), Unknown)
    partly = findings(judged(tmp_path, f"{PEFT}transformers>=4.56\n{other}", "H100", "580.65"))
    assert partly["peft-hybrid-cache"].severity is Severity.NOTE
    assert partly["peft-hybrid-cache"].message.endswith("this happens since 5.0.0.")
    never = judged(tmp_path, f"{PEFT}transformers>=4.50,<5\n{other}", "H100", "580.65")
    assert "peft-hybrid-cache" not in findings(never)
    assert "peft-hybrid-cache" in {each.rule_id for each in never.shown.assessment.unknown}


def test_no_part_of_a_range_speaks_for_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_worlds, "LOOSE_LIMIT", 0)
    found = judged(tmp_path, f"{PEFT}transformers>=5\naxolotl\n", "H100", "580.65")
    assert "peft-hybrid-cache" not in findings(found)


@pytest.mark.long
def test_helpers_are_taken_so_that_they_fit(tmp_path: Path) -> None:
    def taken(text: str, name: str) -> object:
        fact = judged(tmp_path, text, "H100", "580.65").planned.environment.fact(f"{name}.version")
        return fact.value if isinstance(fact, Known) else None

    assert taken("torch==2.8.0\ntrl==0.12.2\ntransformers>=4.40\n", "transformers") == "4.46.3"
    assert taken("torch==2.8.0\ntransformers==4.50.3\ntrl\n", "trl") == "0.18.2"
    assert taken("torch==2.8.0\nnumpy==2.1.0\naccelerate<0.34\n", "accelerate") == "0.31.0"
    assert taken("torch==2.8.0\nvllm==0.10.1\n", "transformers") is None  # no file names it
    assert taken("vllm==0.25.0\ntransformers\n", "transformers") != taken(
        "vllm==0.33.0\ntransformers\n", "transformers"
    )


def test_what_stands_in_an_extra_does_not_bind_an_installer(tmp_path: Path) -> None:
    """The torch of transformers stands in an extra: pip takes one that sets this torch aside."""
    found = findings(judged(tmp_path, "torch==2.4.0\ntransformers>=5\n", "H100", "580.65"))
    assert found["transformers-torch-too-old"].severity is Severity.WARNING
    assert "this happens since 5.15.0" in found["transformers-torch-too-old"].message


def test_helpers_bring_the_newest_torch_where_nothing_named_may_bound_it(tmp_path: Path) -> None:
    """Nothing was said of a torch of CUDA 13 that an old driver gets where no file names one."""
    found = findings(judged(tmp_path, "diffusers\naccelerate>=1\n", "RTX 3060", "470.223"))
    assert found["driver-too-old"].severity is Severity.WARNING
    assert "a resolver picks 2." in found["driver-too-old"].message
    environment = on(tmp_path, "diffusers\naccelerate>=1\n", "RTX 3060", "470.223")
    made = plan(plan_base(environment, session().knowledge))
    assert [change.after for change in made.changes if change.distribution == "torch"] == [
        "2.7.1+cu118"
    ]


def test_a_torch_that_something_unknown_may_bound_stays_open(tmp_path: Path) -> None:
    found = judged(tmp_path, "accelerate>=1\nan-unknown-package\n", "H100")
    assert isinstance(found.planned.environment.fact("torch.version"), Unknown)
    assert {each.severity for each in findings(found).values()} == {Severity.NOTE}


def test_a_range_without_a_release_that_is_known_spoils_nothing(tmp_path: Path) -> None:
    found = judged(tmp_path, "torch>=2.9,<2.12\ntransformers<4.30\n", "H100")
    assert findings(found)["driver-too-old"].severity is Severity.WARNING
    assert not any("no combination of releases" in n for n in found.shown.environment.target.notes)


def test_no_world_breaks_what_a_pinned_package_requires(tmp_path: Path) -> None:
    environment = on(tmp_path, "torch>=2.6\nxformers==0.0.31\n", "H100", "580.65")
    tried = resolver_worlds.try_out(environment, session().knowledge, session().matrix, ())
    assert {world.versions["torch"] for world in (tried.today, *tried.others)} == {"2.7.1"}


def test_helpers_that_do_not_fit_leave_the_rest_as_it_is(tmp_path: Path) -> None:
    text = "torch>=2.9,<2.12\ntrl==0.12.2\ntransformers>=4.50\n"
    found = judged(tmp_path, text, "H100")
    assert findings(found)["driver-too-old"].severity is Severity.WARNING
    assert any("no combination of releases" in n for n in found.shown.environment.target.notes)
    assert isinstance(found.planned.environment.fact("transformers.version"), Unknown)


def test_a_requirement_that_is_known_to_be_unmet_is_said(tmp_path: Path) -> None:
    broken = judged(tmp_path, "torch==2.8.0\ntrl==0.12.2\ntransformers==4.57.1\n", "H100", "580.65")
    assert "trl==0.12.2 requires transformers" in (
        findings(broken)["requirements-contradict"].message
    )
    whole = judged(tmp_path, "torch==2.8.0\ntrl==0.12.2\ntransformers==4.46.3\n", "H100", "580.65")
    assert findings(whole) == {}
    assert isinstance(whole.planned.environment.fact("trl.requires"), Unknown)  # there is more


def test_a_lock_knows_better_what_a_helper_requires(tmp_path: Path) -> None:
    """An override of the resolver: what the lock says of trl is what counts."""
    lock = LOCK.split("[[package]]", maxsplit=1)[0]
    for name, version, needs in (("trl", "0.12.2", "transformers"), ("transformers", "4.57.1", "")):
        listed = f'{{ name = "{needs}" }}' if needs else ""
        lock += f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        lock += 'source = { registry = "https://index.example.org/simple" }\n'
        lock += f"dependencies = [{listed}]\n"
    lock += '[[package]]\nname = "ours"\nversion = "0"\nsource = { virtual = "." }\n'
    lock += 'dependencies = [{ name = "trl" }]\n'
    found = judged(tmp_path, lock, "H100", "580.65")
    assert found.planned.environment.fact("trl.version").value == "0.12.2"  # type: ignore[union-attr]
    assert "requirement-unmet" not in findings(found)


@pytest.mark.long
def test_what_stands_first_is_taken_first(tmp_path: Path) -> None:
    """As uv does: trl 0.12.2 alone of its series has an upper bound on transformers."""
    wanted = ["trl>=0.12,<0.13\n", "transformers>=4.40\n"]

    def taken(lines: list[str]) -> tuple[str, ...]:
        environment = on(tmp_path, "torch==2.5.1\n" + "".join(lines), "H100", "580.65")
        today = resolver_worlds.try_out(
            environment, session().knowledge, session().matrix, ()
        ).today
        return today.versions["trl"], today.versions["transformers"]

    assert taken(wanted) == ("0.12.2", "4.46.3")
    assert taken(wanted[::-1]) == ("0.12.1", newest("transformers"))


@pytest.mark.parametrize(
    "start", ["FROM nvcr.io/nvidia/pytorch:23.01-py3\n", "ARG BASE\nFROM $BASE\n"]
)
def test_an_image_that_nobody_knows_may_hold_what_is_not_named(tmp_path: Path, start: str) -> None:
    """Regression: the newest torch was assumed on top of NGC's, and its driver missed."""
    file = tmp_path / "Dockerfile"
    file.write_text(f"{start}RUN pip install flash-attn==2.7.3 'transformers>=4.49' peft==0.17.0\n")
    machine = on(tmp_path, "", "H100", "565.57")
    environment = planned_environment(machine, (read_manifest(str(file)),), session().matrix)
    found = foresee_planned(environment, session().knowledge)
    assert findings(found) == {}
    for name in ("torch.version", "transformers.version"):
        assert isinstance(found.planned.environment.fact(name), Unknown)


def test_what_a_torch_of_conda_brings_is_not_said_to_be_missing(tmp_path: Path) -> None:
    """Regression: "needs triton, which is not installed", as no file names it."""
    file = tmp_path / "environment.yml"
    file.write_text(
        "channels: [conda-forge]\ndependencies:\n  - python=3.11\n"
        "  - pytorch=2.5.1=cuda126_py311*\n  - pip\n  - pip:\n    - flash-attn==2.7.0.post2\n"
    )
    machine = on(tmp_path, "", "A100", "560.35")
    environment = planned_environment(machine, (read_manifest(str(file)),), session().matrix)
    found = foresee_planned(environment, session().knowledge)
    flex = {v.predicted for v in found.shown.verdicts if v.backend is Backend.FLEX}
    assert flex == {Predicted.UNKNOWN}


def test_a_range_of_torch_from_conda_is_no_wheel_of_pypi(tmp_path: Path) -> None:
    """Regression: a range became PyPI's wheel where a resolver picked from it, and all worked."""
    file = tmp_path / "environment.yml"
    file.write_text(
        "channels: [conda-forge]\ndependencies:\n  - python=3.12\n"
        "  - pytorch=2.8.0\n  - flash-attn=2.8.3\n"
    )
    machine = on(tmp_path, "", "H100", "580.65.06")
    environment = planned_environment(machine, (read_manifest(str(file)),), session().matrix)
    found = foresee_planned(environment, session().knowledge)
    cells = {v.predicted for v in found.shown.verdicts if v.backend is Backend.FA2}
    assert Predicted.UNKNOWN in cells
    assert Predicted.WORKS not in {each.predicted for each in found.shown.verdicts}


def test_a_range_of_torch_for_amd_is_no_wheel_of_pypi(tmp_path: Path) -> None:
    text = "--index-url https://download.pytorch.org/whl/rocm6.4\ntorch>=2.8,<2.10\n"
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    machine = on(tmp_path, "", "H100", "580.65.06")
    environment = planned_environment(machine, (read_manifest(str(file)),), session().matrix)
    found = foresee_planned(environment, session().knowledge)
    assert findings(found).keys() == {"torch-other-vendor"}


def test_a_torch_that_something_named_brings_is_not_planned_unasked(tmp_path: Path) -> None:
    """Regression: the newest torch was added beside an sglang that brings another one."""
    environment = on(tmp_path, "accelerate==1.10.1\nan-unknown-package\n", "H100", "570.86")
    base = plan_base(environment, session().knowledge)
    assert plan(base).actions == ()
    assert [change.distribution for change in plan(base, want=("torch",)).changes][:1] == ["torch"]


def test_the_torch_that_sglang_brings_is_kept(tmp_path: Path) -> None:
    """Regression: torch 2.8.0 was planned for it beside sglang 0.5.9, which requires 2.9.1."""
    environment = on(tmp_path, "sglang==0.5.9\n", "A100", "580.65.06")
    base = plan_base(environment, session().knowledge)
    assert base.fact("torch.version") == Known("2.9.1", "torch==2.9.1")
    assert plan(base).actions == ()
    changes = plan(base, want=("flash-attn",)).changes
    assert {each.distribution for each in changes} == {"flash-attn", "einops"}
    assert any("torch2.9" in action.url for action in plan(base, want=("flash-attn",)).actions)


def test_a_pin_of_a_file_is_not_loosened_for_a_wish(tmp_path: Path) -> None:
    """Regression: no flash-attn is there for the torch of sglang 0.5.23, which lost its version."""
    environment = on(tmp_path, "sglang==0.5.23\n", "A100", "580.65.06")
    found = plan(plan_base(environment, session().knowledge), want=("flash-attn",))
    assert found.actions == ()
    assert "sglang requires torch==2.14.1" in found.conflicts[0].because[0]


def test_a_torch_that_only_comes_along_has_no_range_of_its_own(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "xformers\n", "V100"))
    message = found["torch-arch-unsupported"].message
    assert " today; it does not happen with torch 2." in message
    assert "happens since" not in message


def test_old_releases_of_what_is_named_without_a_bound_are_no_matter(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "bitsandbytes\nxformers\ncpm_kernels\n", "H100"))
    assert not [rule for rule in found if rule.startswith("bitsandbytes")]
    found = findings(judged(tmp_path, "bitsandbytes<0.47\nxformers\n", "H100"))
    assert [rule for rule in found if rule.startswith("bitsandbytes")]


def test_a_triton_that_no_file_names_is_not_said_to_be_another(tmp_path: Path) -> None:
    """torch's own triton has no file for this Python: nobody takes another one then."""
    environment = planned(tmp_path, "torch==2.1.2\n", python__version="3.12.1")
    found = foresee_planned(environment, session().knowledge).shown.assessment.findings
    assert "triton-torch-version" not in [each.rule_id for each in found]


def test_what_one_installer_takes_at_once_does_not_quarrel(tmp_path: Path) -> None:
    """It heeds what an open vllm requires of an open numpy, though another package may bound it."""
    files = "numpy\nray>=2.38\ntensordict<0.6\ntransformers<4.48\nvllm<=0.6.3\n"
    said = findings(judged(tmp_path, files, "A100", "580.65"))
    assert "requirement-unmet" not in said


def test_what_only_comes_along_heeds_who_brings_it(tmp_path: Path) -> None:
    """Regression: of vllm alone in a list it was said that NumPy would be too new for it."""
    assert "requirement-unmet" not in findings(judged(tmp_path, "vllm\ntransformers\n", "A100"))
