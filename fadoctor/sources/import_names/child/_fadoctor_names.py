"""How names are bound: assignments, stars, lazy modules, and what a foundation defines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, List

from fadoctor.sources.import_names.child._fadoctor_classes import changed
from fadoctor.sources.import_names.child._fadoctor_decide import outside
from fadoctor.sources.import_names.child._fadoctor_thin import blocks_of
from fadoctor.sources.import_names.child._fadoctor_values import (
    UNKNOWN,
    Ext,
    Frame,
    Func,
    LazyNames,
    Mod,
    Raised,
    truth,
)

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_run import Runner

Node = List[Any]

_CHANGES = re.compile(r"(?i).*(export|alias|lazy|module|register|install|patch|inject|attach)")


class Names:
    """Binds names in frames."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def bind(self, target: Node, value: Any, frame: Frame) -> None:
        """Bind what an assignment assigns to."""
        if not target:
            return
        if target[0] == "n":
            frame.bind(target[1], value)
        elif target[0] == "t":
            parts = list(value) if type(value) in (list, tuple) else []
            fits = len(parts) == len(target[1])
            for index, each in enumerate(target[1]):
                self.bind(each, parts[index] if fits else UNKNOWN, frame)
        elif target[0] == "s":
            self.item(target, value, frame)
        elif target[0] == "a":
            self.attribute(target, value, frame)
        elif target[0] == "*":
            self.bind(target[1], UNKNOWN, frame)

    def attribute(self, target: Node, value: Any, frame: Frame) -> None:
        """``a.b = c``: of a module, or of a class."""
        base = self.runner.evaluator.value(target[2], frame)
        module = self.runner.world.modules.get(base.name) if isinstance(base, Mod) else None
        changed(self.runner.world, base)
        if module is not None:
            module.ns[target[3]] = value
        elif target[3] == "__class__":
            frame.module.open = frame.module.open or "another class may be its type"

    def item(self, target: Node, value: Any, frame: Frame) -> None:
        """``a[b] = c``: of a dict, of the names of a module, of the modules."""
        evaluator = self.runner.evaluator
        base = evaluator.value(target[2], frame)
        key = evaluator.value(target[3], frame)
        if type(base) is dict:
            base[key if type(key) is str else UNKNOWN] = value
        elif base == Ext("globals"):
            if type(key) is str:
                frame.module.ns[key] = value
            else:
                frame.module.open = "names made by a program"
        elif base == Ext("os.environ"):
            self.runner.variables.change(key)
        elif base == Ext("sys.modules"):
            if key == frame.module.name:
                frame.module.open = "it puts something else in its place"
            elif type(key) is str:
                self.runner.world.aliases.add(key)

    def note_globals(self, node: Node, frame: Frame) -> None:
        """Note ``globals().update(...)``."""
        if node[0] != "k" or not node[2] or node[2][0] != "a" or node[2][3] != "update":
            return
        inner = node[2][2]
        if inner and inner[0] == "k" and inner[2] and inner[2][-1] in ("globals", "vars", "locals"):
            given = self.runner.evaluator.values(node[3], frame)
            known = given and type(given[0]) is dict and UNKNOWN not in given[0]
            if known:
                frame.module.ns.update(given[0])
            else:
                frame.module.open = "names made by a program"

    def note_call(self, func: Any, given: List[Any], frame: Frame) -> None:
        """Note what a call of something unknown may do to the module that calls."""
        last = str(
            func[-1] if func and func[0] == "a" else func[1] if func and func[0] == "n" else ""
        )
        whole = Ext("globals") in given or any(
            isinstance(g, Mod) and g.name == frame.module.name for g in given
        )
        if whole or (frame.module.name in given and _CHANGES.match(last)):
            frame.module.open = f"{last} may add names"

    def star(self, found: Any, frame: Frame) -> None:
        """``from a import *``."""
        module = self.runner.world.modules.get(found.name) if isinstance(found, Mod) else None
        if module is None or module.lazy is not None or module.state == "running":
            frame.module.open = "a star import"
            return
        if module.open:
            frame.module.open = "a star import"
        listed: Any = module.ns.get("__all__")
        if type(listed) in (list, tuple) and UNKNOWN not in listed:
            names = [name for name in listed if type(name) is str]
        else:
            names = [name for name in module.ns if not name.startswith("_")]
        for name in names:
            frame.names[name] = module.ns.get(name, UNKNOWN)

    def read(self, body: List[Node], frame: Frame) -> None:
        """Bind the names that a foundation may have; of its imports only stars are followed."""
        for node in body:
            self.runner.step()
            if node[0] == "?":
                known = truth(self.runner.evaluator.value(node[2], frame))
                for block, wanted in ((node[3], True), (node[4], False)):
                    if known in (None, wanted):
                        self.read(block, frame)
            elif node[0] in "TW":
                for block in blocks_of(node):
                    self.read(block, frame)
            elif node[0] == "F":
                self.read_from(node, frame)
            elif node[0] == "A":
                self.read_assignment(node, frame)
            elif node[0] == "D" and node[2] == "__getattr__":
                frame.bind(node[2], Func(frame.module.name, node))
            else:
                self.runner.loose.block([node], frame)

    def read_assignment(self, node: Node, frame: Frame) -> None:
        """Bind what a foundation assigns, with its value where that is written out."""
        if lazy_of_call(self.runner, node[2], node[3], frame):
            return
        if node[2][0][:1] == ["n"]:
            self.bind(node[2][0], self.plain(node[3], frame), frame)
        self.runner.loose.block([node], frame, keep=True)

    def plain(self, node: Node, frame: Frame) -> Any:
        """Return a value that needs no module to be asked."""
        if node and node[0] in "cdelths":
            try:
                return self.runner.evaluator.value(node, frame)
            except Raised:
                return UNKNOWN
        return UNKNOWN

    def read_from(self, node: Node, frame: Frame) -> None:
        """Bind what a foundation imports from elsewhere."""
        _, line, level, name, names = node
        world = self.runner.world
        full = frame.module.resolve(level, name)
        own = full.partition(".")[0] == frame.module.name.partition(".")[0]
        for wanted, renamed in names:
            if wanted != "*":
                value = outside(self.runner, f"{full}.{wanted}") if not own else UNKNOWN
                frame.bind(renamed or wanted, value)
                continue
            try:
                found = world.import_(full, self.runner.asker(frame, line)) if own else UNKNOWN
            except Raised:
                found = UNKNOWN
            self.star(found, frame)


