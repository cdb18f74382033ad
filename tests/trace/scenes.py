"""Scenes with the answer that is known of each: what is run, and who widened which tensor.

Needs torch and the standard library alone (Python 3.9), so that other interpreters can run it, too.
"""

# mypy: disable-error-code="union-attr,arg-type,name-defined,no-untyped-call,no-any-return"

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import torch

from tests.trace import (
    everyday,
    habits,
    joins,
    kinds,
    labels,
    models,
    parts,
    reported,
    reported_layers,
    reported_positions,
    reported_shapes,
    shapes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

BF16 = torch.bfloat16
IDS = torch.arange(14).reshape(2, 7)
ATTENTION = "layers.0.self_attn"
ANY = "*"


class Scene(NamedTuple):
    """What is run, and what a trace must say of the first call that is wrong."""

    run: Callable[[], object]
    letters: str = ""
    """Which of query, key and value were wrong at the kernel; "" for none of any call."""
    kind: str = ""
    module: Optional[str] = ANY  # noqa: UP045 -- evaluated in Python 3.9
    because: str = ""
    """Stands in what the statement is said to be because of."""
    line: str = ""
    """What marks the guilty line; "" where any is right."""


def model(
    kind: type[models.Attention] = models.Attention, *wide: str, kernel: str = "flash"
) -> models.Model:
    """Return a model in bfloat16, but for the named parts of its attention."""
    found = models.Model(kind, kernel=kernel).to(BF16)
    for layer in found.layers:
        for name in wide:
            part = getattr(layer.self_attn, name)
            if isinstance(part, torch.nn.Module):
                part.float()
            else:
                part.data = part.data.float()
    return found


def call(build: Callable[..., torch.nn.Module], *args: Any, **options: Any) -> Callable[[], object]:
    """Return what builds a model and calls it."""
    return lambda: build(*args, **options)(IDS)


def backward(build: Callable[[], torch.nn.Module]) -> None:
    build()(IDS).sum().backward()


def autocast(build: Callable[[], torch.nn.Module]) -> None:
    with torch.autocast("cpu", dtype=BF16):
        build()(IDS).sum().backward()


def inference(build: Callable[[], torch.nn.Module]) -> None:
    with torch.inference_mode():
        build()(IDS)


def restoring() -> torch.nn.Module:
    """The root casts, and its layers give back the dtype that they were given."""
    found = models.Upcasting().to(BF16)
    for layer in found.layers:
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(layer.self_attn, name, parts.Restoring(getattr(layer.self_attn, name)))
    return found


def with_magnitude() -> torch.nn.Module:
    found = model()
    attention = found.layers[0].self_attn
    attention.k_proj = parts.Magnitude(attention.k_proj)
    return found


def adapted(name: str, *, back: bool) -> torch.nn.Module:
    found = model()
    for layer in found.layers:
        setattr(layer.self_attn, name, parts.Adapter(getattr(layer.self_attn, name), back=back))
    return found


def custom_forward() -> None:
    torch.amp.custom_fwd  # noqa: B018 -- what some versions of torch lack
    with torch.autocast("cpu", dtype=BF16):
        models.Model(models.CustomForward)(IDS)


def checkpointed(kind: type[models.Attention], *, reentrant: bool) -> torch.nn.Module:
    return models.Checkpointed(kind, reentrant=reentrant).to(BF16)


def second_layer() -> torch.nn.Module:
    """One line is guilty in one layer and innocent in another."""
    found = model(models.QKNorm)
    found.layers[1].self_attn.k_norm.float()
    return found


def outside_any_module() -> None:
    q, k, v = (torch.randn(1, 2, 4, 8, dtype=BF16) for _ in range(3))
    models.sdpa(q, models.shifted(k), v)


PROMOTED, CAST, START = "promotion", "cast", "float32-from-start"

OF_MODELS: dict[str, Scene] = {
    "norm-weight": Scene(
        call(model, models.QKNorm, "q_norm", "k_norm"), "qk", PROMOTED, ATTENTION + ".q_norm",
        "weight: float32", "norm-weight",
    ),
    "norm-forgets": Scene(
        call(model, models.Forgets), "q", CAST, ATTENTION + ".q_norm", line="norm-forgets"
    ),
    "rotary": Scene(
        call(model, models.Rotated), "qk", PROMOTED, ATTENTION, "cos: float32", "rotary"
    ),
    "part of a head": Scene(
        call(model, models.Partial), "q", PROMOTED, ATTENTION, "cos: float32", "rotary"
    ),
    "empty-cache": Scene(
        call(model, models.EmptyCache), "k", PROMOTED, ATTENTION, "cache: float32", "empty-cache"
    ),
    "static-cache": Scene(
        call(model, models.StaticCache), "k", START, ATTENTION, line="static-cache"
    ),
    "memory-keys": Scene(
        call(model, models.MemoryKeys, "memory"), "k", PROMOTED, ATTENTION, "memory: float32",
        "memory-keys",
    ),
    "where-one": Scene(
        call(model, models.WhereOne), "v", PROMOTED, ATTENTION, "fill: float32", "where-one"
    ),
    "scaled": Scene(
        call(model, models.Scaled, "temperature"), "q", PROMOTED, ATTENTION,
        "temperature: float32", "scaled",
    ),
    "casts": Scene(call(model, models.Casts), "v", CAST, ATTENTION, line="casts"),
    "doubles": Scene(
        call(model, models.Doubles), "q", PROMOTED, ATTENTION, "scale: float64", "doubles"
    ),
    "other-self": Scene(
        call(model, models.OtherSelf), "k", CAST, ATTENTION + ".lift", line="other-self"
    ),
    "softmaxed": Scene(call(model, models.Softmaxed), "k", CAST, ATTENTION, line="softmaxed"),
    "root": Scene(call(restoring), "qkv", CAST, "", line="root"),
    "magnitude": Scene(
        call(with_magnitude), "k", PROMOTED, ATTENTION + ".k_proj", "magnitude", "magnitude"
    ),
    "adapter": Scene(
        call(adapted, "v_proj", back=False), "v", PROMOTED, ATTENTION + ".v_proj",
        "delta: float32", "adapter",
    ),
    "custom-fwd": Scene(custom_forward, "k", line="custom-fwd"),
    "weights from the start": Scene(
        call(models.Model), "qkv", START, "embed", "weight: float32"
    ),
    "checkpointing, not reentrant": Scene(
        partial(backward, partial(checkpointed, models.WhereOne, reentrant=False)),
        "v", PROMOTED, ATTENTION, line="where-one",
    ),
    "checkpointing, reentrant": Scene(
        partial(backward, partial(checkpointed, models.WhereOne, reentrant=True)),
        "v", PROMOTED, ATTENTION, line="where-one",
    ),
    "in the second layer": Scene(
        call(second_layer), "k", PROMOTED, "layers.1.self_attn.k_norm", line="norm-weight"
    ),
    "outside any module": Scene(
        outside_any_module, "k", PROMOTED, None, "wide: float32", "outside"
    ),
    "all in bf16": Scene(call(model)),
    "norms that stay half": Scene(call(model, models.QKNorm)),
    "rotary cast back": Scene(call(model, models.RotatedBack)),
    "a cache of the right dtype": Scene(call(model, models.HalfCache)),
    "a constant without dimensions": Scene(call(model, models.WhereZero)),
    "softmax in float32, cast back": Scene(call(model, models.SoftmaxedBack)),
    "masters of float32 under autocast": Scene(partial(autocast, models.Model)),
    "rotary in float32 into SDPA under autocast": Scene(
        partial(autocast, partial(models.Model, models.Rotated, kernel="sdpa"))
    ),
    "wide norms into SDPA under autocast": Scene(
        partial(autocast, partial(models.Model, models.QKNorm, kernel="sdpa"))
    ),
    "adapters cast back": Scene(call(adapted, "q_proj", back=True)),
    "inference mode": Scene(partial(inference, partial(model, models.QKNorm))),
    "a wide norm before the projections": Scene(
        partial(autocast, partial(models.Model, models.HalfCache))
    ),
    "checkpointing": Scene(
        partial(backward, partial(checkpointed, models.Attention, reentrant=False))
    ),
    "float16": Scene(lambda: models.Model(models.QKNorm, kernel="sdpa").half()(IDS)),
}  # fmt: skip


def _scenes(known: labels.Labels, *modules: Any) -> dict[str, Scene]:
    """Return the scenes of modules of reports, and those of them that have no fault."""
    there = {name: run for module in modules for name, run in vars(module).items()}
    return {
        name: Scene(there[name], letters, kind, ANY, because, name)
        for name, (letters, kind, because) in known.items()
    } | {name: Scene(run) for name, run in there.items() if name.startswith("well_")}


OF_REPORTS = (
    _scenes(labels.REPORTED, reported, everyday)
    | _scenes(labels.REPORTED_LATER, reported_layers, reported_positions, reported_shapes)
    | _scenes(labels.HABITS, habits)
    | _scenes(labels.KINDS, kinds)
    | _scenes(labels.SHAPES, shapes)
    | _scenes(labels.JOINS, joins)
)

for _name in (
    "evaluated_outside_context",
    "recomputed_by_checkpoint",
    "validated_without_precision",
):
    OF_REPORTS[_name] = OF_REPORTS[_name]._replace(line="outside_context")


def lines_marked(module: Any) -> dict[str, set[int]]:
    """Return where the guilty lines of a file stand, by what marks them."""
    found: dict[str, set[int]] = {}
    lines = Path(module.__file__).read_text(encoding="utf-8").splitlines()
    for at, text in enumerate(lines, 1):
        _, mark, name = text.rpartition("  # guilty: ")
        if mark:
            found.setdefault(name, set()).add(at)
    return found


FILES = (
    models,
    parts,
    reported,
    everyday,
    reported_layers,
    reported_positions,
    reported_shapes,
    habits,
    kinds,
    shapes,
    joins,
)

LINES = {name: lines for module in FILES for name, lines in lines_marked(module).items()}


def differences(scene: Scene, calls: Any) -> list[str]:
    """Return in what a trace, its calls in plain data, is not what is known of a scene."""
    wrong = next((each for each in calls if each["culprits"]), None)
    if not calls:
        return ["no call was seen"]
    if wrong is None:
        return ["nobody was named"] if scene.letters else []
    named = "".join(wrong["culprits"])
    if named != scene.letters:
        return [f"{named or 'nobody'} named, not {scene.letters or 'nobody'}"]
    known = (scene.kind or ANY, scene.module, scene.because)
    found = []
    for at, culprit in enumerate(wrong["culprits"].values()):
        kind, module, line = culprit["kind"], culprit["module"], culprit["line"]
        right = scene.kind in ("", kind) and scene.because in culprit["because"]
        right = right and (not scene.line or line in LINES[scene.line])
        if at == 0:  # query and key may have a norm of their own each
            right = right and scene.module in (ANY, module)
        if not right:
            found.append(f"{(kind, module, culprit['because'])} in line {line}, not {known}")
    return found


KINDS = (
    models.Attention, models.QKNorm, models.Rotated, models.RotatedBack, models.Partial,
    models.StaticCache, models.SoftmaxedBack, models.WhereZero, models.CustomForward,
)  # fmt: skip


def step(seed: int, plan: dict[str, Any]) -> list[Any]:
    """Return the bits of a step: its result and all gradients, or what it raised."""
    torch.manual_seed(seed)
    net: Any = models.Model(plan["kind"], kernel=plan["kernel"]).to(plan["dtype"])
    ids = torch.randint(0, 16, (plan["batch"], 5))
    try:
        with torch.autocast("cpu", dtype=BF16, enabled=plan["autocast"]):
            out = net(ids)
            if plan["backward"]:
                out.float().pow(2).sum().backward()
    except RuntimeError as error:
        return [str(error)]
    kept = [out.detach(), *(p.grad for p in net.parameters() if p.grad is not None)]
    return [each.float().numpy().tobytes() for each in kept]


CHOICES: dict[str, tuple[Any, ...]] = {
    "kind": KINDS,
    "kernel": ("flash", "sdpa"),
    "dtype": (torch.float32, BF16),
    "autocast": (False, True),
    "backward": (False, True),
    "batch": (1, 2),
}


def any_plan(seed: int) -> dict[str, Any]:
    """Return a random small model and what is done with it."""
    chance = random.Random(seed)  # noqa: S311 -- no secret
    return {name: chance.choice(values) for name, values in CHOICES.items()}
