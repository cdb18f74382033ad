"""What an expression is, as far as it can be told without running it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from fadoctor.sources.import_names.child._fadoctor_calls import (
    call_known,
    known_function,
)
from fadoctor.sources.import_names.child._fadoctor_classes import asked_of_class, changed
from fadoctor.sources.import_names.child._fadoctor_compare import PLAIN, compared
from fadoctor.sources.import_names.child._fadoctor_decide import outside
from fadoctor.sources.import_names.child._fadoctor_loops import comprehended
from fadoctor.sources.import_names.child._fadoctor_methods import call_method, packages_of
from fadoctor.sources.import_names.child._fadoctor_values import (
    STEP_LIMIT,
    UNKNOWN,
    Class,
    ExhaustedError,
    Ext,
    Frame,
    Func,
    LazyNames,
    Mod,
    Packages,
    Place,
    truth,
)
from fadoctor.sources.import_names.child._fadoctor_version import Version

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_run import Runner

Node = List[Any]

_BUILTINS = frozenset((
    "getattr", "hasattr", "len", "isinstance", "tuple", "list", "dict", "set", "frozenset", "str",
    "int", "bool", "any", "all", "globals", "vars", "locals", "setattr", "sorted", "__import__",
    "exec", "eval", "dir", "float",
))  # fmt: skip
_KEYS = (*PLAIN, frozenset)
ENVIRON = Ext("os.environ")


class Evaluator:
    """Evaluates expressions in a frame."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def value(self, node: Optional[Node], frame: Frame) -> Any:
        """Return what an expression is."""
        if not node:
            return UNKNOWN
        kind = node[0]
        if kind == "c":
            return node[1]
        if kind == "n" and not frame.outer and node[1] in frame.names:
            return frame.names[node[1]]
        runner = self.runner  # asked very often: no function is called
        runner.steps += 1
        if runner.steps > STEP_LIMIT:
            raise ExhaustedError
        return _KINDS[kind](self, node, frame)

    def values(self, nodes: List[Node], frame: Frame) -> List[Any]:
        """Return what several are, in order."""
        found: List[Any] = []
        for node in nodes:
            if node and node[0] == "*":
                inner = self.value(node[1], frame)
                found.extend(inner if isinstance(inner, (list, tuple)) else [UNKNOWN])
            else:
                found.append(self.value(node, frame))
        return found

    def name(self, node: Node, frame: Frame) -> Any:
        """Tell a name: of the function or class, of the module, built in."""
        name = node[1]
        if name not in frame.outer and name in frame.names:
            return frame.names[name]
        module = frame.module
        if name in module.ns:
            return module.ns[name]
        if name == "__name__":
            return module.name
        if name == "__file__":
            return module.spec.file
        if name == "__package__":
            return module.package
        return Ext("builtins." + name) if name in _BUILTINS else UNKNOWN

    def attribute(self, node: Node, frame: Frame) -> Any:
        """``a.b``: of a module its name; of what else is known a few."""
        _, line, inner, name = node
        base = self.value(inner, frame)
        if isinstance(base, Mod):
            return self.runner.attribute(base, name, line, frame)
        if isinstance(base, Ext):
            return outside(self.runner, f"{base.name}.{name}")
        if isinstance(base, Class):
            asker = self.runner.asker(frame, line)
            return asked_of_class(self.runner.world, base, name, asker)
        if isinstance(base, Place) and name in ("parent", "name"):
            split = posixpath.split(base.text)
            return Place(split[0]) if name == "parent" else split[1]
        if isinstance(base, Version):
            release = (*base.release, 0, 0, 0)
            known = {"release": base.release, "major": release[0], "minor": release[1],
                     "micro": release[2], "base_version": base.base, "public": UNKNOWN}  # fmt: skip
            return known.get(name, UNKNOWN)
        return UNKNOWN

    def call(self, node: Node, frame: Frame) -> Any:
        """Tell a call: of a function that is known or can be followed."""
        _, _, func, args, keywords = node
        if func and func[0] == "a":
            base = self.value(func[2], frame)
            if not isinstance(base, (Mod, Ext)):
                given = self.given(args, frame)
                named = self.keywords(keywords, frame)
                return call_method(self.runner.world, base, func[3], given, named)
        target = self.value(func, frame)
        given = self.given(args, frame)
        named = self.keywords(keywords, frame)
        if isinstance(target, Func):
            known = known_function(target)
            if known:
                return call_known(self.runner, known, given, named, frame)
            return self.runner.call(target, given, named)
        if isinstance(target, Ext):
            return call_known(self.runner, target.name, given, named, frame)
        self.runner.names.note_call(func, given, frame)
        return UNKNOWN

    def given(self, args: List[Node], frame: Frame) -> List[Any]:
        """Return arguments; what is called may set attributes of a class that is one."""
        found = self.values(args, frame)
        for each in found:
            if type(each) is Class:  # asked very often: no function is called
                changed(self.runner.world, each)
        return found

    def keywords(self, keywords: List[Any], frame: Frame) -> Dict[str, Any]:
        """Return the keyword arguments."""
        return {key: self.value(value, frame) for key, value in keywords} if keywords else {}

    def compare(self, node: Node, frame: Frame) -> Any:
        """Tell a comparison, link by link."""
        left = self.value(node[1], frame)
        result: Any = True
        for sign, right_node in zip(node[2], node[3]):
            right = self.value(right_node, frame)
            known = self.is_set(left, sign) if right == ENVIRON else compared(left, sign, right)
            if known is False:
                return False
            result = UNKNOWN if known is UNKNOWN else result
            left = right
        return result

    def boolean(self, node: Node, frame: Frame) -> Any:
        """``and`` and ``or``: what decides is told though others are unknown."""
        is_and, result = node[1], None
        is_open = False
        for part in node[2]:
            if is_open and _asks(part):
                return UNKNOWN  # nobody knows whether it is evaluated
            result = self.value(part, frame)
            known = truth(result)
            if known is None:
                is_open = True
            elif known is not is_and:
                return result if not is_open else known
        return UNKNOWN if is_open else result

    def negated(self, node: Node, frame: Frame) -> Any:
        """``not a``."""
        known = truth(self.value(node[1], frame))
        return UNKNOWN if known is None else not known

    def item(self, node: Node, frame: Frame) -> Any:
        """``a[b]``."""
        base, key = self.value(node[2], frame), self.value(node[3], frame)
        if isinstance(base, LazyNames):
            return base
        if base == Ext("globals"):
            return self.name(["n", key], frame) if type(key) is str else UNKNOWN
        if isinstance(base, Packages):
            return packages_of(self.runner.world, key)
        try:
            if isinstance(base, (dict, list, tuple, str)) and not isinstance(base, (Mod, Ext)):
                return base[key] if key is not UNKNOWN else UNKNOWN
        except (KeyError, IndexError, TypeError):
            return UNKNOWN
        return UNKNOWN

    def mapping(self, node: Node, frame: Frame) -> Any:
        """Tell a dict of which all keys are known."""
        found: Dict[Any, Any] = {}
        for key_node, value_node in zip(node[1], node[2]):
            value = self.value(value_node, frame)
            if key_node is None:
                if not isinstance(value, dict):
                    return UNKNOWN
                found.update(value)
                continue
            key = self.value(key_node, frame)
            if not isinstance(key, _KEYS):
                return UNKNOWN
            found[key] = value
        return found

    def display(self, node: Node, frame: Frame) -> Any:
        """Tell a list, a tuple or a set."""
        values = list(node[2]) if len(node) > 2 else self.values(node[1], frame)
        if node[0] == "e":
            return set(values) if all(isinstance(v, PLAIN) for v in values) else UNKNOWN
        return values if node[0] == "l" else tuple(values)

    def binary(self, node: Node, frame: Frame) -> Any:
        """Tell ``a + b`` of texts and lists, ``a / b`` of paths, ``a | b`` of dicts."""
        left, right = self.value(node[2], frame), self.value(node[3], frame)
        if node[1] == "Div" and isinstance(left, Place) and isinstance(right, str):
            return Place(posixpath.join(left.text, right))
        if node[1] == "Add":
            for kind in (str, list, tuple):
                if type(left) is kind and type(right) is kind and len(left) + len(right) < 50_000:
                    return left + right
        if node[1] == "BitOr" and type(left) is type(right) and type(left) in (dict, set):
            return left | right
        return UNKNOWN

    def choice(self, node: Node, frame: Frame) -> Any:
        """Tell ``a if b else c``."""
        known = truth(self.value(node[1], frame))
        return UNKNOWN if known is None else self.value(node[2] if known else node[3], frame)

    def comprehension(self, node: Node, frame: Frame) -> Any:
        """Tell a list, set or dict made by loops over what is known."""
        return comprehended(self, node, frame)

    def walrus(self, node: Node, frame: Frame) -> Any:
        """Tell ``(a := b)`` and bind it."""
        value = self.value(node[2], frame)
        frame.bind(node[1], value)
        return value

    def is_set(self, name: Any, sign: str) -> Any:
        """``name in os.environ``."""
        known = self.runner.variables.is_set(name) if sign in ("in", "not in") else None
        return UNKNOWN if known is None else known == (sign == "in")

    def joined(self, node: Node, frame: Frame) -> Any:
        """Tell an f-string."""
        parts = [self.value(part, frame) for part in node[1]]
        if all(type(part) in (str, int) for part in parts):
            text = "".join(map(str, parts))
            return text if len(text) < 2000 else UNKNOWN
        return UNKNOWN

    def unknown(self, node: Node, frame: Frame) -> Any:
        """Something else, whose parts are evaluated."""
        for part in node[1]:
            self.value(part, frame)
        return UNKNOWN


def _asks(node: Any) -> bool:
    """Return whether evaluating an expression may ask a module for a name."""
    if isinstance(node, list):
        return bool(node) and (node[0] == "a" or any(_asks(part) for part in node[1:]))
    return False


_KINDS: Dict[str, Any] = {
    "n": Evaluator.name, "a": Evaluator.attribute, "k": Evaluator.call,
    "=": Evaluator.compare, "b": Evaluator.boolean, "!": Evaluator.negated, "s": Evaluator.item,
    "d": Evaluator.mapping, "l": Evaluator.display, "t": Evaluator.display,
    "e": Evaluator.display, "o": Evaluator.binary, "i": Evaluator.choice, "j": Evaluator.joined,
    "h": Evaluator.comprehension, "w": Evaluator.walrus,
    "u": Evaluator.unknown, "*": lambda *_: UNKNOWN,
}  # fmt: skip
