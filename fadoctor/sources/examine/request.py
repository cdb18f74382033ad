"""What is asked: what is examined, and what is assumed of it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fadoctor.model.environment import Environment
from fadoctor.model.errors import UsageError
from fadoctor.model.overlays import Overlays


class Meant(msgspec.Struct, frozen=True):
    """What a project's settings say of what is examined; the command line wins over them."""

    target: str = ""
    """Folder or interpreter of an environment: as if it had been found, so that nothing runs."""
    reason: str = ""
    gpu: tuple[str, ...] = ()
    """GPUs that are assumed where none is here, or what is examined is not here."""
    driver: str = ""
    notes: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True):
    """What the command line says about what is examined."""

    python: str = ""
    site_packages: str = ""
    facts: str = ""
    """File of saved facts; how they are called where they are `given`."""
    overlays: Overlays = Overlays()
    thorough: bool = False
    """Whether to read what takes tenths of a second and matters rarely."""
    requirements: tuple[str, ...] = ()
    """Manifests of an environment that does not exist yet: their packages replace those here."""
    configs: tuple[str, ...] = ()
    """Configurations of the run that is meant."""
    extras: tuple[str, ...] = ()
    """Extras of the manifests that count."""
    groups: tuple[str, ...] = ()
    """Groups of the manifests that count."""
    config_kind: str = ""
    """Kind of all of them; "" where each is recognised by its content."""
    contracts: bool = False
    """Whether to follow what the installed packages import of each other."""
    cache: bool = True
    """Whether what was followed before is looked up, and kept."""
    given: Environment | None = None
    """The facts themselves, where a program hands them over."""
    text: bytes = b""
    """A text to read them from, where a program hands it over; `facts` is how it is called."""
    held: Mapping[str, str] = {}
    """Texts of named files that a program hands over: no file of that name is opened."""
    reason: str = "--python"
    """Who named `python`."""
    new: bool = False
    """Whether it is about an environment that is not there yet, with nothing in it."""
    new_if_none: bool = False
    """Whether it is about such a one where none is found."""
    meant: Meant = Meant()
    assumes: bool = True
    """Whether a GPU that files ask a cluster for may stand in for one that is not here."""
    reads_only: bool = False
    """Whether nothing of an environment is run, also of one that is named or active."""
    resolve: bool = False
    """Whether uv or pip is asked which releases come, by the network."""
    fence: str = ""
    """Folder that neither the named files nor what they include lead out of; "" for any."""

    @property
    def names_a_target(self) -> bool:
        """Whether it says at all what is examined, or what is assumed of it."""
        named = self.python or self.site_packages or self.facts or self.requirements
        return bool(named or self.overlays.described())

    @property
    def is_real(self) -> bool:
        """Whether it is about a real environment as it is, so that something may be run in it."""
        assumed = self.overlays.described()
        planned = self.requirements or self.new
        return not (self.facts or self.site_packages or planned or assumed)


def refuse_two_targets(request: Request) -> None:
    """Raise UsageError where options exclude each other, or one lacks what it belongs to."""
    options = {
        "--python": request.python,
        "--site-packages": request.site_packages,
        "--facts": request.facts,
    }
    given = [option for option, value in options.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other: name one target")
    if request.new and (request.facts or request.site_packages):
        raise UsageError(f"--new and {given[0]} exclude each other: --new has no environment yet")
    if (request.extras or request.groups) and not request.requirements:
        raise UsageError("--extra and --group belong to --requirements")
    if request.resolve and not request.requirements:
        raise UsageError("--resolve needs --requirements: it asks which releases are installed")
