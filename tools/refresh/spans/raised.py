"""Which packages libraries ask for in what they raise: the names behind ``pip install``.

Each library of the list is read in a few releases, spread over all that it has: messages stay for
years, and a package that is asked for once is asked for in later releases, too.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from packaging.version import Version

    from tools.refresh.names.archive import Sources

TABLE = "install-names"

LIBRARIES = (
    *("accelerate", "autoawq", "axolotl", "bitsandbytes", "compressed-tensors", "deepspeed"),
    *("diffusers", "flashinfer-python", "gptqmodel", "kernels", "liger-kernel", "lightning"),
    *("llamafactory", "lmdeploy", "megatron-core", "ms-swift", "nemo-toolkit", "optimum", "peft"),
    *("pytorch-lightning", "sentence-transformers", "sglang", "torchao", "torchtune"),
    *("transformer-engine", "transformers", "trl", "unsloth", "unsloth-zoo", "verl", "vllm"),
)
"""Whose messages are read."""

SPREAD = 5
"""Releases of each that are read."""

RULES = {
    "flash-attn": "hf-fa2-not-installed",
    "flashinfer": "flashinfer-missing",
    "flashinfer-python": "flashinfer-missing",
    "torch": "torch-missing",
    "triton": "triton-missing",
}
"""Packages that a rule of their own speaks of."""

ASIDE = frozenset({"torchaudio", "torchvision", "sgl-kernel", "bitsandbytes"})
"""Packages whose absence has more than one rule: the wordings of those rules decide."""

_NO_FILE = re.compile(r"(?:^|/)(?:tests?|testing|benchmarks?|examples?)/|/test_|conftest")
_ASKED = re.compile(
    r"\bpip3? install\s+(?:--?[\w-]{1,30}(?:[ =]https?://\S+)?\s+){0,3}[`'\"\\]{0,3}"
    r"([A-Za-z][\w.-]{2,40}?)(?=\[|[\s`'\"<>=~!;,)\\]|\.(?:\s|$)|$)"
)
_NO_NAME = frozenset({"git", "dist", "failed", "cuda-free", "the", "pip", "instructions"})
"""Words behind ``pip install`` that are no package of the index."""
_PUNCTUATION = re.compile(r"[-_.]+")


def spread(versions: Sequence[Version], number: int = SPREAD) -> list[Version]:
    """Return some releases, the oldest and the newest among them, evenly spread."""
    if len(versions) <= number:
        return list(versions)
    last = len(versions) - 1
    return sorted({versions[round(each * last / (number - 1))] for each in range(number)})


def names_of(sources: Sources) -> frozenset[str]:
    """Return the packages that the messages of a release ask for."""
    paths = [path for path in sources.digests if not _NO_FILE.search(path)]
    texts = sources.read(paths) if paths else {}
    return frozenset(name for text in texts.values() for name in names_in(text))


def names_in(source: str) -> Iterator[str]:
    """Yield the packages that a source asks for where it raises or asserts."""
    if "pip install" not in source and "pip3 install" not in source:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    told = _assigned(tree)
    for node in ast.walk(tree):
        match node:
            case (
                ast.Raise(exc=ast.Call(args=[message, *_])) | ast.Assert(msg=ast.expr() as message)
            ):
                text = _text(message, told)
            case _:
                continue
        for found in _ASKED.finditer(text):
            name = _PUNCTUATION.sub("-", found[1].rstrip(".")).lower()
            if name not in _NO_NAME:
                yield name


def _assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """Return what names are assigned once: a message may be written before it is raised."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case _:
                continue
    return found


def _text(node: ast.expr, told: Mapping[str, ast.expr]) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, told) for part in parts)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _text(left, told) + _text(right, told)
        case ast.Call(func=ast.Attribute(value=value)) | ast.BinOp(left=value):
            return _text(value, told)
        case ast.Name(id=name) if name in told:
            return _text(told[name], {})
        case _:
            return " * "


def name_rows(had: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the rows by name; ``had`` says which packages each library asks for."""
    askers: dict[str, list[str]] = {}
    for library, names in sorted(had.items()):
        for name in names - ASIDE - {library}:
            askers.setdefault(name, []).append(library)
    return [_row(name, libraries) for name, libraries in sorted(askers.items())]


def _row(name: str, libraries: Sequence[str]) -> str:
    rule = f", rule: {RULES[name]}" if name in RULES else ""
    asked = f", asked: {' '.join(libraries)}"
    return f"  - {{module: {name}, distribution: {name}{rule}{asked}}}\n"
