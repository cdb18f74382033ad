"""Environments with one fault each, planted so that every tool sees the same.

A virtual environment of its own with the metadata of packages, a torch that answers what a real one
of that build says where tools import it, and an nvidia-smi that plays the machine. Nothing real is
installed: CUDA builds of torch are gigabytes, and no GPU is needed to compare diagnoses.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

_WHEEL = (
    "https://github.com/Dao-AILab/flash-attention/releases/download/v{0}/flash_attn-{0}%2B{1}"
    "-cp{2}-cp{2}-linux_x86_64.whl"
)
TAG = f"{sys.version_info[0]}{sys.version_info[1]}"


class Machine(msgspec.Struct, frozen=True):
    """What nvidia-smi says."""

    gpu: str
    capability: str
    driver: str
    cuda: str
    """The CUDA version that the driver names."""
    memory: int = 24_564


class Package(msgspec.Struct, frozen=True):
    """A distribution: what its metadata says."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    module: str = ""
    extension: str = ""
    """A compiled module, beside the package or in it: an empty one."""
    url: str = ""
    """Where it was installed from, as pip records it."""


class Torch(msgspec.Struct, frozen=True):
    """A build of torch, as its metadata, version.py and functions tell it."""

    version: str
    cuda: str | None
    triton: str
    archs: tuple[str, ...]
    available: bool = True
    """What torch.cuda.is_available() says on that machine."""


class Case(msgspec.Struct, frozen=True):
    """An environment with one fault, or none."""

    name: str
    fault: str
    """What is wrong, "" for nothing."""
    named: str
    """What a complaint about it says: a regular expression."""
    machine: Machine
    torch: Torch
    packages: tuple[Package, ...] = ()
    covered: tuple[str, ...] = ()
    """Tools whose own documentation says that they look for this kind."""
    environ: dict[str, str] = {}
    """Variables; {root} is the folder of the case."""
    toolkits: tuple[str, ...] = ()
    """CUDA toolkits in the folder of the case."""


def flash_attn(version: str, label: str) -> tuple[Package, ...]:
    """Return flash-attn from one of its released wheels, and what it requires."""
    url = _WHEEL.format(version, label, TAG)
    return (Package("einops", "0.8.1", module="einops"),
            Package("flash-attn", version, ("torch", "einops"), "flash_attn",
                    f"flash_attn_2_cuda.cpython-{TAG}-x86_64-linux-gnu.so", url))  # fmt: skip


def plant(case: Case, root: Path) -> None:
    """Write a case into a folder."""
    env = root / "env"
    argv = [sys.executable, "-m", "venv", "--without-pip", str(env)]
    subprocess.run(argv, check=True, timeout=120)
    [site] = (env / "lib").glob("python*/site-packages")
    _plant_torch(site, case.torch, case.machine)
    for package in (Package("triton", case.torch.triton, module="triton"), *case.packages):
        if not any(each.name == package.name for each in case.packages if each is not package):
            _plant_package(site, package)
    write_smi(case.machine, root)
    for version in case.toolkits:
        nvcc = root / f"cuda-{version}" / "bin" / "nvcc"
        nvcc.parent.mkdir(parents=True)
        release = f"Cuda compilation tools, release {version}, V{version}.99"
        _write_program(nvcc, f"#!/bin/sh\necho '{release}'\n")
        (root / f"cuda-{version}" / "lib64").mkdir()


def write_smi(machine: Machine, root: Path) -> None:
    """Write the program that plays the machine."""
    (root / "bin").mkdir(exist_ok=True)
    _write_program(root / "bin" / "nvidia-smi", _smi(machine))


def environ_of(case: Case, root: Path) -> dict[str, str]:
    """Return the variables of a case; the same for every tool."""
    found = {
        "HOME": str(root / "home"), "LANG": "C.UTF-8", "VIRTUAL_ENV": str(root / "env"),
        "PATH": f"{root / 'env' / 'bin'}:{root / 'bin'}:/usr/bin:/bin",
    }  # fmt: skip
    for name, value in case.environ.items():
        text = value.replace("{root}", str(root))
        found[name] = f"{text}:{found['PATH']}" if name == "PATH" else text
    return found


