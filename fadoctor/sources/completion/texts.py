"""What follows from what a text states: by tables, and by what is taken for granted and said so."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.torch_builds import as_probed, of_build
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.environment import ASSUMED_PLATFORM
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping, fact_text, fact_words
from fadoctor.sources.completion.driver_branch import driver_of_branch
from fadoctor.sources.completion.installed_files import file_labels
from fadoctor.sources.completion.listed_requirements import requirement_facts
from fadoctor.sources.completion.machines import (
    names_another_machine,
    told_jetson,
    told_machine,
    told_musl,
)
from fadoctor.sources.completion.proved_driver import proved_driver
from fadoctor.sources.completion.typed_torch import torch_as_typed, unseen_by_cpu_build
from fadoctor.sources.pasted.claims import RUNTIME, machine_facts
from fadoctor.sources.targets.gpu_name import find_gpu
from fadoctor.sources.targets.unmet_requirements import NAMED
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.pasted.claims import PastedLine
    from fadoctor.sources.pasted.combine import CombinedClaims

# 2.6.0+cu124, 2.6.0+cpu
_LABELLED = compiled(r"\d{1,2}\.\d{1,3}\.\d{1,3}\+(?P<build>cu\d{2,3}|cpu|rocm)[\d.]{0,8}")
_RELEASE = compiled(r"\d{1,2}\.\d{1,3}\.\d{1,3}")
# C:\Users, D:/a. What the character before may not be is asked behind: a pattern that begins with
# a class of characters is found many times faster.
_DRIVE = compiled(r"[A-Z](?<!\w[A-Z]):[\\/]")
# c:\\users\\kim\\lib, as pip prints it; an escape such as \\n is no folder
_SMALL_DRIVE = compiled(r":\\(?<=[c-h]:\\)(?<!\w[c-h]:\\)\\?[A-Za-z][\w .()-]{2,60}\\")
_WINDOWS = compiled(
    r"\.pyd\b|win_amd64|\bWindows\b|\[MSC v\.|\b\w{2,40}\.bat\b|python_embed|windows_portable"
    r"|\b(?:on|under|for|using|running|my|en|sous|unter|auf) windows\b"
    r"|\b(?:windows?|win|Win) ?1[01]\b"
    r"|\bin windows\b(?! of)|windows ?(?:\u7cfb\u7edf|\u73af\u5883|\u4e0b|\u4e0a|\u306e|\u7248)"
    r"|\b\w{2,40}\.exe\b|\u6574\u5408\u5305|\bWinError \d|\bMSVC\b"
    r"|(?i:\bcomfy(?:ui)? portable|\bportable comfy|embedded python:\W{1,4}true)"
    r"|\bWDDM\b|\bDLL [Ll]oad failed"
    r"|\bwindows (?:machine|pc|laptop|computer|system|desktop|user)s?\b"
    r"|(?i:\bpowershell\b|\btask manager\b|\bembedded python\b)"
    r"|\bVisual Studio (?:20\d\d|[Bb]uild|[Ii]nstaller|[Ii]ntegration)"
)
_WINDOWS_MARKS = (".pyd", "win_amd64", "Windows", "[MSC v", ".bat", "python_embed", "windows",
                  ".exe", "\u6574\u5408\u5305", "WinError", "MSVC", "ortable", "mbedded",
                  "DLL ", "WDDM", "window 1", "ershell", "erShell", "ask manager", "ask Manager",
                  "Visual", "win1", "win 1", "Win1", "Win 1")  # fmt: skip
# WSL is Linux, and so is a shell whose prompt or temporary folder a text shows: of such a text only
# paths and files are signs of Windows. ada@box:~/work$ pip install x | /tmp/pip-install-0a1b/
# - [ ] Windows: a box of an issue form that is not checked
_UNCHECKED = compiled(r"[ \t]{0,8}[-*] \[ ?\]")
# You're on Linux (`x`), but `torch` (v2.7.0) only has wheels for the following platforms: `y`, `z`
_SERVED = compiled(r"only has wheels for\s{1,12}the following platforms?:[^;\n]{0,400}")
_LINUX = compiled(
    r"\bWSL ?2?\b|\b[Ww]indows [Ss]ubsystem for Linux\b|@[\w.-]{1,60}:[~/][^\n$#]{0,80}\$ "
    r"|/tmp/pip-(?:install|build-env)-\w"
)
_SURELY_WINDOWS = compiled(r"\.pyd\b|win_amd64|\[MSC v\.|\bDLL [Ll]oad failed")

_CONDA = compiled(
    r"(?i)conda|\(base\)|mamba|nvcr\.io|\bngc\b|a0\+|\bjetson|\btegra\b|-tegra|\borin\b|\bjetpack"
)
"""Words of texts in which a torch without a label can be another than PyPI's."""

