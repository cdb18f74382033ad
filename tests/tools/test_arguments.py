"""The table of arguments: what a class takes where an object is made, and since when."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import yaml
from packaging.version import Version

from tools.refresh.names.archive import Sources
from tools.refresh.names.arguments import closed
from tools.refresh.names.attributes import History, Reader, classes_of
from tools.refresh.names.families import by_name
from tools.refresh.names.packages import argument_files, class_files
from tools.refresh.names.told import Others

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.refresh.names.families import Classes

SOURCE = """
class Trainer:
    @deprecate_kwarg("tokenizer", new_name="processing_class", version="5.0.0")
    def __init__(self, model, /, args=None, *rest, processing_class=None): ...

@dataclass
class Config(TrainingArguments, metaclass=Meta):
    beta: float = 0.1
    gamma: Optional[float] = field(default=None)
    kind: ClassVar[str] = "x"
    later: int = field(init=False)
    plain = 1
    def run(self): ...

@dataclasses.dataclass(kw_only=True)
class Near(Config):
    delta: int = 1

class Heir(Mixin, Near): ...
class Mixin: ...
class Open:
    def __init__(self, one, **more): ...
class Below(Open): ...
class Bare: ...
class Strange(Elsewhere): ...
class Hub(PushToHubMixin, Trainer): ...
"""


class Texts(Sources):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.digests = {"pack/a.py": f"{zlib.crc32(text.encode())}"}

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(paths, self._text)


def taken(text: str) -> Classes:
    reader = Reader(["pack/*.py"])
    found = reader.arguments(Texts(text), ["pack/*.py"], {"TrainingArguments"})
    return {name.rpartition(".")[2]: seen for name, seen in found.items()}


def test_a_constructor_takes_its_parameters_and_those_that_a_decorator_knows_of_old() -> None:
    found = taken(SOURCE)["Trainer"]
    assert found.names == {"args", "processing_class", "tokenizer"}
    assert (found.is_whole, found.is_open) == (True, False)


def test_a_dataclass_takes_its_fields_and_those_of_its_bases() -> None:
    found = taken(SOURCE)
    assert found["Config"].names == {"beta", "gamma"}
    assert found["Near"].names == found["Heir"].names == {"beta", "gamma", "delta"}
    assert not any(found[name].is_whole or found[name].is_open for name in ("Config", "Heir"))


def test_a_class_that_moved_takes_what_it_takes_at_its_new_place() -> None:
    """trl moved trainers, and left one of each name that warns and passes everything on."""
    texts = {
        "pack/trainer/kto.py": "with quiet():\n    from ..more.kto import Kto as _Kto\n"
        "class Kto(_Kto):\n"
        "    def __init__(self, *args, **kwargs): ...\n",
        "pack/more/kto/made.py": "class Kto:\n    def __init__(self, beta): ...\n",
    }
    sources = Texts("")
    sources.digests = {path: path for path in texts}
    sources.read = lambda paths: {path: texts[path] for path in paths}  # type: ignore[method-assign]
    found = Reader(["pack/*.py"]).arguments(sources, ["pack/*.py"], set())
    assert {tuple(seen.names) for seen in found.values()} == {("beta",)}
    assert not any(seen.is_open for seen in found.values())


def test_a_class_that_msgspec_joins_takes_the_fields_of_its_parts() -> None:
    """sglang spread the fields of its ServerArgs over classes that a list names."""
    parts = "class {}(msgspec.Struct):\n    path: ClassVar[str] = 'x'\n    {}: int = 0\n"
    texts = {
        "pack/args.py": "from .fields.lora import Lora\nfrom .fields.memory import Memory\n"
        "class ServerArgs:\n    def check(self): ...\n"
        "PARTS = [Lora, Memory]\nNAMES = ['Other']\n"
        "ServerArgs = msgspec.defstruct('ServerArgs', fields_of(PARTS), dict=True)\n",
        "pack/fields/lora.py": parts.format("Lora", "enable_lora"),
        "pack/fields/memory.py": parts.format("Memory", "page_size"),
    }
    sources = Texts("")
    sources.digests = {path: path for path in texts}
    sources.read = lambda paths: {path: texts[path] for path in paths}  # type: ignore[method-assign]
    patterns = ["pack/args.py", "pack/fields/*.py"]
    reader = Reader(patterns)
    [(name, seen)] = reader.arguments(sources, patterns, set()).items()
    assert name == "pack.args.ServerArgs"
    assert seen.names == {"enable_lora", "page_size"}
    assert seen.is_whole
    [attributes] = reader.classes(sources).values()
    assert attributes.names == {"check", "enable_lora", "page_size", "path"}


def test_what_takes_any_argument_or_is_made_elsewhere_is_open() -> None:
    found = taken(SOURCE)
    is_open = {name for name, seen in found.items() if seen.is_open}
    assert is_open == {"Open", "Below", "Strange"}
    assert found["Bare"].is_whole
    assert found["Hub"].names == found["Trainer"].names


def test_methods_that_others_call_by_name_are_read_as_well() -> None:
    text = (
        "class {}:\n    def __init__(self, a): ...\n    def unwrap(self, model, keep=True): ...\n"
        "    def _inner(self, x): ...\n"
    )
    found = taken(text.format("Accelerator"))
    assert {name: seen.names for name, seen in found.items()} == {
        "Accelerator": {"a"},
        "unwrap": {"model", "keep"},
    }
    assert set(taken(text.format("Other"))) == {"Other"}


def history(*texts: str) -> History:
    seen = {Version(f"1.{minor}"): taken(text) for minor, text in enumerate(texts)}
    told = {"TrainingArguments": frozenset({"strategy", "beta", "old"})}
    lineage = {name: ["TrainingArguments"] for name in ("Config", "Maker")}
    return History(by_name(closed(seen)), (), Others(told, told), lineage)


def rows(found: History) -> list[dict[str, object]]:
    return yaml.safe_load("".join(found.given_rows("pack"))) or []


def test_what_a_base_of_another_package_takes_is_told_by_that_package() -> None:
    config = "@dataclass\nclass Config(TrainingArguments):\n    {}\n"
    texts = [config.format(body) for body in ("beta: int = 1", "beta: int = 1\n    new: int = 2")]
    assert rows(history(*texts)) == [
        {"package": "pack", "class": "Config", "name": "beta"},
        {"package": "pack", "class": "Config", "name": "new", "first": 1.1},
    ]
    assert rows(history(config.format("old: int = 1"), config.format("x = 2"))) == []


def test_a_class_with_a_constructor_of_its_own_says_all_that_its_base_says() -> None:
    maker = "class Maker(TrainingArguments):\n    def __init__(self, {}): ...\n"
    assert rows(history(maker.format("beta, old"), maker.format("beta"))) == [
        {"package": "pack", "class": "Maker", "name": "beta"},
        {"package": "pack", "class": "Maker", "name": "old", "last": 1.0},
        {"package": "pack", "class": "Maker", "name": "strategy", "never": True},
    ]


def test_a_release_that_takes_any_argument_takes_what_the_others_take() -> None:
    maker = "class Open:\n    def __init__(self, {}): ...\n"
    texts = (maker.format("**more"), maker.format("a"))
    assert rows(history(*texts)) == []
    assert rows(history(*reversed(texts))) == []


def test_of_a_file_that_is_no_python_nothing_is_read() -> None:
    assert classes_of("class (") == {}


def test_files_of_arguments_are_among_those_of_classes() -> None:
    files = class_files()
    assert all(set(each) for each in argument_files().values())
    assert argument_files().keys() <= files.keys()
