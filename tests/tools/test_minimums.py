"""What transformers asks of others where a part of it is used."""

from __future__ import annotations

from packaging.version import Version

from tools.refresh.spans.minimums import annotated_in, minimum_rows, raised_in

_ANNOTATED = """
if is_accelerate_available():
    from accelerate import Always

if is_accelerate_available("1.5.0"):
    from accelerate.plans import Plan, Unused

if is_accelerate_available("1.6.0"):
    from accelerate.plans import Bound
else:
    Bound = object

class Arguments:
    always: Always = None
    plan: Optional["Plan"] = None
    bound: Bound = None
"""


_LOOKING = """
def is_fast_things_available():
    if find_spec("fast_things") is not None:
        OLDEST_FAST = parse("2.1.0")
        NEEDED_OTHER = parse("1.5")
        found_fast = parse(metadata.version("fast_things"))
        if OLDEST_FAST <= found_fast:
            found_other = parse(metadata.version("other"))
            if NEEDED_OTHER <= found_other:
                return True
            raise ImportError("too old")
        raise ImportError("too old")

def is_slow_available():
    OLDEST_SLOW = parse("9.0")
    found_slow = parse(metadata.version("slow"))
    return found_slow >= OLDEST_SLOW
"""


def test_what_a_function_compares_before_it_raises_is_a_minimum() -> None:
    assert raised_in(_LOOKING) == {
        ("fast-things", "2.1.0", ""),
        ("other", "1.5", "fast-things"),
    }


def test_a_name_in_an_annotation_that_only_new_releases_have_is_a_minimum() -> None:
    assert annotated_in(_ANNOTATED) == {("accelerate", "1.5.0", "trl")}


def test_a_row_reaches_from_the_first_release_to_the_one_that_asks_for_another() -> None:
    had = {
        Version("4.1"): frozenset({("peft", "0.5", "")}),
        Version("4.2"): frozenset({("peft", "0.5", "")}),
        Version("4.3"): frozenset({("peft", "0.6", "")}),
        Version("4.4"): frozenset({("peft", "0.9", "")}),
    }
    assert minimum_rows("transformers", had, {"peft": Version("0.8")}) == [
        '  - {package: transformers, version: ">=4.1,<4.3", needs: peft, least: 0.5}\n',
        '  - {package: transformers, version: ">=4.3,<4.4", needs: peft, least: 0.6}\n',
    ]
