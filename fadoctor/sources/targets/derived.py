"""Facts that follow from other facts and the matrix, where no probe could read them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.build_labels import FILES, image_build_facts, label_facts
from fadoctor.knowledge.matrix.index_names import mistaken_facts
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import EXTENSIONS, PACKAGES, PARTLY_EXTRAS, package_of
from fadoctor.sources.targets.gpu_code import gpu_code
from fadoctor.sources.targets.gpu_name import find_gpu
from fadoctor.sources.targets.incompatible_pairs import pair_facts
from fadoctor.sources.targets.optional_extensions import optional_extensions, unexplained_failures
from fadoctor.sources.targets.other_python import other_python
from fadoctor.sources.targets.rocm import rocm_facts
from fadoctor.sources.targets.tegra import driver_facts
from fadoctor.sources.targets.tensor_cores import tensor_core_facts
from fadoctor.sources.targets.unmet_requirements import NAMED, unmet_requirements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment


_UNFIT = "packages.unfit_wheels"
_OF_MANIFESTS = ("flash_attn.wheel.prebuilt", _UNFIT, "packages.contradicted",
                 "packages.channel_python",
                 "packages.isolated_builds", "packages.isolated_in",
                 "packages.isolated_by_new_pip", "packages.isolated_torch",
                 "packages.unserved", "packages.unlabelled", "packages.of_pypi",
                 "packages.unserved_instead", "packages.too_new", "packages.too_new_below",
                 "packages.too_new_unless",
                 "packages.moved_torch", "packages.moved_torch_bound", "packages.replaced_builds",
                 "packages.before_torch", "packages.moved_library",
                 "packages.moved_library_bound", "packages.undone_pin", "packages.undone_pin_bound",
                 "toolkit.in_image")  # fmt: skip
_PARTS = 2
"""Dots in the names of facts that follow from others: ``hub.fa2.build``, and not ``hub.cache``."""

_LATER = (
    "packages.hidden", "packages.hidden_by", "packages.hidden_how",
    "torch.foreign_cuda", "torch.foreign_cudnn", "torch.foreign_cudnn_in",
    "rocm.version", "rocm.driver", "rocm.kfd_access", "rocm.kfd_group",
)  # fmt: skip
"""Facts of which facts that were saved earlier say nothing, and that rules ask first."""


def derive(environment: Environment, matrix: Matrix) -> Environment:
    """Return the environment with what follows from its facts.

    These are compute capabilities that the driver did not tell, by the GPU's name; a Jetson's
    driver; for which other Python torch is; which GPUs have tensor cores; what would come from the
    Hub; which compiled extensions a package does without; which of the GPUs here they have code
    for; what an extra that is in use pins; which declared requirements are not met; and what is
    not what its name says.
    """
    environment = _with(environment, _not_asked(environment))
    if any(isinstance(environment.fact(f"{each}.version"), Known) for each in PARTLY_EXTRAS):
        from fadoctor.sources.targets.used_extras import used_extras  # noqa: PLC0415 -- few have one

        environment = _with(environment, used_extras(environment.facts, matrix))
    askers = (*PACKAGES, *environment.requirers())
    unmet = unmet_requirements(environment.facts, matrix, askers)
    unmet |= pair_facts(environment.facts, matrix, PACKAGES)
    unmet |= other_python(environment.facts, PACKAGES)
    unmet |= mistaken_facts(environment.facts, matrix)
    unmet |= label_facts(environment.facts, matrix)
    unmet |= image_build_facts(environment.facts, matrix)
    for name in _OF_MANIFESTS:
        if name not in environment.facts:
            unmet[name] = Absent("no data on what an installer would find")
    for name in (NAMED, FILES):
        if name not in environment.facts:
            unmet[name] = Absent("no text names packages: they were looked at")
    environment = _with(environment, _capabilities(environment, matrix) | unmet)
    environment = _with(environment, driver_facts(environment.facts, matrix))
    environment = _with(environment, tensor_core_facts(environment, matrix))
    environment = _with(environment, rocm_facts(environment, matrix))
    environment = derive_hub(environment, matrix)
    return derive_extensions(environment, matrix, EXTENSIONS)


def _not_asked(environment: Environment) -> dict[str, Fact]:
    """Return as Absent what not checked when these facts were read: they are judged as before."""
    source = "not checked when these facts were read"
    asked = environment.facts
    there = (key for key in PACKAGES if not isinstance(asked.get(f"{key}.version"), Absent))
    later = (*_LATER, *(f"{key}.gone" for key in there))
    return {name: Absent(source) for name in later if name not in asked}


def derive_requirements(
    environment: Environment, matrix: Matrix, packages: Collection[str], *, advises: bool = True
) -> Environment:
    """Return the environment with what of some packages' requirements and pairs is not met."""
    found = unmet_requirements(environment.facts, matrix, packages, advises=advises)
    known = [package for package in packages if package in PACKAGES]
    found |= pair_facts(environment.facts, matrix, known, is_state=True)
    found |= mistaken_facts(environment.facts, matrix) | _unfit(environment.facts)
    found |= label_facts(environment.facts, matrix)
    found |= image_build_facts(environment.facts, matrix)
    return _with(environment, found | other_python(environment.facts, known))


