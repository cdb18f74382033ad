"""Compare what fadoctor predicts with what the real loader does, on released libraries.

Usage: python tools/compare_loads.py --cache FOLDER [--python PYTHON]...
           [--wheel NAME[==VERSION]]... [--mode bare|stubs|mixed]... [--library-path FOLDER]...
           [--markdown] [--no-torch] [--fresh]

Downloads the wheels listed here, or others that are named with their version, into the cache folder
(through the index that pip is configured for), unpacks their shared libraries, and opens each one
in each interpreter: a child imports torch and forks, and every fork opens one library with
`ctypes.CDLL`; with --fresh each library gets a process that imports torch for it alone, which takes
seconds instead of milliseconds. Verdict and error text must be those that were predicted.

`stubs` puts generated libraries in the place of whatever is missing, so that the loader goes on to
versions and symbols; gcc makes them. `mixed` puts the folders of --library-path on LD_LIBRARY_PATH.
Ends with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.binary.elf import read_elf
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.files import Tree
from fadoctor.binary.interpreter_process import LoaderTarget
from fadoctor.binary.loader import File
from fadoctor.binary.predict import Predictor
from fadoctor.binary.reason import ReasonKind, dlerror

if TYPE_CHECKING:
    from fadoctor.binary.prediction import Prediction

WHEELS = (
    "xformers==0.0.28.post3",
    "xformers==0.0.29.post3",
    "xformers==0.0.30",
    "xformers==0.0.35",
    "bitsandbytes==0.43.3",
    "bitsandbytes==0.45.5",
    "bitsandbytes==0.48.2",
    "bitsandbytes==0.50.2",
    "triton==2.1.0",
    "triton==3.2.0",
    "triton==3.3.0",
    "triton==3.4.0",
    "triton==3.7.0",
    "vllm-flash-attn==2.5.9.post1",
    "vllm-flash-attn==2.6.1",
    "vllm-flash-attn==2.6.2",
)
MODES = ("bare", "stubs", "mixed")
_LOADS = "loads"
_TORCH = "torch"
_UNSAID = {ReasonKind.TRUNCATED: f"ended by {signal.Signals(7).name}"}

_REAL = r"""
import ctypes, json, os, signal, sys
library_paths = json.load(sys.stdin)
if sys.argv[1] == "torch":
    import torch
    print(json.dumps(["torch", "loads"]), flush=True)
for path in library_paths:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(120)
        try:
            ctypes.CDLL(path)
            text = "loads"
        except OSError as error:
            text = str(error)
        os.write(write, text.encode("utf-8", "surrogateescape"))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    ended = signal.Signals(status & 127).name if status & 127 else ""
    print(json.dumps([path, text or ("ended by " + ended)]), flush=True)
