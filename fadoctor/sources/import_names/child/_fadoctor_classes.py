"""Whether a class surely has no attribute of a name, by its source and those of its bases.

Few imports ask a class of another package for an attribute, so that nothing of this is kept: the
source of the class is parsed when somebody asks.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Set

from fadoctor.sources.import_names.child._fadoctor_values import ENTRY, UNKNOWN, Class

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_values import Asker, Module
    from fadoctor.sources.import_names.child._fadoctor_world import World

DEPTH_LIMIT = 8
_SIZE_LIMIT = 1 << 20
_OF_ANY = frozenset(("mro",))
_PLAIN_DECORATORS = frozenset(("dataclass", "total_ordering", "final", "runtime_checkable"))
_MAKERS = frozenset(("locals", "vars", "exec", "eval", "setattr"))
_SCOPES = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))
_IMPORTS = frozenset((ast.Import, ast.ImportFrom))
_LEAVES = frozenset((ast.Constant, ast.Load, ast.Store, ast.Del, ast.Pass, ast.arguments))
_HOOKS = frozenset(("__getattr__", "__init_subclass__", "__set_name__"))


def asked_of_class(world: World, asked: Class, name: str, asker: Asker) -> Any:
    """Return what is known of an attribute of a class; Raised where it surely has none.

    It is held against another distribution: that of the class, or of a base of it.
    """
    if asker.module is None or not asker.is_sure or name.startswith("__"):
        return UNKNOWN
    other = _of_others(world, asked, name, asker.module.distribution)
    module = world.modules.get(other.module) if other else None
    if other is not None and module is not None and surely_lacks(world, asked, name):
        raised = world.missing(asker, module, f"{other.name}.{name}", attribute=True)
        if raised.kind != "unsure":
            raise raised
    return UNKNOWN


def _of_others(
    world: World, asked: Class, name: str, distribution: str, depth: int = DEPTH_LIMIT
) -> Optional[Class]:
    """Return the class, or the first base of it, that another distribution defines."""
    module = world.modules.get(asked.module)
    if module is None or depth == 0:
        return None
    if module.distribution != distribution:
        return asked
    # Most classes have no such base, or the name themselves, which is told without parsing.
    known = [each for each in module.ns.values() if type(each) is Class and each != asked]
    owners = [world.modules.get(each.module) for each in known]
    if all(owner is None or owner.distribution == distribution for owner in owners):
        return None
    if name.encode() in world.sources.peek(module.spec.file, _SIZE_LIMIT):
        return None
    node = _found(world, module, asked.name)
    for base in node.bases if node else ():
        value = module.ns.get(base.id) if isinstance(base, ast.Name) else None
        if type(value) is Class:
            found = _of_others(world, value, name, distribution, depth - 1)
            if found:
                return found
    return None


def surely_lacks(world: World, asked: Class, name: str) -> bool:
    """Return whether a class has no such attribute, in whatever way it is run."""
    if name.startswith("__") or name in _OF_ANY:
        return False
    return _lacks(world, asked, name, DEPTH_LIMIT)


def _lacks(world: World, asked: Class, name: str, depth: int) -> bool:
    module = world.modules.get(asked.module)
    if module is None or module.role != ENTRY or depth == 0 or asked in world.changed:
        return False
    node = _found(world, module, asked.name)
    if node is None or not _is_plain(node):
        return False
    names = set(_bound(node.body))
    if name in names or not _HOOKS.isdisjoint(names) or "*" in names:
        return False
    bases = [base.id if isinstance(base, ast.Name) else "" for base in node.bases]
    for base in filter(lambda each: each != "object", bases):
        known = module.ns.get(base)
        if not isinstance(known, Class) or not _lacks(world, known, name, depth - 1):
            return False
    return True


def _found(world: World, module: Module, name: str) -> Optional[ast.ClassDef]:
    """Return the class that a module defines once, where nothing else may be of that name."""
    try:
        tree = ast.parse(world.sources.peek(module.spec.file, _SIZE_LIMIT))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name]
    return found[0] if len(found) == 1 and list(_bound(tree.body)).count(name) == 1 else None


def _is_plain(node: ast.ClassDef) -> bool:
    """Return whether nothing but the body and the bases gives a class its attributes."""
    decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    last = [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")
            for each in decorators]  # fmt: skip
    return not node.keywords and _PLAIN_DECORATORS.issuperset(last)


def _bound(body: List[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements may bind; ``*`` where they may bind any."""
    waiting: List[Any] = list(body)
    while waiting:
        node = waiting.pop()
        kind = type(node)  # a large file has many nodes: each is looked up, not compared
        if kind in _SCOPES:
            if kind is not ast.Lambda:
                yield node.name
            continue
        if kind in _IMPORTS:
            yield from (each.asname or each.name.partition(".")[0] for each in node.names)
        elif kind is ast.Name:
            if type(node.ctx) is not ast.Load:
                yield node.id
        elif kind is ast.ExceptHandler and node.name:
            yield node.name
        elif kind is ast.Call and getattr(node.func, "id", "") in _MAKERS:
            yield "*"
        waiting += [each for each in ast.iter_child_nodes(node) if type(each) not in _LEAVES]


def changed(world: World, given: Any) -> None:
    """Note that somebody sets attributes of a class."""
    if isinstance(given, Class):
        changes: Set[Class] = world.changed
        changes.add(given)
