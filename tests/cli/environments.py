"""Small planted environments: folders that look like a virtual environment, with dist-info."""

from __future__ import annotations

import sys
from pathlib import Path

PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"


def make_environment(folder: Path) -> Path:
    """Make an empty environment and return its site-packages."""
    site = folder / "lib" / PYTHON / "site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    version = ".".join(str(part) for part in sys.version_info[:3])
    home = Path(sys.executable).resolve().parent
    (folder / "pyvenv.cfg").write_text(
        f"home = {home}\nversion = {version}\ninclude-system-site-packages = false\n"
    )
    return site


def add_package(
    site: Path, name: str, version: str, *requires: str, installer: str = "pip"
) -> Path:
    """Add a distribution's metadata and return its dist-info folder."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n\ntext\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {TAG}-{TAG}-linux_x86_64\n")
    (info / "INSTALLER").write_text(f"{installer}\n")
    return info


def add_torch(site: Path, version: str, cuda: str | None, *requires: str) -> None:
    """Add torch: metadata, and the version.py that its wheels hold."""
    local = f"+cu{cuda.replace('.', '')}" if cuda and "+" not in version else ""
    add_package(site, "torch", version, *requires)
    (site / "torch").mkdir()
    (site / "torch" / "_C.so").write_text("(machine code)\n")
    (site / "torch" / "version.py").write_text(
        f"__version__ = '{version}{local}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\n"
        "git_version = '0123456789abcdef0123456789abcdef01234567'\nhip: Optional[str] = None\n"
    )


def add_flash_attn(site: Path, version: str, url: str = "", *, extension: bool = True) -> None:
    """Add flash-attn 2 with what it requires, from a recorded wheel where a URL is given."""
    add_package(site, "einops", "0.8.1")
    info = add_package(site, "flash-attn", version, "torch", "einops")
    if url:
        (info / "direct_url.json").write_text(f'{{"url": "{url}", "archive_info": {{}}}}')
    (site / "flash_attn").mkdir()
    for name in ("__init__.py", "flash_attn_interface.py"):
        (site / "flash_attn" / name).write_text("")
    if extension:
        short = TAG.removeprefix("cp")
        (site / f"flash_attn_2_cuda.cpython-{short}-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
