"""Who widened a tensor: the statement is named where somebody did, and nobody where all is well."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import pytest

torch = pytest.importorskip("torch")

from fadoctor import api  # noqa: E402
from tests.trace import models, scenes, standin  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.model.trace import TraceReport

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]

SCENES = scenes.OF_MODELS | scenes.OF_REPORTS

SLOW = ("flexible", "by_own_operator", "well_own_operator")


@pytest.fixture(autouse=True)
def _packages() -> Iterator[None]:
    yield from standin.installed()


def traced(run: Callable[[], object]) -> TraceReport:
    torch.manual_seed(0)
    with api.trace() as trace, suppress(RuntimeError, ValueError):
        run()
    report = trace.document()
    assert report.processes[0].faults == ()
    return report


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[pytest.mark.long] if x in SLOW else []) for x in sorted(SCENES)],
)
def test_the_statement_is_named_or_nobody(name: str) -> None:
    scene = SCENES[name]
    report = traced(scene.run)
    calls = msgspec.to_builtins(report.processes[0].calls)
    assert scenes.differences(scene, calls) == []
    if not scene.letters:
        assert report.findings == ()


@pytest.mark.parametrize(
    "name", [name for name in sorted(scenes.OF_MODELS) if not scenes.OF_MODELS[name].letters]
)
def test_a_flash_kernel_ran_where_all_is_well(name: str) -> None:
    calls = traced(SCENES[name].run).processes[0].calls
    assert [call.why_not_flash for call in calls if call.why_not_flash] == []


def test_each_guilty_line_has_a_scene() -> None:
    marked = {name for module in scenes.FILES for name in scenes.lines_marked(module)}
    assert marked == {scene.line for scene in SCENES.values() if scene.line}


def test_a_third_of_the_scenes_has_no_fault() -> None:
    assert sum(not scene.letters for scene in SCENES.values()) * 3 >= len(SCENES)


def test_what_a_call_is_said_to_be() -> None:
    report = traced(SCENES["weights from the start"].run)
    (call,) = report.processes[0].calls
    assert call.module == scenes.ATTENTION
    assert call.why_not_flash == ("dtype float32",)
    assert call.error == f"RuntimeError: {standin.REFUSAL}"


def test_a_layer_that_is_innocent_has_no_culprit() -> None:
    first, second = traced(SCENES["in the second layer"].run).processes[0].calls
    assert first.culprits == {}
    assert list(second.culprits) == ["k"]


def test_a_head_that_is_too_large_has_no_culprit() -> None:
    q = torch.randn(1, 2, 4, 320, dtype=torch.bfloat16)
    call = traced(lambda: models.flash(q, q, q)).processes[0].calls[0]
    assert call.culprits == {}
    assert call.why_not_flash == ("head dim 320 is more than 256",)


def test_a_kernel_of_the_hub_has_its_own_backend() -> None:
    (call,) = traced(SCENES["kernel_of_the_hub"].run).processes[0].calls
    assert (call.entry, call.backend) == ("kernels.flash_attn3.flash_attn_func", "hub-fa3")
