"""Smoke runs: whether attention really runs in the target, and whether its numbers are right.

A worker under the target's own interpreter runs cells (device x backend x dtype) and reports what
it saw (`child/`); this side starts workers, judges what they report and never imports torch.
"""
