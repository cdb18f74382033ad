"""The prebuilt file that a fix tells a person to choose, where a text decides on it.

Where it decides on no one file, those commands are shown that are left, each with its condition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.tried import MISFITS
from fadoctor.judging.explain.fixes import reading_torch as reads
from fadoctor.judging.explain.fixes.older_glibc import needs_newer
from fadoctor.judging.explain.fixes.other_python_files import FILE, dotted, of_another_python
from fadoctor.judging.explain.fixes.own_python import is_of_uv
from fadoctor.judging.explain.fixes.own_system import OF_LINUX
from fadoctor.judging.explain.fixes.shown_places import names_arm, shown_abi
from fadoctor.judging.explain.fixes.told_torch import NEWER, told_first, told_major, told_torch
from fadoctor.judging.explain.named_packages import ABOUT_FLASH
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_older, version_key, version_part
from fadoctor.knowledge.matrix.wheels import (
    OFFICIAL,
    TRITON_WINDOWS,
    WheelFile,
    WheelRequest,
    Wheels,
)
from fadoctor.model.environment import ASSUMED_PLATFORM
from fadoctor.model.fact import Known, fact_text, fact_words
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, XFORMERS
from fadoctor.syntax.likely_lines import stands
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fadoctor.judging.engine.scope import Scope

SAGE = "sageattention"
_XFORMERS = PACKAGES[XFORMERS][0]
_FLASH = PACKAGES[FLASH_ATTN][0]
_WINDOWS, _LINUX, _ARM_LINUX = "win_amd64", "linux_x86_64", "linux_aarch64"
_OFFICIAL_FIT, _COMMUNITY = "flash-attn-for-torch", "flash-attn-wheels-community"
_SAGE_FILES, _TRITON = "sageattention-windows", "triton-windows-for-torch"
OWN_BUILD = "a0+"
"""The label of a torch that NVIDIA's images hold, or that was built here: no wheel fits it."""

_NEW_ABI = "2.7"
"""The torch since which pip's builds have the new C++ string ABI."""
_LINES = 6
"""Most commands that are shown beside each other."""

_FEW = 2
"""So many commands are shown beside each other where one could read torch itself."""

NAMED_FILE = "named-file"
"""What a rule says of a fix that is about whichever file the text names."""
_OWNERS = ("mjun0812", "woct0rdho")
_THIRD_PARTY = "Third parties build this wheel, not the authors of {}."
_PRINTS = "`python -c \"import sys, torch; print(torch.__version__, 'Python', sys.version)\"`"
_FORCED = "pip install --no-deps --force-reinstall"
_FROM_SOURCE = f"{_FORCED} --no-build-isolation git+https://github.com/thu-ml/SageAttention"
# flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl
_NAMED = compiled(
    r"flash_attn-[\d.a-z]{3,20}(?:\+|%2B)cu\d{2,3}torch(?P<torch>\d\.\d{1,2})[\w.]{0,20}"
    r"-(?P<python>cp\d{2,3})-"
)
# Guessing wheel URL: https://x.org/flash_attn-2.8.3+cu12torch2.6cxx11abiFALSE-cp311-cp311-win_amd64.whl
_GUESSED = "Guessing wheel URL"
_FOREIGN = {"win_amd64": "-linux_", "linux_x86_64": "-win_amd64", "linux_aarch64": "_x86_64"}
"""What the names of files hold that are for another platform than this one."""


