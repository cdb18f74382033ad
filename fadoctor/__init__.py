"""Environment doctor for FlashAttention: will it work, if not why, and what to do."""

__version__ = "0.1.0"
