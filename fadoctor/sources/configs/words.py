"""What readers share: one thing that a file says, in the words of the catalogue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.sources.configs.intent import Computed, Intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.fact import Value
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

DTYPES = {
    "bf16": "bf16", "bfloat16": "bf16", "bfloat_16": "bf16",
    "fp16": "fp16", "float16": "fp16", "float_16": "fp16", "half": "fp16",
    "fp32": "fp32", "float32": "fp32", "float_32": "fp32", "float": "fp32", "32": "fp32",
    "fp8": "fp8", "float8": "fp8", "float8_e4m3fn": "fp8", "fp8_e4m3": "fp8",
}  # fmt: skip
"""How frameworks write a dtype, without ``torch.``, in lower case -> how the catalogue does."""

# ${oc.env:BF16}, {{ dtype }}, $DTYPE, !ENV
_VARIABLE = re.compile(r"\$\{[^}]{0,200}\}|\{\{[^}]{0,200}\}\}|\$[A-Za-z_]\w{0,60}")


Topics = tuple[tuple[str, str, "Callable[[Node], object]"], ...]
"""Dotted path in a file, name of the intent, and what the node there means."""


class Said:
    """Collects the intents of one document."""

    def __init__(self, source: Source) -> None:
        """Begin with none."""
        self.source = source
        self.intents: list[Intent] = []

    def add(self, name: str, node: Node, value: Value | Computed | None, key: str = "") -> None:
        """Note what a node says; what is left to a variable is Computed whatever was read."""
        left_open = is_open(node)
        at = self.source.at(node.line, node.column)
        written = f"{key}: {shown(node)}" if key else shown(node)
        meant = Computed("a variable of the file") if left_open else value
        self.intents.append(Intent(name, meant, at, written))

    def framework(self, name: str, document: Node) -> None:
        """Note whose words the file is written in."""
        at = self.source.at(document.line, document.column)
        self.intents.append(Intent("config.framework", name, at, f"a configuration of {name}"))

    def default(self, name: str, node: Node, value: Value | None) -> None:
        """Note what holds where nothing else says anything: whatever is written overrules it."""
        self.intents.append(Intent(name, value, self.source.at(node.line, node.column)))

    def take(
        self, document: Node, path: str, name: str, meaning: Callable[[Node], object]
    ) -> Node | None:
        """Note what stands at a dotted path, where something stands there; return the node.

        A key with null counts as not written: frameworks take their default then.
        """
        node = document.get(*path.split("."))
        if node is None or node.value is None:
            return None
        self.add(name, node, meaning(node), path)  # type: ignore[arg-type] # a meaning
        return node

    def take_all(self, document: Node, topics: Topics) -> None:
        """Note what stands at each of these paths."""
        for path, name, meaning in topics:
            self.take(document, path, name, meaning)


def is_open(node: Node) -> bool:
    """Return whether a text is left to a variable."""
    text = node.scalar
    return isinstance(text, str) and _VARIABLE.search(text) is not None


def shown(node: Node) -> str:
    """Return a value as a person would write it, shortened."""
    if node.mapping:
        return "{...}"
    if node.items:
        return printable(f"[{', '.join(str(item.scalar) for item in node.items[:6])}]", 80)
    value = node.scalar
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else printable(str(value), 80)


_PLAIN = Computed("no plain value")


def _is_collection(node: Node) -> bool:
    return isinstance(node.value, dict | tuple)


def flag(node: Node) -> bool | Computed:
    """Return a switch: true, "True", 1."""
    if _is_collection(node):
        return _PLAIN
    value = node.scalar
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in {"true", "1", "yes", "on"}:
        return True
    if word in {"false", "0", "no", "off", "none", ""}:
        return False
    return Computed(f"{word[:40]} is not a switch")


def loaded_dtype(node: Node) -> str | Computed:
    """Return the dtype that weights are loaded in; ``auto`` is that of the checkpoint."""
    return dtype(node) or "auto"


def dtype(node: Node) -> str | Computed | None:
    """Return a dtype in the words of the catalogue; None of ``auto``."""
    return _PLAIN if _is_collection(node) else dtype_word(str(node.scalar))


def dtype_word(text: str) -> str | Computed | None:
    """Return a dtype in the words of the catalogue; None of ``auto``."""
    word = text.strip().lower().removeprefix("torch.")
    if word in {"auto", "none", "null", "model", ""}:
        return None
    return DTYPES.get(word, Computed(f"an unknown dtype: {word[:40]}"))


def text(node: Node) -> str | Computed:
    """Return a scalar as text."""
    return _PLAIN if _is_collection(node) else printable(str(node.scalar), 120)


def named_files(document: Node, *keys: str) -> tuple[str, ...]:
    """Return the other configurations that a file names under these keys."""
    nodes = [document.get(*key.split(".")) for key in keys]
    return tuple(shown(node) for node in nodes if node is not None and isinstance(node.scalar, str))


def integer(node: Node) -> int | Computed:
    """Return a whole number."""
    value = node.scalar
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return Computed("no number")
    try:
        return int(value)
    except (ValueError, OverflowError):
        return Computed("no number")


def names(node: Node) -> tuple[str, ...]:
    """Return a list of names: a sequence, or words between commas."""
    if _is_collection(node):
        return tuple(printable(str(item.scalar), 120) for item in node.items[:200])
    found = str(node.scalar).split(",")[:200]
    return tuple(printable(word.strip(), 120) for word in found if word.strip())


def autocast(said: Said, document: Node, *, is_off_by_default: bool = True) -> bool:
    """Say what the switches ``bf16`` and ``fp16`` come to; return whether one is on, or may be.

    Both off is what holds where nothing else turns it on, such as accelerate's mixed_precision.
    """
    off = None
    for key in ("bf16", "fp16"):
        node = document.get(key)
        if node is None or node.value is None:
            continue
        switch = Computed("a variable of the file") if is_open(node) else flag(node)
        if switch is not False:
            said.add("config.autocast", node, key if switch is True else switch, key)
            return True
        off = node
    if is_off_by_default:
        said.default("config.autocast", off or document, None)
        for key in ("bf16", "fp16"):
            said.default(f"config.{key}", document, value=False)
    elif off is not None and document.has("bf16", "fp16"):
        said.default("config.autocast", off, None)
    return False


def switched_on(said: Said, document: Node, key: str, name: str, value: str) -> None:
    """Say what a switch means, where it is on or may be."""
    node = document.get(key)
    if node is None or node.value is None:
        return
    switch = Computed("a variable of the file") if is_open(node) else flag(node)
    if switch is not False:
        said.add(name, node, value if switch is True else switch, key)
