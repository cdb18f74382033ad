"""Functions that installed versions, or files of an installed package, decide."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Dict

from fadoctor.sources.import_names.child._fadoctor_compare import compared
from fadoctor.sources.import_names.child._fadoctor_values import UNKNOWN, Ext, Raised
from fadoctor.sources.import_names.child._fadoctor_version import Version, VersionText, parse

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_calls import Call
    from fadoctor.sources.import_names.child._fadoctor_run import Runner
    from fadoctor.sources.import_names.child._fadoctor_world import World

JSON_LIMIT = 10_000
CMAKE_LIMIT = METADATA_LIMIT = 1 << 20

_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]{0,120}) {0,9}((?:[<>=!~]=?.{0,200})?)")
_BOUND = re.compile(r"(>=|<=|==|!=|<|>) {0,9}([\w.!+-]{1,60})")
_FIELD = re.compile(r"^([A-Z][A-Za-z-]{0,40}): (.{0,2000})$", re.MULTILINE)
_CALLED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "ge": ">=", "gt": ">"}
_KINDS: Dict[str, type] = {
    f"builtins.{kind.__name__}": kind
    for kind in (str, int, bool, float, list, tuple, dict, set, frozenset)
}
_VERSION = ("packaging.version.Version", "packaging.version._BaseVersion")


def _operator(sign: str) -> Any:
    def decide(call: Call) -> Any:
        left, right = call.given
        return compared(left, sign, right)

    return decide


def _isinstance(call: Call) -> Any:
    """Tell whether a value that is known is of a type that is built in, or a version."""
    value, wanted = call.given
    each = [_is_a(value, one) for one in (wanted if type(wanted) is tuple else (wanted,))]
    return True if True in each else (UNKNOWN if UNKNOWN in each else False)


def _is_a(value: Any, wanted: Any) -> Any:
    is_version = isinstance(value, Version)
    is_plain = value is None or type(value) in _KINDS.values() or isinstance(value, str)
    if not isinstance(wanted, Ext) or not (is_version or is_plain):
        return UNKNOWN
    if wanted.name in _VERSION:
        return is_version
    return isinstance(value, _KINDS[wanted.name]) if wanted.name in _KINDS else UNKNOWN


class Headers(Dict[str, Any]):
    """The fields of a METADATA; one that is not there is None."""

    def __missing__(self, _name: str) -> None:
        """Give what a message gives."""


def _metadata(call: Call) -> Any:
    """Tell the fields of a distribution of the table, and of any that it is not there."""
    name, world = call.given[0], call.runner.world
    if type(name) is not str or world.hooked:
        return UNKNOWN
    if not world.version_of(name):
        raise Raised("PackageNotFoundError")
    record = world.sources.records.get(re.sub(r"[-_.]+", "-", name).lower(), "")
    text = world.sources.peek(os.path.join(os.path.dirname(record), "METADATA"), METADATA_LIMIT)
    fields = _FIELD.findall(text.partition(b"\n\n")[0].decode("utf-8", "replace"))
    return Headers(reversed(fields)) if record and fields else UNKNOWN


def _python_version(call: Call) -> Any:
    python = call.runner.python
    return ".".join(map(str, python)) if len(python) == 3 else UNKNOWN


def _json(call: Call) -> Any:
    text = call.given[0]
    is_read = type(text) is str and len(text) <= JSON_LIMIT and not call.named
    return json.loads(text) if is_read else UNKNOWN


def _requirement(call: Call) -> Any:
    """``RequirementCache("a>=1", "b")`` of lightning-utilities: whether it is met, or b there."""
    text = call.given[0] if call.given else call.named.get("requirement")
    module = call.given[1] if len(call.given) > 1 else call.named.get("module")
    match = _REQUIREMENT.fullmatch(text) if type(text) is str else None
    if match is None or not (module is None or type(module) is str):
        return UNKNOWN
    world = call.runner.world
    found = world.version_of(match[1])
    if found:
        return _meets(found, match[2])
    if match[2] and module is None:
        return UNKNOWN if world.hooked else False
    there = world.is_there(module or match[1])
    return UNKNOWN if there is None else there


def _meets(version: str, bounds: str) -> Any:
    """Return whether a version is within bounds; UNKNOWN for what is not a plain comparison."""
    here = parse(version.partition("+")[0])
    for bound in filter(None, bounds.split(",")):
        match = _BOUND.fullmatch(bound.strip())
        limit = parse(match[2]) if match else None
        if here is None or limit is None or not _is_final(here) or not _is_final(limit):
            return UNKNOWN
        if compared(here, match[1] if match else "", limit) is not True:
            return False
    return True


def _is_final(version: Version) -> bool:
    return bool(re.fullmatch(r"[\d.]+", version.text.strip()))


def _require_version(call: Call) -> Any:
    """``require_version("peft>=0.17")`` of transformers and diffusers, which stops the import.

    What is not installed may be there in a way that is not read, and stops nothing here.
    """
    text = call.given[0] if call.given else call.named.get("requirement")
    match = _REQUIREMENT.fullmatch(text) if type(text) is str else None
    world = call.runner.world
    if match is None or world.hooked:
        return UNKNOWN
    found = _python_version(call) if match[1] == "python" else world.version_of(match[1])
    here = parse(found) if type(found) is str else None
    for bound in filter(None, match[2].split(",")):
        wanted = _BOUND.fullmatch(bound.strip())
        limit = parse(wanted[2]) if wanted else None
        if wanted is None or limit is None or here is None:
            return UNKNOWN
        if compared(here, wanted[1], limit) is False:
            raise Raised("ImportError")
    return None


def _torch_at_least(call: Call) -> Any:
    """``torch_version_at_least("2.7.0")`` of torchao, which reads versions by its own means."""
    wanted, world = call.given[0], call.runner.world
    known = type(wanted) is str and not world.hooked and world.version_of("torch")
    return _meets(world.version_of("torch"), f">={wanted}") if known else UNKNOWN


def _package_available(call: Call) -> Any:
    there = call.runner.world.is_there(call.given[0]) if type(call.given[0]) is str else None
    return UNKNOWN if there is None else there


def _distributed(call: Call) -> Any:
    """Tell whether torch was built with torch.distributed, which its CMake files say."""
    world = call.runner.world
    torch = world.modules.get("torch")
    if torch is None or not torch.spec.path:
        return UNKNOWN
    parts = ("share", "cmake", "Caffe2", "Caffe2Targets.cmake")
    text = world.sources.peek(os.path.join(torch.spec.path[0], *parts), CMAKE_LIMIT)
    return True if b'"USE_DISTRIBUTED;' in text else UNKNOWN


DECIDED: Dict[str, Any] = {
    **{f"operator.{name}": _operator(sign) for name, sign in _CALLED.items()},
    "builtins.isinstance": _isinstance,
    "importlib.metadata.metadata": _metadata,
    "importlib.metadata.distribution": _metadata,
    "platform.python_version": _python_version,
    "json.loads": _json,
    "lightning_utilities.core.imports.RequirementCache": _requirement,
    "lightning_utilities.core.imports.package_available": _package_available,
    "lightning_utilities.core.imports.module_available": _package_available,
    "torch.distributed.is_available": _distributed,
    "torchao.utils.torch_version_at_least": _torch_at_least,
    "utils.versions.require_version": _require_version,
    "utils.versions.require_version_core": _require_version,
}

PLACES = frozenset(("torch.distributed", "torch.distributed.is_available"))
"""Functions of foundations that are told here, by their full names, and their modules."""

_COMPARES_VERSIONS = frozenset(("torch",))
"""Modules whose ``__version__`` compares as versions do."""


def told_of(world: World, module: str, name: str) -> Any:
    """Return what is known of a name that is there without its source."""
    if f"{module}.{name}" in PLACES:
        return Ext(f"{module}.{name}")
    if name != "__version__" or "." in module or world.hooked:
        return UNKNOWN
    version = world.version_of(world.distribution_of(module))
    compares = module in _COMPARES_VERSIONS
    return (VersionText(version) if compares else version) or UNKNOWN


def outside(runner: Runner, name: str) -> Any:
    """Return what a dotted name outside of the stack is."""
    if name.endswith("TYPE_CHECKING"):
        return False
    if name == "sys.version_info":
        return runner.python or UNKNOWN
    if name == "sys.platform" and runner.system:
        return {"windows": "win32", "macos": "darwin"}.get(runner.system, runner.system)
    if name == "os.name" and runner.system:
        return "nt" if runner.system == "windows" else "posix"
    return Ext(name)
