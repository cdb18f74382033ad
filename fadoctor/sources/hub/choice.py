"""Which build of a kernel the package kernels takes on a system, and why it takes no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.hub.variant import Interface, Variant

if TYPE_CHECKING:
    from collections.abc import Iterable


class System(msgspec.Struct, frozen=True):
    """What a choice hangs on. The GPU is not among it: kernels looks at it afterwards."""

    torch: tuple[int, int] | None
    """Minor release; None where there is no torch."""
    backend: str
    """What torch was built for: cuda, rocm, xpu, cpu, ..."""
    backend_version: tuple[int, int] = (0, 0)
    """CUDA that torch was built with, not the driver's."""
    cxx11_abi: bool | None = None
    """C++ string ABI of torch; None off Linux, where names do not say it."""
    machine: str = "x86_64"
    system: str = "linux"
    tvm_ffi: tuple[int, int] | None = None
    free_threaded: bool = False
    """A Python without the GIL that cannot load extensions of the stable ABI."""
    macos: int = 0
    """Major release of macOS; 0 elsewhere."""


class Habits(msgspec.Struct, frozen=True):
    """How releases of kernels choose: a row of the table ``kernels-releases``."""

    by_name: bool
    """They compute the name that they want and take nothing else."""
    python_only: bool = True
    """They take builds in which nothing is compiled."""
    stable_abi: bool = True
    """They know builds for torch's stable ABI, prefer names without C++ ABI, and mind the GIL."""
    everywhere: bool = True
    """They know Windows, and a torch without a GPU."""
    metal_from: int = 0
    """Lowest macOS for which they take Metal; 0: they do not ask."""


class HubChoice(msgspec.Struct, frozen=True):
    """What would be taken."""

    accepted: tuple[Variant, ...]
    """Best first."""
    refused: dict[str, str]
    """Name -> why not, in words."""

    @property
    def best(self) -> Variant | None:
        """Return what is taken; None where there is nothing."""
        return self.accepted[0] if self.accepted else None


def choose(variants: Iterable[Variant], habits: Habits, system: System) -> HubChoice:
    """Return which builds releases of kernels with these habits take, and why no other."""
    accepted, refused = [], {}
    for variant in variants:
        why = _against(variant, habits, system)
        if why:
            refused[variant.name] = why
        else:
            accepted.append(variant)
    accepted.sort(key=lambda variant: preference(variant, habits))
    return HubChoice(tuple(accepted), refused)


def _against(variant: Variant, habits: Habits, system: System) -> str:
    """Return what speaks against a build, "" where nothing does."""
    if system.backend == "cpu" and not habits.everywhere:
        return "this release of kernels needs a torch for a GPU"
    if variant.interface is Interface.PYTHON:
        return _against_python(variant, habits, system)
    return (
        _against_compiled(variant, habits, system)
        or _against_interface(variant, habits, system)
        or _against_backend(variant, habits, system)
    )


def _against_compiled(variant: Variant, habits: Habits, system: System) -> str:
    if system.system == "windows" and not habits.everywhere:
        return "this release of kernels does not support Windows"
    if system.free_threaded and habits.stable_abi:
        return "compiled kernels do not load in a Python without the GIL"
    if variant.interface is Interface.STABLE_ABI and not habits.stable_abi:
        return "this release of kernels does not support the stable ABI"
    if variant.machine != system.machine:
        return f"for {variant.machine}, not {system.machine}"
    return "" if variant.system == system.system else f"for {variant.system}, not {system.system}"


def _against_python(variant: Variant, habits: Habits, system: System) -> str:
    if variant.backend == "universal":
        return ""
    if not habits.python_only:
        return "this release of kernels does not support builds in pure Python"
    wanted = "npu" if system.backend == "cann" else system.backend
    return "" if variant.backend == wanted else f"for {variant.backend}, not {wanted}"


def _against_interface(variant: Variant, habits: Habits, system: System) -> str:
    match variant.interface:
        case Interface.STABLE_ABI:
            if system.torch is None or variant.of > system.torch:
                return f"for torch {_dotted(variant.of)} or newer, not {_dotted(system.torch)}"
        case Interface.TVM_FFI:
            if habits.by_name or variant.of != system.tvm_ffi:
                return f"for tvm-ffi {_dotted(variant.of)}, not {_dotted(system.tvm_ffi)}"
        case _:
            if variant.of != system.torch:
                return f"for torch {_dotted(variant.of)}, not {_dotted(system.torch)}"
            named = variant.cxx11_abi is not None
            if (named or habits.by_name) and variant.cxx11_abi != system.cxx11_abi:
                return "for the other C++ string ABI"
    return ""


def _against_backend(variant: Variant, habits: Habits, system: System) -> str:
    if variant.backend != system.backend:
        return f"for {variant.backend}, not {system.backend}"
    theirs, ours = variant.backend_version, system.backend_version
    same_major = variant.backend == "cuda" and not habits.by_name and theirs[0] == ours[0]
    if theirs != ours and not (same_major and theirs[1] < ours[1]):
        return f"for {variant.backend} {_dotted(theirs)}, not {_dotted(ours)}"
    if variant.backend == "metal" and system.macos < habits.metal_from:
        return f"for macOS {habits.metal_from} or newer"
    return ""


def preference(variant: Variant, habits: Habits) -> tuple[int, ...]:
    """Return the key that sorts the best first; of what sorts alike any may be taken."""
    if variant.interface is Interface.PYTHON:
        return (2, 0, 0, variant.backend == "universal")
    newest = -variant.backend_version[1]
    match variant.interface:
        case Interface.STABLE_ABI:
            return (0, -variant.of[0], -variant.of[1], newest)
        case Interface.TORCH:
            return (1, 0, habits.stable_abi and variant.cxx11_abi is not None, newest)
        case _:
            return (2 if habits.stable_abi else 1, 0, 1 - habits.stable_abi, newest)


def _dotted(version: tuple[int, int] | None) -> str:
    return "none" if version is None else f"{version[0]}.{version[1]}"
