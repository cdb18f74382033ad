"""Runs in a child: import what transformers has of the Hub's kernels, and say how that went."""

import importlib
import json
import sys
import warnings


def main() -> None:
    """Write whether it was imported, the error, and whether transformers accepts the kernels."""
    warnings.simplefilter("ignore")
    accepted = importlib.import_module("transformers.utils.import_utils").is_kernels_available()
    error = ""
    try:
        importlib.import_module("transformers.integrations.hub_kernels")
    except Exception as raised:  # noqa: BLE001 -- what went wrong is the answer
        error = f"{type(raised).__name__}: {raised}"
    sys.stdout.write(json.dumps({"accepted": bool(accepted), "error": error}) + "\n")


if __name__ == "__main__":
    main()
