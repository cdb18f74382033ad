"""Which backends are known to work in this interpreter, for tests that need one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError, did_you_mean
from fadoctor.model.fact import printable
from fadoctor.model.verdict import Backend, Dtype, Predicted, dtype_named
from fadoctor.syntax.credentials.hiding import hide_credentials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.model.verdict import Verdict

REASON_LIMIT = 400


class Backends(Mapping[str, tuple[str, ...]]):
    """Backend -> dtypes in which it is known to work on every GPU that is visible."""

    def __init__(
        self, verdicts: Sequence[Verdict], titles: Mapping[str, str], otherwise: str
    ) -> None:
        """Take the verdicts, what rules are called, and why there is no verdict at all."""
        self._verdicts = verdicts
        self._titles = titles
        self._otherwise = otherwise
        self._works: dict[str, tuple[str, ...]] = {}
        for backend in dict.fromkeys(each.backend for each in verdicts):
            mine = [dtype for dtype in Dtype if not self._hindrance(backend, dtype)]
            if mine:
                self._works[backend.value] = tuple(dtype.value for dtype in mine)

    def __getitem__(self, backend: str) -> tuple[str, ...]:
        return self._works[backend]

    def __iter__(self) -> Iterator[str]:
        return iter(self._works)

    def __len__(self) -> int:
        return len(self._works)

    def __repr__(self) -> str:
        return f"Backends({self._works})"

    def why_not(self, backend: str, dtype: str) -> str:
        """Return why a cell is not known to work, "" where it is."""
        told = hide_credentials(self._hindrance(*cell_of(backend, dtype)))
        return printable(told, REASON_LIMIT)

    def _hindrance(self, backend: Backend, dtype: Dtype) -> str:
        cell = f"{backend.value} {dtype.value}"
        if not self._verdicts:
            return f"{cell}: {self._otherwise}"
        of_backend = [each for each in self._verdicts if each.backend is backend]
        if not of_backend:
            return f"{cell}: {backend.value} is not installed here"
        mine = [each for each in of_backend if each.dtype is dtype]
        if not mine:
            return f"{cell}: {backend.value} has no {dtype.value} kernels"
        for each in mine:
            if each.predicted is not Predicted.WORKS:
                return f"{cell} {each.predicted.value} on {each.gpu}: {self._why(each)}"
        return ""

    def _why(self, verdict: Verdict) -> str:
        told = [f"{self._titles.get(each, each)} ({each})" for each in verdict.because]
        return "; ".join(told) or verdict.detail or "no source says"


def of_this_interpreter() -> Backends:
    """Return what is known of the interpreter that runs this program; nothing of it is imported."""
    from fadoctor.interfaces.commands.examine import look
    from fadoctor.interfaces.commands.request import ProgramRequest, request_of
    from fadoctor.judging.diagnose import diagnose
    from fadoctor.report.answer import answers_of

    knowledge, environment = look(request_of(ProgramRequest()))
    report = diagnose(environment, knowledge)
    titles = {rule.id: rule.title for rule in knowledge.rules}
    otherwise = " ".join(answer.sentence for answer in answers_of(report))
    return Backends(report.verdicts, titles, otherwise)


def cell_of(backend: str, dtype: str = "bf16") -> tuple[Backend, Dtype]:
    """Return a backend and a dtype by their names; UsageError for a name that nobody knows."""
    backends = {each.value: each for each in Backend}
    dtypes = {each.value: each for each in Dtype}
    if backend not in backends:
        raise UsageError(_unknown("backend", backend, backends))
    found = dtype_named(str(dtype))
    if found is None:
        raise UsageError(_unknown("dtype", dtype, dtypes))
    return backends[backend], found


def _unknown(what: str, name: object, known: Mapping[str, object]) -> str:
    otherwise = f" There are {', '.join(known)}."
    text = printable(str(name), 40)
    below = [each for each in known if each.startswith(f"{text.lower()}-")] if text else []
    flash = _FLASH.fullmatch(text)
    meant = below or ([f"fa{flash.group(1)}"] if flash is not None else [])
    hint = f" Did you mean {', '.join(meant)}?" if set(meant) & set(known) else ""
    return f"there is no {what} {text!r}.{hint or did_you_mean(text, known, otherwise)}"


_FLASH = re.compile(r"flash[-_ ]?att(?:n|ention)[-_ ]?v?([1-9])", re.IGNORECASE)
"""flash_attention_2, as a framework's setting spells it."""
