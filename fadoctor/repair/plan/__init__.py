"""From findings to what to do about them."""
