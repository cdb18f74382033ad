"""What modules do when they are imported, statement by statement, three-valued.

What surely runs is followed. What may run binds names whose values are not known and is never held
against anybody.
"""

# A circle of thirteen files of this folder by types alone: a statement holds expressions, whose
# calls import modules, whose statements run. Each file is handed the runner and the world.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

from fadoctor.sources.import_names.child import _fadoctor_compound as compound
from fadoctor.sources.import_names.child._fadoctor_decide import PLACES, outside, told_of
from fadoctor.sources.import_names.child._fadoctor_eval import Evaluator
from fadoctor.sources.import_names.child._fadoctor_getters import given_by
from fadoctor.sources.import_names.child._fadoctor_loose import Loose
from fadoctor.sources.import_names.child._fadoctor_memory import NOTHING, Memory
from fadoctor.sources.import_names.child._fadoctor_names import Names, lazy_of_call
from fadoctor.sources.import_names.child._fadoctor_values import (
    ENTRY,
    STEP_LIMIT,
    UNKNOWN,
    Asker,
    Class,
    ExhaustedError,
    Ext,
    Frame,
    Func,
    Left,
    Mod,
    Module,
    Raised,
    Returned,
    lengthen,
)
from fadoctor.sources.import_names.child._fadoctor_variables import Variables

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_world import World

Node = List[Any]

DEPTH_LIMIT = 12

_TOLD = frozenset(place.rpartition(".")[2] for place in PLACES)


