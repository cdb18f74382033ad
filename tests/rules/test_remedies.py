"""One remedy for one package: whichever symptom shows it, and as exact as a text allows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.shipped import compiled

if TYPE_CHECKING:
    from fadoctor.model.rule import FixTemplate, Rule

# pip install flash-attn, without a release
SOME_FLASH_ATTN = re.compile(
    r"pip install (?:--[\w-]+ ){0,4}\"?flash-attn(?![\w-]|==|\"?[\w ]{0,40}\bthere\b)"
)

OTHERWISE = {
    "hf-fa2-not-installed script-without-it": "another script needs none",
    "hf-fa2-not-installed into-the-pipx-environment": "pipx has a command of its own",
    "hf-remote-code-check-imports into-this-python": "what is there is replaced, whatever it is",
    "build-packaging-missing beside-poetry": "Poetry has a command of its own",
    "te-no-backend flash-attn-for-te": "Transformer Engine accepts a range",
}
"""Fixes that name no release although no wheel is chosen, and why."""

OF_ONE = frozenset(
    {
        # a symbol of the other string ABI is in no release of these
        "torch",
        "causal-conv1d",
        "mamba-ssm",
        # fixes that facts prove as well, without a log
        "apex",
    }
)


def _rule(name: str) -> Rule:
    return next(rule for rule in compiled().knowledge.rules if rule.id == name)


def _packages(rule: Rule) -> set[str]:
    found: set[str] = set()
    for fix in rule.fixes:
        wanted = fix.when.get("package.distribution")
        names = wanted.get("in", wanted.get("is")) if isinstance(wanted, dict) else wanted
        found |= {names} if isinstance(names, str) else {str(name) for name in names or ()}
    return found


def test_a_package_is_replaced_alike_whichever_symbol_its_file_lacks() -> None:
    """A text with sgl-kernel and a symbol of std::string was told to install "the build"."""
    missing = _packages(_rule("abi-undefined-symbol")) - OF_ONE
    assert missing - _packages(_rule("abi-undefined-symbol-cxx11")) == set()


def _is_open(fix: FixTemplate) -> bool:
    texts = [text for step in fix.steps for text in (step.advice, step.system)]
    return not fix.wheel and any(map(SOME_FLASH_ATTN.search, texts))


def test_a_fix_that_installs_some_flash_attn_lets_the_text_choose_its_wheel() -> None:
    """A text that told torch, CUDA and Python was told to run pip install flash-attn."""
    found = {
        f"{rule.id} {fix.id}"
        for rule in compiled().knowledge.rules
        for fix in rule.fixes
        if _is_open(fix)
    }
    assert found - OTHERWISE.keys() == set()
    assert OTHERWISE.keys() - found == set()
