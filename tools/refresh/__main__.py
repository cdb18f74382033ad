"""Entry of ``python -m tools.refresh``."""

from tools.refresh.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
