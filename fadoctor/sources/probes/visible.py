"""Which GPUs an environment variable leaves visible to a program.

CUDA_VISIBLE_DEVICES, as its documentation and torch's own reading of it have it: unset means all;
ordinals are read as C's strtoul reads them (``1st`` is 1); the first entry that names no GPU ends
the list, so that an empty value, -1 and NoDevFiles leave none; an entry named twice leaves none at
all. UUIDs may be cut short as long as they stay unique. ROCR_VISIBLE_DEVICES and
HIP_VISIBLE_DEVICES are read as the ROCm runtime and HIP read them: an entry named twice ends the
list in the first, and does nothing in the second.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENTRY_LIMIT = 512
"""Entries of a variable that are read."""


class VisibleDevice(msgspec.Struct, frozen=True):
    """What tells one GPU from another."""

    uuid: str | None = None
    """None where it could not be read."""
    mig: bool | None = False
    """None where it could not be read."""
    mig_uuids: tuple[str, ...] | None = ()
    """None where they could not be read."""


class Selection(msgspec.Struct, frozen=True):
    """For each GPU: visible, hidden, or None where that cannot be decided; and why."""

    visible: tuple[bool | None, ...]
    note: str


def cuda_selection(environ: Mapping[str, str], devices: Sequence[VisibleDevice]) -> Selection:
    """Return which NVIDIA GPUs CUDA_VISIBLE_DEVICES leaves visible."""
    value = environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return Selection((True,) * len(devices), "CUDA_VISIBLE_DEVICES is not set")
    entries = value.split(",")[:ENTRY_LIMIT]
    if value.startswith("MIG-"):
        return _by_mig(entries[0], devices, value)
    if value.startswith("GPU-"):
        if any(device.uuid is None for device in devices):
            return _undecided(value, devices, "a GPU's UUID could not be read")
        return _chosen(_by_uuid(entries, devices), value, devices)
    return _by_ordinal(_ordinals(entries), devices, value)


def _by_ordinal(ordinals: Sequence[int], devices: Sequence[VisibleDevice], value: str) -> Selection:
    """Return the GPUs of the ordinals, up to the first that is none.

    CUDA counts MIG instances where MIG is on; on a machine with one GPU, 0 is on it all the same.
    """
    uncertain = any(device.mig is not False for device in devices)
    if uncertain and ordinals and not (len(devices) == 1 and ordinals[0] == 0):
        return _undecided(value, devices, "ordinals count MIG instances where MIG is on")
    end = next((i for i, n in enumerate(ordinals) if n >= len(devices)), len(ordinals))
    return _chosen(ordinals[:end], value, devices)


def _ordinals(entries: Sequence[str]) -> list[int]:
    """Return the ordinals up to the first negative or missing one; none where one is repeated."""
    ordinals: list[int] = []
    for entry in entries:
        found = re.match(r"\s*([+-]?[0-9]{1,9})", entry)
        number = int(found[1]) if found else -1
        if number in ordinals:
            return []
        if number < 0:
            break
        ordinals.append(number)
    return ordinals


def _by_uuid(entries: Sequence[str], devices: Sequence[VisibleDevice]) -> list[int]:
    """Return the GPUs named by UUIDs or unique beginnings of them, up to the first that is none."""
    named = list(takewhile(lambda entry: entry.startswith("GPU-"), entries))
    if len(set(named)) < len(named):
        return []
    chosen: list[int] = []
    for entry in named:
        fitting = [i for i, device in enumerate(devices) if (device.uuid or "").startswith(entry)]
        if len(fitting) != 1:
            break
        if fitting[0] in chosen:
            return []
        chosen += fitting
    return chosen


def _by_mig(entry: str, devices: Sequence[VisibleDevice], value: str) -> Selection:
    """Return the GPU of the first MIG instance that is named: a CUDA program sees only one.

    MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/2   drivers before 470
    MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f           since
    """
    parent = entry.removeprefix("MIG-").partition("/")[0] if entry.startswith("MIG-GPU-") else None
    for index, device in enumerate(devices):
        if (parent and device.uuid == parent) or entry in (device.mig_uuids or ()):
            return _chosen([index], value, devices)
    if any(device.mig_uuids is None or device.uuid is None for device in devices):
        return _undecided(value, devices, "the UUIDs of the MIG instances could not be read")
    return _chosen([], value, devices)


def rocm_selection(environ: Mapping[str, str], uuids: Sequence[str | None]) -> Selection:
    """Return which AMD GPUs stay visible: to ROCR_VISIBLE_DEVICES, then to HIP's among the rest.

    HIP takes an empty variable for an unset one, and CUDA_VISIBLE_DEVICES where its own is unset.
    """
    rocr = environ.get("ROCR_VISIBLE_DEVICES")
    left = list(range(len(uuids))) if rocr is None else _by_rocr(rocr, uuids)
    name = next((n for n in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if environ.get(n)), "")
    notes = [] if rocr is None else [f"ROCR_VISIBLE_DEVICES={rocr[:80]}"]
    if name:
        notes.append(f"{name}={environ[name][:80]}")
        left = [left[i] for i in _by_hip(environ[name], [uuids[i] for i in left])]
    note = ", ".join(notes) or "neither ROCR_VISIBLE_DEVICES nor HIP_VISIBLE_DEVICES is set"
    return Selection(tuple(index in left for index in range(len(uuids))), note)


def _by_rocr(value: str, uuids: Sequence[str | None]) -> list[int]:
    """Return what the ROCm runtime keeps: ordinals (0x1 too) and UUIDs, up to the first bad one."""
    chosen: list[int] = []
    for entry in value.split(",")[: len(uuids)]:
        token = entry.strip().upper()
        if token.startswith("G"):
            named = [i for i, u in enumerate(uuids) if u and u.upper().startswith(token)]
            number = named[0] if len(named) == 1 and 5 <= len(token) <= 20 else -1
        else:
            number = _c_integer(token)
        if not 0 <= number < len(uuids) or number in chosen:
            break
        chosen.append(number)
    return chosen


def _c_integer(token: str) -> int:
    """Return the number as strtol reads it with base 0, and -1 where more follows it."""
    if not re.fullmatch(r"\+?(0[Xx][0-9A-Fa-f]{1,8}|[0-9]{1,9})", token):
        return -1
    digits = token.lstrip("+")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
    try:
        return int(digits, 8 if octal else 0)
    except ValueError:
        return -1


def _by_hip(value: str, uuids: Sequence[str | None]) -> list[int]:
    """Return what HIP keeps: plain ordinals and whole UUIDs, up to the first bad one."""
    chosen: list[int] = []
    for entry in value.split(",")[:ENTRY_LIMIT]:
        if entry.startswith("GPU-"):
            named = [i for i, uuid in enumerate(uuids) if uuid and uuid.lower() == entry.lower()]
            number = named[0] if len(named) == 1 else -1
        else:
            number = int(entry) if re.fullmatch(r"0|[1-9][0-9]{0,8}", entry) else -1
        if not 0 <= number < len(uuids):
            break
        chosen.append(number)
    return chosen


def _note(value: str) -> str:
    return f"CUDA_VISIBLE_DEVICES={value[:120]}"


def _chosen(chosen: Sequence[int], value: str, devices: Sequence[VisibleDevice]) -> Selection:
    return Selection(tuple(index in chosen for index in range(len(devices))), _note(value))


def _undecided(value: str, devices: Sequence[VisibleDevice], why: str) -> Selection:
    return Selection((None,) * len(devices), f"{_note(value)}: {why}")
