"""What may run: it binds names whose values nobody knows, and nothing is asked of anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

from fadoctor.sources.import_names.child._fadoctor_classes import changed
from fadoctor.sources.import_names.child._fadoctor_thin import blocks_of
from fadoctor.sources.import_names.child._fadoctor_values import (
    OWN,
    UNKNOWN,
    Ext,
    Frame,
    Raised,
    Returned,
    lengthen,
)

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_run import Runner

Node = List[Any]

_CHANGERS = ("append", "extend", "update", "add", "setdefault", "pop")


class Loose:
    """Looks at statements that may run."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def block(self, body: List[Node], frame: Frame, *, keep: bool = False) -> None:
        """Bind the names of statements; `keep`: those that are bound keep their values."""
        runner = self.runner
        runner.maybe += 1
        try:
            for node in body:
                runner.step()
                self.statement(node, frame, keep=keep)
        finally:
            runner.maybe -= 1

    def bind(self, name: str, frame: Frame, *, keep: bool) -> None:
        """Bind a name to what is not known."""
        home = frame.module.ns if name in frame.outer else frame.names
        if not (keep and name in home):
            home[name] = UNKNOWN
        if home is frame.module.ns and name == "__getattr__":
            frame.module.open, frame.module.getter = OWN, None

    def statement(self, node: Node, frame: Frame, *, keep: bool) -> None:
        """Look at one statement."""
        maker = _STATEMENTS.get(node[0], Loose.compound)
        maker(self, node, frame, keep=keep)

    def import_(self, node: Node, frame: Frame, *, keep: bool) -> None:
        """Bind what an import binds."""
        for name, renamed in node[2]:
            self.bind(renamed or name.partition(".")[0], frame, keep=keep)

    def from_(self, node: Node, frame: Frame, *, keep: bool) -> None:
        """Bind what is taken out of a module; a star may take anything."""
        for name, renamed in node[4]:
            if name == "*":
                frame.module.open = frame.module.open or "a star import that may run"
            else:
                self.bind(renamed or name, frame, keep=keep)

    def define(self, node: Node, frame: Frame, *, keep: bool) -> None:
        """Bind the name of a function or a class."""
        self.bind(node[2], frame, keep=keep)

    def delete(self, node: Node, frame: Frame, *, keep: bool) -> None:  # noqa: ARG002
        """Note that names may be gone."""
        for target in node[2]:
            if target[:1] == ["n"] and target[1] in frame.names:
                frame.names[target[1]] = UNKNOWN

    def raise_(self, node: Node, frame: Frame, *, keep: bool) -> None:  # noqa: ARG002
        """Note that every try around this may be left here."""
        for guard in self.runner.guards:
            guard[0] = True

    def stop(self, node: Node, frame: Frame, *, keep: bool) -> None:  # noqa: ARG002
        """Note that the loop around this, or a round of it, may be left here."""
        for guard in reversed(self.runner.guards):
            guard[0] = True
            if len(guard) > 1:
                return

    def compound(self, node: Node, frame: Frame, *, keep: bool) -> None:
        """Look at the blocks of a statement."""
        if node[0] == "W":
            for _, target in node[2]:
                self.target(target, [], frame, keep=keep)
        elif node[0] == "L":
            self.target(node[2], [], frame, keep=keep)
        elif node[0] == "Z":
            frame.outer.update(node[2])
        elif node[0] == "N":
            for name in node[2]:
                self.bind(name, frame, keep=keep)
        for block in blocks_of(node):
            self.block(block, frame, keep=keep)

    def assign(self, node: Node, frame: Frame, *, keep: bool) -> None:
        """Look at an assignment."""
        for target in node[2] if node[0] == "A" else [node[2]]:
            self.target(target, node[3], frame, keep=keep, adds=node[0] == "G")

    def target(
        self, target: Node, value: Node, frame: Frame, *, keep: bool, adds: bool = False
    ) -> None:
        """Bind what may be assigned to; dicts and lists that are known may become longer."""
        kind = target[0] if target else ""
        if kind == "n":
            base = frame.names.get(target[1])
            if adds and type(base) is list:
                lengthen(base, self.quietly(value, frame))
            else:
                self.bind(target[1], frame, keep=keep)
        elif kind in ("t", "*"):
            for each in target[1] if kind == "t" else [target[1]]:
                self.target(each, [], frame, keep=keep)
        elif kind == "s":
            self.item(target, value, frame)
        elif kind == "a":
            changed(self.runner.world, self.quietly(target[2], frame))

    def item(self, target: Node, value: Node, frame: Frame) -> None:
        """Look at ``a[b] = c``: of a dict, of the names of a module, of the modules."""
        base, key = self.quietly(target[2], frame), self.quietly(target[3], frame)
        if type(base) is dict:
            base[key if type(key) is str else UNKNOWN] = self.quietly(value, frame)
        elif base == Ext("globals"):
            frame.module.open = "names made by a program"
        elif base == Ext("os.environ"):
            self.runner.variables.change(key)
        elif base == Ext("sys.modules"):
            if key == frame.module.name or key is UNKNOWN:
                frame.module.open = frame.module.open or "another module may take its place"
            elif type(key) is str:
                self.runner.world.aliases.add(key)

    def express(self, statement: Node, frame: Frame, *, keep: bool) -> None:  # noqa: ARG002
        """Look at a call that may be made."""
        node = statement[2]
        if node[0] != "k" or not node[2]:
            return
        last = str(node[2][-1])
        if last in ("exec", "setattr") or '"globals"' in str(node).replace("'", '"'):
            frame.module.open = f"{last} that may run"
        elif node[2][0] == "a" and last in _CHANGERS:
            base = self.quietly(node[2][2], frame)
            if type(base) in (list, dict, set) or base == Ext("os.environ"):
                self.quietly(node, frame)

    def quietly(self, node: Node, frame: Frame) -> Any:
        """Return what an expression is, UNKNOWN where its evaluation stops."""
        try:
            return self.runner.evaluator.value(node, frame)
        except (Raised, Returned):
            return UNKNOWN


_STATEMENTS: Dict[str, Any] = {
    "I": Loose.import_, "F": Loose.from_, "D": Loose.define, "C": Loose.define,
    "A": Loose.assign, "G": Loose.assign, "E": Loose.express, "X": Loose.delete,
    "R": Loose.raise_, "B": Loose.stop,
}  # fmt: skip
