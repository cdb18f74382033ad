"""Which names are asked for in vain, and what keeps a name from being told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.sources.import_names.conftest import Tree

    Told = Callable[..., list[str]]

GONE = ["asker/__init__.py:1 provider Gone"]


def test_a_name_that_is_not_there_is_told(told: Told) -> None:
    assert told("from provider import Gone") == GONE


def test_a_name_that_is_there_is_not(told: Told) -> None:
    assert told("from provider import Here") == []


@pytest.mark.parametrize(
    "provider",
    [
        "def __getattr__(name): ...",
        "globals()[name] = 1",
        "globals().update(found)",
        "from missing_or_compiled_thing_of_ours import *",
        "if unknown():\n    from os import *",
        "exec(text)",
        "import sys\nsys.modules[__name__] = Other()",
        "import sys\nsetattr(sys.modules[__name__], name, 1)",
        "for name in names():\n    globals()[name] = 1",
        "if unknown():\n    Gone = 1",
        "try:\n    import numpy\nexcept ImportError:\n    Gone = 1",
        "try:\n    unknown()\nexcept Exception:\n    Gone = 1",
        "with unknown() as Gone:\n    pass",
        "for Gone in unknown(): pass",
        "def f(:\n",
        "x = '\\0'\n\0",
    ],
)
def test_what_may_have_more_names_is_never_held_against_anybody(told: Told, provider: str) -> None:
    assert told("from provider import Gone", provider) == []


@pytest.mark.parametrize(
    "asker",
    [
        "try:\n    from provider import Gone\nexcept ImportError:\n    Gone = None",
        "try:\n    from provider import Gone\nexcept Exception:\n    Gone = None",
        "try:\n    from provider import Gone\nexcept:\n    Gone = None",
        "try:\n    from provider import Gone\nexcept (KeyError, ImportError):\n    Gone = None",
        "import contextlib as c\nwith c.suppress(ImportError):\n    from provider import Gone",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from provider import Gone",
        "if unknown():\n    from provider import Gone",
        "def later():\n    from provider import Gone",
        "import sys\nif sys.version_info < (3, 5):\n    from provider import Gone",
        (
            "from importlib.metadata import version\nfrom packaging.version import parse\n"
            "if parse(version('provider')) < parse('2.5'):\n    from provider import Gone"
        ),
        (
            "try:\n    if unknown():\n        raise ImportError\n    from provider import Gone\n"
            "except ImportError:\n    pass"
        ),
        "import missing_here\nfrom provider import Gone",
        "class Later:\n    def method(self):\n        from provider import Gone",
        "import provider\nprovider.Gone if unknown() else None",
        "unknown() and __import__('provider').Gone",
    ],
)
def test_what_does_without_the_name_is_silent(told: Told, asker: str) -> None:
    assert told(asker) == []


@pytest.mark.parametrize(
    ("asker", "line"),
    [
        ("try:\n    from provider import Gone\nexcept KeyError:\n    pass", 2),
        ("try:\n    from provider import Gone\nexcept ImportError:\n    raise", 2),
        ("try:\n    import nothing\nexcept ImportError:\n    from provider import Gone", 4),
        ("import provider\nclass Mine(provider.Gone): ...", 2),
        ("import provider as p\n@p.Gone\ndef f(): ...", 2),
        ("import provider\ndef f(x=provider.Gone): ...", 2),
        ("import provider\ndef f(x: provider.Gone): ...", 2),
        (("from importlib.metadata import version\nfrom packaging import version as v\n"
         "if v.parse(version('provider')) >= v.parse('2.5'):\n    from provider import Gone"), 4),
        (("def is_provider_available():\n    import importlib.util\n"
         "    return importlib.util.find_spec('provider') is not None\n"
         "if is_provider_available():\n    from provider import Gone"), 5),
        ("import sys\nif sys.platform == 'linux':\n    from provider import Gone", 3),
    ],
)  # fmt: skip
def test_what_surely_asks_is_told(told: Told, asker: str, line: int) -> None:
    assert told(asker, python=(3, 11, 0)) == [f"asker/__init__.py:{line} provider Gone"]


def test_a_version_that_is_asked_by_the_name_of_a_module_decides(told: Told) -> None:
    asker = """
import importlib.metadata
from packaging import version
NAMES = importlib.metadata.packages_distributions()
def is_new(name):
    return version.parse(importlib.metadata.version(NAMES[name][0])) >= version.parse("2.5")
if {}is_new("provider"):
    from provider import Gone
