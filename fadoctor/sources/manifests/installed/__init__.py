"""What all files together will install: one environment, held against tables."""