def lazy_of_call(runner: Runner, targets: List[Node], value: Node, frame: Frame) -> bool:
    """Return whether an assignment makes the module lazy; note its names then."""
    if not value or value[0] != "k" or not value[2]:
        return False
    last = str(value[2][-1])
    if last.endswith("LazyModule") and _is_own_place(targets[0]):
        given = runner.evaluator.values(value[3], frame)
        named = runner.evaluator.keywords(value[4], frame)
        structure = given[2] if len(given) > 2 else named.get("import_structure", UNKNOWN)
        _make_lazy(structure, frame)
        return True
    if last in ("_attach", "attach") and targets[0][:1] == ["t"]:
        given = runner.evaluator.values(value[3], frame)
        named = runner.evaluator.keywords(value[4], frame)
        names = named.get("submod_attrs", given[2] if len(given) > 2 else None)
        modules = named.get("submodules", given[1] if len(given) > 1 else None)
        if type(names) is not dict or (modules and type(modules) not in (list, set)):
            frame.module.open = "names attached"
            return True
        _make_lazy({**{m: [] for m in modules or ()}, **names}, frame)
        for part in targets[0][1]:
            if part[:1] == ["n"]:
                frame.names[part[1]] = UNKNOWN
        return True
    return False


def _make_lazy(structure: Any, frame: Frame) -> None:
    lazy = structure if isinstance(structure, LazyNames) else LazyNames()
    if type(structure) is dict:
        lazy.add({k: v for k, v in structure.items() if k != frozenset()})
        lazy.add(structure[frozenset()] if type(structure.get(frozenset())) is dict else {})
    elif structure is not lazy:
        lazy.complete = False
    frame.module.lazy = lazy
    # What is bound here is gone when another module is put in the place of this one.


def _is_own_place(target: Node) -> bool:
    """Return whether a target is ``sys.modules[__name__]``."""
    return (
        target[:1] == ["s"]
        and target[2][:1] == ["a"]
        and target[2][3] == "modules"
        and target[3] == ["n", "__name__"]
    )