# Successfully installed torch-2.6.0 triton-3.2.0: pip itself, in whichever environment
_BY_PIP = compiled(
    r"Successfully installed (?:[^\s]{1,80} ){0,300}?torch-(?P<version>\d[\w.+]{1,30})(?=\s|$)"
)

_COMPANION = compiled(r"nvidia-cuda-(?:runtime|nvrtc|cupti)(?:-cu\d{2})?")
_AMD_ALONE = "all GPUs that the text names are AMD's"
_WHEELS_OF_XFORMERS = {
    "linux_x86_64": "xformers-releases",
    "win_amd64": "xformers-windows-wheels",
}
_SHORT = compiled(r"\d{2}\.\d{1,2}(?=\.|$)")

PLATFORM = "the text names no other platform: {}"
BUILD = "torch {} is the release of PyPI: the text names no other source"

_BUILD_KEYS = {"version": "torch.version", "build": "torch.build", "platform": "host.platform"}
"""Column of the table torch-builds -> the fact that it is asked by."""


def completed(
    combined: CombinedClaims,
    lines: Sequence[PastedLine],
    matrix: Matrix,
    machine: Mapping[str, Fact] | None = None,
) -> tuple[dict[str, Fact], tuple[str, ...]]:
    """Return all facts of a text, what follows from them too, and what was assumed, in words.

    `machine`: the platform and the Python that somebody assumes where the text names none.
    """
    facts = dict(combined.facts)
    machine = dict(machine or {})
    python = machine.pop("python.version", None)
    if python is not None and isinstance(facts.get("python.version"), Unknown):
        facts["python.version"] = python
    if machine and isinstance(facts.get("host.platform"), Unknown):
        said, system = (fact_text(each["host.os"], "") for each in (facts, machine))
        facts |= machine if said in ("", system) else {}
    text = "\n".join(line.text for line in lines if not _UNCHECKED.match(line.text))
    text = _SERVED.sub("", text)
    facts |= told_jetson(text)
    facts |= _capabilities(facts, matrix)
    told = [*_platform(facts, text, matrix)]
    facts |= told_musl(facts, text)
    told += _torch(facts, combined, text, matrix)
    facts |= torch_as_typed(facts, combined, text, matrix)
    facts |= unseen_by_cpu_build(facts)
    if isinstance(facts.get("torch.version"), Known):
        facts["torch.requires"] = Absent("a text holds no metadata: the table of releases serves")
    facts |= _assumed_abi(facts, matrix)
    facts |= requirement_facts(facts, text, matrix)
    facts |= _driver_by_cuda(facts, matrix)
    facts |= driver_of_branch(facts, text)
    facts |= proved_driver(facts, combined, text, matrix)
    facts |= _no_driver_of_nvidia(facts)
    facts |= _file_of_xformers(facts, matrix)
    facts |= file_labels(text)
    return facts, tuple(told)


