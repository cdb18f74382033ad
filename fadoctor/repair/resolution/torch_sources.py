"""Where a project takes torch from: the tables of uv and poetry that name an index for it.

A build is chosen there, for torch and all that is published with it, and never by a label in the
list of dependencies, which other platforms share.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.model.packages import BESIDE_TORCH, TORCH, TRITON, XFORMERS
from fadoctor.repair.resolution.toml_edits import Edits
from fadoctor.sources.manifests.formats.pyproject import KIND
from fadoctor.sources.manifests.formats.script import KIND as SCRIPT
from fadoctor.sources.manifests.formats.script import block_of, has_block
from fadoctor.sources.manifests.installed.markers import Markers
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.sources.probes.requires import marker_target
from fadoctor.syntax.toml_tree import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.manifests.tree import ManifestTree
    from fadoctor.syntax.tree import Node

ROUTED = (TORCH, *BESIDE_TORCH)
"""What comes from the index of torch."""

_IN_INDEX = (*ROUTED, TRITON, XFORMERS)
"""What the index of torch has, and in builds of its own; the rest of a command is PyPI's."""

# https://download.pytorch.org/whl/cu128
_LABEL = re.compile(r"(?<=/)(?:cu\d{3}|cpu|rocm\d[\d.]{0,7})(?=/?$)")
_HEADER = re.compile(r"\[\[?[^\]]{1,200}\]\]?(?:\s.*)?")
_PLATFORM = {"linux": "sys_platform == 'linux'", "windows": "sys_platform == 'win32'"}
_ARM = " and platform_machine == 'aarch64'"


class SourceForm(NamedTuple):
    """How one tool writes it."""

    tool: str
    indexes: str
    """The list of tables with the indexes."""
    key: str
    """The key that names an index, of what comes from it."""
    marker: str
    alone: str
    """The line that keeps everything else away from an index."""
    mark: str = ""
    """What begins each line, in the block of a script."""


UV = SourceForm("uv", "index", "index", "marker", "explicit = true")
POETRY = SourceForm("poetry", "source", "source", "markers", 'priority = "explicit"')


class _Entry(NamedTuple):
    """One way to a package: where it comes from on some platforms."""

    package: str
    node: Node
    reference: Node | None
    """The name of an index, where it comes from one."""
    holds: bool | None
    """Whether it counts here; None where that is not known."""


def has_own_builds(name: str, wanted: str) -> bool:
    """Return whether a package comes from the index of torch: by its name, or by its label."""
    return name in _IN_INDEX or "+" in wanted


def form_of(source: Source, kind: str) -> tuple[ManifestTree, SourceForm] | None:
    """Return a file as data, and the form of the tool that heeds its indexes; None for none."""
    if kind == SCRIPT and has_block(source):
        block = msgspec.structs.replace(source, text=block_of(source))
        return read_toml(block), UV._replace(mark="# ")
    if kind != KIND:
        return None
    tree = read_toml(source)
    if tree.find(tree.root, "tool", "uv") is not None:
        return tree, UV
    backend = tree.text(tree.root, "build-system", "build-backend")
    is_poetry = tree.find(tree.root, "tool", "poetry") is not None or "poetry" in backend
    return (tree, POETRY) if is_poetry else None


