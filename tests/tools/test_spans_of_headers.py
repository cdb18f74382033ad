"""Tables of what the headers and libraries of releases name: thrust, status codes, torch."""

from __future__ import annotations

import struct

import pytest
from packaging.version import Version

from tools.refresh.errors import WheelError
from tools.refresh.spans import (
    header_names,
    status_codes,
    thrust,
)

ONE, TWO = (Version(f"0.{minor}.0") for minor in (6, 7))

HEADER_OF_THRUST = """
#pragma once
#include <thrust/detail/config.h>
THRUST_NAMESPACE_BEGIN
namespace detail { struct hidden {}; }
// void told_in_a_comment(int);
template <typename T, typename U = less<T>>
_CCCL_HOST_DEVICE T gather_values(T first, U value) { return helper(first); }
template <typename T>
class CCCL_DEPRECATED_BECAUSE("Use another") held_vector : public base<T>
{
  void member(int);
};
using outer_alias = detail::hidden;
static const detail::host_t host_policy;
THRUST_NAMESPACE_END
void outside(int);
"""


def test_a_header_of_thrust_declares_what_is_in_its_namespace() -> None:
    found = thrust.declared_in(HEADER_OF_THRUST)
    assert found == {"gather_values", "held_vector", "outer_alias", "host_policy"}
    assert thrust.header_of("nvidia/cu13/include/cccl/thrust/sort.h") == "thrust/sort.h"
    assert thrust.header_of("nvidia/cuda_cccl/include/thrust/detail/copy.h") is None


def test_a_name_of_thrust_has_a_row_where_one_header_has_it_in_all_releases() -> None:
    old = {"thrust/sort.h": frozenset({"sort", "old"}), "thrust/pair.h": frozenset({"pair"})}
    new = {
        "thrust/sort.h": frozenset({"sort"}),
        "thrust/pair.h": frozenset({"pair"}),
        "thrust/tuple.h": frozenset({"pair"}),
    }
    assert thrust.include_rows([old, new]) == [
        "  - {name: pair, header: thrust/pair.h}\n",
        "  - {name: sort, header: thrust/sort.h}\n",
    ]


HEADER_OF_CODES = """
typedef enum __device_builtin__ { CUDNN_STATUS_NO = 7 } cudnnMode_t;
typedef enum {
    CUDNN_STATUS_SUCCESS = 0,
    /* CUDNN_STATUS_OLD = 9, */
    CUDNN_STATUS_BAD_PARAM = 2000, // as = 5
    CUDNN_STATUS_INVALID CUDNN_DEPRECATED_ENUM = CUDNN_STATUS_BAD_PARAM,
    CUDNN_STATUS_HEX =
        0x10,
} cudnnStatus_t;
enum __device_builtin__ cudaError { cudaSuccess = 0, cudaErrorNoDevice = 100 };
"""


def test_codes_of_a_header_are_those_of_its_status() -> None:
    found = status_codes.codes_in(HEADER_OF_CODES, "CUDNN_STATUS_")
    assert found == {
        "CUDNN_STATUS_BAD_PARAM": 2000,
        "CUDNN_STATUS_INVALID": 2000,
        "CUDNN_STATUS_HEX": 16,
    }
    assert status_codes.codes_in(HEADER_OF_CODES, "cudaError") == {"cudaErrorNoDevice": 100}


def library_of_cuda(names: dict[str, tuple[int, str]]) -> bytes:
    """Return an ELF file whose table has number, name and text of each code, as libcudart has."""
    strings = b"".join(f"{name}\0{text}\0".encode() for name, (_, text) in names.items())
    begin, table = 0x1000, 0x4000
    relocations, data, at = b"", b"", begin
    for name, (number, text) in names.items():
        place = table + len(data)
        data += struct.pack("<QQQ", number, 0, 0)
        for offset, each in ((8, name), (16, text)):
            relocations += struct.pack("<QQq", place + offset, 8, at)
            at += len(each) + 1
    dynamic = struct.pack("<QQQQQQ", 7, 0x3000, 8, len(relocations), 0, 0)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, 0x5000, 0x5000, 0x1000)
    header += load + struct.pack("<IIQQQQQQ", 2, 4, 0x2000, 0x2000, 0, len(dynamic), 0, 8)
    parts = {0: header, begin: strings, 0x2000: dynamic, 0x3000: relocations, table: data}
    return b"".join(parts[place].ljust(0x1000, b"\0") for place in sorted(parts))


def test_texts_of_cuda_are_read_in_the_table_of_its_library() -> None:
    library = library_of_cuda({
        "cudaErrorNoDevice": (100, "no device"), "cudaErrorUnknown": (999, "unknown")
    })  # fmt: skip
    assert status_codes.texts_in(library) == {
        "cudaErrorNoDevice": "no device", "cudaErrorUnknown": "unknown"
    }  # fmt: skip
    assert status_codes.texts_in(b"no library") == {}
    with pytest.raises(WheelError):
        status_codes.texts_in(library[:0x50])


def test_names_of_one_number_are_one_row() -> None:
    had = {"CUDA": {"cudaErrorNoDevice": 100, "CUDA_ERROR_NO_DEVICE": 100}, "NCCL": {"ncclOne": 1}}
    assert status_codes.code_rows(had, {"cudaErrorNoDevice": "no device."}) == [
        (
            "  - {family: CUDA, name: cudaErrorNoDevice CUDA_ERROR_NO_DEVICE, number: 100, "
            'text: "no device"}\n'
        ),
        "  - {family: NCCL, name: ncclOne, number: 1}\n",
    ]


def test_names_of_a_header_are_read_outside_of_comments() -> None:
    named, declared = header_names.names_in(
        "// class OldName;\n#define AT_NEW_MACRO(x) x\nstruct TORCH_API Options : Base {};\n"
        "/* enum Gone {} */ using Value = Thing;\nstd::variant<int> held_;\n#include <variant>\n"
        "inline bool is_cuda(const Tensor& self) {\n"
    )
    assert declared == {"AT_NEW_MACRO", "Options", "Value", "is_cuda"}
    assert {"Base", "Thing", "Tensor"} <= named
    assert not {"OldName", "Gone", "variant"} & named


def test_a_name_of_headers_is_gone_where_none_names_it_and_new_where_old_ones_do_not() -> None:
    def names(named: str, declared: str) -> header_names.HeaderNames:
        return header_names.HeaderNames(frozenset(named.split()), frozenset(declared.split()))

    old = "kept lost_one mentioned"
    gone, new = header_names.name_rows({
        ONE: [names(old, old), names(old, "")],
        TWO: [names("kept came mentioned", "kept came"), names("kept came mentioned mac_only", "")],
    })  # fmt: skip
    assert gone == ["  - {name: lost_one, last: 0.6.0, gone: 0.7.0}\n"]
    assert new == ["  - {name: came, first: 0.7.0}\n"]
