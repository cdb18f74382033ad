"""Who widened a tensor: the statement is named where somebody did, and nobody where all is well."""

# mypy: disable-error-code="union-attr,arg-type,name-defined"
# ruff: noqa: TC003

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from fadoctor import api  # noqa: E402
from tests.trace import models, standin  # noqa: E402

if TYPE_CHECKING:
    from fadoctor.model.trace import Call, TraceReport

pytestmark = pytest.mark.torch

BF16 = torch.bfloat16
IDS = torch.arange(14).reshape(2, 7)


@pytest.fixture(autouse=True)
def _flash_attn() -> Iterator[None]:
    yield from standin.installed()


def guilty_line(name: str) -> int:
    lines = Path(models.__file__).read_text(encoding="utf-8").splitlines()
    (found,) = (at for at, line in enumerate(lines, 1) if line.endswith(f"# guilty: {name}"))
    return found


def traced(run: Callable[[], object]) -> TraceReport:
    with api.trace() as trace, suppress(RuntimeError):
        run()
    report = trace.document()
    assert report.processes[0].faults == ()
    return report


def first_wrong(report: TraceReport) -> Call:
    return next(call for call in report.processes[0].calls if call.culprits)


def half(kind: type[models.Attention], *wide: str, kernel: str = "flash") -> models.Model:
    """Return a model in bfloat16, but for the named parts of its attention."""
    model = models.Model(kind, kernel=kernel).to(BF16)
    for layer in model.layers:
        for name in wide:
            part = getattr(layer.self_attn, name)
            part.data = part.data.float() if isinstance(part, torch.Tensor) else part.data
    return model


def half_with(kind: type[models.Attention], *names: str, kernel: str = "flash") -> models.Model:
    model = models.Model(kind, kernel=kernel).to(BF16)
    for layer in model.layers:
        for name in names:
            part = getattr(layer.self_attn, name)
            if isinstance(part, torch.nn.Module):
                part.float()
            else:
                part.data = part.data.float()
    return model


