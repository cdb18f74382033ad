"""The text that would be written is read again and judged."""

from __future__ import annotations

from pathlib import Path

from fadoctor.model.plan import Change
from fadoctor.repair.resolution.judge import plan_base
from fadoctor.repair.resolution.lines import Rewrite
from fadoctor.repair.resolution.rewritten import (
    NewTexts,
    judge_rewritten,
    with_what_comes,
    written_changes,
)
from fadoctor.sources.manifests.source import open_source
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_planner import changed
from tests.unit.repair.resolution.test_judge import on

WHEEL = (
    "flash-attn @ https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/"
    "flash_attn-2.8.3%2Bcu12torch2.7cxx11abiTRUE-cp312-cp312-linux_x86_64.whl\n"
)


def judged(folder: Path, before: str, after: str) -> set[str]:
    environment = on(folder, before, "A100", "550.54.15")
    name = str(folder / "0" / "requirements.txt")
    rewrite = Rewrite(open_source(name), after)
    found = judge_rewritten(environment, session().knowledge, (name,), NewTexts((rewrite,), {}))
    assert Path(name).read_text("utf-8") == before
    return {each.rule_id for each in found.worse}


def test_a_wheel_without_its_torch_is_worse(tmp_path: Path) -> None:
    """A file of two lines got a wheel for torch 2.8, no torch, and two more errors."""
    assert "wheel-torch-mismatch" in judged(tmp_path, "flash-attn==2.6.3\n", WHEEL)


def test_with_its_torch_it_is_not(tmp_path: Path) -> None:
    assert judged(tmp_path, "flash-attn==2.6.3\n", f"torch==2.7.1\n{WHEEL}") == set()


def test_what_was_wrong_before_is_not_new(tmp_path: Path) -> None:
    assert judged(tmp_path, f"torch==2.6.0\n{WHEEL}", f"torch==2.5.1\n{WHEEL}") == set()


def test_an_included_file_is_read_as_it_would_be(tmp_path: Path) -> None:
    environment = on(tmp_path, "flash-attn==2.6.3\n", "A100", "550.54.15")
    name = str(tmp_path / "0" / "requirements.txt")
    Path(name).with_name("more.txt").write_text("torch==2.7.1\n", "utf-8")
    Path(name).write_text("-r more.txt\n", "utf-8")
    included = open_source(str(Path(name).with_name("more.txt")))
    rewrite = Rewrite(included, f"torch==2.6.0\n{WHEEL}")
    found = judge_rewritten(environment, session().knowledge, (name,), NewTexts((rewrite,), {}))
    assert {each.subject for each in found.worse} == {"flash-attn"}


def test_what_only_the_new_text_decides_is_planned_for(tmp_path: Path) -> None:
    """Beside a torch that vLLM refuses no transformers was decided, and so none was bounded."""
    before = "fastapi>=0.115\ntorch==2.7.1\ntransformers>=4.55\nvllm==0.11.0\n"
    environment = on(tmp_path, before, "A100", "570.86.15")
    name = str(tmp_path / "0" / "requirements.txt")
    rewrite = Rewrite(open_source(name), before.replace("2.7.1", "2.8.0"))
    found = judge_rewritten(environment, session().knowledge, (name,), NewTexts((rewrite,), {}))
    assert {each.rule_id for each in found.worse} == {"vllm-transformers-too-new"}
    base = with_what_comes(plan_base(environment, session().knowledge), found.environment)
    after = changed(plan(base))
    assert (after["torch"], after["transformers"]) == ("2.8.0", "4.57.6")


def test_a_lock_is_judged_as_its_tool_writes_it(tmp_path: Path) -> None:
    """The old lock's triton beside the new torch was an error, so that nothing was written."""
    environment = on(tmp_path, "torch==2.6.0\n", "RTX 5090", "580.65")
    name, lock = tmp_path / "0" / "requirements.txt", tmp_path / "0" / "uv.lock"
    package = "[[package]]\nname = '{}'\nversion = '{}'\nsource = {{}}\n"
    locked = {"torch": "2.6.0", "triton": "3.2.0", "sympy": "1.13.1"}
    lock.write_text("version = 1\n" + "".join(package.format(*each) for each in locked.items()))
    new = NewTexts(
        (Rewrite(open_source(str(name)), "torch==2.8.0\n"),),
        {"torch": "2.8.0", "triton": "3.4.0", "sympy": ">=1.13.3"},
    )
    found = judge_rewritten(environment, session().knowledge, (str(name), str(lock)), new)
    assert found.given.fact("triton.version").value == "3.4.0"  # type: ignore[union-attr] # Known
    assert not found.worse


def test_what_a_plan_says_is_gone_and_is_there_is_worse(tmp_path: Path) -> None:
    """A plan moved vLLM to a release that the same line rules out, and called it repaired."""
    before, after = (f"vllm=={v}\ntransformers<4.50\n" for v in ("0.11.0", "0.16.0"))
    environment = on(tmp_path, before, "A100", "580.65")
    name = str(tmp_path / "0" / "requirements.txt")
    for left, is_worse in ((frozenset(), True), (None, False)):
        new = NewTexts((Rewrite(open_source(name), after),), {}, left)
        found = judge_rewritten(environment, session().knowledge, (name,), new)
        assert ("requirements-contradict" in {each.rule_id for each in found.worse}) is is_worse


def test_a_torch_that_no_file_names_is_no_error_of_the_new_text(tmp_path: Path) -> None:
    """A list of two packages was not changed, as it names no torch: an installer brings it."""
    texts = [f"unsloth-zoo==2026.7.2\npeft=={version}\n" for version in ("0.15.1", "0.21.2")]
    assert judged(tmp_path, *texts) == set()


def test_changes_of_what_no_line_names_are_what_comes(tmp_path: Path) -> None:
    """The plan named an xformers that the new vLLM does not bring, and a torch that is older."""
    before = "vllm==0.7.3\n"
    environment = on(tmp_path, before, "H100", "580.95.05")
    name = str(tmp_path / "0" / "requirements.txt")
    rewrite = Rewrite(open_source(name), "vllm==0.33.0\ntriton==3.8.0\n")
    found = judge_rewritten(environment, session().knowledge, (name,), NewTexts((rewrite,), {}))
    told = (
        Change("vllm", "0.7.3", "0.33.0"),
        Change("torch", "2.5.1", "2.13.0"),
        Change("triton", "", "3.8.0"),
        Change("xformers", "0.0.28.post3", "0.0.35"),
        Change("einops", "0.8.1", ""),
    )
    assert [(each.distribution, each.after) for each in written_changes(told, found)] == [
        ("vllm", "0.33.0"),
        ("torch", "2.14.0"),
        ("triton", "3.8.0"),
        ("einops", ""),
    ]
