"""Hold every call of a backend, and every watched entry point, against the sources of releases."""
