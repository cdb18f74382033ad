"""What ``smoke --like`` reads of a model's configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fadoctor.model.errors import UsageError
from fadoctor.model.smoke_catalogue import LIKE, TRIED, entry_of, untried
from fadoctor.model.verdict import Backend
from fadoctor.proof.smoke.child import __file__ as child
from fadoctor.proof.smoke.choice import CellsRequest, _hindrance, _keys
from fadoctor.proof.smoke.like import Like, like_of, read_like

SINKS = frozenset({"gpt_oss"})
CHILD = Path(child).parent


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096},
            Like(32, 8, 128),
        ),
        ({"n_head": 12, "n_embd": 768}, Like(12, 12, 64)),
        # Saved without what is the default of the class.
        (
            {"model_type": "gemma3", "text_config": {
                "model_type": "gemma3_text", "hidden_size": 3840, "num_attention_heads": 16,
                "num_key_value_heads": 8, "sliding_window": 1024}},
            Like(16, 8, 256, window=1024),
        ),
        ({"text_config": {"model_type": "gemma3_text"}}, Like(8, 4, 256)),
        ({"text_config": {"model_type": "llama", "vocab_size": 32064}}, Like(32, 32, 128)),
        ({"model_type": "glm", "head_dim": None, "hidden_size": 64, "n_heads": 4}, Like(4, 2, 16)),
        ({"n_head": 71, "hidden_size": 4544, "multi_query": True}, Like(71, 1, 64)),
        (
            {
                "model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
                "text_config": {
                    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                    "hidden_size": 2560, "sliding_window": 1024, "attn_logit_softcapping": None,
                },
            },
            Like(8, 4, 256, window=1024),
        ),
        (
            {"num_attention_heads": 8, "head_dim": 256, "attn_logit_softcapping": 50.0},
            Like(8, 8, 256, softcap=50.0),
        ),
        (
            {"num_attention_heads": 28, "num_key_value_heads": 4, "hidden_size": 3584,
             "sliding_window": 131072, "use_sliding_window": False},
            Like(28, 4, 128),
        ),
        (
            {"num_attention_heads": 8, "head_dim": 64, "sliding_window": 128,
             "layer_types": ["full_attention"]},
            Like(8, 8, 64),
        ),
        (
            {"model_type": "gpt_oss", "num_attention_heads": 64, "num_key_value_heads": 8,
             "head_dim": 64, "sliding_window": 128},
            Like(64, 8, 64, window=128, sinks=True),
        ),
        (
            {"num_attention_heads": 12, "hidden_size": 768, "architectures": ["BertForMaskedLM"]},
            Like(12, 12, 64, causal=False),
        ),
        (  # Falcon-7B names all of its heads, and has one of keys; Falcon-40B has what it names
            {"num_attention_heads": 71, "num_kv_heads": 71, "hidden_size": 4544,
             "multi_query": True, "new_decoder_architecture": False},
            Like(71, 1, 64),
        ),
        (
            {"num_attention_heads": 128, "num_kv_heads": 8, "hidden_size": 8192,
             "multi_query": True, "new_decoder_architecture": True},
            Like(128, 8, 64),
        ),
        (
            {"num_attention_heads": 128, "num_key_value_heads": 128, "hidden_size": 7168,
             "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128},
            Like(128, 128, 192, value_dim=128),
        ),
        (
            {"d_model": 1280, "decoder_attention_heads": 20, "encoder_attention_heads": 20,
             "is_encoder_decoder": True},
            Like(20, 20, 64),
        ),
        ({"d_model": 512, "d_kv": 64, "num_heads": 6, "is_encoder_decoder": True}, Like(6, 6, 64)),
        (
            {"hidden_size": 1152, "num_attention_heads": 16, "patch_size": 14},
            Like(16, 16, 72, causal=False),
        ),
        (
            {"hidden_size": 1024, "num_attention_heads": 16, "type_vocab_size": 2},
            Like(16, 16, 64, causal=False),
        ),
        (
            {"_class_name": "SD3Transformer2DModel", "attention_head_dim": 64,
             "num_attention_heads": 24},
            Like(24, 24, 64, causal=False),
        ),
        (
            {"thinker_config": {"text_config": {"hidden_size": 3584, "num_attention_heads": 28,
                                                "num_key_value_heads": 4}}},
            Like(28, 4, 128),
        ),
        ({"d_model": 6144, "n_heads": 48, "attn_config": {"kv_n_heads": 8}}, Like(48, 8, 128)),
        ({"num_heads": 80, "head_dim": 64, "state_size": 128}, None),
        ({"num_attention_heads": True, "hidden_size": 768}, None),
        ({"num_attention_heads": 10**9, "hidden_size": 768}, None),
        ({"num_attention_heads": 12, "num_key_value_heads": 5, "head_dim": 64}, None),
        ({"num_attention_heads": 12}, None),
    ],
)  # fmt: skip
def test_attention_of_a_configuration(config: dict[str, Any], expected: Like | None) -> None:
    assert like_of(config, SINKS) == expected


def test_a_folder_or_its_file_is_read(tmp_path: Path) -> None:
    config = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64}
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = read_like(tmp_path, SINKS)
    assert found == read_like(tmp_path / "config.json", SINKS) == Like(4, 2, 64)
    assert str(found) == "4 heads, 2 of keys, head dimension 64, causal"


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 10**5, '{"num_attention_heads": 4}'])
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UsageError, match="--like"):
        read_like(tmp_path, SINKS)
    with pytest.raises(UsageError, match="No such file"):
        read_like(tmp_path / "missing", SINKS)


def test_only_attention_is_tried_and_only_in_that_shape() -> None:
    wanted = CellsRequest(like=Like(4, 2, 64))
    assert {key.case for key in _keys(entry_of(Backend.FA2), wanted)} == {*LIKE}
    assert not list(_keys(entry_of(Backend.FA_ROTARY), wanted))


def installed(*backends: Backend) -> Any:
    return SimpleNamespace(installed=lambda: backends, environment=None)


@pytest.mark.parametrize(
    ("like", "left_out"),
    [
        (Like(4, 2, 64, sinks=True), False),
        (Like(4, 2, 64, softcap=50.0), False),
        (Like(4, 2, 64, window=128), True),
        (None, True),
    ],
)
def test_flex_runs_where_hardly_another_backend_can(like: Like | None, *, left_out: bool) -> None:
    entry = entry_of(Backend.FLEX)
    said = _hindrance(entry, CellsRequest(like=like), installed(Backend.FLEX), "cuda")
    assert bool(said) is left_out


@pytest.mark.long
@pytest.mark.torch
def test_a_sink_takes_its_share_as_flex_is_told(tmp_path: Path) -> None:
    """Flex has no sinks: what it adds up is scaled instead, and must equal the reference."""
    program = (
        "import sys, torch\n"
        f"sys.path.insert(0, {str(CHILD)!r})\n"
        "from _fadoctor_attention import reference\n"
        "from _fadoctor_shapes import SHAPES, sinks_of, visible\n"
        "shape = SHAPES['like']._replace(heads=4, kv_heads=2, seqlen=24, sinks=True, window=8)\n"
        "form = (1, 24, 4, 16)\n"
        "q, up = torch.randn(form), torch.randn(form)\n"
        "k, v = torch.randn(1, 24, 2, 16), torch.randn(1, 24, 2, 16)\n"
        "seen, sinks = visible(torch, shape), sinks_of(torch, shape)\n"
        "want = reference([q, k, v, up], seen, False, (), 0.0, sinks)[0]\n"
        "plain = reference([q, k, v, up], seen, False)[0]\n"
        "heads = k.double().transpose(1, 2).repeat_interleave(2, 1)\n"
        "scores = q.double().transpose(1, 2) @ heads.transpose(-2, -1) / 4\n"
        "total = scores.masked_fill(~seen, -torch.inf).logsumexp(-1)\n"
        "share = torch.sigmoid(total - sinks[:, None])[..., None].transpose(1, 2)\n"
        "assert not torch.allclose(plain, want)\n"
        "assert torch.allclose(plain * share, want)\n"
    )
    file = tmp_path / "program.py"
    file.write_text(program)
    subprocess.run([sys.executable, str(file)], check=True, timeout=120)


@pytest.mark.torch
@pytest.mark.parametrize("softcap", [0.0, 4.0])
@pytest.mark.parametrize("with_sinks", [False, True])
def test_gradients_of_the_reference_are_those_of_autograd(
    monkeypatch: pytest.MonkeyPatch, softcap: float, *, with_sinks: bool
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(CHILD)
    import _fadoctor_attention as attention  # noqa: PLC0415

    sinks = torch.linspace(-1.0, 2.0, 4).double() if with_sinks else None
    forms = [(2, 9, heads, 8) for heads in (4, 2, 2, 4)]
    q, k, v, up = (torch.randn(form).double().requires_grad_() for form in forms)
    seen = torch.ones(9, 9, dtype=torch.bool).tril(2)
    heads = [each.transpose(1, 2).repeat_interleave(2, 1) for each in (k, v)]
    scores = q.transpose(1, 2) @ heads[0].transpose(-2, -1) / 8**0.5
    scores = softcap * (scores / softcap).tanh() if softcap else scores
    weights = scores.masked_fill(~seen, -torch.inf).exp()
    more = 0.0 if sinks is None else sinks[:, None, None].exp()
    out = (weights / (weights.sum(-1, keepdim=True) + more) @ heads[1]).transpose(1, 2)
    want = [out, *torch.autograd.grad((out * up).sum(), (q, k, v))]
    given = [each.detach() for each in (q, k, v, up)]
    found = attention.reference(given, seen, softcap=softcap, sinks=sinks)
    assert all(torch.allclose(*pair) for pair in zip(found, want, strict=True))


def test_the_plain_formula_writes_fewer_scores_of_a_long_sequence_on_a_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(CHILD)
    import _fadoctor_shapes as shapes  # noqa: PLC0415

    def of(backend: str, device: str) -> int:
        cell = {"case": "long", "backend": backend}
        return int(shapes.shape_of(SimpleNamespace(cell=cell, device=device, like={})).seqlen)

    assert of("sdpa-flash", "cpu") == of("sdpa-math", "cuda:0") == shapes.LONG
    assert 2048 < of("sdpa-math", "cpu") < shapes.LONG / 1.9


def test_values_of_another_dimension_are_said_to_be_padded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(CHILD)
    import _fadoctor_shapes as shapes  # noqa: PLC0415

    notes: list[str] = []
    like = {"heads": 128, "kv_heads": 128, "head_dim": 192, "value_dim": 128}
    trace = SimpleNamespace(cell={"case": "like"}, like=like, note=notes.append)
    assert shapes.shape_of(trace).head_dim == 192
    assert notes == ["values of 128 were padded to 192, as frameworks do for FlashAttention"]


def test_what_no_cell_tried_is_told() -> None:
    assert untried(set()) == tuple(TRIED)
    left = untried({"gqa", "hdim96", "with a softcap"})
    assert "grouped heads" not in left
    assert "softcaps" not in left
    assert {"masks", "sinks", "sliding windows"} <= set(left)


@pytest.mark.parametrize(
    ("told", "notes"),
    [
        ({"heads": 16, "kv_heads": 16, "head_dim": 72}, ["with an odd head dimension"]),
        ({"heads": 12, "kv_heads": 12, "head_dim": 64}, ["with an odd number of heads"]),
        ({"heads": 8, "kv_heads": 8, "head_dim": 128}, []),
    ],
)
def test_a_model_tries_what_the_usual_cases_have_not(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, int], notes: list[str]
) -> None:
    monkeypatch.syspath_prepend(CHILD)
    import _fadoctor_shapes as shapes  # noqa: PLC0415

    said: list[str] = []
    trace = SimpleNamespace(cell={"case": "like"}, like=told, note=said.append)
    shapes.tell_options(trace, shapes.shape_of(trace))
    assert said == notes
    assert len(untried({"hdim96", *said})) == len(untried({"hdim96"})) - (72 in told.values())
