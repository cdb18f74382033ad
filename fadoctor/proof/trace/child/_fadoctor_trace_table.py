"""What is known of storages, for as long as they live.

A weak reference of torch's own keeps the address from being given to another storage, and frees the
values: an entry never speaks of a tensor that came later, however that one was made.
"""

from __future__ import annotations

from typing import Any

import torch

MOST = 8192
"""Storages that are remembered before those that are gone are looked for."""


class Table:
    """Storage address -> origin. One that is gone is dropped when there are many."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}
        """Address -> (origin, weak reference)."""
        self._limit = MOST

    def get(self, key: Any) -> Any:
        """Return the origin that is known of a storage, else None."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def put(self, key: Any, tensor: Any, origin: Any) -> None:
        """Remember where a tensor comes from."""
        known = self._kept.get(key)
        if known is not None:
            self._kept[key] = (origin, known[1])
        else:
            self.put_storage(key, bare(tensor).untyped_storage(), origin)

    def put_storage(self, key: Any, storage: Any, origin: Any) -> None:
        """Remember where the tensors of a storage come from."""
        known = self._kept.get(key)
        if known is not None:
            self._kept[key] = (origin, known[1])
            return
        if len(self._kept) >= self._limit:
            self._sweep()
        self._kept[key] = (origin, storage._weak_ref())

    def clear(self) -> None:
        """Forget everything."""
        kept, self._kept = self._kept, {}
        for _, reference in kept.values():
            torch.UntypedStorage._free_weak_ref(reference)

    def _sweep(self) -> None:
        gone = [
            key
            for key, (_, reference) in self._kept.items()
            if torch.UntypedStorage._expired(reference)
        ]
        for key in gone:
            torch.UntypedStorage._free_weak_ref(self._kept.pop(key)[1])
        if len(self._kept) * 2 > self._limit:
            self._limit *= 2


PLAIN = (torch.Tensor, torch.nn.Parameter)


def inner_of(tensor: Any) -> Any:
    """Return the tensor that holds the values of a wrapper: each view of it is another wrapper."""
    for _ in range(8):
        flatten = getattr(type(tensor), "__tensor_flatten__", None)
        try:
            names = flatten(tensor)[0] if flatten is not None else ()
        except Exception:  # its own code
            return tensor
        if not names:
            break
        tensor = getattr(tensor, names[0])
    return tensor


def bare(tensor: Any) -> Any:
    """Return the tensor below the wrappers of torch.func, which have no storage."""
    if type(tensor) not in PLAIN:
        tensor = inner_of(tensor)
    functorch = getattr(torch._C, "_functorch", None)
    for _ in range(8):
        if functorch is None or not functorch.is_functorch_wrapped_tensor(tensor):
            break
        tensor = functorch.get_unwrapped(tensor)
    return tensor
