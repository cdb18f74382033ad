"""The modules of one environment: found, read, imported and asked for their names."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from fadoctor.sources.import_names.child import _fadoctor_find as find
from fadoctor.sources.import_names.child._fadoctor_getters import NOTHING
from fadoctor.sources.import_names.child._fadoctor_values import (
    ENTRY,
    OWN,
    UNKNOWN,
    Asker,
    Broken,
    Class,
    ExhaustedError,
    Ext,
    LazyNames,
    Mod,
    Module,
    Raised,
)

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_sources import Sources

_ONCE_STANDARD = frozenset((
    "asynchat", "asyncore", "cgi", "cgitb", "compression", "crypt", "distutils", "imp", "lib2to3",
    "annotationlib", "smtpd", "string", "tomllib", "zoneinfo", "audioop", "telnetlib", "pipes",
))  # fmt: skip
"""Modules of the standard library of some Python."""

STANDARD = frozenset(getattr(sys, "stdlib_module_names", ())) | _ONCE_STANDARD

_RENAMING = frozenset(("TokenizerFast", "ImageProcessorFast"))
"""Endings that the source of a lazy module names which finds other classes for them."""

_CUTE = "flash_attn.cute"

MODULE_LIMIT = 6_000
_ALWAYS = frozenset((
    "__name__", "__file__", "__path__", "__spec__", "__doc__", "__dict__", "__loader__",
    "__package__", "__class__", "__builtins__", "__cached__", "__annotations__",
))  # fmt: skip


class World:
    """All modules; `run` does what a module does at import."""

    def __init__(
        self, finder: find.Finder, table: Dict[str, Dict[str, Any]], installed: Dict[str, str],
        sources: Sources, *, hooked: bool,
    ) -> None:  # fmt: skip
        self.finder = finder
        self.table = table
        self.installed = installed
        self.sources = sources
        self.hooked = hooked
        """Whether modules may be found in other ways than by folders."""
        self.modules: Dict[str, Optional[Module]] = {}
        self._chains: Dict[str, "tuple[Module, ...]"] = {}
        """Modules that were found, with their parents: most are imported over and over."""
        self._owners: Dict[str, str] = {}
        self.aliases: "set[str]" = set()
        self.changed: "set[Class]" = set()
        """Classes that somebody sets attributes of."""
        self.run: Callable[[Module, Dict[str, Any]], None] = lambda _module, _code: None
        self.getter: Callable[[Module, str], Any] = lambda _module, _name: NOTHING

    def distribution_of(self, name: str) -> str:
        """Return the distribution that a module belongs to."""
        top = name.partition(".")[0]
        part = _CUTE if name.startswith(_CUTE) else top
        known = self._owners.get(part)
        if known is None:
            owners = list(self.table[top]["distribution"])
            here = [owner for owner in owners if owner in self.installed] or owners
            known = self._owners[part] = str((here[1:] if part == _CUTE and here[1:] else here)[0])
        return known

    def version_of(self, name: str) -> str:
        """Return the version of a distribution; empty where it is not installed."""
        return self.installed.get(re.sub(r"[-_.]+", "-", name).lower(), "")

    def is_there(self, name: str) -> Optional[bool]:
        """Return what ``find_spec`` would find; None where that is not known."""
        parts = name.split(".")
        if parts[0] in STANDARD:
            return True if len(parts) == 1 else None
        spec = self.finder.find(parts[0], self.finder.folders)
        for part in parts[1:]:
            if spec is None:
                break
            spec = self.finder.find(part, spec.path) if spec.path else None
        if spec is not None:
            return True
        return None if self.hooked else False

    def import_(self, name: str, asker: Asker) -> Any:
        """Import a module and its parents; return the last. Raised where it is not there."""
        if self.has(name):
            return Mod(name)
        parts = name.split(".")
        if parts[0] in STANDARD:
            return Ext(name)
        if parts[0] not in self.table:
            if self.is_there(parts[0]) is False:
                raise Raised("ModuleNotFoundError")
            return Ext(name)
        module: Optional[Module] = None
        found: List[Module] = []
        for count in range(1, len(parts) + 1):
            module = self._load(".".join(parts[:count]), module, asker)
            if module is None:
                return UNKNOWN
            found.append(module)
        self._chains[name] = tuple(found)
        return Mod(name)

    def has(self, name: str) -> bool:
        """Return whether a module was found, and neither it nor a parent failed since."""
        chain = self._chains.get(name)
        if chain is None:
            return False
        for module in chain:  # noqa: SIM110 -- asked very often: no generator is made
            if module.failure is not None:
                return False
        return True

    def _load(self, name: str, parent: Optional[Module], asker: Asker) -> Optional[Module]:
        """Return a module after its import; None where nothing is told of it."""
        if name not in self.modules:
            if len(self.modules) > MODULE_LIMIT:
                raise ExhaustedError
            spec = self._spec(name, parent, asker)
            self.modules[name] = None
            if spec is not None:
                role = self.table[name.partition(".")[0]]["role"]
                module = Module(name, spec, self.distribution_of(name), role)
                self.modules[name] = module
                self._execute(module)
        module_ = self.modules[name]
        if module_ is None:
            return None
        if module_.failure is not None:
            raise module_.failure
        if parent is not None and parent.lazy is None:
            parent.ns.setdefault(name.rpartition(".")[2], Mod(name))
        return module_

    def _spec(self, name: str, parent: Optional[Module], asker: Asker) -> Optional[find.Spec]:
        leaf = name.rpartition(".")[2]
        if name in self.aliases:
            return None
        if parent is None:
            spec = self.finder.find(leaf, self.finder.folders)
            if spec is None and not self.hooked:
                raise self._not_brought(name, asker)
            return spec
        if parent.spec.kind == find.COMPILED:
            return None
        spec = self.finder.find(leaf, parent.spec.path)
        if spec is None and not self._may_be_made(name, leaf, parent):
            raise self.missing(asker, parent, leaf, is_module=True)
        return spec

    def _not_brought(self, name: str, asker: Asker) -> Raised:
        """Return what is raised where a module is not there, whoever could have brought it.

        It is held against a distribution that is installed and should have it, as setuptools once
        had pkg_resources.
        """
        owner, kind = self.distribution_of(name), "ModuleNotFoundError"
        raised = self._held(kind, asker, owner, name, "") if owner in self.installed else None
        return raised if raised and raised.broken else Raised(kind)

    def _may_be_made(self, name: str, leaf: str, parent: Module) -> bool:
        """Return whether a module without a file may be there: made or renamed by a hook."""
        if parent.state == "running" or isinstance(parent.ns.get(leaf), (Mod, Ext)):
            return True
        if parent.ns.get(leaf) is UNKNOWN and leaf in parent.ns:
            return True
        top = name.partition(".")[0]
        for other in [m for m in self.modules.values() if m is not None]:
            if other.name.partition(".")[0] == top and other.words:
                if leaf in other.words or name in other.words:
                    return True
                if other.hooks and leaf.endswith("_fast"):
                    return True
        return self.hooked and parent.spec.kind == find.NAMESPACE

    def missing(
        self, asker: Asker, provider: Module, name: str, *, is_module: bool = False,
        attribute: bool = False,
    ) -> Raised:  # fmt: skip
        """Return what is raised where a name is not there."""
        kind = "ModuleNotFoundError" if is_module else "ImportError"
        kind = "AttributeError" if attribute else kind
        module = f"{provider.name}.{name}" if is_module else provider.name
        return self._held(kind, asker, provider.distribution, module, "" if is_module else name)

    def _held(self, kind: str, asker: Asker, provider: str, module: str, name: str) -> Raised:
        """Return what is raised, held against another distribution where that is sure."""
        by = asker.module
        if by is None or not asker.is_sure or by.distribution == provider or by.role != ENTRY:
            return Raised("unsure")
        place = (by.distribution, by.spec.file, asker.line)
        return Raised(kind, Broken(*place, provider, module, name))

    def is_missing(self, raised: Raised, package: Any, name: str) -> bool:
        """Return whether what was raised says that a package has no such name."""
        module = self.modules.get(package.name) if isinstance(package, Mod) else None
        broken = raised.broken
        if module is None or broken is None or not module.spec.path:
            return False
        below = (f"{module.name}.{name}", "")
        return (broken.module, broken.name) in ((module.name, name), below)

    def _execute(self, module: Module) -> None:
        if module.spec.kind == find.NAMESPACE:
            module.state = "done"
            module.open = "a namespace, which finds modules in other ways" if self.hooked else ""
            return
        if module.spec.kind == find.COMPILED:
            module.open, module.state = "compiled", "done"
            return
        code = self.sources.read(module.spec.file, module.distribution)
        if code is None:
            module.open, module.state = "it cannot be read", "done"
            return
        module.state, module.later = "running", bool(code["later"])
        module.hooks, module.words = bool(code["hooks"]), frozenset(code["words"])
        try:
            self.run(module, code)
        except Raised as raised:
            module.failure = raised
        except RecursionError:
            module.open = "nested too deeply"
        module.state = "done"

    def get(self, module_name: str, name: str, asker: Asker, *, attribute: bool = False) -> Any:
        """Return a name of a module as ``from module import name`` or ``module.name`` gives it."""
        module = self.modules.get(module_name)
        if module is None or name in _ALWAYS:
            return UNKNOWN
        if name in module.ns:
            return module.ns[name]
        if not asker.follows:
            return UNKNOWN
        if module.lazy is not None:
            return self._lazy(module, module.lazy, name, asker, attribute=attribute)
        given = self.getter(module, name)
        if given is NOTHING or given is UNKNOWN:
            given = self._below(module, name, asker, given, attribute=attribute)
        return given

    def _below(
        self, module: Module, name: str, asker: Asker, given: Any, *, attribute: bool
    ) -> Any:  # fmt: skip
        """Return a module in a package, which has nothing else (`given`) under that name."""
        full = f"{module.name}.{name}"
        spec = self.finder.find(name, module.spec.path) if module.spec.path else None
        if spec is not None:
            # An attribute only where somebody has imported it, which nobody can say.
            found = UNKNOWN if attribute else self.import_(full, asker)
            return UNKNOWN if given is UNKNOWN or module.open.startswith(OWN) else found
        may_be = given is UNKNOWN or bool(module.open) or full in self.aliases
        if may_be or module.state == "running":
            return UNKNOWN
        raised = self.missing(asker, module, name, attribute=attribute)
        if raised.kind == "unsure":
            return UNKNOWN
        raise raised

    def _lazy(
        self, module: Module, lazy: LazyNames, name: str, asker: Asker, *, attribute: bool
    ) -> Any:
        below = lazy.names.get(name)
        if below is not None:
            return self._from_below(module, lazy, below, name)
        spec = self.finder.find(name, module.spec.path)
        if spec is not None or name in {m.partition(".")[0] for m in lazy.modules}:
            return self.import_(f"{module.name}.{name}", asker) if spec else UNKNOWN
        if not lazy.complete or module.open or self._may_be_renamed(module, name):
            return UNKNOWN
        raised = self.missing(asker, module, name, attribute=attribute)
        if raised.kind == "unsure":
            return UNKNOWN
        raise raised

    def _may_be_renamed(self, module: Module, name: str) -> bool:
        """Return whether a lazy module finds another class for a name, as transformers 5 does."""
        if not name.endswith(("Fast", "Tokenizer", "ImageProcessor")):
            return False
        same = [m for m in self.loaded() if m.distribution == module.distribution]
        return any(not each.words.isdisjoint(_RENAMING) for each in same)

    def _from_below(self, module: Module, lazy: LazyNames, below: str, name: str) -> Any:
        last = below.rpartition(".")[2]
        if below in lazy.from_files and not last.startswith(("modeling_auto", "configuration_")):
            return UNKNOWN  # what it needs may be missing, and then it is not imported
        full = f"{module.name}.{below}" if below else module.name
        found = self.import_(full, Asker(module, 0, is_sure=True))
        if not isinstance(found, Mod):
            return UNKNOWN
        return self.get(full, name, Asker(module, 0, is_sure=False))

    def lazy_structure(self, folder: str, prefix: str, module: Module) -> Dict[str, List[str]]:
        """Return an import structure that is made from the files of a folder."""
        return self.sources.lazy(folder, prefix, module.distribution, self.finder)

    def loaded(self) -> List[Module]:
        """Return the modules that were read."""
        return [module for module in self.modules.values() if module is not None]
