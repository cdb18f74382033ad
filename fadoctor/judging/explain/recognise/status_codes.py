"""What rules say of a code that CUDA, HIP or a library answers, in whichever form it is told.

cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE, "cuInit returned 100" and the text of that code are one
code: its line is read again as CUDA itself words it, with the name behind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.lazy_tables import rows_once
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.rule import kept_with
from fadoctor.sources.logs.messages import Failure
from fadoctor.syntax.either import Either
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.engine.symptoms import Matcher, SymptomMatch
    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.rule import Knowledge

CODES, MEANINGS = "status-codes", "status-meanings"

CUDA, HIP, NCCL = "CUDA", "HIP", "NCCL"
"""The families whose texts are read, too."""

MARKS = (
    *("cuda", "_status_", "cufft_", "nccl", "gpuassert", "hip", "error"),
    *("cuinit", "cudevice", "cuctx", "cumem", "cumodule", "culaunch"),
)
"""A text with a code has one of them, in small letters."""

_LEAD = (
    r"(?:(?i:\b(?:cuda|hip|cudnn|cublas|hipblas|hsa|cufft|cusolver|cusparse|nccl)"
    r"(?: (?:runtime|driver))? error)[:,]? ?)?"
)
# cudaErrorNoDevice | CUDA_ERROR_NO_DEVICE | cuDNN error: CUDNN_STATUS_BAD_PARAM | ncclSystemError
_NAME = compiled(
    _LEAD + r"(?<!\w)((?:cuda|hip)Error[A-Z]\w{2,60}|CUDA_ERROR_[A-Z]\w{2,60}|CUFFT_[A-Z]\w{3,40}"
    r"|(?:CU(?:BLAS|DNN|SOLVER|SPARSE)|HIPBLAS|HSA)_STATUS_[A-Z]\w{3,80}|nccl[A-Z]\w{4,40})(?!\w)"
)
# What is counted, and no code: failed 3 times, returned 2 devices
_NO_COUNT = r"(?! ?(?:times?|attempts?|devices?|gpus?|bytes|[kmg]i?b|ms|s|%)\b)"
# cuda runtime error (98) : | CUDA failure 98: | CUDA initialization failure with error: 222
_NUMBER = compiled(
    r"\b(?i:(cuda|hip)(?: (?:runtime|driver|initiali[sz]ation|init|call|kernel|launch)){0,2} "
    r"(?:error|failure|failed)(?: (?:with|by|code|error|status)){0,3})"
    r"[ :=]{0,3}\(?(\d{1,3})(?![\w.])(?i:" + _NO_COUNT + r")\)?[ :]{0,3}"
)
# cuInit(0) failed with error 100 | cuInit err: 803 | cudaGetDeviceCount returned 35
_OF_CALL = compiled(
    r"\b(cuda|cu|hip)[A-Z]\w{2,40}(?:\([^()\n]{0,40}\))?[ :,'\"`]{1,3}"
    r"(?i:(?:call|has|returned|returns?|failed|fails|failure|gave|with|error|err|code|status"
    r"|result|rc|ret)[ :=,('\"#]{1,3}|(?:==?|->|=>) ?){1,5}"
    r"(\d{1,3})(?![\w.])(?i:" + _NO_COUNT + r")\)?[ :]{0,3}"
)
# Behind and before a text, its number: unknown error 999 | error 804: forward compatibility ...
_BEHIND = compiled(r"[ ,:('\"]{1,3}(?i:(?:error|code|err)[ :=]{1,2})?\(?(\d{1,3})(?![\w.])\)?")
_AHEAD = compiled(r"(?i:\berror|\bcode)[ :=(]{1,3}(\d{1,3})[ ,:)'\"-]{1,4}$")
# Before a text of CUDA: CUDA error: | Error in cudaMalloc: | GPUassert: | Cuda failure '
_BEFORE_TEXT = compiled(
    r"(?:(?i:\bcuda)\w{0,40}[^\n]{0,40}?(?i:err|fail)"
    r"|\b(?i:err|fail)\w{0,4}[^\n]{0,24}\bcu(?:da)?[A-Z]\w{2,40}"
    r"|(?i:\bgpuassert)|\bTriton Error \[CUDA\])[^\n]{0,40}?[:)\]'\"\[( ][ ]?['\"]?$"
)
# Before a text of HIP: HIP error: | hipMalloc failed: | Triton Error [HIP]: Code: 98
_OF_HIP = compiled(
    r"(?:(?i:\bhip)\w{0,40}[^\n]{0,40}?(?i:err|fail)|\b(?i:err|fail)\w{0,4}[^\n]{0,24}\bhip[A-Z]\w{2,40}"
    r"|\bTriton Error \[HIP\])[^\n]{0,40}?[:)\]'\"\[( ][ ]?['\"]?$"
)
_OF_NCCL = compiled(r"\b(?i:nccl)[^\n]{0,200}?\b(?i:error)\b[^\n]{0,200}$")
# if (status != cudaErrorNotReady) | case cudaErrorAssert: | ErrorTypes::
_IN_CODE = compiled(r"(?:[!=]=|\b(?:case|return|throw|define|except)\b)[^\n]{0,40}$|::$")
_NO_ANSWER = compiled(r"(?i)undefined|undeclared|not declared|identifier|no member|no attribute")
_SHORTEST = 9
# A line that may hold a code: others are not looked at.
_MAYBE = Either(
    r"(?:cuda|hip)Error[A-Z]|CUDA_ERROR_[A-Z]|_STATUS_[A-Z]|CUFFT_[A-Z]|nccl[A-Z]|(?i:gpuassert)"
    r"|(?i:cuda|\bhip)[^\n]{0,80}(?i:err|fail)"
    r"|(?i:err|fail)[^\n]{0,40}\b(?:cu(?:da)?|hip)[A-Z]"
    r"|(?i:nccl)[^\n]{0,200}(?i:error)|\[(?:CUDA|HIP)\]"
    r"|\b(?:cu(?:da)?|hip)[A-Z]\w{2,40}[^\n]{0,60}\d|(?i:error)[ :=(]{1,3}\d{3}(?!\w)"
)
# Programs that have nothing of Python's stack, and words of that stack.
_ELSEWHERE = compiled(
    r"(?i)\b(?:blender|steam|minecraft|unity|unreal|d3d1[12]|optix|premiere|davinci"
    r"|hashcat|miner|xmrig|ffmpeg|gromacs|openmm|matlab|games?)\b"
)
_OURS = compiled(
    r"(?i)torch|transformers|xformers|vllm|sglang|diffusers|comfy|unsloth|site-packages|\.py\b"
)


class StatusCodes:
    """The codes of the tables: how a line with one reads as CUDA words it."""

    def __init__(self, codes: tuple[Row, ...], meanings: tuple[Row, ...]) -> None:
        """Take the rows of the codes, and those of their meanings."""
        told = {
            name: str(row["text"])
            for row in meanings
            if isinstance(row.get("text"), str)
            for name in cell_words(row["name"])
        }
        self._names: dict[str, str] = {}
        self._numbers: dict[tuple[str, str], str] = {}
        texts: dict[str, dict[str, str]] = {CUDA: {}, HIP: {}, NCCL: {}}
        for row in codes:
            names, family = cell_words(row["name"]), str(row["family"])
            text = row["text"] if isinstance(row.get("text"), str) else told.get(names[0], "")
            for name in names:
                worded = f"{text} ({names[0]})" if text else name
                self._names[name] = f"{family} error: {worded}"
            self._numbers[family, str(row["number"])] = self._names[names[0]]
            if text and family in texts:
                texts[family].setdefault(str(text), self._names[names[0]])
        self._texts = texts

    @staticmethod
    def of(knowledge: Knowledge) -> StatusCodes:
        """Return the codes of a knowledge base; they are read where a text may hold one."""
        return kept_with(knowledge, "status codes", _codes_of)

    def worded(self, text: str) -> str:
        """Return a line with its code as CUDA words it; the line itself where it has none."""
        for pattern in (_NAME, _NUMBER, _OF_CALL):
            for found in pattern.finditer(text):
                worded = self._known(found)
                if worded is None or _is_no_answer(text, found.start(1)):
                    continue
                rest = text[found.end() :]
                said = worded.partition(": ")[2].rpartition(" (")[0]
                return f"{text[: found.start()]}{worded}{_without(rest, said)}"
        for family, known in self._texts.items():
            for found in _found(known, text):
                before, worded = text[: found.start()], known[found[0]]
                is_told = _ANNOUNCED[family].search(before) or self._is_numbered(found, worded)
                if is_told and not _is_no_answer(text, found.start()):
                    return f"{_lead_of(before)}{worded}{text[found.end() :]}"
        return text

    def _known(self, found: re.Match[str]) -> str | None:
        """Return the code of a name, or of a number with the call or the words before it."""
        if found.re.pattern == _NAME.pattern:
            return self._names.get(found[1])
        return self._numbers.get((HIP if found[1].lower() == "hip" else CUDA, found[2]))

    def _is_numbered(self, found: re.Match[str], worded: str) -> bool:
        """Return whether a text of CUDA stands beside its own number: unknown error 999."""
        beside = (
            _BEHIND.match(found.string, found.end()),
            _AHEAD.search(found.string[: found.start()]),
        )
        return any(one and self._numbers.get((CUDA, one[1])) == worded for one in beside)


def _codes_of(knowledge: Knowledge) -> StatusCodes:
    codes, meanings = (rows_once(knowledge.tables, name) for name in (CODES, MEANINGS))
    return StatusCodes(codes, meanings)


def _found(known: dict[str, str], text: str) -> Iterator[re.Match[str]]:
    """Yield where known texts stand, the longest first; one pattern of all is slow to compile."""
    there = (each for each in known if len(each) >= _SHORTEST and each in text)
    longest = sorted(there, key=len, reverse=True)
    return re.finditer("|".join(map(re.escape, longest)), text) if longest else iter(())


def _is_no_answer(text: str, at: int) -> bool:
    """Return whether a line is code, or what a compiler says of code, and no call's answer."""
    return _IN_CODE.search(text, 0, at) is not None or _NO_ANSWER.search(text) is not None


