"""Tests of the readers of texts."""
