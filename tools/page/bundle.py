"""The files of the page: Pyodide, the packages as compiled code, the assets, and their list.

What is large is stored gzipped and opened by the page, so that it is small on any server.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.page.examples import examples_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parents[2]
PAGE = "build/page"
PARTS = ROOT / "build" / "page-parts"
ASSETS = Path(__file__).parent / "assets"
STYLE = ROOT / "fadoctor" / "report" / "html" / "page.css"

PYODIDE = "pyodide@314.0.7"
BINARY = ("msgspec==0.22.0",)
PURE = ("packaging==26.4", "PyYAML==6.0.3")
"""What fadoctor imports in the page; PyYAML without its extension."""

LIMIT = 10_700_000
"""Bytes over the wire."""

LEFT_OUT = ("fadoctor/sources/import_names/", "fadoctor/proof/", "fadoctor/fleet/",
            "fadoctor/compiled/cases.json", "fadoctor/interfaces/cli/",
            "fadoctor/interfaces/assistants/", "fadoctor/repair/apply/",
            "fadoctor/sources/probes/child/", "fadoctor/knowledge/updates/",
            "packaging/licenses/", "packaging/metadata.py", "packaging/pylock.py")  # fmt: skip
"""Parts of the wheels that no answer to a text asks for."""

_SHELL = ("index.html", "page.js", "page.css", "worker.js", "pyodide.mjs")
_GZIPPED = ("pyodide.asm.wasm", "pyodide.asm.mjs")


def wheel_of_checkout() -> Path:
    """Build the wheel of this checkout and return it."""
    folder = PARTS / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT))
    return next(folder.glob("fadoctor-*.whl"))


def build(wheel: Path, page: Path, say: Callable[[str], object]) -> int:
    """Write the page; return its bytes over the wire. RuntimeError where these are too many."""
    PARTS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(page, ignore_errors=True)
    page.mkdir(parents=True)
    pyodide = _pyodide()
    say("packages are compiled by Pyodide\n")
    _packages(wheel, pyodide, page)
    for name in _GZIPPED:
        _write_gzipped(page / f"{name}.gz", (pyodide / name).read_bytes())
    for name in ("pyodide.mjs", "pyodide-lock.json"):
        shutil.copy(pyodide / name, page)
    (page / "pyodide-lock.json").write_text(_lock_without_packages(pyodide), encoding="utf-8")
    examples = json.dumps(examples_of(wheel), separators=(",", ":"))
    _write_gzipped(page / "examples.json.gz", examples.encode())
    _assets(page)
    total = sum(file.stat().st_size for file in page.iterdir())
    if total > LIMIT:
        raise RuntimeError(f"the page has {total} bytes, {LIMIT} at most are allowed")
    return total


def _assets(page: Path) -> None:
    """Copy the page's own files; the service worker knows all names, and a digest of all."""
    for file in ASSETS.iterdir():
        shutil.copy(file, page)
    own = (ASSETS / "page.css").read_text(encoding="utf-8")
    style = STYLE.read_text(encoding="utf-8")
    (page / "page.css").write_text(style + _chosen(style) + own, encoding="utf-8")
    files = sorted(file for file in page.iterdir() if file.name not in ("sw.js", "compile.mjs"))
    (page / "compile.mjs").unlink()
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    large = {file.name: file.stat().st_size for file in files if file.stat().st_size > 100_000}
    listed = {"version": digest, "large": large, "files": [file.name for file in files]}
    (page / "files.json").write_text(json.dumps(listed), encoding="utf-8")
    worker = (ASSETS / "sw.js").read_text(encoding="utf-8")
    worker = worker.replace("VERSION_OF_THE_PAGE", digest)
    (page / "sw.js").write_text(worker, encoding="utf-8")


def _chosen(style: str) -> str:
    """Return the colours of both themes, for a site that has a switch."""
    light, dark = re.findall(r"^\s*:root \{([^}]*)\}", style, re.MULTILINE)
    light = light.replace("color-scheme: light dark;", "")
    return "".join(
        f':root[data-scheme="{name}"] {{ color-scheme: {name}; {" ".join(colours.split())} }}\n'
        for name, colours in (("light", light), ("dark", dark))
    )


def _packages(wheel: Path, pyodide: Path, page: Path) -> None:
    """Write the packages and the standard library with compiled modules."""
    with tempfile.TemporaryDirectory() as scratch:
        sources = Path(scratch) / "sources.zip"
        with zipfile.ZipFile(sources, "w") as target:
            for archive in (wheel, *_wheels(pyodide)):
                _add(target, archive)
        _run("node", str(ASSETS / "compile.mjs"), str(pyodide), str(sources), scratch)
        for name in ("packages.zip", "stdlib.zip"):
            _write_gzipped(page / f"{name}.gz", (Path(scratch) / name).read_bytes())


def _add(target: zipfile.ZipFile, archive: Path) -> None:
    foreign = (".so", ".pyd", ".pyi") if "pyyaml" in archive.name.lower() else (".pyi",)
    with zipfile.ZipFile(archive) as source:
        for name in source.namelist():
            is_data = ".data/" in name or name.startswith(LEFT_OUT)
            if not (is_data or name.endswith((*foreign, "/RECORD", "/WHEEL"))):
                target.writestr(name, source.read(name))


def _pyodide() -> Path:
    """Return the folder of Pyodide, from the index that npm is configured for."""
    folder = PARTS / PYODIDE.replace("@", "-")
    if not (folder / "package.json").is_file():
        done = _run("npm", "pack", "--silent", PYODIDE, "--pack-destination", str(PARTS))
        with tarfile.open(PARTS / done.strip().splitlines()[-1]) as archive:
            for member in archive.getmembers():
                name = member.name.removeprefix("package/")
                if member.isfile() and "/" not in name:
                    found = archive.extractfile(member)
                    folder.mkdir(exist_ok=True)
                    if found is not None:
                        (folder / name).write_bytes(found.read())
    return folder


def _wheels(pyodide: Path) -> list[Path]:
    """Return the wheels beside ours, from the index that pip is configured for."""
    info = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    python = ".".join(info["python"].split(".")[:2])
    platform = f"pyemscripten_{info['abi_version']}_{info['arch']}"
    folder = PARTS / "wheels"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
    fetch = (*pip, "--no-deps", "--only-binary=:all:", "--dest", str(folder))
    built = ("--platform", platform, "--python-version", python, "--implementation", "cp")
    _fetched(folder, BINARY, (*fetch, *built))
    _fetched(folder, PURE, fetch)
    return [_wheel(folder, each) for each in (*BINARY, *PURE)]


def _fetched(folder: Path, wanted: Iterable[str], command: tuple[str, ...]) -> None:
    missing = [each for each in wanted if not list(folder.glob(_pattern(each)))]
    if missing:
        _run(*command, *missing)


def _wheel(folder: Path, requirement: str) -> Path:
    return next(folder.glob(_pattern(requirement)))


def _pattern(requirement: str) -> str:
    name, _, version = requirement.lower().partition("==")
    return f"{name}-{version}-*.whl"


def _lock_without_packages(pyodide: Path) -> str:
    """Return Pyodide's lock without packages: the page fetches none, from nowhere."""
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    return json.dumps({**lock, "packages": {}})


def _write_gzipped(file: Path, data: bytes) -> None:
    file.write_bytes(gzip.compress(data, 9, mtime=0))


def _run(*argv: str) -> str:
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        raise RuntimeError(f"{argv[0]}: {done.stderr[-2000:] or done.stdout[-2000:]}")
    return done.stdout
