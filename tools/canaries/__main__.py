"""Entry of ``python -m tools.canaries``."""

from tools.canaries.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
