"""What the names of a script are bound to, and which of its calls and assignments are wanted.

The tree is walked once, without recursion. What runs on a condition only is noted with the reason:
a branch, a ``try`` whose failure is caught. What values are is told in `_fadoctor_values`.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from fadoctor.sources.scripts.child._fadoctor_given import (
    Items,
    Parameters,
    field_default,
    made_by_parser,
    option,
)
from fadoctor.sources.scripts.child._fadoctor_scope import Scope, each_of
from fadoctor.sources.scripts.child._fadoctor_words import Added

MUTATORS = frozenset({"update", "pop", "setdefault", "clear", "popitem", "append", "extend"})
NAMED = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)
LOOPS = (ast.For, ast.AsyncFor)
TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
BRANCHES = (ast.If, ast.IfExp, *TRIES, ast.BoolOp, ast.Match)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Import(NamedTuple):
    """A name that an import binds: ``torch.nn.functional`` for ``F``."""

    dotted: str


class Found(NamedTuple):
    """A call or an assignment that somebody wants, and where it stands."""

    node: ast.Call | ast.Assign
    target: ast.expr
    """What is called, or what is assigned to."""
    scope: Scope
    condition: str
    """Why it may not happen: empty where it does."""


class Scopes:
    """The bindings of a script and the calls that are wanted, in the order of the text."""

    def __init__(self, tree: ast.AST, wanted: frozenset[str]) -> None:
        self.wanted = wanted
        self.module = Scope()
        self.found: list[Found] = []
        self.loaded: set[str] = set()
        self.has_star = False
        self.bodies: dict[int, Scope] = {}
        """Of classes, by the identity of their nodes."""
        self.classes: dict[int, str] = {}
        """The body of a class -> its name."""
        self.defaults: dict[str, list[ast.expr]] = {}
        """Options and fields -> what they are where nobody gives them."""
        self.inside: dict[int, Scope] = {}
        """Scopes of functions, by the node of each."""
        self.stored: set[str] = set()
        """Attributes that something is assigned to."""
        self.parameters = Parameters()
        self.items = Items()
        self.added = Added()
        stack: list[tuple[ast.AST, Scope, str]] = [(tree, self.module, "")]
        scopes = {id(self.module): self.module}
        while stack:
            node, scope, condition = stack.pop()
            scopes[id(scope)] = scope
            stack.extend(reversed(self.visit(node, scope, condition)))
        for scope in scopes.values():
            for name in scope.changed:
                scope.home(name).mutated.add(name)

    def visit(
        self, node: ast.AST, scope: Scope, condition: str
    ) -> list[tuple[ast.AST, Scope, str]]:
        """Note what a node binds and asks for; return what to look at next."""
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return self.enter(node, scope, condition)
        if isinstance(node, BRANCHES):
            return branches(node, scope, condition)
        is_item = self.items.note(node, scope, condition)
        if self.added.note(node, scope, condition):
            mutate(scope, targets(node)[0][0])
        elif not is_item:
            self.bind(node, scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.loaded.add(node.id)
        elif isinstance(node, ast.Attribute):
            (self.loaded if isinstance(node.ctx, ast.Load) else self.stored).add(node.attr)
        elif isinstance(node, ast.Call):
            self.note_call(node, scope, condition, is_item=is_item)
        elif isinstance(node, ast.Assign):
            self.note_assignment(node, scope, condition)
        return [(child, scope, condition) for child in ast.iter_child_nodes(node)]

    def enter(
        self, node: ast.AST, scope: Scope, condition: str
    ) -> list[tuple[ast.AST, Scope, str]]:
        """Open the scope of a function or a class; what decorates it belongs to the outer one."""
        name = getattr(node, "name", "")
        if name:
            bind(scope, name, node)
        outside = [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]
        if isinstance(node, ast.ClassDef):
            inner = self.bodies[id(node)] = Scope(scope)
            self.classes[id(inner)] = node.name
            if any("dataclass" in ast.dump(each) for each in node.decorator_list):
                self.note_fields(node)
                self.note_arguments(node, scope, condition)
        else:
            top = scope is self.module and name and not outside
            inner = self.inside[id(node)] = Scope(scope, name if top else "")
            arguments = node.args  # type: ignore[attr-defined]
            outside += [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
            plain = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            self.parameters.note_function(node, inner, self.classes.get(id(scope), ""))
            for given in (*plain, arguments.vararg, arguments.kwarg):
                if given is not None:
                    bind(inner, given.arg, None)
        body = node.body  # type: ignore[attr-defined]
        inside = body if isinstance(body, list) else [body]
        return [*((n, scope, condition) for n in outside), *((n, inner, condition) for n in inside)]

    def bind(self, node: ast.AST, scope: Scope) -> None:
        """Note the names that a statement binds, and to what."""
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
            mutate(scope, node.target)  # a list to which words are added is the same list
            return
        for target, value in targets(node):
            bind_target(scope, target, value)
        name = getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name", None)
        if isinstance(node, NAMED) and name:
            bind(scope, name, None)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.bind_import(node, scope)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            scope.outer.update(node.names)

    def bind_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        """Note what an import binds: the first part of a dotted name unless it is renamed."""
        origin = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if alias.name == "*":
                self.has_star = True
            elif isinstance(node, ast.ImportFrom):
                bind(scope, alias.asname or alias.name, Import(f"{origin}.{alias.name}"))
            else:
                first = alias.name.split(".")[0]
                bind(scope, alias.asname or first, Import(alias.name if alias.asname else first))

    def note_call(
        self, node: ast.Call, scope: Scope, condition: str, *, is_item: bool = False
    ) -> None:
        """Note a call that is wanted, and what it may change."""
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        self.parameters.note_call(node)
        if isinstance(func, ast.Attribute) and last in MUTATORS and not is_item:
            mutate(scope, func.value)
        if last not in ("dict", "print", "len", "isinstance"):
            for argument in node.args:
                mutate(scope, argument)
        if last == "add_argument":
            self.note_default(node)
        if last in self.wanted or (isinstance(func, ast.Name) and self.may_be_wanted(last, scope)):
            self.found.append(Found(node, func, scope, condition))

    def note_fields(self, node: ast.ClassDef) -> None:
        """Note the defaults of a dataclass: plain ones, and those of ``field(default=...)``."""
        for each in node.body:
            if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
                continue
            value = field_default(each.value)
            if value is not None:
                self.defaults.setdefault(each.target.id, []).append(value)

    def note_arguments(self, node: ast.ClassDef, scope: Scope, condition: str) -> None:
        """Note a dataclass of a trainer's arguments as the call that a parser makes of it."""
        call = made_by_parser(node, self.wanted)
        if call is not None:
            self.found.append(Found(call, call.func, scope, condition))

    def note_default(self, node: ast.Call) -> None:
        """Note the default of an option: ``add_argument("--dtype", default="bfloat16")``."""
        name, default = option(node)
        if name and default is not None:
            self.defaults.setdefault(name, []).append(default)

    def may_be_wanted(self, name: str, scope: Scope) -> bool:
        """Return whether an import gives something that is wanted another name."""
        bound = scope.home(name).bound.get(name, ())
        return any(isinstance(b, Import) and b.dotted.split(".")[-1] in self.wanted for b in bound)

    def note_assignment(self, node: ast.Assign, scope: Scope, condition: str) -> None:
        """Note an assignment to an attribute or a variable of the environment that is wanted."""
        for target in node.targets:
            is_wanted = isinstance(target, ast.Attribute) and target.attr in self.wanted
            if is_wanted or (
                isinstance(target, ast.Subscript)
                and isinstance(target.value, ast.Attribute)
                and target.value.attr == "environ"
            ):
                self.found.append(Found(node, target, scope, condition))


