"""Which attributes the objects of a class have: read out of its body, its methods and its bases."""

from __future__ import annotations

import ast
import fnmatch
from collections import Counter
from typing import TYPE_CHECKING

from tools.refresh.names.asked import parsed
from tools.refresh.names.families import Body, Classes, Family, Seen, dotted
from tools.refresh.names.history import end_of, spans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from packaging.version import Version

    from tools.refresh.names.archive import Sources

_WIDTH = 60
"""Names in one row."""
_MAKERS = ("__init__", "__post_init__")
"""What runs when an object is made; what is bound later may not be there."""
_ASIDE = ("/modular_", "/diff_", "/dummy_")
"""Sources from which other files are written, and stand-ins for what cannot be imported."""
_FAMILY = 8
"""So many classes that inherit make a base one of which what it gives is written once."""


def classes_of(text: str) -> dict[str, Body]:
    """Return the classes at the top of a file; none of what cannot be parsed."""
    tree = parsed(text)
    found: dict[str, Body] = {}
    imports: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for node in _statements(tree.body if tree is not None else ()):
        if isinstance(node, ast.ImportFrom):
            origin = (node.module or "").rpartition(".")[2]
            imports.update({each.name: origin for each in node.names})
            renamed.update({each.asname: each.name for each in node.names if each.asname})
        elif isinstance(node, ast.ClassDef):
            names = (name for base in node.bases if (name := _last(base)))
            bases = tuple(renamed.get(name, name) for name in names)
            found[node.name] = Body(bases, set(_bound(node)), imports)
    return found


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those below `if` and `try` too."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _statements([*node.body, *node.orelse])


def _last(base: ast.expr) -> str:
    """Return the name of a base: of `a.B` and of `B[T]` it is B."""
    if isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Attribute):
        return base.attr
    return base.id if isinstance(base, ast.Name) else ""


def _bound(node: ast.ClassDef) -> Iterator[str]:
    """Yield what a class binds in its body, and what its objects have once they are made."""
    methods = {}
    for each in _statements(node.body):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.name
            methods[each.name] = each
        elif isinstance(each, ast.ClassDef):
            yield each.name
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            names = (name for name in ast.walk(each) if isinstance(name, ast.Name))
            yield from (name.id for name in names if isinstance(name.ctx, ast.Store))
    yield from _made(methods)


