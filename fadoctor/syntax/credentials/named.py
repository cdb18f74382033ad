"""Secrets behind a name: ``HF_TOKEN=x``, ``"password": "x"``, ``--token x``, ``X-Api-Key: x``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.credentials.names import is_secret_name
from fadoctor.syntax.credentials.values import compiled, small, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKS = (
    "token", "secret", "passw", "passp", "passc", "pass", "pwd", "credential", "key", "auth",
    "cookie", "sessid", "sessionid", "bearer", "jwt", "kennwort", "netrc",
)  # fmt: skip
"""Small letters without one of which no name is a secret's."""

_Q = r"(?:\\{0,7}[\"'`]|&quot;|&#39;|&#x27;|[\u201c\u201d\u2018\u2019])"
# The word, the rest of the name, and what stands between it and its value.
_NAME = (
    r"(?:token|secret|pass(?:w|p|c)?|pwd|credential|key|auth|cookie|sessi?o?n?id|bearer|jwt"
    r"|kennwort|netrc)[\w.-]{0,40}"
)
_BETWEEN = (
    rf"(?:(?:{_Q}|[\])?\ufffd]){{0,3}}[ \t]{{0,8}}(?:=>|:=|==?|:(?!:))"
    rf"(?:(?:[ \t]{{0,8}}\n[ \t]{{1,40}}"
    rf"(?=[\"']))|[ \t]{{0,40}})[\[\({{]{{0,2}}"
    # ('Cookie', 'x'), ["--token", "x"], "HF_TOKEN", "value": "x"
    rf"|{_Q}[ \t]{{0,4}},[ \t]{{0,4}}(?={_Q}|[bru]{_Q})"
    r")"
)
_VALUE_KEY = (
    rf"{_Q}?(?:[ \t]{{0,4}},|[ \t]{{0,4}}\n)?[ \t\n]{{0,40}}{_Q}?(?:value|Value){_Q}?"
    r"[ \t]{0,4}[:=][ \t]{0,4}"
)
_TAG = r"(?:[^<>\n]{0,200})>[ \t]{0,8}"
_OPTION = r"(?:[ \t]{1,8}|,|\n[ \t]{0,8})(?!-)"
_WORDS = r"[ \t]{1,8}(?:is|was|of)[ \t]{1,4}|(?:[ \t]{1,4}(?:provided|given|used|was))?:[ \t]{1,4}"
_SPACE = r"[ \t]{1,8}"

_BEFORE = r"(?i)(?:\b(?:api|access|secret|private|auth|signing|fernet|encryption) )?[\w.$-]{0,60}\Z"
_SHELL = r"(?:\b(?:ENV|ARG|setx|setenv|putenv|config set|login)[ \t]{1,8}|^[ \t]{0,20})\Z"
_LOGIN = r"(?:login|user|account)[ \t]{1,8}\S{1,200}[ \t\n]{1,40}\Z"
_PAIR = r"[\w-]{1,60}=(?:\"[^\"\n]{0,4000}\"|[^\s\"',;]{0,4000})"
_MORE = (
    ("cookie", r"(?:[^\s;\"']{0,4000};[ ]?[\w-]{1,60}(?:=[^\s;\"']{0,4000})?){0,60}"),
    ("authorization", rf"(?:[^\s\"',]{{0,4000}}[\"]?[, ]{{1,3}}{_PAIR}){{0,20}}"),
)
"""Headers whose values have several parts."""

_FEW = 3
"""Words to the end of a line that are all taken for the value, wherever its name stands."""

