"""Windows' libraries and programs: PE files, and what the loader of Windows would do with them."""
