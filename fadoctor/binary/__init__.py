"""Readers of compiled files: what they hold and need, without loading them."""
