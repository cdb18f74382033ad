"""Which GPU a file asks its cloud, cluster or scheduler for: that is where its program runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.place import Place
from fadoctor.sources.configs.intent import AskedGpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.configs.source import Source

_SLURM = "#SBATCH"
_NAME = r"(?P<name>[A-Za-z][\w.-]{0,40})"
_START, _QUOTE = r"^[ \t]{0,60}(?:- )?", r"[\"']?"
_FORMS = (
    # SkyPilot: accelerators: V100:8, accelerators: {A100-80GB: 1}; a list names alternatives
    re.compile(rf"{_START}accelerators:[ \t]{{0,9}}(?:\{{ ?)?{_QUOTE}{_NAME}[^,\n]{{0,40}}$"),
    # Ray: accelerator_type: T4, accelerator_type="A10G"
    re.compile(
        rf"{_START}{_QUOTE}accelerator_type{_QUOTE}[ \t]{{0,9}}[:=][ \t]{{0,9}}{_QUOTE}{_NAME}"
    ),
    # Kubernetes: cloud.google.com/gke-accelerator: nvidia-tesla-t4
    re.compile(
        rf"{_START}{_QUOTE}(?:cloud\.google\.com/gke-accelerator|nvidia\.com/gpu\.product){_QUOTE}"
        rf":[ \t]{{0,9}}{_QUOTE}{_NAME}"
    ),
    # Slurm: #SBATCH --gres=gpu:v100:4, #SBATCH --gpus-per-node=rtx_4090:2, #SBATCH -G A100:4
    re.compile(
        r"^#SBATCH[ \t][^#\n]{0,200}?(?:--gres[= ]gpu:|--gpus(?:-per-\w{1,6})?[= ]|-G ?)"
        rf"{_NAME}(?::\d|[ \t]|$)"
    ),
)
# Modal: @app.function(gpu="A100-80GB:2"); a list names what comes instead
_MODAL = re.compile(rf"\bgpu ?= ?[\"']{_NAME}(?::\d{{1,2}})?!?[\"']")
_IS_MODAL = re.compile(r"^(?:import|from) modal\b", re.MULTILINE)
_HINTS = ("accelerator", _SLURM, "gpu.product", "modal")
_ROW_LIMIT, _LENGTH_LIMIT = 20_000, 400


def asked_gpus(source: Source) -> tuple[AskedGpu, ...]:
    """Return the GPUs that a file asks for."""
    if not any(hint in source.text for hint in _HINTS):
        return ()
    return tuple(_found(source))


def _found(source: Source) -> Iterator[AskedGpu]:
    forms = (*_FORMS, _MODAL) if _IS_MODAL.search(source.text) else _FORMS
    for line, row in enumerate(source.text.split("\n")[:_ROW_LIMIT], 1):
        is_of_slurm = row.startswith(_SLURM)
        is_remark = row.lstrip().startswith("#") and not is_of_slurm
        if is_remark or len(row) > _LENGTH_LIMIT:
            continue
        for form in forms:
            if (found := form.search(row)) is not None:
                place = Place(source.name, line, found.start("name") + 1)
                yield AskedGpu(found["name"], place, has_environment=is_of_slurm)
