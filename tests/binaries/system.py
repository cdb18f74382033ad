"""A file system of its own for the model of the loader, of any machine that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.binary.interpreter_process import LoaderTarget
from fadoctor.binary.predict import Predictor
from tests.binaries.elf_writer import AARCH64, X86_64, Spec, Symbol, elf_file

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.binary.prediction import Prediction

LOADER = {X86_64: "/lib64/ld-linux-x86-64.so.2", AARCH64: "/lib/ld-linux-aarch64.so.1"}


class System:
    """A file system with an interpreter, its loader and a C library."""

    def __init__(self, root: Path, machine: int = X86_64) -> None:
        self.root, self.machine = root, machine
        loader = LOADER[machine]
        self.put(loader, Spec(soname=loader.rpartition("/")[2]))
        exports = (Symbol("malloc", "GLIBC_2.17"), Symbol("pow", "GLIBC_2.29"))
        self.put("/usr/lib/libc.so.6", Spec(soname="libc.so.6", exports=exports))
        program = Spec(
            needed=("libc.so.6",), interpreter=loader, exports=(Symbol("PyLong_FromLong"),)
        )
        self.put("/usr/bin/python3.11", program)
        self.link("/venv/bin/python", "/usr/bin/python3.11")

    def put(self, path: str, spec: Spec) -> str:
        """Write a library for the machine of the system."""
        return self.write(path, elf_file(spec._replace(machine=self.machine)))

    def write(self, path: str, data: bytes) -> str:
        """Write a file."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        return path

    def link(self, path: str, target: str) -> None:
        """Make a link, as the system itself would name its target."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def predict(self, path: str, **environ: str) -> Prediction:
        """Ask for a library in the bare interpreter."""
        target = LoaderTarget(executable="/venv/bin/python", root=str(self.root), environ=environ)
        with Predictor(target) as predictor:
            return predictor.predict(path, after_torch=False)
