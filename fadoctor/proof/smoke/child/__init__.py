"""Scripts that run under the target's interpreter: stdlib and what they test, Python 3.8 syntax.

This folder stands at the end of the worker's `sys.path` and nowhere else: at the end it shadows
nothing of the target, and every file is named ``_fadoctor_*.py``, so nothing of it is found by
accident. `_fadoctor_worker` is the script; each other file is a part of it.
"""
