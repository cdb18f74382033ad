"""PE files against another reader of them."""
