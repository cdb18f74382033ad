"""Scripts that run under the target's interpreter: stdlib and torch only, Python 3.8 syntax."""
