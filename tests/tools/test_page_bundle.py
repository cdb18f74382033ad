"""The parts of the page's bundle that need neither npm nor a browser."""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING

from fadoctor.api import answer
from tools.page import bundle
from tools.page.examples import CASES, examples_of
from tools.page.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

ASSETS = bundle.ASSETS


def test_each_example_of_a_rule_is_a_text_that_shows_it(tmp_path: Path) -> None:
    cases = {
        "gpu-too-old-fa2": [
            {"name": "alike", "log": "nothing", "expect": {"outcome": "pass"}},
            {"name": "a", "log": "RuntimeError: only Ampere", "expect": {"outcome": "fail"}},
        ],
        "by-facts": [
            {"name": "a", "facts": {"torch.version": "2.6.0"}, "expect": {"outcome": "fail"}}
        ],
        "on-a-host": [{"name": "a", "host": "x", "expect": {"outcome": "fail"}}],
    }
    wheel = tmp_path / "fadoctor-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(CASES, json.dumps(cases))
    found = examples_of(wheel)
    assert found["gpu-too-old-fa2"] == "RuntimeError: only Ampere"
    assert json.loads(str(found["by-facts"]))["facts"]["torch.version"]["value"] == "2.6.0"
    assert "on-a-host" not in found
    assert KINDS.keys() <= found.keys()
    assert answer(str(found["by-facts"])).kind.value == "facts"


def test_the_policy_allows_no_connection_elsewhere() -> None:
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert "unsafe-eval" not in rules["script-src"].replace("wasm-unsafe-eval", "")
    for file in ASSETS.iterdir():
        assert not re.search(r"""["'(]https?://""", file.read_text(encoding="utf-8")), file.name


def test_a_site_with_a_switch_gets_the_same_colours() -> None:
    style = bundle.STYLE.read_text(encoding="utf-8")
    chosen = bundle._chosen(style)
    for paper, name in (("#ffffff", "light"), ("#0d1117", "dark")):
        [rule] = [line for line in chosen.splitlines() if f'"{name}"' in line]
        assert f"--paper: {paper}" in rule
        assert rule.count("color-scheme") == 1


def test_pure_packages_lose_their_extensions(tmp_path: Path) -> None:
    wheel = tmp_path / "pyyaml-6.0.3-cp312-cp312-linux.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("yaml/__init__.py", "yaml/_yaml.so", "PyYAML-6.dist-info/RECORD"):
            archive.writestr(name, "")
    target = tmp_path / "sources.zip"
    with zipfile.ZipFile(target, "w") as archive:
        bundle._add(archive, wheel)
        assert archive.namelist() == ["yaml/__init__.py"]
