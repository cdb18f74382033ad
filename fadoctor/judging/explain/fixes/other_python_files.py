"""How a file is installed that pip refused, because its name is for another Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.fixes.companions import PYTORCH_INDEXES
from fadoctor.model.fix import Step, StepKind
from fadoctor.model.packages import BESIDE_TORCH, PACKAGES, TORCH, XFORMERS
from fadoctor.syntax.likely_lines import matches, stands
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

_WINDOWS = "win_amd64"
# ERROR: torch-2.0.1+gite19229c-cp310-cp310-linux_x86_64.whl is not a supported wheel
FILE = compiled(
    r"(?P<file>(?P<name>[A-Za-z][\w.]{1,60})-\d[\w.+%-]{1,120}?-(?P<python>cp3\d{1,2})-[\w.-]{4,60}\.whl)"
)
_REFUSED = "not a supported wheel"
_ADDRESS = compiled(r"https://[\w./%+~-]{10,300}\.whl")
# xformers-0.0.22.post4+cu118-cp38-cp38-win_amd64.whl: the label is that of an index
_OF_INDEX = compiled(
    rf"(?P<name>{'|'.join((TORCH, *BESIDE_TORCH, *PACKAGES[XFORMERS]))})"
    r"-(?P<release>\d[\w.]{1,30})(?:\+|%2B)(?P<build>cu\d{2,3}|cpu)-"
)
# pip install -r requirements.txt
_OF_LIST = compiled(r"-r requirements\.txt")
# A Python that no other one can replace: that of a packed program.
_BUNDLED = compiled(
    r"(?i)python_embeded|embedded python|\bportable\b|system\\python|\bone[- ]click"
)


def of_another_python(lines: Sequence[str], own: str, platform: str) -> list[Step]:
    """Return how a file is installed that a text names: with the Python of its name.

    `own`: the tag of the Python that the text tells, "" where it does not.
    """
    found = {
        (each["file"], each["python"])
        for line in lines
        if _REFUSED in line
        for each in FILE.finditer(line)
    }
    tags, files = {tag for _, tag in found}, sorted(file for file, _ in found)
    if len(tags) != 1:
        return _from_its_index(files)
    tag = tags.pop()
    if not all(platform in file for file in files):
        return _from_its_index(files)
    if tag == own:
        return []
    which = "these files are" if len(files) > 1 else "this file is"
    says = f"The name says {tag}: {which} for Python {dotted(tag)} alone."
    if len(files) == 1 and own and stands(_BUNDLED, lines):
        return _same_file(says, files[0], tag, own)
    is_listed = len(files) > 1 or stands(_OF_LIST, lines)
    wanted = "-r requirements.txt" if is_listed else _address(lines, files[0])
    return [Step(StepKind.ADVICE, says), *_in_new_environment(tag, wanted, platform)]


def dotted(tag: str) -> str:
    """Return the version of a Python by its tag."""
    return f"{tag[2]}.{tag[3:]}"


def _in_new_environment(tag: str, wanted: str, platform: str) -> list[Step]:
    python, new = dotted(tag), f"py{tag[2:]}"
    lines = (f"uv venv --python {python} {new}", f"uv pip install --python {new} {wanted}")
    steps = [Step(StepKind.SYSTEM, line) for line in lines]
    if platform == _WINDOWS:
        made = rf"py -{python} -m venv {new}, then {new}\Scripts\python.exe -m pip install"
        steps.append(Step(StepKind.ADVICE, f"Without uv: {made} {wanted}."))
    return steps


def _same_file(says: str, file: str, tag: str, own: str) -> list[Step]:
    """Return how the file for the Python is installed that a packed program has."""
    name = file.replace(f"-{tag}-{tag}-", f"-{own}-{own}-")
    where = f"Take {name} from the same page: the program's own Python is {dotted(own)}, and stays."
    return [Step(StepKind.ADVICE, f"{says} {where}"), Step(StepKind.SYSTEM, f"pip install {name}")]


def _from_its_index(files: Sequence[str]) -> list[Step]:
    """Return how pip itself chooses the file of a release that PyTorch's index has."""
    wanted = {
        (each["name"], each["release"], each["build"])
        for file in files
        if (each := _OF_INDEX.match(file)) is not None
    }
    if len(wanted) != 1 or not all(map(_OF_INDEX.match, files)):
        return []
    name, release, build = wanted.pop()
    text = f"pip install {name}=={release} --index-url {PYTORCH_INDEXES}{build}"
    says = (
        "pip then takes the file for this Python and this system itself, and the torch that it "
        "needs. If it finds none, that release has none for this Python."
    )
    return [Step(StepKind.SYSTEM, text), Step(StepKind.ADVICE, says)]


def _address(lines: Sequence[str], file: str) -> str:
    """Return where a text says that a file is, or its name."""
    ends = (f"/{file}", f"/{file.replace('+', '%2B')}")
    found = (each[0] for each in matches(_ADDRESS, lines))
    return next((address for address in found if address.endswith(ends)), file)
