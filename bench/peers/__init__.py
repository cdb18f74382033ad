"""What other tools say of the same planted environments."""
