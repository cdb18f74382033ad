"""Kernels of the Hub as a way to what was asked for."""
