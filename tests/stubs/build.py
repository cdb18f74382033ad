"""Compile a stub driver library with gcc.

    python build.py nvml FOLDER [FUNCTION-TO-LEAVE-OUT ...]

writes ``FOLDER/libnvidia-ml.so.1``; put FOLDER on LD_LIBRARY_PATH to have it loaded. What the stub
plays is chosen by environment variables, which the head of its C source lists.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCES = {"nvml": ("nvml.c", "libnvidia-ml.so.1")}


def build(name: str, folder: Path, left_out: tuple[str, ...] = ()) -> Path:
    """Compile the stub of that name into a folder and return the library's path."""
    source, soname = SOURCES[name]
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / soname
    command = ["gcc", "-shared", "-fPIC", "-O0", "-Wall", "-Werror", f"-Wl,-soname,{soname}"]
    command += [f"-DWITHOUT_{function}" for function in left_out]
    command += ["-o", str(library), str(Path(__file__).with_name(source))]
    subprocess.run(command, check=True, timeout=60)
    return library


if __name__ == "__main__":
    build(sys.argv[1], Path(sys.argv[2]), tuple(sys.argv[3:]))
