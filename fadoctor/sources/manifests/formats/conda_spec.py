"""What conda calls a match spec: ``conda-forge::pytorch=2.5.1=cuda126_py312h*``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.packages import BESIDE_TORCH, NUMPY, TORCH
from fadoctor.sources.manifests.formats.conda_build import conda_cuda
from fadoctor.sources.manifests.formats.version_ranges import conda_range
from fadoctor.sources.manifests.planned import Requirement, Setting
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.draft import Draft

_LIMIT = 500
# conda-forge/linux-64::pytorch[version='>=2.4',build='*cuda*']
_SPEC = re.compile(
    r"(?:(?P<channel>(?:https?://)?[^\s:\[\]]{1,300}?)(?:/(?:linux|osx|win|noarch)[\w-]{0,20})?::?)?"
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]{0,100})\s{0,20}"
    r"(?P<rest>[^\[\]]{0,300})(?:\[(?P<keys>[^\[\]]{0,400})\])?"
)
# version='>=2.4', build=*cuda*
_KEY = re.compile(r"""\s{0,9}(\w{1,30})\s{0,9}=\s{0,9}('[^']*'|"[^"]*"|[^,]*?)\s{0,9}(?:,|$)""")


_THREE_PARTS = frozenset((TORCH, NUMPY, *BESIDE_TORCH))
_NO_OTHER_TORCH = ("nvidia", "nodefaults")
_OWN_CHANNEL = re.compile(r"(?:^|/)pytorch/?$")
_WHOLE = re.compile(r"==(\d{1,2}\.\d{1,2}\.\d{1,2})\.\*")


class Spec(msgspec.Struct, frozen=True):
    """One match spec, read."""

    name: str
    """As conda has it, lower case."""
    version: str = ""
    """As conda has it; "" for any."""
    build: str = ""
    channel: str = ""


def parse_spec(text: str) -> Spec | None:
    """Return the parts of a match spec, None where it is none."""
    found = _SPEC.fullmatch(text.strip()) if len(text) <= _LIMIT else None
    if found is None:
        return None
    keys: dict[str, str] = {
        key: value.strip("'\"") for key, value in _KEY.findall(found["keys"] or "")
    }
    version, build = _version_and_build(found["rest"].strip())
    return Spec(
        found["name"].lower(),
        keys.get("version", version),
        keys.get("build", build),
        keys.get("channel", found["channel"] or ""),
    )


def _version_and_build(rest: str) -> tuple[str, str]:
    """Split ``=1.2=py*``, ``==1.2``, ``>=1.2,<2 py*`` or ``1.2 py*``."""
    version, _, build = (
        rest.partition(" ") if not re.search(r"[,|<>=!]\s", rest) else (rest, "", "")
    )
    if not build:
        found = re.fullmatch(r"(=?=?[^=<>!~,|\s]{1,100})=([^=<>!~,|\s]{1,100})", version)
        if found is not None and found[1] not in {"=", "=="}:
            # name=1.2=build pins the version exactly
            exact = found[1].lstrip("=")
            version, build = (exact if exact.endswith("*") else f"=={exact}"), found[2]
    return version.strip(), build.strip()


class CondaNames:
    """What conda's names of packages are called on PyPI, by the tables."""

    def __init__(self) -> None:
        """Read the table, once a manifest."""
        rows = load_knowledge().tables["conda-names"].rows
        self.pypi = {str(row["conda"]): str(row.get("pypi") or "") for row in rows}
        self.roles = {str(row["conda"]): str(row.get("role") or "") for row in rows}

    def distribution(self, name: str) -> str:
        """Return the name by which the rules know a package."""
        return self.pypi.get(name) or normalise_name(name)

    def role(self, name: str) -> str:
        """Return ``python``, ``torch-cuda`` or ``virtual`` for what is no package of Python's."""
        return "virtual" if name.startswith("__") else self.roles.get(name, "")


# x264=1!161.3030
_EPOCH = re.compile(r"={0,2}\d{1,9}!")


def add_spec(
    draft: Draft, names: CondaNames, spec: Spec, place: Place, files: tuple[str, ...] = ()
) -> str | None:
    """Add what a match spec asks for; return a problem, None where there is none.

    Python itself and what only says which CUDA its packages are built for become no requirements.
    """
    specifier = conda_range(spec.version)
    role = names.role(spec.name)
    if specifier is None:
        if role or _EPOCH.match(spec.version):
            return None  # build numbers and dates: tzdata=2024a
        problem = f"{spec.version[:100]!r} is not a version that fadoctor reads"
        return problem if re.search(r"[<>=!~|,\s]", spec.version.lstrip("=")) else None
    if role == "python":
        draft.default_python(Setting(specifier, place))
    elif role == "torch-cuda" and (
        cuda := re.fullmatch(r"={2}([0-9]{2}\.[0-9])(?:\.[0-9*.]{1,9})?", specifier)
    ):
        draft.facts.setdefault("torch.cuda", Setting(cuda[1], place))
    if role in {"python", "virtual"}:
        return None
    name = names.distribution(spec.name)
    if name in _THREE_PARTS and (only := _WHOLE.fullmatch(specifier)):
        specifier = f"=={only[1]}"  # it has no fourth part: pytorch=2.1.2 admits 2.1.2 alone
    draft.requirements.append(
        Requirement(
            name=name,
            place=place,
            specifier=specifier,
            index=spec.channel,
            manager="conda",
            build=spec.build,
            files=files,
        )
    )
    if name == TORCH and (cuda_version := conda_cuda(spec.build)):
        draft.facts["torch.cuda"] = Setting(cuda_version, place)
    return None


def only_one_cuda(draft: Draft) -> None:
    """Forget the CUDA of torch where its builds for several platforms differ in it."""
    builds = {conda_cuda(each.build) for each in draft.requirements if each.name == TORCH}
    if len(builds) > 1:
        draft.facts.pop("torch.cuda", None)


def only_of_pytorch(draft: Draft, channels: Iterable[str]) -> None:
    """Say of the torch of PyTorch's own channel that no other channel of the file has one."""
    if all(channel in _NO_OTHER_TORCH or _OWN_CHANNEL.search(channel) for channel in channels):
        draft.requirements = [
            msgspec.structs.replace(each, is_only_index=True)
            if each.name == TORCH and each.manager == "conda" and _OWN_CHANNEL.search(each.index)
            else each
            for each in draft.requirements
        ]
