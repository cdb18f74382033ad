"""An environment as a small tree: enough to say in what two nodes differ."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Known, printable
from fadoctor.model.packages import CORE, EXTENSIONS, PACKAGES
from fadoctor.model.typed import encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.fact import Fact

VALUE_LIMIT = 48
"""Longest value, in characters; of a longer one the start and a digest are kept."""
UNKNOWN = "?"
"""A value that nobody could read."""
_MOST = 60
"""Most keys of a section."""
_MOST_GPUS = 64

_FACTS = {
    "gpu": {
        "driver": "driver.version", "cuda": "driver.cuda", "visible": "gpu.visible_count",
        "module": "driver.kernel_module",
    },
    "py": {"version": "python.version", "kind": "python.implementation", "abi": "python.abi_tag"},
    "torch": {"cuda": "torch.cuda", "hip": "torch.hip", "build": "torch.build",
              "abi": "torch.cxx11_abi"},
    "tool": {"nvcc": "toolkit.nvcc.version", "gcc": "toolkit.gcc.version",
             "ptxas": "toolkit.ptxas.version"},
    "sys": {
        "kernel": "host.kernel", "glibc": "host.glibc", "glibcxx": "host.glibcxx",
        "system": "host.distribution", "machine": "host.machine", "container": "host.container",
    },
}  # fmt: skip
"""Section -> key -> the fact behind it."""

_NVIDIA = re.compile(r"nvidia-(nccl|cudnn|cublas|cuda-runtime)(?:-cu[0-9]{2})?")
_BINARY = ("size", "needed", "glibc", "cuda_major", "arch_list", "code", "cxx11_abi")
"""What tells builds of a binary apart where its build id was not read."""
ALL = "*"
"""The key of what stands for all packages together."""


def tree_of(
    facts: Mapping[str, Fact], image: str, builds: Mapping[str, str], by: dict[str, str]
) -> dict[str, dict[str, str]]:
    """Return an environment as section -> key -> value; what is absent has no key."""
    tree = {
        section: {key: text for key, name in keys.items() if (text := _text(facts.get(name)))}
        for section, keys in _FACTS.items()
    }
    tree["gpu"] |= _gpus(facts)
    tree["sys"] |= {"image": short(image)} if image else {}
    tree["pkg"], tree["lib"] = _packages(facts)
    tree["nv"] = _nvidia(facts)
    tree["bin"] = dict(_binaries(facts, builds))
    tree["env"] = _variables(facts)
    tree["by"] = by
    return {section: dict(list(keys.items())[:_MOST]) for section, keys in tree.items() if keys}


def short(text: str) -> str:
    """Return a value from outside as a short harmless text."""
    clean = printable(text, 10 * VALUE_LIMIT).encode("ascii", "replace").decode()
    if len(clean) <= VALUE_LIMIT:
        return clean
    return f"{clean[: VALUE_LIMIT // 2]}~{_digest(text)}"


def _text(fact: Fact | None) -> str:
    """Return a fact as a value, "" for one that is absent or that nobody asks for."""
    if fact is None or isinstance(fact, Absent):
        return ""
    if not isinstance(fact, Known):
        return UNKNOWN
    value = fact.value
    return short("yes" if value is True else "no" if value is False else str(value))


def _gpus(facts: Mapping[str, Fact]) -> dict[str, str]:
    count = facts.get("gpu.count")
    if not isinstance(count, Known):
        return {"models": UNKNOWN}
    number = count.value if isinstance(count.value, int) else 0
    models: Counter[str] = Counter()
    for index in range(min(number, _MOST_GPUS)):
        name = _text(facts.get(f"gpu[{index}].name"))
        kind = _text(facts.get(f"gpu[{index}].compute_capability"))
        mig = " MIG" if _text(facts.get(f"gpu[{index}].mig")) == "yes" else ""
        models[f"{name} {kind}{mig}".strip()] += 1
    shown = ", ".join(f"{times}x {model}" for model, times in sorted(models.items()))
    return {"models": short(shown) or "none"}


def _packages(facts: Mapping[str, Fact]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the packages that attention hangs on, and the others of the stack."""
    core: dict[str, str] = {}
    others: dict[str, str] = {}
    for key, names in PACKAGES.items():
        text = _text(facts.get(f"{key}.version"))
        if text:
            named = _text(facts.get(f"{key}.distribution"))
            shown = named if named and named != UNKNOWN else names[0]
            (core if key in CORE else others)[shown] = text
    installed = facts.get("packages.installed")
    if isinstance(installed, Known):
        others[ALL] = _digest_of(installed.value)
    return core, others


def _nvidia(facts: Mapping[str, Fact]) -> dict[str, str]:
    found = facts.get("packages.nvidia")
    if not isinstance(found, Known) or not isinstance(found.value, dict):
        return {}
    named = {
        match[1]: short(version)
        for name, version in sorted(found.value.items())
        if (match := _NVIDIA.fullmatch(name))
    }
    return named | ({ALL: _digest_of(found.value)} if found.value else {})


def _binaries(facts: Mapping[str, Fact], builds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, names in EXTENSIONS.items():
        for name in names:
            path = f"{key}.{name}"
            label = key if name == "binary" else path
            if path in builds:
                yield label, short(builds[path])
            elif isinstance(facts.get(f"{path}.file"), Known):
                seen = [getattr(facts.get(f"{path}.{each}"), "value", None) for each in _BINARY]
                is_seen = any(each is not None for each in seen)
                yield label, f"~{_digest_of(seen)}" if is_seen else UNKNOWN


def _variables(facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return the variables that are set: probes read no other and hide secrets in them."""
    return {
        short(name.removeprefix("env.")): short(str(fact.value)) or "(empty)"
        for name, fact in sorted(facts.items())
        if name.startswith("env.") and isinstance(fact, Known)
    }


def _digest_of(what: object) -> str:
    return _digest(encode(what, order="deterministic").decode())


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="backslashreplace"), digest_size=4).hexdigest()
