"""Calls that describe a run which something else starts: mmengine's mappings, SageMaker's jobs.

Also calls that are put off: ``functools.partial``, ``Config`` and ``Partial`` of NeMo's recipes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs import python_models, python_training

if TYPE_CHECKING:
    from fadoctor.sources.configs.python_meaning import ScriptMeaning
    from fadoctor.sources.scripts.python_calls import Found

_ESTIMATORS = frozenset(("HuggingFace", "PyTorch", "ModelTrainer"))
_PUT_OFF = frozenset(("functools.partial", "nemo_run.Config", "nemo_run.Partial"))
_PLUGINS = frozenset(("MegatronMixedPrecision", "MixedPrecision"))
"""Plugins of Lightning that are told the precision in its place."""
_NEMO, _LIGHTNING = "nemo.lightning.", "lightning."
WANTED = frozenset(("dict", "partial", "Config", "Partial", *_PLUGINS, *_ESTIMATORS))


def say(script: ScriptMeaning, call: Found) -> bool:
    """Note what a call describes; False where it describes nothing."""
    if call.form != "call":
        return False
    if call.name == "dict":
        return _made_later(script, call)
    if call.name in _PUT_OFF:
        return _put_off(script, call)
    if call.name.startswith((_NEMO, _LIGHTNING, "pytorch_lightning.")):
        return _of_lightning(script, call)
    return call.name.startswith("sagemaker.") and _job(script, call)


def _made_later(script: ScriptMeaning, call: Found) -> bool:
    """Note a model that a mapping describes: ``dict(type=AutoModel.from_pretrained, ...)``."""
    made = call.argument("type")
    if made is None or not made.value.name.endswith(".from_pretrained"):
        return False
    python_models.say(script, msgspec.structs.replace(call, name=made.value.name))
    return True


def _put_off(script: ScriptMeaning, call: Found) -> bool:
    """Note what the call says that its first argument names, as if it were made here."""
    first = call.argument(0)
    if first is None or not first.value.name:
        return True
    moved = (
        msgspec.structs.replace(one, key=one.key - 1) if isinstance(one.key, int) else one
        for one in call.arguments
        if one.key != 0
    )
    meant = msgspec.structs.replace(call, name=first.value.name, arguments=tuple(moved))
    if not (say(script, meant) or python_training.say(script, meant)):
        python_models.say(script, meant)
    return True


def _of_lightning(script: ScriptMeaning, call: Found) -> bool:
    """Note a trainer of NeMo as one of Lightning, and a plugin as the trainer that it serves."""
    last = call.name.rpartition(".")[2]
    if last not in _PLUGINS and not call.name.startswith(_NEMO):
        return False
    name = f"{_LIGHTNING}{'Trainer' if last in _PLUGINS else last}"
    return python_training.say(script, msgspec.structs.replace(call, name=name))


def _job(script: ScriptMeaning, call: Found) -> bool:
    """Note the hyperparameters of a job: its script takes them as a trainer's arguments."""
    given = call.argument("hyperparameters")
    if given is None or given.value.kind != "mapping":
        return False
    items, is_open = given.value.items, given.value.open
    inner = msgspec.structs.replace(call, arguments=items, open=is_open)
    python_models.say_arguments(script, inner, is_renamed=False)
    return python_training.say(
        script, msgspec.structs.replace(inner, name="transformers.TrainingArguments", open=True)
    )
