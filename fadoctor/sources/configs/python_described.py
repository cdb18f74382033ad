"""Calls that describe a run which something else starts: mmengine's mappings, SageMaker's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.configs import python_models, python_training

if TYPE_CHECKING:
    from fadoctor.sources.configs.python_meaning import ScriptMeaning
    from fadoctor.sources.scripts.python_calls import Found

_ESTIMATORS = frozenset(("HuggingFace", "PyTorch", "ModelTrainer"))
WANTED = frozenset(("dict", *_ESTIMATORS))


def say(script: ScriptMeaning, call: Found) -> bool:
    """Note what a call describes; False where it describes nothing."""
    if call.form != "call":
        return False
    if call.name == "dict":
        return _made_later(script, call)
    return call.name.startswith("sagemaker.") and _job(script, call)


def _made_later(script: ScriptMeaning, call: Found) -> bool:
    """Note a model that a mapping describes: ``dict(type=AutoModel.from_pretrained, ...)``."""
    made = call.argument("type")
    if made is None or not made.value.name.endswith(".from_pretrained"):
        return False
    python_models.say(script, msgspec.structs.replace(call, name=made.value.name))
    return True


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
