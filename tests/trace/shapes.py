"""Programs in the shape of public repositories' code; each guilty line says ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN003, ANN201, ANN204, ANN205, N812

from __future__ import annotations

import contextlib
import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.trace.calls import BF16, F32, attend, sdpa


def autocast(**options):
    return torch.autocast("cpu", dtype=BF16, **options)


# --- a small language model that trains in a loop, with its own context of precision


class CausalSelfAttention(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.c_proj = nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.size()
        q, k, v = self.c_attn(x).split(width, dim=2)
        q, k, v = (each.view(batch, length, 4, width // 4) for each in (q, k, v))
        y = attend(q, k, v)
        return self.c_proj(y.contiguous().view(batch, length, width))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(64, 32), nn.Embedding(16, 32)
        self.ln, self.attn = nn.LayerNorm(32), CausalSelfAttention()

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))  # guilty: outside_context
        return x + self.attn(self.ln(x))


IDX = torch.arange(6)[None]


def evaluated_outside_context():
    """The training step has its context, the estimate of the loss has none."""
    net, ctx = Small(), autocast()
    with ctx:
        net(IDX).float().sum().backward()
    with torch.no_grad():
        net(IDX)


def well_trained_in_context():
    net = Small()
    for _ in range(2):
        with autocast():
            loss = net(IDX).float().sum()
        loss.backward()


# --- attention with normed and scaled queries and a memory


class MemoryAttention(nn.Module):
    def __init__(self, memories=2):
        super().__init__()
        self.to_q, self.to_kv = nn.Linear(32, 32, bias=False), nn.Linear(32, 64, bias=False)
        self.mem_k = nn.Parameter(torch.randn(1, memories, 4, 8))
        self.mem_v = nn.Parameter(torch.randn(1, memories, 4, 8))

    def forward(self, x):
        q = self.to_q(x).unflatten(-1, (4, 8))
        k, v = (each.unflatten(-1, (4, 8)) for each in self.to_kv(x).chunk(2, -1))
        mem_k, mem_v = (each.expand(x.shape[0], -1, -1, -1) for each in (self.mem_k, self.mem_v))
        k = torch.cat((mem_k, k), 1)  # guilty: memory_kept_wide
        v = torch.cat((mem_v, v), 1)  # guilty: memory_kept_wide
        return attend(q, k, v)


def memory_kept_wide():
    net = MemoryAttention()
    for part in (net.to_q, net.to_kv):
        part.to(BF16)
    net(torch.randn(1, 6, 32, dtype=BF16))


def well_memory_in_half():
    MemoryAttention().to(BF16)(torch.randn(1, 6, 32, dtype=BF16))


def l2norm(x):
    return F.normalize(x, p=2, dim=-1)


def scaled_queries():
    """A learned scale for each head, in float32, on normed queries."""
    scale = nn.Parameter(torch.ones(4, 1) * 10)
    q, k, v = (torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(3))
    q, k = map(l2norm, (q, k))
    q = q * scale.exp()  # guilty: scaled_queries
    attend(q, k, v)


# --- image models: windows, tables of relative positions, a rotary embedding for patches


class PatchRotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bands", torch.linspace(1.0, 4.0, 4), persistent=False)

    def get_embed(self, length):
        angles = torch.arange(length)[:, None] * self.bands
        return torch.cat([angles.sin(), angles.cos()], -1)[None, :, None]


def rotate(x, embed):
    sin, cos = embed.chunk(2, -1)
    first, second = x[..., ::2], x[..., 1::2]
    one = first * cos - second * sin  # guilty: patches_turned
    other = first * sin + second * cos
    return torch.stack([one, other], -1).flatten(-2)


def patches_turned():
    """The class token is left as it is, and joined to what was turned."""
    q, k, v = (torch.randn(1, 7, 4, 8, dtype=BF16) for _ in range(3))
    embed = PatchRotary().get_embed(6)
    q, k = (torch.cat([x[:, :1], rotate(x[:, 1:], embed)], 1) for x in (q, k))
    attend(q, k, v)


def well_patches_turned():
    q, k, v = (torch.randn(1, 7, 4, 8, dtype=BF16) for _ in range(3))
    embed = PatchRotary().get_embed(6)
    q, k = (torch.cat([x[:, :1], rotate(x[:, 1:], embed).type_as(v)], 1) for x in (q, k))
    attend(q, k, v)


class LayerScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((32,), 0.1))

    def forward(self, x):
        return x * self.gamma  # guilty: scaled_layer


class Following(nn.Linear):
    """A projection whose weights follow the dtype of what comes."""

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype))


def scaled_layer():
    x = torch.randn(1, 6, 32, dtype=BF16)
    block, qkv = LayerScale(), Following(32, 96, bias=False, dtype=BF16)
    q, k, v = qkv(block(x)).view(1, 6, 3, 4, 8).unbind(2)
    attend(q, k, v)


# --- diffusion: processors, time embeddings, a text encoder of its own


class Processor:
    def __call__(self, attn, hidden_states, encoder_hidden_states=None):
        given = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        q, k, v = attn.to_q(hidden_states), attn.to_k(given), attn.to_v(given)
        q, k, v = (each.unflatten(-1, (4, 8)) for each in (q, k, v))
        return attend(q, k, v)


class Attention(nn.Module):
    def __init__(self, kind=nn.Linear):
        super().__init__()
        self.to_q, self.to_k, self.to_v = (kind(32, 32, bias=False, dtype=BF16) for _ in range(3))
        self.processor = Processor()

    def forward(self, hidden_states, **more):
        return self.processor(self, hidden_states, **more)


def text_in_float32():
    """The text encoder stays in float32, and the projections follow."""
    encoder = nn.Embedding(64, 32)
    text = encoder(IDX)  # guilty: text_in_float32
    Attention(Following)(torch.randn(1, 9, 32, dtype=BF16), encoder_hidden_states=text)


def well_text_cast():
    text = nn.Embedding(64, 32)(IDX).to(BF16)
    Attention()(torch.randn(1, 9, 32, dtype=BF16), encoder_hidden_states=text)


def timestep_embedding(steps, width=32):
    bands = torch.exp(-math.log(100.0) * torch.arange(width // 2) / (width // 2))
    angles = steps[:, None].float() * bands[None]
    return torch.cat([angles.cos(), angles.sin()], -1)


def time_added():
    """The embedding of the time step is added as it was computed."""
    x = torch.randn(2, 6, 32, dtype=BF16)
    x = x + timestep_embedding(torch.tensor([3, 9]))[:, None]  # guilty: time_added
    Attention(Following)(x)


# --- adapters


class LoraLinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base_layer = base
        self.lora_A = nn.ModuleDict({"default": nn.Linear(32, rank, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(rank, 32, bias=False)})
        self.scaling = alpha / rank
        self.cast_back = False

    def forward(self, x):
        result = self.base_layer(x)
        before = result.dtype
        for name in self.lora_A:
            low = self.lora_A[name](x.to(self.lora_A[name].weight.dtype))
            result = result + self.lora_B[name](low) * self.scaling  # guilty: adapter_on_value
        return result.to(before) if self.cast_back else result


def adapter_on_value():
    """Only the values have an adapter, in float32."""
    attention = Attention()
    attention.to_v = LoraLinear(attention.to_v)
    attention(torch.randn(1, 6, 32, dtype=BF16))


def well_adapter_cast_back():
    attention = Attention()
    attention.to_v = LoraLinear(attention.to_v)
    attention.to_v.cast_back = True
    attention(torch.randn(1, 6, 32, dtype=BF16))


class HandedOn(LoraLinear):
    """The dtype of the adapter's weights goes through a function, which casts."""

    def forward(self, x):
        result = self.base_layer(x)
        for name, low in self.lora_A.items():
            given = self.as_dtype(x, low.weight.dtype)
            delta = self.lora_B[name](low(given)) * self.scaling
            result = result + delta  # guilty: dtype_handed_on
        return result

    @staticmethod
    def as_dtype(x, dtype=None):
        return x if dtype is None or x.dtype == dtype else x.to(dtype=dtype)


