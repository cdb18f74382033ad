"""Tests of what any text from outside passes through."""
