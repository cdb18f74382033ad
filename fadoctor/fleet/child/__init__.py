"""Scripts that run by a cluster's own interpreter: only the standard library, and its ray."""