def _made(methods: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> Iterator[str]:
    """Yield what is bound on an object while it is made."""
    runs, done = list(_MAKERS), set()
    while runs:
        name = runs.pop()
        if name not in methods or name in done:
            continue
        done.add(name)
        for each in _of_object(methods[name]):
            if isinstance(each.ctx, ast.Store):
                yield each.attr
            else:
                runs.append(each.attr)


def _of_object(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Attribute]:
    """Yield where a method names something of its object."""
    own = method.args.args[0].arg if method.args.args else ""
    for each in ast.walk(method):
        match each:
            case ast.Attribute(value=ast.Name(id=name)) if name == own:
                yield each


class Reader:
    """Answers for the releases of one package. Files that did not change are read once."""

    def __init__(self, patterns: Collection[str]) -> None:
        """Take the files, as patterns of their paths."""
        self._patterns = patterns
        self._known: dict[str, dict[str, Body]] = {}
        self._kept: dict[Seen, Seen] = {}

    def classes(self, sources: Sources) -> Classes:
        """Return the classes of a release."""
        paths = [path for path in sources.digests
                 if not any(each in path for each in _ASIDE)
                 and any(fnmatch.fnmatchcase(path, each) for each in self._patterns)]  # fmt: skip
        digests = sources.digests
        wanted = {path for path in paths if digests[path] not in self._known}
        for path, text in sources.read(wanted).items() if wanted else ():
            self._known[digests[path]] = classes_of(text)
        bodies = {
            f"{dotted(path)}.{name}": body
            for path in sorted(paths)
            for name, body in self._known[digests[path]].items()
        }
        family = Family(bodies)
        found = {name: family.seen(name) for name in bodies}
        return {name: self._kept.setdefault(seen, seen) for name, seen in found.items()}


def is_outer(name: str) -> bool:
    """Return whether others may ask for a name: it is no inner variable."""
    return not name.startswith("_") or name.isupper()


class History:
    """What came to classes and went, over the releases that were read."""

    def __init__(
        self,
        seen: Mapping[Version, Classes],
        every: Sequence[Version] = (),
        others: Collection[str] = (),
    ) -> None:
        """Take the releases, oldest first, all that there are, and the classes of others."""
        self._seen, self._versions, self._every = seen, list(seen), every
        self.names = frozenset(name for classes in seen.values() for name in classes)
        self._names = sorted(self.names)
        self._changes = {name: self._changed(name) for name in self._names}
        heirs = Counter(base for name in self._names for base in self._ancestors(name))
        own = {base for base, count in heirs.items() if count >= _FAMILY and base in self._changes}
        self._families = own | (heirs.keys() & set(others))

    def given_rows(self, package: str) -> Iterator[str]:
        """Yield rows of names-attributes: what a class has not always had, and its base neither."""
        cells: dict[tuple[str, str], list[str]] = {}
        for name in self._names:
            for attribute in sorted(self._told(name)):
                cells.setdefault((name, self._cells(name, attribute)), []).append(attribute)
        shared: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for (name, text), attributes in cells.items():
            shared.setdefault((text, tuple(attributes)), []).append(name)
        for (text, members), owners in sorted(shared.items(), key=lambda each: each[1]):
            for words in _cut(members):
                keys = f"package: {package}, class: {' '.join(owners)}, name: {words}"
                yield f"  - {{{keys}{text}}}\n"

    def base_rows(self) -> Iterator[str]:
        """Yield rows of names-bases: from which families classes inherit, the nearest first."""
        heirs: dict[tuple[str, ...], list[str]] = {}
        for name in self._names:
            families = [each for each in self._ancestors(name) if each in self._families]
            if families:
                heirs.setdefault(tuple(families), []).append(name)
        for key, several in sorted(heirs.items()):
            for words in _cut(several):
                yield f"  - {{class: {words}, bases: {' '.join(key)}}}\n"

    def _there(self, name: str) -> list[Version]:
        return [version for version in self._versions if name in self._seen[version]]

    def _ancestors(self, name: str) -> list[str]:
        """Return all that a class ever inherited from; what it inherits now comes first."""
        there = reversed(self._there(name))
        return list(dict.fromkeys(base for each in there for base in self._seen[each][name].bases))

    def _changed(self, name: str) -> set[str]:
        """Return what not all releases of a class have; of inner variables only what went."""
        there = [self._seen[version][name].names for version in self._there(name)]
        some = frozenset.union(*there) - frozenset.intersection(*there)
        return {each for each in some if is_outer(each) or each not in there[-1]}

    def _told(self, name: str) -> set[str]:
        """Return what is told of a class: what came or went, where no family says just that.

        Also what the class always has, where a family says that it came or went.
        """
        there = self._there(name)
        always = frozenset.intersection(*(self._seen[each][name].names for each in there))
        kept = {
            each
            for base in self._ancestors(name)
            if base in self._families and base in self._changes
            for each in always & self._changes[base]
            if not all(self._has(version, base, each) for version in there)
        }
        return (self._changes[name] - self._inherited(name)) | kept

    def _inherited(self, name: str) -> set[str]:
        """Return what a family has whenever the class has it."""
        found = set()
        there = self._there(name)
        for base in self._ancestors(name):
            if base in self._families and base in self._changes:
                found |= {
                    each
                    for each in self._changes[name] & self._changes[base]
                    if all(self._has(v, name, each) == self._has(v, base, each) for v in there)
                }
        return found

    def _has(self, version: Version, name: str, attribute: str) -> bool:
        known = self._seen[version].get(name)
        return known is not None and attribute in known.names

    def _cells(self, name: str, attribute: str) -> str:
        versions = self._versions
        stretches = spans([(each, self._has(each, name, attribute)) for each in versions])
        first, last = stretches[-1]
        cells = [f", first: {first}"] if first != versions[0] else []
        if last != versions[-1]:
            cells.append(f", last: {end_of(last, versions, self._every)}")
        if len(stretches) > 1:
            spoken = (f"{a} to {end_of(b, versions, self._every)}" for a, b in stretches[:-1])
            cells.append(f", earlier: {' and '.join(spoken)}")
        return "".join(cells)


def _cut(names: Sequence[str]) -> Iterator[str]:
    """Yield names as words, so many as a row takes."""
    for at in range(0, len(names), _WIDTH):
        yield " ".join(names[at : at + _WIDTH])
