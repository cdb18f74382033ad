"""Run-time tracing: which attention ran, and which statement made its tensors float32.

`parent` starts a command with what stands in `child` on its PYTHONPATH and reads the records that
its processes write; `join` makes a report of them with the rules that `explain` uses, too.
"""
