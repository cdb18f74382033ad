"""How much shared memory a fix gives a container: more than what a text says was too little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.model.fix import Fix, Step

# shm_size: 8gb | --shm-size 8g | --shm-size=16g
_OF_FIX = compiled(r"(?P<head>shm[-_]size(?:[=: ]|: ))(?P<size>\d{1,3})(?P<unit> ?g[bi]{0,2})\b")
_ABOUT = compiled(r"(?i)\bshm|shared memory|/dev/shm|共享内存|共有メモリ|공유 ?메모리")
_SIZE = compiled(r"(?i)(?<![\w.])(?P<size>\d{1,3}) ?g(?:i?b)?(?![a-z])")
# it did work | is enough | 可以了
_ENOUGH = compiled(
    r"(?i)^[^.;\n]{0,40}?(?<!not )\b(?:work(?:s|ed)?|enough|suffic\w{2,5}|helps|helped|fixe[sd]"
    r"|solve[sd])\b|^[^.;。\n]{0,12}(?:可以|解决|足够|됩니다|해결)"
)
# did not help, but 16gb did work: what comes behind the next size speaks of that
_NEXT = compiled(r"(?i)\d{1,3} ?g(?:i?b)?(?![a-z])")


def with_told_sizes(fixes: tuple[Fix, ...], lines: Sequence[str]) -> tuple[Fix, ...]:
    """Return fixes; a size that was too little becomes one that helped, or twice as much."""
    if not any(_OF_FIX.search(step.text) for fix in fixes for step in fix.steps):
        return fixes
    told = list(_told(lines))
    helped = [size for size, is_enough in told if is_enough]
    failed = [size for size, is_enough in told if not is_enough]
    most = max(failed, default=0)
    above = min((size for size in helped if size > most), default=0) or 2 * most
    if not above:
        return fixes

    def larger(step: Step) -> Step:
        found = _OF_FIX.search(step.text)
        if found is None:
            return step
        size = int(found["size"])
        if size >= above or (size > most and not helped):
            return step
        text = _OF_FIX.sub(lambda each: f"{each['head']}{above}{each['unit']}", step.text)
        return msgspec.structs.replace(step, text=text)

    return tuple(
        msgspec.structs.replace(fix, steps=tuple(larger(step) for step in fix.steps))
        for fix in fixes
    )


def _told(lines: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Yield the sizes of shared memory that a text tells, and whether each was enough."""
    for line in lines:
        if not _ABOUT.search(line):
            continue
        for found in _SIZE.finditer(line):
            behind = line[found.end() :]
            following = _NEXT.search(behind)
            clause = behind[: following.start()] if following else behind
            yield int(found["size"]), _ENOUGH.search(clause) is not None
