"""What the verdicts were and are, for every torch release on the GPUs that people have."""
