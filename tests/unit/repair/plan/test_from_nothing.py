"""Plans from an empty environment, and wishes that an expert can meet: none is impossible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.packages import PACKAGES
from fadoctor.model.plan import ActionKind, PlanOutcome
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.repair.plan.search import solve
from fadoctor.repair.plan.search.problem import Session
from fadoctor.repair.plan.written.actions import Writer
from fadoctor.repair.plan.written.dialect import Dialect
from fadoctor.report.plan_text import render
from fadoctor.sources.targets.derived import derive
from tests.states.sequences import on_platform
from tests.states.starts import start
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import plan, problem, session, with_package

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15")
A100_580 = ("NVIDIA A100-SXM4-80GB", "8.0", "580.65.06")
H100 = ("NVIDIA H100 80GB HBM3", "9.0", "550.54.15")
H100_580 = ("NVIDIA H100 80GB HBM3", "9.0", "580.65.06")
GH200 = ("NVIDIA GH200 480GB", "9.0", "560.35.03")
GB10 = ("NVIDIA GB10", "12.1", "580.95.05")
B200 = ("NVIDIA B200", "10.0", "580.65.06")
WHEEL = (
    "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/"
    "flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
)


def changed(found: Plan) -> dict[str, str]:
    return {change.distribution: change.after for change in found.changes}


def ready_made(python: str) -> set[str]:
    """Return the minors of torch that an official file fits, by the table."""
    files = session().candidates.files.wheels.official()
    return {
        f.torch for f in files if f.verified and f.python == python and f.platform == "linux_x86_64"
    }


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12"])
def test_the_newest_torch_with_a_ready_made_file_is_proposed(python: str) -> None:
    """torch 1.13.1 of 2022 was, as it needs no triton: what is new costs by its age."""
    found = plan(start("empty", A100_580, python), want=("flash-attn",))
    assert found.outcome is PlanOutcome.REPAIRS
    assert found.proof.clean
    newest = max(ready_made(f"cp{python.replace('.', '')}"), key=version_key)
    assert changed(found)["torch"].startswith(f"{newest}.")
    assert set(changed(found)) >= {"torch", "triton", "flash-attn", "einops"}


@pytest.mark.parametrize("gpu", [A100, A100_580, H100])
def test_vllm_and_flash_attn_go_together(gpu: tuple[str, str, str]) -> None:
    """It was called what no change of packages helps: the xformers of vLLM was not searched."""
    found = plan(start("empty", gpu), want=("vllm", "flash-attn"))
    assert (found.outcome, found.proof.errors) == (PlanOutcome.REPAIRS, ())
    assert set(changed(found)) >= {"vllm", "flash-attn", "torchvision", "torchaudio"}


@pytest.mark.parametrize(
    ("wish", "name", "gpu"),
    [
        ("fa4", "flash-attn-4", B200),
        ("fa3", "flash-attn-3", H100_580),
        ("flash-attn", "flash-attn", B200),
    ],
)
def test_known_files_and_releases_meet_a_wish(
    wish: str, name: str, gpu: tuple[str, str, str]
) -> None:
    found = plan(start("empty", gpu), want=(wish,))
    assert found.outcome is PlanOutcome.REPAIRS
    assert name in changed(found)


def test_fa3_beside_a_torch_that_is_there() -> None:
    found = plan(start("missing triton", H100_580), want=("fa3",))
    [item] = [i for a in found.actions for i in a.requirements if i.startswith("flash-attn-3 @ ")]
    assert "torch2.8" in item
    assert "torch" not in changed(found)


def test_aarch64_has_files_of_its_own() -> None:
    environment = start("empty", H100_580)
    arm = {"host.platform": "linux_aarch64", "host.machine": "aarch64"}
    facts = {name: fact_of(value) for name, value in arm.items()}
    environment = msgspec.structs.replace(environment, facts={**environment.facts, **facts})
    found = plan(environment, want=("flash-attn",))
    assert found.outcome is PlanOutcome.REPAIRS
    assert any("aarch64" in action.url for action in found.actions)


V100 = ("Tesla V100-SXM2-16GB", "7.0", "535.104.05")
T4 = ("Tesla T4", "7.5", "535.104.05")


@pytest.mark.parametrize("gpu", [V100, T4])
def test_a_framework_is_not_lost_where_its_flash_attention_has_no_kernel(
    gpu: tuple[str, str, str],
) -> None:
    """It was: "nothing is known to need repair", as vLLM's own FlashAttention wants newer GPUs."""
    found = plan(start("empty", gpu), want=("vllm",))
    assert found.outcome is PlanOutcome.REPAIRS
    assert "vllm" in changed(found)


