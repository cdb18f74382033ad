"""``uv.lock``: packages, files, what leads to them; and what is wrong in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.read import read_manifest
from tests.work import calls_of, which_ends

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.sources.manifests.planned import Manifest

RIGHT = """\
version = 1
revision = 3
requires-python = ">=3.11"
resolution-markers = [
    "sys_platform == 'linux'",
]

[[package]]
name = "einops"
version = "0.8.1"
source = { registry = "https://index.example.org/simple" }
sdist = { url = "https://files.example.org/einops-0.8.1.tar.gz", hash = "sha256:aa", size = 5 }
wheels = [
    { url = "https://f.example.org/einops-0.8.1-py3-none-any.whl", hash = "sha256:aa", size = 5 },
]

[[package]]
name = "flash-attn"
version = "2.8.3"
source = { url = "https://user:secret@example.org/{FLASH}" }
dependencies = [
    { name = "einops" },
    { name = "torch", version = "2.7.1+cu128", source = {}, marker = "sys_platform == 'linux'" },
]
wheels = [
    { url = "https://example.org/{FLASH}", hash = "sha256:aa" },
]

[[package]]
name = "torch"
version = "2.7.1+cu128"
source = { registry = "https://download.pytorch.org/whl/cu128" }
resolution-markers = [
    "sys_platform == 'linux'",
]
dependencies = [
    { name = "triton", marker = "platform_machine == 'x86_64'" },
]
wheels = [
    { url = "https://p.org/{TORCH}", hash = "sha256:aa" },
]

[[package]]
name = "train"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "flash-attn" },
]

[package.optional-dependencies]
fast = [
    { name = "einops", extra = ["x"] },
]

[package.dev-dependencies]
dev = [
    { name = "torch" },
]
""".replace(
    "{FLASH}", "flash_attn-2.8.3+cu12torch2.7cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
).replace("{TORCH}", "torch-2.7.1%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl")


def read(folder: Path, text: str, name: str = "uv.lock") -> Manifest:
    (folder / name).write_text(text, encoding="utf-8")
    return read_manifest(str(folder / name))


def test_a_lock(tmp_path: Path) -> None:
    found = read(tmp_path, RIGHT)
    einops, flash_attn, torch = found.requirements
    assert (einops.specifier, einops.place.line, einops.files) == ("==0.8.1", 10, ())
    assert flash_attn.url.startswith("https://example.org/flash_attn-2.8.3+cu12torch2.7")
    assert flash_attn.requires == ("einops", "torch==2.7.1+cu128 ; sys_platform == 'linux'")
    assert torch.index == "https://download.pytorch.org/whl/cu128"
    assert torch.files == ("torch-2.7.1+cu128-cp312-cp312-manylinux_2_28_x86_64.whl",)
    assert torch.marker == "(sys_platform == 'linux')"
    assert found.roots == ("flash-attn", "einops[x]", "torch")
    assert found.is_complete
    assert found.python is not None
    assert (found.python.value, found.python.place.line) == (">=3.11", 3)
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version = 1\n", "version = 7\n", "uv.lock:1 at `version`: a format that is not known"),
        ('name = "torch"\n', 'name = "a b"\n', "uv.lock:30 at `package[2].name`: has no name"),
        ('version = "0.8.1"', 'version = "new"', ":10 at `package[0].version`: 'new' is no"),
        ('source = { virtual = "." }', "source = 3", "uv.lock:46 at `package[3].source`: does not"),
        ('{ name = "triton"', '1, { name = "triton"', ":37 at `package[2].dependencies[0]`: "),
        ('name = "train"', 'name = "train', "uv.lock:44: no TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_line_and_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in RIGHT
    with pytest.raises(InputError) as caught:
        read(tmp_path, RIGHT.replace(old, new))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "version = 1\n" + '[[package]]\nname = "a"\nversion = "1"\n' * 20_000,
        "version = 1\n" + '[[package]]\nname = "a"\nversion = "1"\nsource = {url = "x"}\n' * 2_999,
        RIGHT + "x = " + "[" * 5_000_000,
        RIGHT + "[[package]]\n" + 'wheels = [ { url = "' + "a" * 7_000_000 + '" } ]',
        "version = 1\npackage = 3\n",
        "version = 1\n[package]\nname = 3\n",
    ],
    ids=range(6),
)
def test_hostile_locks_are_read_or_refused_with_little_work(tmp_path: Path, text: str) -> None:

    def work() -> None:
        try:
            read(tmp_path, text)
        except InputError as error:
            assert len(str(error)) < 3_000  # noqa: PT017 -- either is right

    with which_ends():
        assert calls_of(work) < 2_000_000
