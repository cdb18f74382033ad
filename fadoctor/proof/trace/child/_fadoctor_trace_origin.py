"""What is noted of a wide tensor, and what must be known of operations to note it."""

from __future__ import annotations

import copy
import re
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import torch
from _fadoctor_trace_frames import keep, source_of, storage_of
from _fadoctor_trace_table import PLAIN

RANK = {
    torch.float16: 0, torch.bfloat16: 0, torch.complex32: 0, torch.float32: 1,
    torch.complex64: 1, torch.float64: 2, torch.complex128: 2,
}  # fmt: skip
"""How wide a dtype is. Complex numbers count as their parts: a rotation often goes through them."""

for _name in dir(torch):
    if _name.startswith("float8_"):
        RANK[getattr(torch, _name)] = 0
WIDE = (torch.float32, torch.float64, torch.complex64, torch.complex128)
HALVES = (torch.float16, torch.bfloat16)

MEMBERS = 32
RAGGED = -1
"""Stands in a shape where the parts of a nested tensor differ in size."""

CAST, PROMOTION, START, OTHER = "cast", "promotion", "float32-from-start", "other"


class Origin:
    """How a tensor came to be wide."""

    __slots__ = (
        "autocast", "cut_from", "dtype", "follows", "joined", "key", "kind", "op", "operand",
        "place", "static", "sure", "via", "weighed", "why",
    )  # fmt: skip

    def __init__(
        self, kind: Any, op: Any, place: Any, dtype: Any, static: Any = False, why: Any = ""
    ) -> None:
        self.kind = kind
        self.op = op
        self.place = place
        self.dtype = dtype
        self.static = static
        """Whether it is no activation: a parameter, a buffer, a constant, a table of positions."""
        self.why = why
        self.operand = ""
        """What the other operand is called where the statement stands."""
        self.autocast = any_autocast()
        """Whether autocast was on where it was made."""
        self.follows = False
        """Whether it follows the dtype of a parameter: what adds it to a half result is the one."""
        self.weighed = False
        """Whether wide weights computed it since: what adds it to a half activation is the one."""
        self.joined: Any = None
        """What first held it beside a half activation: the one where the query is half."""
        self.cut_from = ""
        """The argument of its function that the other operand is a part of."""
        self.via = None
        """Where the other operand was made wide."""
        self.key = 0
        """Storage of the other operand, or of the parameter it began with."""
        self.sure: Any = None
        """Whether the operation itself was seen, not only the call of code that no mode sees."""

    def moving(self) -> Any:
        """Return the same of what became an activation."""
        found = copy.copy(self)
        found.static = False
        return found

    def computed(self) -> Any:
        """Return the same of what wide weights made of it."""
        found = copy.copy(self)
        found.weighed = True
        return found

    def beside(self, joined: Any) -> Any:
        """Return the same of what was put to a half activation."""
        found = copy.copy(self)
        found.joined = joined
        return found


class Operations:
    """Names of torch's operations by what they do with dtypes, as the table of them has it."""

    def __init__(self, roles: Any) -> None:
        self.joins = frozenset(roles["join"])
        self.flows = frozenset(roles["flow"])
        self.weighs = self.flows.union(roles["contract"])
        """Operations by which weights compute."""
        self.casts = frozenset(roles["cast"])
        forms = ("%s", "__%s__", "__r%s__")
        self.arithmetic = frozenset(form % name for form in forms for name in roles["arithmetic"])
        self._autocast = {
            device: frozenset(roles["autocast-" + device]) for device in ("cuda", "cpu")
        }
        self.choosers = frozenset(_functions(torch.Tensor, roles["cast"]))
        """Functions that give half results by the word of whoever calls them."""
        self.choosers |= frozenset(_functions(torch, roles["maker"]))

    def by_autocast(self, name: Any, device: Any) -> Any:
        """Return whether autocast is on for a device and runs an operation in float32 there."""
        return name in self._autocast.get(device, ()) and any_autocast()


def _functions(owner: Any, names: Any) -> Any:
    return [getattr(owner, name) for name in names if hasattr(owner, name)]


def parameter_name(owner: Any, key: Any) -> Any:
    """Return what a module calls a parameter of its own, also one that stands in no model."""
    found = owner._parameters.items() if owner is not None else ()
    return next((name for name, each in found if each is not None and storage_of(each) == key), "")


def is_parameter(tensor: Any) -> Any:
    """Return whether a tensor is a parameter, or a view of one."""
    return _holds(tensor) or _holds(tensor._base)


