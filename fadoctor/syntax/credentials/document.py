"""Hide credentials in all texts of a document that is about to be shown."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fadoctor.model.typed import convert
from fadoctor.syntax.credentials.hiding import HIDDEN, hide_credentials, hide_in_words, may_name
from fadoctor.syntax.credentials.names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_T = TypeVar("_T", bound=msgspec.Struct)
_Plain = TypeVar("_Plain")

_APART = "\n\0\n"
"""What no secret spans."""

_DIGEST = frozenset("0123456789abcdef")
"""Letters of commits and digests: a whole value of them says by its key what it is."""

_SHORTEST = 6
"""Characters of a text in which a secret can stand with what tells it."""


def hide_in_document(document: _T) -> _T:
    """Return the same document; a copy without credentials where it holds some."""
    plain = msgspec.to_builtins(document)
    clean = without_secrets(plain)
    return document if clean is plain else convert(clean, type(document))


def without_secrets(plain: _Plain) -> _Plain:
    """Return the same plain data; a copy without credentials where they hold some.

    All texts are looked at together first: data without secrets are the rule.
    """
    texts: dict[str, None] = {}
    if _gather(plain, texts):
        together = _APART.join(texts)
        if hide_credentials(together) == together:
            return plain
    return hide_in(plain)  # type: ignore[no-any-return]


def hide_in(value: Any) -> Any:
    """Return plain data without credentials: values behind a secret's name, and those in texts."""
    if isinstance(value, str):
        return hide_credentials(value)
    if isinstance(value, dict):
        return {hide_credentials(key): _of_key(key, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _words(value)
    return value


def _gather(value: Any, texts: dict[str, None]) -> bool:
    """Add the texts that are worth a look; False for a value whose name says that it is secret."""
    if isinstance(value, str):
        if len(value) >= _SHORTEST and not _DIGEST.issuperset(value):
            texts[value] = None
    elif isinstance(value, dict):
        for key, item in value.items():
            if len(key) >= _SHORTEST:
                texts[key] = None
            if _is_secret(key, item) or not _gather(item, texts):
                return False
    elif isinstance(value, (list, tuple)):
        if all(isinstance(item, str) for item in value):
            texts[" ".join(value)] = None
        return all(_gather(item, texts) for item in value)
    return True


def _is_secret(key: str, value: Any) -> bool:
    return isinstance(value, str) and bool(value) and _names_secret(key)


@lru_cache(maxsize=4_096)
def _names_secret(key: str) -> bool:
    """Return whether a key is the name of a secret: those of facts return hundreds of times."""
    return may_name(key) and is_secret_name(key)


def _of_key(key: str, value: Any) -> Any:
    """Return the value of a key; a text behind the name of a secret is one."""
    return HIDDEN if _is_secret(key, value) else hide_in(value)


def _words(values: Sequence[Any]) -> list[Any]:
    """Return a list; one of texts may be a command line, in which one word tells of the next."""
    if len(values) > 1 and all(isinstance(value, str) for value in values):
        return hide_in_words(values)
    return [hide_in(value) for value in values]
