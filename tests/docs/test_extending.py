"""A backend that is added as the page on extending says is predicted, recommended and planned."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long
"""Everything is compiled anew, with the backend of the page."""

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"
_BLOCK = re.compile(r"```yaml\n# (rules/[\w-]+/[\w-]+\.yaml)\n(.*?)```", re.DOTALL)
_MEMBER = re.compile(r'A member in `Backend` of `([\w/.]+)`.*`(\w+ = "\w+")`')

_ASK = """
import json, sys
import msgspec
from fadoctor import api
from fadoctor.fleet.fingerprint import tree_of
from fadoctor.report.words import use_text

said = {}
for name, gpu, driver in (
    ("there", "A100", "470.82.01"), ("there", "A100", "550.54.15"), ("there", "V100", "550.54.15"),
    ("away", "A100", "550.54.15"),
):
    asked = {"facts": f"{name}.json", "gpu": gpu, "driver": driver}
    report = api.check(**asked)
    advice, facts = report.recommendation, report.environment
    said[f"{name} {gpu}" if driver > "5" else "old driver"] = {
        "report": msgspec.to_builtins(report),
        "use": advice and use_text(advice.dtype, advice.backend, facts),
        "tree": tree_of(facts, "", {}, {}),
    }
said["plan"] = msgspec.to_builtins(api.plan(want="toyattn", **asked))
json.dump(said, sys.stdout)
"""


def machines() -> dict[str, dict[str, Any]]:
    """Return the facts of an A100 whose attention is the new package, and of one without any."""
    file = ROOT / "tests" / "golden" / "linux-a100-healthy" / "facts.json"
    there = json.loads(file.read_text("utf-8"))
    facts = there["facts"]
    installed = facts["packages.installed"]["value"]
    del installed["flash-attn"]
    absent = {"state": "absent", "source": "not there"}
    moved = {name: facts.pop(name) for name in list(facts) if name.startswith("flash_attn.")}
    away = json.loads(json.dumps(there))
    away["facts"] |= {"flash_attn.version": absent, "toyattn.version": absent}
    facts["flash_attn.version"] = absent
    others = ("interface", "extension", "namespace_only", "wheel.")  # flash-attn's own facts
    for name, fact in moved.items():
        if not name.removeprefix("flash_attn.").startswith(others):
            facts[name.replace("flash_attn", "toyattn")] = fact
    facts["toyattn.version"]["value"] = installed["toyattn"] = "1.1.0"
    facts["toyattn.distribution"]["value"] = "toyattn"
    return {"there": there, "away": away}


def follow(page: str, root: Path) -> None:
    """Do in a copy of the checkout what the page says."""
    for folder in ("fadoctor", "rules", "tools"):
        left_out = shutil.ignore_patterns("__pycache__", "compiled")
        shutil.copytree(ROOT / folder, root / folder, ignore=left_out)
    for name, text in _BLOCK.findall(page):
        with (root / name).open("a", encoding="utf-8") as file:
            file.write(text)
    [(module, member)] = _MEMBER.findall(page)
    source = (root / module).read_text("utf-8")
    last = '    FLEX = "flex"\n'
    assert source.count(last) == 1
    (root / module).write_text(source.replace(last, f"{last}    {member}\n"), "utf-8")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a checkout with the backend of the page says."""
    root = tmp_path_factory.mktemp("checkout")
    follow(PAGE.read_text("utf-8"), root)
    for name, facts in machines().items():
        (root / f"{name}.json").write_text(json.dumps(facts), "utf-8")

    def run(*words: str) -> str:
        environ = {**os.environ, "PYTHONPATH": str(root)}
        return subprocess.run(
            [sys.executable, *words], cwd=root, env=environ, check=True, capture_output=True,
            text=True, timeout=300,
        ).stdout  # fmt: skip

    run("-m", "tools.write_packages", "--root", str(root))
    answer: dict[str, Any] = json.loads(run("-c", _ASK))
    return answer


def test_it_is_predicted(said: dict[str, Any]) -> None:
    cells = {
        (name, each["dtype"]): each["predicted"]
        for name in ("there A100", "there V100", "old driver")
        for each in said[name]["report"]["verdicts"]
        if each["backend"] == "toy"
    }
    assert cells["there A100", "bf16"] == "works"
    assert cells["there V100", "fp16"] == "fails"
    assert cells["old driver", "bf16"] == "fails"  # a rule about all backends


def test_a_finding_says_why_it_fails(said: dict[str, Any]) -> None:
    found = {each["rule_id"] for each in said["there V100"]["report"]["findings"]}
    assert "toy-arch-unsupported" in found
    assert "toy-arch-unsupported" not in {
        each["rule_id"] for each in said["there A100"]["report"]["findings"]
    }


def test_it_is_recommended_where_it_works(said: dict[str, Any]) -> None:
    assert said["there A100"]["use"] == "Use bfloat16 with ToyAttention (toy)"
    assert said["there V100"]["report"]["recommendation"]["backend"] != "toy"
    assert "toy in fp16" in said["there V100"]["report"]["recommendation"]["why"]


def test_it_is_planned(said: dict[str, Any]) -> None:
    changes = {each["distribution"]: each["after"] for each in said["plan"]["changes"]}
    assert said["plan"]["outcome"] == "repairs"
    assert changes == {"toyattn": "1.1.0"}


def test_a_fleet_keeps_its_version(said: dict[str, Any]) -> None:
    assert said["there A100"]["tree"]["pkg"]["toyattn"] == "1.1.0"


def test_its_facts_are_in_the_report(said: dict[str, Any]) -> None:
    facts = said["there A100"]["report"]["environment"]
    assert facts["toyattn.binary.file"]["state"] == "known"
