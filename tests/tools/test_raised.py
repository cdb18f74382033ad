"""Which packages the sources of a library ask for where it raises."""

from __future__ import annotations

from packaging.version import Version

from tools.refresh.spans.raised import name_rows, names_in, spread

SOURCE = '''
"""pip install not-this-one"""
HELP = "run `pip install told-before`"
def load(name):
    if not there:
        raise ImportError(f"{name} needs it: `pip install -U some_kernels[cuda]>=0.3`.")
    assert found, "no " + "parser, pip3 install Parser-Two."
    raise RuntimeError(HELP)
    raise ValueError("pip install git+https://example.org/x or pip install {}".format(name))
'''


def test_names_behind_the_command() -> None:
    assert set(names_in(SOURCE)) == {"some-kernels", "parser-two", "told-before"}


def test_a_source_that_is_no_python_has_none() -> None:
    assert list(names_in("def (: pip install x")) == []


def test_rows_say_who_asks_and_whose_rule_it_is() -> None:
    had = {"b": frozenset({"timm", "triton", "b"}), "a": frozenset({"timm"})}
    assert name_rows(had) == [
        "  - {module: timm, distribution: timm, asked: a b}\n",
        "  - {module: triton, distribution: triton, rule: triton-missing, asked: b}\n",
    ]


def test_releases_are_spread_over_all() -> None:
    versions = [Version(str(number)) for number in range(9)]
    assert [str(each) for each in spread(versions)] == ["0", "2", "4", "6", "8"]
    assert spread(versions[:2]) == versions[:2]
