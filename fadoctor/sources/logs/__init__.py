"""From the bytes of a log to its messages and the facts that it holds."""