@pytest.mark.parametrize("gpu", [V100, T4])
def test_torch_is_the_newest_though_an_old_one_could_do_more(gpu: tuple[str, str, str]) -> None:
    """torch 2.6.0 was, for flex_attention; on a T4 its flash kernel was called impossible."""
    found = plan(start("empty", gpu), want=("torch",))
    assert (found.outcome, found.conflicts) == (PlanOutcome.REPAIRS, ())
    newest = changed(plan(start("empty", A100), want=("torch",)))
    assert changed(found) == newest


def test_where_flash_attention_cannot_be_the_torch_that_helps_is_named() -> None:
    """All that was said was that nothing helps: an expert says which torch to use instead."""
    found = plan(start("empty", V100), want=("flash-attn",))
    [conflict] = found.conflicts
    [way] = conflict.alternatives
    assert way.give_up == "use torch's own attention (sdpa-efficient, fp16)"
    assert {change.distribution for change in way.changes} == {"torch", "triton"}
    assert "What would help:" in render(found)


def test_what_people_train_with_comes_along_in_exact_releases() -> None:
    """It was called impossible: peft, trl, accelerate and bitsandbytes were never planned."""
    asked = ("flash-attn", "transformers", "peft", "trl", "bitsandbytes")
    found = plan(start("empty", A100_580), want=asked)
    assert found.outcome is PlanOutcome.REPAIRS
    assert set(changed(found)) >= {*asked, "torch", "accelerate", "huggingface-hub"}
    assert all(changed(found).values())


def test_a_release_is_taken_that_can_have_what_it_requires() -> None:
    """The newest trl was, whose transformers no torch for this GPU goes with."""
    found = plan(start("empty", ("Tesla K80", "3.7", "470.82.01")), want=("trl",))
    assert set(changed(found)) >= {"torch", "trl", "transformers"}


def test_what_no_table_has_releases_of_is_unknown_and_not_impossible() -> None:
    found = plan(start("empty", A100_580), want=("flash-attn", "apex"))
    assert (found.proof.missed, found.conflicts) == ((), ())
    [text] = found.proof.unknown
    assert text.startswith("apex: the tables do not list its releases")
    assert "flash-attn" in changed(found)


@pytest.mark.long
@pytest.mark.thinned(every=4)
@pytest.mark.parametrize("gpu", [V100, T4, A100_580, H100_580, B200])
@pytest.mark.parametrize("package", PACKAGES)
def test_no_wish_is_passed_over(package: str, gpu: tuple[str, str, str]) -> None:
    """What is asked for is planned, or it is said why not."""
    found = plan(start("empty", gpu), want=(PACKAGES[package][0],))
    told = (*found.proof.missed, *found.proof.unknown)
    is_there = not {*PACKAGES[package]}.isdisjoint(changed(found))
    assert is_there or told
    assert found.outcome is not PlanOutcome.NOTHING


def test_one_command_installs_everything() -> None:
    found = plan(start("empty", A100_580), want=("vllm", "flash-attn"))
    [action] = [action for action in found.actions if action.argv]
    assert {"flash-attn", "torch"} <= set(changed(found))
    assert action.kind is ActionKind.INSTALL


def test_old_vllm_gets_a_transformers_that_it_works_with() -> None:
    """transformers 5 has no all_special_tokens_extended; vLLM 0.11.0 asks each tokenizer for it."""
    environment = start("missing triton", A100)
    found = plan(environment, want=("vllm",), keep=("torch",))
    items = {item for action in found.actions for item in action.requirements}
    assert "vllm==0.11.0" in items
    assert any(item.startswith("transformers==4.") for item in items)


def with_flash_attn(environment: Environment, **facts: Any) -> Environment:
    """Return an environment with flash-attn 2.8.3 of its authors, for torch 2.8."""
    found = with_package(environment, "flash_attn", "2.8.3", {"torch": "", "einops": ""})
    given = {
        "direct_url": WHEEL, "extension": "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so",
        "interface": True, "namespace_only": False, "wheel.torch": "2.8", "wheel.cuda": "cu12",
        "wheel.cuda_major": "12", "wheel.cxx11_abi": True, "wheel.python": "cp312",
        "wheel.origin": "official", "binary.file": "flash_attn_2_cuda.so",
        "binary.failure": None, **facts,
    }  # fmt: skip
    new = {f"flash_attn.{name}": fact_of(value) for name, value in given.items()}
    return msgspec.structs.replace(found, facts={**found.facts, **new})


