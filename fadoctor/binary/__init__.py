"""Readers of binaries: what the loader would do with an ELF file, and what code it holds."""