def _without(rest: str, said: str) -> str:
    """Return what stands behind a code, without its text told again."""
    told = rest.find(said) if said else -1
    return rest[told + len(said) :] if 0 <= told <= _SHORTEST else f" {rest.lstrip()}".rstrip()


_ANNOUNCED = {CUDA: _BEFORE_TEXT, HIP: _OF_HIP, NCCL: _OF_NCCL}
"""What announces a text of each family."""

_TOLD_LEAD = compiled(
    r"(?i:\b(?:cuda|hip)(?: (?:runtime|driver))? (?:error|failure)|\bgpuassert|\[cuda error\])"
    r"[:= ]{0,3}['\"]?$"
)


def _lead_of(before: str) -> str:
    """Return what stands before a text, without the words that announce a code."""
    found = _TOLD_LEAD.search(before)
    return before[: found.start()] if found else before


def code_matches(
    failure: Failure, matcher: Matcher, knowledge: Knowledge
) -> Iterator[tuple[Failure, SymptomMatch]]:
    """Yield what lines of a failure show, once their codes read as CUDA words them."""
    small = failure.text.lower()
    if not any(mark in small for mark in MARKS):
        return
    texts = [line.text for line in failure.lines]
    spoken = {number: texts[number] for number in _MAYBE.numbers(texts)}
    worded = {number: StatusCodes.of(knowledge).worded(text) for number, text in spoken.items()}
    if worded == spoken:
        return
    lines, spans, at = [], [], 0
    for number, line in enumerate(failure.lines):
        text = worded.get(number, line.text)
        if text != line.text:
            spans.append((at, at + len(text)))
        lines.append(msgspec.structs.replace(line, text=text))
        at += len(text) + 1
    if not spans or (_ELSEWHERE.search(small) and not _OURS.search(small)):
        return
    whole = Failure(failure.channel, tuple(lines), failure.joint)
    for match in matcher.match(whole.text):
        if any(match.start < end and start < match.end for start, end in spans):
            yield whole, match
