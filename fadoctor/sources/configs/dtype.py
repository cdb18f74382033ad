"""In what dtype q, k and v are computed, from what configurations say of autocast and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_HALF = ("bf16", "fp16")
_AUTOCAST, _WEIGHTS = "config.autocast", "config.weights_dtype"
_DEEPSPEED, _CHECKPOINT = "config.deepspeed_precision", "config.checkpoint_dtype"
_FSDP = "config.fsdp_precision"
_VARIABLE = "env.ACCELERATE_MIXED_PRECISION"


def autocast_of(facts: Mapping[str, Fact], beside: Mapping[str, Fact]) -> Fact:
    """Return the autocast: what the files say, else what accelerate's variable does to trainers."""
    variable = facts.get(_VARIABLE) or beside.get(_VARIABLE)
    is_off = isinstance(facts[_AUTOCAST], Absent) and _is_training(facts)
    if is_off and isinstance(variable, Known) and variable.value in _HALF:
        return variable
    return facts[_AUTOCAST]


def computed_dtype(
    facts: Mapping[str, Fact], said: Collection[str]
) -> tuple[Fact, tuple[str, ...]]:
    """Return the dtype, and the names of the facts that it follows from.

    Autocast decides; without it that of FSDP or DeepSpeed does, which cast what they compute with;
    then the weights. `said` are the names that a file speaks of.
    """
    autocast = facts[_AUTOCAST]
    if not isinstance(autocast, Absent):
        return autocast, (_AUTOCAST,)
    for name in (_FSDP, _DEEPSPEED):
        engine = facts[name]
        if isinstance(engine, Unknown) or _value(engine) in _HALF:
            return engine, (name,)
    return _of_weights(facts, said)


def _of_weights(facts: Mapping[str, Fact], said: Collection[str]) -> tuple[Fact, tuple[str, ...]]:
    """Return the dtype of the weights; float32 only where autocast is surely off."""
    weights, names = facts[_WEIGHTS], (_WEIGHTS,)
    if _value(weights) == "auto":
        weights, names = facts[_CHECKPOINT], (_CHECKPOINT,)
        if _value(weights) == "fp32" and not _is_training(facts):
            return Unknown("servers use another dtype than the checkpoint's", "these files"), names
    if isinstance(weights, Absent):
        if _WEIGHTS in said or _AUTOCAST in said:
            why = "no file says in what dtype the weights are loaded"
            return Unknown(why, weights.source), names
        return weights, ()
    if _value(weights) == "fp32" and _is_training(facts) and _AUTOCAST not in said:
        return Unknown("no file says whether autocast is on", "these files"), names
    return weights, (*names, _AUTOCAST) if _AUTOCAST in said else names


def _is_training(facts: Mapping[str, Fact]) -> bool:
    return _value(facts["config.purpose"]) == "training"


def _value(fact: Fact) -> object:
    return fact.value if isinstance(fact, Known) else None
