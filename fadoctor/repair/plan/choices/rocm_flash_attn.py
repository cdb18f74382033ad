"""flash-attn on AMD's GPUs: its Triton backend, which its sources install without a compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.kernels import computing_gpus
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Absent, Known, fact_mapping, fact_text
from fadoctor.model.packages import ALWAYS, FLASH_ATTN, PACKAGES, TORCH
from fadoctor.model.verdict import Backend, Dtype
from fadoctor.repair.plan.choices.build import published_sources
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.released import accepts, is_in_specifier, is_there, released
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.wheel_facts import known
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.fact import Fact
    from fadoctor.repair.plan.search.problem import Problem

_ENGINES, _SUPPORT = "rocm-engines", "kernel-support-rocm"


def triton_backend(problem: Problem, chosen: Iterable[Choice]) -> tuple[Choice, ...]:
    """Return the installation of flash-attn that was asked for, where it is known to work.

    Beside a torch for ROCm, on GPUs on which its Triton backend works. A file has no line for it:
    the build must see torch, and the variable.
    """
    wishes, here = problem.wishes, problem.environment
    after = problem.post.after(here, chosen)
    is_due = FLASH_ATTN in wishes.asked and FLASH_ATTN not in wishes.kept
    is_of_files = here.target.kind == "manifest" and bool(here.asked)
    is_open = is_due and not is_there(here, FLASH_ATTN) and not is_of_files
    if not is_open or not isinstance(after.fact("torch.hip"), Known):
        return ()
    if problem.platform != "linux_x86_64":
        return ()
    version = max(_releases(problem), key=version_key, default="")
    return (_choice(problem, version, switch(problem)),) if version else ()


def switch(problem: Problem) -> str:
    """Return the variable and the value with which flash-attn computes by Triton."""
    rows = problem.session.matrix.find(_ENGINES, {"backend": Known(Backend.FA2.value, "asked")})
    return f"{fact_text(rows.cell('variable'), '')}={fact_text(rows.cell('value'), '')}"


def works_by_triton(problem: Problem, version: str) -> bool:
    """Return whether a release's Triton backend is known to work on every GPU."""
    matrix = problem.session.matrix
    engine = matrix.find(_ENGINES, {"backend": Known(Backend.FA2.value, "asked")}).cell("switched")
    for gpu in (gpus := computing_gpus(problem.environment)):
        keys = {
            "backend": Known(Backend.FA2.value, "asked"),
            "engine": engine,
            "version": Known(version, "asked"),
            "gfx": problem.environment.fact(f"{gpu.subject}.gfx"),
            "dtype": Known(Dtype.FP16.value, "asked"),
        }
        found = matrix.find(_SUPPORT, keys).cell("support")
        if not isinstance(found, Known) or found.value != "works":
            return False
    return bool(gpus)


def _releases(problem: Problem) -> Iterator[str]:
    """Yield the releases whose sources PyPI has, and whose Triton backend works here."""
    wished = problem.wishes.pinned.get(FLASH_ATTN, "")
    python = python_of(problem.environment).rstrip("t")
    for version, needed in published_sources(problem.session.matrix.tables):
        if not (accepts(wished, version) and works_by_triton(problem, version)):
            continue
        if is_in_specifier(python, known(needed or None)):
            yield version


def _choice(problem: Problem, version: str, variable: str) -> Choice:
    name, _, value = variable.partition("=")
    facts: dict[str, Fact] = released(FLASH_ATTN, version, interface=True)
    facts["flash_attn.namespace_only"] = known(value=False)
    facts["flash_attn.editable"] = known(value=False)
    facts["flash_attn.requires"] = known({**ALWAYS[FLASH_ATTN]})
    absent = ("extension", "wheel.cuda", "wheel.cuda_major", "wheel.torch", "wheel.cxx11_abi")
    facts |= {f"flash_attn.{each}": Absent(f"{AFTER}: nothing is compiled") for each in absent}
    facts[f"env.{name}"] = Known(value, AFTER)
    return Choice(
        FLASH_ATTN, ChoiceKind.BUILD, f"triton {version}", version,
        f"{PACKAGES[FLASH_ATTN][0]}=={version}", facts=facts, env={name: value},
        brings=dict(_brought(problem)),
    )  # fmt: skip


def _brought(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield what an installer adds, as far as its newest release is known."""
    there = fact_mapping(problem.environment.fact("packages.installed"))
    for name, versions in ALWAYS[FLASH_ATTN].items():
        newest = problem.session.candidates.helpers.newest_in(name, versions)
        if name != TORCH and name not in there and newest:
            yield name, newest


def is_interpreted(choice: Choice) -> bool:
    """Return whether a build from sources compiles nothing: its variable must stay set."""
    return choice.kind is ChoiceKind.BUILD and f"env.{next(iter(choice.env), '')}" in choice.facts
