"""What the variables leave visible."""

from __future__ import annotations

import pytest

from fadoctor.sources.probes.visible import VisibleDevice, cuda_selection, rocm_selection

A = VisibleDevice("GPU-aaaa1111-0000")
B = VisibleDevice("GPU-aaaa2222-0000")
C = VisibleDevice("GPU-cccc3333-0000")
ONLY_0, ONLY_1, BOTH, NONE = (True, False), (False, True), (True, True), (False, False)


@pytest.mark.parametrize(
    ("value", "visible"),
    [
        (None, (True, True, True)),
        ("", (False, False, False)),
        ("-1", (False, False, False)),
        ("NoDevFiles", (False, False, False)),
        ("0", (True, False, False)),
        ("2,1", (False, True, True)),
        (" 2 , 1", (False, True, True)),
        ("0,2,-1,1", (True, False, True)),
        ("0,7,1", (True, False, False)),
        ("3", (False, False, False)),
        ("1gpu,2x", (False, True, True)),
        ("0,0", (False, False, False)),
        ("0,GPU-cccc", (True, False, False)),
        ("GPU-aaaa1111-0000", (True, False, False)),
        ("GPU-cccc,GPU-aaaa2", (False, True, True)),
        ("GPU-aaaa", (False, False, False)),
        ("GPU-cccc,GPU-ffff,GPU-aaaa1", (False, False, True)),
        ("GPU-cccc,0", (False, False, True)),
        ("GPU-cccc,GPU-cccc", (False, False, False)),
        ("GPU-cccc,GPU-cccc3333", (False, False, False)),
        ("MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", (False, False, False)),
        ("9" * 5000, (False, False, False)),
        ("," * 100_000, (False, False, False)),
    ],
)
def test_cuda_visible_devices(value: str | None, visible: tuple[bool, ...]) -> None:
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert cuda_selection(environ, [A, B, C]).visible == visible


MIG = VisibleDevice("GPU-dddd4444-0000", True, ("MIG-1111", "MIG-2222"))
MIG_UNREAD = VisibleDevice("GPU-dddd4444-0000", True, None)


@pytest.mark.parametrize(
    ("value", "devices", "visible"),
    [
        (None, [A, MIG], BOTH),
        ("", [A, MIG], NONE),
        ("1", [A, MIG], (None, None)),
        ("0", [MIG], (True,)),
        ("0,1", [MIG], (True,)),
        ("1", [MIG], (None,)),
        ("0", [VisibleDevice("GPU-e", None)], (True,)),
        ("MIG-2222", [A, MIG], ONLY_1),
        ("MIG-2222,MIG-1111", [A, MIG], ONLY_1),
        ("MIG-9999", [A, MIG], NONE),
        ("MIG-9999", [A, MIG_UNREAD], (None, None)),
        ("MIG-GPU-dddd4444-0000/1/0", [A, MIG_UNREAD], ONLY_1),
        ("GPU-dddd", [A, MIG], ONLY_1),
        ("GPU-aaaa", [A, VisibleDevice(None)], (None, None)),
    ],
)
def test_mig_and_what_cannot_be_decided(
    value: str | None, devices: list[VisibleDevice], visible: tuple[bool | None, ...]
) -> None:
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert cuda_selection(environ, devices).visible == visible


def test_the_note_says_what_was_read() -> None:
    assert cuda_selection({"CUDA_VISIBLE_DEVICES": "1"}, [A]).note == "CUDA_VISIBLE_DEVICES=1"
    assert "not set" in cuda_selection({}, [A]).note
    undecided = cuda_selection({"CUDA_VISIBLE_DEVICES": "1"}, [A, MIG])
    assert "MIG" in undecided.note


AMD = ("GPU-00000000deadbeef", "GPU-21b6d61638a86f8c", None)


@pytest.mark.parametrize(
    ("environ", "visible"),
    [
        ({}, (True, True, True)),
        ({"ROCR_VISIBLE_DEVICES": ""}, (False, False, False)),
        ({"ROCR_VISIBLE_DEVICES": "0x1, 0"}, (True, True, False)),
        ({"ROCR_VISIBLE_DEVICES": "2,2,1"}, (False, False, True)),
        ({"ROCR_VISIBLE_DEVICES": "0,gpu-21b6"}, (True, True, False)),
        ({"ROCR_VISIBLE_DEVICES": "1x,0"}, (False, False, False)),
        ({"ROCR_VISIBLE_DEVICES": "09"}, (False, False, False)),
        ({"ROCR_VISIBLE_DEVICES": "-1"}, (False, False, False)),
        ({"ROCR_VISIBLE_DEVICES": "GPU"}, (False, False, False)),
        ({"HIP_VISIBLE_DEVICES": "-1"}, (False, False, False)),
        ({"HIP_VISIBLE_DEVICES": "1,1,0"}, (True, True, False)),
        ({"HIP_VISIBLE_DEVICES": "01"}, (False, False, False)),
        ({"HIP_VISIBLE_DEVICES": "GPU-21B6D61638A86F8C"}, (False, True, False)),
        ({"HIP_VISIBLE_DEVICES": "GPU-21b6"}, (False, False, False)),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "2"}, (False, False, True)),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "2"}, (True, False, False)),
        ({"ROCR_VISIBLE_DEVICES": "2,1", "HIP_VISIBLE_DEVICES": "1"}, (False, True, False)),
    ],
)
def test_rocm(environ: dict[str, str], visible: tuple[bool, ...]) -> None:
    assert rocm_selection(environ, AMD).visible == visible
