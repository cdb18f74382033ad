"""Requirement and lock files: what an environment will hold that does not exist yet.

Each reader is a module for one format, with ``recognises(name, head) -> bool``, which is asked with
a file's base name and the first KiB of its text, and ``read(source) -> Manifest``. The first one
that recognises a file reads it, so that formats with a name of their own stand before those that
are known by their content.
"""

from __future__ import annotations

READERS: tuple[str, ...] = (
    "fadoctor.sources.manifests.formats.uv_lock",
    "fadoctor.sources.manifests.formats.poetry_lock",
    "fadoctor.sources.manifests.formats.pdm_lock",
    "fadoctor.sources.manifests.formats.pixi_lock",
    "fadoctor.sources.manifests.formats.pylock",
    "fadoctor.sources.manifests.formats.pipfile",
    "fadoctor.sources.manifests.formats.pyproject",
    "fadoctor.sources.manifests.formats.pixi_toml",
    "fadoctor.sources.manifests.formats.conda_lock",
    "fadoctor.sources.manifests.formats.conda_recipe",
    "fadoctor.sources.manifests.formats.environment_yml",
    "fadoctor.sources.manifests.images.dockerfile",
    "fadoctor.sources.manifests.formats.setup_py",
    "fadoctor.sources.manifests.formats.script",
    "fadoctor.sources.manifests.formats.setup_cfg",
    "fadoctor.sources.manifests.formats.tox_ini",
    "fadoctor.sources.manifests.formats.toml_units",
    "fadoctor.sources.manifests.commands.install_script",
    "fadoctor.sources.manifests.commands.command_files",
    "fadoctor.sources.manifests.formats.conda_specs",
    "fadoctor.sources.manifests.formats.requirements_txt",
)
