"""Which build is taken; tools/compare_choice.py asks the released packages the same."""

from __future__ import annotations

from fadoctor.sources.hub.choice import Habits, System, choose
from fadoctor.sources.hub.variant import Variant, parse_variant

LINUX = System(torch=(2, 13), backend="cuda", backend_version=(13, 0), cxx11_abi=True)
NEW = Habits(by_name=False)
BEFORE_STABLE_ABI = Habits(by_name=False, stable_abi=False)
BY_NAME = Habits(by_name=True, stable_abi=False)


def builds(*names: str) -> list[Variant]:
    found = [variant for name in names if (variant := parse_variant(name))]
    assert len(found) == len(names)
    return found


def best(habits: Habits, system: System, *names: str) -> str:
    found = choose(builds(*names), habits, system).best
    return found.name if found else ""


STABLE = "torch-stable-abi210-cu130-x86_64-linux"
EXACT = "torch213-cxx11-cu130-x86_64-linux"
OLDER_CUDA = "torch213-cxx11-cu128-x86_64-linux"
PYTHON = "torch-cuda"


def test_the_stable_abi_comes_first_where_it_is_known() -> None:
    assert best(NEW, LINUX, EXACT, STABLE, PYTHON) == STABLE
    assert best(BEFORE_STABLE_ABI, LINUX, EXACT, STABLE, PYTHON) == EXACT
    assert best(BY_NAME, LINUX, STABLE, PYTHON) == PYTHON


def test_an_older_cuda_of_the_same_major_serves_where_no_name_is_wanted() -> None:
    older = "torch213-cxx11-cu129-x86_64-linux"
    cuda_12 = System(torch=(2, 13), backend="cuda", backend_version=(12, 9), cxx11_abi=True)
    assert best(NEW, cuda_12, OLDER_CUDA) == OLDER_CUDA
    assert best(NEW, cuda_12, OLDER_CUDA, older) == older
    assert best(BY_NAME, cuda_12, OLDER_CUDA) == ""
    assert best(NEW, LINUX, OLDER_CUDA) == ""


def test_what_is_refused_is_said() -> None:
    names = (OLDER_CUDA, "torch212-cxx11-cu130-x86_64-linux", "torch213-cxx11-cu130-aarch64-linux")
    choice = choose(builds(*names, "torch-stable-abi214-cu130-x86_64-linux"), NEW, LINUX)
    assert choice.best is None
    assert list(choice.refused.values()) == [
        "for cuda 12.8, not 13.0",
        "for torch 2.12, not 2.13",
        "for aarch64, not x86_64",
        "for torch 2.14 or newer, not 2.13",
    ]


def test_a_python_without_the_gil_takes_nothing_that_is_compiled() -> None:
    free = System(
        torch=(2, 13), backend="cuda", backend_version=(13, 0), cxx11_abi=True, free_threaded=True
    )
    assert best(NEW, free, EXACT, STABLE, PYTHON) == PYTHON
    assert best(BEFORE_STABLE_ABI, free, EXACT) == EXACT


def test_off_linux_a_name_with_an_abi_is_not_taken() -> None:
    windows = System(
        torch=(2, 13), backend="cuda", backend_version=(13, 0), machine="x86_64", system="windows"
    )
    plain = "torch213-cu130-x86_64-windows"
    assert best(NEW, windows, plain, "torch213-cxx11-cu130-x86_64-windows") == plain
    early = Habits(by_name=True, stable_abi=False, everywhere=False)
    assert best(early, windows, plain) == ""
