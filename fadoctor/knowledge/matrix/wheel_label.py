"""The label of a flash-attn wheel: what version, file name and origin say of the build."""

from __future__ import annotations

import re

from fadoctor.model.fact import Absent, Fact, Known, Unknown

STEM = "flash_attn_2_cuda"
"""Name of the extension, without the interpreter's suffix."""

# flash_attn-2.8.3+cu12torch2.4cxx11abiFALSE-cp311-cp311-linux_x86_64.whl
_WHEEL = (
    r"(?a)flash_attn-[^-+]{1,60}(?:\+(?P<local>[^-]{1,120}))?"
    r"(?:-[0-9][^-]{0,40})?-(?P<python>\w[\w.]{0,60})-[\w.]{1,60}-[\w.]{1,200}\.whl"
)
_OFFICIAL = "https://github.com/dao-ailab/flash-attention/releases/download/"
# cu12torch2.6cxx11abiFALSE, cu128torch2.7, cu124torch2.6.0cxx11abifalse
_CUDA = r"(?i)(?<![a-z0-9])cu([0-9]{2,3})(?![0-9])"
_TORCH = r"(?i)torch([0-9]{1,2}\.[0-9]{1,3})(?![0-9])"
_ABI = r"(?i)cxx11abi(true|false)(?![a-z])"
# flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so, flash_attn_2_cuda.cp311-win_amd64.pyd
_EXTENSION_TAG = r"\.(?:cpython-|cp)([0-9]{2,4}t?)-"
WHEEL_FACTS = ("origin", "torch", "cuda", "cuda_major", "cxx11_abi", "python")
"""What a label says; names of facts below `flash_attn.wheel`."""


def wheel_facts(version: Known, extension: Fact, facts: dict[str, Fact]) -> dict[str, Fact]:
    """Return what version, file name and origin say of the build."""
    recorded = facts.get("flash_attn.direct_url", Absent("no metadata of flash-attn"))
    url = recorded if isinstance(recorded, Known) else None
    name = (
        re.fullmatch(_WHEEL, str(url.value).rpartition("/")[2].replace("%2B", "+")) if url else None
    )
    local = str(version.value).partition("+")[2]
    if name is not None and url is not None and name["local"]:
        label, source = name["local"], url.source
    else:
        label, source = local, version.source
    out = _label_facts(label, f"{source}: {label}" if label else f"{source}: no label")
    if not label and isinstance(recorded, Unknown):
        out = dict.fromkeys(out, recorded)
    out["flash_attn.wheel.python"] = _python_tag(extension, facts, name["python"] if name else "")
    out["flash_attn.wheel.origin"] = _origin(recorded, local, version.source)
    return out


def _label_facts(label: str, source: str) -> dict[str, Fact]:
    cuda, torch, abi = re.search(_CUDA, label), re.search(_TORCH, label), re.search(_ABI, label)
    missing = Absent(source)
    return {
        "flash_attn.wheel.cuda": Known(f"cu{cuda[1]}", source) if cuda else missing,
        "flash_attn.wheel.cuda_major": Known(cuda[1][:2], source) if cuda else missing,
        "flash_attn.wheel.torch": Known(torch[1], source) if torch else missing,
        "flash_attn.wheel.cxx11_abi": Known(abi[1].lower() == "true", source) if abi else missing,
    }


def _python_tag(extension: Fact, facts: dict[str, Fact], in_url: str) -> Fact:
    """Return the tag of the extension's name, else of WHEEL, else of the recorded file name."""
    if isinstance(extension, Known) and (found := re.search(_EXTENSION_TAG, str(extension.value))):
        return Known(f"cp{found[1]}", extension.source)
    tags = facts.get("flash_attn.wheel.tags", Absent("no WHEEL"))
    if isinstance(tags, Known) and isinstance(tags.value, tuple) and tags.value:
        return Known(tags.value[0].partition("-")[0], f"{tags.source}: Tag: {tags.value[0]}")
    if in_url:
        return Known(in_url, "file name in direct_url.json")
    return Absent(tags.source) if not isinstance(tags, Unknown) else tags


def _origin(recorded: Fact, local: str, version_source: str) -> Fact:
    match recorded:
        case Unknown():
            return recorded
        case Known(value=str(url), source=source):
            remote = url.lower().startswith(("http://", "https://")) and url.lower().endswith(
                ".whl"
            )
            if not remote:
                return Known("local", source)  # a file, a folder, a checkout or a source archive
            official = url.lower().startswith(_OFFICIAL)
            return Known("official" if official else "community", source)
        case _:
            # The official files are renamed after the build: their metadata has no local version.
            if re.search(_TORCH, local):
                return Known("community", version_source)
            return Absent(recorded.source) if isinstance(recorded, Absent) else recorded
