"""Shapes of the cases of attention, which keys a query sees there, and what a shape costs.

Part of a worker under the target's interpreter: stdlib and torch only, Python 3.8 syntax.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple

from _fadoctor_numbers import LackingError


class Shape(NamedTuple):
    """One case: 320 is several tiles and a ragged last one, yet quick on a CPU."""

    batch: int = 2
    heads: int = 2
    kv_heads: int = 2
    seqlen: int = 320
    head_dim: int = 64
    causal: bool = False
    lengths: Tuple[int, ...] = ()
    """Sequences that are packed into the one of the batch."""
    cached: Tuple[int, ...] = ()
    """Filled length of each cache, for one new token each."""
    inputs: Tuple[str, ...] = ()
    """Dtypes of q, k and v where they are not the cell's: a trap."""
    autocast: bool = False
    rows: Tuple[int, ...] = ()
    """Queries that are compared, and alone have an upstream gradient; empty: all."""
    queries: int = 0
    """Queries, the last of the sequence; 0: as many as keys."""
    magnitude: float = 1.0
    """What q and k are multiplied by: large logits make the softmax steep."""
    masked: bool = False
    """Whether a mask hides keys of each sequence but the first, as padding on both sides does."""
    window: int = 0
    """Keys that a query sees, itself the last of them; 0: all."""
    softcap: float = 0.0
    """Logits are bounded to this by tanh; 0: they are not."""
    sinks: bool = False
    """Whether each head has a sink: a logit without a value."""


LONG = 4160
FAR = (*range(0, LONG, 331), LONG - 1)
"""The long sequence, and its queries that are compared."""

PLAIN_LONG = 2112
PLAIN_FAR = (*range(0, PLAIN_LONG, 331), PLAIN_LONG - 1)
"""The same for torch's plain formula on a CPU, which writes all scores: a quarter of the time."""

SHAPES = {
    "full": Shape(head_dim=128),
    "causal": Shape(causal=True),
    "gqa": Shape(batch=1, heads=4, causal=True),
    "long": Shape(batch=1, heads=1, kv_heads=1, seqlen=LONG, causal=True, rows=FAR),
    "hdim128": Shape(head_dim=128, causal=True),
    "hdim256": Shape(batch=1, seqlen=160, head_dim=256, causal=True),
    "varlen": Shape(batch=1, seqlen=320, causal=True, lengths=(130, 1, 189)),
    "kvcache": Shape(batch=3, heads=8, kv_heads=2, seqlen=256, cached=(130, 1, 255)),
    "hdim96": Shape(batch=3, heads=3, kv_heads=3, seqlen=130, head_dim=96, causal=True),
    "short-q": Shape(batch=1, seqlen=192, queries=65),
    "masked": Shape(seqlen=160, masked=True),
    "large": Shape(batch=1, seqlen=160, causal=True, magnitude=2.0),
    "like": Shape(batch=1, seqlen=320, causal=True),
    "like-decode": Shape(batch=2, seqlen=320, queries=1),
    "mixed": Shape(causal=True, inputs=("", "fp32", "fp32")),
    "mixed-autocast": Shape(causal=True, inputs=("", "fp32", "fp32"), autocast=True),
    "fp32-autocast": Shape(causal=True, inputs=("fp32", "fp32", "fp32"), autocast=True),
}
"""Case -> shape."""

HIDDEN_KEYS, HIDDEN_FIRST = 37, 5
"""Keys at the end, and at the beginning, of a sequence that a mask hides."""

LIKE_HEADS, LIKE_WINDOW = 16, 128
"""Most query heads and the widest window of a model's shape: the rest is the same once more."""


