"""Hide credentials in all texts of a document that is about to be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fadoctor.model.typed import convert
from fadoctor.texts.credentials.hiding import HIDDEN, hide_credentials, may_name
from fadoctor.texts.credentials.names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_T = TypeVar("_T", bound=msgspec.Struct)

_APART = "\n\0\n"
"""What no secret spans."""

_SHORTEST = 6
"""Characters of a text in which a secret can stand with what tells it."""


def hide_in_document(document: _T) -> _T:
    """Return the same document; a copy without credentials where it holds some.

    All texts are looked at together first: a document without secrets is the rule.
    """
    plain = msgspec.to_builtins(document)
    texts = dict.fromkeys(_texts(plain))
    if None not in texts:
        together = _APART.join(text for text in texts if text is not None)
        if hide_credentials(together) == together:
            return document
    return convert(hide_in(plain), type(document))


def hide_in(value: Any) -> Any:
    """Return plain data without credentials: values behind a secret's name, and those in texts."""
    if isinstance(value, str):
        return hide_credentials(value)
    if isinstance(value, dict):
        return {hide_credentials(key): _of_key(key, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _words(value)
    return value


def _texts(value: Any) -> Iterator[str | None]:
    """Yield the texts that are worth a look; None for a value whose name says that it is secret."""
    if isinstance(value, str):
        if len(value) >= _SHORTEST:
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if len(key) >= _SHORTEST:
                yield key
            if _is_secret(key, item):
                yield None
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, str) and item.startswith("-") and is_secret_name(item):
                yield None
            yield from _texts(item)


def _is_secret(key: str, value: Any) -> bool:
    return isinstance(value, str) and bool(value) and may_name(key) and is_secret_name(key)


def _of_key(key: str, value: Any) -> Any:
    """Return the value of a key; a text behind the name of a secret is one."""
    return HIDDEN if _is_secret(key, value) else hide_in(value)


def _words(values: Sequence[Any]) -> list[Any]:
    """Return a list; of a command line, no word behind an option whose value is secret."""
    clean, is_secret = [], False
    for value in values:
        clean.append(HIDDEN if is_secret and isinstance(value, str) else hide_in(value))
        is_secret = isinstance(value, str) and value.startswith("-") and is_secret_name(value)
    return clean
