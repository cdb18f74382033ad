"""Lists of hosts as schedulers write them: ``n[1-3,7],gpu[01-03]-ib``."""

from __future__ import annotations

import re
from itertools import groupby, pairwise, product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_HOSTS = 1_100_000
"""Most hosts that one list may name: what it expands to is not bounded by its length."""
_LONGEST = 4_000_000
_BRACKET = re.compile(r"\[([0-9,\-]{1,100000})\]")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_DIGITS = re.compile(r"([0-9]{1,18})(?=[^0-9]{0,200}$)")


class HostlistError(ValueError):
    """A text that is no list of hosts."""


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts of a list, in its order, each once; HostlistError where it is none."""
    if len(text) > _LONGEST:
        raise HostlistError("the list of hosts is too long")
    hosts: dict[str, None] = {}
    for part in _parts(text):
        for host in _expanded(part):
            hosts[host] = None
            if len(hosts) > MOST_HOSTS:
                raise HostlistError(f"it names more than {MOST_HOSTS} hosts")
    return tuple(hosts)


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between commas outside of brackets."""
    depth = start = 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise HostlistError("its brackets do not match")
        if depth == 0 and (char == "," or char.isspace()):
            yield from filter(None, [text[start:at]])
            start = at + 1
    if depth:
        raise HostlistError("its brackets do not match")
    yield from filter(None, [text[start:]])


def _expanded(part: str) -> Iterator[str]:
    pieces = _BRACKET.split(part)
    if any("[" in piece or "]" in piece for piece in pieces[::2]):
        raise HostlistError("what stands in brackets must be numbers: n[1-3,7]")
    choices = [
        list(_numbers(piece)) if index % 2 else [piece] for index, piece in enumerate(pieces)
    ]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > MOST_HOSTS:
        raise HostlistError(f"it names more than {MOST_HOSTS} hosts")
    yield from ("".join(chosen) for chosen in product(*choices))


def _numbers(text: str) -> Iterator[str]:
    count = 0
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise HostlistError("what stands in brackets must be numbers: n[1-3,7]")
        first, last = match[1], match[2] or match[1]
        count += int(last) - int(first) + 1
        if int(last) < int(first) or count > MOST_HOSTS:
            raise HostlistError("a range must go upwards, over a bounded number of hosts")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))


def compress(hosts: Iterable[str]) -> str:
    """Return hosts as one list, sorted: ``n[01-03,07],login``. The last number of each varies."""
    found = {_split(host) for host in hosts}
    padded = {(each.head, each.tail, each.width) for each in found if each.width > 0}
    named = sorted({_as_padded(each, padded) for each in found})
    texts = []
    for (head, tail, width), group in groupby(named, key=lambda each: each[:3]):
        numbers = [each.number for each in group]
        if width < 0:
            texts.append(head)
        elif len(numbers) == 1:
            texts.append(f"{head}{numbers[0]:0{width}d}{tail}")
        else:
            texts.append(f"{head}[{_ranges(numbers, width)}]{tail}")
    return ",".join(texts)


class _Split(NamedTuple):
    """A host taken apart at its last number, in the order of sorting."""

    head: str
    tail: str
    width: int
    """Digits of a number with zeros before it, 0 of another one, -1 where there is none."""
    number: int


def _split(host: str) -> _Split:
    match = _DIGITS.search(host)
    if match is None:
        return _Split(host, "", -1, 0)
    digits = match[1]
    width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
    return _Split(host[: match.start()], host[match.end() :], width, int(digits))


def _as_padded(host: _Split, padded: set[tuple[str, str, int]]) -> _Split:
    """Return ``n10`` as one of ``n08, n09`` where these are there."""
    width = len(str(host.number))
    is_one = host.width == 0 and (host.head, host.tail, width) in padded
    return host._replace(width=width) if is_one else host


def _ranges(numbers: list[int], width: int) -> str:
    starts = [numbers[0], *(now for before, now in pairwise(numbers) if now != before + 1)]
    ends = [*(before for before, now in pairwise(numbers) if now != before + 1), numbers[-1]]
    return ",".join(
        f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"
        for first, last in zip(starts, ends, strict=True)
    )
