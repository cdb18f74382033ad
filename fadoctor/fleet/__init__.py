"""The fleet: one record a node, and many of them put together into one page."""
