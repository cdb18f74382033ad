"""Keys that mean the same in many files: whose they are, and what they say, stands in tables.

A file of a framework without a reader of its own is known by the keys that tell it; of any other
file only those keys are read that mean the same wherever they stand, and a note says which.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.words import Said
from fadoctor.syntax.tree import NODE_LIMIT, Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.sources.configs.source import Source

KIND = "settings"
ANY = "any"
_LINES_SHOWN = 8

PRECISIONS: dict[str, tuple[str, str | None]] = {
    "bf16-true": ("weights", "bf16"), "bfloat16": ("weights", "bf16"),
    "pure_bf16": ("weights", "bf16"), "16-true": ("weights", "fp16"),
    "float16": ("weights", "fp16"), "half": ("weights", "fp16"),
    "bf16-mixed": ("autocast", "bf16"), "bf16": ("autocast", "bf16"),
    "bf16_mixed": ("autocast", "bf16"), "amp_bf16": ("autocast", "bf16"),
    "16-mixed": ("autocast", "fp16"), "16": ("autocast", "fp16"), "fp16": ("autocast", "fp16"),
    "amp_fp16": ("autocast", "fp16"), "32-true": ("autocast", None), "32": ("autocast", None),
    "no": ("autocast", None), "fp32": ("autocast", None), "amp_fp32": ("autocast", None),
    "float32": ("autocast", None), "false": ("autocast", None),
}  # fmt: skip
"""What ``precision`` says: of the weights, or of autocast."""


_STORED = frozenset(("fp8", "float8_e4m3fn", "int8", "int4", "nvfp4", "mxfp4"))
"""Precisions in which weights are kept; what they are computed in is not said."""


class _Key(NamedTuple):
    framework: str
    path: tuple[str, ...]
    says: str
    value: str


class _Framework(NamedTuple):
    name: str
    telling: tuple[tuple[str, ...], ...]
    least: int
    purpose: str
    computes: str


@lru_cache(maxsize=1)
def _keys() -> dict[str, list[_Key]]:
    """Return the rows by the last part of their path, those of one framework first."""
    found: dict[str, list[_Key]] = {}
    for row in load_knowledge().tables["config-keys"].rows:
        path = tuple(str(row["path"]).split("."))
        value = str(row.get("value") or "")
        key = _Key(str(row["framework"]), path, str(row["says"]), value)
        found.setdefault(path[-1], []).append(key)
    for rows in found.values():
        rows.sort(key=lambda key: (key.framework == ANY, -len(key.path)))
    return found


@lru_cache(maxsize=1)
def _frameworks() -> tuple[_Framework, ...]:
    return tuple(
        _Framework(
            str(row["framework"]),
            tuple(tuple(_plain(each).split(".")) for each in _listed(row["telling"])),
            int(str(row["least"])),
            str(row["purpose"]),
            str(row.get("computes") or ""),
        )
        for row in load_knowledge().tables["config-frameworks"].rows
    )


def _listed(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else str(value).split()


def _plain(key: str) -> str:
    return key.lstrip("-").replace("-", "_").lower()


def framework_of(document: Node) -> _Framework | None:
    """Return whose file it is, by the keys that tell it."""
    plain = _renamed(document)
    for each in _frameworks():
        if sum(plain.get(*path) is not None for path in each.telling) >= each.least:
            return each
    return None


def _renamed(document: Node, depth: int = 0) -> Node:
    """Return the two upper levels with ``_`` for ``-`` in their keys."""
    if depth > 1:
        return document
    entries = {_plain(key): _renamed(node, depth + 1) for key, node in document.mapping.items()}
    return msgspec.structs.replace(document, value=entries) if entries else document


def entries(document: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield the path and the node of every entry, through lists too; at most `NODE_LIMIT`.

    What is saved, logged or read from a data set is computed in another dtype: it is left out.
    """
    waiting: list[tuple[tuple[str, ...], Node]] = [((), document)]
    met = 0
    while waiting and met < NODE_LIMIT:
        path, node = waiting.pop()
        met += 1
        if path:
            yield path, node
        if path and path[-1] in _APART:
            continue
        below = [((*path[-3:], _plain(key)), each) for key, each in node.mapping.items()]
        waiting += [*((path, item) for item in reversed(node.items)), *reversed(below)]


_APART = frozenset((
    "save", "saving", "export", "logging", "logger", "data", "dataset", "datasets", "tokenizer",
    "checkpoint", "checkpoints", "checkpointing", "vae", "optimizer",
))  # fmt: skip
"""Parts of a configuration whose dtype is not that of the computation."""


def knows(option: str) -> bool:
    """Return whether a key, or an option of a command line, means the same in any file."""
    return any(key.framework == ANY for key in _keys().get(_plain(option), ()))


def say(said: Said, document: Node, framework: str = ANY) -> tuple[int, ...]:
    """Note what the keys of a document say, those of the framework and those of any.

    Return the lines of the keys whose values are known, a switch that is off as well.
    """
    table = _keys()
    met: dict[int, None] = {}
    for path, node in entries(document):
        for key in table.get(path[-1], ()):
            if key.framework in (framework, ANY) and path[-len(key.path) :] == key.path:
                if _noted(said, _resolved(document, node), key):
                    met[node.line] = None
                break
    return tuple(met)


def _resolved(document: Node, node: Node) -> Node:
    """Return a value in the place of its interpolation: ``${trainer.precision}``."""
    for _ in range(_STEPS):
        found = _INTERPOLATION.fullmatch(str(node.scalar)) if node.scalar is not None else None
        other = document.get(*found[1].split(".")) if found else None
        if other is None or other.scalar is None:
            break
        node = msgspec.structs.replace(node, value=other.scalar)
    return node


