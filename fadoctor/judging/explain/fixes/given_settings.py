"""Settings that the command in a text has already: a fix says which, and comes later for them.

A fix names settings of a program, such as --enforce-eager or --max-model-len 4096. Where the text
shows the command that failed, some of them are in it: they do not help again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.model.fix import Step, StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fadoctor.model.fix import Fix

HAS = "The command in the text already has {}: start with the other settings here."
HAS_ALL = "The command in the text already has {}, and that did not help."
NOW = "The command in the text has {} now."

LINES = 400
"""Most lines of a text in which commands are looked for."""

MOST = 3
"""Most settings that a sentence names."""

SMALL = 2
"""So many options make a line a command, whatever it begins with."""

GIVEN = "given"
"""The value of a switch, which has none."""

# --max-model-len 8192 | --dtype=half | --enforce-eager
_OPTION = compiled(
    r"(?<![\w-])--(?P<name>[a-z][a-z0-9]{0,30}(?:[-_][a-z0-9]{1,30}){0,8})"
    r"(?:(?:=| {1,4})[\"']?(?P<value>[A-Za-z0-9][\w.:/-]{0,40}))?"
)
# In a call of Python: enforce_eager is True, max_model_len is 4096.
_ARGUMENT = compiled(
    r"(?<![\w.-])(?P<name>[a-z]{2,30}(?:_[a-z0-9]{1,30}){1,8})={1}[\"']?(?P<value>[\w.-]{1,40})"
)
# A variable before a command: NCCL_P2P_DISABLE set to 1.
_VARIABLE = compiled(
    r"(?<![\w-])(?P<name>[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){1,8})="
    r"[\"']?(?P<value>[\w.:/-]{1,60})"
)
_READ = (_OPTION, _ARGUMENT, _VARIABLE)
# What begins a command; an option on a line of its own goes on with one.
_BEGINS = compiled(
    r"^\s{0,12}(?:[-$#>!%*]{1,2} ?|RUN |CMD |command: ?|args: ?|export |set |- ){0,2}"
    r"(?:[A-Z][A-Z0-9_]{1,40}=\S{1,80} ){0,6}(?:sudo |nohup |exec |time |uv run ){0,2}"
    r"(?:\S{0,80}python[\d.]{0,5}|vllm|docker|podman|torchrun|accelerate|deepspeed|sglang|lmdeploy"
    r"|swift|megatron|llamafactory-cli|axolotl|trl|text-generation-launcher|tritonserver"
    r"|trtllm\S{0,9}|srun|mpirun|bash|sh|llama-server|LLM\(|llm = LLM\(|export|--[a-z])"
)
_TELLS = compiled(
    r"(?i)\b(?:usage|try|please|consider|unrecogni[sz]ed|should|could|can|may|must|instead|without"
    r"|what if|removed?|removing|dropping|deprecated|works?|worked|fine)\b|\[--|\?"
)
# What a fix tells to leave out: without --x, remove --x, instead of --x
_LEFT_OUT = compiled(
    r"(?i)(?:without|remov\w{1,3}|delet\w{1,3}|leav\w{1,3}|instead of|drop\w{0,4}|not|no longer"
    r"|replaces?|unset|until|of) [^.:;\n]{0,24}$"
)
_OUT = compiled(r"(?i)^[^.:;\n]{0,24}(?: out\b| away\b|=false\b)")
_OF_INSTALLERS = frozenset(
    {
        *("no_deps", "no_build_isolation", "force_reinstall", "no_cache_dir", "upgrade", "pre"),
        *("index_url", "extra_index_url", "find_links", "user", "python", "system", "no_binary"),
        *("gpus", "runtime", "device", "rm", "name", "model", "model_path", "host", "port", "help"),
        *("build", "config", "target", "parallel", "prefix", "recursive", "depth"),
        *("version", "verbose", "reinstall", "group_add", "security_opt", "env", "volume"),
    }
)
"""Options that install or start a program, and set nothing of it; as `_key` writes them."""


MANY = "several"
"""The value of a setting that commands of one text give differently: a comparison."""


class NamedSetting(NamedTuple):
    """A setting as it is written, by its name, with its value."""

    name: str
    value: str
    written: str


class GivenSettings:
    """The settings of the commands in a text, read once a fix names one."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Take the lines of a text."""
        self._lines = lines
        self._given: Mapping[str, str] | None = None

    def told(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return fixes that say what is given; one of which all is given comes last."""
        found = [self._told(fix) for fix in fixes]
        return (*(fix for fix, is_all in found if not is_all),
                *(fix for fix, is_all in found if is_all))  # fmt: skip

    def _told(self, fix: Fix) -> tuple[Fix, bool]:
        found = [each for step in fix.steps for each in _named(step)]
        named = list({(each.name, each.value): each for each in reversed(found)}.values())[::-1]
        if not named:
            return fix, False
        given = self._all()
        told = {each: given.get(each.name, "") for each in named}
        same = [each for each in named if told[each] == each.value]
        other = [each for each in named if told[each] not in {"", MANY, each.value}
                 and each.value != GIVEN]  # fmt: skip
        steps = list(fix.steps)
        if same:
            is_all = len(same) == len(named)
            said = (HAS_ALL if is_all else HAS).format(_list(each.written for each in same))
            steps.append(Step(StepKind.ADVICE, said))
            return msgspec.structs.replace(fix, steps=tuple(steps)), is_all
        if other:
            written = (_as_given(each, told[each]) for each in other)
            steps.append(Step(StepKind.ADVICE, NOW.format(_list(dict.fromkeys(written)))))
        return msgspec.structs.replace(fix, steps=tuple(steps)), False

    def _all(self) -> Mapping[str, str]:
        if self._given is None:
            found: dict[str, str] = {}
            for line in self._lines[:LINES]:
                if _is_command(line):
                    for each in _settings(line, typed=True):
                        known = found.setdefault(each.name, each.value)
                        found[each.name] = each.value if known == each.value else MANY
            self._given = found
        return self._given


def _is_command(line: str) -> bool:
    if "=" not in line and "--" not in line:
        return False
    if _TELLS.search(line) is not None:
        return False
    return _BEGINS.search(line) is not None or len(list(_OPTION.finditer(line))) >= SMALL


def _named(step: Step) -> Iterator[NamedSetting]:
    """Yield the settings that a step tells to give, and not those that it tells to leave out."""
    if step.kind is StepKind.SET:
        for item in step.items:
            name, _, value = item.partition("=")
            yield NamedSetting(_key(name), value, item)
        return
    if step.kind not in {StepKind.ADVICE, StepKind.SETTING}:
        return
    text = step.text
    for each in _settings(text):
        at = text.find(each.written)
        if not _LEFT_OUT.search(text[:at]) and not _OUT.search(text[at + len(each.written) :]):
            yield each


def _settings(text: str, *, typed: bool = False) -> Iterator[NamedSetting]:
    """Yield the settings in a text; where it is typed, what follows an option is its value."""
    for pattern in _READ:
        for found in pattern.finditer(text):
            name = _key(found["name"])
            if name in _OF_INSTALLERS:
                continue
            value = (found["value"] or "").rstrip(".,:;")
            if pattern is _OPTION and not _is_value(name, value, text[found.end() :], typed=typed):
                value = ""
            written = found[0] if value else f"--{found['name']}"
            plain = GIVEN if not value or value.lower() == "true" else value
            yield NamedSetting(name, plain, written.rstrip(".,:;\"'"))


def _is_value(name: str, value: str, behind: str, *, typed: bool) -> bool:
    """Return whether a word is the value of an option, and not the next word of a sentence."""
    if value.lower() in _TRUTHS or any(map(str.isdigit, value)):
        return True
    if _SWITCH.match(name):
        return False
    return typed or _ENDS.match(behind) is not None


_TRUTHS = frozenset({"true", "false", "none", "auto", "no"})
_SWITCH = compiled(r"(?:enable|disable|enforce|use|trust|no|skip|allow|load|force)_")
_ENDS = compiled(r"[.,;:)\"'`]|\s{0,2}$| --| \(| (?:and|or|in|with|instead)\b")


def _key(name: str) -> str:
    return name.replace("-", "_").lower()


def _as_given(setting: NamedSetting, value: str) -> str:
    head = setting.written.partition("=")[0].partition(" ")[0]
    if value == GIVEN:
        return head
    return f"{head}{' ' if head.startswith('--') else '='}{value}"


def _list(written: Iterable[str]) -> str:
    shown = list(dict.fromkeys(written))[:MOST]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