class Runner:
    """Follows imports in a world."""

    def __init__(self, world: World, python: "tuple[int, ...]", system: str,
                 set_variables: "frozenset[str]") -> None:  # fmt: skip
        self.world = world
        self.python = python
        self.system = system
        self.memory = Memory()
        self.variables = Variables(set_variables, self.memory.forget)
        self.evaluator = Evaluator(self)
        self.loose = Loose(self)
        self.names = Names(self)
        self.steps = 0
        self.depth = 0
        self.maybe = 0
        self.guards: List[List[bool]] = []
        """For each try and loop that is open: whether it may have been left; a loop has two."""
        world.run = self.module
        world.getter = lambda module, name: given_by(self, module, name)

    def step(self) -> None:
        """Count; ExhaustedError where there is too much."""
        self.steps += 1
        if self.steps > STEP_LIMIT:
            raise ExhaustedError

    @property
    def is_sure(self) -> bool:
        """Whether what is looked at surely runs."""
        if self.maybe:
            return False
        for guard in self.guards:  # noqa: SIM110 -- asked very often: no generator is made
            if guard[0]:
                return False
        return True

    def asker(self, frame: Frame, line: int) -> Asker:
        """Return who asks."""
        return Asker(frame.module, line, is_sure=self.is_sure, follows=not self.maybe)

    def module(self, module: Module, code: Dict[str, Any]) -> None:
        """Do what a module does at import; of a foundation only its names are read."""
        frame = Frame(module, module.ns)
        if module.role != ENTRY:
            self.maybe += 1
            try:
                self.names.read(code["body"], frame)
            except (Raised, Returned, Left):
                module.open = "not followed"
            finally:
                self.maybe -= 1
            return
        depth, self.depth = self.depth, 0
        try:
            self.block(code["body"], frame)
        except (Returned, Left):
            pass
        finally:
            self.depth = depth

    def block(self, statements: List[Node], frame: Frame) -> None:
        """Do what statements surely do."""
        for statement in statements:
            self.steps += 1  # asked very often: no function is called
            if self.steps > STEP_LIMIT:
                raise ExhaustedError
            _STATEMENTS[statement[0]](self, statement, frame)

    def import_(self, name: str, line: int, frame: Frame) -> Any:
        """Import a module by its full name; in what may run only its name is bound."""
        if self.maybe:
            return UNKNOWN
        if self.world.has(name):
            return Mod(name)
        try:
            return self.world.import_(name, self.asker(frame, line))
        except Raised as raised:
            if raised.kind == "unsure":
                return UNKNOWN
            raise

    def import_statement(self, node: Node, frame: Frame) -> None:
        """``import a.b`` binds a, ``import a.b as c`` the module."""
        for name, renamed in node[2]:
            found = self.import_(name, node[1], frame)
            top = name.partition(".")[0]
            if not renamed and isinstance(found, (Mod, Ext)):
                found = Mod(top) if isinstance(found, Mod) else Ext(top)
            frame.bind(renamed or top, found)

    def from_statement(self, node: Node, frame: Frame) -> None:
        """``from a import b``."""
        _, line, level, name, names = node
        full = frame.module.resolve(level, name)
        found = self.import_(full, line, frame)
        missing: List[Raised] = []
        module = self.world.modules.get(full) if isinstance(found, Mod) else None
        there = {} if module is None else module.ns
        for wanted, renamed in names:
            known = there.get(wanted, UNKNOWN)  # most are there: no function is called
            if known is not UNKNOWN and wanted[:2] != "__":
                frame.bind(renamed or wanted, known)
                continue
            if wanted == "*":
                self.names.star(found, frame)
                continue
            try:
                value = self.taken(found, wanted, line, frame)
            except Raised as raised:
                # Python asks a package for all of the names before it misses one of them.
                if not self.world.is_missing(raised, found, wanted):
                    raise
                missing.append(raised)
                value = UNKNOWN
            frame.bind(renamed or wanted, value)
        if missing:
            raise missing[0]

    def taken(self, found: Any, name: str, line: int, frame: Frame) -> Any:
        """Return what ``from`` takes out of a module."""
        if isinstance(found, Mod):
            return self.asked(found, name, line, frame, attribute=False)
        if isinstance(found, Ext):
            return outside(self, f"{found.name}.{name}")
        return UNKNOWN

    def attribute(self, base: Mod, name: str, line: int, frame: Frame) -> Any:
        """Return an attribute of a module."""
        return self.asked(base, name, line, frame, attribute=True)

    def asked(self, base: Mod, name: str, line: int, frame: Frame, *, attribute: bool) -> Any:
        """Return what a module gives for a name; Raised where it surely has none."""
        module = self.world.modules.get(base.name)
        if module is not None and name in module.ns and name[:2] != "__":
            known = module.ns[name]
            is_told = known is UNKNOWN and name in _TOLD
            return told_of(self.world, base.name, name) if is_told else known
        try:
            asker = self.asker(frame, line)
            known = self.world.get(base.name, name, asker, attribute=attribute)
        except Raised as raised:
            if raised.kind == "unsure":
                return UNKNOWN
            raise
        return told_of(self.world, base.name, name) if known is UNKNOWN else known

    def call(self, target: Func, given: List[Any], named: Dict[str, Any]) -> Any:
        """Return what a function gives; it is followed where its body was kept."""
        module = self.world.modules.get(target.module)
        params, body = target.node[6], target.node[7]
        if body is None or module is None or self.depth >= DEPTH_LIMIT or len(given) > len(params):
            return UNKNOWN
        key = self.memory.key(target, module, given, named)
        known = self.memory.get(key)
        if known is not NOTHING:
            return known
        names: Dict[str, Any] = dict(named) if "" not in named else {}
        names.update(zip([param for param, _ in params], given))
        frame = Frame(module, names, is_function=True)
        for param, default in params:
            if param not in names:
                names[param] = self.evaluator.value(default, Frame(module, module.ns))
        self.depth += 1
        try:
            self.block(body, frame)
        except Returned as returned:
            self.memory.keep(key, returned.value)
            return returned.value
        except Left:
            return UNKNOWN
        finally:
            self.depth -= 1
        return None

    def assign(self, node: Node, frame: Frame) -> None:
        """Follow ``a = b``."""
        targets, value_node = node[2], node[3]
        if lazy_of_call(self, targets, value_node, frame):
            return
        value = self.evaluator.value(value_node, frame)
        for target in targets:
            self.names.bind(target, value, frame)

    def augment(self, node: Node, frame: Frame) -> None:
        """Follow ``a += b`` of lists; else a is not known."""
        base = self.evaluator.value(node[2], frame)
        more = self.evaluator.value(node[3], frame)
        if type(base) is list:
            lengthen(base, more)
        elif node[2] and node[2][0] == "n":
            frame.bind(node[2][1], UNKNOWN)

    def function(self, node: Node, frame: Frame) -> None:
        """Follow a function: its decorators, defaults and annotations are evaluated."""
        if node[3] or node[4]:
            for each in (*node[3], *node[4]):
                self.evaluator.value(each, frame)
        if node[5] and not (frame.module.later or self.python >= (3, 14)):
            for each in node[5]:
                self.evaluator.value(each, frame)
        frame.bind(node[2], Func(frame.module.name, node))

    def class_(self, node: Node, frame: Frame) -> None:
        """Follow a class: its bases, and its body."""
        for each in node[3]:
            self.evaluator.value(each, frame)
        if node[4]:
            inner = Frame(frame.module, dict(frame.names) if frame.is_function else {})
            self.block(node[4], inner)
        is_of_module = frame.names is frame.module.ns
        frame.bind(node[2], Class(frame.module.name, node[2]) if is_of_module else UNKNOWN)

    def express(self, node: Node, frame: Frame) -> None:
        """Follow an expression as a statement."""
        self.evaluator.value(node[2], frame)
        call = node[2]
        if call[0] == "k" and call[2] and call[2][0] == "n" and call[2][1] == "exec":
            frame.module.open = "exec"
        self.names.note_globals(call, frame)

    def raise_(self, node: Node, frame: Frame) -> None:  # noqa: ARG002 -- like the others
        """Follow a raise."""
        what = node[2]
        if what and what[0] == "k":
            what = what[2]
        raise Raised(str(what[-1]) if what and what[0] in "na" else "Exception")

    def return_(self, node: Node, frame: Frame) -> None:
        """Follow a return."""
        raise Returned(self.evaluator.value(node[2], frame))

    def delete(self, node: Node, frame: Frame) -> None:
        """Follow a del of names."""
        for target in node[2]:
            if target and target[0] == "n":
                frame.names.pop(target[1], None)

    def stop(self, node: Node, frame: Frame) -> None:  # noqa: ARG002 -- like the others
        """Follow a break or a continue."""
        raise Left(is_round=bool(node[1]))

    def named(self, node: Node, frame: Frame) -> None:
        """Note names that an expression of the next statement may bind."""
        for name in node[2]:
            frame.names.setdefault(name, UNKNOWN)

    def outer(self, node: Node, frame: Frame) -> None:
        """``global a``."""
        frame.outer.update(node[2])


_STATEMENTS: Dict[str, Any] = {
    "I": Runner.import_statement, "F": Runner.from_statement, "A": Runner.assign,
    "G": Runner.augment, "D": Runner.function, "C": Runner.class_, "?": compound.if_,
    "T": compound.try_, "W": compound.with_, "L": compound.loop, "E": Runner.express,
    "R": Runner.raise_, "V": Runner.return_, "X": Runner.delete, "B": Runner.stop,
    "Z": Runner.outer, "N": Runner.named,
}  # fmt: skip
