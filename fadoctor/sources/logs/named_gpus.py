"""The GPUs that a line names: by a product's name, or by a number that something calls a card."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.environment import SUBJECT_LIMIT
from fadoctor.sources.logs.gone import is_gone
from fadoctor.sources.pasted.claims import Claim
from fadoctor.sources.pasted.names import (
    AMD_APU,
    AMD_CODE_NAMES,
    AMD_FAMILY,
    BARE_GPU,
    BARE_RADEON,
    GPU_NAME,
    OTHER_RADEON,
    RYZEN,
    RYZEN_AI_MAX,
)
from fadoctor.sources.targets.gpu_name import GpuModel, gpus_by_key, key_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.model.rule import Table
    from fadoctor.sources.pasted.claims import PastedLine

    Spoken = tuple[Claim, tuple[int, int]]
    """A claim, and where in its line it stands."""

TOOL = "a line of the log"

OF_A_PROCESSOR = "a line of the log, on a processor"
"""Graphics of a processor are meant only where no card is named."""

OF_A_MODEL = "a line of the log, on a model of processor"
"""They are meant only where a torch for ROCm is told, too."""

OF_CODE = "a line of the log, on code"
"""What HIP looks for code for is another chip than the GPU where a variable says so."""

READ_AGAIN = 2_048
"""Lines whose GPUs are kept: three readers ask one after another."""

MOST = 24
"""Mentions of one kind in one line, at most, that are read."""

SHORT = 4
"""Product names of fewer characters (L4, M40) are words of other things, too."""

# 8x A100, 4 * H100, 2张RTX 3090: how many of the GPU that is named behind
_TIMES = compiled(
    r"(?:(?<![\w.])(?P<times>\d{1,2}) ?(?:[x\u00d7*]|个|张|块|台|枚|卡|장)"
    r"|(?P<word>[一二两双三四五六七八]) ?(?:个|张|块|台|枚|卡)"
    r"|(?<!\w)(?P<english>(?i:two|dual|both|three|four|eight))) ?$"
)
# One look at most lines instead of six: a letter and a number, or a number of four digits that ends
# as those of cards do; and the names without such a number, in small letters.
_CARD_NUMBER = compiled(
    r"[0-9](?:(?<=[A-Zrvpkmtahlxi][0-9])|(?<=[A-Za-z][ -][0-9])[0-9]{2}"
    r"|[0-9](?:[05-9]0|[0-9][05][Ss]|0[Mm]))"
)
_CARD_WORDS = (
    "titan",
    "spark",
    "xavier",
    "orin",
    "thor",
    "vega",
    "vii",
    "strix",
    "krack",
    "ai max",
    "ai-max",
    "aimax",
)
# The numbers of `BARE_GPU` and of `BARE_RADEON`: most lines that may name a GPU have none.
_BARE_NUMBER = compiled(r"[1-5][06][5-8]0|[2-5]0[5-9]0")
_BARE_RX = compiled(r"[5679][0-9][0567]0 ?[xXgGmMsS]")
_FAMILY_WORDS = (
    "vega", "radeon", "rx", "0xt", "0 xt", "0gre", "0 gre", "r5", "r7", "r9", "wx", "navi",
    "polaris", "mi-", "bc250", "bc-250", "ellesmere", *map(str.lower, AMD_CODE_NAMES),
)  # fmt: skip
"""One of them is in every name of `AMD_FAMILY`, in small letters."""
# on a T4 | my P40 | two L4 | 4xT4 | 四卡T4 | 在P40上 | auf der P40 | на P40
_HAD = compiled(
    r"(?i)(?:\b(?:my|an?|our|two|four|dual|single|old|\d ?x) |\d ?[x\u00d7*] ?|[张块个台枚卡在用] ?"
    r"|\b(?:auf (?:der|einer|meiner)|sur (?:un|ma)|en (?:una?|la|mi)|em uma?|(?<!\w)на) )$"
)
# my Strix Halo (gfx1151), AMD APU (gfx1150, Radeon 890M): one in a line, where lists hold several
_GFX = compiled(r"(?<=\w) \((?P<gfx>gfx(?:9[0-9a-f]{2}|1\d{3}))(?=[),;])")
# Device 0: NVIDIA CMP 40HX, compute capability 7.5, VMM: yes: old builds for ROCm print this, too
# inference compute id=0 library=CUDA compute=6.1 | skipping CUDA device device="NVIDIA X" cc=610
_OF_GGML = compiled(
    r"\bDevice \d{1,2}: (?:NVIDIA|Tesla|Quadro|GeForce|GRID)\b[^,\n]{0,80}, compute capability "
    r"(?P<listed>\d{1,2}\.\d)\b"
    r"|\blibrary=(?:CUDA|cuda)\b[^\n]{0,80}?\bcompute=(?P<chosen>\d{1,2}\.\d)\b"
    r"|\bdevice=[^\n]{1,80} cc=(?P<major>\d{1,2}?)(?P<minor>\d)0 archs="
)
_ABOUT_GPUS = compiled(r"(?i)\b(?:amd|radeon|rocm|i?gpus?|laptop)\b")
_ABOUT_ROCM = compiled(r"(?i)\brocm|\bhip\b|\bigpu\b|\bintegrated\b")
ABOUT_ROCM = compiled(r"(?i)\brocm(?:\d|info)?\b")
_PROCESSORS, _OF_ROCM = "processor-graphics", "+rocm"
_ANY_GFX = compiled(r"\bgfx\d[0-9a-f]{2,3}\b")
_OF_AMD = ("", "Radeon ", "Radeon AI PRO ")
_RADEONS = (BARE_RADEON, OTHER_RADEON, AMD_APU, RYZEN_AI_MAX)
_BRANDS_OF_AMD = ("Radeon", "Instinct")
AMD = "amd"
# Colab's T4, AWS g4dn.xlarge (T4): where machines are rented, a short name is a GPU's
_RENTED = compiled(
    r"(?i)\b(?:colab|kaggle|sagemaker|runpod|vast\.ai|databricks|ec2|aws|gcp|azure|g4dn)\b|谷歌云|阿里云"
)
_RENTED_OUT = frozenset({"T4", "L4", "K80", "M60", "A10"})
# RTX A6000 x 2 | T4 x2 | 3090*4 behind a name, but not: 4090 x 24 GB
_TIMES_BEHIND = compiled(r" ?[x\u00d7*] ?(?P<times>[2-9]|16)(?![\w.]| ?G)")
_SERIES = {"W": "PRO", "V": "PRO", "A": "RTX"}
"""What stands before names of professional cards, by their first letter: RTX A6000, PRO W7900."""
_NUMERALS = {"两": 2, "双": 2, **{word: at for at, word in enumerate("一二三四五六七八", 1)},
             "two": 2, "dual": 2, "both": 2, "three": 3, "four": 4, "eight": 8}  # fmt: skip


def named_gpus(
    line: PastedLine, models: dict[str, GpuModel], tables: Mapping[str, Table]
) -> Iterator[Spoken]:
    """Yield the GPUs that a line names; a short name only where the line is about one."""
    if not _may_speak(line.text):
        return
    gpus = _named_gpus(line.text)
    if not gpus and (found := _GFX.search(line.text)):
        yield from ((claim, found.span()) for claim in _gfx(found["gfx"], line))
    is_known = False
    for found, names in gpus:
        if not models:
            models |= gpus_by_key(tables)
        known = (models[key] for name in names if (key := key_of(name)) in models)
        gpu = next((each for each in known if not _is_of_amd(found) or each.vendor == AMD), None)
        if gpu is None:
            continue
        is_known = True
        if is_gone(line.text, *found.span()):
            continue
        start = found.start("name" if "name" in found.re.groupindex else 0)
        times = _TIMES.search(line.text[max(0, start - 6) : start])
        times = times or _TIMES_BEHIND.match(line.text, found.end())
        many = min(_many(times) if times else 1, SUBJECT_LIMIT)
        is_small = "small" in found.re.groupindex and found["small"]
        tool = OF_A_PROCESSOR if is_small else TOOL
        for index in range(many):
            yield from ((claim, found.span()) for claim in _gpu(gpu, index, line, tool))
    if not gpus:
        yield from _of_processors(line, tables)
    if not is_known:
        yield from _of_family(line, models, tables)
        yield from _of_ggml(line)


@lru_cache(maxsize=READ_AGAIN)
def _may_speak(text: str) -> bool:
    """Return whether a line may name a GPU in any way; of most lines it is asked three times."""
    small = text.lower()
    if any(word in small for word in _FAMILY_WORDS) and AMD_FAMILY.search(text):
        return True
    return bool(
        _named_gpus(text) or _GFX.search(text) or RYZEN.search(text) or _OF_GGML.search(text)
    )


def _of_ggml(line: PastedLine) -> Iterator[Spoken]:
    """Yield the GPU of NVIDIA that ggml or Ollama prints with its compute capability."""
    if found := _OF_GGML.search(line.text):
        capability = found["listed"] or found["chosen"] or f"{found['major']}.{found['minor']}"
        for fact, value in (("compute_capability", capability), ("vendor", "nvidia")):
            yield Claim(f"gpu[0].{fact}", value, line.number, TOOL), found.span()


def _of_family(
    line: PastedLine, models: dict[str, GpuModel], tables: Mapping[str, Table]
) -> Iterator[Spoken]:
    """Yield what is known of a GPU that only AMD calls so: mostly whose it is."""
    found = AMD_FAMILY.search(line.text)
    if found is None or is_gone(line.text, *found.span()):
        return
    if not models:
        models |= gpus_by_key(tables)
    keys = (key_of(name) for name in (found[0], f"PRO {found[0]}"))
    gpu = next((models[key] for key in keys if key in models), None)
    tool = OF_A_PROCESSOR if found["small"] else TOOL
    if gpu is not None and gpu.vendor == AMD:
        yield from ((claim, found.span()) for claim in _gpu(gpu, 0, line, tool))
    else:
        yield Claim("gpu[0].vendor", AMD, line.number, tool), found.span()


def _of_processors(line: PastedLine, tables: Mapping[str, Table]) -> Iterator[Spoken]:
    """Yield the graphics of a processor that a line names by its model."""
    found = RYZEN.search(line.text)
    if found is None or _PROCESSORS not in tables or is_gone(line.text, *found.span()):
        return
    number = (found["model"] or found["apu"]).upper()
    model = f"{'AI-' if found['ai'] else ''}{number}"
    for row in tables[_PROCESSORS].rows:
        if model in cell_words(row["processor"]):
            gpu = GpuModel(str(row["graphics"]), AMD, gfx=str(row["gfx"]))
            tool = OF_A_PROCESSOR if _ABOUT_ROCM.search(line.text) else OF_A_MODEL
            yield from ((claim, found.span()) for claim in _gpu(gpu, 0, line, tool))


def without_gone(text: str) -> str:
    """Return a line without the cards of which it says that they were taken out."""
    for found, _ in sorted(_named_gpus(text), key=lambda each: each[0].start(), reverse=True):
        if is_gone(text, *found.span()):
            text = text[: found.start()] + text[found.end() :]
    return text


@lru_cache(maxsize=READ_AGAIN)
def _named_gpus(text: str) -> tuple[tuple[re.Match[str], tuple[str, ...]], ...]:
    """Return where a text names a GPU, and what it may be called."""
    return tuple(_named_in(text)) if _may_name(text) else ()


def _named_in(text: str) -> Iterator[tuple[re.Match[str], tuple[str, ...]]]:
    for found in islice(GPU_NAME.finditer(text), MOST):
        name, brand = found["name"], (found["brand"] or "").title()
        is_marked = found["maker"] or brand or "GPU" in text or "显卡" in text
        is_marked = is_marked or (name in _RENTED_OUT and _RENTED.search(text))
        is_marked = is_marked or _TIMES_BEHIND.match(text, found.end())
        if len(name) >= SHORT or is_marked or _HAD.search(text[: found.start()]):
            series = "Quadro" if brand.startswith("Quadro") else _SERIES.get(name[0], "")
            yield found, (f"{series} {name}", name) if series else (name,)
    for found in islice(BARE_GPU.finditer(text), MOST) if _BARE_NUMBER.search(text) else ():
        is_time = found["many"] and (found["lead"] or "").strip().lower() in ("a", "an", "")
        if not is_time and (found["lead"] or found["kind"] or found["noun"]):
            series = "GTX" if found["name"] < "2" else "RTX"
            yield found, (f"{series} {found['name']}{found['kind'] or ''}",)
    for found in _bare_radeons(text):
        yield found, (f"RX {found['name']} {found['kind']}",)
    for found in islice(OTHER_RADEON.finditer(text), MOST):
        yield found, (found["name"], f"RX {found['name']}")
    for found in islice(AMD_APU.finditer(text), MOST):
        if not found["small"] or found["maker"] or found["noun"] or "GPU" in text:
            yield found, tuple(f"{kind}{found['name']}" for kind in _OF_AMD)
    for found in islice(RYZEN_AI_MAX.finditer(text), MOST):
        number = found["number"] or found["before"]
        yield found, (f"Ryzen AI Max+ {number}", f"Ryzen AI Max {number}")


def _may_name(text: str) -> bool:
    """Return whether a text holds what no name of a GPU can miss."""
    small = text.lower()
    return bool(_CARD_NUMBER.search(text)) or any(word in small for word in _CARD_WORDS)


def _is_of_amd(found: re.Match[str]) -> bool:
    """Return whether only AMD calls a GPU so: a Radeon 610M is no GeForce 610M."""
    is_branded = found.re.pattern == GPU_NAME.pattern and (found["brand"] or "").startswith(
        _BRANDS_OF_AMD
    )
    return is_branded or any(found.re.pattern == each.pattern for each in _RADEONS)


def _bare_radeons(text: str) -> Iterator[re.Match[str]]:
    """Yield cards without their series; 6800M is one only where the line is about GPUs."""
    for found in islice(BARE_RADEON.finditer(text), MOST) if _BARE_RX.search(text) else ():
        if not found["small"] or _ABOUT_GPUS.search(text):
            yield found


def _gfx(gfx: str, line: PastedLine) -> Iterator[Claim]:
    if {each.group() for each in islice(_ANY_GFX.finditer(line.text), MOST)} == {gfx}:
        yield Claim("gpu[0].vendor", AMD, line.number, TOOL)
        yield Claim("gpu[0].gfx", gfx, line.number, TOOL)


def _many(times: re.Match[str]) -> int:
    named = times.groupdict()
    if named["times"]:
        return int(named["times"])
    return _NUMERALS[named.get("word") or str(named.get("english")).lower()]


def _gpu(gpu: GpuModel, index: int, line: PastedLine, tool: str) -> Iterator[Claim]:
    at = f"gpu[{index}]"
    yield Claim(f"{at}.name", gpu.name, line.number, tool)
    yield Claim(f"{at}.vendor", gpu.vendor, line.number, tool)
    if gpu.compute_capability:
        yield Claim(f"{at}.compute_capability", gpu.compute_capability, line.number, tool)
    if gpu.gfx:
        yield Claim(f"{at}.gfx", gpu.gfx, line.number, tool)


def cards_first(
    claims: Iterable[Claim], told: Iterable[Claim], *, is_on_rocm: bool = False
) -> list[Claim]:
    """Return claims without a processor's graphics, where they or others tell of a card beside it.

    A torch for CUDA and NVIDIA's driver tell of one that no line names. So do others outweigh the
    chip for which HIP looks for code. `is_on_rocm`: the text speaks of ROCm, so that a model of
    processor means its graphics.
    """
    kept = list(claims)
    every = (*kept, *told)
    left_out = [OF_A_PROCESSOR, OF_A_MODEL] if any(map(_tells_of_card, every)) else []
    is_told = is_on_rocm and not any(map(_is_of_a_card, every))
    if not is_told and not any(_OF_ROCM in str(each.value) for each in told):
        left_out.append(OF_A_MODEL)
    if any(each.name.endswith(".gfx") and each.tool != OF_CODE for each in every):
        left_out.append(OF_CODE)
    return [each for each in kept if each.tool not in left_out]


def _is_of_a_card(claim: Claim) -> bool:
    """Return whether a claim says whose a card is that no table has."""
    return claim.name.endswith(".vendor") and claim.tool == TOOL


def _tells_of_card(claim: Claim) -> bool:
    if claim.name.startswith("gpu["):
        is_named = claim.name.endswith((".name", ".compute_capability"))
        return is_named and claim.tool not in (OF_A_PROCESSOR, OF_A_MODEL)
    return claim.name.startswith("driver.") or "+cu" in str(claim.value)
