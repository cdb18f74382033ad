"""Every distribution's requirements, those outside the catalogue too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from fadoctor.model.environment import Target
from fadoctor.model.fact import Known
from fadoctor.sources.probes import requires
from fadoctor.sources.probes.all_requirements import read_all_requirements
from tests.cli.environments import add_package, make_environment

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FACTS = {
    "host.os": Known("linux", "test"),
    "host.machine": Known("x86_64", "test"),
    "python.version": Known("3.11.7", "test"),
}


def test_read_from_metadata(tmp_path: Path) -> None:
    site = make_environment(tmp_path)
    add_package(site, "torchvision", "0.23.0", "torch==2.8.0", 'win-only; sys_platform == "win32"')
    add_package(site, "plain", "1.0", 'extra-only; extra == "all"')
    add_package(site, "undecidable", "1.0", 'x; platform_version == "7"')
    target = Target("environment", "x", "x", site=(str(site),), roots={"site": str(site)})
    assert read_all_requirements(target, {}, FACTS) == {
        "torchvision": {"torch": "==2.8.0"},
        "plain": {},
    }


def test_what_an_extra_pins_counts_where_all_of_it_is_there(tmp_path: Path) -> None:
    """sglang before 0.5.3 names its torch in an extra: torch moved away from its kernels."""
    site = make_environment(tmp_path)
    extra = ('torch==2.6.0; extra == "srt"', 'sgl-kernel==0.1.4; extra == "srt"')
    add_package(site, "sglang", "0.4.6", "requests", *extra, 'lint==1.0; extra == "dev"')
    add_package(site, "other", "1.0", 'torch==2.5.0; extra == "old"')
    add_package(site, "torch", "2.6.0+cu124")
    target = Target("environment", "x", "x", site=(str(site),), roots={"site": str(site)})
    before = read_all_requirements(target, {}, FACTS)
    assert before["sglang"] == {"requests": ""}
    add_package(site, "sgl-kernel", "0.1.4")
    after = read_all_requirements(target, {}, FACTS)
    assert after["sglang"] == {"requests": "", "torch": "==2.6.0", "sgl-kernel": "==0.1.4"}
    assert after["other"] == {}


def test_extras_that_pin_nothing_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment has hundreds of such lines: parsing them took a tenth of a static check."""
    parsed: list[str] = []

    def parse(line: str) -> Requirement:
        parsed.append(line)
        return Requirement(line)

    monkeypatch.setattr(requires, "parse_requirement", parse)
    lines = (
        'lint>=1; extra == "dev"', 'near~=2.0; extra == "dev"',
        'torch==2.6.0; extra == "srt"', 'plain; extra == "srt"',
    )  # fmt: skip
    found = requires.read_extras(lines, requires.marker_target(FACTS))
    assert found == {"srt": {"torch": "==2.6.0", "plain": ""}}
    assert parsed == list(lines[2:])
