"""Targets: which environment is examined, and where its packages are."""
