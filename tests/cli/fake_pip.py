"""An environment with a pip of its own, slow enough to be killed: no network, real files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.environments import add_flash_attn, add_package, add_torch, make_environment

if TYPE_CHECKING:
    from pathlib import Path

_PIP = """
import shutil, sys, time
from pathlib import Path

SITE = Path(__file__).parents[1]
DELAY = {delay}
FAIL = {fail!r}

def info(name, version):
    folder = SITE / f"{{name.replace('-', '_')}}-{{version}}.dist-info"
    folder.mkdir()
    time.sleep(DELAY)
    lines = ("Metadata-Version: 2.1", f"Name: {{name}}", f"Version: {{version}}", "", "")
    (folder / "METADATA").write_text("\\n".join(lines))
    (folder / "INSTALLER").write_text("pip\\n")

def remove(name):
    stem = name.replace("-", "_")
    for path in sorted(SITE.glob(f"{{stem}}-*.dist-info/*")) + sorted(SITE.glob(f"{{stem}}/*")):
        path.unlink()
        time.sleep(DELAY)
    for folder in [*SITE.glob(f"{{stem}}-*.dist-info"), *SITE.glob(stem)]:
        shutil.rmtree(folder)

command, *rest = sys.argv[1:]
if command == "config":
    sys.exit(0)
if "--dry-run" in rest:
    print('{{"install": []}}')
    sys.exit(0)
names = [word for word in rest if not word.startswith("-")]
if command == FAIL:
    with (SITE / "paths.pth").open("a") as file:
        file.write("# half a step\\n")
    print("ERROR: Could not find a version: the index is down", file=sys.stderr)
    sys.exit(1)
for word in names:
    name, _, version = word.partition("==")
    remove(name)
    if command == "install":
        for number in range(20):
            package = SITE / name.replace("-", "_")
            package.mkdir(exist_ok=True)
            (package / f"part{{number}}.py").write_text("new = 1\\n")
            time.sleep(DELAY)
        info(name, version)
"""


def add_record(site: Path, name: str) -> None:
    """Write the list of a distribution's files, as installers do."""
    [info] = site.glob(f"{name}-*.dist-info")
    files = [path for folder in (info, site / name) for path in sorted(folder.rglob("*"))]
    rows = [f"{path.relative_to(site)},,\n" for path in files]
    (info / "RECORD").write_text("".join([*rows, f"{info.name}/RECORD,,\n"]))


def broken_environment(
    folder: Path, *, delay: float = 0.0, fail: str = "", parts: int = 20
) -> Path:
    """Make an environment without a GPU's torch, with a flash-attn that was never compiled.

    `fail`: the pip command that ends with an error after it changed something. `parts`: how many
    files the package that is replaced has, so that bringing them back takes its time.
    """
    site = make_environment(folder)
    add_torch(site, "2.13.0+cpu", None)
    add_flash_attn(site, "2.8.3", extension=False)
    add_package(site, "xformers", "0.0.28", "torch==2.4.1")
    (site / "xformers").mkdir()
    for number in range(parts):
        (site / "xformers" / f"old{number}.py").write_text("old = 1\n")
    for name in ("xformers", "flash_attn"):
        add_record(site, name)
    (site / "paths.pth").write_text("# nothing\n")
    (site / "pip").mkdir()
    (site / "pip" / "__init__.py").write_text("")
    (site / "pip" / "__main__.py").write_text(_PIP.format(delay=delay, fail=fail))
    return site
