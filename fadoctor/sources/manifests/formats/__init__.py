"""One module for each kind of file, and what several kinds share."""
