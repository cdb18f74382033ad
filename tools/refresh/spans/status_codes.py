"""What calls of CUDA and of its libraries answer: names, numbers and texts, ``status-codes``.

The names are those of the headers in NVIDIA's wheels, and those of AMD of the headers in triton's.
The texts of CUDA are read in the table of its runtime library, which is parsed and never loaded.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

from tools.refresh.errors import WheelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.refresh.wheel import Wheel

TABLE = "status-codes"


class Library(NamedTuple):
    """A library of NVIDIA: its package, the headers with its codes, and how these begin."""

    family: str
    package: str
    headers: tuple[str, ...]
    prefix: str


LIBRARIES = (
    Library(
        "CUDA", "nvidia-cuda-runtime", ("driver_types.h", "cuda.h"), "(?:cudaError|CUDA_ERROR_)"
    ),
    Library("cuBLAS", "nvidia-cublas", ("cublas_api.h",), "CUBLAS_STATUS_"),
    Library("cuDNN", "nvidia-cudnn-cu13", ("cudnn_graph_v9.h",), "CUDNN_STATUS_"),
    Library("cuFFT", "nvidia-cufft", ("cufft.h",), "CUFFT_"),
    Library("cuSOLVER", "nvidia-cusolver", ("cusolver_common.h",), "CUSOLVER_STATUS_"),
    Library("cuSPARSE", "nvidia-cusparse", ("cusparse.h",), "CUSPARSE_STATUS_"),
    Library("NCCL", "nvidia-nccl-cu13", ("nccl.h",), "nccl"),
    Library("HIP", "triton", ("hip/hip_runtime_api.h",), "hipError"),
    Library("hipBLAS", "triton", ("hipblas-common/hipblas-common.h",), "HIPBLAS_STATUS_"),
    Library("HSA", "triton", ("hsa/hsa.h", "hsa/hsa_ext_amd.h"), "HSA_STATUS_ERROR_"),
)

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ENUM = re.compile(r"\benum\b[^{;]{0,200}\{([^}]{1,200000})\}\s{0,4}(\w{1,80})?")
_MACRO = r"(?:\s{1,4}[A-Z][A-Z_]{3,60})?"
# HSA's codes of AMD are in an enum without a name
_STATUS = re.compile(
    r"(?:(?:cuda|hip|hipblas|nccl|CU|cu\w{2,10})(?:Error|Result|Status|result)(?:_t|_enum)?|hsa_status_t)?"
)
_HEAD = re.compile(r"\benum\b\s{0,4}(?:__\w{1,40}__\s{0,4})?(\w{0,80})")

_IDENT, _ELF = 16, b"\x7fELF\x02\x01"
_RELATIVE, _LOAD, _DYNAMIC = 8, 1, 2
_RELA, _RELA_SIZE = 7, 8


def codes_in(text: str, prefix: str) -> dict[str, int]:
    """Return the codes of a header whose names begin so, with their numbers; success left out."""
    code = _COMMENT.sub(" ", text)
    entry = re.compile(
        rf"\b({prefix}\w{{2,80}}){_MACRO}\s{{0,40}}=\s{{0,40}}(0x[0-9A-Fa-f]+|\w{{1,80}})"
    )
    found: dict[str, int] = {}
    for match in _ENUM.finditer(code):
        named = match[2] or _HEAD.match(match[0])[1]  # type: ignore[index]
        if not _STATUS.fullmatch(named):
            continue
        for name, value in entry.findall(match[1]):
            if value in found:
                found[name] = found[value]
            elif re.fullmatch(r"0x[0-9A-Fa-f]+|\d+", value):
                found[name] = int(value, 0)
    return {name: number for name, number in found.items() if not _is_none(name, number)}


def _is_none(name: str, number: int) -> bool:
    """Return whether a code is none of a failure: success, or the count of all codes."""
    return number == 0 or name.endswith(("NumResults", "ApiFailureBase"))


def read_codes(library: Library, wheel: Wheel) -> dict[str, int]:
    """Return the codes of a library by the headers in its wheel."""
    found: dict[str, int] = {}
    for header in library.headers:
        member = next((name for name in wheel.names if name.endswith(f"/include/{header}")), None)
        if member is None:
            raise WheelError(f"{library.package}: no {header}")
        found |= codes_in(wheel.text(member), library.prefix)
    if not found:
        raise WheelError(f"{library.package}: no codes in its headers")
    return found


def read_texts(wheel: Wheel) -> dict[str, str]:
    """Return what CUDA's runtime library prints for each of its codes."""
    member = next((name for name in wheel.names if "/libcudart.so." in name), None)
    if member is None:
        raise WheelError("nvidia-cuda-runtime: no libcudart.so")
    found = texts_in(b"".join(wheel.chunks(member)))
    if not found:
        raise WheelError("nvidia-cuda-runtime: its library has no table of texts")
    return found


def texts_in(library: bytes) -> dict[str, str]:
    """Return name -> text of the table in a library: number, name and text, one after another."""
    pointers = dict(_pointers(library))
    found: dict[str, str] = {}
    for place, target in pointers.items():
        behind = pointers.get(place + 8)
        if behind is not None and (name := _text_at(library, target)).startswith("cudaError"):
            found[name] = _text_at(library, behind)
    return found


def _pointers(library: bytes) -> Iterator[tuple[int, int]]:
    """Yield where a library holds pointers into itself, and to which places in the file."""
    if not library.startswith(_ELF):
        return
    start, size, count = _fields(library, 32, "<Q")[0], *_fields(library, 54, "<HH")
    headers = [_fields(library, start + size * each, "<IIQQQQ") for each in range(count)]
    loads = [(each[3], each[2], each[5]) for each in headers if each[0] == _LOAD]

    def offset(address: int) -> int:
        for begin, at, length in loads:
            if begin <= address < begin + length:
                return at + address - begin
        return -1

    tags: dict[int, int] = {}
    for each in headers:
        if each[0] == _DYNAMIC:
            for at in range(each[2], each[2] + each[5], 16):
                tag, value = _fields(library, at, "<QQ")
                tags.setdefault(tag, value)
    table = offset(tags.get(_RELA, -1))
    for at in range(table, table + tags.get(_RELA_SIZE, 0), 24):
        place, kind, addend = _fields(library, at, "<QQq")
        if kind & 0xFFFFFFFF == _RELATIVE:
            yield place, offset(addend)


def _fields(library: bytes, at: int, form: str) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, library, at)
    except struct.error as error:
        raise WheelError("a library of CUDA is cut") from error


def _text_at(library: bytes, at: int) -> str:
    end = library.find(b"\0", at, at + 400) if at >= 0 else -1
    return library[at:end].decode("ascii", "replace") if end > at else ""


def code_rows(had: Mapping[str, Mapping[str, int]], texts: Mapping[str, str]) -> list[str]:
    """Return the rows: names of one number together, by library and number.

    ``had``: family -> its codes. ``texts``: what CUDA prints, by the names of its runtime.
    """
    rows = []
    for family, codes in had.items():
        by_number: dict[int, list[str]] = {}
        for name, number in codes.items():
            by_number.setdefault(number, []).append(name)
        for number, names in sorted(by_number.items()):
            text = next((texts[name] for name in names if name in texts), "")
            told = f', text: "{text.rstrip(".")}"' if text else ""
            rows.append(
                f"  - {{family: {family}, name: {' '.join(names)}, number: {number}{told}}}\n"
            )
    return rows
