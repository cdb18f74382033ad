"""Lists of hosts as schedulers write them: ``n[1-3,7],gpu[01-03]-ib``."""

from __future__ import annotations

import re
from array import array
from itertools import pairwise, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_HOSTS = 1_100_000
"""Most hosts that one list may name: what it expands to is not bounded by its length."""
_LONGEST = 4_000_000
_SPARSE = 64
"""Of numbers further apart than this in the middle, no map is made."""
_BRACKET = re.compile(r"\[([0-9,\-]{1,100000})\]")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_DIGITS = re.compile(r"([0-9]{1,18})(?=[^0-9]{0,200}$)")


class HostlistError(ValueError):
    """A text that is no list of hosts."""


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts of a list, in its order, each once; HostlistError where it is none."""
    return tuple(dict.fromkeys(named(text)))


def named(text: str) -> Iterator[str]:
    """Yield the hosts of a list, one by one; HostlistError where it is none."""
    if len(text) > _LONGEST:
        raise HostlistError("the list of hosts is too long")
    count = 0
    for part in _parts(text):
        for host in _expanded(part):
            count += 1
            if count > MOST_HOSTS:
                raise HostlistError(f"it names more than {MOST_HOSTS} hosts")
            yield host


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
        raise HostlistError("brackets may only contain numbers: n[1-3,7]")
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
            raise HostlistError("brackets may only contain numbers: n[1-3,7]")
        first, last = match[1], match[2] or match[1]
        count += int(last) - int(first) + 1
        if int(last) < int(first) or count > MOST_HOSTS:
            raise HostlistError("a range must go upwards, over a bounded number of hosts")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))


def compress(hosts: Iterable[str]) -> str:
    """Return hosts as one list, sorted: ``n[01-03,07],login``. The last number of each varies."""
    families = _families(hosts)
    return ",".join(_family(*family, families[family]) for family in sorted(families))


def _families(hosts: Iterable[str]) -> dict[tuple[str, str, int], array[int]]:
    """Return what stands around the last number of names, its width where padded -> numbers.

    The width is -1 for names without a number. ``n10`` is one of ``n08, n09``, where they are.
    """
    found: dict[tuple[str, str, int], array[int]] = {}
    for host in hosts:
        match = _DIGITS.search(host)
        if match is None:
            found.setdefault((host, "", -1), array("Q")).append(0)
            continue
        digits = match[1]
        width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        family = (host[: match.start()], host[match.end() :], width)
        found.setdefault(family, array("Q")).append(int(digits))
    for head, tail, width in [family for family in found if family[2] > 0]:
        plain = found.get((head, tail, 0), array("Q"))
        joining = [number for number in plain if len(str(number)) == width]
        if joining:
            found[head, tail, width].extend(joining)
            rest = array("Q", (number for number in plain if len(str(number)) != width))
            found.pop((head, tail, 0))
            found |= {(head, tail, 0): rest} if rest else {}
    return found


def _family(head: str, tail: str, width: int, numbers: array[int]) -> str:
    if width < 0:
        return head
    texts = [
        f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"
        for first, last in _runs(numbers)
    ]
    if len(texts) == 1 and "-" not in texts[0]:
        return f"{head}{texts[0]}{tail}"
    return f"{head}[{','.join(texts)}]{tail}"


def _runs(numbers: array[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of each run of numbers, ascending, in little memory."""
    low, high = min(numbers), max(numbers)
    if high - low > _SPARSE * len(numbers):
        order = sorted(set(numbers))
        starts = [low, *(now for before, now in pairwise(order) if now != before + 1)]
        ends = [*(before for before, now in pairwise(order) if now != before + 1), high]
        yield from zip(starts, ends, strict=True)
        return
    marks = bytearray(high - low + 2)
    for number in numbers:
        marks[number - low] = 1
    start = 0
    while start >= 0:
        end = marks.find(0, start)
        yield low + start, low + end - 1
        start = marks.find(1, end)
