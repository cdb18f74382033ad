"""What an image has cannot be asked for in another release: it is installed over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.commands.fix import FixRequest, make_plan
from fadoctor.interfaces.commands.plan import PlanRequest
from fadoctor.interfaces.commands.request import ProgramRequest, request_of
from fadoctor.model.environment import Environment, Target
from fadoctor.model.overlays import Overlays
from fadoctor.model.place import Place
from fadoctor.model.plan import Plan, PlanOutcome
from fadoctor.repair.resolution.judge import plan_base
from fadoctor.repair.resolution.lines import lines_of
from fadoctor.repair.resolution.over_image import OverImage
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from fadoctor.sources.targets.overlay import apply_overlays
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import plan as make_plan_of
from tests.unit.repair.plan.problems import session
from tests.unit.repair.plan.test_planner import changed
from tests.unit.repair.resolution.test_lines import install
from tests.unit.sources.manifests.installed.test_environment import HOST

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel"
INDEX = "https://download.pytorch.org/whl/cu128"


def test_it_is_a_line_of_its_own_below_the_image(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(f"{IMAGE}\nRUN pip install peft==0.18.0 accelerate==1.12.0\n", "utf-8")
    target = Target("manifest", "x", "y")
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (
        install("torch==2.7.1+cu128", "peft==0.18.1", index=INDEX), install("einops>=0.8"),
    ))  # fmt: skip
    places: dict[str, tuple[Place, ...]] = {
        "torch.version": (Place(str(file), 1, 6),),
        "peft.version": (Place(str(file), 2, 17),),
    }
    [rewrite] = lines_of(plan, Environment("0", target, {}, places=places), [str(file)]).rewrites
    assert rewrite.text.split("\n") == [
        IMAGE,
        f"RUN pip install --extra-index-url {INDEX} torch==2.7.1+cu128 'einops>=0.8'",
        "RUN pip install peft==0.18.1 accelerate==1.12.0",
        "",
    ]


@pytest.mark.parametrize(
    ("line", "kind", "wanted"),
    [
        ("RUN pip install torch==2.5.1", "Dockerfile", "torch==2.8.0"),
        (f"{IMAGE} \\", "Dockerfile", "torch==2.8.0"),
        (IMAGE, "Dockerfile", ""),
        ("from: torch", "environment.yml", "torch==2.8.0"),
    ],
)
def test_only_below_a_line_that_names_an_image(line: str, kind: str, wanted: str) -> None:
    assert not OverImage().take(line, kind, Place("f", 1, 6), (wanted, ""))


@pytest.mark.parametrize(
    ("text", "wanted", "then"),
    [
        ("FROM vllm/vllm-openai:v0.27.1 AS base", "vllm==0.19.1",
         "FROM vllm/vllm-openai:v0.19.1 AS base"),
        ("ARG V=v0.27.1\nFROM vllm/vllm-openai:${V}", "vllm==0.19.1",
         "ARG V=v0.19.1\nFROM vllm/vllm-openai:${V}"),
        ('ARG V="0.27.1"\nFROM vllm/vllm-openai:v$V', "vllm==0.19.1",
         'ARG V="0.19.1"\nFROM vllm/vllm-openai:v$V'),
        ("ARG BASE=lmsysorg/sglang:v0.5.12\nFROM ${BASE}", "sglang==0.5.5.post3",
         "ARG BASE=lmsysorg/sglang:v0.5.5.post3\nFROM ${BASE}"),
        ("FROM vllm/vllm-openai:latest", "vllm==0.19.1", "FROM vllm/vllm-openai:v0.19.1"),
        # other tags of the release may not exist, and another package is installed over it
        ("FROM vllm/vllm-openai:v0.27.1-cu129", "vllm==0.19.1",
         "FROM vllm/vllm-openai:v0.27.1-cu129\nRUN pip install vllm==0.19.1"),
        ("FROM vllm/vllm-openai:v0.27.1", "transformers==5.9.0",
         "FROM vllm/vllm-openai:v0.27.1\nRUN pip install transformers==5.9.0"),
        ("ARG V=v0.27.1\nARG V=v0.26.0\nFROM vllm/vllm-openai:${V}", "vllm==0.19.1",
         "ARG V=v0.27.1\nARG V=v0.26.0\nFROM vllm/vllm-openai:${V}\nRUN pip install vllm==0.19.1"),
    ],
)  # fmt: skip
def test_the_tag_of_a_server_names_its_release(text: str, wanted: str, then: str) -> None:
    lines = text.split("\n")
    over = OverImage()
    place = Place("Dockerfile", len(lines), 6)
    assert over.take(lines[-1], "Dockerfile", place, (wanted, ""))
    over.put({"Dockerfile": lines})
    assert "\n".join(lines) == then


@pytest.mark.parametrize(
    ("line", "then"),
    [
        ("    image: vllm/vllm-openai:v0.27.1", "    image: vllm/vllm-openai:v0.19.1"),
        ('- image: "vllm/vllm-openai:v0.27.1" # 1', '- image: "vllm/vllm-openai:v0.19.1" # 1'),
        ("image: vllm/vllm-openai:${TAG:-v0.27.1}\r", "image: vllm/vllm-openai:${TAG:-v0.19.1}\r"),
        ("image: ${IMAGE:-vllm/vllm-openai:v0.27.1}", "image: ${IMAGE:-vllm/vllm-openai:v0.19.1}"),
        ('image = "vllm/vllm-openai:v0.27.1"', 'image = "vllm/vllm-openai:v0.19.1"'),
    ],
)  # fmt: skip
def test_the_tag_in_a_service_names_the_release(line: str, then: str) -> None:
    lines, over = [line], OverImage()
    assert over.take(line, "YAML", Place("compose.yaml", 1, 1), ("vllm==0.19.1", ""))
    over.put({"compose.yaml": lines})
    assert lines == [then]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("image: vllm/vllm-openai:${TAG}", "vllm==0.19.1"),
        ("image: vllm/vllm-openai:latest-cu129", "vllm==0.19.1"),
        ("image: vllm/vllm-openai:v0.27.1", "transformers==5.9.0"),
        ("command: vllm/vllm-openai:v0.27.1", "vllm==0.19.1"),
    ],
)
def test_another_line_of_a_service_is_left_to_you(line: str, wanted: str) -> None:
    assert not OverImage().take(line, "YAML", Place("compose.yaml", 1, 1), (wanted, ""))


@pytest.mark.parametrize(
    ("line", "comes"),
    [
        ("xformers==0.0.27", {"xformers": "0.0.29.post1"}),
        ("torchvision==0.19.1", {"torchvision": "0.20.1+cu124"}),
        ("xformers==0.0.29.post1", {}),
    ],
)
def test_a_companion_moves_to_the_torch_of_the_image(
    tmp_path: Path, line: str, comes: dict[str, str]
) -> None:
    """Regression: all of the image went back to the torch that the companion requires."""
    (tmp_path / "Dockerfile").write_text(f"{IMAGE}\nRUN pip install {line}\n", "utf-8")
    facts = {name: fact_of(value) for name, value in HOST.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    manifest = read_manifest(str(tmp_path / "Dockerfile"))
    there = planned_environment(machine, [manifest], session().matrix)
    here = apply_overlays(there, Overlays(("A100",), "550.54.15"), session().matrix)
    assert changed(make_plan_of(plan_base(here, session().knowledge))) == comes


SERVER = "FROM vllm/vllm-openai:v0.15.1-cu130"


@pytest.mark.parametrize(
    ("below", "driver", "is_held"),
    [
        ("RUN pip install einops", "550.54.15", True),
        ("RUN pip install einops", "580.95.05", False),
        # whose torch is another one by now
        ("RUN pip install torch==2.8.0", "580.95.05", False),
    ],
)
def test_the_torch_of_a_server_stays_in_its_image(
    tmp_path: Path, below: str, driver: str, *, is_held: bool
) -> None:
    """Regression: a torch for CUDA 12 was installed over a vLLM that is compiled for CUDA 13."""
    file = tmp_path / "Dockerfile"
    file.write_text(f"{SERVER}\n{below}\n", "utf-8")
    facts = {name: fact_of(value) for name, value in HOST.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    there = planned_environment(machine, [read_manifest(str(file))], session().matrix)
    here = apply_overlays(there, Overlays(("A100",), driver), session().matrix)
    base = plan_base(here, session().knowledge)
    lines = lines_of(make_plan_of(base), base, [str(file)])
    assert ("keep the torch of the image" in lines.held) is is_held


def test_a_server_moves_by_its_tag_with_the_torch_in_it() -> None:
    lines, over = ["FROM vllm/vllm-openai:v0.27.1"], OverImage()
    place = Place("Dockerfile", 1, 6)
    for wanted in ("torch==2.9.1", "vllm==0.19.1"):
        assert over.take(lines[0], "Dockerfile", place, (wanted, ""))
    over.put({"Dockerfile": lines})
    assert lines == ["FROM vllm/vllm-openai:v0.19.1"]
    places: dict[str, tuple[Place, ...]] = {"vllm.version": (place,), "torch.version": (place,)}
    environment = Environment("0", Target("manifest", "x", "y"), {}, places=places)
    moved = {"torch"}
    assert over.held(environment, {"Dockerfile": lines}, moved, ()) == ""
    assert "keep" in OverImage().held(environment, {"Dockerfile": lines}, moved, ())
    assert OverImage().held(environment, {"Dockerfile": lines}, {"vllm"}, ()) == ""


def test_no_tag_is_named_where_no_release_of_the_server_supports_the_gpu(tmp_path: Path) -> None:
    """Regression: another tag was advised beside the error that vLLM needs a newer GPU."""
    file = tmp_path / "Dockerfile"
    file.write_text("FROM vllm/vllm-openai:v0.10.2\n", "utf-8")
    facts = {name: fact_of(value) for name, value in HOST.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    there = planned_environment(machine, [read_manifest(str(file))], session().matrix)
    here = apply_overlays(there, Overlays(("P100",), "535.183.01"), session().matrix)
    base = plan_base(here, session().knowledge)
    lines = lines_of(make_plan_of(base), base, [str(file)])
    assert lines.held == f"{file}:1:6: choose another server: no vllm supports this GPU"


def test_an_image_whose_tag_tells_its_torch_is_built_over(tmp_path: Path) -> None:
    """Regression: of a torch that only words of a tag tell nothing was known, nor written."""
    (tmp_path / "Dockerfile").write_text(
        "ARG BASE=lab/train:torch2.6.0-cu124-py311\nFROM ${BASE}\nRUN pip install einops\n"
    )
    file = tmp_path / "compose.yml"
    file.write_text("services:\n  train:\n    build:\n      context: .\n")
    what = ProgramRequest(requirements=file, gpu="RTX 5090", driver="575.57.08")
    plan = make_plan(FixRequest(request_of(what, cache=True), PlanRequest())).plan
    [diff] = [edit.diff for edit in plan.edits if edit.diff]
    [line] = [each for each in diff.split("\n") if each.startswith("+RUN")]
    assert "/whl/cu128" in line
    assert {"torch", "torchvision", "torchaudio"} <= {each.split("==")[0] for each in line.split()}
    assert diff.index(" FROM ${BASE}") < diff.index("+RUN")


@pytest.mark.parametrize(
    ("tag", "gpu", "said"),
    [
        ("torch2.6.0-cu124", "RTX 5090", "torch 2.7 or newer for CUDA 12.8 has code"),
        ("torch2.6.0-cu124", "H100", ""),
        ("torch2.6.0-cu124-py311", "RTX 5090", ""),  # it is built over
    ],
)
def test_of_an_unknown_python_another_image_is_named(
    tmp_path: Path, tag: str, gpu: str, said: str
) -> None:
    """Regression: no known release was said to help, where none could be chosen."""
    file = tmp_path / "Dockerfile"
    file.write_text(f"FROM lab/train:{tag}\nRUN pip install einops\n")
    what = ProgramRequest(requirements=file, gpu=gpu, driver="575.57.08")
    plan = make_plan(FixRequest(request_of(what, cache=True), PlanRequest())).plan
    notes = [note for note in plan.notes if "an image with" in note]
    assert len(notes) == bool(said)
    assert all(said in note and f"{file}:1:6" in note for note in notes)
