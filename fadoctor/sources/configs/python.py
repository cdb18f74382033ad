"""Python scripts and notebooks, by their syntax tree; nothing of them is run or imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import (
    python_described,
    python_models,
    python_started,
    python_training,
    python_unsaid,
)
from fadoctor.sources.configs.intent import OWN_IMAGE, Configuration
from fadoctor.sources.configs.python_meaning import ScriptMeaning
from fadoctor.sources.configs.python_started import started_commands
from fadoctor.sources.configs.shell import configuration_of
from fadoctor.sources.configs.shell_commands import read_commands
from fadoctor.sources.configs.words import dtype_word
from fadoctor.sources.scripts.python_calls import read_calls
from fadoctor.syntax.notebook import Notebook, read_notebook

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.sources.scripts.python_calls import Found

KIND = "python"
_SUFFIXES = (".py", ".pyw", ".ipynb")
_IMAGES = frozenset(("debian_slim", "from_registry", "micromamba"))
"""What makes an image of Modal, in which the functions of a script run."""
_SAVES = frozenset(("save_pretrained", "push_to_hub"))
_MOVES = frozenset(("cuda", "to", "prepare"))
_WANTED = frozenset(
    python_models.WANTED
    | python_training.WANTED
    | python_started.WANTED
    | python_unsaid.WANTED
    | python_described.WANTED
    | _IMAGES
    | _SAVES
    | _MOVES
)


def recognises(source: Source) -> bool:
    """Return whether it is a script or a notebook, by its name or its first line."""
    first = source.text[:200].partition("\n")[0]
    return source.base.endswith(_SUFFIXES) or (first.startswith("#!") and "python" in first)


def _moves(call: Found) -> bool:
    """Return whether a call moves something to a device; ``to(torch.bfloat16)`` only casts."""
    last = call.name.rpartition(".")[2]
    if last != "to":
        return last in _MOVES
    return any(
        not isinstance(dtype_word(each.value.name), str) and not each.written.endswith("dtype")
        for each in call.arguments
    )


def read(source: Source) -> Configuration:
    """Return what it asks for; InputError where it is no Python.

    Starts one process, which has limits on time and memory.
    """
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    book = read_notebook(source) if source.base.endswith(".ipynb") else Notebook(text)
    answer = read_calls(book.text, source.name, _WANTED, book.cells)
    script = ScriptMeaning(source, book.line)
    for call in answer.found:
        if not (python_described.say(script, call) or python_training.say(script, call)):
            python_models.say(script, call)
    python_unsaid.say(script, answer.found)
    script.is_saved = any(call.name.rpartition(".")[2] in _SAVES for call in answer.found)
    script.is_moved = any(map(_moves, answer.found))
    given = configuration_of(source, read_commands(source, book.shell))
    notes = [f"the cell at line {book.line(line)} is no Python" for line in answer.skipped_cells]
    if answer.is_cut:
        notes.append("it calls more than is read")
    started = started_commands(source, script, answer.found)
    intents = (*script.finish(), *given.intents, *started)
    has_image = any(call.name.startswith("modal.Image.") for call in answer.found)
    image = OWN_IMAGE if has_image else ""
    adapters = tuple(script.adapters)
    return Configuration(source.name, KIND, intents, tuple(notes), given.named, adapters, image)