def dtype_handed_on():
    attention = Attention()
    attention.to_q = HandedOn(attention.to_q)
    attention(torch.randn(1, 6, 32, dtype=BF16))


def prepared_norms():
    """Every norm is made float32 before a training in few bits."""
    net = nn.ModuleDict({"norm": nn.LayerNorm(32), "attention": Attention(Following)}).to(BF16)
    for name, parameter in net.named_parameters():
        if "norm" in name:
            parameter.data = parameter.data.to(F32)
    x = torch.randn(1, 6, 32, dtype=BF16)
    norm = net["norm"]
    centred = x - x.mean(-1, keepdim=True)
    x = centred * norm.weight + norm.bias  # guilty: prepared_norms
    net["attention"](x)


# --- a trainer that gives the context, and one step that leaves it


class Trainer:
    def __init__(self, net):
        self.net = net

    def forward_context(self):
        return autocast()

    def training_step(self, batch):
        with self.forward_context():
            return self.net(batch)

    def validation_step(self, batch):
        with torch.no_grad(), contextlib.nullcontext():
            return self.net(batch)


def validated_without_precision():
    trainer = Trainer(Small())
    trainer.training_step(IDX)
    trainer.validation_step(IDX)


def recomputed_by_checkpoint():
    """A recomputation of the program's own, after the context has ended."""
    net = Small()
    with torch.no_grad(), autocast():
        net(IDX)
    net(IDX).sum().backward()


# --- fine-tuning recipes: a cache, rotary embeddings, a norm in float32


