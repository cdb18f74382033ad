"""What people and tools call the things that facts are about, and how they write versions."""

from __future__ import annotations

import re

from fadoctor.model.packages import COMPANIONS, PACKAGES
from fadoctor.syntax.patterns import compiled

DISTRIBUTIONS: dict[str, str] = {
    **{name: name for name in COMPANIONS},
    **{name: name for names in PACKAGES.values() for name in names},
    **{
        name: name
        for name in (
            "comfyui",
            "deep-gemm",
            "fastvideo",
            "flash-mla",
            "llama-cpp-python",
            "natten",
            "pytorch-lightning",
            "sageattention",
            "sgl-kernel",
            "spas-sage-attn",
            "torchdata",
            "torchtext",
        )
    },
    "pytorch": "torch",
    "bnb": "bitsandbytes",
    "llama-factory": "llamafactory",
}
"""What names a distribution, in small letters with hyphens -> the distribution.

"Flash Attention 2.0" is what transformers calls an interface.
"""

NAME = "|".join(
    sorted((name.replace("-", "[-_]") for name in DISTRIBUTIONS), key=len, reverse=True)
)
"""A pattern for any of them."""

VERSION = (
    r"(?P<version>(?!\d\d\.\d\d-py3)\d{1,4}(?:\.\d{1,8}){1,3}(?:(?:a|b|rc|\.?dev|\.?post)\d{1,10}(?=\+))?"
    r"(?:[.+_-]?[a-zA-Z0-9]{1,20}(?:\.[a-z0-9]{1,20}){0,3})?)"
)
"""A version as it stands in texts: 2.6.0, 2.8.0+cu128, 0.0.29.post3, 2.6.0a0+nv25.01."""

PLAIN_VERSION = compiled(r"v?(?P<version>\d{1,5}(?:\.\d{1,5}){1,3}[\w.+!-]{0,60}?)")

WISH = compiled(
    r"(?i)require(?!\w{1,5} already)|depend|\bneed(?:s|ed)?\b"
    r"|incompatible|specifier|built for|>=|<=|collecting(?! metrics)|download|e\.g\.|such as"
    r"|upgrad|downgrad|\bshould\b|\btry\b|\bworks?\b|recommend|or (?:newer|higher|later|above)"
    r"|at least|\bsince\b|\bunlike\b|instead of|\buntil\b|only supports?|\bother\b"
    r"|\b(?:pip3?|uv|conda|mamba|poetry) (?:pip )?(?:install|add|download|wheel)\b"
    r"|(?:升级到|降级到)(?![^\n]{0,30}(?:之后|以后|后))|换成|改成|建议|推荐|需要|要求|以上|及以上|以下|支持的|必要|推奨|以降|が必要|필요|권장"
)
"""xformers 0.0.27 requires torch==2.4.0: what is wanted is not what is there."""


GPU_NAME = compiled(
    r"(?:(?<![\w.-])(?<![^w]/)|(?<=[1-9]x))(?P<maker>(?:NVIDIA|AMD|Nvidia|nvidia)[ -])?"
    r"(?P<brand>(?:GeForce|Geforce|geforce|Tesla|tesla|[Qq]uadro|GRID|Radeon|Instinct)[ -])?"
    r"(?P<name>(?:(?:RTX|GTX|RX|TITAN|[Rr]tx|[Gg]tx|[Rr]x|CMP)[ -]?)(?:PRO )?"
    r"[A-Z]{0,2}\d{3,4}(?:[A-Z]{0,2}|m)"
    r"(?:[ -]?(?:Ti|ti|TI|SUPER|Super|super|XTX|XT|xtx|xt|GRE|gre|SFF|Ada|D)\b){0,2}"
    r"|(?:GT|gt|Gt) ?\d{3,4}M?|(?:MX|mx|Mx) ?[1-5][0-9]0|(?<=[Ff]orce )(?:9\d{2}M|\d{3}MX|\d{3})"
    r"|(?:PRO |Pro |pro )?[WV]\d{3,4}[DM]?(?: Dual Slot)?"
    r"|(?<=[Tt]esla )[vpkmt]\d{1,3}[cmsx]?|(?:(?<=vidia )|(?<=VIDIA ))[vpkmtahl]\d{1,3}"
    r"|[vah]100s?|[ah]800|[vpkm]\d{2,3}(?= (?:gpu|card|\d{2} ?gb))"
    r"|L40s(?!\w)|[ABHVPKMTL]\d{1,4}[A-Z]{0,2}|G[BH]\d{2,3}|(?:MI|[Mm]i)\d{2,3}[AXax]?"
    r"|(?:GTX )?(?:TITAN|[Tt]itan) (?:RTX|[Rr]tx|V|X Pascal|Xp?|Black|Z)(?!\w)|Orin|Thor"
    r"|DGX Spark|AGX Xavier|Xavier NX)"
    r"(?!(?!s\b)\w|\.\w|-\d\b)"
)
"""The name of a GPU, with its maker, its brand, or neither."""

