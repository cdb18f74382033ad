"""Names that are asked under a condition, which what is installed decides or does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.import_names.model import ModuleEntry
from fadoctor.sources.import_names.read import read_contracts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.sources.import_names.conftest import Tree

    Told = Callable[..., list[str]]

PROVIDER = "class Here: ...\n__version__ = unknown()\n"
ASKS = "\nif {}:\n    from provider import Gone\n"
OPERATIONS = "import operator as op\nBY_SIGN = {'>=': op.ge, '<': op.lt}\n"
VERSIONS = (
    "import importlib.metadata\nfrom packaging.version import parse\n" + OPERATIONS + "def "
    "compare_versions(library, sign, wanted):\n    operation = BY_SIGN[sign]\n"
    "    if isinstance(library, str):\n"
    "        library = parse(importlib.metadata.version(library))\n"
    "    return operation(library, parse(wanted))"
)
CANDIDATES = """
import importlib.metadata
BRINGS = importlib.metadata.packages_distributions()
def version_of(name):
    found = BRINGS.get(name, [])
    names = [*(x for x in (name + "-gone", name) if x in found), *found, name]
    for each in list(dict.fromkeys(names)):
        try:
            version = importlib.metadata.version(each + "-no" if each == "other" else each)
            break
        except importlib.metadata.PackageNotFoundError:
            continue
    else:
        version = "N/A"
    return version
