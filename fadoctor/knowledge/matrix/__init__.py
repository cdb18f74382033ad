"""The knowledge base: reading the YAML, checking it, compiling it, loading it, querying it."""
