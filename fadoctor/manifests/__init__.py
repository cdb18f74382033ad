"""Requirement and lock files: what an environment will hold that does not exist yet."""
