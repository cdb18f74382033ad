"""What must hold of every report, worked out from facts and tables without what predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from fadoctor.interfaces.commands.gate import gate_of
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.packages import EXTENSIONS, PACKAGES
from fadoctor.model.verdict import Predicted
from fadoctor.report.answer import State, answers_of, worst_of
from fadoctor.report.blame import blame_text
from tests.properties.broken import installed, mapping
from tests.properties.worlds import knowledge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.report import Report
    from fadoctor.model.verdict import Verdict
    from tests.properties.broken import Facts

_BACKENDS = {str(row["backend"]): row for row in knowledge().tables["backends"].rows}
_INSTEAD_OF = {"fa2": "flash_attn", "fa3": "flash_attn_3", "fa4": "flash_attn_4", "sage": ""}
"""Kernel of the Hub -> the package that goes before it."""
_IDLE = knowledge().tables["requirements-idle"].rows


def contradictions(prognosis: Prognosis, report: Report) -> list[str]:
    """Return everything in a report that its own facts or findings contradict."""
    facts = report.environment
    found = [
        f"{cell.gpu} {cell.backend.value} {cell.dtype.value} works, but {why}"
        for cell in report.verdicts
        if cell.predicted is Predicted.WORKS
        for why in _against(cell, facts, prognosis)
    ]
    unexplained = (*_unexplained(facts, prognosis, report), *_unexplained_kernels(facts, report))
    return [*found, *_about_advice(report), *unexplained, *about_first_line(report)]


def _against(cell: Verdict, facts: Facts, prognosis: Prognosis) -> Iterator[str]:
    row = _BACKENDS[cell.backend.value]
    package, needs = str(row["package"]), str(row.get("needs") or "").split()
    for name in dict.fromkeys((package, "torch", *needs)):
        if not isinstance(facts.get(f"{name}.version"), Known):
            yield f"{name} is missing, or nobody knows its version"
    for name in (package, *needs):
        yield from _extensions(name, facts)
    one_of = [facts.get(f"{name}.file") for name in str(row.get("one_of") or "").split()]
    if one_of and all(isinstance(file, Absent) for file in one_of):
        yield "none of its extensions is there"
    yield from _requirements(package, cell.backend.value, facts)
    if row.get("route") == "hub":
        yield from _of_the_hub(cell, facts)
    gpu = cell.gpu.partition(" ")[0]
    known = (facts.get(f"{gpu}.{name}") for name in ("compute_capability", "gfx"))
    if all(isinstance(fact, Unknown) for fact in known):
        yield "nobody knows what the GPU is"
    yield from _standing(cell, prognosis, (package, *needs))


def _standing(cell: Verdict, prognosis: Prognosis, packages: tuple[str, ...]) -> Iterator[str]:
    for each in prognosis.assessment.judgements:
        affects, about = each.rule.affects, each.about.bindings
        if each.outcome is not Outcome.FAIL or each.rule.severity is Severity.NOTE or not affects:
            continue
        if each.severity is not each.rule.severity:  # what weighs less here decides no cell
            continue
        own = about.get("package") in packages if affects.extension else False
        here = about.get("gpu", cell.gpu.partition(" ")[0]) == cell.gpu.partition(" ")[0]
        covers = (own or cell.backend in affects.backends) and here
        if covers and cell.dtype in (affects.dtypes or (cell.dtype,)):
            yield f"{each.rule.id} stands"


def _of_the_hub(cell: Verdict, facts: Facts) -> Iterator[str]:
    """Yield why a kernel of the Hub cannot be had here, or does not run on a GPU."""
    prefix = f"hub.{cell.backend.value.removeprefix('hub-')}"
    offline = _value(facts, "env.HF_HUB_OFFLINE").upper() in ("1", "ON", "YES", "TRUE")
    build, download = _value(facts, f"{prefix}.build"), _value(facts, f"{prefix}.download")
    if not (build or (download and not offline)):
        yield "no build of it is there"
    if build and isinstance(facts.get(f"{prefix}.lacking"), Known):
        yield "kernels does not read its metadata"
    if (
        offline
        and _value(facts, f"{prefix}.offline") != "True"
        and _value(facts, "kernels.version").startswith(("0.15", "0.16", "0.17"))
    ):
        yield "without the network it is not found"
    lying = {**mapping(facts.get("hub.kernels")), **mapping(facts.get("hub.models"))}
    if build and not any(build in some.split() for some in lying.values()):
        yield "its build does not lie in the cache"
    archs = facts.get(f"{prefix}.archs")
    capability = _value(facts, f"{cell.gpu.partition(' ')[0]}.compute_capability")
    majors = {capability.partition(".")[0], "9" if "+PTX" in str(archs) else ""}
    if isinstance(archs, Known) and isinstance(archs.value, tuple):
        if not any(each.partition(".")[0] in majors for each in archs.value):
            yield f"its build has code for {archs.value} alone"
    elif not isinstance(archs, Absent):
        yield "nobody knows for which GPUs it has code"
    if isinstance(facts.get(f"{prefix}.lacks"), Known):
        yield "something that it imports is missing"
    transformers, kernels = (_value(facts, f"{n}.version") for n in ("transformers", "kernels"))
    if transformers == "5.17.0" and not kernels.startswith("0.16."):
        yield "this transformers does not accept this kernels"


def _needed(package: str, facts: Facts) -> list[str]:
    """Return the extensions that a package needs; one beside its own has to be there."""
    every = (f"{package}.{name}" for name in EXTENSIONS.get(package, ()))
    return [
        each
        for each in every
        if _value(facts, f"{each}.optional") != "True"
        and (each.endswith(".binary") or not isinstance(facts.get(f"{each}.file"), Absent))
    ]


def _extensions(package: str, facts: Facts) -> Iterator[str]:
    needed = _needed(package, facts)
    for extension in needed:
        failure = facts.get(f"{extension}.failure")
        if isinstance(failure, Known):
            yield f"{extension} does not load"
        if isinstance(failure, Unknown) and not isinstance(facts.get(f"{extension}.file"), Absent):
            yield f"nobody knows whether {extension} loads"
    if f"{package}.binary" in needed and isinstance(facts.get(f"{package}.binary.file"), Absent):
        yield f"{package} has no extension"
    if _does_not_load(package, facts):
        yield f"{package} does not load"


def _does_not_load(package: str, facts: Facts) -> bool:
    """Return whether the extensions that a package needs are known not to load."""
    loads = facts.get(f"{package}.loads")
    every = [f"{package}.{name}" for name in EXTENSIONS.get(package, ())]
    spared = [each for each in every if each not in _needed(package, facts)]
    excused = any(isinstance(facts.get(f"{each}.failure"), Known) for each in spared)
    is_refused = isinstance(loads, Known) and loads.value is False
    return is_refused and len(spared) < len(every) and not excused


def _requirements(package: str, backend: str, facts: Facts) -> Iterator[str]:
    there, needs = facts.get("packages.installed"), facts.get(f"{package}.requires")
    installer = facts.get(f"{package}.installer")
    if isinstance(installer, Known) and installer.value == "conda":
        return
    if isinstance(needs, Absent):
        return  # it requires nothing, whatever is there
    if isinstance(there, Unknown) or isinstance(needs, Unknown):
        yield f"nobody knows whether {package} has what it requires"
    own_torch = _value(facts, "torch.build") in ("", "other")
    for name, wanted in mapping(needs).items():
        idle = [
            row
            for row in _IDLE
            if row["package"] == package and name in str(row["requirement"]).split()
        ]
        spared = any(backend in str(row["backends"]).split() for row in idle)
        aliases = next((names for names in PACKAGES.values() if name in names), (name,))
        versions = [mapping(there)[alias] for alias in aliases if alias in mapping(there)]
        is_own = name == "torch" and own_torch
        met = name in mapping(there) and (is_own or _is_in(mapping(there)[name], wanted))
        stands_in = name not in mapping(there) and bool(versions)
        if not (spared or met or stands_in):
            yield f"{package} requires {name}{wanted}"


def _value(facts: Facts, name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def _is_in(version: str, wanted: str) -> bool:
    return not wanted or SpecifierSet(wanted).contains(version, prereleases=True)


def about_first_line(report: Report) -> Iterator[str]:
    """Yield what the first line says against what stands below it, and the gate against both."""
    answers = answers_of(report)
    states = {each.state for each in answers}
    worst = worst_of(report)
    if worst is not None:
        if State.WORKS in states or answers[0].state is not State.FAILS:
            yield f"the first line is {answers[0].state.value} above {worst.rule_id}"
        said = " ".join(each.sentence for each in answers)
        named = [each.title for each in report.findings if each.severity is Severity.ERROR]
        if not any(title in said for title in named) and not any(e.is_explained for e in answers):
            yield f"the first line names no cause, such as {worst.rule_id}"
    right, _, wrong = blame_text(report).removeprefix("Right: ").partition("Wrong: ")
    if both := {*right.strip(" .").split(", ")} & {*wrong.strip(" .").split(", ")} - {""}:
        yield f"right and wrong at once: {both}"
    if gate_of(report) is State.WORKS and (worst or State.WORKS not in states):
        yield "the gate is open below an answer that is not green"


def _about_advice(report: Report) -> Iterator[str]:
    advice = report.recommendation
    if advice is None:
        return
    mine = [cell.predicted for cell in report.verdicts if cell.backend is advice.backend]
    if mine and set(mine) == {Predicted.FAILS}:
        yield f"{advice.backend.value} is recommended, and fails everywhere"
    package = str(_BACKENDS[advice.backend.value]["package"])
    for name in ("torch", package):
        if isinstance(report.environment.get(f"{name}.version"), Absent):
            yield f"{advice.backend.value} is recommended, and there is no {name}"


def _unexplained(facts: Facts, prognosis: Prognosis, report: Report) -> Iterator[str]:
    """Yield the extensions that are known not to load and of which nothing is said."""
    said = {rule for each in report.findings for rule in (each.rule_id, *each.consequences)}
    about = {
        each.about.bindings.get("package")
        for each in prognosis.assessment.judgements
        if each.rule.id == "extension-unloadable" and each.outcome is Outcome.FAIL
    }
    for package in EXTENSIONS:
        if package not in installed(facts):
            continue
        failures = [facts.get(f"{each}.failure") for each in _needed(package, facts)]
        own = [f for f in failures if isinstance(f, Known) and f.value != "torch"]
        if (own or _blank_refusal(package, facts)) and not (
            "extension-unloadable" in said and package in about
        ):
            yield f"{package} does not load, and nothing is said of it"


def _unexplained_kernels(facts: Facts, report: Report) -> Iterator[str]:
    """Yield the kernels of the Hub that are taken and known not to load, but not said to be so."""
    said = {rule for each in report.findings for rule in (each.rule_id, *each.consequences)}
    for generation, package in _INSTEAD_OF.items():
        loads = facts.get(f"hub.{generation}.loads")
        is_taken = not package or isinstance(facts.get(f"{package}.version"), Absent)
        is_refused = isinstance(loads, Known) and loads.value is False
        if is_taken and is_refused and "hub-build-unloadable" not in said:
            yield f"the kernel for {generation} does not load, and nothing is said of it"


def _blank_refusal(package: str, facts: Facts) -> bool:
    every = (f"{package}.{name}" for name in EXTENSIONS[package])
    none = not any(isinstance(facts.get(f"{each}.failure"), Known) for each in every)
    return none and _does_not_load(package, facts)
