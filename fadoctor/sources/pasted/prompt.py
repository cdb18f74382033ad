"""What Python was asked at a prompt or by ``-c``, and the values that it answered with.

>>> torch.__version__                   $ python -c "import torch; print(torch.__version__)"
'2.6.0+cu124'                           2.6.0+cu124
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import AVAILABLE, RUNTIME, Claim, gpu_claims
from fadoctor.sources.pasted.names import PLAIN_VERSION, distribution_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fadoctor.sources.pasted.claims import PastedLine

TOOL = "what Python answered"

# >>> text | In [3]: text | $ uv run python -c "text" | C:\x> python3 -c "text" | !python -c 'text'
_PROMPT = compiled(
    r"\s{0,8}(?:>>>|In ?\[\d{0,4}\]:|!|(?:[^\n]{0,120}[$#%>]\s)?\s{0,4}"
    r"(?:(?:uv|poetry|pixi|pdm|pipenv) run (?:-{1,2}[\w=-]{1,40} ){0,3}"
    r"|(?:srun|conda run|docker (?:run|exec)|apptainer exec) [^\n]{0,200}? )?[\w./\\-]{0,80}"
    r"python(?:3(?:\.\d{1,2})?)?(?:\.exe)?\s{1,4}-[a-zA-Z]{0,3}c)\s{0,4}(?P<asked>[^\n]{3,600})"
)
_OUT = compiled(r"\s{0,8}(?:Out ?\[\d{0,4}\]:)?\s{0,8}")
_ASKED = compiled(
    r"(?P<module>[a-z_][a-z0-9_]{1,40})\.(?:__version__|VERSION)\b"
    r"|(?P<what>torch\.version\.(?:cuda|hip)\b|torch\.cuda\.(?:is_available|device_count"
    r"|get_device_name|get_device_capability)\([^()]{0,20}\)|sys\.version\b"
    r"|platform\.python_version\(\))"
)
_VALUE = compiled(
    r"'[^'\n]{1,120}'|\"[^\"\n]{1,120}\"|\(\d{1,2}, ?\d\)|True|False|None|[^\s,;]{1,80}"
)
# A tuple of answers: ('2.6.0+cu124', '2.7.4.post1')
_TUPLE = compiled(r"\((?P<inner>[^\n]{1,600})\)")
_PYTHON = compiled(r"(?P<version>3\.\d{1,2}\.\d{1,2})")
_CAPABILITY = compiled(r"\((\d{1,2}), ?(\d)\)")
ANSWERS = 6
"""Lines below a question in which its answers are looked for."""


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield what the answers below questions say; what does not fit its question says nothing."""
    several = tuple(lines)
    for number, line in enumerate(several):
        found = _PROMPT.match(line.text) if "." in line.text else None
        asked = [_question(each) for each in _ASKED.finditer(found["asked"])] if found else []
        if asked:
            yield from _answered(asked, several[number + 1 : number + 1 + ANSWERS])


def _question(found: re.Match[str]) -> str:
    return f"{found['module']}.__version__" if found["module"] else found["what"].split("(")[0]


def _answered(asked: list[str], below: tuple[PastedLine, ...]) -> Iterator[Claim]:
    """Yield the claims of as many values as were asked for, in their order."""
    waiting = list(asked)
    for line in below:
        if not waiting or _PROMPT.match(line.text):
            return
        text = _OUT.sub("", line.text, count=1)
        whole = _claims(waiting[0], text.strip().strip("'\""), line.number)
        if whole:
            yield from whole
            waiting.pop(0)
            continue
        if len(waiting) > 1 and (inner := _TUPLE.fullmatch(text.strip())):
            text = inner["inner"]
        for value in (each[0].strip("'\"") for each in _VALUE.finditer(text)):
            claims = _claims(waiting[0], value, line.number) if waiting else []
            if claims:
                yield from claims
                waiting.pop(0)


def _claims(asked: str, value: str, line: int) -> list[Claim]:
    """Return what a value says, nothing where it is no answer to the question."""
    module, _, attribute = asked.partition(".")
    if attribute == "__version__":
        found = PLAIN_VERSION.fullmatch(value)
        name = distribution_of(module)
        if not (found and name):
            return []
        fact = RUNTIME if name == "torch" else f"package:{name}"
        return [Claim(fact, found["version"], line, TOOL)]
    return _ANSWERS.get(asked, _nothing)(value, line)


def _nothing(_value: str, _line: int) -> list[Claim]:
    return []


def _cuda(value: str, line: int) -> list[Claim]:
    if re.fullmatch(r"\d{2}\.\d", value):
        return [Claim("torch.cuda", value, line, TOOL)]
    return [Claim("torch.cuda", None, line, TOOL)] if value == "None" else []


def _hip(value: str, line: int) -> list[Claim]:
    found = PLAIN_VERSION.fullmatch(value)
    return [Claim("torch.hip", found["version"], line, TOOL)] if found else []


def _available(value: str, line: int) -> list[Claim]:
    return [Claim(AVAILABLE, value == "True", line, TOOL)] if value in ("True", "False") else []


def _name(value: str, line: int) -> list[Claim]:
    return gpu_claims(0, value, line, TOOL) if re.match(r"[A-Z][\w ()/.-]{2,60}$", value) else []


def _capability(value: str, line: int) -> list[Claim]:
    found = _CAPABILITY.fullmatch(value)
    if not found:
        return []
    return [
        Claim("gpu[0].compute_capability", f"{found[1]}.{found[2]}", line, TOOL),
        Claim("gpu[0].vendor", "nvidia", line, TOOL),
    ]


def _python(value: str, line: int) -> list[Claim]:
    found = _PYTHON.match(value)
    return [Claim("python.version", found["version"], line, TOOL)] if found else []


_ANSWERS: dict[str, Callable[[str, int], list[Claim]]] = {
    "torch.version.cuda": _cuda,
    "torch.version.hip": _hip,
    "torch.cuda.is_available": _available,
    "torch.cuda.get_device_name": _name,
    "torch.cuda.get_device_capability": _capability,
    "sys.version": _python,
    "platform.python_version": _python,
}
