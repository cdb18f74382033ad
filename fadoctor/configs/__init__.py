"""Training and serving configurations: what a run will ask of its environment."""