def targets(node: ast.AST) -> list[tuple[ast.expr, ast.expr | None]]:
    """Return what a statement assigns to, each with the value if there is one to be read."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.NamedExpr) or (isinstance(node, ast.AnnAssign) and node.value):
        return [(node.target, node.value)]
    if isinstance(node, (ast.AugAssign, *LOOPS, ast.comprehension)):
        return [(node.target, None)]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return [(node.optional_vars, None)]
    return [(target, None) for target in node.targets] if isinstance(node, ast.Delete) else []


def bind(scope: Scope, name: str, value: object) -> None:
    """Note a binding where the name lives; the same import twice is one."""
    while name in scope.outer and scope.parent is not None:
        scope = scope.parent
    bound = scope.bound.setdefault(name, [])
    if not (isinstance(value, Import) and value in bound):
        bound.append(value)


def bind_target(scope: Scope, target: ast.expr, value: ast.expr | None) -> None:
    """Note what an assignment binds: tuples pair by pair, what else is taken apart as unknown."""
    pairs: list[tuple[ast.expr, ast.expr | None]] = [(target, value)]
    while pairs:
        target, value = pairs.pop()
        if isinstance(target, ast.Name):
            bind(scope, target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            given = each_of(value, len(target.elts))
            fits = len(given) == len(target.elts)
            fits = fits and not any(isinstance(e, ast.Starred) for e in (*given, *target.elts))
            pairs += zip(target.elts, given if fits else [None] * len(target.elts))
        elif isinstance(target, ast.Starred):
            pairs.append((target.value, None))
        elif isinstance(target, ast.Subscript):
            mutate(scope, target.value)


def mutate(scope: Scope, node: ast.expr) -> None:
    """Note that what a name holds may be changed in place."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
        node = node.value
    if isinstance(node, ast.Name):
        scope.changed.append(node.id)


def branches(node: ast.AST, scope: Scope, condition: str) -> list[tuple[ast.AST, Scope, str]]:
    """Return the parts of a statement that chooses, with the reason why each may not run."""
    sure: list[ast.AST] = []
    perhaps: list[ast.AST] = []
    if isinstance(node, (ast.If, ast.IfExp)):
        sure.append(node.test)
        body = node.body if isinstance(node.body, list) else [node.body]
        (sure if is_certain(node.test) else perhaps).extend(body)
        perhaps += node.orelse if isinstance(node.orelse, list) else [node.orelse]
    elif isinstance(node, ast.BoolOp):
        sure.append(node.values[0])
        perhaps += node.values[1:]
    elif isinstance(node, ast.Match):
        sure.append(node.subject)
        perhaps += node.cases
    elif isinstance(node, TRIES):
        hides = any(not isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)
        (perhaps if hides else sure).extend([*node.body, *node.orelse])
        perhaps += node.handlers
        sure += node.finalbody
    reason = condition or "it happens on a condition"
    return [*((n, scope, condition) for n in sure), *((n, scope, reason) for n in perhaps)]


def is_certain(test: ast.expr) -> bool:
    """Return whether a test is true for a script that is run: a true literal, or ``__main__``."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    return isinstance(test, ast.Compare) and any(is_main(n) for n in (test.left, *test.comparators))


def is_main(node: ast.expr) -> bool:
    """Return whether an expression is ``__name__``."""
    return isinstance(node, ast.Name) and node.id == "__name__"