def _plant_package(site: Path, package: Package) -> None:
    info = site / f"{package.name.replace('-', '_')}-{package.version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {package.name}", f"Version: {package.version}",
             *(f"Requires-Dist: {each}" for each in package.requires)]  # fmt: skip
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    tag = f"cp{TAG}-cp{TAG}-linux_x86_64"
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "INSTALLER").write_text("pip\n")
    (info / "REQUESTED").write_text("")
    if package.url:
        (info / "direct_url.json").write_text(f'{{"url": "{package.url}", "archive_info": {{}}}}')
    module = package.module
    if module:
        (site / module).mkdir(exist_ok=True)
        (site / module / "__init__.py").write_text(f'__version__ = "{package.version}"\n')
        files = [f"{module}/__init__.py", f"{info.name}/METADATA"]
        if package.extension:
            (site / package.extension).write_bytes(b"\x7fELF")
            files.append(package.extension)
        (info / "RECORD").write_text("".join(f"{name},,\n" for name in files))


def _plant_torch(site: Path, torch: Torch, machine: Machine) -> None:
    public = torch.version.partition("+")[0]
    _plant_package(
        site, Package("torch", public, (f"triton=={torch.triton}",), "torch", "torch/_C.so")
    )
    (site / "torch" / "lib").mkdir()
    if torch.archs:  # some read the list out of the library's text
        (site / "torch" / "lib" / "libtorch_cuda.so").write_bytes(
            b"\x7fELF\0" + "\0".join(torch.archs).encode() + b"\0"
        )
    (site / "torch" / "version.py").write_text(
        f"from typing import Optional\n__version__ = '{torch.version}'\ndebug = False\n"
        f"cuda: Optional[str] = {torch.cuda!r}\nhip: Optional[str] = None\n"
    )
    major, minor = machine.capability.split(".")
    (site / "torch" / "__init__.py").write_text(
        "from . import version\nfrom .version import __version__\n"
        "class cuda:\n"
        f"    is_available = staticmethod(lambda: {torch.available})\n"
        f"    device_count = staticmethod(lambda: {int(torch.available)})\n"
        f"    get_device_name = staticmethod(lambda index=0: {machine.gpu!r})\n"
        f"    get_device_capability = staticmethod(lambda index=0: ({major}, {minor}))\n"
        f"    get_arch_list = staticmethod(lambda: {list(torch.archs)!r})\n"
        "class backends:\n    class cudnn:\n"
        "        version = staticmethod(lambda: 91002)\n"
    )


def _smi(machine: Machine) -> str:
    """Return a program that answers as nvidia-smi does: a query, a list, or the picture."""
    return f"""#!/bin/sh
case "$*" in
*query-gpu=*)
  row=""
  case "$*" in *nounits*) unit="" ;; *) unit=" MiB" ;; esac
  for field in $(echo "$*" | sed 's/.*query-gpu=\\([^ ]*\\).*/\\1/' | tr , ' '); do
    case $field in
      index) said=0 ;;
      count) said=1 ;;
      name|gpu_name) said="{machine.gpu}" ;;
      uuid|gpu_uuid) said=GPU-00000000-1111-2222-3333-444444444444 ;;
      compute_cap) said={machine.capability} ;;
      memory.total) said="{machine.memory}$unit" ;;
      driver_version) said={machine.driver} ;;
      *) said="[N/A]" ;;
    esac
    row="$row${{row:+, }}$said"
  done
  echo "$row" ;;
-L) echo "GPU 0: {machine.gpu} (UUID: GPU-00000000-1111-2222-3333-444444444444)" ;;
*) echo "| NVIDIA-SMI {machine.driver}   Driver Version: {machine.driver}   CUDA Version: \
{machine.cuda} |"
   echo "|   0  {machine.gpu}   Off |" ;;
esac
"""


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
