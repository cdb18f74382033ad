"""Runs in a child: the package kernels, as released, chooses among made-up builds.

Reads systems from standard input and prints what is taken, by the functions that it loads kernels
with. torch is a stand-in whose version, CUDA and C++ ABI are set for each system: nothing here
computes.
"""

import contextlib
import importlib.util
import json
import logging
import pathlib
import platform
import shutil
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any


def stand_in() -> Any:
    """Return a module that answers what kernels asks torch."""
    torch: Any = types.ModuleType("torch")
    torch.__spec__ = importlib.util.spec_from_loader("torch", None)
    torch.version = types.SimpleNamespace(cuda=None, hip=None, xpu=None)
    mps = types.SimpleNamespace(is_available=lambda: False)
    torch.backends = types.SimpleNamespace(mps=mps)
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    torch.nn = types.ModuleType("torch.nn")
    torch.nn.Module = type("Module", (), {})
    torch.Tensor = type("Tensor", (), {})
    torch._C = types.SimpleNamespace()
    sys.modules.update({"torch": torch, "torch.nn": torch.nn})
    return torch


def set_up(torch: Any, system: dict[str, Any]) -> None:
    """Make the machine look like a system."""
    torch.__version__ = "{}.{}.0".format(*system["torch"])
    dotted = "{}.{}".format(*system["backend_version"])
    torch.version.cuda = dotted if system["backend"] == "cuda" else None
    torch.version.hip = dotted + ".1-ab" if system["backend"] == "rocm" else None
    torch.compiled_with_cxx11_abi = lambda: bool(system["cxx11_abi"])
    names = {"linux": "Linux", "windows": "Windows", "darwin": "Darwin"}
    platform.system = lambda: names[system["system"]]
    own = {("windows", "x86_64"): "AMD64", ("darwin", "aarch64"): "arm64"}
    machine = own.get((system["system"], system["machine"]), system["machine"])
    platform.machine = lambda: machine


def taken_by_path(utils: Any, names: list[str]) -> str:
    """Return what releases take that compute the name: they look for its folder."""
    repository = pathlib.Path(tempfile.mkdtemp())
    for name in names:
        (repository / "build" / name / "kernel").mkdir(parents=True)
        for folder in ("", "kernel"):
            (repository / "build" / name / folder / "__init__.py").touch()
    find = getattr(utils, "_find_kernel_in_repo_path", None) or utils._load_kernel_from_path
    try:
        path = find(repository, "kernel", None)[1]
    except FileNotFoundError:
        return ""
    finally:
        shutil.rmtree(repository)
    return str(path.relative_to(repository / "build").parts[0])


def parsed(parse: Callable[[str], Any], names: list[str]) -> Iterator[Any]:
    """Yield the builds whose names kernels reads."""
    for name in names:
        with contextlib.suppress(ValueError):
            yield parse(name)


def taken(names: list[str]) -> list[str]:
    """Return the builds that are taken, best first; one alone where kernels computes its name."""
    if importlib.util.find_spec("kernels.variants") is not None:
        from kernels import variants

        if hasattr(variants, "resolve_variants"):
            found = variants.resolve_variants(list(parsed(variants.parse_variant, names)))
            found = found[0] if isinstance(found, tuple) else found
            return [each.variant_str for each in found]
    from kernels import utils

    found = taken_by_path(utils, names)
    return [found] if found else []


def main() -> None:
    """Answer for each line."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch = stand_in()
    for line in sys.stdin:
        system, names = json.loads(line)
        set_up(torch, system)
        try:
            found = taken(names)
        except AssertionError:  # releases that know no torch without a GPU
            found = []
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
