"""For which Python torch was installed: names of files before labels."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.targets.other_python import NAME, other_python

LINUX = "manylinux_2_28_x86_64"


def judged(*tags: str, file: str = "", tag: str = "cp314", abi: str = "") -> Fact:
    """Return the fact for torch with these wheel tags under a Python."""
    facts: dict[str, Fact] = {
        "torch.version": Known("2.8.0", "test"),
        "python.implementation": Known("cpython", "test"),
        "python.tag": Known(tag, "test"),
        "python.abi_tag": Known(abi, "test") if abi else Unknown("not read", "test"),
        "torch.wheel.tags": Known(tags, "test") if tags else Absent("no WHEEL"),
        "torch.binary.file": Known(file, "test") if file else Absent("none"),
    }
    return other_python(facts, ("torch",))[NAME]


@pytest.mark.parametrize(
    ("tags", "more", "version"),
    [
        ((f"cp313-cp313-{LINUX}",), {}, "3.13"),
        ((f"cp313-cp313-{LINUX}",), {"tag": "cp39"}, "3.13"),
        ((), {"file": "$site/torch/_C.cpython-313-x86_64-linux-gnu.so"}, "3.13"),
        ((), {"file": "$site/torch/_C.cp310-win_amd64.pyd"}, "3.10"),
        ((f"cp313-cp313t-{LINUX}",), {"tag": "cp313", "abi": "cp313"}, "3.13 without the GIL"),
        ((f"cp313-cp313-{LINUX}",), {"tag": "cp313", "abi": "cp313t"}, "3.13"),
        # somebody has renamed the wheel: the file is what the interpreter looks for
        ((f"cp314-cp314-{LINUX}",), {"file": "torch/_C.cpython-313-darwin.so"}, "3.13"),
    ],
)
def test_another_python_is_named(tags: tuple[str, ...], more: dict[str, str], version: str) -> None:
    found = judged(*tags, **more)
    assert isinstance(found, Known)
    assert found.value == version


@pytest.mark.parametrize(
    ("tags", "more"),
    [
        ((f"cp314-cp314-{LINUX}",), {}),
        ((f"cp313-cp313-{LINUX}", f"cp314-cp314-{LINUX}"), {}),
        ((f"cp39-abi3-{LINUX}",), {}),
        (("py3-none-any",), {}),
        ((), {}),
        ((f"cp313-cp313-{LINUX}",), {"file": "$site/torch/_C.so"}),
        ((f"cp313-cp313-{LINUX}",), {"file": "torch/_C.cpython-314-x86_64-linux-gnu.so"}),
        ((f"cp311-cp311-{LINUX}",), {"tag": "cp311", "abi": "cp311d"}),
        ((f"cp313-cp313t-{LINUX}",), {"tag": "cp313", "abi": "cp313t"}),
    ],
)
def test_nothing_is_said_where_it_fits_or_nobody_knows(
    tags: tuple[str, ...], more: dict[str, str]
) -> None:
    assert isinstance(judged(*tags, **more), Absent)


def test_without_torch_or_a_known_python_nothing_is_judged() -> None:
    assert other_python({"torch.version": Absent("none")}, ("torch",)) == {}
    assert other_python({"torch.version": Known("2.8.0", "test")}, ("vllm",)) == {}
    facts: dict[str, Fact] = {
        "torch.version": Known("2.8.0", "test"),
        "torch.wheel.tags": Known((f"cp313-cp313-{LINUX}",), "test"),
        "python.implementation": Known("pypy", "test"),
        "python.tag": Known("pp310", "test"),
    }
    assert isinstance(other_python(facts, ("torch",))[NAME], Absent)
