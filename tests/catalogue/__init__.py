"""Every published flash-attn wheel against the rules."""
