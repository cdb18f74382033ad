"""Tables of what the sources of released packages do at import: from wheels, for `contracts/`."""
