"""Run as ``python -m tools.signatures``."""

from tools.signatures.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
