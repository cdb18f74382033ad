"""Recipes as files of other tools: one module for a format, with ``render(recipe) -> str``."""
