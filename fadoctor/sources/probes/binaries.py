"""What the loader and the driver would say of the compiled extensions, read from their files.

Nothing is imported and nothing is run. Linux and Windows: extensions of macOS are not judged, so
their facts are Absent and what is known of them by name stands. The facts about torch are those of
its Python extension, which brings in all of its libraries; those about code are of libtorch_cuda.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.binary.coverage import summarise
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.fatbin import read_fatbins
from fadoctor.binary.interpreter_process import LoaderTarget
from fadoctor.binary.predict import Predictor
from fadoctor.binary.search import FoundBy
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.fact import Fact, Known, Unknown, printable
from fadoctor.model.files import read_bytes
from fadoctor.model.packages import LOADS_ALONE, TORCH
from fadoctor.sources.probes.amd_code import amd_code
from fadoctor.sources.probes.binary_facts import Naming, loader_facts, loads_fact
from fadoctor.sources.probes.extensions import Extension, absent_extension, find_extensions
from fadoctor.sources.probes.foreign_cuda import CUDA, foreign_facts
from fadoctor.sources.probes.world import absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.binary.prediction import Prediction
    from fadoctor.sources.probes.world import Facts, World

_MACHINES = ("x86_64", "aarch64")
_CODE = ("code", "arch_list", "ptx")
SMALLEST = 4096
"""Bytes below which nothing is a compiled extension: they take more than three pages."""
_LFS = b"version https://git-lfs"


def probe(world: World, facts: Mapping[str, Fact]) -> Facts:
    """Return what each extension of the stack needs, whether it loads, and for which GPUs it is."""
    extensions: list[Extension] = []
    for each in find_extensions(world, facts):
        if isinstance(each, Unknown):
            return _all(each)
        extensions.append(each)
    if world.os != "windows" and (reason := unreadable(facts)) is not None:
        return _all(reason) | {
            f"{each.prefix}.file": known(world.name(each.path), "import path")
            for each in extensions
            if each.path
        }
    found = _all(absent("its package is not there"))
    torch = next((each.path for each in extensions if each.key == TORCH), "")
    if world.os == "windows":
        return found | _on_windows(world, facts, extensions, torch)
    with Predictor(loader_target(world, facts, torch)) as predictor:
        naming = Naming(world, predictor)
        for key in dict.fromkeys(each.key for each in extensions):
            mine = [each for each in extensions if each.key == key]
            predictions = {each: _predict(each, naming) for each in mine if _is_library(each)}
            for each in mine:
                found |= _facts_of(each, predictions.get(each), naming, facts)
            found[f"{key}.loads"] = loads_fact(predictions, naming)
        if torch and "LD_LIBRARY_PATH" in world.environ:
            found |= foreign_facts(naming, Path(torch).parent.parent, facts)
    return found


def _on_windows(
    world: World, facts: Mapping[str, Fact], extensions: list[Extension], torch: str
) -> Facts:
    """Return the facts of extensions of Windows."""
    # The reader of Windows' files is a tenth of all modules, and other systems do without it.
    from fadoctor.binary.pe.process import DllPredictor  # noqa: PLC0415
    from fadoctor.sources.probes.windows_binaries import (  # noqa: PLC0415
        WindowsNaming,
        predict_on_windows,
        windows_facts,
        windows_loads,
        windows_process,
    )

    found: Facts = {}
    with DllPredictor(windows_process(world, facts, torch)) as predictor:
        naming = WindowsNaming(world, predictor)
        for key in dict.fromkeys(each.key for each in extensions):
            mine = [each for each in extensions if each.key == key]
            predictions = {e: predict_on_windows(e, naming) for e in mine if _is_library(e)}
            for each in mine:
                prediction = predictions.get(each)
                if prediction is None:
                    found |= _not_there(each, world)
                    continue
                rest = _code_of(each, world, facts) | _sizes(each, world)
                rest["gfx"] = amd_code(each, world, facts)
                named = windows_facts(each, prediction, naming) | rest
                found |= {f"{each.prefix}.{name}": fact for name, fact in named.items()}
            found[f"{key}.loads"] = windows_loads(predictions, naming)
    return found


def unreadable(facts: Mapping[str, Fact]) -> Fact | None:
    """Return why extensions of this system are not read; None where they are."""
    system, machine = facts.get("host.os"), facts.get("host.machine")
    if isinstance(system, Known) and system.value != "linux":
        return absent(f"extensions of {system.value} are not read")
    if isinstance(machine, Known) and machine.value not in _MACHINES:
        return unknown(f"binaries of {machine.value} are not read", "host.machine")
    return None


def _all(fact: Fact) -> Facts:
    """Return the same fact under every name."""
    names = (spec.name for spec in build_catalogue().values() if spec.provider == "binaries")
    return dict.fromkeys(names, fact)


def loader_target(world: World, facts: Mapping[str, Fact], torch: str) -> LoaderTarget:
    """Return what the loader of the target has to do with; ``torch``: the file of torch._C."""
    suffix = facts.get("python.ext_suffix")
    variables = ("LD_LIBRARY_PATH", "LD_PRELOAD")
    return LoaderTarget(
        executable=world.inside(world.target.python or ""),
        torch=world.inside(torch).rpartition("/")[0],
        sys_path=tuple(world.inside(site) for site in world.target.site),
        environ={name: world.environ[name] for name in variables if name in world.environ},
        root=str(world.root),
        extension_suffix=str(suffix.value) if isinstance(suffix, Known) else "",
    )


def _is_library(extension: Extension) -> bool:
    """Return whether there is a file that can be one; a placeholder of a few bytes is none.

    One that RECORD gives another size, or a pointer of Git LFS, is a library that came to harm.
    """
    if not extension.path:
        return False
    try:
        start = read_bytes(extension.path, SMALLEST)
    except (OSError, ValueError):
        return True
    harmed = extension.recorded_size not in (None, len(start)) or start.startswith(_LFS)
    return harmed or len(start) == SMALLEST


def _predict(extension: Extension, naming: Naming) -> Prediction:
    path = naming.world.inside(extension.path)
    if extension.key != TORCH:
        return naming.predictor.predict(path, after_torch=extension.key not in LOADS_ALONE)
    prediction = naming.predictor.predict(path)
    # Looking up all of torch's own symbols takes a tenth of a second.
    if prediction.loads and (naming.world.thorough or _has_foreign_cuda(naming.predictor)):
        return naming.predictor.check_torch()
    return prediction


def _has_foreign_cuda(predictor: Predictor) -> bool:
    """Return whether a variable puts CUDA libraries in the place of those that torch brings."""
    return any(
        library.origin is FoundBy.LD_LIBRARY_PATH and library.soname.startswith(CUDA)
        for library in predictor.libraries()
    )


def _facts_of(
    extension: Extension, prediction: Prediction | None, naming: Naming, facts: Mapping[str, Fact]
) -> Facts:
    if prediction is None:
        return _not_there(extension, naming.world)
    found = loader_facts(extension, prediction, naming)
    found |= _code_of(extension, naming.world, facts) | _sizes(extension, naming.world)
    found["gfx"] = amd_code(extension, naming.world, facts)
    return {f"{extension.prefix}.{name}": fact for name, fact in found.items()}


def _not_there(extension: Extension, world: World) -> Facts:
    missing, name = absent_extension(extension), world.name(extension.path)
    if extension.path:
        missing = absent(f"{name}: too small for a library")
    none: Facts = {n: missing for n in _all(missing) if n.startswith(f"{extension.prefix}.")}
    there: Facts = {f"{extension.prefix}.file": known(name, name)} if extension.path else {}
    return none | there


def _sizes(extension: Extension, world: World) -> Facts:
    source = world.name(extension.path)
    size, recorded = Path(extension.path).stat().st_size, extension.recorded_size
    nothing = absent("RECORD gives no size for it")
    return {
        "size": known(size, source),
        "recorded_size": nothing if recorded is None else known(recorded, f"RECORD of {source}"),
    }


def _code_of(extension: Extension, world: World, facts: Mapping[str, Fact]) -> Facts:
    """Return which GPUs an extension holds code for."""
    path = Path(extension.path)
    if extension.key == TORCH:
        build = facts.get("torch.build")
        published = isinstance(build, Known) and build.value != "other"
        library = "torch_cuda.dll" if world.os == "windows" else "libtorch_cuda.so"
        if published and not world.thorough:
            reason = "the matrix lists this build; --thorough reads the file"
            return dict.fromkeys(_CODE, absent(f"{library}: {reason}"))
        path = path.parent / "lib" / library
    source = world.name(path)
    if not path.is_file():
        return dict.fromkeys(_CODE, absent(source))
    try:
        summary = summarise(read_fatbins(path))
    except BadBinaryError as error:
        return dict.fromkeys(_CODE, unknown(printable(str(error)), source))
    if not summary.code:
        return dict.fromkeys(_CODE, absent(f"{source}: no GPU code"))
    ptx = known(summary.ptx, source) if summary.ptx else absent(f"{source}: no PTX")
    targets = summary.common if extension.key == TORCH else summary.targets
    return {"code": known(summary.code, source), "arch_list": known(targets, source), "ptx": ptx}
