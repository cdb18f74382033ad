"""What could be installed instead, and what each choice asks for."""
