"""The lock of the tests fits pyproject.toml, on every Python and platform; offline."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import lock, upper_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())["project"]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux": ("Linux", "x86_64", "posix"), "linux on Arm": ("Linux", "aarch64", "posix"),
    "macOS": ("Darwin", "arm64", "posix"), "Windows": ("Windows", "AMD64", "nt"),
}  # fmt: skip


def pins() -> list[Requirement]:
    text = lock.LOCK.read_text(encoding="utf-8")
    lines = re.sub(r" \\\n", "", text).splitlines()
    return [Requirement(line.partition(" --hash")[0].strip()) for line in lines if line[0] != "#"]


def asked(extras: tuple[str, ...] = ("dev",)) -> Iterator[Requirement]:
    """Yield what the project and an extra require, extras of its own taken apart."""
    for text in PROJECT["dependencies"]:
        yield Requirement(text)
    for extra in extras:
        for each in map(Requirement, PROJECT["optional-dependencies"][extra]):
            if each.name == PROJECT["name"]:
                yield from asked(tuple(each.extras))
            else:
                yield each


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_requirement_has_one_pin_that_satisfies_it(python: str, platform: str) -> None:
    system, machine, os_name = PLATFORMS[platform]
    there = {
        "python_version": python, "python_full_version": f"{python}.9", "os_name": os_name,
        "platform_system": system, "platform_machine": machine,
        "sys_platform": {"Windows": "win32"}.get(system, system.lower()),
    }  # fmt: skip
    found: dict[str, str] = {}
    for pin in pins():
        if pin.marker is None or pin.marker.evaluate(there):
            assert pin.name not in found
            [exact] = pin.specifier
            assert exact.operator == "=="
            found[canonicalize_name(pin.name)] = exact.version
    for each in asked():
        if each.marker is None or each.marker.evaluate(there):
            assert each.specifier.contains(found[canonicalize_name(each.name)], prereleases=True)
    assert "torch" not in found
    assert "pydantic" not in found


def test_it_has_a_hash_for_each_pin_and_no_address_or_option() -> None:
    text = lock.LOCK.read_text(encoding="utf-8")
    blocks = re.findall(r"(?m)^[a-z].*(?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+$", text)
    assert len(blocks) == len(pins()) > 40
    assert not lock._ADDRESS.search(text)


def test_what_is_asked_with_an_extra_is_pinned_with_it() -> None:
    """pip 23 takes the newest release of ``coverage[toml]``, which the lock has no hash of."""
    pinned = {(canonicalize_name(pin.name), extra) for pin in pins() for extra in pin.extras}
    wanted = {
        (canonicalize_name(each.name), extra)
        for pin in pins()
        for each in map(Requirement, required(pin.name))
        if each.marker is None or each.marker.evaluate({"extra": ""})
        for extra in each.extras
    }
    assert ("coverage", "toml") in wanted  # pytest-cov's
    assert wanted <= pinned


def required(name: str) -> list[str]:
    """Return what a package requires, where it is installed here."""
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


def test_the_test_command_installs_it_and_nothing_else() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [command] = re.findall(r"(?m)^    (python3 -m venv \.venv && .*pytest)$", text)
    assert "install -r tests/lock.txt &&" in command
    assert "install --no-deps --no-build-isolation -e ." in command
    builds = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())["build-system"]
    locked = {canonicalize_name(each.name) for each in pins()}
    assert {canonicalize_name(Requirement(each).name) for each in builds["requires"]} <= locked
    assert "editables" in locked  # hatchling asks for it when it installs a checkout


def answers(text: str, code: int = 0) -> Any:
    def run(argv: object, **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], code, text, "no such package")

    return run


def test_what_names_an_index_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LOCK", tmp_path / "lock.txt")
    monkeypatch.setattr("shutil.which", lambda _: "/bin/uv")
    for text in ("--extra-index-url x\na==1\n", "a @ https://example.org/a.whl\n"):
        monkeypatch.setattr(subprocess, "run", answers(text))
        with pytest.raises(SystemExit, match="address or has options"):
            lock.main()
    monkeypatch.setattr(subprocess, "run", answers("", 1))
    with pytest.raises(SystemExit, match="no such package"):
        lock.main()
    assert not (tmp_path / "lock.txt").exists()
    monkeypatch.setattr(subprocess, "run", answers("a==1 \\\n    --hash=sha256:00\n"))
    lock.main()
    assert (tmp_path / "lock.txt").read_text().endswith("a==1 \\\n    --hash=sha256:00\n")


def test_a_reason_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert upper_bounds.gone(lambda _: {"typer": "0.40", "pydantic": "3.0"}) == []
    [told] = upper_bounds.gone(lambda _: {"typer": "0.40"})
    assert told == "typer 0.40 does not require pydantic: lift the upper bound"
    monkeypatch.setattr("shutil.which", lambda _: "/bin/uv")
    monkeypatch.setattr(subprocess, "run", answers("typer==0.40\nrich==15.0.0\n"))
    assert upper_bounds.resolved("typer") == {"typer": "0.40", "rich": "15.0.0"}
    bounded = {each.name for each in asked() if "<" in str(each.specifier)}
    assert bounded == set(upper_bounds.REASONS)
