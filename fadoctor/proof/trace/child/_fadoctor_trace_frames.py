"""Where a statement stands: file, line, function, and the module whose code it is."""

from __future__ import annotations

import gc
import linecache
import os
import sys
import weakref
from typing import Any

from _fadoctor_trace_table import PLAIN, bare, inner_of

_DEEPEST = 200
_SEARCHES = 4
"""How often all objects are looked through for the model of a module: some tenths of a second."""

_INNER: dict[int, Any] = {}
"""Address of code -> the code, and whether it is torch's own or ours: no statement of anybody.

An address, since code is hashed by all that it consists of, each time anew.
"""
_MOST_CODES = 8192

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_torch_folder = [""]
_module_class: list[Any] = [()]


def setup(torch: Any) -> None:
    """Take where torch lies, and what a module is."""
    _torch_folder[0] = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
    _module_class[0] = torch.nn.Module


def is_inner(code: Any) -> Any:
    """Return whether code belongs to torch or to us."""
    known = _INNER.get(id(code))
    if known is None:
        name = code.co_filename
        found = name.startswith((_torch_folder[0], _HERE, "<frozen", "<eval_with_key>"))
        known = keep(_INNER, id(code), (code, found))
    return known[1]


def keep(names: Any, key: Any, value: Any) -> Any:
    """Remember something by the address of code, which the value holds: no other comes there."""
    if len(names) > _MOST_CODES:
        names.clear()
    names[key] = value
    return value


class Place:
    """One statement. Holds no frame, so that nothing of the patient is kept alive."""

    __slots__ = ("code", "inside", "line", "module")

    def __init__(self, code: Any, line: Any, module: Any, inside: Any) -> None:
        self.code = code
        self.line = line
        self.module = None if module is None else weakref.ref(module)
        self.inside = inside
        """Whether it runs below some module's forward."""

    def owner(self) -> Any:
        """Return the module, None where there is none or it is gone."""
        return None if self.module is None else self.module()


def module_of(frame: Any) -> Any:
    """Return the module that is the first argument of a frame's function, else None."""
    name = owner_name(frame)
    if not name:
        return None
    found = frame.f_locals.get(name)
    return found if isinstance(found, _module_class[0]) else None


def owner_name(frame: Any) -> Any:
    """Return what a method calls the object that it belongs to, "" for a function."""
    code = frame.f_code
    known = _OWNER.get(id(code))
    if known is None:
        known = keep(_OWNER, id(code), (code, _owner_name(frame, code)))
    return known[1]


def _owner_name(frame: Any, code: Any) -> Any:
    if not code.co_argcount:
        return ""
    first = code.co_varnames[0]
    if first == "self":
        return first
    whole = getattr(code, "co_qualname", None)
    if whole is None:  # older than Python 3.11: a method is what the object's class holds
        return first if _has_method(type(frame.f_locals.get(first)), code) else ""
    outer = whole.rpartition(".")[0]
    return first if outer and not outer.endswith("<locals>") else ""


def _has_method(kind: Any, code: Any) -> Any:
    """Return whether a class holds a function with this code, also below decorators."""
    for each in kind.__mro__[:32]:
        function = vars(each).get(code.co_name)
        for _ in range(4):
            if getattr(function, "__code__", None) is code:
                return True
            function = getattr(function, "__wrapped__", None)
    return False


_OWNER: dict[int, Any] = {}
"""Address of code -> the code, and what it calls its owner."""


def place_of(frame: Any) -> Any:
    """Return the innermost statement that is not torch's own, and its frame."""
    code: Any = None
    line = 0
    at: Any = None
    module: Any = None
    first: Any = None
    for _ in range(_DEEPEST):
        if frame is None:
            break
        if first is None and frame.f_code.co_filename[:1] != "<":
            first = frame
        if module is None:
            module = module_of(frame)
            if module is not None and frame.f_code.co_name == "__init__":
                module = None
        if code is None and not is_inner(frame.f_code):
            code, line, at = frame.f_code, frame.f_lineno, frame
        if code is not None and module is not None:
            break
        frame = frame.f_back
    if code is None and first is not None:
        code, line, at = first.f_code, first.f_lineno, first
    return Place(code, line, module, module is not None), at


