"""Requirement and lock files: what an environment will hold that does not exist yet.

Each reader is a module for one format, with ``recognises(name, head) -> bool``, which is asked with
a file's base name and the first KiB of its text, and ``read(source) -> Manifest``. The first one
that recognises a file reads it, so that formats with a name of their own stand before those that
are known by their content.
"""

from __future__ import annotations

READERS: tuple[str, ...] = (
    "fadoctor.manifests.uv_lock",
    "fadoctor.manifests.poetry_lock",
    "fadoctor.manifests.pdm_lock",
    "fadoctor.manifests.pixi_lock",
    "fadoctor.manifests.pylock",
    "fadoctor.manifests.pipfile",
    "fadoctor.manifests.pyproject",
    "fadoctor.manifests.pixi_toml",
    "fadoctor.manifests.conda_lock",
    "fadoctor.manifests.environment_yml",
    "fadoctor.manifests.dockerfile",
    "fadoctor.manifests.script",
    "fadoctor.manifests.setup_cfg",
    "fadoctor.manifests.install_script",
    "fadoctor.manifests.requirements_txt",
)
