"""The switch of frame evaluation, by the names that it has had in torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from fadoctor import api  # noqa: E402

pytestmark = pytest.mark.torch


class Dynamo(SimpleNamespace):
    """A module of Dynamo that has the given switches."""

    def __init__(self, *names: str, nested: bool = False) -> None:
        self.callback: Any = None
        super().__init__(skip_code=lambda _code: None)
        for name in names:
            setattr(self, name, self.switch)
        if nested:

            def _maybe_set_eval_frame(callback: Any) -> Any:
                prior = self.set_eval_frame(callback)
                return prior  # noqa: RET504 -- a frame of its own

            self._maybe_set_eval_frame = _maybe_set_eval_frame

    def switch(self, callback: Any) -> Any:
        prior, self.callback = self.callback, callback
        return prior


class Modes:
    """Notes who asks the mode to step aside, and who brings it back."""

    def __init__(self) -> None:
        self.aside: list[int] = []
        self.back: list[int] = []

    def step_aside(self, frame: int) -> bool:
        self.aside.append(frame)
        return True

    def come_back(self, frame: int) -> None:
        self.back.append(frame)


def compiled_run(module: Any, modes: Modes) -> list[str]:
    """Patch the module, run compiled code as torch does, put it back; return the regions."""
    with api.trace():  # which loads the modules of the tracer
        from _fadoctor_trace_compiled import Compiled  # noqa: PLC0415
    regions: list[str] = []
    tracer: Any = SimpleNamespace(
        lineage=SimpleNamespace(active=True), modes=modes, fault=pytest.fail,
        record=SimpleNamespace(note_compiled=regions.append), scripted=SimpleNamespace(codes=[]),
        graphs=SimpleNamespace(patch=lambda: None),
    )  # fmt: skip
    watching = Compiled(tracer)
    watching.patch(module)
    run_as_dynamo(module)
    watching.end()
    return regions


def run_as_dynamo(module: Any, fn: Any = len) -> None:
    set_frame = getattr(module, "_maybe_set_eval_frame", None) or module.set_eval_frame
    prior = set_frame(fn)
    getattr(module, "set_eval_frame", set_frame)(prior)


@pytest.mark.parametrize(
    "module",
    [
        Dynamo("set_eval_frame"),
        Dynamo("_maybe_set_eval_frame"),
        Dynamo("set_eval_frame", "_maybe_set_eval_frame"),
        Dynamo("set_eval_frame", nested=True),
    ],
    ids=["before 2.5", "in 2.6", "two names", "one calls the other"],
)
def test_a_region_is_named_and_the_mode_comes_back_to_whoever_left(module: Any) -> None:
    before = {name: getattr(module, name) for name in vars(module) if "eval_frame" in name}
    modes = Modes()
    assert set(compiled_run(module, modes)) == {"builtins.len"}
    assert set(modes.aside) == set(modes.back)
    assert len(set(modes.aside)) == 1
    assert {name: getattr(module, name) for name in before} == before


@pytest.mark.long
def test_a_torch_whose_switch_is_not_known_is_traced_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch._dynamo.eval_frame as known  # noqa: PLC0415

    monkeypatch.delattr(known, "set_eval_frame")
    monkeypatch.delattr(known, "_maybe_set_eval_frame", raising=False)
    with api.trace() as trace:
        q = torch.randn(1, 2, 3, 8)
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
    (process,) = trace.document().processes
    assert len(process.calls) == 1
    assert [fault.partition(":")[0] for fault in process.faults] == [
        "start at torch._dynamo.eval_frame"
    ]
