"""What the tools really printed, and what the probes read of the same environment.

Each sample is the output of a tool, run beside torch's CPU build; paths, the kernel's name, and
lines about the processor and the authors of packages were taken out. `probed.json` has what
`fadoctor facts --python` read there, by the same hour: of all samples, and what was otherwise
where another release of a tool, or variables, stood in front.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fadoctor.model.fact import Known, Unknown
from tests.unit.sources.pasted.reading import read_report
from tests.unit.sources.pasted.test_documented import DOCS

SAMPLES = Path(__file__).parent / "samples"
PROBED: dict[str, dict[str, Any]] = json.loads((SAMPLES / "probed.json").read_text("utf-8"))
NAMES = sorted(path.stem for path in SAMPLES.glob("*.txt"))

_NAMED = "packages.named"
_WORDED_OTHERWISE = "toolkit.gcc.version"
"""gcc's own name has its major version only; the tools ask it for all of it."""


def _said(name: str) -> dict[str, Any]:
    """Return what a sample says, None where it says that something is not there."""
    facts = read_report((SAMPLES / f"{name}.txt").read_bytes(), name).facts
    return {
        fact: found.value if isinstance(found, Known) else None
        for fact, found in facts.items()
        if not isinstance(found, Unknown) and fact != _NAMED
    }


def _in_part(said: str, probed: str) -> bool:
    """Return whether a version is the probed one without its last parts: that of a folder."""
    return probed.startswith(f"{said}.")


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_and_the_probes_say_the_same(name: str) -> None:
    probed = PROBED["every sample"] | PROBED.get(name, {})
    said = _said(name)
    both = said.keys() & probed.keys() - {_WORDED_OTHERWISE}
    assert both
    if _in_part(str(said.get("python.version", "")), str(probed["python.version"])):
        both -= {"python.version"}
    assert {fact: said[fact] for fact in both} == {fact: probed[fact] for fact in both}
    major = str(said.get(_WORDED_OTHERWISE, probed[_WORDED_OTHERWISE])).partition(".")[0]
    assert major == probed[_WORDED_OTHERWISE]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_said_that_the_probes_did_not_see(name: str) -> None:
    """What only the paste says is the absence of all facts of a package that is not there."""
    probed = PROBED["every sample"] | PROBED.get(name, {})
    alone = {fact: value for fact, value in _said(name).items() if fact not in probed}
    assert not {fact: value for fact, value in alone.items() if value is not None}


@pytest.mark.parametrize("name", [name for name in NAMES if "pip-" in name])
def test_what_is_named_is_installed(name: str) -> None:
    probed = PROBED["every sample"]["packages.installed"]
    named = read_report((SAMPLES / f"{name}.txt").read_bytes(), name).facts.get(_NAMED)
    listed = named.value if isinstance(named, Known) and isinstance(named.value, dict) else {}
    runtime = {"torch": listed["torch"].partition("+")[0]} if "torch" in listed else {}
    said = {**listed, **runtime}
    there = {package: version.partition("+")[0] for package, version in probed.items()}
    assert {n: v for n, v in said.items() if n in there and there[n] != v.partition("+")[0]} == {}


def test_the_samples_say_what_they_are_for() -> None:
    """A reader that reads nothing agrees with everything."""
    least = {
        "collect_env-1.13.1": 20, "collect_env-2.14.0": 20, "vllm-0.11.2": 34, "vllm-0.33.0": 23,
        "transformers-4.57.1": 17, "accelerate-0.30.1": 15, "llamafactory-0.9.5": 25,
        "xformers-0.0.28": 6, "ds_report-0.15.4": 6, "nvcc": 1, "pip-freeze": 24, "pip-show": 10,
        "uv-pip-list": 26, "uv-pip-show": 6,
    }  # fmt: skip
    counts = {
        name: sum(value is not None or fact == "torch.cuda" for fact, value in _said(name).items())
        for name in least
    }
    assert {name: count for name, count in counts.items() if count < least[name]} == {}


def test_the_docs_name_what_was_run() -> None:
    table = DOCS.read_text(encoding="utf-8").partition("## What was run")[2]
    for name in NAMES:
        release = name.rpartition("-")[2]
        assert name in table or (release[:1].isdigit() and release in table), name
