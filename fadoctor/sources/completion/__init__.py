"""What follows from facts that were read: by tables, or taken for granted and said so."""