def shape_of(trace: Any) -> Shape:
    """Return the shape of a cell's case; that of a model is told in the request."""
    shape = SHAPES[trace.cell["case"]]
    if shape.rows and trace.device == "cpu" and trace.cell["backend"] == "sdpa-math":
        return shape._replace(seqlen=PLAIN_LONG, rows=PLAIN_FAR)
    if not trace.cell["case"].startswith("like") or not trace.like:
        return shape
    told = trace.like
    groups = told["heads"] // told["kv_heads"]
    kv_heads = min(told["kv_heads"], max(LIKE_HEADS // groups, 1))
    window = min(told.get("window", 0), LIKE_WINDOW)
    if window and window != told["window"]:
        trace.note("a window of %d was used instead of %d" % (window, told["window"]))
    if told.get("value_dim"):
        sizes = (told["value_dim"], told["head_dim"])
        trace.note("values of %d were padded to %d, as frameworks do for FlashAttention" % sizes)
    return shape._replace(
        heads=groups * kv_heads,
        kv_heads=kv_heads,
        head_dim=told["head_dim"],
        window=window,
        softcap=told.get("softcap", 0.0),
        sinks=bool(told.get("sinks")),
        causal=bool(told.get("causal", True)) and not shape.queries,
    )


def visible(torch: Any, shape: Shape) -> Any:
    """Return which keys a query sees; None where it sees all.

    (queries, keys), or (batch, 1, 1, keys) where a mask hides some of each sequence. Where a shape
    names queries, those alone.
    """
    if shape.masked:
        seen = torch.ones(shape.batch, 1, 1, shape.seqlen, dtype=torch.bool)
        seen[1:, :, :, -HIDDEN_KEYS:] = False
        seen[1:, :, :, :HIDDEN_FIRST] = False
        return seen
    if not shape.causal and not shape.lengths and not shape.window:
        return None
    queries = shape.queries or shape.seqlen
    at = torch.arange(shape.seqlen - queries, shape.seqlen)
    at = at[list(shape.rows)] if shape.rows else at
    keys = torch.arange(shape.seqlen)[None, :]
    seen = (keys <= at[:, None]) | torch.tensor(not shape.causal and not shape.window)
    if shape.window:
        seen = seen & (keys > at[:, None] - shape.window)
    if shape.lengths:
        owner = torch.repeat_interleave(
            torch.arange(len(shape.lengths)), torch.tensor(shape.lengths)
        )
        seen = seen & (owner[at][:, None] == owner[None, :])
    return seen


def sinks_of(torch: Any, shape: Shape) -> Any:
    """Return the logit of each head's sink, in float64; None where a shape has none."""
    if not shape.sinks:
        return None
    return torch.linspace(-1.0, 2.0, shape.heads, dtype=torch.float64)


def tell_options(trace: Any, shape: Shape) -> None:
    """Note what a shape has that the usual cases have not: the other side looks for these words."""
    is_like = trace.cell["case"] == "like"
    options = {
        "with a sliding window": shape.window,
        "with a softcap": shape.softcap,
        "with grouped heads": is_like and shape.heads != shape.kv_heads,
        "with sinks": shape.sinks,
        "with an odd head dimension": shape.head_dim % 32,
        "with an odd number of heads": is_like and shape.heads & (shape.heads - 1),
    }
    for text, value in options.items():
        if value:
            trace.note(text)


def lacks(shape: Shape, *can: str) -> None:
    """Raise LackingError where a shape asks for more than a function can be told."""
    wanted = {
        "a mask": shape.masked,
        "a sliding window": shape.window,
        "a softcap": shape.softcap,
        "sinks": shape.sinks,
    }
    missing = [name for name, value in wanted.items() if value and name not in can]
    if missing:
        raise LackingError("it cannot be told of %s here" % " and ".join(missing))


def flop(shape: Shape) -> float:
    """Return the floating-point operations of a forward: two products of (query, key) pairs."""
    lengths = shape.lengths or (shape.seqlen,) * shape.batch
    pairs = sum(n * (n + 1) / 2 if shape.causal else n * n for n in lengths)
    return 4.0 * pairs * shape.heads * shape.head_dim
