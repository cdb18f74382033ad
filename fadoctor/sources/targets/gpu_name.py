"""Find the GPU that a person means by a name: ``V100``, ``RTX 4090``, ``sm_89``, ``gfx942``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import typed_cell
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.rule import Table

NAME_LIMIT = 80

_SM = r"sm_?(\d{1,2})(\d)[af]?"
_GFX = r"gfx[0-9a-f]{3,4}"
_PIECE = r"[a-z0-9.+]+"
_IGNORED = (
    r"nvidia|amd|geforce|tesla|grid|graphics|gpu|instinct|radeon|accelerator|generation|nvgpu"
    r"|sxm\d?|pcie|nvl\d*|hbm\d?e?|oam|dgxs|fhhl|ac|lc|ls|active|laptop|mobile|embedded|with"
    r"|max|q|design|edition"
    r"|\d+(gb|g|mib|gib)|gb|gib|mig|\d+g\.\d+gb"
)
"""Vendor words, form factors, and sizes of memory and of MIG instances."""

# GRID T4-16Q, NVIDIA A40-48Q, A100D-1-10C: a share of a board for a virtual machine
_SHARE = r"(?P<board>[a-z0-9 -]{2,60}?)(?P<size>dx?|x[lm]?|[ls]| dc)?(?:-\d)?-\d{1,3}(?:[abcq]|cme)"

_OF_LAPTOP = r"((?:1[06]|[2-5]0)[5-9]0)m$"
"""RTX 3060m, as people call the card of a laptop since the GTX 10 series."""

_SERIES = ("rtx", "gtx", "rx", "quadro")

_OTHER_VENDORS = (
    ("Intel", r"\b(?:intel|arc|iris|ponte vecchio|battlemage|gaudi\d?)\b"),
    ("Apple", r"\bapple\b|^m\d(?: (?:pro|max|ultra))?$"),
    ("Huawei", r"\b(?:huawei|ascend)\b"),
    ("Google", r"\btpu(?: ?v?\d\w{0,2})?\b"),
)
"""Vendors that no table of GPUs has, by words of their products' names."""


class GpuModel(msgspec.Struct, frozen=True):
    """One model of GPU. NVIDIA has a compute capability, AMD a gfx name."""

    name: str
    vendor: str
    compute_capability: str = ""
    gfx: str = ""


def find_gpu(text: str, tables: Mapping[str, Table]) -> GpuModel:
    """Return the GPU of that name; UsageError, with the nearest names, where there is none.

    Vendor words, form factors and memory sizes are ignored (``NVIDIA A100-SXM4-80GB``); any other
    word must be part of the name, so that ``RTX A1000`` is not taken for an A100.
    """
    lowered = text.strip().lower()
    if len(lowered) > NAME_LIMIT or not lowered.isprintable():
        raise UsageError(f"--gpu {_shown(text)}: not a name of a GPU")
    if match := re.fullmatch(_SM, lowered):
        return _by_capability(f"{match[1]}.{match[2]}", text, tables)
    known = list(models(tables))
    if re.fullmatch(_GFX, lowered) and lowered in _chips(tables):
        return GpuModel(lowered, "amd", gfx=lowered)
    found = _named(lowered, known) or _shared(lowered, known)
    if not found:
        raise UsageError(_no_such(text, known, tables))
    if len({(gpu.compute_capability, gpu.gfx) for gpu in found}) > 1:
        raise UsageError(f"--gpu {_shown(text)}: several GPUs have that name; say sm_XX")
    return found[0]


def _named(lowered: str, known: list[GpuModel]) -> list[GpuModel]:
    wanted = _key(lowered)
    found = [gpu for gpu in known if wanted and wanted == _key(gpu.name)]
    found = found or [gpu for gpu in known if wanted and wanted in _short_keys(gpu.name)]
    if not found:  # Quadro T2000, where the table says T2000
        plain = wanted.removeprefix("quadro")
        found = [gpu for gpu in known if plain != wanted and plain == _key(gpu.name)]
    return found


def _shared(lowered: str, known: list[GpuModel]) -> list[GpuModel]:
    """Return the board of which a virtual machine has a share.

    Between its name and the profile may stand letters for its size or form: A100D, V100DX, H100XM.
    An RTX8000 is the Quadro: its successors bear the word Ada or the letter A.
    """
    share = re.fullmatch(_SHARE, lowered)
    if not share:
        return []
    board, whole = share["board"], share["board"] + (share["size"] or "")
    found = _named(whole, known) or _named(board, known)
    return found or [gpu for gpu in known if _key(gpu.name) == f"quadro{_key(board)}"]


