"""Feed mutated inputs to every reader of hostile data: see ``python -m tools.fuzz --help``."""
