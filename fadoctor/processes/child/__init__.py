"""What scripts in child processes share; standard library only."""
