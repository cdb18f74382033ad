"""Scripts that a Dockerfile or another script starts install what their own lines say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.read import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.sources.manifests.planned import Manifest

IMAGE = "FROM python:3.11-slim-bookworm\nWORKDIR /app\n"


def read_in(folder: Path, name: str, files: dict[str, str]) -> Manifest:
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")
    return read_manifest(str(folder / name))


def asked(manifest: Manifest) -> list[str]:
    return sorted(f"{each.name}{each.specifier}" for each in manifest.requirements)


@pytest.mark.parametrize(
    "start",
    [
        "COPY install.sh .\nRUN bash install.sh",
        "COPY install.sh ./\nRUN chmod +x install.sh && ./install.sh",
        "COPY . .\nRUN sh -eux /app/install.sh",
        'COPY install.sh .\nENTRYPOINT ["./install.sh"]',
        "COPY install.sh /app/\nCMD bash /app/install.sh && python app.py",
        "COPY install.sh .\nRUN . ./install.sh",
    ],
)
def test_a_dockerfile_starts_one(tmp_path: Path, start: str) -> None:
    script = "#!/bin/bash\nset -e\npip install torch==2.7.1\n"
    found = read_in(
        tmp_path, "Dockerfile", {"Dockerfile": f"{IMAGE}{start}\n", "install.sh": script}
    )
    assert asked(found) == ["torch==2.7.1"]
    [torch] = found.requirements
    assert (torch.place.file.rpartition("/")[2], torch.place.line) == ("install.sh", 3)


def test_one_starts_another_that_names_a_list(tmp_path: Path) -> None:
    found = read_in(tmp_path, "run.sh", {
        "run.sh": "cd scripts && bash setup.sh\n",
        "scripts/setup.sh": "pip install -r requirements.txt\n",
        "scripts/requirements.txt": "flash-attn==2.8.3\n",
    })  # fmt: skip
    assert asked(found) == ["flash-attn==2.8.3"]


@pytest.mark.parametrize(
    "start",
    [
        "RUN bash install.sh",  # not copied
        "COPY install.sh .\nRUN git clone https://github.com/a/b && cd b && bash install.sh",
        "COPY install.sh .\nRUN cat install.sh",
        "COPY install.sh .\nRUN bash -c 'echo install.sh'",
    ],
)
def test_another_file_of_that_name_is_none(tmp_path: Path, start: str) -> None:
    files = {"Dockerfile": f"{IMAGE}{start}\n", "install.sh": "pip install torch==2.7.1\n"}
    assert asked(read_in(tmp_path, "Dockerfile", files)) == []


def test_only_the_last_start_counts(tmp_path: Path) -> None:
    found = read_in(tmp_path, "Dockerfile", {
        "Dockerfile": f'{IMAGE}COPY . .\nCMD ["./a.sh"]\nCMD ["./b.sh"]\n',
        "a.sh": "pip install torch==2.5.1\n",
        "b.sh": "pip install einops==0.8.0\n",
    })  # fmt: skip
    assert asked(found) == ["einops==0.8.0"]


def test_a_script_that_starts_itself_ends(tmp_path: Path) -> None:
    files = {
        "a.sh": "pip install torch==2.7.1\nbash b.sh\n",
        "b.sh": "pip install einops==0.8.0\nbash a.sh\n",
    }
    assert asked(read_in(tmp_path, "a.sh", files)) == ["einops==0.8.0", "torch==2.7.1"]


def test_what_is_not_followed_names_the_script(tmp_path: Path) -> None:
    files = {
        "Dockerfile": f"{IMAGE}COPY a.sh .\nRUN bash a.sh\n",
        "a.sh": '\n[ -n "$X" ] && pip install torch==2.7.1\npip install einops==0.8.0\n',
    }
    notes = read_in(tmp_path, "Dockerfile", files).notes
    assert any(":4: " in note and "a.sh:2: runs only under a condition" in note for note in notes)
