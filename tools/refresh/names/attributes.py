"""Which attributes the objects of a class have: read out of its body, its methods and its bases."""

from __future__ import annotations

import ast
import fnmatch
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.refresh.names.arguments import Makers, maker_of, methods_of
from tools.refresh.names.asked import parsed
from tools.refresh.names.families import Body, Classes, Family, Seen, dotted
from tools.refresh.names.history import end_of, spans
from tools.refresh.names.told import NO_OTHERS, Held, Others, Speakers
from tools.refresh.names.trees import last_word, statements

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

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
    every = list(statements(tree.body if tree is not None else ()))
    for node in every:
        if isinstance(node, ast.ImportFrom):
            origin = (node.module or "").rpartition(".")[2]
            imports.update({each.name: origin for each in node.names})
            renamed.update({each.asname: each.name for each in node.names if each.asname})
        elif isinstance(node, ast.ClassDef):
            names = (name for base in node.bases if (name := last_word(base)))
            bases = tuple(renamed.get(name, name) for name in names)
            found[node.name] = Body(bases, set(_bound(node)), imports, maker_of(node))
            methods = methods_of(node)
            found.update({f"{node.name}.{name}": Body(maker=maker) for name, maker in methods})
    for name in found.keys() & set(_joined(every)):
        body = found[name]
        body.parts = tuple(renamed.get(each, each) for each in _listed_classes(every))
        body.bases += body.parts
        body.maker = replace(body.maker, is_dataclass=True)
    return found


def _joined(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield classes that msgspec makes of others' fields: `A = msgspec.defstruct("A", ...)`."""
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        if isinstance(node.value, ast.Call) and last_word(node.value.func) == "defstruct":
            yield from filter(None, map(last_word, node.targets))


def _listed_classes(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the classes that a list at the top of a file holds: `PARTS = [Model, Memory]`."""
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            names = [last_word(each) for each in node.value.elts]
            if names and all(name[:1].isupper() for name in names):
                yield from names


def _bound(node: ast.ClassDef) -> Iterator[str]:
    """Yield what a class binds in its body, and what its objects have once they are made."""
    methods = {}
    for each in statements(node.body):
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
        return self._seen(Family(self._bodies(sources, self._patterns)))

    def arguments(
        self, sources: Sources, patterns: Collection[str], others: Collection[str]
    ) -> Classes:
        """Return what classes of some of the files take. Others are those of other packages."""
        return self._seen(Makers(self._bodies(sources, patterns), others))

    def _bodies(self, sources: Sources, patterns: Collection[str]) -> dict[str, Body]:
        paths = [path for path in sources.digests
                 if not any(each in path for each in _ASIDE)
                 and any(fnmatch.fnmatchcase(path, each) for each in patterns)]  # fmt: skip
        digests = sources.digests
        wanted = {path for path in paths if digests[path] not in self._known}
        for path, text in sources.read(wanted).items() if wanted else ():
            self._known[digests[path]] = classes_of(text)
        return {
            f"{dotted(path)}.{name}": body
            for path in sorted(paths)
            for name, body in self._known[digests[path]].items()
        }

    def _seen(self, family: Family) -> Classes:
        found = {name: family.seen(name) for name in family.names}
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
        others: Others = NO_OTHERS,
        lineage: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Take the releases, oldest first, all that there are, and the classes of others.

        The lineage is that of another table, where this one has none of its own.
        """
        self._seen, self._versions, self._every = seen, list(seen), every
        names = sorted({name for classes in seen.values() for name in classes})
        self._held = {name: self._of(name) for name in names}
        heirs = Counter(base for held in self._held.values() for base in held.ancestors)
        own = (base for base, count in heirs.items() if count >= _FAMILY and base in self._held)
        self._speakers = Speakers(self._held, frozenset(own), others, lineage)

    def others(self) -> Others:
        """Return what classes of other packages have to know that inherit from these."""
        has = {name: frozenset(held.names) for name, held in self._held.items()}
        return Others(self._speakers.told, has)

    def given_rows(self, package: str, names: Callable[[str], bool] = bool) -> Iterator[str]:
        """Yield rows of names-attributes: what a class has not always had, and its base neither.

        `names` says which classes have rows.
        """
        cells: dict[tuple[str, str], list[str]] = {}
        for name in filter(names, self._held):
            for attribute in sorted(self._speakers.told[name]):
                cells.setdefault((name, self._cells(name, attribute)), []).append(attribute)
        shared: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for (name, text), attributes in cells.items():
            shared.setdefault((text, tuple(attributes)), []).append(name)
        for (text, members), owners in sorted(shared.items(), key=lambda each: each[1]):
            for words in _cut(members):
                keys = f"package: {package}, class: {' '.join(owners)}, name: {words}"
                yield f"  - {{{keys}{text}}}\n"

    def base_rows(self) -> Iterator[str]:
        """Yield rows of names-bases: which families speak for classes, the nearest first."""
        heirs: dict[tuple[str, ...], list[str]] = {}
        for name in self._held:
            if families := self._speakers.lineage[name]:
                heirs.setdefault(families, []).append(name)
        for key, several in sorted(heirs.items()):
            for words in _cut(several):
                yield f"  - {{class: {words}, bases: {' '.join(key)}}}\n"

    def _of(self, name: str) -> Held:
        """Return what the releases of a class have. What it inherits from now comes first."""
        there, names, bases = 0, Counter[str](), dict[str, None]()
        now, apart, is_whole = tuple[str, ...](), set[str](), True
        for place, classes in enumerate(self._seen.values()):
            if name in classes:
                there |= 1 << place
                names.update(dict.fromkeys(classes[name].names, 1 << place))
                now = classes[name].bases
                bases = dict.fromkeys([*now, *bases])
                apart |= classes[name].apart
                is_whole &= classes[name].is_whole
        newest = 1 << (there.bit_length() - 1)
        changed = (
            each for each, bits in names.items()
            if bits != there and (is_outer(each) or not bits & newest)
        )  # fmt: skip
        return Held(
            there,
            names,
            frozenset(changed),
            list(bases),
            frozenset(now),
            frozenset(apart),
            is_whole,
        )

    def _cells(self, name: str, attribute: str) -> str:
        versions, bits = self._versions, self._held[name].names.get(attribute, 0)
        stretches = spans([(each, bool(bits >> at & 1)) for at, each in enumerate(versions)])
        if not stretches:
            return ", never: true"
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
