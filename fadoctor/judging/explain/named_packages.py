"""Packages that a log names by their folders and files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.packages import EXTENSIONS, PACKAGES, TORCH, TRITON, WORDS
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.logs.cleaning import Line

ABOUT_FLASH = compiled(r"(?i)flash[-_ ]?att")

# /site-packages/x_transformers/attend.py | C:\\v\\Lib\\site-packages\\peft\\peft_model.py
_FOLDER = compiled(r"[\\/](?=[a-z])(\w{2,30})(?=[\\/])")

# File "/opt/venv/lib/python3.12/site-packages/vllm/platforms/cuda.py", line 22, in <module>
_FRAME = compiled(r"File \"[^\"\n]{0,300}-packages[\\/]{1,2}(\w{2,60})[\\/]")

# File "/a/site-packages/vllm/x.py", line 22, in f | File C:\\site-packages\\triton\\jit.py:345 in f
_AT_WORK = compiled(
    r"\bFile \"?[^\"\n]{0,300}-packages[\\/]{1,2}(\w{2,60})[\\/][\w\\/]{1,200}\.py(?:\", line |:)\d"
)

# /site-packages/transformer_engine_torch.cpython-310-x86_64-linux-gnu.so | mmcv/_ext.so | a\\b.pyd
_FILE = compiled(r"(?:(\w{2,60})[\\/]{1,2})?(\w{2,60})(?:\.[\w-]{1,60}){0,3}\.(?:so|pyd)\b")


def packages_in(text: str) -> frozenset[str]:
    """Return the packages whose folders stand in paths of a text, by the prefix of their facts.

    .../site-packages/x_transformers/attend.py is one of x_transformers.
    """
    return frozenset(_FOLDER.findall(text)) & PACKAGES.keys()


def packages_at_work(text: str) -> frozenset[str]:
    """Return the packages a file of which stands in a frame of a traceback: they are installed.

    File /a/lib/site-packages/triton/runtime/jit.py:345 in <lambda>
    """
    return frozenset(_AT_WORK.findall(text)) & PACKAGES.keys()


def package_of(text: str) -> str:
    """Return the fact prefix of the package whose extension a text names, "" where it names none.

    .../site-packages/xformers/_C.so is one of xformers.
    """
    for key, names in EXTENSIONS.items():
        stems = [stem.rstrip("*") for several in names.values() for stem in several]
        if any(re.search(rf"(?<![A-Za-z0-9_]){re.escape(stem)}", text) for stem in stems):
            return key
    return "torch" if "/torch/lib/" in text else ""


def told_package(lines: Iterable[Line]) -> str:
    """Return the fact prefix of the one package with an extension that a person names, or ""."""
    text = " ".join(line.text for line in lines)
    told = {
        key
        for key in EXTENSIONS.keys() & WORDS.keys()
        if key not in {TORCH, TRITON}
        and re.search(rf"(?i)(?<![A-Za-z])(?:{WORDS[key]})(?![A-Za-z])", text)
    }
    return told.pop() if len(told) == 1 else ""


def importer_of(text: str, matrix: Matrix) -> tuple[str, Known | None]:
    """Return whose code was at work last, of the packages with extensions that frames name.

    Its fact prefix, or, where there is none, its distribution. torch, which loads the extensions
    of others, is none of them.
    """
    for name in reversed(_FRAME.findall(text)):
        if name in EXTENSIONS and name != "torch":
            return name, None
        if owner := owner_of(f"{name}/_C.so", matrix):
            return "", owner
    return "", None


def owner_of(file: str, matrix: Matrix) -> Known | None:
    """Return the distribution that a compiled file belongs to, for one that no facts are about.

    Windows names the module alone: "DLL load failed while importing _qattn_sm89".
    """
    found = _FILE.search(file) or _FILE.search(f"{file}.pyd")
    for name in reversed(found.groups("") if found is not None else ()):
        owner = matrix.find("extension-owners", {"module": Known(name, "the log")}).cell(
            "distribution"
        )
        if isinstance(owner, Known):
            return Known(owner.value, "the file that the log names")
    return None
