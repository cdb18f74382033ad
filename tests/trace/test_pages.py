"""What a page, a notebook and a test show of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from fadoctor import api  # noqa: E402
from fadoctor.model.verdict import Backend  # noqa: E402
from fadoctor.proof.trace.fixture import traced_test  # noqa: E402
from fadoctor.report.html.trace import render  # noqa: E402
from tests.trace import calls, standin  # noqa: E402
from tests.unit.report.html.test_page import read  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.proof.trace.inside import Trace

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(autouse=True)
def _flash_attn() -> Iterator[None]:
    yield from standin.installed()


@pytest.fixture
def attention_trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    yield from traced_test(request)


def attended() -> None:
    torch.nn.functional.scaled_dot_product_attention(*(torch.ones(1, 2, 3, 8),) * 3)


def refused() -> Trace:
    q, k, v = calls.heads()  # type: ignore[no-untyped-call]
    with api.trace() as trace:
        k = k * torch.ones(8)  # <script>alert("&")</script>
        with pytest.raises(RuntimeError):
            calls.attend(q, k, v)  # type: ignore[no-untyped-call]
    return trace


def test_a_page_loads_nothing_and_shows_the_source_as_text() -> None:
    page = render(refused().document())
    assert read(page).count("script") == 1
    assert "# &lt;script&gt;alert(&quot;&amp;&quot;)" in page
    assert "k: promoted at " in page
    assert "<h2>What is wrong</h2>" in page


def test_a_notebook_shows_the_same() -> None:
    trace = refused()
    shown = trace._repr_html_()
    assert "script" not in read(shown)
    assert shown.removeprefix("<div>").removesuffix("</div>") in render(trace.document())


def test_a_page_without_a_call_says_so() -> None:
    with api.trace() as trace:
        pass
    assert "? No attention call was seen." in render(trace.document())


def test_what_is_well_is_no_finding() -> None:
    with api.trace() as trace:
        attended()
    page = render(trace.document())
    assert "✓ No code widened a tensor" in page
    assert "What is wrong" not in page


def test_a_test_that_asks_for_it(attention_trace: Trace) -> None:
    attended()
    (process,) = attention_trace.document().processes
    assert [call.times for call in process.calls] == [1]


def test_a_test_that_fails_says_what_ran(request: pytest.FixtureRequest) -> None:
    given = traced_test(request)
    next(given)
    attended()
    assert next(given, None) is None
    (said,) = (text for _, name, text in request.node._report_sections if name == "fadoctor trace")
    assert "ran sdpa-flash in fp32" in " ".join(said.split())


def test_backends_have_the_names_of_the_verdicts() -> None:
    named = {backend.value for backend in Backend} | {"eager", "unknown"}
    with api.trace() as trace:
        attended()
        torch.vmap(lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x))(
            torch.ones(2, 1, 1, 3, 8)
        )
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            attended()
    (process,) = trace.document().processes
    assert len(process.calls) == 3
    assert {call.backend for call in process.calls} <= named


def test_a_function_that_was_imported_by_name_before_the_block_is_seen() -> None:
    with api.trace() as trace:
        held(*(torch.ones(1, 2, 3, 8),) * 3)
    assert len(trace.document().processes[0].calls) == 1
    assert held is torch.nn.functional.scaled_dot_product_attention


held = torch.nn.functional.scaled_dot_product_attention
