"""Child processes: the only door to them, live output, deadlines, and who is left behind."""