def gpus_by_key(tables: Mapping[str, Table]) -> dict[str, GpuModel]:
    """Return the products that one name alone has, by `key_of` that name, with its series."""
    found: dict[str, GpuModel] = {}
    for gpu in models(tables):
        known = found.setdefault(_key(gpu.name), gpu)
        if (known.compute_capability, known.gfx) != (gpu.compute_capability, gpu.gfx):
            found[_key(gpu.name)] = GpuModel(gpu.name, gpu.vendor)
    return {key: gpu for key, gpu in found.items() if gpu.compute_capability or gpu.gfx}


def key_of(name: str) -> str:
    """Return what tells models apart, as `gpus_by_key` has it."""
    return _key(name)


def _by_capability(capability: str, text: str, tables: Mapping[str, Table]) -> GpuModel:
    known = {word for row in tables["architectures"].rows for word in str(row["cc"]).split()}
    if capability not in known:
        names = ", ".join(f"sm_{cc.replace('.', '')}" for cc in sorted(known, key=_number))
        raise UsageError(f"--gpu {_shown(text)}: no such architecture. Known: {names}")
    return GpuModel(f"sm_{capability.replace('.', '')}", "nvidia", capability)


def _chips(tables: Mapping[str, Table]) -> set[str]:
    """Return the chips of AMD by their gfx names, also those that no product is named after."""
    return {str(row["gfx"]) for row in tables["amd-gpu-names"].rows}


def _number(capability: str) -> float:
    return float(capability)


def models(tables: Mapping[str, Table]) -> Iterator[GpuModel]:
    """Yield every model of the tables, NVIDIA's first."""
    for row in tables["gpu-names"].rows:
        for name in typed_cell(row.get("names") or (), "list"):  # type: ignore[union-attr]  # a list column
            yield GpuModel(name, "nvidia", str(row["cc"]))
    for row in tables["amd-gpu-names"].rows:
        for name in typed_cell(row.get("names") or (), "list"):  # type: ignore[union-attr]  # a list column
            yield GpuModel(name, "amd", gfx=str(row["gfx"]))


@lru_cache(maxsize=2048)
def _key(name: str) -> str:
    """Return what tells models apart, without spaces: ``rtx4090`` for NVIDIA GeForce RTX 4090."""
    tokens = (re.sub(_OF_LAPTOP, r"\1", token) for token in re.findall(_PIECE, name.lower()))
    return "".join(token for token in tokens if not re.fullmatch(_IGNORED, token))


def _short_keys(name: str) -> tuple[str, ...]:
    """Return a model's key without its series: people write ``4090`` and ``P2000``."""
    key = _key(name)
    short = (key.removeprefix(series) for series in _SERIES if key.startswith(series))
    # A Quadro RTX 6000 is no RTX 6000: that could be another one.
    return tuple(text for text in short if not text.startswith(_SERIES))


def _of_family(text: str, tables: Mapping[str, Table]) -> list[str]:
    """Return the architectures whose name a text contains: sm_107 for Vera Rubin."""
    words = set(re.findall(r"[a-z]{5,16}", text.lower()))
    rows = tables["architectures"].rows
    named = [str(row["cc"]) for row in rows if str(row.get("name", "")).lower() in words]
    every = [each for ccs in named for each in ccs.split()]
    return [f"sm_{cc.replace('.', '')}" for cc in sorted(every, key=_number)]


def _no_such(text: str, models: list[GpuModel], tables: Mapping[str, Table]) -> str:
    for vendor, words in _OTHER_VENDORS:
        if re.search(words, text.strip().lower()):
            return (
                f"--gpu {_shown(text)}: fadoctor has tables of NVIDIA's and AMD's GPUs, none "
                f"of {vendor}'s. `--gpu none` judges the packages alone."
            )
    wanted = _key(text)
    names = {gpu.name.lower(): gpu.name for gpu in models}
    import difflib  # noqa: PLC0415 -- only for an unknown name

    close = difflib.get_close_matches(text.lower(), names, n=4, cutoff=0.5)
    close.sort(key=lambda name: sorted(_key(name)) != sorted(wanted))  # 4900 is a slip for 4090
    holding = [gpu.name for gpu in models if len(wanted) > 2 and wanted in _key(gpu.name)]
    held = [gpu.name for gpu in models if len(_key(gpu.name)) > 3 and _key(gpu.name) in wanted]
    families = _of_family(text, tables)
    near = families or list(dict.fromkeys((*holding, *held, *(names[name] for name in close))))[:6]
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return (
        f"--gpu {_shown(text)}: unknown GPU: the tables do not list it.{hint} Names like V100, "
        "RTX 4090, sm_90 or none; give a newer GPU by its compute capability."
    )


def _shown(text: str) -> str:
    return printable(text.strip(), NAME_LIMIT)
