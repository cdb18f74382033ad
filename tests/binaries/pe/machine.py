"""A Windows machine below a folder: System32, a base Python, a virtual environment with torch.

Its libraries are made by `tests.unit.binary.pe_builder`. Nothing of it has run on Windows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Target
from fadoctor.processes.command import Ending, Result
from fadoctor.sources.probes import PROBES
from fadoctor.sources.probes.collect import collect
from fadoctor.sources.probes.world import World
from tests.unit.binary.pe_builder import library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

    from fadoctor.model.environment import Environment
    from fadoctor.model.report import Report
    from fadoctor.processes.command import Command
    from tests.unit.binary.pe_builder import Wanted

SYSTEM = "C:/Windows/System32"
BASE = "C:/Python311"
VENV = "C:/w/venv"
SITE = f"{VENV}/Lib/site-packages"
LIB = f"{SITE}/torch/lib"
SET_DEVICE = "?SetDevice@cuda@c10@@YA?AW4cudaError@@C_N@Z"
OLD_SET_DEVICE = "?SetDevice@cuda@c10@@YA?AW4cudaError@@C@Z"
EMPTY = "?call@empty@_ops@at@@SA?AVTensor@3@XZ"
RUNTIME = ("vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll")
_SMALLEST = 4096
_NAMES = {"torch": "torch", "flash_attn": "flash-attn", "xformers": "xformers",
          "bitsandbytes": "bitsandbytes", "triton": "triton-windows"}  # fmt: skip


class WindowsMachine:
    """Files, and what is seen of them."""

    def __init__(self, root: Path, *, torch: str = "2.8.0+cu128", python: str = "3.11.9") -> None:
        self.root = root
        self.python = python
        self.environ = {"PATH": "C:\\Windows\\System32", "HOME": "/C:/Users/kim"}
        self.torch = torch
        for name in ("kernel32.dll", "ws2_32.dll", "nvcuda.dll", *RUNTIME):
            self.write(f"{SYSTEM}/{name}")
        tag = "".join(python.split(".")[:2])
        self.dll(f"{BASE}/python{tag}.dll", exports=("PyList_New", "PyModule_Create2"))
        self.dll(f"{BASE}/python3.dll", exports=("PyList_New",))
        self.write(f"{BASE}/python.exe")
        for name in RUNTIME[:2]:
            self.dll(f"{BASE}/{name}", exports=("x", "y"))
        home = BASE.replace("/", "\\")
        self.write(f"{VENV}/pyvenv.cfg", f"home = {home}\nversion = {python}\n".encode())
        self.write(f"{VENV}/Scripts/python.exe")
        self.add_torch(torch)

    def add_torch(self, version: str, *, set_device: str = SET_DEVICE, cuda: str = "12") -> None:
        """Install torch's libraries: of a build for CUDA where its version says so."""
        self.package("torch", version)
        local = version.partition("+")[2]
        number = f"{local[2:4]}.{local[4:]}" if local.startswith("cu") else ""
        said = f"__version__ = '{version}'\ncuda: Optional[str] = {number!r}\n"
        said += "hip: Optional[str] = None\ngit_version = '0123'\n"
        self.write(f"{SITE}/torch/version.py", said.replace("''", "None").encode())
        self.write(f"{SITE}/torch/__init__.py")
        own = {"KERNEL32.dll": ["Sleep"], "MSVCP140.dll": ["x"], "VCRUNTIME140_1.dll": ["y"],
               "api-ms-win-crt-heap-l1-1-0.dll": ["malloc"]}  # fmt: skip
        self.dll(f"{LIB}/c10.dll", own, ("?check@c10@@YAXXZ",))
        self.dll(
            f"{LIB}/torch_cpu.dll", {"c10.dll": ["?check@c10@@YAXXZ"]}, (EMPTY, "aoti_torch_new")
        )
        wanted = {"torch_cpu.dll": [EMPTY], self.own_python(): ["PyList_New"]}
        self.dll(f"{LIB}/torch_python.dll", wanted, ("initModule", "?THP@@YAXXZ"))
        tag = "".join(self.python.split(".")[:2])
        self.dll(f"{SITE}/torch/_C.cp{tag}-win_amd64.pyd", {"torch_python.dll": ["initModule"]})
        if number:
            runtime = f"cudart64_{cuda}.dll"
            self.dll(f"{LIB}/{runtime}", exports=("cudaMalloc",))
            self.dll(f"{LIB}/cublas64_{cuda}.dll", exports=("cublasCreate_v2",))
            self.dll(f"{LIB}/c10_cuda.dll", {runtime: ["cudaMalloc"]}, (set_device,))
            self.dll(
                f"{LIB}/torch_cuda.dll", {"c10_cuda.dll": [set_device]}, ("?x@cuda@at@@YAXXZ",)
            )

    def own_python(self) -> str:
        """Return the name of the library of its Python."""
        return f"python{''.join(self.python.split('.')[:2])}.dll"

    def flash(
        self, wanted: Wanted | Mapping[str, Sequence[str | int]], name: str = "", **more: Any
    ) -> Self:
        """Install a flash-attn whose extension wants this."""
        self.package("flash_attn", "2.8.2")
        self.write(f"{SITE}/flash_attn/__init__.py", b'__version__ = "2.8.2"\n')
        self.write(f"{SITE}/flash_attn/flash_attn_interface.py")
        name = name or f"flash_attn_2_cuda.cp{''.join(self.python.split('.')[:2])}-win_amd64.pyd"
        return self.dll(f"{SITE}/{name}", wanted, **more)

    def package(self, key: str, version: str) -> None:
        """Write the metadata of a distribution."""
        name = _NAMES[key]
        folder = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        self.write(f"{folder}/METADATA", text.encode())
        self.write(f"{folder}/INSTALLER", b"pip\n")

    def dll(
        self,
        path: str,
        wanted: Wanted | Mapping[str, Sequence[str | int]] | None = None,
        exports: Sequence[str] = (),
        **more: Any,
    ) -> Self:
        """Write a library, as large as real ones are at least."""
        name = path.rpartition("/")[2]
        data = library(wanted or {}, exports, name=name, **more)
        return self.write(path, data.ljust(_SMALLEST, b"\0"))

    def write(self, path: str, data: bytes = b"") -> Self:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return self

    def remove(self, *paths: str) -> Self:
        """Remove files; a name may have wildcards."""
        for path in paths:
            folder, _, pattern = path.rpartition("/")
            for file in list((self.root / folder).glob(pattern)):
                file.unlink()
        return self

    def on_path(self, folder: str) -> Self:
        """Put a folder on PATH."""
        self.environ["PATH"] = f"{folder};{self.environ['PATH']}"
        return self

    def facts(self) -> Environment:
        """Return what the probes find."""
        root = str(self.root)
        site = f"{root}/{SITE}"
        roots = {"prefix": f"{root}/{VENV}", "site": site, "home": f"{root}/C:/Users/kim"}
        python = f"{root}/{VENV}/Scripts/python.exe"
        target = Target("environment", "venv", "$VIRTUAL_ENV", python, (site,), roots, True)
        return collect(World(target, self.environ, self.run, "windows", self.root), PROBES)

    def diagnosed(self) -> Report:
        """Return the report."""
        return diagnose(self.facts(), load_knowledge())

    def run(self, command: Command) -> Result:
        """Answer as the interpreter and the driver would."""
        words = " ".join(command.argv)
        answer: dict[str, Any] = {"schema": 1, "ok": False, "error": "nobody asked"}
        if "_fadoctor_interpreter" in words:
            answer = self._interpreter()
        elif "_fadoctor_nvml" in words:
            answer = _NVML
        return Result(Ending.EXITED, 0, "\n" + json.dumps(answer) + "\n", "", 0.1)

    def _interpreter(self) -> dict[str, Any]:
        tag = f"cp{''.join(self.python.split('.')[:2])}"
        root = f"{self.root}/"
        return {
            "schema": 1, "ok": True, "version": self.python, "implementation": "cpython",
            "tag": tag, "abi_tag": tag, "ext_suffix": f".{tag}-win_amd64.pyd",
            "platform_tag": "win_amd64",
            "free_threaded": False, "executable": f"{root}{VENV}/Scripts/python.exe",
            "prefix": f"{root}{VENV}", "base_prefix": f"{root}{BASE}",
            "headers": f"{BASE}/Include/Python.h", "externally_managed": False,
            "stdlib": f"{root}{BASE}/Lib", "sys_path": [f"{root}{SITE}"],
        }  # fmt: skip


_NVML = {
    "schema": 1, "ok": True, "driver": {"value": "581.29"}, "cuda": {"value": 13000},
    "gpus": [{"name": {"value": "NVIDIA GeForce RTX 4090"}, "compute_capability": {"value": [8, 9]},
              "memory_bytes": {"value": 25757220864},
              "mig": {"call": "nvmlDeviceGetMigMode", "code": 3, "error": ""},
              "uuid": {"value": "GPU-00000001-1111-2222-3333-000000000001"},
              "mig_uuids": {"value": []}}],
}  # fmt: skip
