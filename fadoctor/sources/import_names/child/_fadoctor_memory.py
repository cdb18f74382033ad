"""What functions gave that say whether something is there: they are asked over and over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_values import Func, Module

Key = Tuple[Any, ...]

NOTHING = object()
_PLAIN = frozenset((str, int, bool, type(None)))
_KEPT = _PLAIN | {tuple}


class Memory:
    """Answers of ``is_x_available()``, of modules whose import is done."""

    def __init__(self) -> None:
        self._known: Dict[Key, Any] = {}
        self.given: Dict[Tuple[str, str], Any] = {}
        """Module and name -> what its ``__getattr__`` gives where it raises."""

    def key(
        self, target: Func, module: Module, given: List[Any], named: Dict[str, Any]
    ) -> Optional[Key]:
        """Return what a call is known by; None where its answer is not kept."""
        name = target.node[2]
        if module.state != "done" or not name.startswith(("is_", "_is_")):
            return None
        values = (*given, *named.values())
        if not all(type(value) in _PLAIN for value in values):
            return None
        # True and 1 are one key: the types tell them apart.
        return (target.module, name, tuple(named), values, tuple(map(type, values)))

    def get(self, key: Optional[Key]) -> Any:
        """Return an answer; NOTHING where there is none."""
        return NOTHING if key is None else self._known.get(key, NOTHING)

    def keep(self, key: Optional[Key], value: Any) -> None:
        """Keep an answer that is known."""
        if key is not None and type(value) in _KEPT:
            self._known[key] = value

    def forget(self) -> None:
        """Forget all: something changed that they may hang on."""
        self._known.clear()
        self.given.clear()