"""
    assert told(asker.format("")) == ["asker/__init__.py:8 provider Gone"]
    assert told(asker.format("not ")) == []


def test_annotations_that_are_not_evaluated_ask_nothing(told: Told) -> None:
    asker = "from __future__ import annotations\nimport provider\ndef f(x: provider.Gone): ..."
    assert told(asker) == []


def test_a_module_that_is_gone_is_told_by_its_name(told: Told) -> None:
    assert told("import provider._six") == ["asker/__init__.py:1 provider._six"]


def test_within_one_package_files_fit_each_other(tree: Tree) -> None:
    tree.install("asker", init="from asker.other import Gone", other="")
    assert tree.told() == []


def test_imports_of_a_foundation_are_trusted(tree: Tree) -> None:
    tree.install("asker", init="from base import Here").install("provider", init="")
    tree.install("base", init="from provider import Gone\nHere = 1")
    assert tree.told() == []


def test_names_of_a_foundation_are_read(tree: Tree) -> None:
    tree.install("asker", init="from base import Here, Starred\nfrom base import Gone")
    tree.install("base", init="from .part import *\ntry:\n    Here = 1\nexcept E: pass",
                 part="Starred = 1")  # fmt: skip
    assert tree.told() == ["asker/__init__.py:2 base Gone"]


def test_a_lazy_module_is_followed_to_where_the_name_is(tree: Tree) -> None:
    lazy = (
        "import sys\nfrom .tools import _LazyModule\n_import_structure = {'part': ['Trainer']}\n"
        "_import_structure['part'].append('Other')\n"
        "sys.modules[__name__] = _LazyModule(__name__, __file__, _import_structure)\n"
    )
    tree.install("asker", init=lazy, tools="class _LazyModule: ...",
                 part="from provider import Gone\nclass Trainer: ...")  # fmt: skip
    tree.install("provider", init="Here = 1")
    answer = tree.read()
    [broken] = answer.broken
    assert broken.breaks == ("from asker import Trainer",)
    assert not broken.at_import


def test_a_name_that_a_lazy_module_has_not_is_told(tree: Tree) -> None:
    lazy = (
        "import sys\nfrom .tools import _LazyModule\n_import_structure = {'part': ['Here']}\n"
        "sys.modules[__name__] = _LazyModule(__name__, __file__, _import_structure)\n"
    )
    tree.install("provider", init=lazy, tools="class _LazyModule: ...", part="Here = 1")
    tree.install("asker", init="from provider import Here\nfrom provider import Gone")
    assert tree.told() == ["asker/__init__.py:2 provider Gone"]


def test_the_answer_names_all_that_stops(tree: Tree) -> None:
    tree.install("asker", init="", extra="from provider import Gone").install("provider")
    [broken] = tree.read().broken
    assert (broken.asker, broken.provider, broken.breaks) == ("asker", "provider",
                                                              ("import asker.extra",))  # fmt: skip


def test_a_circle_of_imports_is_not_an_alarm(tree: Tree) -> None:
    tree.install("asker", init="import provider").install(
        "provider", init="from asker import Later\nHere = 1"
    )
    assert tree.told() == []


def test_variables_that_are_set_decide_nothing(told: Told) -> None:
    asker = "import os\nif os.environ.get('USE_IT', 'yes') == 'yes':\n    from provider import Gone"
    assert told(asker) == ["asker/__init__.py:3 provider Gone"]
    assert told(asker, variables=("USE_IT",)) == []


def test_a_generator_that_is_called_has_not_run(told: Told) -> None:
    asker = "def is_it():\n    from provider import Gone\n    yield 1\nis_it()"
    assert told(asker) == []


@pytest.mark.parametrize("lines", [3, 50, 200])
def test_what_a_long_function_gives_is_told_or_not_known(told: Told, lines: int) -> None:
    body = "".join(f"    # line {number}\n" for number in range(lines))
    asker = (
        f"def is_there():\n{body}    return True\nif not is_there():\n    from provider import Gone"
    )
    assert told(asker) == []
    asker = asker.replace("if not", "if")
    assert told(asker) == ([] if lines == 200 else [f"asker/__init__.py:{lines + 4} provider Gone"])


def test_nothing_is_started_where_nothing_of_the_stack_is(tree: Tree) -> None:
    tree.install("other")
    assert tree.read().source == ""


@pytest.mark.parametrize(
    ("asker", "installed", "expected"),
    [
        ("import base", "84.0", ["asker/__init__.py:1 base"]),
        ("from base import Gone", "84.0", ["asker/__init__.py:1 base"]),
        ("import base.part", "84.0", ["asker/__init__.py:1 base"]),
        ("import base", "", []),
        ("try:\n    import base\nexcept ImportError:\n    pass", "84.0", []),
        ("if unknown():\n    import base", "84.0", []),
        ("def later():\n    import base", "84.0", []),
    ],
)
def test_a_module_that_a_release_no_longer_brings(
    tree: Tree, asker: str, installed: str, expected: list[str]
) -> None:
    """As setuptools once had pkg_resources: it is installed, and the module is gone."""
    tree.install("asker", init=asker)
    if installed:
        tree.installed["base"] = installed
    assert tree.told() == expected
    assert tree.told(hooked=True) == []
