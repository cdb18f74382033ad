"""Let packages of attention answer as they do on a GPU: signatures, tuples, layouts, refusals.

For a process of its own, beside `gpu_standin`. The parameters are those of flash-attn 2.8.3
(flash_attn_interface.py, hopper and cute of the same release) and of xformers 0.0.35 (ops/fmha), as
far as the scripts pass them by name; `tools.signatures` holds the scripts against releases. What
flash-attn refuses is in its words (flash_api.cpp). For vLLM's fork, sageattention and the other
refusals the words are ours. Values are those of the CPU.
"""

# ruff: noqa: ARG002, FBT001, FBT002, PLR0917 -- the signatures are theirs

from __future__ import annotations

import importlib
import itertools
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

HALVES = ("torch.float16", "torch.bfloat16")
AMPERE, DTYPES = (8, 0), "FlashAttention only support fp16 and bf16 data type"
FEW = {(7, 0), (7, 5)}


def install(torch: Any, capability: tuple[int, int]) -> None:
    """Put the packages into this process."""
    packages = Packages(torch, capability)
    modules: dict[str, dict[str, Any]] = {
        "flash_attn": {
            "__file__": "/site/flash_attn/__init__.py",
            "flash_attn_func": packages.flash_attn_func,
            "flash_attn_varlen_func": packages.flash_attn_varlen_func,
            "flash_attn_with_kvcache": packages.flash_attn_with_kvcache,
        },
        "flash_attn_interface": {
            "flash_attn_func": packages.hopper_func,
            "flash_attn_varlen_func": packages.hopper_varlen_func,
        },
        "flash_attn.cute": {"flash_attn_func": packages.cute_func},
        "xformers": {},
        "xformers.ops": {
            "LowerTriangularMask": LowerTriangularMask,
            "memory_efficient_attention": packages.memory_efficient_attention,
        },
        "vllm": {},
        "vllm.vllm_flash_attn": {"flash_attn_varlen_func": packages.vllm_varlen_func},
        "kernels": {"get_kernel": packages.get_kernel},
    }
    for name, found in modules.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        vars(module).update(found)


class LowerTriangularMask:
    """What says causal to xformers."""


