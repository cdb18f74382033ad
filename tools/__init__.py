"""Programs for maintainers; no part of the installed package."""
