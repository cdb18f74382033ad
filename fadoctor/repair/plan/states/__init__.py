"""The facts as they would be after choices, and what would no longer hold."""