_YAML_REST = r"[^\n:#=]{1,500}"


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield where values lie behind names of secrets, in order."""
    done = 0
    for word in compiled(_NAME).finditer(small(text)):
        at, end = word.span()
        if (at < done and not _announces(text, end, done)) or _is_prose(text, at, end):
            continue
        start = at - _length_before(text, at)
        name = text[start:end].rstrip(".-")
        span = _span(text, start, start + len(name))
        if span is not None:
            yield span
            done = span[1]


def _announces(text: str, end: int, quote: int) -> bool:
    """Return whether a name stands right before a quote, which then opens and does not close.

    Where a text was cut, the quote of a value can lack its other half: the next one is not that.
    """
    between = compiled(rf"{_Q}?[ \t]{{0,8}}(?:=>|:=|==?|:)[ \t]{{0,8}}").match(text, end)
    return between is not None and between.end() == quote


def _is_prose(text: str, at: int, end: int) -> bool:
    """Return whether a word goes on as sentences do: ``tokens per second``."""
    return (
        text[end : end + 1] == " "
        and text[end + 1 : end + 2].islower()
        and text[end + 2 : end + 3] not in ("'", '"')  # b'x'
        and text[at - 1 : at] not in ("-", "_")
        and text.startswith(("token", "key"), at)
        and not text.startswith((" is ", " was ", " of ", " provided", " given", " used"), end)
    )


def _length_before(text: str, at: int) -> int:
    found = compiled(_BEFORE).search(text, max(0, at - 60), at)
    return len(found[0]) if found else 0


def _span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where the value of a name lies; None where the name is no secret's, or has none."""
    name = text[start:end]
    if not (is_secret_name(name) or _is_option(name)):
        return None
    for pattern in (_VALUE_KEY, _BETWEEN):
        if found := compiled(pattern).match(text, end):
            value = value_at(text, found.end())
            if value and "token" in name.lower() and text[slice(*value)].isdecimal():
                return None
            return _whole(text, start, found[0], value)
    if text[start - 1 : start] == "<" and (found := compiled(_TAG).match(text, end)):
        return value_at(text, found.end())
    return _in_words(text, start, end, name)


def _in_words(text: str, start: int, end: int, name: str) -> tuple[int, int] | None:
    """Return the value of an option, of a line of the shell, or of a sentence."""
    if name.startswith("-") and (found := compiled(_OPTION).match(text, end)):
        return value_at(text, found.end())
    before = text[max(0, start - 300) : start]
    lowered = name.lower()
    if found := compiled(_SPACE).match(text, end):
        is_assigned = compiled(_SHELL).search(before) is not None and _is_variable(name)
        is_login = lowered in ("password", "passwd") and compiled(_LOGIN).search(before)
        is_setting = lowered in ("requirepass", "masterauth")
        is_alone = lowered == "password" and compiled(r"(?:^|\n)[ \t]{0,40}\Z").search(before)
        if is_assigned or is_login or is_setting or (is_alone and _ends(text, found.end())):
            return value_at(text, found.end())
    is_file = lowered == "passwd" and before.endswith("/etc/")  # it is outside of the folder
    if not is_file and (found := compiled(_WORDS).match(text, end)):
        return value_at(text, found.end())
    return _spoken(text, end)


def _spoken(text: str, end: int) -> tuple[int, int] | None:
    """Return what stands in quotes behind a name, or looks as nothing but a secret does."""
    found = compiled(r"[ \t]{1,4}(?=[bru]?[\"'`])").match(text, end)
    if found:
        return value_at(text, found.end())
    found = compiled(r"[ \t]{1,4}(?=\S{0,40}\d)(?=\S{0,40}[A-Z])(?=\S{0,40}[a-z])\w{12,}").match(
        text, end
    )
    return (found.end() - len(found[0].strip()), found.end()) if found else None


def _is_option(name: str) -> bool:
    return name.startswith("-") and name.lstrip("-").lower() in ("pass", "pwd", "auth", "key")


def _is_variable(name: str) -> bool:
    return name.isupper() or "." in name


def _ends(text: str, at: int) -> bool:
    """Return whether one word is all that the line still holds."""
    return compiled(r"\S{1,400}[ \t]{0,8}(?:\n|\Z)").match(text, at) is not None


def _whole(
    text: str, start: int, between: str, value: tuple[int, int] | None
) -> tuple[int, int] | None:
    """Return a value with all words of its line, where YAML has them without quotes."""
    if value is None:
        return None
    if between[-1:] in "[({":
        return _listed(text, value)
    name = text[start : start + 40].lower()
    if more := next((rest for word, rest in _MORE if word in name), None):
        found = compiled(more).match(text, value[1])
        return value[0], found.end() if found else value[1]
    line = text.rfind("\n", 0, start) + 1
    is_key = compiled(r"[ \t]{0,40}(?:- )?[\"']?").fullmatch(text, line, start) is not None
    is_plain = ":" in between and text[value[0] - 1] == " "
    rest = compiled(_YAML_REST).match(text, value[0]) if is_plain else None
    if rest is None or not compiled(r"[ \t]{0,8}(?:#|\n|\Z)").match(text, rest.end()):
        return value
    if not is_key and len(rest[0].split()) > _FEW:
        return value
    return value[0], max(value[1], value[0] + len(rest[0].rstrip()))


def _listed(text: str, value: tuple[int, int]) -> tuple[int, int]:
    """Return all of a list: up to its bracket."""
    found = compiled(r"[^\n\])}]{0,4000}").match(text, value[0])
    end = value[0] + len(found[0].rstrip("\"' ")) if found else value[1]
    return value[0], max(value[1], end)
