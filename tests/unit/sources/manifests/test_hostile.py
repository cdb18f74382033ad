"""Files that are meant to hurt: each is read or refused, and that is bounded by counts."""

from __future__ import annotations

import gc
import os
import resource
from typing import TYPE_CHECKING

import pytest
from hypothesis import given as generated
from hypothesis import settings
from hypothesis import strategies as st

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.read import read_manifest, read_source
from tests.unit.sources.manifests.given import SAMPLES, given, sample
from tests.work import calls_of, examples, which_ends

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.sources.manifests.planned import Manifest

NAMES = (
    "pyproject.toml", "poetry.lock", "pdm.lock", "pylock.toml", "pixi.toml", "pixi.lock", "Pipfile",
    "Pipfile.lock", "conda-lock.yml", "environment.yml", "Dockerfile", "install.sh", "nb.ipynb",
    "script.py", "setup.cfg",
)  # fmt: skip
COUNT = 20_000
HASH = "0" * 64


def poetry() -> str:
    """Return a lock of many packages, and so the next three."""
    return "".join(
        f'[[package]]\nname = "p{i}"\nversion = "1.{i}"\noptional = false\nfiles = [\n'
        f'    {{file = "p{i}-1.{i}-py3-none-any.whl", hash = "sha256:{HASH}"}},\n]\n\n'
        f'[package.dependencies]\nfoo = ">=1,<{i}"\n\n'
        for i in range(COUNT)
    )


def pylock() -> str:
    return "".join(
        f'[[packages]]\nname = "p{i}"\nversion = "1.{i}"\nwheels = [{{ url = "https://example.org/'
        f'p{i}-1.{i}-py3-none-any.whl", hashes = {{ sha256 = "{HASH}" }} }}]\n\n'
        for i in range(COUNT)
    )


def pixi() -> str:
    address = "conda: https://example.org/c/linux-64/p{0}-1.{0}-h0_0.conda\n"
    head = "version: 6\nenvironments:\n  default:\n    packages:\n      linux-64:\n"
    asked = "".join("      - " + address.format(i) for i in range(COUNT))
    record = "- " + address + f"  sha256: {HASH}\n  depends:\n  - foo >=1\n  license: MIT\n"
    return head + asked + "packages:\n" + "".join(record.format(i) for i in range(COUNT))


def conda() -> str:
    return "package:\n" + "".join(
        f"- name: p{i}\n  version: 1.{i}\n  manager: conda\n  platform: linux-64\n  dependencies:\n"
        f"    foo: '>=1'\n  url: https://example.org/c/linux-64/p{i}-1.{i}-h0_0.conda\n  hash:\n"
        f"    sha256: {HASH}\n  category: main\n  optional: false\n"
        for i in range(COUNT)
    )


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("poetry.lock", poetry),
        pytest.param("pylock.toml", pylock, marks=pytest.mark.weekly),
        pytest.param("pixi.lock", pixi, marks=pytest.mark.weekly),
        pytest.param("conda-lock.yml", conda, marks=pytest.mark.weekly),
    ],
)
def test_a_lock_of_20000_packages_is_read(name: str, make: object) -> None:
    assert callable(make)
    source = given(make(), name)
    found: list[Manifest] = []
    # A bound against what grows with the square; measured are 1.1 to 1.4 calls for a character.
    with which_ends():
        assert calls_of(lambda: found.append(read_source(source))) < 4 * len(source.text)
    assert len(found[0].requirements) == COUNT
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_500_000


