"""The options that commands share, by meaning. typer reads these annotations as it builds."""
