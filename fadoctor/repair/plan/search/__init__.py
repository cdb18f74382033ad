"""The problem, the wishes, and the search for the cheapest state."""
