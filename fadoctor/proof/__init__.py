"""Does it really run? Attention that is run, and calls of a program that are recorded."""