"""
LIGHTNING = "from lightning_utilities.core.imports import RequirementCache, package_available"


def asks(told: Told, before: str, condition: str, **changes: object) -> bool:
    """Return whether the name behind a condition is held against the provider."""
    return bool(told(before + ASKS.format(condition), PROVIDER, **changes))


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        (VERSIONS, "compare_versions('provider', '>=', '2.5')"),
        ("import provider\nfrom packaging.version import parse",
         "parse(provider.__version__) >= parse('2.5')"),
        ("from provider import __version__ as v\nfrom packaging import version",
         "version.parse(v) >= version.parse('2.5')"),
        ("import provider", "isinstance(provider.__version__, (int, str))"),
        ("import platform\nfrom packaging.version import parse",
         "parse(platform.python_version()) >= parse('3.11')"),
        ("import json, os", "'key' not in json.loads(os.environ.get('NO_SUCH_VARIABLE', '{}'))"),
        ("import os", "'NO_SUCH_VARIABLE' not in os.environ"),
        ("import os", "'SOME_VARIABLE' in os.environ"),
        ("NAMES = {'a': ['x', 'y']}\nMAP = {n: m for m, names in NAMES.items() for n in names}",
         "MAP.get('y') == 'a'"),
        (CANDIDATES, "version_of('provider') == '2.5.1'"),
        ("MAP = {'x': 'a'}", "(found := MAP.get('x')) and found == 'a'"),
        ("def has_it(name):\n    return any(name == each for each in ['a', 'b'])", "has_it('b')"),
    ],
)  # fmt: skip
def test_what_is_installed_decides(told: Told, before: str, condition: str) -> None:
    given = {"python": (3, 11, 4), "variables": ("SOME_VARIABLE",)}
    assert asks(told, before, condition, **given)
    assert not asks(told, before, f"not ({condition})", **given)


@pytest.mark.parametrize(
    ("before", "condition"),
    [
        ("import operator", "operator.ge(unknown(), 3)"),
        ("import provider", "isinstance(provider.Here, str)"),
        ("import provider", "isinstance(provider.Here(), provider.Here)"),
        ("import os\nos.environ['SOME'] = '1'", "'SOME' in os.environ"),
        ("import os\nif unknown():\n    os.environ['SOME'] = '1'", "'SOME' in os.environ"),
        ("import os\nos.environ.setdefault('SOME', '1')", "'SOME' in os.environ"),
        ("import os\nif unknown():\n    os.environ.pop('SOME')", "os.environ.get('SOME', '1')"),
        ("import os\nos.environ.update(unknown())", "'SOME' not in os.environ"),
        ("import json", "json.loads(unknown())"),
        ("import importlib.metadata as m", "m.metadata('provider')['Some-Field'] == 'x'"),
        ("NAMES = {'a': unknown()}\nMAP = {n: m for m, ns in NAMES.items() for n in ns}", "MAP"),
        ("def has_it(name):\n    return any(unknown(x) for x in ['a', 'b'])", "has_it('b')"),
    ],
)
def test_what_nobody_knows_decides_nothing(told: Told, before: str, condition: str) -> None:
    assert not asks(told, before, condition)
    assert not asks(told, before, f"not ({condition})")


@pytest.mark.parametrize(
    ("requirement", "met"),
    [
        ("provider", True), ("provider>=2.5", True), ("provider>=2.4,<3", True),
        ("provider<2.5", False), ("provider==2.5.1", True), ("provider != 2.5.1", False),
        ("absent_thing", False), ("absent_thing>=1", False), ("absent_thing>=1', 'provider", True),
        ("provider~=2.5", None), ("provider[extra]>=2.5", None), ("provider>=2.5rc1", None),
        ("provider==2.*", None), ("", None),
    ],
)  # fmt: skip
def test_a_requirement_that_lightning_compares(
    told: Told,
    tree: Tree,
    requirement: str,
    met: bool | None,  # noqa: FBT001 -- what is expected
) -> None:
    tree.install("lightning_utilities", core__imports="class RequirementCache: ...")
    assert asks(told, LIGHTNING, f"RequirementCache('{requirement}')") is (met is True)
    assert asks(told, LIGHTNING, f"not RequirementCache('{requirement}')") is (met is False)


def test_a_package_that_lightning_looks_for(told: Told, tree: Tree) -> None:
    tree.install("lightning_utilities", core__imports="def package_available(name): ...")
    assert asks(told, LIGHTNING, "package_available('provider')")
    assert asks(told, LIGHTNING, "not package_available('nothing_here')")


def test_the_metadata_of_a_distribution_tell_whose_it_is(told: Told, tree: Tree) -> None:
    before = (
        "from importlib.metadata import PackageNotFoundError, metadata\n"
        "def is_from(name, owner):\n    try:\n        fields = metadata(name)\n"
        "        page = fields['Home-page']\n"
        "        return fields['Name'] == name and page is not None and owner in page\n"
        "    except PackageNotFoundError:\n        return False"
    )
    home = tree.folder / "provider-2.5.1.dist-info" / "METADATA"
    home.parent.mkdir()
    for page, met in (("Home-page: the.owner\n", True), ("", False)):
        home.write_text(f"Metadata-Version: 2.1\nName: provider\n{page}\nHome-page: the.owner\n")
        assert asks(told, before, "is_from('provider', 'owner')") is met
        assert asks(told, before, "not is_from('provider', 'owner')") is not met
    assert asks(told, before, "not is_from('nothing', 'owner')")


def test_torch_compares_versions_and_says_how_it_was_built(tree: Tree) -> None:
    built = "def is_available():\n    return hasattr(torch._C, 'x')"
    init = "from . import v, distributed\n__version__ = v.it"
    tree.install("torch", "2.13.0+cpu", init=init, distributed__init=built)
    tree.install("provider").install("packaging", version="26.0")
    entries = {
        "torch": ModuleEntry(("torch",), "foundation"),
        "asker": ModuleEntry(("asker",), "entry"),
        "provider": ModuleEntry(("provider",), "entry"),
    }

    def told(condition: str) -> bool:
        lines = "import torch\nfrom packaging.version import parse" + ASKS.format(condition)
        tree.install("asker", init=lines)
        return bool(read_contracts(tree.site(), entries, None).broken)

    for condition in (
        "torch.__version__ >= '2.9'", "torch.__version__ >= (2, 9)", "torch.__version__ < '2.13.1'",
        "parse(torch.__version__.split('+')[0]) == parse('2.13.0')",
    ):  # fmt: skip
        assert told(condition)
        assert not told(f"not {condition}")
    assert not told("torch.__version__ >= unknown()")
    available = "torch.distributed.is_available()"
    assert not told(available)
    cmake = tree.folder / "torch" / "share" / "cmake" / "Caffe2" / "Caffe2Targets.cmake"
    cmake.parent.mkdir(parents=True)
    cmake.write_text('INTERFACE_COMPILE_DEFINITIONS "USE_C10D_GLOO"')
    assert not told(available)
    assert not told(f"not {available}")
    cmake.write_text('INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"')
    assert told(available)


@pytest.mark.parametrize(
    ("version", "met"),
    [("2.13.0+cpu", True), ("2.7.0", True), ("2.6.1", False), ("2.7.0a0+git1", None)],
)
def test_torchao_reads_the_version_of_torch_by_its_own_means(
    tree: Tree,
    version: str,
    met: bool | None,  # noqa: FBT001
) -> None:
    entries = {name: ModuleEntry((name,), "entry") for name in ("torchao", "provider")}
    tree.install("torch", version).install("provider")

    def told(condition: str) -> bool:
        utils = "import re\ndef torch_version_at_least(wanted):\n    return re.match('x', wanted)"
        init = "from torchao.utils import torch_version_at_least" + ASKS.format(condition)
        tree.install("torchao", init=init, utils=utils)
        return bool(read_contracts(tree.site(), entries, None).broken)

    assert told("torch_version_at_least('2.7.0')") is (met is True)
    assert told("not torch_version_at_least('2.7.0')") is (met is False)


@pytest.mark.parametrize(
    ("call", "is_told"),
    [
        ("__import__('provider.gone').declare(__name__)", True),
        ("__import__('provider.gone', fromlist=['x'])", False),
        ("__import__(unknown)", False),
        ("x = __import__('provider').Here", False),
    ],
)
def test_an_import_by_its_function_is_an_import(
    tree: Tree,
    call: str,
    is_told: bool,  # noqa: FBT001
) -> None:
    tree.install("asker", init=f"import os\n\n{call}\n")
    tree.install("provider", init=PROVIDER)
    assert tree.told() == (["asker/__init__.py:3 provider.gone"] if is_told else [])


GETTER = """
import importlib
PLACES = {{"Here": ".real", "Below": ".sub"}}
def __getattr__(name):
    {}
    raise AttributeError(name)