def _no_driver_of_nvidia(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return that there is no driver of NVIDIA's where every GPU of the text is AMD's."""
    count = facts.get("gpu.count")
    if not isinstance(count, Known) or not isinstance(facts.get("driver.version"), Unknown):
        return {}
    vendors = {
        fact_text(facts[f"gpu[{number}].vendor"], "")
        for number in range(int(str(count.value)))
        if f"gpu[{number}].vendor" in facts
    }
    return {"driver.version": Absent(_AMD_ALONE)} if vendors == {"amd"} else {}


def _file_of_xformers(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return that a release of xformers has its kernels where PyPI has a wheel with them."""
    version = facts.get("xformers.version")
    table = _WHEELS_OF_XFORMERS.get(fact_text(facts["host.platform"], ""), "")
    is_open = isinstance(facts.get("xformers.extension"), Unknown)
    if not (table and is_open and isinstance(version, Known)):
        return {}
    rows = matrix.find(table, {"version": version})
    pythons, python = rows.cell("wheels_for"), facts["python.version"]
    served = isinstance(pythons, Absent) or (
        isinstance(python, Known)
        and version_part(str(python.value), "minor") in fact_words(pythons)
    )
    has_code = isinstance(rows.cell("sm"), Known)
    if not (has_code and served):
        return {}
    source = f"matrix {table}"
    found: dict[str, Fact] = {"xformers.extension": Known("_C.so", source)}
    if isinstance(facts.get("xformers.direct_url"), Unknown):
        found["xformers.direct_url"] = Absent(source)
    return found


def _platform(facts: dict[str, Fact], text: str, matrix: Matrix) -> Iterable[str]:
    """Fill in the platform: Windows by its paths, Linux on x86_64 where nothing else is named."""
    if not isinstance(facts.get("host.platform"), Unknown):
        return
    system = facts.get("host.os")
    if told := told_machine(facts, text, matrix):
        facts |= told
    elif isinstance(system, Known):
        machines = {"linux": "x86_64", "windows": "amd64"}
        name, machine = str(system.value), machines.get(str(system.value), "")
        said = machine_facts(name, machine) if not names_another_machine(text.lower()) else {}
        facts |= {n: Known(v, f"{system.source}: {v}") for n, v in said.items() if n != "host.os"}
    elif _names_windows(text):
        said = machine_facts("windows", "amd64")
        facts |= {name: Known(value, "paths or files of Windows") for name, value in said.items()}
    elif not names_another_machine(text.lower()):
        said = machine_facts("linux", "x86_64")
        facts |= {name: Known(value, ASSUMED_PLATFORM) for name, value in said.items()}
        yield PLATFORM.format("Linux on x86_64")


def _torch(
    facts: dict[str, Fact], combined: CombinedClaims, text: str, matrix: Matrix
) -> Iterable[str]:
    """Fill in which build of torch it is, and its CUDA.

    A label is that of torch's own files, whichever index they came from. A release without one is
    PyPI's, unless the text speaks of conda or of an image with a build of its own.
    """
    version, build = facts.get("torch.version"), facts.get("torch.build")
    if not isinstance(version, Known):
        return
    runtime = combined.fact(RUNTIME)
    named = runtime if isinstance(runtime, Known) else version
    if isinstance(build, Known) and build.value != "other":
        made = of_build(str(named.value), str(build.value), facts.get("host.platform"), matrix,
                        named.source)  # fmt: skip
        _fill(facts, {"torch.hip": made["torch.hip"]})
    if not isinstance(build, Unknown):
        return
    if label := _LABELLED.fullmatch(str(named.value)):
        _fill(facts, of_build(str(named.value), label["build"], facts.get("host.platform"), matrix,
                              named.source))  # fmt: skip
    elif not combined.is_listed("torch") and not isinstance(runtime, Known):
        _fill(facts, _among_builds(version, facts, text, matrix))
    elif _is_of_pypi(version, runtime, facts, text, matrix):
        release, platform = str(version.value), facts.get("host.platform")
        found = as_probed("pypi", release, platform, matrix)
        own = of_build(release, found, platform, matrix, version.source) if found else {}
        companions = _cuda_of_companions(facts)
        contradicted = companions and companions != getattr(own.get("torch.cuda"), "value", "")
        if own and not contradicted and _agrees(own["torch.cuda"], facts.get("torch.cuda")):
            # Whoever wrote a release by hand may have left its label out, which has another ABI.
            _fill(facts, {name: own[name] for name in ("torch.build", "torch.cuda", "torch.hip")})
            yield from () if companions else (BUILD.format(release),)


def _among_builds(
    version: Known, facts: Mapping[str, Fact], text: str, matrix: Matrix
) -> dict[str, Fact]:
    """Return build and CUDA of a release that somebody wrote down, who may have left out a label.

    It is one of torch's own builds for the platform, unless the text speaks of others' builds.
    """
    platform = facts.get("host.platform", Unknown("the platform is not known", "host.platform"))
    if not _RELEASE.fullmatch(str(version.value)) or _CONDA.search(text):
        return {}
    rows = matrix.find("torch-builds", {"version": version, "platform": platform}).rows
    builds = dict.fromkeys(word for row in rows for word in str(row["build"]).split())
    if as_probed("pypi", str(version.value), platform, matrix) == "cpu":
        builds = {"cpu": None, **builds}
    if not builds.keys() - {"cpu"} or "*" in builds:
        return {}  # no table lists the builds of this platform
    made = [of_build(str(version.value), each, platform, matrix, version.source) for each in builds]
    cuda = dict.fromkeys(
        fact.value for each in made if isinstance(fact := each["torch.cuda"], Known)
    )
    found: dict[str, Fact] = {"torch.build": _among(builds, version)}
    is_cuda = all(isinstance(each["torch.cuda"], Known) for each in made)
    return {**found, "torch.cuda": _among(map(str, cuda), version)} if is_cuda else found


def _among(values: Iterable[str], named: Known) -> Fact:
    """Return a fact that is one of a few."""
    several = tuple(values)
    if len(several) == 1:
        return Known(several[0], named.source)
    words = " or ".join(several)
    return Unknown(
        f"it is {words}: {named.value} has builds for each", named.source, several, words
    )


def _fill(facts: dict[str, Fact], found: Mapping[str, Fact]) -> None:
    """Set the facts that are Unknown."""
    facts |= {name: fact for name, fact in found.items() if isinstance(facts.get(name), Unknown)}


def _is_of_pypi(
    version: Known, runtime: Fact, facts: Mapping[str, Fact], text: str, matrix: Matrix
) -> bool:
    """Return whether nothing speaks against a release of PyPI's.

    torch itself, asked for its version, names a label in PyPI's files for Linux and Windows.
    """
    installer = facts.get("torch.installer")
    is_mac = fact_text(facts["host.platform"], "").startswith("macosx")
    is_own_word = isinstance(runtime, Known) and not is_mac
    if is_own_word or not _RELEASE.fullmatch(str(version.value)):
        return False
    if isinstance(installer, Known) and str(installer.value).startswith("conda"):
        return False
    asked = {"version": version, "platform": facts.get("host.platform", Unknown("", ""))}
    by_pip = any(each["version"] == version.value for each in _BY_PIP.finditer(text))
    is_listed = by_pip or bool(_cuda_of_companions(facts)) or not _CONDA.search(text)
    return bool(matrix.find("torch-releases", asked).rows) and is_listed


def _cuda_of_companions(facts: Mapping[str, Fact]) -> str:
    """Return the CUDA whose libraries are listed beside torch, as PyPI's files bring them."""
    for name, version in fact_mapping(facts.get(NAMED)).items():
        if _COMPANION.fullmatch(name) and (found := _SHORT.match(version)):
            return found[0]
    return ""


def _agrees(own: Fact, said: Fact | None) -> bool:
    """Return whether what the text says of torch's CUDA is that of a build, or nothing."""
    if isinstance(said, Unknown) or said is None:
        return True
    if isinstance(said, Known) and isinstance(own, Known):
        return said.value == own.value
    return isinstance(said, Absent) is isinstance(own, Absent)


def _capabilities(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return what the names of GPUs say of them, with the lines that hold these names."""
    found: dict[str, Fact] = {}
    for name, model in facts.items():
        if not name.startswith("gpu["):  # of some thousand facts few are
            continue
        at, _, part = name.partition(".")
        if part != "name" or not isinstance(model, Known):
            continue
        with suppress(UsageError):  # not a name of the tables
            gpu = find_gpu(str(model.value), matrix.tables)
            said = {"compute_capability": gpu.compute_capability, "gfx": gpu.gfx}
            found |= {
                f"{at}.{key}": Known(value, f"{model.source}: {model.value}")
                for key, value in said.items()
                if value and isinstance(facts.get(f"{at}.{key}"), Unknown)
            }
    return found


def _driver_by_cuda(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return between which releases a driver is that names the newest CUDA it supports."""
    cuda, host = facts.get("driver.cuda"), facts.get("host.os")
    is_open = isinstance(facts.get("driver.version"), Unknown)
    if not (is_open and isinstance(cuda, Known) and isinstance(host, Known)):
        return {}
    own = int(str(cuda.value).partition(".")[0])
    floors = {
        int(word): str(row["driver"])
        for row in matrix.tables["driver-floors"].rows
        for word in str(row["cuda"]).split()
        if word.isdecimal() and str(host.value) in str(row["os"]).split() and row.get("driver")
    }
    above = min((major for major in floors if major > own), default=0)
    if not above:
        return {}
    least, words = floors.get(own, "1.0"), f"older than {floors[above]}"
    reason = f"it is {words}, because it supports CUDA {cuda.value}"
    return {"driver.version": Unknown(reason, cuda.source, (least, _before(floors[above])), words)}


def _before(version: str) -> str:
    """Return a release right below another one."""
    return f"{int(version.partition('.')[0]) - 1}.999"


def _assumed_abi(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return the C++ ABI of torch's own build, where the text says which build it is.

    A release without a label may be conda's: then only what holds for all of its builds, and the
    new ABI, which conda's have had for longer.
    """
    if not isinstance(facts.get("torch.cxx11_abi"), Unknown):
        return {}
    keys = {key: facts[fact] for key, fact in _BUILD_KEYS.items() if fact in facts}
    version = facts.get("torch.version")
    local = isinstance(version, Known) and version_part(str(version.value), "local")
    # conda's torch has its CUDA from packages of conda, under other names
    is_told = bool(local) or bool(_cuda_of_companions(facts))
    is_labelled = isinstance(keys.get("build"), Known) and is_told
    if not is_labelled:
        keys.pop("build", None)
    abi = matrix.find("torch-builds", keys).cell("cxx11_abi")
    is_told = isinstance(abi, Known) and (is_labelled or abi.value is True)
    has_one_abi = isinstance(abi, Absent)  # on Windows there are not two of them
    return {"torch.cxx11_abi": abi} if is_told or has_one_abi else {}


def _names_windows(text: str) -> bool:
    is_marked = any(mark in text for mark in _WINDOWS_MARKS)
    words = _SURELY_WINDOWS if _LINUX.search(text) else _WINDOWS
    has_drive = _DRIVE.search(text) or (":\\" in text and _SMALL_DRIVE.search(text))
    return bool(has_drive or (is_marked and words.search(text)))
