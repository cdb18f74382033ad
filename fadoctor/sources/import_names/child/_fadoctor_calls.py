"""The functions of the standard library that decide what a module does at import."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple

from fadoctor.sources.import_names.child._fadoctor_classes import changed
from fadoctor.sources.import_names.child._fadoctor_decide import DECIDED
from fadoctor.sources.import_names.child._fadoctor_importing import import_module, import_plain
from fadoctor.sources.import_names.child._fadoctor_lazy import FILE_LIMIT
from fadoctor.sources.import_names.child._fadoctor_values import (
    UNKNOWN,
    Ext,
    Frame,
    Func,
    LazyNames,
    Mod,
    Packages,
    Place,
    Raised,
    truth,
)
from fadoctor.sources.import_names.child._fadoctor_version import Version, parse

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_run import Runner

_NAMES = re.compile(r"[A-Za-z0-9][\w.-]{0,120}")


class Call(NamedTuple):
    """A call of a known function."""

    runner: Runner
    given: List[Any]
    named: Dict[str, Any]
    frame: Frame


def call_known(
    runner: Runner, name: str, given: List[Any], named: Dict[str, Any], frame: Frame
) -> Any:
    """Return what a call of a known function gives."""
    maker = _CALLS.get(name) or _LAST.get(name.rpartition(".")[2])
    if maker is None:
        return UNKNOWN
    try:
        return maker(Call(runner, given, named, frame))
    except (IndexError, KeyError, TypeError, ValueError, OverflowError):
        return UNKNOWN


def _find_spec(call: Call) -> Any:
    name = call.given[0] if call.given else call.named.get("name", UNKNOWN)
    if type(name) is not str or name.startswith("."):
        return UNKNOWN
    there = call.runner.world.is_there(name)
    return Ext("spec") if there else (None if there is False else UNKNOWN)


def _version_of(call: Call) -> Any:
    name = call.given[0]
    if type(name) is not str or not _NAMES.fullmatch(name):
        return UNKNOWN
    found = call.runner.world.version_of(name)
    if not found:
        if call.runner.world.hooked:
            return UNKNOWN
        raise Raised("PackageNotFoundError")
    return found


def _parse(call: Call) -> Any:
    text = call.given[0]
    if isinstance(text, Version):
        return text
    if not isinstance(text, str):
        return UNKNOWN
    found = parse(text)
    if found is None:
        raise Raised("InvalidVersion")
    return found


def _getattr(call: Call) -> Any:
    base, name = call.given[0], call.given[1]
    if not isinstance(base, Mod) or type(name) is not str:
        return UNKNOWN
    try:
        return call.runner.attribute(base, name, 0, call.frame)
    except Raised as raised:
        if len(call.given) > 2 and raised.kind == "AttributeError":
            return call.given[2]
        raise


def _hasattr(call: Call) -> Any:
    base, name = call.given
    if not isinstance(base, Mod) or type(name) is not str:
        return UNKNOWN
    try:
        found = call.runner.attribute(base, name, 0, call.frame)
    except Raised as raised:
        return False if raised.kind == "AttributeError" else UNKNOWN
    return UNKNOWN if found is UNKNOWN else True


def _setattr(call: Call) -> Any:
    base, name = call.given[0], call.given[1]
    changed(call.runner.world, base)
    module = (
        call.frame.module
        if base is UNKNOWN
        else call.runner.world.modules.get(getattr(base, "name", ""))
    )
    if module is not None and isinstance(base, Mod):
        if type(name) is str:
            module.ns[name] = UNKNOWN
        else:
            module.open = "setattr on it"
    elif module is not None and type(name) is not str:
        module.open = "setattr on something"
    return None


def _environment(call: Call) -> Any:
    if call.runner.variables.is_set(call.given[0]) is not False:
        return UNKNOWN
    return call.given[1] if len(call.given) > 1 else call.named.get("default")


def _change(call: Call) -> Any:
    """Note that a variable of the environment is set or deleted by what runs."""
    names = call.given[0] if call.given and type(call.given[0]) is dict else call.given[:1]
    for name in [*names, *call.named] or [UNKNOWN]:
        call.runner.variables.change(name)
    return UNKNOWN


def _globals(call: Call) -> Any:
    return Ext("globals") if not call.given else UNKNOWN


def _any_all(wanted: bool) -> Any:
    def decide(call: Call) -> Any:
        if type(call.given[0]) not in (list, tuple):
            return UNKNOWN
        known = [truth(each) for each in call.given[0]]
        if wanted in known:
            return wanted
        return UNKNOWN if None in known else not wanted

    return decide


def _collection(kind: Any) -> Any:
    def make(call: Call) -> Any:
        if not call.given:
            return kind()
        if kind is dict:
            return dict(call.given[0]) if type(call.given[0]) is dict else UNKNOWN
        plain = type(call.given[0]) in (list, tuple, set, frozenset, dict, str)
        return kind(call.given[0]) if plain else UNKNOWN

    return make


def _keys(call: Call) -> Any:
    """``dict.fromkeys(a)``."""
    names = call.given[0]
    is_known = type(names) in (list, tuple, set) and all(type(name) is str for name in names)
    return dict.fromkeys(names, *call.given[1:]) if is_known else UNKNOWN


def _text(call: Call) -> Any:
    value = call.given[0]
    if isinstance(value, Version):
        return value.text
    return str(value) if isinstance(value, (str, int)) else UNKNOWN


def _whole(call: Call) -> Any:
    return (
        int(call.given[0])
        if type(call.given[0]) in (str, int, bool) and len(str(call.given[0])) < 20
        else UNKNOWN
    )


def _bool(call: Call) -> Any:
    known = truth(call.given[0])
    return UNKNOWN if known is None else known


def _dir(call: Call) -> Any:
    module = (
        call.runner.world.modules.get(call.given[0].name)
        if isinstance(call.given[0], Mod)
        else None
    )
    is_whole = module is not None and not module.open and module.lazy is None
    return sorted(module.ns) if module is not None and is_whole else UNKNOWN


def _path(call: Call) -> Any:
    if isinstance(call.given[0], Place):
        return call.given[0]
    return Place(call.given[0]) if type(call.given[0]) is str else UNKNOWN


def _structure(call: Call) -> Any:
    place = call.given[0]
    text = place.text if isinstance(place, Place) else place
    prefix = call.given[1] if len(call.given) > 1 else call.named.get("prefix") or ""
    if type(text) is not str or type(prefix) is not str:
        return UNKNOWN
    if text.endswith(".py"):
        text = text.rpartition("/")[0]
    if not os.path.isdir(text):
        return UNKNOWN
    found = LazyNames()
    found.add(call.runner.world.lazy_structure(text, prefix, call.frame.module))
    found.complete = found.complete and len(found.modules) < FILE_LIMIT
    found.from_files = set(found.modules)
    return found


def _folder(call: Call) -> Any:
    return call.given[0].rpartition("/")[0] if type(call.given[0]) is str else UNKNOWN


def _system(call: Call) -> Any:
    return "Linux" if call.runner.system == "linux" else UNKNOWN


def _same(call: Call) -> Any:
    return call.given[0]


_CALLS: Dict[str, Any] = {
    "importlib.util.find_spec": _find_spec,
    **DECIDED,
    "importlib.metadata.version": _version_of,
    "importlib_metadata.version": _version_of,
    "importlib.metadata.packages_distributions": lambda _: Packages(),
    "packaging.version.parse": _parse,
    "packaging.version.Version": _parse,
    "importlib.import_module": import_module,
    "os.environ.get": _environment,
    "os.getenv": _environment,
    "os.environ.setdefault": _change,
    "os.environ.pop": _change,
    "os.environ.update": _change,
    "os.putenv": _change,
    "builtins.__import__": import_plain,
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.setattr": _setattr,
    "builtins.globals": _globals,
    "builtins.any": _any_all(True),
    "builtins.all": _any_all(False),
    "builtins.list": _collection(list),
    "builtins.tuple": _collection(tuple),
    "builtins.set": _collection(set),
    "builtins.frozenset": _collection(frozenset),
    "builtins.dict": _collection(dict),
    "builtins.sorted": _collection(list),
    "builtins.dict.fromkeys": _keys,
    "builtins.str": _text,
    "builtins.int": _whole,
    "builtins.bool": _bool,
    "builtins.dir": _dir,
    "pathlib.Path": _path,
    "os.path.dirname": _folder,
    "platform.system": _system,
    "copy.deepcopy": _same,
}
_LAST: Dict[str, Any] = {"define_import_structure": _structure}
_KNOWN_FUNCTIONS = frozenset(name.rpartition(".")[2] for name in (*_LAST, *DECIDED))


def known_function(target: Func) -> str:
    """Return what a function of the stack is known by, whose work is done here; or nothing."""
    name = target.node[2]
    if name not in _KNOWN_FUNCTIONS:
        return ""
    full = ".".join([*target.module.split(".")[-2:], name])
    return name if name in _LAST else (full if full in _CALLS else "")