"""
GIVES = (
    "if name in PLACES:\n        module = importlib.import_module(PLACES[name], __name__)\n"
    "        return getattr(module, name)"
)


@pytest.mark.parametrize(
    ("body", "name", "is_told"),
    [
        (GIVES, "Gone", True),
        (GIVES, "Here", False),
        (GIVES, "real", False),
        ("if unknown(name):\n        return 1", "Gone", False),
        ("if name in unknown():\n        return 1", "Gone", False),
        ("try:\n        return unknown(name)\n    except KeyError:\n        pass", "Gone", False),
        ("from . import Gone as x\n    return x", "Gone", False),
        ("for each in unknown():\n        return each", "Gone", False),
        ("return globals()[name]", "Gone", False),
        ("if name != 'Here':\n        raise ImportError(name)", "Gone", False),
    ],
)
def test_a_getattr_of_a_module_is_followed(
    tree: Tree,
    body: str,
    name: str,
    is_told: bool,  # noqa: FBT001
) -> None:
    tree.install("asker", init=f"from provider import {name}")
    tree.install("provider", init=GETTER.format(body), real="class Here: ...")
    assert tree.told() == (["asker/__init__.py:1 provider Gone"] if is_told else [])


@pytest.mark.parametrize(
    "more",
    [
        "if unknown():\n    def __getattr__(name): return 1\n",
        "import sys\nsys.modules[__name__].__class__ = type('Lazy', (), {})\n",
        "from other import __getattr__\n",
        "__getattr__ = unknown()\n",
    ],
)
def test_a_getattr_that_may_be_another_tells_nothing(tree: Tree, more: str) -> None:
    tree.install("asker", init="from provider import Gone")
    tree.install("provider", init=GETTER.format(GIVES) + more)
    assert tree.told() == []


def test_what_a_getattr_gives_is_not_the_module_of_that_name(tree: Tree) -> None:
    getter = "def __getattr__(name):\n    return unknown(name)\n"
    tree.install("asker", init="from provider import bar\nclass Mine(bar.Gone): ...")
    tree.install("provider", init=getter, bar="")
    assert tree.told() == []
    tree.install("provider", init=GETTER.format(GIVES), bar="")
    assert tree.told() == ["asker/__init__.py:2 provider.bar Gone"]


def test_a_name_that_a_getattr_asks_in_vain_is_told_where_it_asks(tree: Tree) -> None:
    getter = "def __getattr__(name):\n    if name == 'Fine':\n        from provider import Gone\n"
    tree.install("asker", init=getter + "    raise AttributeError(name)", extra="")
    tree.install("other", init="from asker import Fine").install("provider")
    tree.install("asker", init=getter + "    raise AttributeError(name)\nfrom . import Fine")
    assert tree.told() == ["asker/__init__.py:3 provider Gone"]


LOOP = "for each in ['a', 'b']:\n    if {}:\n        {}\n    if each == 'b':\n"
LOOP += "        from provider import Gone\n"


@pytest.mark.parametrize(
    ("condition", "leaves", "is_told"),
    [
        ("each == 'a'", "continue", True),
        ("each == 'b'", "continue", False),
        ("each == 'a'", "break", False),
        ("unknown(each)", "continue", False),
        ("unknown(each)", "break", False),
        ("unknown(each)", "pass", True),
    ],
)
def test_rounds_of_a_loop_that_are_left(
    told: Told,
    condition: str,
    leaves: str,
    is_told: bool,  # noqa: FBT001
) -> None:
    assert bool(told(LOOP.format(condition, leaves))) is is_told


def test_what_follows_a_loop_that_may_be_left_surely_runs(told: Told) -> None:
    loop = "for each in ['a', 'b']:\n    if unknown():\n        break\n"
    assert told(loop + "from provider import Gone") == ["asker/__init__.py:4 provider Gone"]


VERSIONS_FILE = "import importlib.metadata\ndef require_version(requirement, hint=None): ...\n"


@pytest.mark.parametrize(
    ("requirement", "stops"),
    [
        ("provider>=2.6", True), ("provider>=2.5,<2.5.1", True), ("python<3", True),
        ("nothing>=1", False), ("nothing", False),
        ("provider>=2.5", False), ("provider", False), ("provider!=2.4", False),
        ("python>=3.8", False), ("provider~=9.0", False), ("provider>=2.*", False),
    ],
)  # fmt: skip
def test_what_an_import_requires_at_once_comes_before_a_name(
    tree: Tree,
    requirement: str,
    stops: bool,  # noqa: FBT001
) -> None:
    """The requirement is told by the rule for requirements: the name is not what stops."""
    check = f"from .utils.versions import require_version\nrequire_version('{requirement}')\n"
    tree.install("asker", init=check + "from provider import Gone", utils__versions=VERSIONS_FILE)
    tree.install("provider", "2.5.1")
    assert tree.told(python=(3, 11, 4)) == ([] if stops else ["asker/__init__.py:3 provider Gone"])


def test_another_function_of_that_name_stops_nothing(tree: Tree) -> None:
    check = "from .other import require_version\nrequire_version('provider>=9')\n"
    tree.install("asker", init=check + "from provider import Gone", other=VERSIONS_FILE)
    tree.install("provider", "2.5.1")
    assert tree.told() == ["asker/__init__.py:3 provider Gone"]


KEEPERS = """
import os
def is_on():
    return os.environ.get('SOME_VARIABLE', '1') == '1'
def is_flag(value):
    return isinstance(value, bool)
"""


@pytest.mark.parametrize(
    ("between", "condition", "is_told"),
    [
        ("pass", "provider.is_on()", True),
        ("os.environ['SOME_VARIABLE'] = '0'", "provider.is_on()", False),
        ("os.environ.update(unknown())", "provider.is_on()", False),
        ("pass", "provider.is_flag(True)", True),
        ("pass", "provider.is_flag(1)", False),
        ("pass", "provider.is_flag(unknown())", False),
    ],
)
def test_an_answer_is_used_again_while_nothing_changed(
    told: Told,
    between: str,
    condition: str,
    is_told: bool,  # noqa: FBT001
) -> None:
    before = "import os, provider\nif provider.is_on() and provider.is_flag(False):\n    pass\n"
    before += "if provider.is_flag(0):\n    from provider import Gone\n"
    asker = before + between + ASKS.format(condition)
    found = told(asker, KEEPERS)
    assert found == (["asker/__init__.py:8 provider Gone"] if is_told else [])
