"""Environment variables that a text says are set: by a shell, a script, a container or a person.

Only variables of the catalogue are read. Advice, questions and what was tried in vain set nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.catalogue import build_catalogue, find_spec
from fadoctor.sources.pasted.claims import Claim
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from fadoctor.sources.pasted.claims import PastedLine

TOOL = "a variable that is set"

OF_NVIDIA, OF_ROCM = "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"
"""The first alone is in many texts and hides nothing there; beside the second, HIP follows it."""

# ROCR_VISIBLE_DEVICES=1 | HF_HUB_OFFLINE: "1" | os.environ["TRITON_INTERPRET"] = "1"
_ASSIGNED = compiled(
    r"(?<![\w.$%-])(?P<key>[A-Z][A-Z0-9]{0,20}_[A-Z0-9_]{2,40})(?:[\"']\])?[`*]{0,2}"
    r"(?P<by> ?= ?|: )(?:\"(?P<double>[\w.,;:+-]{0,60})\"|'(?P<single>[\w.,;:+-]{0,60})'"
    r"|(?P<plain>[\w.,;:+-]{0,60})(?=[\s&|)\]\"'`*]|$))"
)
# $ export | > set | (env) me@host:~$ | RUN | - | Environment="
_HEAD = compiled(
    r"(?:PS )?(?:[\w ()@:~./\\-]{0,60}[$>#%] ?)?[\s*|`-]{0,16}(?:(?:RUN|then|sudo|time) )?"
    r"(?:(?:export|set|ENV|env|declare -x|setenv) |Environment=[\"']?)?[`\"']?"
)
# docker run -e | --env | os.environ[" | $env:
_DIRECT = compiled(r"(?:(?:^|\s)(?:-e|--env)[ =][\"']?|environ\[[\"']|\$env:)$")
# I have set | we run it with | With
_TOLD = compiled(
    r"(?i)\b(?:i|we)\b[^.;?\n]{0,30}\b(?:set|exported|defined|used?|using|start(?:ed)?|run|ran"
    r"|launch(?:ed)?|have|put)\b[^.;?\n]{0,60}$|^\W{0,6}(?:with|both)\b[^.;?\n]{0,40}$"
)
_JOINS = compiled(
    r"[\"'`*]{0,3}(?:[,;]? (?:and |both )?|,|;| ?&& ?| -e | --env )"
    r"(?:(?:export|set) )?[\"'`*]{0,3}"
)
# If I set | try | should | is set nowhere
_UNSURE = compiled(
    r"(?i)\b(?:if|whether|try|tried|trying|tests?|should|could|can|may|might|would|need|must"
    r"|without|remov\w{0,5}|delet\w{0,4}|dropp?\w{0,4}|instead|not|never|until|unless|please"
    r"|recommend\w{0,4}|suggest\w{0,4}|advi[sc]\w{0,3}|docs?|documentation|readme|before|earlier"
    r"|e\.g|like|such|unset)\b|n['\u2019]t\b"
)
# fixes it | works then: what is told of a variable that helped is no state that fails
_HELPS = compiled(
    r"(?i)\b(?:(?:it|that|this|which|all|everything) (?:now )?(?:works?|worked|helps?|helped)"
    r"|(?:fix|solv)(?:e[sd]|ing)|workaround|no longer)\b"
)
_UNSET = compiled(r"(?:\bunset|\bRemove-Item Env:|\bdel) ?(?P<keys>[A-Z_][A-Z0-9_ ]{3,200})")


def variable_claims(lines: Sequence[PastedLine], tried: Container[int]) -> Iterator[Claim]:
    """Yield the variables that lines set to one value each; `tried`: lines of vain attempts."""
    catalogue = build_catalogue()
    found: dict[str, list[Claim]] = {}
    gone: set[str] = set()
    for line in lines:
        if "_" not in line.text or line.number in tried:
            continue
        if "unset" in line.text or "Remove-Item" in line.text:
            gone.update(key for each in _UNSET.finditer(line.text) for key in each["keys"].split())
        for key, value in _set_by(line.text):
            if key not in found and find_spec(catalogue, f"env.{key}") is None:
                continue
            found.setdefault(key, []).append(Claim(f"env.{key}", value, line.number, TOOL))
    if OF_ROCM not in found:
        found.pop(OF_NVIDIA, None)
    for key, claims in found.items():
        if key not in gone and len({str(each.value) for each in claims}) == 1:
            yield claims[0]


def _set_by(text: str) -> Iterator[tuple[str, str]]:
    """Yield the variables that a line sets, with their values."""
    end, is_set = 0, False
    for found in _ASSIGNED.finditer(text):
        before = text[end : found.start()] if is_set else text[: found.start()]
        is_set = (is_set and _JOINS.fullmatch(before) is not None) or _is_set(
            text[: found.start()], text[found.end() :], is_pair=found["by"] == ": "
        )
        end = found.end()
        if is_set:
            value = found["double"] or found["single"] or found["plain"] or ""
            yield found["key"], value.rstrip(".,;:")


def _is_set(before: str, behind: str, *, is_pair: bool) -> bool:
    """Return whether the words around an assignment say that it was carried out."""
    if is_pair and before.strip(" -\"'`*"):
        return False
    if _HELPS.search(behind):
        return False
    if _HEAD.fullmatch(before) or _DIRECT.search(before):
        return True
    return _TOLD.search(before) is not None and _UNSURE.search(before) is None