@pytest.mark.parametrize("gpu", [A100, H100])
def test_another_official_file_goes_before_another_torch(gpu: tuple[str, str, str]) -> None:
    """flash-attn 2.8.3 beside xformers 0.0.32.post1: 2.8.1 is enough, torch need not change."""
    found = plan(with_flash_attn(start("vLLM", gpu)))
    assert changed(found) == {"flash-attn": "2.8.1"}
    [action] = [action for action in found.actions if action.argv]
    assert "Dao-AILab" in action.url
    assert found.proof.clean


def test_a_build_whose_list_nobody_read_is_not_replaced_for_that() -> None:
    """torch 2.9.0+cu129: the official file for torch 2.9 and the new ABI loads beside it."""
    environment = start("torch of another index", A100)
    facts: dict[str, Any] = {
        "torch.version": "2.9.0+cu129", "torch.build": "cu129", "torch.cuda": "12.9",
        "torch.requires": {"triton": "==3.5.0"},
        "triton.version": "3.5.0", "torchvision.version": None, "xformers.version": None,
        "packages.installed": {"torch": "2.9.0+cu129", "triton": "3.5.0", "einops": "0.8.1"},
    }  # fmt: skip
    new = {name: fact_of(value) for name, value in facts.items()}
    environment = msgspec.structs.replace(environment, facts={**environment.facts, **new})
    found = plan(environment, want=("flash-attn",))
    assert list(changed(found)) == ["flash-attn"]
    [action] = [action for action in found.actions if action.argv]
    assert "torch2.9cxx11abiTRUE" in action.url
    assert "could not be proved" in render(found)


def test_a_requirement_that_is_missing_is_installed() -> None:
    environment = with_flash_attn(start("missing triton", A100))
    installed = environment.facts["packages.installed"]
    assert isinstance(installed, Known)
    assert "einops" not in installed.value  # type: ignore[operator]
    found = plan(environment, keep=("torch",))
    assert "einops" in changed(found)


def test_a_torch_without_its_libraries_is_installed_again() -> None:
    """pip install --no-deps: what it pins is missing, and the installer brings it."""
    environment = start("missing triton", A100)
    pins = {"nvidia-cublas-cu12": "==12.8.4.1", "triton": "==3.4.0"}
    facts: dict[str, Any] = {
        "torch.requires": pins, "torch.loads": False, "torch.binary.file": "torch/_C.so",
        "torch.binary.failure": "missing-library", "torch.binary.cause": "cuda-runtime",
        "torch.binary.missing": "libcublas.so.12",
    }  # fmt: skip
    new = {name: fact_of(value) for name, value in facts.items()}
    environment = msgspec.structs.replace(environment, facts={**environment.facts, **new})
    found = plan(environment)
    commands = [action for action in found.actions if action.argv]
    assert [action.kind for action in commands] == [ActionKind.INSTALL]
    assert "torch==2.8.0" in commands[0].requirements


def test_undoing_another_build_reinstalls_it() -> None:
    """`pip install torch==2.11.0` beside 2.11.0+cu126 does nothing."""
    found = plan(start("torch 2.11", A100))
    assert changed(found)["torch"].startswith("2.11.0+")
    [action] = [action for action in found.actions if action.kind is ActionKind.INSTALL]
    assert "--force-reinstall --no-deps" in action.undo
    assert "torch==2.11.0 " in action.undo + " "


def test_what_was_assumed_is_repeated() -> None:
    environment = msgspec.structs.replace(start("empty", A100), overlays=("--gpu A100",))
    assert "Assumed: --gpu A100" in render(plan(environment, want=("flash-attn",)))


