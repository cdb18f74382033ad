"""Run every scene and random steps in whatever interpreter this is: one JSON object on stdout.

Usage: PYTHON everywhere.py FOLDER-OF-THE-CHILD FOLDER-WITH-CONFIG (Python 3.9, torch; no fadoctor)
"""
# ruff: noqa: T201

from __future__ import annotations

import json
import platform
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from tests.trace import scenes, standin

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 60
SEEDS = range(STEPS)


class Inside:
    """The tracer that `fadoctor.api.trace` begins, begun without fadoctor."""

    def __init__(self, child: str, folder: Path) -> None:
        sys.path.insert(0, child)
        self.child = child
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.names = (folder / "watched").read_text(encoding="utf-8").split()

    def trace(self, run: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
        """Return what was run gives, and the record."""
        import _fadoctor_trace_record as record  # noqa: PLC0415
        import _fadoctor_trace_start as start  # noqa: PLC0415
        import _fadoctor_trace_watch as watch  # noqa: PLC0415

        hears = watch.Watch(self.child, None, self.names)
        kept = record.Record(None, hears, self.config["variables"], self.config["packages"])
        tracer = start.Tracer(self.config, kept, hears)
        hears.tracer = tracer
        sys.meta_path.insert(0, hears)
        tracer.begin(every_thread=True)
        try:
            out = run()
        finally:
            sys.meta_path.remove(hears)
            tracer.end()
        return out, kept.document()


def ends(run: Callable[[], Any]) -> str:
    """Run a scene; return why this torch has not what it needs, else ""."""
    try:
        run()
    except (RuntimeError, ValueError):  # a kernel that refuses
        pass
    except (AttributeError, ImportError) as error:
        return str(error)
    return ""


def main(child: str, folder: str) -> None:
    inside = Inside(child, Path(folder))
    wrong, lacks, faults = {}, {}, []
    known = scenes.OF_MODELS | scenes.OF_REPORTS
    for name, scene in known.items():
        torch.manual_seed(0)
        lacking, document = inside.trace(partial(ends, scene.run))
        faults += document["faults"]
        if lacking:
            lacks[name] = lacking
            continue
        different = scenes.differences(scene, document["calls"])
        if different:
            wrong[name] = different
    changed = []
    for seed in SEEDS:
        plan = scenes.any_plan(seed)
        bare = scenes.step(seed, plan)
        traced, document = inside.trace(partial(scenes.step, seed, plan))
        faults += document["faults"]
        if traced != bare:
            changed.append(seed)
    print(json.dumps({
        "python": platform.python_version(), "torch": torch.__version__,
        "scenes": len(known), "lacks": lacks, "wrong": wrong,
        "steps": STEPS, "changed": changed, "faults": faults,
    }))  # fmt: skip


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    next(standin.installed())
    main(*sys.argv[1:])
