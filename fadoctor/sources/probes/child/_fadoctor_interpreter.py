"""Print what the interpreter that runs this script is, as one JSON line.

Runs inside the environment that is examined: standard library only, Python 3.8 and newer. The line
starts on a line of its own and is the last one that starts with ``{``, whatever sitecustomize or
a ``.pth`` file print. Keys: see `InterpreterAnswer` in fadoctor/sources/probes/interpreter.py.
"""

from __future__ import annotations

import os
import sys
import sysconfig

SCHEMA = 1
MAX_FOLDERS = 200
MAX_TEXT = 4096
PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}
"""Characters that JSON writes as they are."""


def main() -> None:
    """Write what this interpreter is, or why that cannot be told."""
    _forget_own_folder()
    _write("\n" + _json(answer(sys.path)) + "\n")


def answer(path: list[str]) -> dict[str, object]:
    """Return what this interpreter is, with the entries of `path` as those of its sys.path."""
    try:
        return {"schema": SCHEMA, "ok": True, **_collect(path)}
    except Exception as error:
        return {"schema": SCHEMA, "ok": False, "error": _text(repr(error))}


def _forget_own_folder() -> None:
    """Take this script's folder, and what is no folder's name, off sys.path."""
    own = os.path.dirname(os.path.abspath(__file__))
    entries: list[object] = list(sys.path)
    paths = [p for p in entries if isinstance(p, str) and p]
    sys.path[:] = [p for p in paths if os.path.abspath(p) != own]


def _collect(path: list[str]) -> dict[str, object]:
    suffix = _text(sysconfig.get_config_var("EXT_SUFFIX"))
    name = sys.implementation.name
    short = {"cpython": "cp", "pypy": "pp"}.get(name, name)
    tag = f"{short}{sys.version_info[0]}{sys.version_info[1]}"
    return {
        "version": _version(),
        "implementation": _text(name),
        "tag": _text(tag),
        "abi_tag": _abi_tag(suffix) or _text(tag),
        "ext_suffix": suffix,
        "platform_tag": _platform_tag(),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "executable": _text(sys.executable),
        "prefix": _text(sys.prefix),
        "base_prefix": _text(sys.base_prefix),
        "headers": _headers(),
        "externally_managed": _externally_managed(),
        "stdlib": _text(os.path.dirname(os.path.abspath(os.__file__))),
        "sys_path": _folders(path),
    }


def _version() -> str:
    info = sys.version_info
    level = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(info.releaselevel)
    end = f"{level}{info.serial}" if level else ""
    return f"{info[0]}.{info[1]}.{info[2]}{end}"


def _abi_tag(suffix: str) -> str:
    """Return cp311 for ``.cpython-311-x86_64-linux-gnu.so``, pypy39_pp73 for PyPy's; else empty."""
    parts = suffix.split(".")[1].split("-") if suffix.count(".") > 1 else []
    if len(parts) > 1 and parts[0] == "cpython":
        return "cp" + parts[1]
    if parts and parts[0].startswith("cp"):  # Windows: .cp311-win_amd64.pyd
        return parts[0]
    return "_".join(parts[:2])


def _platform_tag() -> str:
    tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if sys.maxsize < 1 << 32:  # a 32-bit interpreter on a 64-bit kernel names the kernel
        tag = {"linux_x86_64": "linux_i686", "linux_aarch64": "linux_armv8l"}.get(tag, tag)
    return _text(tag)


def _headers() -> str:
    """Return the path of Python.h, or nothing where it is not installed."""
    for key in ("include", "platinclude"):
        path = os.path.join(sysconfig.get_path(key) or "", "Python.h")
        if os.path.isabs(path) and os.path.isfile(path):
            return _text(path)
    return ""


def _externally_managed() -> bool:
    """Whether a marker file forbids pip here. pip heeds it only outside of virtual environments."""
    marker = os.path.join(sysconfig.get_path("stdlib") or "", "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.isfile(marker)


def _folders(path: list[str]) -> list[str]:
    """Return the folders of sys.path, absolute; zip files and what is not there left out."""
    folders = [_text(os.path.abspath(p)) for p in path if os.path.isdir(p)]
    return folders[:MAX_FOLDERS]


def _text(value: object) -> str:
    """Return text that any JSON reader accepts: lone surrogates become ``?``."""
    text = value if isinstance(value, str) else ""
    return text.encode("utf-8", "replace").decode("utf-8")[:MAX_TEXT]


def _json(value: object) -> str:
    """Return a value as JSON, in ASCII; the module of that name would be half of this start."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(key)}: {_json(value[key])}" for key in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_json, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(c if c in PLAIN else _escaped(c) for c in value) + '"'
    return str(value).lower()  # a number, or true or false


def _escaped(character: str) -> str:
    """Return a character as JSON spells it: one beyond 16 bits as the two halves of UTF-16."""
    units = character.encode("utf-16-be").hex()
    return "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4))


def _write(line: str) -> None:
    """Write to the real standard output: sys.stdout may have been replaced or closed."""
    data = line.encode("ascii")
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
    # Nothing after the answer: output that sitecustomize left in a buffer, its exit handlers, its
    # threads, a crash while the interpreter is taken apart.
    os._exit(0)