@pytest.mark.slow
@pytest.mark.parametrize("wish", [("flash-attn",), ("vllm", "flash-attn"), ("unsloth",), ("fa4",)])
def test_a_plan_from_nothing_looks_at_few_states(
    wish: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long it takes, bench/plan.py says."""
    looked_at: list[int] = []
    run = solve._Search.run

    def counted(search: solve._Search) -> object:
        found = run(search)
        looked_at.append(search.nodes)
        return found

    monkeypatch.setattr(solve._Search, "run", counted)
    plan(start("empty", A100), want=wish)
    assert 0 < sum(looked_at) < 1_000


def test_what_the_installer_brings_along_is_in_the_plan() -> None:
    """torch lacks its triton: whatever is installed beside it brings that, so it is planned."""
    environment = start("missing triton", A100)
    requires = {"torch.requires": fact_of({"triton": "==3.4.0"})}
    facts = {**environment.facts, **requires}
    environment = msgspec.structs.replace(environment, facts=facts)
    found = plan(environment, want=("flash-attn",))
    assert changed(found)["triton"] == "3.4.0"


@pytest.mark.parametrize(("python", "pins"), [("3.11", {"triton": "==2.3.1"}), ("3.12", {})])
def test_a_requirement_with_a_marker_counts_where_it_holds(
    python: str, pins: dict[str, str]
) -> None:
    """torch 2.3.1 requires triton below Python 3.12."""
    found = session().candidates.torch(start("empty", A100, python))
    [torch] = [choice for choice in found if choice.version == "2.3.1"]
    assert torch.facts["torch.requires"] == Known(pins, torch.facts["torch.requires"].source)


def test_uv_is_told_to_ask_every_index() -> None:
    """uv asks the first index that has a package, and the index of torch has old ones of many."""
    found = plan(start("empty", A100), want=("unsloth",), installer="uv")
    [action] = [action for action in found.actions if action.argv]
    assert "--index-url" not in action.argv
    if action.index:
        words = " ".join(action.argv)
        assert f"--extra-index-url {action.index} --index-strategy unsafe-best-match" in words


def test_a_wish_that_cannot_be_decided_is_said() -> None:
    """flash-attn-4 is there and runs forward on an A100: nobody says that it trains."""
    found = plan(start("empty", A100), want=("fa4",))
    assert found.conflicts == ()
    assert found.proof.missed == ()
    assert found.proof.unknown
    assert "could not be proved" in render(found)


def test_of_vllm_only_what_was_compiled_for_this_cuda_is_proposed() -> None:
    """Its wheels link the CUDA of the torch on PyPI: beside another major they do not load."""
    environment = start("torch 2.11", A100_580)
    there = {choice.version for choice in session().candidates.releases("vllm", environment)}
    facts = {"torch.version": "2.11.0+cu126", "torch.build": "cu126", "torch.cuda": "12.6"}
    new = {name: fact_of(value) for name, value in facts.items()}
    other = msgspec.structs.replace(environment, facts={**environment.facts, **new})
    assert there
    assert session().candidates.releases("vllm", other) == ()


OLD_DRIVER = ("NVIDIA A100-SXM4-80GB", "8.0", "470.82.01")


def test_a_triton_that_nobody_asked_for_is_no_reason_for_an_older_torch() -> None:
    """torch 1.13.1 of 2022 was, as its builds for this driver come without a triton."""
    found = plan(start("empty", OLD_DRIVER, "3.10"), want=("flash-attn",))
    assert version_key(changed(found)["torch"]) >= version_key("2.5")
    assert changed(found)["torch"].endswith("+cu118")
    assert "triton-driver-too-old" in str(found.actions)


def test_an_old_driver_gets_the_newest_torch_for_its_cuda() -> None:
    """The builds after 2.5.1 were left out: which GPUs they have code for was in no table."""
    found = plan(start("torch 2.11", OLD_DRIVER))
    assert changed(found)["torch"] == "2.7.1+cu118"


def test_a_platform_without_tables_makes_nothing_impossible() -> None:
    """ "Impossible, because no known combination of releases does it", with wheels on offer."""
    empty = start("empty", A100_580)
    facts = {"host.platform": fact_of("win_arm64"), "host.os": fact_of("windows")}
    found = plan(msgspec.structs.replace(empty, facts=empty.facts | facts), want=("flash-attn",))
    assert not found.conflicts
    assert any(
        "the tables list no builds of torch with CUDA for win_arm64" in n for n in found.notes
    )


def test_windows_gets_torch_of_the_index_and_a_wheel_of_a_third_party() -> None:
    empty = start("empty", A100_580)
    facts = {"host.platform": fact_of("win_amd64"), "host.os": fact_of("windows")}
    found = plan(msgspec.structs.replace(empty, facts=empty.facts | facts), want=("flash-attn",))
    words = [word for action in found.actions for word in action.argv]
    assert any(re.fullmatch(r"torch==[\d.]+\+cu\d{3}", word) for word in words)
    assert any("mjun0812" in word and word.endswith("win_amd64.whl") for word in words)
    assert not {"bash", "sh", "export", "python3"} & set(words)


@pytest.mark.parametrize("wish", ["vllm", "unsloth"])
def test_no_release_is_planned_that_cannot_be_installed(wish: str) -> None:
    """The newest of both required a certifi that the index did not have."""
    newest = changed(plan(start("empty", A100_580), want=(wish,)))[wish]
    knowledge, tables = session().knowledge, dict(session().matrix.tables)
    row = {"package": wish, "version": newest, "lacks": "certifi>=9999"}
    refusing = msgspec.structs.replace(tables["not-installable"], rows=(row,))
    without = Session(knowledge, Matrix({**tables, "not-installable": refusing}))
    found = changed(make_plan(start("empty", A100_580), without, PlannerRequest(want=(wish,))))
    assert version_key(found[wish]) < version_key(newest)


def test_unsloth_gets_a_torchvision_of_the_build_of_its_torch() -> None:
    """It requires one: a recipe left it to PyPI, whose build was for another CUDA than torch."""
    found = plan(start("empty", H100), want=("unsloth",))
    assert "torchvision" in changed(found)
    assert changed(found)["torch"].endswith("+cu126")
    assert "https://download.pytorch.org/whl/cu126" in str(found.actions)


def test_what_was_broken_before_moves_along_with_who_requires_it() -> None:
    """vLLM 0.19.1 was planned beside a transformers that it refuses, as 0.11.0 had."""
    broken = start("vLLM after a torch upgrade", H100_580)
    broken = with_package(broken, "transformers", "5.2.0", {"huggingface-hub": ">=1.3.0,<2.0"})
    found = plan(derive(broken, session().matrix))
    assert changed(found)["vllm"] != "0.11.0"
    after = changed(found)["transformers"]
    needs = session().matrix.find(
        "vllm-releases", {"version": Known(changed(found)["vllm"], "test")}
    )
    assert accepts(fact_text(needs.cell("transformers"), ""), after)


def test_no_release_is_planned_that_is_not_for_the_python() -> None:
    """flash-attn-4 was, on Python 3.9, with parts that are for 3.10 and newer."""
    found = plan(start("empty", B200, "3.9"), want=("fa4",))
    assert "flash-attn-4" not in changed(found)
    assert any("Python is 3.9" in word for each in found.conflicts for word in each.because)


def test_an_old_xformers_is_planned_only_for_the_pythons_of_its_wheels() -> None:
    """0.0.30, the last with code for a P100, was planned on Python 3.13 without a wheel."""
    p100 = ("Tesla P100-PCIE-16GB", "6.0", "535.183.01")
    assert changed(plan(start("empty", p100, "3.11"), want=("xformers",)))["xformers"] == "0.0.30"
    found = plan(start("empty", p100, "3.13"), want=("xformers",))
    assert changed(found).get("xformers") != "0.0.30"
    assert found.proof.unknown


@pytest.mark.long
def test_the_newest_transformers_is_named_where_nobody_asks_for_the_hub() -> None:
    """An older release was: the newest takes a kernels that is not published yet."""
    rows = session().matrix.tables["helper-releases"].rows
    listed = {v for r in rows if r["package"] == "transformers" for v in str(r["version"]).split()}
    newest = max(listed, key=version_key)
    found = plan(start("empty", A100_580), want=("transformers",))
    assert changed(found)["transformers"] == newest
    by_hub = plan(start("empty", A100_580), want=("transformers", "hub-fa2"))
    assert by_hub.proof.clean


def test_a_file_is_planned_under_the_glibc_that_a_check_accepts() -> None:
    """RHEL 9 got an old torch: its glibc is older than the builder's, and new enough."""
    found = start("empty", A100)
    older = msgspec.structs.replace(found, facts={**found.facts, "host.glibc": fact_of("2.34")})
    done = plan(older, want=("flash-attn",))
    assert done.proof.clean
    assert "Dao-AILab" in done.actions[-1].url
    assert changed(done) == changed(plan(found, want=("flash-attn",)))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(("gpu", "capability"), [("Tesla T4", "7.5"), ("NVIDIA A100", "8.0")])
def test_a_vllm_that_stays_keeps_the_cuda_that_it_is_compiled_for(
    gpu: str, capability: str
) -> None:
    """Its torch became one of CUDA 11 for an old driver, where no attention of it was wished."""
    found = plan(start("vLLM", (gpu, capability, "470.82.01")))
    assert "vllm" in changed(found) or "torch" not in changed(found)


@pytest.mark.parametrize(
    ("want", "comes"),
    [
        (("transformers==4.53.3",), {"transformers": "4.53.3"}),
        (("vllm==0.10.1", "transformers"), {"vllm": "0.10.1", "transformers": "4.57.6"}),
        (("vllm==0.10.1", "transformers==4.56.1"), {"vllm": "0.10.1", "transformers": "4.56.1"}),
        (("torch", "peft==0.16.0"), {"peft": "0.16.0"}),
    ],
)
def test_a_library_comes_in_the_version_that_was_asked_for(
    want: tuple[str, ...], comes: dict[str, str]
) -> None:
    """The newest came alone; an older one, or one that a pinned framework takes, was refused."""
    found = plan(start("empty", A100), want=want)
    assert found.outcome is PlanOutcome.REPAIRS
    chosen = {change.distribution: change.after for change in found.changes}
    assert comes.items() <= chosen.items()


def test_two_that_exclude_each_other_by_a_third_package_are_not_planned_together() -> None:
    """Of protobuf one took releases below 4 alone, and the other none of these: uv refused."""
    found = plan(start("empty", A100), want=("vllm==0.19.1", "unsloth==2025.3.19"))
    chosen = {change.distribution for change in found.changes}
    assert not {"vllm", "unsloth"} <= chosen
    alone = plan(start("empty", A100), want=("vllm==0.19.1",))
    assert "vllm" in {change.distribution for change in alone.changes}


def test_torch_for_aarch64_comes_from_the_index_where_the_driver_is_too_old_for_pypis() -> None:
    """What is published beside it has no label there: a version with one is not to be had."""
    found = plan(on_platform(start("empty", GH200), "linux_aarch64"), want=("torch", "torchvision"))
    torch, vision = (
        next(change.after for change in found.changes if change.distribution == name)
        for name in ("torch", "torchvision")
    )
    assert torch.endswith("+cu128")
    assert "+" not in vision
    [action] = (action for action in found.actions if action.is_step)
    assert action.index.endswith("/cu128")


def test_on_arm_triton_comes_beside_the_torch_that_is_there() -> None:
    """No build but the newest was known to require one, and torch moved by six minor releases."""
    there = on_platform(start("CPU torch of 2.9", GB10), "linux_aarch64")
    cuda = {"torch.version": "2.9.1+cu130", "torch.build": "cu130", "torch.cuda": "13.0"}
    facts = {**there.facts, **{name: fact_of(value) for name, value in cuda.items()}}
    found = plan(msgspec.structs.replace(there, facts=facts), want=("triton",))
    assert {each.distribution: each.after for each in found.changes} == {"triton": "3.5.1"}


def test_a_cpu_torch_of_aarch64_gives_way_to_a_build_of_the_same_release() -> None:
    there = on_platform(start("CPU torch of 2.9", GB10), "linux_aarch64")
    found = {change.distribution: change.after for change in plan(there).changes}
    assert found["torch"] == "2.9.1+cu130"
    assert found.get("torchvision", "0.24.1") == "0.24.1"


def test_builds_that_only_pytorchs_index_has_are_said_to_be_possible() -> None:
    """For a Python of aarch64 the tables have PyPI's build alone, which needs a newer driver."""
    there = on_platform(start("empty", GH200, "3.15"), "linux_aarch64")
    found = plan(there, want=("vllm",))
    assert found.proof.missed
    assert any("PyTorch's index may have" in note for note in found.notes)
    on_x86 = plan(start("empty", ("Tesla K80", "3.7", "560.35.03")), want=("vllm",))
    assert not any("PyTorch's index may have" in note for note in on_x86.notes)


def test_no_release_comes_that_requires_what_has_no_file() -> None:
    """Regression: unsloth was planned for Python 3.9 on ARM, which triton has no file for."""
    old = on_platform(start("empty", GH200, "3.9"), "linux_aarch64")
    assert not changed(plan(old, want=("unsloth",)))
    newer = on_platform(start("empty", GH200, "3.10"), "linux_aarch64")
    assert "triton" in changed(plan(newer, want=("unsloth",)))


def test_a_torch_for_the_cpu_comes_again_from_its_index() -> None:
    """Seen: "several gigabytes, NVIDIA's libraries included", and no index with such a build."""
    found = start("CPU torch of 2.9", A100)
    writer = Writer(problem(found), Dialect("pip", "python"), frozenset())
    made = writer.fresh_actions(filter(None, [offer("einops==0.8.2")]), ".venv-new")
    [action] = [each for each in made if each.kind is ActionKind.INSTALL]
    assert "torch==2.9.1+cpu" in action.requirements
    assert action.index.endswith("/whl/cpu")
    assert not any("NVIDIA" in each for each in action.side_effects)
