"""What to do, whether a resolver would take it, and doing it."""
