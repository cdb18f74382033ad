"""What is wrong, what works, and what a text comes from."""