def _holds(tensor: Any) -> Any:
    """Ask for the class itself first: `Parameter` answers `isinstance` by slow Python code."""
    kind = type(tensor)
    if kind is torch.Tensor:
        return getattr(tensor, "_is_param", False)
    return tensor is not None and (
        kind is torch.nn.Parameter or isinstance(tensor, torch.nn.Parameter)
    )


def is_factory(name: Any) -> Any:
    """Return whether an operation takes a tensor only to know what kind to make."""
    return name.startswith("new_") or name.endswith("_like")


def unseen(func: Any, args: Any, kwargs: Any) -> Any:
    """Return what computed a result where no mode sees it, "" where torch itself did."""
    space = getattr(func, "namespace", "aten")
    if space not in _OF_TORCH and isinstance(space, str):
        return "the operator %s::%s" % (space, plain_name(func))
    for tensor in tensors_of(args, kwargs):
        if type(tensor) not in PLAIN and own_code(type(tensor)):
            return "the code of %s" % type(tensor).__name__
    return ""


def plain_name(func: Any) -> Any:
    """Return what an operation is called, without the name of its overload: cat.default."""
    known = _PLAIN.get(id(func))
    if known is not None:
        return known[1]
    name = (getattr(func, "__name__", "") or str(func)).partition(".")[0]
    if type(func) in LASTING:
        keep(_PLAIN, id(func), (func, name))
    return name


_PLAIN: dict[int, Any] = {}
"""Address of a function of C++ -> the function, and what it is called."""
LASTING = (BuiltinFunctionType, MethodDescriptorType)
"""Classes of functions of C++: each lives as long as torch does."""


def own_code(kind: Any) -> Any:
    """Return whether a class computes in Python itself, as quantized weights do."""
    known = _OWN_CODE.get(kind)
    if known is None:
        if len(_OWN_CODE) > 1024:
            _OWN_CODE.clear()
        known = not kind.__module__.startswith("torch.") and any(
            _first(kind, name) is not vars(torch.Tensor).get(name)
            and isinstance(_first(kind, name), classmethod)
            for name in ("__torch_function__", "__torch_dispatch__")
        )
        _OWN_CODE[kind] = known
    return known


def _first(kind: Any, name: Any) -> Any:
    return next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)


_OWN_CODE: dict[Any, bool] = {}
_OF_TORCH = ("aten", "prims", "prim")


def names_dtype(place: Any, frame: Any = None) -> Any:
    """Return whether the statement itself says float32: then it is the one.

    A constant of its file says so, too, where the frame is given when first asked.
    """
    code, line = place.code, place.line
    known = _SAYS.get((id(code), line))
    if known is None:
        text = source_of(code, line) if code is not None else ""
        said = _SAID.search(text) is not None or _has_constant(text, frame)
        known = keep(_SAYS, (id(code), line), (code, said))
    return known[1]


def _has_constant(text: Any, frame: Any) -> Any:
    """Return whether a line names a global variable of its file that is a wide dtype."""
    if frame is None:
        return False
    found = (frame.f_globals.get(name) for name in _WORD.findall(text)[:40])
    return any(isinstance(each, torch.dtype) and each in WIDE for each in found)


_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w{0,80}")
_SAYS: dict[Any, Any] = {}
_SAID = re.compile(r"float(?:32|64)|(?:torch|np)\.(?:float|double)\b|\.(?:float|double)\(|"
                   r"(?:Float|Double)Tensor|get_default_dtype")  # fmt: skip


def _autocast_asker() -> Any:
    """Return what says whether autocast is on anywhere; the way to ask has changed."""
    try:
        torch.is_autocast_enabled("cpu")
    except TypeError:
        return lambda: torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
    return lambda: torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu")


any_autocast = _autocast_asker()


def sizes_of(tensor: Any) -> Any:
    """Return the shape of a tensor, with -1 where what it nests differs in size."""
    if not tensor.is_nested:
        return [int(size) for size in tensor.shape]
    if tensor.layout is torch.strided:
        return [tensor.size(0)] + [RAGGED] * (tensor.dim() - 1)
    return [size if type(size) is int else RAGGED for size in tensor.shape]


def tensors_of(args: Any, kwargs: Any) -> Any:
    """Return the tensors among arguments, also those in lists."""
    found = []
    values = list(args) + list(kwargs.values()) if kwargs else args
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif type(value) is list or type(value) is tuple:
            found.extend(item for item in value[:MEMBERS] if isinstance(item, torch.Tensor))
    return found
