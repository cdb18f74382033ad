"""Container images: their names, their Dockerfiles, and what they hold."""