class WheelFiles:
    """The files that fixes tell to choose, for what one text says."""

    def __init__(self, scope: Scope, lines: Sequence[str]) -> None:
        """Take the facts of a text, and its lines."""
        self._scope = scope
        self._environment = scope.environment
        self._matrix = scope.matrix
        self._lines = lines

    def named(self, fix: Fix, wheel: str) -> Fix:
        """Return a fix with the command for the file, or with those that are left.

        `wheel`: of which distribution, as the rule says it; "" where it tells to choose none.
        """
        distribution = self._distribution(wheel)
        made: list[Step] = []
        if distribution == SAGE:
            made = self._of_sage()
        elif distribution == _FLASH and stands(ABOUT_FLASH, self._lines):
            made = self._of_flash()
        elif wheel == NAMED_FILE:
            made = of_another_python(self._lines, self._python, self._platform)
        elif distribution and not self._is_of_uv:
            made = reads.steps_for(self._matrix.tables, distribution, self._torch, self._platform)
        if not made:
            return fix
        is_titled = distribution in (SAGE, _FLASH, _XFORMERS)
        title = self._title(distribution) if is_titled else fix.title
        said = [step.text for step in made if step.kind is not StepKind.SYSTEM]
        is_foreign = any(owner in text for text in said for owner in _OWNERS)
        effects = _THIRD_PARTY.format(distribution) if is_foreign else ""
        return msgspec.structs.replace(
            fix, title=title, steps=tuple(made), side_effects=effects or fix.side_effects
        )

    def _distribution(self, wheel: str) -> str:
        """Return the distribution that a rule means: by its name, or by what the text names."""
        if wheel != NAMED_FILE:
            found = self._scope.fill(wheel) if self._scope.can_fill(wheel) else ""
            return _FLASH if found == "flash-attention" else found
        files = [each["name"].lower() for line in self._lines for each in FILE.finditer(line)]
        if any(name.startswith(SAGE) for name in files):
            return SAGE
        return _FLASH if any(name.startswith(FLASH_ATTN) for name in files) else ""

    def _title(self, distribution: str) -> str:
        known = [
            f"torch {self._torch}" if self._torch else "this torch",
            f"Python {dotted(self._python)}" if self._python and distribution == _FLASH else "",
        ]
        return f"Install the {distribution} wheel for {' and '.join(filter(None, known))}"

    def _of_flash(self) -> list[Step]:
        torch, python = self._torch or told_torch(self._lines), self._python
        if OWN_BUILD in fact_text(self._environment.fact("torch.version"), ""):
            return []
        if self._platform == _LINUX and not (torch and python):
            tables, pip = self._matrix.tables, self._pip
            made = [] if self._is_of_uv else reads.flash_steps(tables, torch, python, pip)
            if made or not torch:
                return made or self._by_setup(python)
        if torch and python:
            return self._decided(torch, python)
        return self._pattern(torch, python)

    def _decided(self, torch: str, python: str) -> list[Step]:
        """Return the command for the one file, or for each CUDA that torch may have."""
        found = {
            cuda: file for cuda in self._cudas(torch) if (file := self._file(torch, cuda, python))
        }
        if len({file.url for file in found.values()}) == 1:
            return [_install(self._pip, next(iter(found.values())).url)]
        said = [
            Step(StepKind.ADVICE, f"With torch {torch} for CUDA {cuda}: {self._pip} {file.url}")
            for cuda, file in found.items()
        ]
        return [Step(StepKind.ADVICE, f"{_PRINTS} prints torch's CUDA."), *said] if said else []

    def _by_setup(self, python: str) -> list[Step]:
        """Return for each release which torch it has wheels for: its setup.py takes the one."""
        releases: dict[str, list[str]] = defaultdict(list)
        major = self._cuda.partition(".")[0] or told_major(self._lines) or "12"
        for row in self._matrix.tables[_OFFICIAL_FIT].rows:
            torch = str(row["torch"])
            fits = (
                row["platform"] == _LINUX
                and row["cuda"] == major
                and row["abi"] == str(not is_older(torch, _NEW_ABI)).lower()
                and (
                    python in cell_words(row["python"])
                    if python
                    else len(cell_words(row["python"])) > 1
                )
            )
            if fits:
                releases[str(row["version"])].append(torch)
        newest = sorted(releases, key=lambda each: (len(releases[each]), version_key(each)))[-3:]
        pip = self._pip.replace("install", "install --no-build-isolation --no-cache-dir", 1)
        said = [
            Step(StepKind.ADVICE, f"With torch {reads.either(releases[it])}: {pip} {_FLASH}=={it}")
            for it in reversed(newest)
        ]
        if not said:
            return []
        shown = (
            '`python -c "import torch; print(torch.__version__)"` prints torch\'s version. '
            "If torch, setuptools, packaging, wheel, psutil or ninja is missing, install it first."
        )
        return [Step(StepKind.ADVICE, shown), *said, Step(StepKind.ADVICE, NEWER)]

    def _pattern(self, torch: str, python: str) -> list[Step]:
        """Return how to ask for what is not known, and the command of the usual case."""
        if self._platform == _WINDOWS and not self._is_of_uv:
            rows = load_apart(self._matrix.tables)[_COMMUNITY].rows
            if made := reads.windows_flash_steps(rows, torch, python, self._pip):
                return made
        usual_torch, usual_python = torch or self._usual, python or "cp312"
        cuda = next(iter(told_first(self._cudas(usual_torch), self._lines)), "")
        file = self._file(usual_torch, cuda, usual_python)
        if file is None:
            return []
        case = f"torch {usual_torch} for CUDA {cuda} and Python {dotted(usual_python)}"
        page = file.url.rpartition("/releases/")[0] + "/releases"
        return [
            Step(StepKind.ADVICE, f"{_PRINTS} prints torch, its CUDA and Python."),
            Step(StepKind.ADVICE, f"With {case}: {self._pip} {file.url}"),
            Step(StepKind.ADVICE, f"For others take the file whose name has them: {page}"),
        ]

    def _of_sage(self) -> list[Step]:
        compiles = "It compiles, which needs nvcc of torch's CUDA and the GPU in sight."
        if self._is_linux:
            return [Step(StepKind.SYSTEM, _FROM_SOURCE), Step(StepKind.ADVICE, compiles)]
        rows = [
            row
            for row in self._matrix.tables[_SAGE_FILES].rows
            if (not self._cuda or str(row["cuda"]) == self._cuda.partition(".")[0])
        ]
        if self._torch:
            asked = {"torch": Known(self._torch, "asked")}
            rows = [row for row in rows if row in self._matrix.find(_SAGE_FILES, asked).rows]
        urls = [str(row["url"]) for row in rows]
        if self._torch and len(urls) == 1 and self._platform == _WINDOWS:
            return [*self._triton(), _install(_FORCED, urls[0])]
        said = [
            Step(StepKind.ADVICE, f"With {_row_words(row)}: {_FORCED} {url}")
            for row, url in zip(rows[:_LINES], urls, strict=False)
        ]
        if not said:
            return []
        windows = self._platform == _WINDOWS
        linux = f"On Linux: {_FROM_SOURCE}. {compiles} {reads.WITHOUT_SAGE}"
        command = reads.reading_command(rows) if len(rows) > _FEW else ""
        needs = reads.triton_for_sage(self._matrix.tables)
        if command and windows:
            return [Step(StepKind.SYSTEM, command), Step(StepKind.ADVICE, reads.READS), needs]
        if command:
            says = f"On Windows run the next line. {reads.READS}"
            return [
                Step(StepKind.ADVICE, says),
                Step(StepKind.SYSTEM, command),
                Step(StepKind.ADVICE, linux),
            ]
        shown = f"{'' if windows else 'On Windows: '}{_PRINTS} prints torch and its CUDA."
        return [
            Step(StepKind.ADVICE, shown),
            *said,
            *(() if windows else (Step(StepKind.ADVICE, linux),)),
        ]

    def _triton(self) -> list[Step]:
        """Return the command for the triton that sageattention imports, where none is listed."""
        listed = self._environment.facts.get("packages.installed")
        names = listed.value if isinstance(listed, Known) and isinstance(listed.value, dict) else {}
        fits = self._matrix.find(_TRITON, {"torch": Known(self._torch, "asked")}).cell("version")
        if TRITON_WINDOWS in names or not isinstance(fits, Known):
            return []
        item = f"{TRITON_WINDOWS}=={fits.value}"
        return [Step(StepKind.INSTALL, f"pip install {item}", (item,))]

    def _file(self, torch: str, cuda: str, python: str) -> WheelFile | None:
        abi = self._environment.facts.get("torch.cxx11_abi")
        is_new = not is_older(torch, _NEW_ABI)
        told = bool(abi.value) if isinstance(abi, Known) else is_new
        shown = shown_abi(self._lines)
        wanted = WheelRequest(torch, cuda, python, self._platform, told if shown is None else shown)
        good = [file for file in self._wheels.fitting(wanted) if self._is_good(file)]
        if not good:
            return None
        own = next((each for each in good if each.source == OFFICIAL), None)
        newest = version_part(good[0].version, "minor")
        alike = [file for file in good if version_part(file.version, "minor") == newest]
        exact = "cu" + cuda.replace(".", "")
        return own or next((each for each in alike if each.cuda == exact), alike[0])

    def _is_good(self, file: WheelFile) -> bool:
        """Return whether a file has no known fault, has the GPU's code, and was not tried."""
        name = file.name.replace("+", "%2B")
        if any(file.name in line or name in line for line in self._lines):
            return False
        bad = self._matrix.find("flash-attn-known-bad", {"version": Known(file.version, "asked")})
        is_bad = bool(bad.rows) or needs_newer(self._environment, file)
        return not is_bad and not self._lacks_code(file)

    def _lacks_code(self, file: WheelFile) -> bool:
        capability = self._environment.facts.get("gpu[0].compute_capability")
        if not isinstance(capability, Known) or not isinstance(file.sm, Known):
            return False
        runs = self._matrix.find("architectures", {"cc": capability}).cell("runs")
        return isinstance(runs, Known) and set(fact_words(runs)).isdisjoint(fact_words(file.sm))

    def _cudas(self, torch: str) -> tuple[str, ...]:
        """Return torch's CUDA, or those that its builds have: that of the usual build first."""
        if self._cuda:
            return (self._cuda,)
        rows = self._matrix.tables["torch-builds"].rows
        majors: dict[str, str] = {}
        found = {
            str(row.get("cuda"))
            for row in rows
            for version in cell_words(row["version"])
            if version_part(version, "minor") == torch and str(row.get("cuda", "")).startswith("1")
        }
        usual = self._usual_cuda(torch)
        for cuda in sorted(found, key=version_key):
            majors[cuda.partition(".")[0]] = cuda
        majors |= {usual.partition(".")[0]: usual} if usual else {}
        version = fact_text(self._environment.fact("torch.version"), "")
        if usual and self._platform == _LINUX and version and "+" not in version:
            return (usual,)  # the build of Python's own index has no label
        return tuple(majors[each] for each in ("12", "13") if each in majors) or tuple(
            majors.values()
        )

    def _usual_cuda(self, torch: str) -> str:
        """Return the CUDA of the build that Python's own index has of a torch for Linux."""
        found = {
            str(row["pypi_cuda"])
            for row in self._matrix.tables["torch-releases"].rows
            if version_part(cell_words(row["version"])[0], "minor") == torch
            and isinstance(row.get("pypi_cuda"), str)
        }
        return max(found, key=version_key, default="")

    @cached_property
    def _pip(self) -> str:
        """How pip is called: it keeps a broken file of the same version, unless it is forced."""
        return _FORCED if self._scope.rule.area == MISFITS else "pip install"

    @cached_property
    def _is_of_uv(self) -> bool:
        return is_of_uv(self._lines)

    @cached_property
    def _wheels(self) -> Wheels:
        return Wheels(load_apart(self._matrix.tables))

    @cached_property
    def _usual(self) -> str:
        """The newest torch for which flash-attn itself has wheels for all Pythons."""
        rows = self._matrix.tables[_OFFICIAL_FIT].rows
        many = [str(row["torch"]) for row in rows if len(cell_words(row["python"])) > 1]
        return max(many, key=version_key)

    @cached_property
    def _implied(self) -> tuple[str, str]:
        """Torch and Python as setup.py names them, or a file that is only for another platform."""
        foreign = _FOREIGN.get(self._platform, "\0")
        found = {
            (each["torch"], each["python"])
            for line in self._lines
            for each in _NAMED.finditer(line)
            if _GUESSED in line or foreign in line[each.end() :]
        }
        return found.pop() if len(found) == 1 else ("", "")

    @cached_property
    def _torch(self) -> str:
        """Torch's minor release, "" where the text does not tell it."""
        said = version_part(fact_text(self._environment.fact("torch.version"), ""), "minor")
        named = {
            each["torch"]
            for line in self._lines
            for each in _NAMED.finditer(line)
            if each["python"] == self._python
        }
        return said or (named.pop() if len(named) == 1 else "") or self._implied[0]

    @cached_property
    def _cuda(self) -> str:
        found = fact_text(self._environment.fact("torch.cuda"), "")
        return found if re.fullmatch(r"1\d\.\d", found) else ""

    @cached_property
    def _python(self) -> str:
        return fact_text(self._environment.fact("python.abi_tag"), "") or self._implied[1]

    @cached_property
    def _platform(self) -> str:
        usual = _ARM_LINUX if names_arm(self._lines) else _LINUX
        return fact_text(self._environment.fact("host.platform"), usual)

    @cached_property
    def _is_linux(self) -> bool:
        """Whether the text itself shows Linux."""
        platform = self._environment.fact("host.platform")
        is_said = isinstance(platform, Known) and platform.source != ASSUMED_PLATFORM
        return self._platform != _WINDOWS and (is_said or stands(OF_LINUX, self._lines))


def _install(pip: str, url: str) -> Step:
    return Step(StepKind.INSTALL, f"{pip} {url}", (url,), options=tuple(pip.split()[2:]))


def _row_words(row: Mapping[str, object]) -> str:
    least = str(row["torch"]).partition(",")[0].removeprefix(">=")
    more = "" if "," in str(row["torch"]) else " or newer"
    return f"torch {least}{more} for CUDA {row['cuda']}"
