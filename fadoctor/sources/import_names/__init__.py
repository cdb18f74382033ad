"""What Python sources ask of each other at import, followed without running anything."""
