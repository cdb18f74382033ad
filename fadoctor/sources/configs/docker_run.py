"""``docker run OPTIONS IMAGE ARGUMENTS``: which words are whose."""

from __future__ import annotations

import posixpath

import msgspec

from fadoctor.sources.configs import settings
from fadoctor.sources.configs.shell_commands import ConfigWord

_PROGRAMS = frozenset(("docker", "podman", "nerdctl"))
_VERBS = frozenset(("run", "create"))
_FLAGS = frozenset((
    "--rm", "--detach", "--interactive", "--tty", "--init", "--privileged", "--publish-all",
    "--read-only", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--quiet", "--replace",
    "--no-hosts", "--tls-verify", "--disable-content-trust", "--help",
))  # fmt: skip
"""Long options without a value; all others have one."""
_SHORT_VALUED = frozenset("acehlmpuvw")
"""Letters of short options that have a value."""


class ContainerRun(msgspec.Struct, frozen=True):
    """A container that is started."""

    image: ConfigWord
    arguments: tuple[ConfigWord, ...]
    variables: tuple[tuple[str, ConfigWord], ...]


def container_run(words: tuple[ConfigWord, ...]) -> ContainerRun | None:
    """Return what ``docker run`` starts; None of another command, or where it names no image."""
    names = [posixpath.basename(word.text) for word in words]
    start = next((at for at, name in enumerate(names) if name in _PROGRAMS), -1)
    verb = next((at for at in range(start + 1, len(words)) if names[at] in _VERBS), 0)
    if start < 0 or not verb or verb > start + 3:
        return None
    at = verb + 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if _has_value(words[at].text) else 1
    if at >= len(words):
        return None
    return ContainerRun(words[at], words[at + 1 :], tuple(_variables(words[verb + 1 : at])))


def _has_value(option: str) -> bool:
    """Return whether the next word is the value of an option."""
    if option.startswith("--"):
        return "=" not in option and option not in _FLAGS
    first, last = option[1:2], option[-1:]
    is_value = first in _SHORT_VALUED and len(option) > 2  # -p8000:8000
    return last in _SHORT_VALUED and not is_value


def _variables(options: tuple[ConfigWord, ...]) -> list[tuple[str, ConfigWord]]:
    """Return the variables that options set: ``-e NAME=value``."""
    found = []
    for before, word in zip((ConfigWord("", 0, 0), *options), options, strict=False):
        text = word.text.removeprefix("--env=")
        is_set = before.text in ("-e", "--env") or text != word.text
        if is_set and "=" in text:
            name, _, value = text.partition("=")
            found.append((name, msgspec.structs.replace(word, text=value)))
    return found


def given_options(run: ContainerRun) -> tuple[ConfigWord, ...]:
    """Return the arguments of a container, and what its variables say as options: ``DTYPE``."""
    said = [
        msgspec.structs.replace(word, text=f"--{name.lower()}={word.text}")
        for name, word in run.variables
        if settings.knows(name)
    ]
    return (*run.arguments, *said)


def speaks_of_settings(words: tuple[ConfigWord, ...]) -> bool:
    """Return whether options say something that means the same for any program."""
    options = [word.text.lstrip("-").partition("=")[0] for word in words if word.text[:1] == "-"]
    return any(map(settings.knows, options))
