"""Kernels of the Hub: what lies in its cache, and which build the package kernels would choose."""
