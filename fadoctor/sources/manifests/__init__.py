"""Requirement and lock files: what an environment will hold that does not exist yet.

Each reader is a module for one format, with ``recognises(name, head) -> bool``, which is asked with
a file's base name and the first KiB of its text, and ``read(source) -> Manifest``. The first one
that recognises a file reads it, so that formats with a name of their own stand before those that
are known by their content.
"""

from __future__ import annotations

READERS: tuple[str, ...] = (
    "fadoctor.sources.manifests.uv_lock",
    "fadoctor.sources.manifests.poetry_lock",
    "fadoctor.sources.manifests.pdm_lock",
    "fadoctor.sources.manifests.pixi_lock",
    "fadoctor.sources.manifests.pylock",
    "fadoctor.sources.manifests.pipfile",
    "fadoctor.sources.manifests.pyproject",
    "fadoctor.sources.manifests.pixi_toml",
    "fadoctor.sources.manifests.conda_lock",
    "fadoctor.sources.manifests.conda_recipe",
    "fadoctor.sources.manifests.environment_yml",
    "fadoctor.sources.manifests.dockerfile",
    "fadoctor.sources.manifests.setup_py",
    "fadoctor.sources.manifests.script",
    "fadoctor.sources.manifests.setup_cfg",
    "fadoctor.sources.manifests.tox_ini",
    "fadoctor.sources.manifests.toml_units",
    "fadoctor.sources.manifests.install_script",
    "fadoctor.sources.manifests.command_files",
    "fadoctor.sources.manifests.requirements_txt",
)