GUILTY: dict[str, tuple[Callable[[], models.Model], str, str, str, str]] = {
    # name: model, letters, kind, module, because
    "norm-weight": (
        lambda: half_with(models.QKNorm, "q_norm", "k_norm"),
        "qk", "promotion", "layers.0.self_attn.q_norm", "weight: float32",
    ),
    "norm-forgets": (
        lambda: half(models.Forgets), "q", "cast", "layers.0.self_attn.q_norm", "",
    ),
    "rotary": (
        lambda: half(models.Rotated), "qk", "promotion", "layers.0.self_attn", "cos: float32",
    ),
    "empty-cache": (
        lambda: half(models.EmptyCache), "k", "promotion", "layers.0.self_attn", "cache: float32",
    ),
    "static-cache": (
        lambda: half(models.StaticCache), "k", "float32-from-start", "layers.0.self_attn", "",
    ),
    "memory-keys": (
        lambda: half_with(models.MemoryKeys, "memory"),
        "k", "promotion", "layers.0.self_attn", "memory: float32",
    ),
    "where-one": (
        lambda: half(models.WhereOne), "v", "promotion", "layers.0.self_attn", "fill: float32",
    ),
    "scaled": (
        lambda: half_with(models.Scaled, "temperature"),
        "q", "promotion", "layers.0.self_attn", "temperature: float32",
    ),
    "casts": (lambda: half(models.Casts), "v", "cast", "layers.0.self_attn", ""),
    "doubles": (
        lambda: half(models.Doubles), "q", "promotion", "layers.0.self_attn", "scale: float64",
    ),
    "softmaxed": (lambda: half(models.Softmaxed), "k", "cast", "layers.0.self_attn", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(GUILTY))
def test_the_statement_is_named(name: str) -> None:
    build, letters, kind, module, because = GUILTY[name]
    call = first_wrong(traced(lambda: build()(IDS)))
    assert "".join(call.culprits) == letters
    culprit = call.culprits[letters[0]]
    assert (culprit.kind, culprit.module, culprit.line) == (kind, module, guilty_line(name))
    assert because in culprit.because
    assert culprit.source.startswith(culprit.source.strip())
    assert call.module == "layers.0.self_attn"


def test_a_part_of_a_head_that_was_rotated_names_the_rotation_not_the_join() -> None:
    call = first_wrong(traced(lambda: half(models.Partial)(IDS)))
    assert call.culprits["q"].line == guilty_line("rotary")


def test_the_roots_own_forward_is_named_through_a_layer_that_restores_the_dtype() -> None:
    model = models.Upcasting().to(BF16)
    for layer in model.layers:
        for name in ("q_proj", "k_proj", "v_proj"):
            restoring = models.Restoring(getattr(layer.self_attn, name))
            setattr(layer.self_attn, name, restoring)
    call = first_wrong(traced(lambda: model(IDS)))
    assert list(call.culprits) == ["q", "k", "v"]
    for culprit in call.culprits.values():
        assert (culprit.kind, culprit.line) == ("cast", guilty_line("root"))
        assert culprit.module == ""


def test_a_magnitude_of_float32_is_named_at_its_projection_alone() -> None:
    model = half(models.Attention)
    attention = model.layers[0].self_attn
    attention.k_proj = models.Magnitude(attention.k_proj)
    call = first_wrong(traced(lambda: model(IDS)))
    assert list(call.culprits) == ["k"]
    culprit = call.culprits["k"]
    assert (culprit.kind, culprit.line) == ("promotion", guilty_line("magnitude"))
    assert culprit.module == "layers.0.self_attn.k_proj"
    assert "magnitude" in culprit.because


def test_an_adapter_that_does_not_cast_back() -> None:
    model = half(models.Attention)
    attention = model.layers[0].self_attn
    attention.v_proj = models.Adapter(attention.v_proj, back=False)
    call = first_wrong(traced(lambda: model(IDS)))
    assert list(call.culprits) == ["v"]
    assert call.culprits["v"].module == "layers.0.self_attn.v_proj"


def test_library_code_that_asks_for_float32_under_autocast() -> None:
    def run() -> None:
        with torch.autocast("cpu", dtype=BF16):
            models.Model(models.CustomForward)(IDS)

    call = first_wrong(traced(run))
    assert list(call.culprits) == ["k"]
    assert call.culprits["k"].line == guilty_line("custom-fwd")


def test_weights_of_float32_without_autocast_are_float32_from_the_start() -> None:
    call = first_wrong(traced(lambda: models.Model()(IDS)))
    assert list(call.culprits) == ["q", "k", "v"]
    culprit = call.culprits["q"]
    assert (culprit.kind, culprit.module) == ("float32-from-start", "embed")
    assert "weight: float32" in culprit.because
    assert call.why_not_flash == ("dtype float32",)
    assert call.error == f"RuntimeError: {standin.REFUSAL}"


@pytest.mark.parametrize("reentrant", [False, True])
def test_under_checkpointing(*, reentrant: bool) -> None:
    model = models.Checkpointed(models.WhereOne, reentrant=reentrant).to(BF16)
    call = first_wrong(traced(lambda: model(IDS).sum().backward()))
    assert call.culprits["v"].line == guilty_line("where-one")
    assert call.culprits["v"].module == "layers.0.self_attn"


def test_one_line_is_guilty_in_one_layer_and_innocent_in_another() -> None:
    model = half(models.QKNorm)
    model.layers[1].self_attn.k_norm.float()
    report = traced(lambda: model(IDS))
    first, second = report.processes[0].calls
    assert first.culprits == {}
    assert list(second.culprits) == ["k"]
    assert second.culprits["k"].module == "layers.1.self_attn.k_norm"


def test_outside_any_module() -> None:
    def run() -> None:
        q, k, v = (torch.randn(1, 2, 4, 8, dtype=BF16) for _ in range(3))
        k = k + torch.randn(2, 1, 8)
        models.sdpa(q, k, v)

    call = first_wrong(traced(run))
    assert call.culprits["k"].kind == "promotion"
    assert call.culprits["k"].module is None
    assert "k + torch.randn" in call.culprits["k"].source


def test_a_head_that_is_too_large_has_no_culprit() -> None:
    q = torch.randn(1, 2, 4, 320, dtype=BF16)
    call = traced(lambda: models.flash(q, q, q)).processes[0].calls[0]
    assert call.culprits == {}
    assert call.why_not_flash == ("head dim 320 is more than 256",)


def autocast(model: torch.nn.Module) -> Callable[[], object]:
    def run() -> None:
        with torch.autocast("cpu", dtype=BF16):
            model(IDS).sum().backward()

    return run


def inference(model: torch.nn.Module) -> Callable[[], object]:
    def run() -> None:
        with torch.inference_mode():
            model(IDS)

    return run


def adapted() -> models.Model:
    model = half(models.Attention)
    for layer in model.layers:
        layer.self_attn.q_proj = models.Adapter(layer.self_attn.q_proj, back=True)
    return model


SILENT: dict[str, Callable[[], Callable[[], object]]] = {
    "all in bf16": lambda: lambda: half(models.Attention)(IDS),
    "norms that stay half": lambda: lambda: half(models.QKNorm)(IDS),
    "rotary cast back": lambda: lambda: half(models.RotatedBack)(IDS),
    "a cache of the right dtype": lambda: lambda: half(models.HalfCache)(IDS),
    "a constant without dimensions": lambda: lambda: half(models.WhereZero)(IDS),
    "softmax in float32, cast back": lambda: lambda: half(models.SoftmaxedBack)(IDS),
    "masters of float32 under autocast": lambda: autocast(models.Model()),
    "rotary in float32 into SDPA under autocast": lambda: autocast(
        models.Model(models.Rotated, kernel="sdpa")
    ),
    "wide norms into SDPA under autocast": lambda: autocast(
        models.Model(models.QKNorm, kernel="sdpa")
    ),
    "adapters cast back": lambda: lambda: adapted()(IDS),
    "inference mode": lambda: inference(half(models.QKNorm)),
    "a wide norm before the projections": lambda: autocast(models.Model(models.HalfCache)),
    "checkpointing": lambda: lambda: models.Checkpointed().to(BF16)(IDS).sum().backward(),
    "float16": lambda: lambda: models.Model(models.QKNorm, kernel="sdpa").half()(IDS),
}


@pytest.mark.parametrize("name", sorted(SILENT))
def test_silence_where_all_is_well(name: str) -> None:
    report = traced(SILENT[name]())
    calls = report.processes[0].calls
    assert calls
    assert [call.culprits for call in calls if call.culprits] == []
    assert [call.why_not_flash for call in calls if call.why_not_flash] == []
    assert report.findings == ()