BARE_GPU = compiled(
    r"(?i)(?<![\w./$:#=-])(?P<lead>(?:\b(?:my|an?|our|two|three|four|dual|single|old|new|both"
    r"|dedicated|discrete|meiner?|mi|ma|mon|minha|eine|une|una|uma)|\d ?x"
    r"|[\u00d7\u5f20\u5757\u4e2a\u53f0\u7528\u5728\u53cc]"
    r"|\d ?\u5361|(?<!\u6253)\u5361(?:\u4e3a|\u662f)?"
    r"|\bnvidia(?: geforce)?|\bgeforce|\b(?:gpu|card|vga) ?(?:is|:)"
    r"|(?:\u30b0\u30e9\u30dc|gpu)(?:\u306f|\u304c)|\u663e\u5361(?:\u662f|\u4e3a)?"
    r"|(?:\ube44\ub514\uc624|\uadf8\ub798\ud53d) ?\uce74\ub4dc(?:\ub294|\uac00)"
    r"|gpu(?:\ub294|\uac00)|(?<!\w)\u043d\u0430)\s?)?"
    r"(?P<name>10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[5-9]0|50[5-9]0)"
    r"(?P<kind>[ -]?(?:ti(?: super)?|super|d)\b|(?-i:S\b))?(?P<many>s)?(?!\w|[.,:%]\d|-\d|\u5e74)"
    r"(?P<noun> (?:cards?|gpus?|laptop)\b| on (?:windows|linux|ubuntu)\b| \(?\d{1,2} ?gb\b"
    r"| ?\u7684?(?:\u670d\u52a1\u5668|\u673a\u5668|\u4e3b\u673a|\u663e\u5361)"
    r"| ?(?:\u986f\u5361|\u7b14\u8bb0\u672c|\u72ec\u663e|\u30ce\u30fc\u30c8"
    r"|\uadf8\ub798\ud53d|\ub178\ud2b8\ubd81))?"
)
"""A GeForce without its series, as people say it: my 3090, 4070 Ti, 2x3090, a 4060 laptop.

Something beside the number must say that it is a card.
"""

BARE_RADEON = compiled(
    r"(?i)(?:(?<![\w./$:#=-])|(?<=\bamd))(?<!rx )(?P<name>(?:5[3-7]|6[4-9]|7[6-9])[05]0|90[67]0)"
    r" ?(?P<kind>xtx?|gre|(?P<small>[ms]))(?!\w|-\d)"
)
"""A Radeon without its series: 7900xtx, 9070 XT. The letters behind the number say what it is.

6800M may be an amount of memory: a line has to be about the GPU.
"""

OTHER_RADEON = compiled(
    r"(?i)(?<![\w./$:#=-])(?P<name>Radeon (?:Pro )?VII|(?:RX ?)?Vega ?(?:56|64)"
    r"|(?:Radeon )?R9 (?:Fury(?: ?X)?|Nano))(?!\w|\.\w|-\d)"
)
"""Cards of AMD whose names have no number of a series."""

AMD_APU = compiled(
    r"(?i)(?<![\w./$:#=-])(?<!geforce )(?<!gtx )(?:(?P<maker>Radeon|AMD)(?:\(TM\)|\u2122)? )?"
    r"(?P<name>80\d[05]S|(?P<small>[678]\d0M)|Strix[ -]?(?:Halo|Point)|Krackan(?: Point)?"
    r"|(?:AI PRO )?R9[67]00[DS]?)(?!\w|\.\w|-\d)"
    r"(?P<noun> (?:i?GPU|graphics)\b| ?(?:\u6838\u663e|\u96c6\u663e|\u663e\u5361))?"
)
"""Graphics of AMD's processors, and cards whose names have no RX.

The small ones are beside a card in many laptops: a line has to be about the GPU.
"""

