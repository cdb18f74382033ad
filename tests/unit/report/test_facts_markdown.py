"""Facts as Markdown: one line in sight, everything else folded, never longer than an issue."""

from __future__ import annotations

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.report.facts_markdown import LARGEST, render

TARGET = Target("environment", "/env", "--python")
FACTS: dict[str, Fact] = {
    "torch.version": Known("2.13.0", "METADATA"),
    "flash_attn.version": Absent("its package is not there"),
    "driver.version": Unknown("no permission", "/proc"),
    "env.CC": Known("```\n<details>", "the environment"),
}


def test_what_is_known_is_folded_below_one_line() -> None:
    page = render(Environment("0.1.0", TARGET, FACTS))
    assert page.startswith("<details><summary>fadoctor 0.1.0, torch 2.13.0</summary>\n\n")
    assert page.endswith("\n</details>\n")
    assert "torch.version: 2.13.0" in page
    assert "Examined: /env (--python)\n" in page  # often another than the one that fails
    assert "driver.version: unknown (no permission)" in page
    assert "\nflash_attn.version" not in page
    assert page.count("<details>") == 2  # one of them is a value, in a fence
    assert "````text" in page


def test_an_issue_holds_it() -> None:
    many: dict[str, Fact] = {
        f"package.number{number}": Known("x" * 250, "METADATA") for number in range(1000)
    }
    page = render(Environment("0.1.0", TARGET, many))
    assert len(page) < LARGEST + 4_000
    assert "facts are left out: `fadoctor facts` prints all." in page
