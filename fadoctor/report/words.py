"""Values, settings and counts as people write them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from fadoctor.judging.verdicts.audience import ALONE, SERVERS, framework_of, server_of
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.model.packages import AXOLOTL, CALLED, LLAMAFACTORY, SGLANG, TRANSFORMERS, VLLM
from fadoctor.model.rules_version import rules_version
from fadoctor.model.verdict import Backend, Dtype, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.report import RulesInfo
    from fadoctor.model.verdict import Becomes, Recommendation


def frameworks_here(advice: Recommendation, facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return frameworks that are there -> how they are named, with their version.

    The one whose words are spoken is first, and a server or ComfyUI alone. Where it is not known of
    any whether it is there, all are returned. A file that only asks for an attention or a dtype
    speaks the words of transformers.
    """
    versions = {name: facts.get(f"{name}.version") for name in advice.settings}
    here = {name: each.value for name, each in versions.items() if isinstance(each, Known)}
    open_ = [name for name, each in versions.items() if each is None or isinstance(each, Unknown)]
    named = {name: f"{name} {version}" for name, version in here.items()}
    first = framework_of(facts)
    if first in versions:
        label = named.pop(first, first)
        return {first: label} if first in ALONE else {first: label, **named}
    asks = any(isinstance(facts.get(each), Known) for each in ("config.attention", "config.dtype"))
    if asks and not (named or open_):
        open_ = [name for name in (TRANSFORMERS,) if name in versions]
    return named or {name: name for name in open_}


def pasted_settings(
    advice: Recommendation, facts: Mapping[str, Fact]
) -> tuple[tuple[str, str], ...]:
    """Return framework and line to paste, of those that are there."""
    labels = frameworks_here(advice, facts)
    return tuple(
        (label, setting_text(name, advice.settings[name])) for name, label in labels.items()
    )


def setting_text(framework: str, settings: dict[str, str]) -> str:
    """Return a framework's settings as they are pasted: ``--dtype half``, ``fp16: true``."""
    words = [_setting(framework, name, value) for name, value in settings.items() if name != "note"]
    note = [f"({settings['note']})"] if "note" in settings else []
    return " ".join([_joint(framework, words).join(words), *note]).strip()


def _joint(framework: str, words: list[str]) -> str:
    """Return what stands between settings: nothing but a blank between options of a command."""
    is_command = framework in SERVERS or all(each.startswith("--") for each in words)
    return " " if is_command else ", "


def _setting(framework: str, name: str, value: str) -> str:
    """Return one setting: of a command line, of YAML, or an argument or variable."""
    if name.startswith("--"):
        return f"{name} {value}".rstrip()
    if "." in name and value.startswith('"'):  # a method, which is called
        return f"{name}({value})"
    return f"{name}: {value}" if framework in _IN_YAML else f"{name}={value}"


_IN_YAML = (LLAMAFACTORY, AXOLOTL)
"""Frameworks that are configured by keys of YAML."""


def value_text(value: object) -> str:
    """Return a fact's value in one line."""
    if isinstance(value, (tuple, list)):
        return " ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}".rstrip() for key, item in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


_NO_FACTS: Mapping[str, Fact] = MappingProxyType({})

_DTYPES = {Dtype.BF16: "bfloat16", Dtype.FP16: "float16", Dtype.FP32: "float32", Dtype.FP8: "fp8"}


_SERVERS = {VLLM: "vLLM", SGLANG: "SGLang"}
"""How servers are called."""


def use_text(dtype: Dtype, backend: Backend, facts: Mapping[str, Fact]) -> str:
    """Return what to use as people say it: ``Use float16 with FlashAttention-2 (fa2)``.

    A server does not use the attention of transformers: its settings say which one.
    """
    if backend is not Backend.VLLM_FA and (server := server_of(facts)):
        return f"Use {_DTYPES[dtype]} in {_SERVERS[server]}"
    name = CALLED.get(backend.value)
    said = f"{name} ({backend.value})" if name else backend.value
    return f"Use {_DTYPES[dtype]} with {said}"


def becomes_text(advice: Recommendation, facts: Mapping[str, Fact] = _NO_FACTS) -> str:
    """Return what flash_attention_2 really is here; "" where it is what it is called.

    How its own package comes out stands in the answer and in the table.
    """
    taken = advice.flash_attention_2
    if framework_of(facts) in ALONE:  # transformers is a helper there
        return ""
    if taken is None or taken.origin is Origin.PACKAGE:
        return ""
    if taken.origin is Origin.ERROR:
        named = f" ({taken.name})" if taken.name else ""
        return f"flash_attention_2 fails here{named}: {taken.detail}"
    return f"flash_attention_2 here: {_taken(taken)}"


def _taken(taken: Becomes) -> str:
    about = f" ({taken.detail})" if taken.detail else ""
    match taken.origin:
        case Origin.HUB:
            return f"{taken.name} from the Hub{about}"
        case Origin.UNKNOWN if taken.name:
            return f"{taken.name} from the Hub, or an error: {taken.detail}"
        case _:
            return f"not known: {taken.detail}"


def counted(number: int, noun: str) -> str:
    """Return ``1 case`` or ``2 cases``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def rules_text(rules: RulesInfo) -> str:
    """Return the version of the rules, and where they came from if not with fadoctor."""
    return rules_version(rules.version, rules.origin)
