"""Which machine a text is about, where no tool names its platform: by a shell, a GPU, a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, fact_text
from fadoctor.sources.pasted.claims import machine_facts
from fadoctor.sources.targets.tegra import is_tegra
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix

_OTHER_MACHINES = ("aarch64", "arm64", "jetson", "dgx spark", "mac os", "macos", "darwin")
# GB200, GH200: of small letters
_OTHER_CHIP = compiled(r"g(?<!\wg)[bh]\d{2,3}\b")
_APPLE = compiled(r"\bapple\b")

# uname -a: Linux node7 5.15.0-1 #1 SMP ... aarch64 aarch64 aarch64 GNU/Linux
# Darwin mini.local 24.5.0 Darwin Kernel Version 24.5.0: ... RELEASE_ARM64_T6000 arm64
_UNAME = compiled(
    r"(?m)^[ \t]{0,8}(?P<system>Linux|Darwin) [\w.-]{1,80} \d{1,3}\.\d{1,3}\.\d{1,5}[^\n]{0,300}? "
    r"(?P<machine>aarch64|x86_64|arm64)(?: GNU/Linux)?[ \t]{0,8}$"
)
# uname -m, which prints nothing else: the names of Linux, as those of other systems are others
_ALONE = compiled(r"(?m)^[ \t]{0,8}(?P<machine>aarch64|x86_64)[ \t]{0,8}$")
# /etc/nv_tegra_release: # R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic
_TEGRA = compiled(
    r"(?m)^[ \t#]{0,8}R(?P<major>\d{2}) \(release\), REVISION: (?P<minor>\d(?:\.\d{1,2})?)"
)
# ldd --version in Alpine: musl libc (x86_64); its /etc/os-release: NAME="Alpine Linux"
_MUSL = compiled(
    r'(?m)^[ \t]{0,8}(?:musl libc \(\w{2,20}\)|NAME="?Alpine Linux"?|ID=alpine)[ \t]{0,8}$'
)
_SYSTEMS = {"Linux": "linux", "Darwin": "macos"}
_ON_ARM = "only servers and boards with ARM processors have this GPU"


def told_jetson(text: str) -> dict[str, Fact]:
    """Return that this is a Jetson, and its system, where a text holds the release file of one."""
    if "(release), REVISION" not in text:
        return {}
    found = _TEGRA.search(text)
    if found is None:
        return {}
    source = found[0].strip(" #")
    release = Known(f"{found['major']}.{found['minor']}", source)
    return {"host.tegra": Known(True, source), "host.l4t": release}


def told_musl(facts: Mapping[str, Fact], text: str) -> dict[str, Fact]:
    """Return that the C library is musl, where ldd or the release file of Alpine says so.

    Its platform is another one than that of glibc: no wheel for glibc installs there.
    """
    found = _MUSL.search(text) if "musl" in text or "lpine" in text else None
    if found is None or fact_text(facts["host.os"], "linux") != "linux":
        return {}
    source = found[0].strip()
    said: dict[str, Fact] = {
        "host.libc": Known("musl", source),
        "host.glibc": Absent(f"{source}: musl"),
    }
    machine = fact_text(facts["host.machine"], "")
    return said | ({"host.platform": Known(f"musllinux_{machine}", source)} if machine else {})


def told_machine(facts: Mapping[str, Fact], text: str, matrix: Matrix) -> dict[str, Fact]:
    """Return the platform that a shell prints, or whose processor is one chip with the GPU."""
    system = fact_text(facts["host.os"], "")
    if "aarch64" in text or "x86_64" in text or "arm64" in text:
        found = {(_SYSTEMS[each["system"]], each["machine"]) for each in _UNAME.finditer(text)}
        found |= {("linux", each["machine"]) for each in _ALONE.finditer(text)}
        if len(found) == 1 and (only := next(iter(found)))[0] in (system or only[0]):
            return _known(*only, "uname")
    if system in ("", "linux") and _has_chip_of_arm(facts, matrix):
        return _known("linux", "aarch64", _ON_ARM)
    return {}


def _has_chip_of_arm(facts: Mapping[str, Fact], matrix: Matrix) -> bool:
    """Return whether a GPU is one with its processor: GH200, GB200, GB10, that of a Jetson."""
    name = facts.get("gpu[0].name")
    is_one = isinstance(name, Known) and _OTHER_CHIP.search(str(name.value).lower()) is not None
    return is_one or is_tegra(facts, matrix)


def _known(system: str, machine: str, source: str) -> dict[str, Fact]:
    return {name: Known(value, source) for name, value in machine_facts(system, machine).items()}


def names_another_machine(lowered: str) -> bool:
    """Return whether a text in small letters names a machine that is no x86_64 of Linux."""
    if any(name in lowered for name in _OTHER_MACHINES) or _OTHER_CHIP.search(lowered):
        return True
    return "apple" in lowered and _APPLE.search(lowered) is not None