def modules_above(frame: Any) -> Any:
    """Return the modules whose forward is running, innermost first."""
    found: list[Any] = []
    for _ in range(_DEEPEST):
        if frame is None:
            break
        module = module_of(frame)
        is_forward = module is not None and frame.f_code.co_name != "__init__"
        if is_forward and (not found or found[-1] is not module):
            found.append(module)
        frame = frame.f_back
    return found


def source_of(code: Any, line: Any) -> Any:
    """Return the line itself, "" where its file cannot be read."""
    name = code.co_filename
    if name == "<string>":
        argv = list(getattr(sys, "orig_argv", []))
        if "-c" in argv and argv.index("-c") + 1 < len(argv):
            lines = argv[argv.index("-c") + 1].splitlines()
            return lines[line - 1].strip()[:300] if 0 < line <= len(lines) else ""
    return linecache.getline(name, line).strip()[:300]


def line_of(code: Any, line: Any, called: Any) -> Any:
    """Return the line of a call; before Python 3.10 frames only say where its expression begins."""
    if sys.version_info >= (3, 10) or "." + called in source_of(code, line):
        return line
    for further in range(line + 1, line + 12):
        text = source_of(code, further)
        if not text.startswith("."):
            break
        if text.startswith(".%s(" % called):
            return further
    return line


def file_of(code: Any) -> Any:
    """Return the path of a file, absolute where it is one."""
    name = code.co_filename
    return name if name.startswith("<") else os.path.abspath(name)


class Names:
    """Qualified names of modules, parameters and buffers, from the outermost module seen."""

    def __init__(self) -> None:
        self._modules: dict[int, Any] = {}
        """id -> (weak reference, name, size of the tree that gave it)."""
        self._tensors: dict[int, str] = {}
        """Storage -> name."""
        self._roots: dict[int, Any] = {}
        self._searches = 0

    def learn(self, root: Any) -> None:
        """Take the names below a module that nothing stands above."""
        known = self._modules.get(id(root))
        if known is not None and known[0]() is root:
            return
        found = list(root.named_modules())
        for name, module in found:
            old = self._modules.get(id(module))
            if old is None or old[0]() is not module or old[2] < len(found):
                clean = _plain(name, root)
                self._modules[id(module)] = (weakref.ref(module), clean, len(found))
        self._roots[id(root)] = weakref.ref(root)
        if len(self._roots) > 64:
            self._roots.pop(next(iter(self._roots)))

    def of(self, module: Any) -> Any:
        """Return the qualified name of a module; "" is the outermost one."""
        if module is None:
            return None
        known = self._modules.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def search(self, module: Any) -> Any:
        """Return the qualified name of a module, also in a model that attention is no part of."""
        found = self.of(module)
        if found is not None or module is None or self._searches >= _SEARCHES:
            return found
        self._searches += 1
        parents: dict[int, Any] = {}
        for each in gc.get_objects():
            if issubclass(type(each), _module_class[0]):
                for child in each._modules.values():
                    parents.setdefault(id(child), each)
        root = module
        for _ in range(_DEEPEST):
            above = parents.get(id(root))
            if above is None or above is module:
                break
            root = above
        self.learn(root)
        return self.of(module)

    def tensor(self, key: Any) -> Any:
        """Return the name of the parameter or buffer with this storage, else ""."""
        if key not in self._tensors:
            self._read_tensors()
        return self._tensors.get(key, "")

    def forget_tensors(self) -> None:
        """Read parameters anew when they are asked for: casts give them other storage."""
        self._tensors = {}

    def _read_tensors(self) -> None:
        self._tensors = {}
        for reference in list(self._roots.values()):
            root = reference()
            if root is None:
                continue
            for kind in (root.named_parameters, root.named_buffers):
                for name, tensor in kind():
                    key = storage_of(tensor)
                    if key:
                        self._tensors.setdefault(key, _plain(name, root))


def storage_of(tensor: Any) -> Any:
    """Return what is the same for all views of a tensor, 0 where it has no storage."""
    try:
        if type(tensor) not in PLAIN:
            tensor = inner_of(tensor)
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError, AttributeError):
        pass
    try:
        below = bare(tensor)
        return 0 if below is tensor else below.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError, AttributeError):
        return 0


_WRAPPERS = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel")


def _plain(name: Any, root: Any) -> Any:
    """Return a name without what wrappers put into it."""
    parts = [
        part
        for part in name.split(".")
        if part not in ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
    ]
    if type(root).__name__ in _WRAPPERS and parts[:1] == ["module"]:
        parts = parts[1:]
    return ".".join(parts)
