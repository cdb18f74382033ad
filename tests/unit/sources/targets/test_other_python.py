"""For which Python torch was installed: names of files before labels."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.targets.other_python import NAME, PLATFORM, other_python

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
        ((f"cp313-cp313-{LINUX}",), {"tag": "cp313", "abi": "cp313t"}, "3.13 with the GIL"),
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


@pytest.mark.parametrize(
    ("free", "expected"), [(True, "3.13 with the GIL"), (False, None), (None, None)]
)
def test_whether_there_is_a_gil_may_be_known_without_the_abi(
    free: object, expected: str | None
) -> None:
    facts: dict[str, Fact] = {
        "torch.version": Known("2.8.0", "test"),
        "torch.wheel.tags": Known((f"cp313-cp313-{LINUX}",), "test"),
        "python.implementation": Known("cpython", "test"),
        "python.tag": Known("cp313", "test"),
        "python.abi_tag": Unknown("not read", "test"),
        "python.free_threaded": Known(value=free, source="test")
        if isinstance(free, bool)
        else Unknown("not read", "test"),
    }
    found = other_python(facts, ("torch",))[NAME]
    assert (found.value if isinstance(found, Known) else None) == expected


@pytest.mark.parametrize(
    ("here", "tag", "file", "expected"),
    [
        ("linux_aarch64", LINUX, "", "linux_x86_64"),
        ("win_amd64", "manylinux2014_aarch64", "", "linux_aarch64"),
        ("linux_x86_64", "macosx_11_0_arm64", "", "macosx_arm64"),
        ("linux_aarch64", "", "_C.cpython-312-x86_64-linux-gnu.so", "linux_x86_64"),
        ("linux_x86_64", "", "_C.cp312-win_amd64.pyd", "win_amd64"),
        ("linux_x86_64", LINUX, "", None),
        ("linux_x86_64", "linux_x86_64", "", None),
        ("win_amd64", "win_amd64", "", None),
        ("macosx_arm64", "macosx_14_0_arm64", "", None),
        ("linux_aarch64", LINUX, "_C.so", None),
        ("linux_aarch64", "any", "", None),
        ("linux_ppc64le", LINUX, "", None),
    ],
)
def test_another_platform_is_named(here: str, tag: str, file: str, expected: str | None) -> None:
    facts: dict[str, Fact] = {
        "torch.version": Known("2.8.0", "test"),
        "host.platform": Known(here, "test"),
        "torch.wheel.tags": Known((f"cp312-cp312-{tag}",), "test") if tag else Absent("none"),
        "torch.binary.file": Known(f"$site/torch/{file}", "test") if file else Absent("none"),
    }
    found = other_python(facts, ("torch",))[PLATFORM]
    assert (found.value if isinstance(found, Known) else None) == expected
