"""A driver that a text names by its branch alone: "the 590 driver", "驱动 535"."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.model.fact import Fact, Unknown
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST = 20
"""Most mentions that are read."""

_BRANCH = compiled(
    r"(?i:\bdrivers?(?: version| branch)?(?: is| =|=|:)? ?v?"
    r"|\u9a71\u52a8(?:\u7a0b\u5e8f)?(?:\u7248\u672c)?[\u662f\u4e3a:\uff1a]? ?"
    r"|\u0434\u0440\u0430\u0439\u0432\u0435\u0440\w{0,2} |\btreiber(?:version)? |\bpilote )"
    r"(?P<behind>[3-6]\d\d)(?:\.?x{2})?(?![\w%]|\.\d| ?(?:MB|GB|W\b))"
    r"|(?<![\w.-])(?P<before>[3-6]\d\d)(?:\.?x{2})?(?i:[- ](?:open|studio|series|branch)){0,2}"
    r"(?i:[- ](?:nvidia )?(?:drivers?\b|treiber\b)| ?\u9a71\u52a8)"
)
# needs driver 580 or newer | it worked with driver 535 | update to driver 570
_NOT_THERE = compiled(
    r"(?i)\b(?:needs?|requires?|required|should|must|recommend\w{0,4}|at least"
    r"|or (?:newer|higher|later)|worked|before|previous\w{0,2}|old(?:er)?|tried|try|downgrad\w{1,3}"
    r"|roll(?:ed|ing)? back|other|minimum|only supports?|instead|install)\b|>="
    r"|\u9700\u8981|\u8981\u6c42|\u4ee5\u4e0a|\u4e4b\u524d|\u539f\u6765|\u5efa\u8bae"
)
_SENTENCE = compiled(r"[^.!?;\u3002\uff01\uff1f\n]{0,60}\Z")
_REST = compiled(r"[^.!?;\u3002\uff01\uff1f\n]{0,30}")


def driver_of_branch(facts: Mapping[str, Fact], text: str) -> dict[str, Fact]:
    """Return between which releases a driver is of which a text names the branch, and one alone."""
    before = facts.get("driver.version")
    if not isinstance(before, Unknown) or before.among:
        return {}
    found = set(_branches(text))
    if len(found) != 1:
        return {}
    branch = found.pop()
    words = f"of branch {branch}"
    source = f"the text: driver {branch}"
    among = (f"{branch}.0", f"{branch}.999")
    return {
        "driver.version": Unknown(f"it is {words}; which release is not said", source, among, words)
    }


def _branches(text: str) -> Iterator[str]:
    for found in islice(_BRANCH.finditer(text), MOST):
        sentence = _SENTENCE.search(text, max(0, found.start() - 60), found.start())
        rest = _REST.match(text, found.end())
        around = (sentence[0] if sentence else "") + " | " + (rest[0] if rest else "")
        if not _NOT_THERE.search(around):
            yield found["behind"] or found["before"]
