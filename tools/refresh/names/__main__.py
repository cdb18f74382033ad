"""Entry of ``python -m tools.refresh.names``."""

from tools.refresh.names.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
