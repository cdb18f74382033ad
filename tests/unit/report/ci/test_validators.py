"""The consumers' own validators on each form: fetched from their registries, so in CI only.

SARIF: the schema and the rules that Microsoft's Multitool has for code scanning. JUnit: the XSD of
Jenkins' xunit plugin, as pytest's source distribution brings it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import jsonschema
import pytest

from fadoctor.model.finding import Severity
from fadoctor.report.ci import junit, sarif
from tests.unit.report.ci.hostile import ALL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]

MULTITOOL = "node_modules/@microsoft/sarif-multitool-linux"
MESSAGE = re.compile(r": (error|warning) [A-Z0-9]+: .*")


@pytest.fixture(scope="module")
def multitool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the Multitool: its program and the schema that it ships."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm")
    folder = tmp_path_factory.mktemp("multitool")
    argv = [npm, "install", "--silent", "--prefix", str(folder), "@microsoft/sarif-multitool@5.7.0"]
    subprocess.run(argv, cwd=folder, check=True, timeout=300)
    return folder / MULTITOOL


@pytest.mark.parametrize("name", ALL)
def test_sarif_has_no_fault_for_code_scanning(name: str, multitool: Path, tmp_path: Path) -> None:
    text = sarif.render(ALL[name])
    schema = json.loads((multitool / "sarif-2.1.0.json").read_text("utf-8-sig"))
    jsonschema.validate(json.loads(text), schema)
    file = tmp_path / "report.sarif"
    file.write_text(text, encoding="utf-8")
    argv = [str(multitool / "Sarif.Multitool"), "validate", str(file), "--rule-kind", "Sarif;Ghas"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    assert "Analysis completed" in done.stdout
    assert MESSAGE.findall(done.stdout) == []


@pytest.fixture(scope="module")
def xsd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the schema of Jenkins' xunit plugin."""
    folder = tmp_path_factory.mktemp("xsd")
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*argv, "pytest==8.4.2"], cwd=folder, check=True, timeout=300)
    (archive,) = folder.glob("pytest-*.tar.gz")
    with tarfile.open(archive) as files:
        member = files.extractfile("pytest-8.4.2/testing/example_scripts/junit-10.xsd")
        assert member is not None
        (folder / "junit-10.xsd").write_bytes(member.read())
    return folder / "junit-10.xsd"


@pytest.mark.parametrize("name", ALL)
def test_junit_holds_to_the_schema_of_jenkins(name: str, xsd: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    schema = xmlschema.XMLSchema(str(xsd))
    schema.validate(junit.render(ALL[name], tuple(Severity)))
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        schema.validate("<testsuites><testsuite wrong='1'/></testsuites>")