class Packages:
    """The functions of all of them."""

    def __init__(self, torch: Any, capability: tuple[int, int]) -> None:
        self._torch = torch
        self._capability = capability

    # flash-attn 2

    def flash_attn_func(
        self, q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: Any = None,
        causal: bool = False, window_size: Any = (-1, -1), softcap: float = 0.0,
        alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
    ) -> Any:  # fmt: skip
        """Return (batch, seqlen, heads, head_dim)."""
        self._refuse_flash(q, k, v)
        return self._attend("FlashAttnFunc", q, k, v, causal)

    def flash_attn_varlen_func(
        self, q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
        max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: Any = None, causal: bool = False,
        window_size: Any = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None,
        deterministic: bool = False, return_attn_probs: bool = False, block_table: Any = None,
    ) -> Any:  # fmt: skip
        """Return (total, heads, head_dim) of packed sequences."""
        self._refuse_flash(q, k, v)
        return self._packed("FlashAttnVarlenFunc", q, k, v, cu_seqlens_q, max_seqlen_q, causal)

    def flash_attn_with_kvcache(
        self, q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None,
        rotary_cos: Any = None, rotary_sin: Any = None, cache_seqlens: Any = None,
        cache_batch_idx: Any = None, cache_leftpad: Any = None, block_table: Any = None,
        softmax_scale: Any = None, causal: bool = False, window_size: Any = (-1, -1),
    ) -> Any:  # fmt: skip
        """Append a token to each cache, and attend to what it holds then."""
        self._refuse_flash(q, k_cache, v_cache)
        rows = []
        for at, length in enumerate(cache_seqlens.tolist()):
            k_cache[at, length], v_cache[at, length] = k[at, 0], v[at, 0]
            seen = slice(at, at + 1), slice(0, length + 1)
            rows.append(self._attend("KvCache", q[at : at + 1], k_cache[seen], v_cache[seen]))
        return self._torch.cat(rows)

    def _refuse_flash(self, q: Any, k: Any, v: Any) -> None:
        """First the GPU, then the dtypes, then the size of heads."""
        if self._capability < AMPERE:
            raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.")
        if str(q.dtype) not in HALVES:
            raise RuntimeError(DTYPES)
        if q.dtype != k.dtype:
            raise RuntimeError("query and key must have the same dtype")
        if q.dtype != v.dtype:
            raise RuntimeError("query and value must have the same dtype")

    # flash-attn 3 and 4

    def hopper_func(
        self, q: Any, k: Any, v: Any, softmax_scale: Any = None, causal: bool = False,
        qv: Any = None, window_size: Any = (-1, -1), softcap: float = 0.0, num_splits: int = 1,
    ) -> Any:  # fmt: skip
        """Return the output and the log-sum-exp, as some releases do."""
        self._refuse_flash(q, k, v)
        return self._attend("FlashAttnFunc", q, k, v, causal), None

    def hopper_varlen_func(
        self, q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
        max_seqlen_k: int, seqused_q: Any = None, seqused_k: Any = None, causal: bool = False,
    ) -> Any:  # fmt: skip
        """Return the output and the log-sum-exp of packed sequences."""
        self._refuse_flash(q, k, v)
        out = self._packed("FlashAttnVarlenFunc", q, k, v, cu_seqlens_q, max_seqlen_q, causal)
        return out, None

    def cute_func(
        self, q: Any, k: Any, v: Any, softmax_scale: Any = None, causal: bool = False,
        window_size: Any = (None, None), learnable_sink: Any = None, softcap: float = 0.0,
    ) -> Any:  # fmt: skip
        """Return the output and the log-sum-exp; its refusals are assertions, dtypes first."""
        assert str(q.dtype) in HALVES, "inputs must be float16 or bfloat16"
        assert q.dtype == k.dtype == v.dtype, "inputs must have the same dtype"
        said = "Unsupported compute capability. Supported: 8.x, 9.x, 10.x, 11.x, 12.x"
        assert self._capability >= AMPERE, said
        return self._attend("FlashAttnFunc", q, k, v, causal), None

    # the others

    def memory_efficient_attention(
        self, query: Any, key: Any, value: Any, attn_bias: Any = None, p: float = 0.0,
        scale: Any = None, *, op: Any = None, output_dtype: Any = None,
    ) -> Any:  # fmt: skip
        """Refuse as the dispatcher does: each operator with its reasons."""
        if not query.dtype == key.dtype == value.dtype:
            raise ValueError(
                "Query/Key/Value should either all have the same dtype, or (in the quantized case) "
                f"Key/Value should have dtype torch.int32\n  query.dtype: {query.dtype}"
            )
        halves = str(query.dtype) in HALVES
        reasons = []
        if self._capability in FEW:
            reasons.append(
                "requires device with capability >= (8, 0) but your GPU has capability "
                f"{self._capability} (too old)"
            )
        if not halves:
            reasons.append(f"dtype={query.dtype} (supported: {{torch.bfloat16, torch.float16}})")
        if reasons and (not halves or "bfloat16" in str(query.dtype)):
            inputs = f"     query       : shape={tuple(query.shape)} ({query.dtype})"
            raise NotImplementedError(
                "No operator found for `memory_efficient_attention_forward` with inputs:\n"
                f"{inputs}\n`fa2F@2.5.7` is not supported because:\n    " + "\n    ".join(reasons)
            )
        causal = isinstance(attn_bias, LowerTriangularMask)
        return self._attend("_fMHA", query, key, value, causal)

    def vllm_varlen_func(
        self, q: Any, k: Any, v: Any, max_seqlen_q: int, cu_seqlens_q: Any, max_seqlen_k: int,
        cu_seqlens_k: Any = None, seqused_k: Any = None, causal: bool = False,
        fa_version: int = 2,
    ) -> Any:  # fmt: skip
        """Return (total, heads, head_dim); the order of arguments is its own."""
        self._refuse_flash(q, k, v)
        return self._packed("Vllm", q, k, v, cu_seqlens_q, max_seqlen_q, causal)

    def get_kernel(self, repo_id: str, revision: Any = None, version: Any = None) -> Any:
        """Return SageAttention's module."""
        return types.SimpleNamespace(sageattn=self.sageattn)

    def sageattn(
        self, q: Any, k: Any, v: Any, tensor_layout: str = "HND", is_causal: bool = False,
        sm_scale: Any = None, return_lse: bool = False, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Choose by the GPU; then each kernel looks at the dtypes."""
        major, minor = self._capability
        known = {(8, 0), (8, 6), (8, 9), (9, 0), (12, 0)}
        if self._capability not in known:
            raise ValueError(f"Unsupported CUDA architecture: sm{major}{minor}")
        said = "Input tensors must be in dtype of torch.float16 or torch.bfloat16"
        assert str(q.dtype) in HALVES, said
        assert q.dtype == k.dtype == v.dtype, "All tensors must have the same dtype."
        assert tensor_layout == "NHD"
        return self._attend("Sage", q, k, v, is_causal)

    # what computes

    def _attend(self, node: str, q: Any, k: Any, v: Any, causal: bool = False) -> Any:
        standin = importlib.import_module("gpu_standin")
        share = q.shape[2] // k.shape[2]
        given = [q, *(each.repeat_interleave(share, 2) for each in (k, v))]
        heads_first = [each.transpose(1, 2) for each in given]
        kernel = standin.kernel_of(self._torch, node)
        more = {"is_causal": causal} if causal else {}
        return kernel.apply(*heads_first, more).transpose(1, 2)

    def _packed(
        self, node: str, q: Any, k: Any, v: Any, ends: Any, longest: int, causal: bool
    ) -> Any:
        parts = []
        edges = ends.tolist()
        pairs = list(itertools.pairwise(edges))
        assert longest == max(end - start for start, end in pairs)
        for start, end in pairs:
            alone = [each[start:end][None] for each in (q, k, v)]
            parts.append(self._attend(node, alone[0], alone[1], alone[2], causal)[0])
        return self._torch.cat(parts)
