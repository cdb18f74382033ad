"""Parts of a process that follows imports in sources; standard library only, nothing is run."""