class KVCache(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        k = torch.zeros(1, 16, 4, 8, dtype=dtype)  # guilty: generated_from_cache
        v = torch.zeros(1, 16, 4, 8, dtype=dtype)  # guilty: generated_from_cache
        self.register_buffer("k_cache", k, persistent=False)
        self.register_buffer("v_cache", v, persistent=False)
        self.size = 0

    def update(self, k, v):
        end = self.size + k.shape[1]
        self.k_cache[:, self.size : end] = k
        self.v_cache[:, self.size : end] = v
        self.size = end
        return self.k_cache[:, :end], self.v_cache[:, :end]


def generated_from_cache(dtype=F32):
    cache, attention = KVCache(dtype), Attention()
    for length in (4, 1):
        x = torch.randn(1, length, 32, dtype=BF16)
        q, k, v = (part(x).unflatten(-1, (4, 8))
                   for part in (attention.to_q, attention.to_k, attention.to_v))  # fmt: skip
        attend(q, *cache.update(k, v))


def well_generated_from_cache():
    generated_from_cache(BF16)


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return normed.type_as(x) * self.scale  # guilty: normed_heads


def normed_heads():
    q, k, v = (torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(3))
    norm = RMSNorm(8)
    attend(norm(q), norm(k), v)


# --- an engine in the process: a table of angles, packed projections, a sampler


class RotaryOfEngine(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        angles = torch.outer(torch.arange(32).float(), torch.linspace(1.0, 0.1, 4))
        table = torch.cat((angles.cos(), angles.sin()), -1).to(dtype)
        self.register_buffer("cos_sin_cache", table, persistent=False)

    def forward(self, positions, q, k):
        cos, sin = self.cos_sin_cache.index_select(0, positions).chunk(2, -1)
        return self.turn(q, cos, sin), self.turn(k, cos, sin)

    @staticmethod
    def turn(x, cos, sin):
        first, second = x.chunk(2, -1)
        cos, sin = cos[:, None], sin[:, None]
        one = first * cos - second * sin  # guilty: engine_turned
        return torch.cat((one, second * cos + first * sin), -1)


def engine_turned(dtype=F32):
    qkv = nn.Linear(32, 96, bias=False, dtype=BF16)
    q, k, v = qkv(torch.randn(6, 32, dtype=BF16)).view(6, 3, 4, 8).unbind(1)
    q, k = RotaryOfEngine(dtype)(torch.arange(6), q, k)
    sdpa(q[None], k[None], v[None])


def well_engine_turned():
    engine_turned(BF16)


def gate(x, weight):
    return torch.sigmoid(x.float()) * weight


def gated_by_compiled():
    """A gate that is compiled, whose weight is float32."""
    compiled = torch.compile(gate, backend="eager")
    q, k, v = (torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(3))
    q = q + compiled(q, torch.ones(8))  # guilty: gated_by_compiled
    attend(q, k, v)


class Squashed(nn.Module):
    """A gate of a parameter in float32, which a function bounds first."""

    def __init__(self):
        super().__init__()
        self.openness = nn.Parameter(torch.zeros(4, 8))

    def forward(self, v):
        return v * torch.sigmoid(self.openness * 2.0)  # guilty: squashed_by_compiled


def squashed_by_compiled():
    q, k, v = (torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(3))
    attend(q, k, torch.compile(Squashed(), backend="eager")(v))


class Averaged(nn.Module):
    """A copy of a model whose weights are averaged in float32; it takes what the model takes."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv1d(12, 32, 2, stride=2)
        self.qkv = nn.Linear(32, 96)

    @property
    def dtype(self):
        return self.patches.weight.dtype

    def forward(self, pixels):
        given = pixels.to(self.dtype)
        x = self.patches(given).transpose(1, 2)  # guilty: averaged_copy
        q, k, v = (each.unflatten(-1, (4, 8)) for each in self.qkv(x).chunk(3, -1))
        return attend(q, k, v)


def averaged_copy():
    Averaged()(torch.randn(1, 12, 8, dtype=BF16))


def well_averaged_copy_in_half():
    Averaged().to(BF16)(torch.randn(1, 12, 8))


def prompt_on_meta():
    """Learned prompt tokens that were never given values."""
    with torch.device("meta"):
        prompt = nn.Parameter(torch.empty(1, 2, 4, 8, dtype=BF16))
    q, k, v = (torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(3))
    v = prompt * 1.0  # guilty: prompt_on_meta
    attend(q, k, v)


# --- an image tower whose blocks use the attention module of torch; a table that is made to fit


class Tower(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 2, stride=2, dtype=dtype)
        self.attn = nn.MultiheadAttention(32, 4, batch_first=True, dtype=dtype)

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)  # guilty: tower_in_float32
        return x + self.attn(x, x, x, need_weights=False)[0]


def tower_in_float32():
    """Attention of torch projects and attends in one function of its own."""
    Tower()(torch.randn(1, 3, 8, 8))


def well_tower_in_half():
    Tower(BF16)(torch.randn(1, 3, 8, 8, dtype=BF16))


class Resampled(nn.Module):
    """A table of positions in float32 that is resampled to the size of the image."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(1, 9, 32))

    def forward(self, x):
        grid = self.table.reshape(1, 3, 3, 32).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(4, 4), mode="bicubic")
        positions = grid.permute(0, 2, 3, 1).reshape(1, 16, 32)
        return x + positions  # guilty: positions_resampled


def positions_resampled():
    x = Resampled()(torch.randn(1, 16, 32, dtype=BF16))
    attend(*Following(32, 96, bias=False, dtype=BF16)(x).view(1, 16, 3, 4, 8).unbind(2))