def _unfit(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return which wheels do not fit, without those in whose place another one comes."""
    said = facts.get(_UNFIT)
    if not isinstance(said, Known) or not isinstance(said.value, dict):
        return {}
    left = {}
    for name, text in said.value.items():
        package = package_of(name, name)
        address = facts.get(f"{package}.direct_url")
        tags = text.removeprefix("(for ").partition(",")[0]
        if not isinstance(address, (Known, Absent)) or tags in str(getattr(address, "value", "")):
            left[name] = text
    return {_UNFIT: Known(left, said.source)}


def derive_extensions(
    environment: Environment, matrix: Matrix, packages: Collection[str]
) -> Environment:
    """Return the environment with what follows about the compiled extensions of some packages."""
    known = [package for package in packages if package in EXTENSIONS]
    optional = optional_extensions(environment, matrix, packages)
    optional |= unexplained_failures(environment, known, optional)
    environment = _with(environment, optional)
    return _with(environment, gpu_code(environment, matrix, packages))


def _with(environment: Environment, derived: dict[str, Fact]) -> Environment:
    if not derived:
        return environment
    return msgspec.structs.replace(environment, facts={**environment.facts, **derived})


def derive_hub(environment: Environment, matrix: Matrix) -> Environment:
    """Return the environment with what comes from the Hub, and nothing of what came before."""
    if derived := set(derived_of_hub(environment.facts)):
        left = {name: fact for name, fact in environment.facts.items() if name not in derived}
        environment = msgspec.structs.replace(environment, facts=left)
    if not isinstance(environment.fact("kernels.version"), Known):
        return environment
    from fadoctor.sources.targets.hub import hub_facts  # noqa: PLC0415 -- few environments have kernels
    from fadoctor.sources.targets.hub_code import hub_code  # noqa: PLC0415 -- as above

    environment = _with(environment, hub_facts(environment.facts, matrix))
    return _with(environment, hub_code(environment, matrix))


def derived_of_hub(facts: Iterable[str]) -> list[str]:
    """Return which of some names of facts are those that `derive_hub` gives."""
    return [name for name in facts if name[:4] == "hub." and name.count(".") == _PARTS]


def _capabilities(environment: Environment, matrix: Matrix) -> dict[str, Fact]:
    derived: dict[str, Fact] = {}
    for gpu in (subject.text for subject in environment.subjects("gpu")):
        model = environment.facts.get(f"{gpu}.name")
        parts = [f"{gpu}.{part}" for part in ("compute_capability", "gfx")]
        unread = [name for name in parts if isinstance(environment.facts.get(name), Unknown)]
        if not isinstance(model, Known) or not unread:
            continue
        with suppress(UsageError):  # not a name of the table
            found = find_gpu(str(model.value), matrix.tables)
            source = f"by the name {model.value}"
            values = dict(zip(parts, (found.compute_capability, found.gfx), strict=True))
            derived |= {name: Known(values[name], source) for name in unread if values[name]}
    return derived
