"""Libraries made by gcc in milliseconds, and what the real loader says about them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.binary.interpreter_process import LoaderTarget

if TYPE_CHECKING:
    from pathlib import Path

OLD_STRING = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
NEW_STRING = (
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
)
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))

_REAL = """
import ctypes, json, sys
torch, path, cwd = json.load(sys.stdin)
stage = "torch"
try:
    if torch:
        ctypes.CDLL(torch + "/lib/libtorch_global_deps.so", mode=ctypes.RTLD_GLOBAL)
        ctypes.CDLL(torch + "/_C" + sys.argv[1])
    stage = "extension"
    ctypes.CDLL(path)
    print(json.dumps([stage, ""]))
except OSError as error:
    print(json.dumps([stage, str(error)]))
"""


class Answer(NamedTuple):
    """What the real loader did."""

    loads: bool
    text: str
    """The error text; "" where there is none."""
    status: int
    """How the process ended."""
    stage: str = ""
    said: str = ""
    """What stands on stderr where the process was ended."""


class Forge:
    """A folder where libraries are made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def below(self, name: str) -> Forge:
        """Return another folder below this one."""
        return Forge(self.folder / name)

    def library(
        self,
        name: str,
        source: str = "",
        *flags: str,
        needs: tuple[Path, ...] = (),
        script: str = "",
    ) -> Path:
        """Build a shared library from C; its soname is its name."""
        path = self.folder / name
        argv = ["gcc", "-shared", "-fPIC", "-w", "-O0", f"-Wl,-soname,{name}", "-Wl,--no-as-needed"]
        if script:
            (self.folder / "versions").write_text(script, encoding="utf-8")
            argv.append(f"-Wl,--version-script={self.folder / 'versions'}")
        argv += ["-xc", "-", "-xnone", *map(str, needs), *flags, "-o", str(path)]
        subprocess.run(argv, input=source, text=True, check=True, cwd=self.folder)
        return path

    def program(self, name: str, flag: str, source: str = "int main(void) { return 0; }") -> Path:
        """Build an executable."""
        path = self.folder / name
        argv = ["gcc", flag, "-xc", "-", "-o", str(path)]
        subprocess.run(argv, input=source, text=True, check=True)
        return path

    def torch(self, exported: str = "int c10_there;") -> Path:
        """Build a torch of four small libraries, whose libc10.so exports what is given."""
        tree = self.below("torch")
        lib = tree.below("lib")
        c10 = lib.library("libc10.so", exported)
        lib.library("libtorch_global_deps.so", "int deps;")
        local = lib.library("libonly_python.so", "int only_in_python_closure;")
        python = lib.library(
            "libtorch_python.so", "int python;", "-Wl,-rpath,$ORIGIN", needs=(c10, local)
        )
        tree.library(f"_C{SUFFIX}", "", "-Wl,-rpath,$ORIGIN/lib", needs=(python,))
        (tree.folder / "__init__.py").write_text("", encoding="utf-8")
        return tree.folder


def uses(*names: str) -> str:
    """Return C that refers to functions, in that order."""
    declared = "".join(f"void {name}(void);\n" for name in names)
    calls = " ".join(f"{name}();" for name in names)
    return f"{declared}void use(void) {{ {calls} }}\n"


def offers(*names: str) -> str:
    """Return C that defines functions."""
    return "".join(f"void {name}(void) {{}}\n" for name in names)


def really_open(path: Path, torch: Path | None, environ: dict[str, str]) -> Answer:
    """Open a library in a child, after a torch or not."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", _REAL, SUFFIX],
        input=json.dumps([str(torch) if torch else "", str(path), "/"]),
        env=env | environ,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    if done.returncode:
        return Answer(False, "", done.returncode, said=done.stderr)
    stage, text = json.loads(done.stdout)
    return Answer(not text, text, 0, stage)


def target_of(torch: Path | None, environ: dict[str, str]) -> LoaderTarget:
    """Return the model's view of the interpreter that runs the tests."""
    return LoaderTarget(
        executable=sys.executable,
        torch=str(torch) if torch else "",
        sys_path=tuple(path for path in sys.path if path),
        environ=environ,
        extension_suffix=SUFFIX,
        working_folder="/",
    )
