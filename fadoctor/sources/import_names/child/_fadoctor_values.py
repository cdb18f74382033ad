"""What a name can be bound to while imports are followed, and how following stops."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_find import Spec

ENTRY = "entry"

OWN = "a __getattr__ of its own"
"""Why a module may have any name."""

STEP_LIMIT = 3_000_000
"""Statements, expressions and rounds of loops that are followed."""

LENGTH_LIMIT = 50_000
"""Members of a list or a set that is followed."""


class _Unknown:
    """A value of which nothing is told."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


class Mod(NamedTuple):
    """A module that is followed, by its full name."""

    name: str


class Ext(NamedTuple):
    """A module, function or class of the standard library or of others, by its dotted name."""

    name: str


class Func(NamedTuple):
    """A function with a body that can be followed."""

    module: str
    node: List[Any]


class Class(NamedTuple):
    """A class that a module of the stack defines."""

    module: str
    name: str


class Place(NamedTuple):
    """A ``pathlib.Path``."""

    text: str


class Packages(NamedTuple):
    """What ``importlib.metadata.packages_distributions()`` gives."""


class LazyNames:
    """An import structure: names -> module below the package, and folders not looked into yet."""

    def __init__(self) -> None:
        self.names: Dict[str, str] = {}
        self.modules: "set[str]" = set()
        self.complete = True
        self.from_files: "set[str]" = set()
        """Modules whose names come from files: what these need is told by their own names."""

    def add(self, structure: Dict[Any, Any]) -> None:
        """Take in an import structure that is written out."""
        for module, names in structure.items():
            if not isinstance(module, str) or not isinstance(names, (list, tuple, set)):
                self.complete = False
                continue
            self.modules.add(module)
            for name in names:
                if isinstance(name, str):
                    self.names[name] = module
                else:
                    self.complete = False


class Broken(NamedTuple):
    """A name that is asked for and not there."""

    asker: str
    """Distribution."""
    file: str
    line: int
    provider: str
    """Distribution."""
    module: str
    name: str
    """The name, or empty where the module itself is not there."""


class Raised(Exception):  # noqa: N818 -- what the followed code raises, no error of ours
    """The followed code surely raises here."""

    def __init__(self, kind: str, broken: Optional[Broken] = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.broken = broken


class Returned(Exception):  # noqa: N818
    """The followed function returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Left(Exception):  # noqa: N818
    """A loop is left, or a round of it."""

    def __init__(self, *, is_round: bool) -> None:
        super().__init__()
        self.is_round = is_round


class ExhaustedError(Exception):
    """There is more to follow than may be."""


class Module:
    """A module and what is in it so far."""

    def __init__(self, name: str, spec: Spec, distribution: str, role: str) -> None:
        self.name = name
        self.spec = spec
        self.distribution = distribution
        self.role = role
        self.ns: Dict[str, Any] = {}
        self.open = ""
        """Why it may have more names than are known; empty where it has not."""
        self.lazy: Optional[LazyNames] = None
        self.state = "new"
        self.failure: Optional[Raised] = None
        self.later = False
        """Whether annotations are not evaluated."""
        self.getter: Optional[Func] = None
        """Its ``__getattr__``, where that can be followed."""
        self.getting: "set[str]" = set()
        """Names that it is asked for just now."""
        self.hooks = False
        self.words: "frozenset[str]" = frozenset()

    @property
    def package(self) -> str:
        """The package that relative imports count from."""
        return self.name if self.spec.path else self.name.rpartition(".")[0]

    def resolve(self, level: int, name: str) -> str:
        """Return the full name of what a relative import names."""
        if not level:
            return name
        parts = self.package.split(".")
        base = parts[: len(parts) - level + 1]
        return ".".join([*base, name] if name else base)


class Asker:
    """The module that asks, and the line."""

    __slots__ = ("follows", "is_sure", "line", "module")

    def __init__(
        self, module: Optional[Module], line: int, *, is_sure: bool, follows: bool = True
    ) -> None:
        self.module = module
        self.line = line
        self.is_sure = is_sure
        self.follows = follows
        """Whether modules that are not imported yet may be."""


class Frame:
    """Where names are bound: a module, a class or a function."""

    def __init__(self, module: Module, names: Dict[str, Any], *, is_function: bool = False) -> None:
        self.module = module
        self.names = names
        self.is_function = is_function
        self.outer: "set[str]" = set()

    def bind(self, name: str, value: Any) -> None:
        """Bind a name."""
        if name != "__getattr__" and not self.outer:
            self.names[name] = value
            return
        home = self.module.ns if name in self.outer else self.names
        home[name] = value
        if home is self.module.ns and name == "__getattr__":
            can_follow = isinstance(value, Func) and value.node[7] is not None
            self.module.getter = value if can_follow else None
            if not can_follow:
                self.module.open = OWN


def truth(value: Any) -> Optional[bool]:
    """Return whether a value is true; None where that is not known."""
    if value is UNKNOWN or isinstance(value, (LazyNames, Packages)):
        return None
    if isinstance(value, (bool, int, float, str, list, tuple, dict, set, type(None))):
        if isinstance(value, (Mod, Ext, Func, Place)):
            return True
        return bool(value)
    return True


def lengthen(known: Any, more: Any) -> None:
    """Add to a list or a set what is added to it; something unknown where nobody knows what."""
    fits = isinstance(more, (list, tuple, set)) and len(known) + len(more) < LENGTH_LIMIT
    added = list(more) if fits else [UNKNOWN]
    if isinstance(known, list):
        known.extend(added)
    else:
        known.update(added)


def catches(handler: str, kind: str) -> Optional[bool]:
    """Return whether ``except handler`` catches what is raised; None where that is not known."""
    if handler in ("Exception", "BaseException"):
        return True
    if handler == kind:
        return True
    wanted, raised = _builtin(handler), _builtin(kind)
    if raised is not None:
        return issubclass(raised, wanted) if wanted else False
    parents = _PARENTS.get(kind)
    if parents is not None:
        return handler in parents
    return None


_PARENTS: Dict[str, Tuple[str, ...]] = {
    "PackageNotFoundError": ("ModuleNotFoundError", "ImportError"),
    "InvalidVersion": ("ValueError",),
    "OptionalDependencyNotAvailable": (),
}


def _builtin(name: str) -> Optional[type]:
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None
