"""Tests of the readers of PE files."""