class TorchSources:
    """The indexes of torch in one project."""

    def __init__(
        self, tree: ManifestTree, form: SourceForm, environment: Environment, names: Iterable[str]
    ) -> None:
        """Take the file as data, where it is installed, and what it asks for by name."""
        self.tree, self.form, self.environment = tree, form, environment
        self.names = [name for name in ROUTED if name in set(names)]
        self.markers = Markers(marker_target(dict(environment.facts)), tree.source.choice)
        self.indexes = {
            tree.text(item, "name"): item
            for item in tree.items(tree.root, "tool", form.tool, form.indexes)
            if tree.find(item, "url") is not None
        }
        self.entries = list(self._entries())
        self.edits = Edits()
        self._versions: dict[tuple[int, int], str] = {}

    def version(self, place: Place, version: str) -> bool:
        """Ask for a release in a table of poetry's; say whether that is where the place is."""
        for each in self.entries:
            node = each.node
            if isinstance(node.value, dict):
                node = self.tree.find(node, "version") or node
            at = (node.line, node.column)
            if self.form.tool == POETRY.tool and at == (place.line, place.column):
                self._versions[at] = version
                self.edits.text(node, version)
                return isinstance(node.value, str)
        return False

    def route(self, lines: list[str], index: str, *also: str) -> bool:
        """Let torch and what is published with it come from an index; say whether that was done.

        `also`: what else comes from there.
        """
        self.names += also
        label = _label(index)
        if not label or self._is_set_elsewhere():
            return False
        active = {each.package: each for each in self.entries if each.holds}
        if any(each.holds is None and each.package in self.names for each in self.entries):
            return False
        named = [active[name] for name in self.names if name in active]
        if any(each.reference is None for each in named if self.form.tool == UV.tool):
            return False  # a file, a folder or a repository
        done: dict[str, str] = {}
        for each in named:
            if each.reference is not None:
                name = str(each.reference.value)
                done[name] = done.get(name) or self._moved(name, index)
                self.edits.text(each.reference, done[name])
        new = next(iter(done.values()), "") or self._first_or_new(index)
        missing = [n for n in self.names if n not in active or active[n].reference is None]
        if new and missing and not self._add(missing, active.get(TORCH), new):
            return False
        return self.edits.put(lines)

    def has_index(self, package: str) -> bool:
        """Return whether an index is named for a package that counts here."""
        return any(
            each.package == package and each.holds and each.reference is not None
            for each in self.entries
        )

    def _is_set_elsewhere(self) -> bool:
        """Return whether other settings of uv name the build of torch."""
        uv = self.tree.find(self.tree.root, "tool", "uv")
        return self.form.tool == UV.tool and bool(uv and self.tree.text(uv, "pip", "torch-backend"))

    def _entries(self) -> Iterator[_Entry]:
        """Yield the ways to all packages, in the order in which the tool tries them."""
        for table in self._tables():
            for name, node in table.items():
                package, found = normalise_name(name), False
                for item in node.value if isinstance(node.value, list) else [node]:
                    holds = self._holds(item)
                    counts = holds if not found else False
                    found = found or holds is True
                    reference = (
                        self.tree.find(item, self.form.key)
                        if isinstance(item.value, dict)
                        else None
                    )
                    yield _Entry(package, item, reference, counts)

    def _tables(self) -> Iterator[Mapping[str, Node]]:
        top = self.tree.find(self.tree.root, "tool", self.form.tool)
        if self.form.tool == UV.tool:
            yield self.tree.table(top, "sources")
            return
        yield self.tree.table(top, "dependencies")
        for node in self.tree.table(top, "group").values():
            yield self.tree.table(node, "dependencies")

    def _holds(self, item: Node) -> bool | None:
        if not isinstance(item.value, dict):
            return True
        choice = self.tree.source.choice
        for key, chosen in (("extra", choice.extras), ("group", choice.groups)):
            asked = normalise_name(self.tree.text(item, key))
            if asked and self.form.tool == UV.tool and asked not in chosen:
                return False
        return self.markers.hold(self.tree.text(item, self.form.marker))

    def _moved(self, name: str, index: str) -> str:
        """Return the name of the index from which comes what came from another one.

        An index of another build gets its address. One without CUDA stays for who uses it.
        """
        node = self.indexes.get(name)
        url = self.tree.find(node, "url") if node is not None else None
        old, new = _label(str(url.value)) if url is not None else "", _label(index)
        known = self._known(index)
        if known and known != name:
            return known
        if url is None or not old or (old == "cpu" and self._is_shared(name)):
            return self._appended(index)
        address = _LABEL.sub(new, str(url.value)) if _vendor(old) == _vendor(new) else index
        self.edits.text(url, address)
        renamed = name.replace(old, new)
        if renamed == name or renamed in self.indexes:
            return name
        if (own := self.tree.find(node, "name")) is not None:
            self.edits.text(own, renamed)
        for each in self.entries:
            if each.reference is not None and each.reference.value == name:
                self.edits.text(each.reference, renamed)
        return renamed

    def _is_shared(self, name: str) -> bool:
        """Return whether something that does not count here comes from an index, too."""
        return any(
            each.reference is not None
            and each.reference.value == name
            and not (each.holds and each.package in self.names)
            for each in self.entries
        )

    def _known(self, index: str) -> str:
        """Return the name of an index that has an address already, "" for none."""
        for name, node in self.indexes.items():
            if self.tree.text(node, "url").rstrip("/") == index.rstrip("/"):
                return name
        return ""

    def _first_or_new(self, index: str) -> str:
        """Change the index that everything is asked of first, or add one; "" for the first."""
        for url in self._for_all():
            if _label(str(url.value)):
                self.edits.text(url, _LABEL.sub(_label(index), str(url.value)))
                return ""
        return self._known(index) or self._appended(index)

    def _for_all(self) -> Iterator[Node]:
        """Yield the addresses that are asked for all packages."""
        for node in self.indexes.values():
            is_alone = self.tree.find(node, "explicit") or self.tree.find(node, "priority")
            if (url := self.tree.find(node, "url")) is not None and is_alone is None:
                yield url
        if self.form.tool == UV.tool:
            top = self.tree.find(self.tree.root, "tool", "uv")
            for table in filter(None, (top, self.tree.find(top, "pip"))):
                if (plain := self.tree.find(table, "index-url")) is not None:
                    yield plain
                yield from self.tree.items(table, "extra-index-url")

    def _appended(self, index: str) -> str:
        """Add an index of a name of its own to the end of the file, or of the block."""
        name = f"pytorch-{_label(index)}"
        while name in self.indexes:
            name += "-gpu"
        self._end().extend(
            self.form.mark + each if each else self.form.mark.rstrip()
            for each in (
                "",
                f"[[tool.{self.form.tool}.{self.form.indexes}]]",
                f'name = "{name}"',
                f'url = "{index}"',
                self.form.alone,
            )
        )
        self.indexes[name] = self.tree.root
        return name

    def _end(self) -> list[str]:
        """Return what comes below the last line that says something."""
        lines = self.tree.source.lines()
        last = max((n for n, line in enumerate(lines, 1) if line.strip()), default=1)
        return self.edits.below.setdefault(last, [])

    def _add(self, names: list[str], torch: _Entry | None, index: str) -> bool:
        """Name an index for packages that none is named for; say whether that can be done."""
        if self.form.tool == POETRY.tool:
            return self._add_to_poetry(names, index)
        condition = self.tree.text(torch.node, "marker") if torch is not None else self._here()
        value = f'{{ index = "{index}"' + (f', marker = "{condition}"' if condition else "") + " }"
        listed = self.tree.table(self.tree.root, "tool", "uv", "sources")
        by_name = {normalise_name(name): node for name, node in listed.items()}
        new = []
        for name in names:
            node = by_name.get(name)
            if node is None:
                new.append(f"{name} = [{value}]" if condition else f"{name} = {value}")
            elif isinstance(node.value, list):
                self.edits.texts[node.line, node.column] = ("[", f"[{value}, ")
            else:
                return False
        return self._under(("tool", "uv", "sources"), new)

    def _here(self) -> str:
        """Return the marker of this platform: of others nothing is changed."""
        facts = self.environment.facts
        system, machine = (
            str(getattr(facts.get(name), "value", "")) for name in ("host.os", "host.machine")
        )
        told = _PLATFORM.get(system, "")
        return told + (_ARM if system == "linux" and machine == "aarch64" else "")

    def _add_to_poetry(self, names: list[str], index: str) -> bool:
        """Name a source for packages: in their own entries, or beside the list of a project."""
        new = []
        for name in names:
            own = [each for each in self.entries if each.package == name and each.holds]
            for each in own:
                if isinstance(each.node.value, str):
                    at = (each.node.line, each.node.column)
                    version = self._versions.get(at, each.node.value)
                    table = f'{{ version = "{version}", source = "{index}" }}'
                    quote = self._quote(each.node)
                    self.edits.texts.pop((each.node.line, each.node.column + 1), None)
                    self.edits.texts[at] = (f"{quote}{each.node.value}{quote}", table)
                else:
                    self.edits.texts[each.node.line, each.node.column] = (
                        "{",
                        f'{{ source = "{index}",',
                    )
            if not own:
                new.append(f'{name} = {{ source = "{index}" }}')
        return self._under(("tool", "poetry", "dependencies"), new)

    def _quote(self, node: Node) -> str:
        return self.tree.source.lines()[node.line - 1][node.column - 1]

    def _under(self, path: tuple[str, ...], new: list[str]) -> bool:
        """Add lines to a table, which is made where there is none; say whether that can be done."""
        if not new:
            return True
        header = f"[{'.'.join(path)}]"
        for number, line in enumerate(self.tree.source.lines(), 1):
            if line.strip() == header:
                at = self._last_of(number)
                self.edits.below.setdefault(at, []).extend(self.form.mark + each for each in new)
                return True
        if self.tree.find(self.tree.root, *path) is not None:
            return False
        more = [
            self.form.mark + each if each else self.form.mark.rstrip()
            for each in ("", header, *new)
        ]
        # before an index that is added: both are at the end
        end = self._end()
        end[:0] = more
        return True

    def _last_of(self, header: int) -> int:
        """Return the last line of a table that says something."""
        lines, last = self.tree.source.lines(), header
        for number in range(header + 1, len(lines) + 1):
            bare = lines[number - 1].strip()
            if _HEADER.fullmatch(bare):
                break
            if bare and not bare.startswith("#"):
                last = number
        return last


def _label(index: str) -> str:
    """Return the build that an address serves: cu128, cpu, rocm6.4; "" of any other address."""
    found = _LABEL.search(index)
    return found[0] if found else ""


def _vendor(label: str) -> str:
    return label.rstrip("0123456789.")
