"""The page in the browser: what its worker asks, as JSON. ``python -m tools.page`` builds it."""