AMD_CODE_NAMES = {
    "Raven": r"(?: 2| Ridge)?", "Picasso": "", "Renoir": "", "Lucienne": "", "Cezanne": "",
    "Barcelo": "", "Rembrandt": "", "Phoenix": r"\d?", "Hawk Point": r"\d?", "Mendocino": "",
    "Raphael": "", "Granite Ridge": "",
}  # fmt: skip
"""Code names of processors, and what may follow each.

Some are painters: they count only beside AMD or a word of graphics.
"""
_OF_APUS = "|".join(f"{name}{more}" for name, more in AMD_CODE_NAMES.items())
_PLACES = ("Phoenix", "Hawk Point", "Granite Ridge")
_PAINTERS = "|".join(name for name in AMD_CODE_NAMES if name not in _PLACES)
"""Code names that hardly anything else has where a GPU is the subject."""

AMD_FAMILY = compiled(
    r"(?i)(?<![\w./$:#=-])(?:(?P<small>(?:RX ?)?Vega ?(?:3|6|7|8|1[016])"
    rf"|Radeon(?:\(TM\)|\u2122)? \d{{3}}M|(?:(?<=AMD )|(?<=TI\] ))(?:{_OF_APUS})"
    rf"|(?:{_OF_APUS})(?= (?:APU|i?GPU)\b))"
    r"|RX[ -]?\d{3,4}[A-Z]{0,3}|(?:5[3-7]|6[4-9]|7[6-9])[05]0 ?(?:XTX?|GRE)|Vega Frontier"
    r"|(?:Radeon )?R[579] ?M?[23]\d{2}X?|WX ?[2-9]\d00|Navi ?[1-4]\d"
    r"|Polaris ?[12]\d|Ellesmere|MI-\d{2,3}[AX]?|BC-?250)(?!\w|\.\d|-\d)"
)
"""GPUs of AMD that no table has, by what only AMD calls its own. R5 5600X is a processor."""

# a version, a number of a product, or one of the products that have none: my Strix Halo
NUMBERED = compiled(
    r"(?i)[0-9]|strix|krackan|radeon (?:pro )?vii|vega frontier|ellesmere"
    rf"|\b(?:{_PAINTERS})\b|\b(?:amd|ati\]) (?:{'|'.join(_PLACES)})\b"
    r"|\b(?:fury|nano|titan|orin|thor|xavier|dgx spark)\b"
)

RYZEN_AI_MAX = compiled(
    r"(?i)(?<![\w./$:#=-])(?:(?P<before>[34][89]\d) (?:Ryzen )?AI ?Max\b"
    r"|(?:Ryzen )?AI[ -]?Max ?\+? ?(?:PRO )?(?P<number>[34][89]\d)(?!\w|[.,:%]\d))"
)
"""A processor of Strix Halo: Ryzen AI Max+ 395, AI MAX+ PRO 385, AMD 395 AI MAX+."""


RYZEN = compiled(
    r"(?i)(?<![\w./$:#=-])(?:(?:Ryzen(?:\(TM\)|\u2122)?(?: [3579])?|R[3579])[ -]"
    r"(?P<ai>(?<=n )AI )?(?:[3579] )?(?:PRO )?(?:HX )?(?:PRO )?"
    r"(?P<model>\d{3,4}(?:HX|HS|GE?|[HUZC])?)"
    r"|(?:AMD )?(?P<apu>[2-58][2-7][05][05]GE?))(?!\w|[.,:%]\d|-\d)"
)
"""A processor with graphics: Ryzen 7 7840HS, Ryzen AI 9 HX 370, R5 5600G, a 5600G.

Only processors of AMD for desktops with graphics have a number and a G.
"""


# 550.54.15 | 32.0.15.6094, as Windows counts the driver 560.94
_DRIVER = compiled(r"(?P<version>\d{3}\.\d{2,3}(?:\.\d{2,3})?)(?![\w.])")
WINDOWS_DRIVER = compiled(
    r"(?<![\w.])[23]\d\.\d{1,2}\.1(?P<first>[3-6])\.(?P<major>\d{2})(?P<minor>\d{2})(?![\w.]\d)"
)
"""NVIDIA's driver in the words of Windows: its last five digits are the number that people know."""


def driver_of(text: str) -> str:
    """Return the driver of NVIDIA that a value begins with; "" for none."""
    if found := WINDOWS_DRIVER.match(text):
        return windows_driver(found)
    plain = _DRIVER.match(text)
    return plain["version"] if plain else ""


