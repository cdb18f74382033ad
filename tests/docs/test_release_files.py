"""What releases are made with agrees with pyproject.toml, and has no more rights than it needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tools.release import Files, version_in

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
_USES = re.compile(r"^ *(?:- )?uses: *(\S+)(.*)$", re.MULTILINE)
_OURS = re.compile(
    r"OWNER/fadoctor(/triage|/\.github/workflows/triage\.yml)?@REVISION|\./fadoctor/triage"
)
_IN_JINJA = re.compile(r"\$\{\{ (\w+) \}\}")


def read(path: Path) -> Any:
    """Return YAML as strings: `on` and 3.10 stay what they look like."""
    return yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506 -- ours, strings only


@pytest.fixture(scope="module")
def recipe() -> Any:
    return read(ROOT / "recipe" / "recipe.yaml")


def requirements(items: list[str]) -> dict[str, SpecifierSet]:
    found = {}
    for item in items:
        name, _, rest = _IN_JINJA.sub("3.10", item).partition(" ")
        found[name] = SpecifierSet(rest if rest[:1] in "<>=" else f"=={rest}")
    return found


def of_project(items: list[str]) -> dict[str, SpecifierSet]:
    """Return what is required on the lowest Python: conda builds all releases for the others."""
    lowest = {"python_version": "3.10", "python_full_version": "3.10.0"}
    found = [Requirement(each) for each in items]
    return {
        each.name: each.specifier
        for each in found
        if each.marker is None or each.marker.evaluate(lowest)
    }


def test_the_recipe_requires_what_the_project_does(recipe: Any) -> None:
    run = requirements(recipe["requirements"]["run"])
    assert run.pop("python") == SpecifierSet(PROJECT["project"]["requires-python"])
    assert run == of_project(PROJECT["project"]["dependencies"])
    host = requirements(recipe["requirements"]["host"])
    assert host.keys() >= {"python", "pip"}
    del host["python"], host["pip"]
    assert host == of_project(PROJECT["build-system"]["requires"])
    lowest = read(ROOT / "recipe" / "variants.yaml")["python_min"]
    assert [f">={each}" for each in lowest] == [PROJECT["project"]["requires-python"]]


def test_the_recipe_says_of_the_project_what_the_project_does(recipe: Any) -> None:
    project = PROJECT["project"]
    scripts = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["context"]["name"] == project["name"]
    files = Files(ROOT)
    assert recipe["context"]["version"] == version_in(
        files.code, re.compile(r'__version__ = "(.+)"')
    )
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["license"] == project["license"]
    assert [recipe["about"]["license_file"]] == project["license-files"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_pins_what_it_uses_and_holds_no_secret(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = read(path)
    assert workflow["permissions"] == {}
    assert "secrets." not in text
    assert "pull_request_target" not in text
    for name, job in workflow["jobs"].items():
        rights = {right for right, kind in job["permissions"].items() if kind == "write"}
        allowed = {"id-token", "attestations", "contents", "issues", "pull-requests"}
        assert rights <= allowed, name
        assert "timeout-minutes" in job, name
        if rights:  # what holds a right runs nothing that comes from a checkout of its caller
            taken = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
            revisions = {step["with"].get("ref") for step in taken}
            assert revisions <= {"${{ inputs.revision }}"} or runs_nothing_of_ours(job), name


def runs_nothing_of_ours(job: Any) -> bool:
    """Return whether the steps of a job run git and gh alone, on a checkout that they only push."""
    scripts = [step["run"] for step in job["steps"] if "run" in step]
    words = {word for script in scripts for word in re.findall(r"[\w./-]+", script)}
    return words.isdisjoint({"python", "python3", "pip", "bash", "sh", "uv"}) and not any(
        word.startswith(("tools/", "./", ".ci/")) for word in words
    )


def test_every_action_is_pinned_by_one_commit_with_its_version() -> None:
    """A tag can be moved to other code; what people copy from a page is held to the same."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "rules"]
    found: dict[str, set[str]] = {}
    for path in (
        *WORKFLOWS,
        ROOT / "action.yml",
        ROOT / "triage/action.yml",
        ROOT / "README.md",
        *pages,
    ):
        for used, version in _USES.findall(path.read_text(encoding="utf-8")):
            if not _OURS.fullmatch(used):
                assert _PINNED.fullmatch(used), f"{path.name}: {used}"
                assert re.fullmatch(r" # v\d+\.\d+\.\d+", version), f"{path.name}: {used}"
                found.setdefault(used.partition("@")[0], set()).add(used + version)
    assert {"actions/checkout", "github/codeql-action/upload-sarif"} <= found.keys()
    assert [each for each in found.values() if len(each) > 1] == []


def test_a_release_is_built_once_tested_attested_and_then_published() -> None:
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert set(jobs["attest"]["needs"]) == {"build", "test", "test-built"}
    assert (jobs["publish"]["needs"], jobs["page"]["needs"]) == ("attest", "publish")
    assert jobs["publish"]["environment"] == "pypi"
    built = [
        step for job in jobs.values() for step in job["steps"] if "build" in step.get("run", "")
    ]
    assert [step["run"].split()[0] for step in built] == ["tools/build_release.sh"]
    pythons = jobs["test-built"]["strategy"]["matrix"]["python"]
    assert f">={pythons[0]}" == PROJECT["project"]["requires-python"]


def test_the_files_that_workflows_run_are_there() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        for script in re.findall(r"(?<![\w/])(?:tools|\.ci)/[\w./]+", text):
            assert (ROOT / script).stat().st_mode & 0o111, script
        for module in re.findall(r"python -m (tools\.\w+)", text):
            file = ROOT / module.replace(".", "/")
            assert file.with_suffix(".py").is_file() or (file / "__main__.py").is_file(), module


def test_the_image_is_small_and_nobodys_root() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert len(set(images)) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+", images[0])
    version = images[0].partition(":")[2].partition("-")[0]
    assert version in SpecifierSet(PROJECT["project"]["requires-python"])
    assert lines.index("USER 1000") < lines.index('ENTRYPOINT ["fadoctor"]')
    assert next(iter(PROJECT["project"]["scripts"])) in lines[-2]


def test_the_image_gets_what_the_wheel_is_built_from_and_no_more() -> None:
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert kept[1] == "*"
    named = [line[1:] for line in kept if line.startswith("!")]
    assert all((ROOT / name).exists() for name in named)
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *wheel["packages"], *wheel["force-include"], *wheel["shared-data"],
        PROJECT["tool"]["hatch"]["build"]["hooks"]["custom"]["path"],
        PROJECT["project"]["readme"], *PROJECT["project"]["license-files"],
        "pyproject.toml", "rules",
    }  # fmt: skip
    for path in needed:
        assert any(path == name or path.startswith(f"{name}/") for name in named), path
