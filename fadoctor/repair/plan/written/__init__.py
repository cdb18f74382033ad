"""What a plan says: commands, undoing, advice, notes, refusals."""
