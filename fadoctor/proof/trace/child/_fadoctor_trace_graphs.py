"""What widened a tensor inside a region of torch.compile: its graphs say so, when they are made.

No mode sees the operations of a compiled region. Dynamo gives each graph to a compiler once; its
nodes know dtypes, shapes, statements and modules.
"""

from __future__ import annotations

import functools
import re
import sys
import weakref
from typing import Any

from _fadoctor_trace_frames import Place
from _fadoctor_trace_origin import CAST, PROMOTION, RANK, START, Origin

_MODULE = "torch._dynamo.output_graph"
_MOST_NODES, _MOST_KEPT, _DEEPEST = 20_000, 512, 2_000
_LINE = re.compile(r'File "([^"]{1,1000})", line (\d{1,7}), in (\S{1,200})')
_HELD = re.compile(r"_(?:parameters|buffers)_(\w{1,200}?)_$")
_STEP = re.compile(r"\.(\w+)|\[['\"]?(\w+)['\"]?\]")


class Code:
    """Stands for a code object: where the statement of a graph's node lies."""

    def __init__(self, name: str, function: str) -> None:
        self.co_filename = name
        self.co_name = function


class Graphs:
    """Origins of wide results of compiled regions, by dtype and size."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._patched = False
        self._found: dict[Any, list[Any]] = {}
        """(dtype, elements) -> (shape, origin)."""

    def patch(self) -> None:
        """Stand where Dynamo gives a graph to its compiler; once."""
        owner = getattr(sys.modules.get(_MODULE), "OutputGraph", None)
        original = getattr(owner, "call_user_compiler", None)
        if self._patched or original is None:
            return
        self._patched = True

        def call_user_compiler(graphs: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                self._read(module.graph, _root(graphs))
            except Exception as error:
                self._tracer.fault("graph", error)
            return original(graphs, module, *args, **kwargs)

        ours = functools.update_wrapper(call_user_compiler, original)
        self._tracer.patches.put(owner, "call_user_compiler", ours)

    def get(self, tensor: Any) -> Any:
        """Return what widened a tensor that a compiled region gave, None where none did."""
        if not self._found:
            return None
        known = self._found.get((tensor.dtype, tensor.numel()), ())
        exact = [origin for shape, origin in known if shape == tuple(tensor.shape)]
        return (exact or [origin for _, origin in known] or [None])[0]

    def _read(self, graph: Any, root: Any) -> None:
        nodes = list(graph.nodes)
        if not nodes or len(nodes) > _MOST_NODES:
            return
        for node in nodes[-1].all_input_nodes:
            value = _value(node)
            if value is None or RANK.get(value.dtype, 0) < 1 or len(self._found) > _MOST_KEPT:
                continue
            sizes = tuple(size for size in value.shape if type(size) is int)
            origin = _origin(node, root) if len(sizes) == value.dim() else None
            if origin is not None:
                self._found.setdefault((value.dtype, value.numel()), []).append((sizes, origin))


def _root(graphs: Any) -> Any:
    values = getattr(getattr(graphs, "root_tx", None), "f_locals", None)
    return values if isinstance(values, dict) else {}


def _value(node: Any) -> Any:
    value = node.meta.get("example_value")
    return value if hasattr(value, "dtype") and hasattr(value, "shape") else None


def _origin(node: Any, root: Any) -> Any:
    """Return where the width of a node begins; None where it was given to the region.

    What is cast for wide weights, and put to something half later, is wide by that.
    """
    joined: list[Any] = []  # (node, its wide operands, whether weights computed those)
    for _ in range(_DEEPEST):
        given = [(each, _value(each)) for each in node.all_input_nodes]
        floats = [(each, value) for each, value in given if value is not None]
        floats = [(each, value) for each, value in floats if value.dtype in RANK]
        rank = RANK[_value(node).dtype]
        lower = [each for each, value in floats if RANK[value.dtype] < rank]
        same = [each for each, value in floats if RANK[value.dtype] >= rank]
        inner = [each for each in same if each.op != "placeholder"]
        handed = inner and _value(inner[0]).shape == _value(node).shape
        if lower and handed:
            joined.append([node, same, False])
        elif lower and not same:
            weighed = [each for each in joined if each[2]]
            if weighed:
                return _made(PROMOTION, weighed[-1][0], weighed[-1][1], root)
            return _made(CAST, node, same, root)
        elif lower:
            return _made(PROMOTION, node, same, root)
        elif any(map(_held, same)) and len(same) > 1 and inner:
            joined = [[*each[:2], True] for each in joined]
        if not inner:
            held = [each for each in same if _held(each)]
            return _made(START, node, held, root) if held or not floats else None
        node = inner[0]
    return None


def _held(node: Any) -> Any:
    """Return what a parameter or buffer of the region is called, "" where it is none."""
    found = _HELD.search(node.name) if node.op == "placeholder" else None
    return found.group(1) if found else ""


def _name_of(node: Any) -> Any:
    """Return the parameter or buffer that a node alone is computed from, else its own name."""
    at = node
    for _ in range(_DEEPEST):
        held = _held(at)
        given = [each for each in at.all_input_nodes if _is_float(each)]
        if held or len(given) != 1:
            return held or node.name
        at = given[0]
    return node.name


def _is_float(node: Any) -> Any:
    value = _value(node)
    return value is not None and value.dtype in RANK


def _made(kind: Any, node: Any, wide: Any, root: Any) -> Any:
    lines = _LINE.findall(node.stack_trace or "")
    if not lines:
        return None
    file, line, function = lines[-1]
    module = _module(node, root)
    place = Place(Code(file, function), int(line), module, True)
    origin = Origin(kind, node.name.rstrip("_0123456789"), place, _value(node).dtype)
    origin.operand = next(map(_name_of, wide), "")
    origin.sure = False
    origin.why = "in a compiled region"
    return origin


def _module(node: Any, root: Any) -> Any:
    """Return the module whose code a node belongs to."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]) if stack else ""
    if not path.startswith("L["):
        return None
    value: Any = root
    for first, second in _STEP.findall(path)[:64]:
        name = first or second
        held = value if isinstance(value, dict) else getattr(value, "_modules", {})
        value = held.get(name) if name in held else getattr(value, "__dict__", {}).get(name)
    try:
        weakref.ref(value)
    except TypeError:
        return None
    return value