_STEPS = 4
# ${trainer.precision}, ${model.dtype}; not ${oc.env:DTYPE}
_INTERPOLATION = re.compile(r"\$\{([A-Za-z_][\w.]{0,200})\}")


def _noted(said: Said, node: Node, key: _Key) -> bool:
    """Note what one key says; of weights that are only kept so, or an adapter's, as a default."""
    value = words.dtype(node)
    if key.says != _ADAPTER and (key.says != "weights" or value != "fp8"):
        return _meant(said, node, key)
    if isinstance(value, str):  # other weights decide where any are named
        said.default("config.weights_dtype", node, value)
    return isinstance(value, str) or words.is_open(node)


def _meant(said: Said, node: Node, key: _Key) -> bool:
    """Note what one key says; return whether its value is one of its words."""
    written = ".".join(key.path)
    value: object = None
    if words.is_open(node):
        said.add(_OPEN[key.says], node, None, written)
        return True
    if key.says == "precision":
        what, value = PRECISIONS.get(str(node.scalar).strip().lower(), ("", None))
        if what:
            said.add(_OPEN[what], node, value, written)
        return bool(what) or str(node.scalar).strip().lower() in _STORED
    if key.says in ("bf16", "fp16", "fp8"):
        is_fp8 = key.says == "fp8"
        return _products(said, node, written) if is_fp8 else _switch(said, node, key.says)
    if key.value:  # a switch that stands for a value
        switch = words.flag(node)
        if switch is True:
            said.add(_OPEN[key.says], node, key.value, written)
        return isinstance(switch, bool)
    if key.says == "layers":  # [[["flash"], 16]]: which layers, and how many
        value = _FLASH.get(str(node.scalar), "")
    elif key.says in ("attention", "kv"):
        text = node.scalar.strip() if isinstance(node.scalar, str) else ""
        value = _FLASH.get(text.lower(), text)[:120]
    else:
        value = words.dtype(node)
    if isinstance(value, str) and value:
        is_off = key.says == "autocast" and value == "fp32"
        said.add(_OPEN[key.says], node, None if is_off else value, written)
    return isinstance(value, str) and bool(value)


_ADAPTER = "adapter"
"""What a key says of the dtype of an adapter's weights."""
_OPEN = {
    "precision": "config.autocast", "weights": "config.weights_dtype",
    "autocast": "config.autocast", "bf16": "config.autocast", "fp16": "config.autocast",
    "fsdp": "config.fsdp_precision", "compute": "config.compute_dtype",
    "kv": "config.kv_cache_dtype", "attention": "config.attention", "switch": "config.attention",
    "layers": "config.attention", "fp8": "config.fp8",
}  # fmt: skip
"""What a key says -> the fact that is open where a variable decides."""
_FLASH = {
    "flash": "flash_attention_2", "fa2": "flash_attention_2", "flash_attn": "flash_attention_2",
    "flash2": "flash_attention_2", "flash3": "flash_attention_3", "torch": "sdpa", "sdp": "sdpa",
    "sage": "sageattention", "sageattn": "sageattention", "sage_attn": "sageattention",
}  # fmt: skip


def _switch(said: Said, node: Node, name: str) -> bool:
    """Note a switch; ``bf16: {enabled: true}`` is one as well."""
    inner = node.get("enabled")
    switch = words.flag(inner if inner is not None else node)
    if switch is True:
        said.add(f"config.{name}", inner or node, value=True, key=name)
        said.add("config.autocast", inner or node, name, name)
    elif switch is False:
        said.add(f"config.{name}", inner or node, value=False, key=name)
    return isinstance(switch, bool)


def _products(said: Said, node: Node, written: str) -> bool:
    """Note that matrices are multiplied in fp8: a training, with Transformer Engine."""
    word = str(node.scalar).strip().lower()
    if word in _OFF:
        return word != "none"
    said.add("config.fp8", node, value=True, key=written)
    said.default("config.purpose", node, "training")
    return True


_OFF = frozenset(("none", "null", "false", "no", ""))


def finished(said: Said, document: Node) -> None:
    """Say what is left open: float32 weights may be computed with under autocast."""
    names = {each.name for each in said.intents}
    is_cast = any(
        each.name == "config.fsdp_precision" and each.value in _HALF for each in said.intents
    )
    if "config.autocast" in names or is_cast:
        return
    weights = [each for each in said.intents if each.name == "config.weights_dtype"]
    told = [each for each in weights if each.written] or weights
    if any(each.value not in _HALF for each in told):
        said.add("config.autocast", document, Computed("the file does not say how it runs"))


_HALF = ("bf16", "fp16")


def recognised(said: Said, met: Iterable[int]) -> str:
    """Return the note on what was read of a file of no known kind."""
    lines = sorted(met)
    shown = ", ".join(map(str, lines[:_LINES_SHOWN]))
    more = " and more" if len(lines) > _LINES_SHOWN else ""
    of = "line" if len(lines) == 1 else "lines"
    return f"{said.source.name}: recognised: {of} {shown}{more}"


def looked_for() -> str:
    """Return the keys that are looked for in any file, in words."""
    return ", ".join(sorted(name for name, rows in _keys().items() if rows[-1].framework == ANY))


def recognises(source: Source) -> bool:
    """Return whether it has a key that means the same everywhere."""
    document = source.document()
    # a list is a table of records, such as models that may be chosen: nothing asks for them
    return document is not None and not document.items and bool(say(Said(source), document))


def read(source: Source) -> Configuration:
    """Return what its keys say."""
    document, said = source.content(), Said(source)
    note = recognised(said, say(said, document))
    finished(said, document)
    return Configuration(source.name, KIND, tuple(said.intents), notes=(note,))
