"""What the calls of a Python script ask for: from arguments of libraries to intents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.sources.configs import kinds, words
from fadoctor.sources.configs.intent import Computed, Intent
from fadoctor.sources.configs.serving import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fadoctor.model.fact import Value as FactValue
    from fadoctor.sources.configs.source import Source
    from fadoctor.sources.scripts.python_calls import Argument, ArgumentValue, Found

    Meaning = FactValue | Computed | None

_KERNELS = {
    "FLASH_ATTENTION": "flash", "EFFICIENT_ATTENTION": "efficient",
    "CUDNN_ATTENTION": "cudnn", "MATH": "math",
}  # fmt: skip
"""Members of ``torch.nn.attention.SDPBackend``."""

_FORCED = "sdpa-flash"
_NO_CHOICE = Computed("the script does not say it here")


def literal(value: ArgumentValue) -> bool | int | float | str | Computed | None:
    """Return a literal, or why there is none."""
    if value.kind == "literal":
        return value.literal
    return Computed(value.why or "an expression")


def text(value: ArgumentValue) -> Meaning:
    """Return a text; None stays None."""
    found = literal(value)
    if found is None or isinstance(found, Computed):
        return found
    return str(found)[:120]


def flag(value: ArgumentValue) -> Meaning:
    """Return a switch."""
    found = literal(value)
    return found if isinstance(found, bool | Computed) else Computed("no switch")


def dtype(value: ArgumentValue) -> Meaning:
    """Return a dtype, ``torch.float16`` or ``"float16"``; ``auto`` as such, None of None."""
    written = value.name.removeprefix("torch.") if value.kind == "name" else literal(value)
    if written is None or isinstance(written, Computed):
        return written
    return "auto" if written == "auto" else words.dtype_word(str(written))


def names(value: ArgumentValue) -> Meaning:
    """Return a list of names, or the one name that stands for many (``all-linear``)."""
    if value.kind != "list":
        found = text(value)
        return (found,) if isinstance(found, str) else found
    items = [text(item.value) for item in value.items]
    if value.open or not all(isinstance(item, str) for item in items):
        return Computed("a list that is put together")
    return tuple(str(item) for item in items)


def kernels(value: ArgumentValue) -> Meaning:
    """Return the backends that ``sdpa_kernel`` is given, one or a list."""
    given = [item.value for item in value.items] if value.kind == "list" else [value]
    found = [_KERNELS.get(one.name.rpartition(".")[2], "") for one in given]
    if value.open or not found or not all(found):
        return Computed("backends that are put together")
    return tuple(found)


def modules_map(value: ArgumentValue) -> Meaning:
    """Return a device map: a text, or ``custom`` for a mapping."""
    return "custom" if value.kind == "mapping" else text(value)


class ScriptMeaning:
    """Collects the intents of one script."""

    def __init__(self, source: Source, line_of: Callable[[int], int]) -> None:
        """Begin with none; `line_of` says where a line of the Python text stands in the file."""
        self.source = source
        self.line_of = line_of
        self.intents: list[Intent] = []
        self.frameworks: list[tuple[str, Found]] = []
        self.purposes: list[tuple[str, Found]] = []
        self.adapters: list[str] = []
        """Folders of adapters that it loads."""
        self.served: list[Intent] = []
        """What a server in the script is told, apart from the models beside it."""
        self.switched: dict[str, tuple[Meaning, Found]] = {}
        self.is_saved = False
        """Whether the script writes a model, as one does that only converts it."""
        self.is_moved = False
        """Whether the script moves something to a GPU."""
        self.float32: tuple[Argument, Found] | None = None
        """A float32 tensor that torch's own attention is given."""

    def add(self, name: str, at: Found | Argument, value: Meaning, call: Found) -> None:
        """Note what a call says; what may not happen is Computed whatever it says."""
        meant = Computed(call.condition) if call.condition else value
        place = self.source.at(self.line_of(at.line), at.column)
        self.intents.append(Intent(name, meant, place, printable(at.written, 120)))

    def default(self, name: str, call: Found, value: Meaning) -> None:
        """Note what holds where nothing else says anything: whatever is written overrules it."""
        if not call.condition:
            place = self.source.at(self.line_of(call.line), call.column)
            self.intents.append(Intent(name, value, place))

    def take(
        self,
        call: Found,
        keys: Iterable[str | int],
        name: str,
        meaning: Callable[[ArgumentValue], Meaning],
    ) -> Argument | None:
        """Note the first of these arguments that is given; return it."""
        given = call.argument(*keys)
        if given is not None:
            self.add(name, given, meaning(given.value), call)
        return given

    def uses(self, framework: str, purpose: str, call: Found) -> None:
        """Note whose call it is and what for; both may be empty."""
        if framework:
            self.frameworks.append((framework, call))
        if purpose:
            self.purposes.append((purpose, call))

    def switch(self, backend: str, call: Found) -> None:
        """Note that a backend of torch's attention is allowed from here on, or is not."""
        given = call.argument(0, "enabled")
        value = flag(given.value) if given is not None else _NO_CHOICE
        self.switched[backend] = (Computed(call.condition) if call.condition else value, call)

    def add_switched(self) -> None:
        """Say which backends are left: those that nothing switches off."""
        if not self.switched:
            return
        call = next(iter(self.switched.values()))[1]
        states = {name: value for name, (value, _) in self.switched.items()}
        unsure = next((value for value in states.values() if isinstance(value, Computed)), None)
        left = tuple(name for name in _KERNELS.values() if states.get(name, True) is True)
        self.add("config.sdpa_kernel", call, unsure or left, call)

    def add_forced(self) -> None:
        """Say that torch's attention is forced to flash, where the script asks for no other."""
        kernels = [i for i in self.intents if i.name == "config.sdpa_kernel"]
        asked = {i.value for i in self.intents if i.name == "config.attention"}
        if not kernels or asked - {"sdpa"} or any(i.value != ("flash",) for i in kernels):
            return
        self.intents = [i for i in self.intents if i.name != "config.attention"]
        for each in kernels:
            self.intents.append(
                msgspec.structs.replace(each, name="config.attention", value=_FORCED)
            )
        if self.float32 and not any(i.name == "config.autocast" for i in self.intents):
            at, call = self.float32
            self.add("config.dtype", at, "fp32", call)

    def add_served(self) -> None:
        """Say what a server is told, where the script is about nothing else.

        Beside a training it is not the run that is meant; beside another model attention and
        framework are left open: they have names of their own.
        """
        servers = [one for one in self.frameworks if one[0] in SERVERS]
        others = [one for one in self.frameworks if one[0] not in SERVERS]
        if servers and others and any(purpose == "training" for purpose, _ in self.purposes):
            self.frameworks = others
        elif servers and others:
            self.intents += self.served
            why = Computed("the script uses several frameworks")
            for name in ("config.framework", "config.attention"):
                place = self.source.at(self.line_of(servers[0][1].line), servers[0][1].column)
                self.intents.append(Intent(name, why, place, printable(servers[0][1].written, 120)))
            self.frameworks = []
        else:
            self.intents += self.served

    def finish(self) -> tuple[Intent, ...]:
        """Return the intents, with one framework and one purpose: those that weigh most."""
        self.add_switched()
        self.add_forced()
        self.add_served()
        for name, noted, order in (
            ("config.framework", self.frameworks, FRAMEWORKS),
            ("config.purpose", self.purposes, ("training", "inference")),
        ):
            if noted:
                word, call = min(noted, key=lambda one: order.index(one[0]))
                place = self.source.at(self.line_of(call.line), call.column)
                self.intents.append(Intent(name, word, place, printable(call.written, 120)))
        said = {intent.name for intent in self.intents}
        weights = next((i for i in self.intents if i.name == "config.weights_dtype"), None)
        # half precision is asked of the GPU whatever runs; float32 may run under autocast
        is_half = weights is not None and weights.value in ("bf16", "fp16")
        runs = self.purposes or "config.autocast" in said or "config.device_map" in said
        if weights is not None and self.is_saved and not (runs or self.is_moved):
            why = Computed("the script saves the model, and does not show that it runs")
            self.intents = [
                msgspec.structs.replace(i, value=why) if i.name == weights.name else i
                for i in self.intents
            ]
        is_open = not self.purposes and "config.autocast" not in said and not is_half
        if weights is not None and is_open:
            why = Computed("the script does not show how the model is run")
            self.intents.append(Intent("config.autocast", why, weights.place, weights.written))
        return tuple(self.intents)


FRAMEWORKS = (
    kinds.VLLM, kinds.SGLANG, kinds.UNSLOTH, kinds.TRANSFORMERS, "lightning", kinds.X_TRANSFORMERS,
    kinds.DIFFUSERS, "torch",
)  # fmt: skip
"""Whose words a script is written in, where it uses several: the first of these."""
