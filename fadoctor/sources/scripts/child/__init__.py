"""Scripts that run in a child process and print one JSON object; nothing here is imported."""