"""

_INTERPRETER = """
import importlib.util, json, pathlib, re, sys, sysconfig
torch = importlib.util.find_spec("torch")
version = torch and pathlib.Path(torch.origin).with_name("version.py").read_text()
print(json.dumps({
    "executable": sys.executable,
    "sys_path": [path for path in sys.path if path],
    "torch": torch.submodule_search_locations[0] if torch else "",
    "version": re.search("__version__ = '([^']+)'", version)[1] if torch else "none",
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
}))
"""


class Conditions(NamedTuple):
    """How libraries are opened."""

    mode: str
    folders: list[Path]
    """What LD_LIBRARY_PATH holds in other modes than bare; stubs go to the first."""
    after_torch: bool
    fresh: bool
    """A process for each library."""


class Comparison(NamedTuple):
    """One library in one interpreter."""

    wheel: str
    library: str
    torch: str
    mode: str
    predicted: str
    real: str

    @property
    def agrees(self) -> bool:
        """Whether the prediction was right, word for word."""
        return self.predicted == self.real


def download(requirement: str, cache: Path) -> Path:
    """Return the folder of a wheel's shared libraries; fetch and unpack it once."""
    folder = cache / requirement.replace("==", "-")
    if (folder / "done").exists():
        return folder
    wheels = cache / "wheels"
    platforms = ["manylinux1", "manylinux2014", *(f"manylinux_2_{n}" for n in range(17, 40))]
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    argv += ["--only-binary", ":all:", "--dest", str(wheels)]
    argv += [f"--platform={name}_x86_64" for name in platforms]
    argv += [f"--python-version={sys.version_info[0]}.{sys.version_info[1]}", requirement]
    shutil.rmtree(wheels, ignore_errors=True)
    subprocess.run(argv, check=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.search(r"\.so(\.\d+)*$", name):
                archive.extract(name, folder)
    wheel.unlink()
    (folder / "done").touch()
    return folder


def libraries(folder: Path) -> list[Path]:
    """Return the shared libraries below a folder that are made for this machine."""
    found = []
    with Tree() as tree:
        for path in sorted(folder.rglob("*.so*")):
            try:
                read_elf(tree.open(str(path)))
            except BadBinaryError:
                continue
            found.append(path)
    return found


def describe(python: str) -> dict[str, str | list[str]]:
    """Ask an interpreter where its things are."""
    done = subprocess.run([python, "-c", _INTERPRETER], check=True, capture_output=True, text=True)
    answer: dict[str, str | list[str]] = json.loads(done.stdout)
    return answer


def target_of(described: dict[str, str | list[str]], environ: dict[str, str]) -> LoaderTarget:
    """Return the model's input."""
    return LoaderTarget(
        executable=str(described["executable"]),
        torch=str(described["torch"]),
        sys_path=tuple(described["sys_path"]),
        environ=environ,
        extension_suffix=str(described["suffix"]),
        working_folder="/",
    )


def predict(target: LoaderTarget, paths: list[str], *, after_torch: bool) -> dict[str, str]:
    """Return path -> the predicted words."""
    with Predictor(target) as predictor:
        found = {path: words(predictor.predict(path, after_torch=after_torch)) for path in paths}
        if after_torch:
            found[_TORCH] = words(predictor.check_torch())
    return found


def words(prediction: Prediction) -> str:
    """Return what the loader would say."""
    reason = prediction.reason
    if prediction.loads:
        return _LOADS
    if prediction.loads is None or reason is None:
        return f"undecided: {reason}"
    return dlerror(reason) or _UNSAID.get(reason.kind, reason.kind.value)


def load(
    python: str, environ: dict[str, str], paths: list[str], *, after_torch: bool
) -> dict[str, str]:
    """Return path -> what the real loader says."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    argv = [python, "-c", _REAL, "torch" if after_torch else "bare"]
    done = subprocess.run(
        argv,
        input=json.dumps(paths),
        env=env | environ,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    pairs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return {str(path): str(text) for path, text in pairs}


def make_stubs(target: LoaderTarget, paths: list[str], folder: Path, *, after_torch: bool) -> None:
    """Build a library for every soname that is missing, with the symbols that it must have.

    These are the symbols whose version names it, and those of the driver, which have none.
    """
    missing: set[str] = set()
    wanted: dict[str, dict[str, str]] = {}
    with Predictor(target) as predictor, Tree() as tree:
        for path in paths:
            prediction = predictor.predict(path, after_torch=after_torch)
            missing |= {reason.name for reason in prediction.missing}
            for symbol in File(read_elf(tree.open(path))).symbols.imports():
                name = symbol.name.decode()
                if symbol.version is not None:
                    wanted.setdefault(symbol.version.file, {})[name] = symbol.version.name
                elif re.match("cu[A-Z]", name):
                    wanted.setdefault("libcuda.so.1", {})[name] = ""
    for soname in sorted(missing):
        compile_stub(folder / soname, wanted.get(soname, {}))


def compile_stub(path: Path, symbols: dict[str, str]) -> None:
    """Build one library; symbols are name -> version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    versions: dict[str, list[str]] = {}
    for name, version in symbols.items():
        versions.setdefault(version, []).append(name)
    source = "".join(f"void *{name}(void) {{ return 0; }}\n" for name in symbols)
    argv = ["gcc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{path.name}", "-w", "-x", "c"]
    script = path.with_suffix(".map")
    nodes = [f"{v} {{ global: {'; '.join(names)}; }};" for v, names in versions.items() if v]
    if nodes:
        script.write_text("\n".join(nodes), encoding="utf-8")
        argv.append(f"-Wl,--version-script={script}")
    subprocess.run([*argv, "-", "-o", str(path)], input=source, text=True, check=True)


def compare(python: str, paths: dict[str, str], conditions: Conditions) -> list[Comparison]:
    """Compare all libraries (path -> wheel) in one interpreter."""
    mode, folders, after_torch, fresh = conditions
    described = describe(python)
    listed = list(paths)
    if mode == "stubs":
        shutil.rmtree(folders[0], ignore_errors=True)
        make_stubs(target_of(described, {}), listed, folders[0], after_torch=after_torch)
    path = ":".join(map(str, folders))
    environ = {} if mode == "bare" else {"LD_LIBRARY_PATH": path}
    predicted = predict(target_of(described, environ), listed, after_torch=after_torch)
    real: dict[str, str] = {}
    for some in [[one] for one in listed] if fresh else [listed]:
        real |= load(python, environ, some, after_torch=after_torch)
    torch = str(described["version"]) if after_torch else "not imported"
    listed_too = paths | ({_TORCH: "torch itself"} if after_torch else {})
    return [
        Comparison(
            wheel, Path(path).name, torch, mode, predicted[path], real.get(path, "no answer")
        )
        for path, wheel in listed_too.items()
    ]


def kind_of(text: str) -> str:
    """Return a real loader's words as one of a few kinds, for the table."""
    for pattern, kind in (
        ("^loads$", "loads"),
        ("cannot open shared object", "library missing"),
        ("undefined symbol", "symbol undefined"),
        ("version .* not found", "version missing"),
    ):
        if re.search(pattern, text):
            return kind
    return "other"


def table(results: list[Comparison]) -> str:
    """Return the results in Markdown: a table per torch, a line per wheel."""
    parts = []
    for torch in dict.fromkeys(one.torch for one in results):
        found = [one for one in results if one.torch == torch]
        modes = list(dict.fromkeys(one.mode for one in found))
        parts.append(f"### torch {torch}\n")
        parts.append(f"| wheel | libraries | {' | '.join(modes)} | equal |")
        parts.append("|---" * (3 + len(modes)) + "|")
        for wheel in dict.fromkeys(one.wheel for one in found):
            rows = [[one for one in found if (one.wheel, one.mode) == (wheel, m)] for m in modes]
            equal = sum(one.agrees for row in rows for one in row)
            cells = [f"{wheel}", f"{len(rows[0])}", *map(summary, rows)]
            parts.append(f"| {' | '.join(cells)} | {equal} of {sum(map(len, rows))} |")
        parts.append("")
    return "\n".join(parts)


def summary(found: list[Comparison]) -> str:
    """Return what the real loader said, counted."""
    kinds: dict[str, int] = {}
    for one in found:
        kinds[kind_of(one.real)] = kinds.get(kind_of(one.real), 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def main() -> int:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--wheel", action="append", default=[])
    parser.add_argument("--mode", action="append", choices=MODES, default=[])
    parser.add_argument("--library-path", action="append", type=Path, default=[])
    parser.add_argument("--no-torch", action="store_true", help="also without `import torch`")
    parser.add_argument("--fresh", action="store_true", help="a process for each library")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    cache = options.cache.resolve()
    chosen = [w for w in WHEELS if not options.wheel or {w, w.split("==")[0]} & {*options.wheel}]
    chosen += [w for w in options.wheel if "==" in w and w not in WHEELS]
    paths = {str(path): wheel for wheel in chosen for path in libraries(download(wheel, cache))}
    results = []
    for python in options.python or [sys.executable]:
        for mode in options.mode or MODES[:2]:
            folders = options.library_path if mode == "mixed" else [cache / "stubs"]
            for after_torch in (True, False) if options.no_torch else (True,):
                conditions = Conditions(mode, folders, after_torch, options.fresh)
                results += compare(python, paths, conditions)
    if options.markdown:
        print(table(results))
    for one in results:
        if not one.agrees:
            print(f"{one}", file=sys.stderr)
    wrong = sum(not one.agrees for one in results)
    print(f"{len(results)} loads, {wrong} differ", file=sys.stderr)
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