def test_the_collector_is_as_it_was_whatever_a_file_holds() -> None:
    with pytest.raises(InputError):
        read_source(given("a: [", "pixi.lock"))
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project]\ndependencies = [" + "'a',\n" * 60 + "]"),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\n" + "".join(f"a{i}=''\n" for i in range(60)),
        ),
        ("poetry.lock", "[[package]]\nname='a'\nversion='1'\n" * 60),
        ("pdm.lock", "[[package]]\nname='a'\nversion='1'\n" * 60),
        ("pylock.toml", "[[packages]]\nname='a'\nversion='1'\n" * 60),
        ("pixi.toml", "[dependencies]\n" + "".join(f"a{i}='1'\n" for i in range(60))),
        ("Pipfile", "[packages]\n" + "".join(f"a{i}='*'\n" for i in range(60))),
        ("environment.yml", "channels: []\ndependencies:\n" + "- a\n" * 60),
        ("conda-lock.yml", "package:\n" + "- {name: a, version: '1', manager: conda}\n" * 60),
        ("list.txt", "@EXPLICIT\n" + "https://example.org/noarch/a-1-0.conda\n" * 60),
    ],
)
def test_the_number_of_packages_is_bounded(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fadoctor.syntax.data_tree.PACKAGE_LIMIT", 50)
    monkeypatch.setattr("fadoctor.sources.manifests.formats.conda_lock.PACKAGE_LIMIT", 50)
    with pytest.raises(InputError, match="more than 50 packages"):
        read_source(given(text, name))


def test_the_number_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fadoctor.syntax.toml_tree._VALUE_LIMIT", 500)
    with pytest.raises(InputError, match=r"pdm\.lock:1: no TOML: more than 500 values"):
        read_source(given("a = [" + "1," * 700 + "]", "pdm.lock"))


HOSTILE = {
    "brackets": "a: " + "[" * 10_000,
    "braces": "a = " + "{a=" * 10_000,
    "tables": "[" + ".".join("a" * 10_000) + "]\nx = 1\n",
    "indented": "\n".join(" " * n + "a:" for n in range(2_000)),
    "lines": "\n" * 1_000_000,
    "one line": "a" * 4_000_000,
    "quotes": "a = '" + '"' * 1_000_000,
    "aliases": "a: &a [x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(3_000)),
    "backslashes": "FROM a\nRUN " + "\\\n" * 90_000,
    "dollars": "FROM a\nENV A=" + "${A}" * 20_000,
    "doubling": "FROM a\nENV A=aaaaaaaa\n" + "ENV A=$A$A$A$A\n" * 200,
    "splitting": "FROM a\nENV A='a a a a'\n" + 'ENV B="$A $A $A"\nENV A="$B $B $B"\n' * 100,
    "quotes in quotes": 'a = """' + '"" ' * 300_000,
    "escapes": 'a = "' + "\\n" * 300_000 + '"',
    "tag": "dependencies: !!python/object/apply:os.system ['true']\n",
    "control": "a: \x1b[31m\x07\n",
    "surrogate": "a: \udcff\n",
    "merge": "a: &a {b: c}\nd:\n  <<: *a\n",
    "marker": '[project]\ndependencies = ["a; ' + "(" * 2_000 + '"]\n',
}  # fmt: skip


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_read_or_refused(name: str, text: str) -> None:
    try:
        found = read_source(given(text, name))
    except InputError as error:
        assert str(error).startswith(name)  # noqa: PT017 -- read or refused, both are right
        assert len(str(error)) < 2_100  # noqa: PT017 -- as above
    else:
        assert len(repr(found)) < 2_000_000


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_text_or_too_large_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"a\0b")
    with pytest.raises(InputError, match="NUL byte"):
        read_manifest(str(path))
    os.truncate(path, 10 << 20)
    with pytest.raises(InputError, match="larger than 8 MiB"):
        read_manifest(str(path))
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        read_manifest(str(path))
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(InputError):
        read_manifest(str(path))


def test_includes_go_round_in_no_circle(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("-r a.txt\n")
    path = tmp_path / "environment.yml"
    path.write_text("dependencies:\n- pip:\n  - -r a.txt\n")
    with pytest.raises(InputError, match="includes itself"):
        read_manifest(str(path))


@settings(max_examples=examples(150), deadline=None)
@generated(st.data())
@pytest.mark.property
def test_a_damaged_sample_is_read_or_refused(data: st.DataObject) -> None:
    """What is cut or changed anywhere ends in a manifest or in an InputError, never otherwise."""
    name = data.draw(st.sampled_from(sorted(path.name for path in SAMPLES.iterdir())))
    text = sample(name).text
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = at + data.draw(st.integers(0, 30))
        put = data.draw(
            st.sampled_from(["", "\n", "[", "]", "{", ":", "=", '"', "'", "- ", "\x00", "$"])
        )
        text = text[:at] + put + text[end:]
    try:
        read_source(given(text, name))
    except InputError as error:
        assert name in str(error) or "extra.txt" in str(error)  # noqa: PT017 -- as above
