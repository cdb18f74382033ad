"""Recordings of real GPUs."""
