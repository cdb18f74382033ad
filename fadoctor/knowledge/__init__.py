"""What is known of the world: rules and tables, and newer ones."""