def windows_driver(found: re.Match[str]) -> str:
    """Return a driver as NVIDIA counts it: 560.94 for 32.0.15.6094."""
    return f"{found['first']}{found['major']}.{found['minor']}"


def distribution_of(name: str) -> str:
    """Return the distribution that a name means, "" for none."""
    return DISTRIBUTIONS.get(re.sub(r"[-_. ]{1,4}", "-", name.strip().lower()), "")


_END = compiled(r"[.;!?\u3002\uff1b](?=\s|$)|[\u3002\uff1b\uff01\uff1f]")
_ASKED = compiled(
    r"(?i)\b(?:which|what|welche|quelle|qual|qu[ée])\b(?: [\w./-]{1,24}){0,4}? "
    r"(?:vers\w{0,6}|wheels?|releases?|builds?)\b|哪\w?个?[^\n]{0,16}(?:版本|wheel|whl)|什么版本"
    r"|どの[^\n]{0,12}(?:バージョン|wheel)|как\w{0,2}[^\n]{0,12}верси|어떤 ?버전"
)
"""Which flash-attn version do I need for torch 2.7? What has a version in it is what is there."""
_NOW = compiled(
    r"(?i)\b(?:now|currently),? (?:(?:i|we|it|nvidia-smi|pip|that) )?"
    r"(?:have|has|got|get|gives?|shows?|am on|is|says?|reports?|runs?)\b"
)
"""I did an upgrade, and now I have driver 495.46: what was wanted before is there since."""
_PROPOSED = compiled(
    r"(?i)^\W{0,3}(?:(?:and|or|but|so|then|maybe|perhaps|also) ){0,2}"
    r"(?:should|shall|would|will|could|does|do|did|is|are|has|have|must|may"
    r"|can (?!(?:any|some)(?:one|body)\b|(?:you|i|we) (?:please )?(?:help|get|install|fix|make)))"
    r"|\bwhat (?:about|if)\b|\b(?:or|maybe|perhaps|use|using|try|trying) \S{1,24}\s{0,3}$"
)
"""Should I take torch 2.6.0? A question may propose what it names, or ask how to go on with it."""
_QUESTION = compiled(r"\?\s{0,3}$")
_OWNED = compiled(
    r"(?i)\b(?:i|we)(?: have|['\u2019]ve|['\u2019]m on| am on| are on| use| run| got)\b(?! to\b)"
    r"|\b(?:my|our)\b|(?:我|我们)(?:用|的|装)|\btengo\b|\btenemos\b|\bich habe\b"
)
_INSTALLS = compiled(r"(?i)\b(?:pip3?|uv|conda|mamba|poetry) (?:pip )?(?:install|add|download)\b")
"""I have torch 2.7.1, and ran pip install xformers: a command behind it asks for something else."""
# I have an RX 6600 and want to try it | it should work, and I am running with AMD RX 7900XTX
_OWNS_ONE = compiled(
    r"(?i)\b(?:(?:i|we) (?:have|own) (?:an?|one|two|the)"
    r"|(?:i.?m|i am|we are|we.?re|it is|it.s) running (?:(?:it|this) )?"
    r"(?:on|with)(?: an?| my| the)?)"
    r" (?:amd |nvidia )?$"
)
_OF_FEW = 12
_BEFORE, _BEHIND = 80, 40
"""Characters of a sentence around a mention in which a wish is looked for."""


def is_wished(text: str, start: int, end: int) -> bool:
    """Return whether the sentence around a mention speaks of what is wanted, and not of what is."""
    before = text[max(0, start - _BEFORE) : start]
    for found in _END.finditer(before):
        cut = found.end()
        before = " " * cut + before[cut:]
    behind = text[end : end + _BEHIND]
    if stop := _END.search(behind):
        behind = behind[: stop.end()]
    if _ASKED.search(before) or _OWNS_ONE.search(before):
        return False
    if now := _NOW.search(before):
        before = before[now.start() :]
    if (command := _INSTALLS.search(behind)) and _OWNED.search(before):
        behind = behind[: command.start()]
    if asked := _ASKED.search(behind):
        behind = behind[: asked.start()]
    elif _QUESTION.search(behind) and _is_proposed(before.lstrip()):
        return True
    return WISH.search(before.lstrip() + text[start:end] + behind) is not None


def _is_proposed(before: str) -> bool:
    """Return whether a question that ends behind these words proposes what it names.

    One of a few words does, too: torch 2.6.0?
    """
    return len(before) < _OF_FEW or _PROPOSED.search(before) is not None
