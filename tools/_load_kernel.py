"""Runs in a child: the package kernels, as released, fetches and loads a kernel of the Hub.

Reads one JSON object from standard input: ``repository``, ``arguments`` of get_kernel, ``torch``
(a system for the stand-in of ``_choice_by_kernels``; null: the real one) and ``whole`` (a kind of
repository: huggingface_hub fetches all of it, and kernels nothing). Writes one JSON object: what
the kernel answered, or the traceback.
"""

import importlib
import json
import logging
import sys
import traceback
import warnings
from typing import Any


def done(job: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked for."""
    if job.get("whole"):
        hub = importlib.import_module("huggingface_hub")
        branch = job["arguments"]["revision"]
        path = hub.HfApi().snapshot_download(
            job["repository"], repo_type=job["whole"], revision=branch
        )
        return {"file": str(path)}
    kernels = importlib.import_module("kernels")
    module = kernels.get_kernel(job["repository"], **job["arguments"])
    return {"answer": getattr(module, "answer", None), "file": module.__file__}


def main() -> None:
    """Answer."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    job = json.load(sys.stdin)
    if job["torch"] is not None:
        choice = importlib.import_module("_choice_by_kernels")
        choice.set_up(choice.stand_in(), job["torch"])
    try:
        answer = done(job)
    except Exception:  # noqa: BLE001 -- what went wrong is the answer
        answer = {"traceback": traceback.format_exc()}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
