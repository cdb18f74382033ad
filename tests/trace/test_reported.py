"""Scenarios of public reports and of habits: one statement is named, or nobody."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from fadoctor import api  # noqa: E402
from tests.trace import reported, standin  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.trace import TracedProcess

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::UserWarning")]

LINES = Path(reported.__file__).read_text(encoding="utf-8").splitlines()

GUILTY = {
    # name: letters, kind, what it is because of
    "adapter_for_images": ("kv", "float32-from-start", "weight: float32"),
    "batched": ("k", "cast", ""),
    "cache_of_default_dtype": ("kv", "float32-from-start", ""),
    "cast_of_data": ("k", "cast", ""),
    "complex_rope": ("q", "cast", ""),
    "default_dtype_changed": ("k", "promotion", "float64"),
    "dequantized": ("k", "promotion", "scale: float32"),
    "flexible": ("k", "cast", ""),
    "from_numpy": ("k", "promotion", "table: float64"),
    "given_out": ("q", "float32-from-start", ""),
    "gradients_asked_for": ("k", "cast", ""),
    "half_cast": ("k", "cast", ""),
    "hooked": ("k", "cast", ""),
    "injected": ("k", "cast", ""),
    "kernel_of_the_hub": ("k", "cast", ""),
    "island": ("q", "cast", ""),
    "largest_of_one": ("k", "promotion", "float32"),
    "like_another": ("k", "cast", ""),
    "loaded": ("k", "float32-from-start", ""),
    "long_chain": ("v", "promotion", "float32"),
    "modulated": ("q", "promotion", "scale: float32"),
    "numpy_alone": ("k", "float32-from-start", "float64"),
    "one_element": ("q", "promotion", "float32"),
    "other_half": ("k", "other", "float16"),
    "packed_rotary": ("qkv", "promotion", "cos: float32"),
    "scale_of_a_class": ("k", "promotion", "scale: float32"),
    "several_lines": ("k", "cast", ""),
    "sorted_keys": ("k", "cast", ""),
    "wide_weight": ("q", "promotion", "variance: float32"),
}


@pytest.fixture(autouse=True)
def _flash_attn() -> Iterator[None]:
    yield from standin.installed()


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand for the package that loads kernels of the Hub."""

    def get_kernel(_repo_id: str, version: int | None = None) -> ModuleType:
        module = ModuleType(f"_kernel_{version}")
        vars(module)["flash_attn_func"] = lambda q, k, v: q  # noqa: ARG005 -- as the real one
        return module

    package = ModuleType("kernels")
    vars(package)["get_kernel"] = get_kernel
    monkeypatch.setitem(sys.modules, "kernels", package)


def traced(name: str) -> TracedProcess:
    torch.manual_seed(0)
    with api.trace() as trace, suppress(RuntimeError):
        getattr(reported, name)()
    (process,) = trace.document().processes
    assert process.faults == ()
    assert process.calls
    return process


def test_each_scenario_is_labelled() -> None:
    marked = {line.rpartition("# guilty: ")[2] for line in LINES if "  # guilty: " in line}
    assert marked == set(GUILTY)


SLOW = ("flexible",)


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[pytest.mark.long] if x in SLOW else []) for x in sorted(GUILTY)],
)
def test_the_statement_is_named(name: str) -> None:
    letters, kind, because = GUILTY[name]
    (line,) = (at for at, text in enumerate(LINES, 1) if text.endswith(f"# guilty: {name}"))
    call = next(call for call in traced(name).calls if call.culprits)
    assert "".join(call.culprits) == letters
    culprit = call.culprits[letters[0]]
    assert (culprit.kind, culprit.line) == (kind, line)
    assert because in culprit.because


@pytest.mark.parametrize("name", sorted(name for name in vars(reported) if name[:5] == "well_"))
def test_silence_where_all_is_well(name: str) -> None:
    assert [call.culprits for call in traced(name).calls if call.culprits] == []


def test_a_kernel_of_the_hub_has_its_own_backend() -> None:
    (call,) = traced("kernel_of_the_hub").calls
    assert (call.entry, call.backend) == ("kernels.flash_attn3.flash_attn_func", "hub-fa3")
