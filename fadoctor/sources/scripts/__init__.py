"""Python scripts by their syntax tree: what they call and set, read in a child, never run."""
