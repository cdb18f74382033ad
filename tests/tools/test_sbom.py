"""The bill of materials is of the wheel, and of nothing else."""

from __future__ import annotations

from email import message_from_string
from typing import TYPE_CHECKING, Any

import pytest

from tools.sbom import SbomError, finished, problems, required

if TYPE_CHECKING:
    from email.message import Message


@pytest.fixture
def metadata() -> Message:
    return message_from_string(
        "Metadata-Version: 2.4\nName: fadoctor\nVersion: 0.2.0\n"
        "Requires-Dist: typer<0.29,>=0.17\nRequires-Dist: PyYAML>=6\n"
        "Requires-Dist: torch; extra == 'torch'\n"
        'Requires-Dist: mkdocs<2; extra == "docs"\n\nText\n'
    )


@pytest.fixture
def bill() -> dict[str, Any]:
    components = [
        {"bom-ref": name, "name": name, "version": "1", "purl": f"pkg:pypi/{name}@1"}
        for name in ("typer", "pyyaml", "rich")
    ]
    edges = [
        {"ref": "root", "dependsOn": ["typer", "pyyaml"]},
        {"ref": "typer", "dependsOn": ["rich"]},
    ]
    own = {"bom-ref": "root", "name": "fadoctor"}
    return {"metadata": {"component": own}, "components": components, "dependencies": edges}


def test_the_bill_says_which_wheel_it_is_of(bill: dict[str, Any], metadata: Message) -> None:
    own = finished(bill, metadata, "ab" * 32)["metadata"]["component"]
    assert own["version"] == "0.2.0"
    assert own["purl"] == "pkg:pypi/fadoctor@0.2.0"
    assert own["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert required(metadata) == {"typer", "pyyaml"}
    assert list(problems(bill, metadata)) == []


def test_what_does_not_fit_is_named(bill: dict[str, Any], metadata: Message) -> None:
    bill["components"].append({"bom-ref": "pip", "name": "pip", "version": "", "purl": "x"})
    bill["dependencies"][0]["dependsOn"] = ["typer", "torch"]
    assert list(problems(bill, metadata)) == [
        "the wheel requires pyyaml, and the bill says otherwise",
        "the wheel does not require torch, and the bill says otherwise",
        "the bill lists pip, which nothing requires",
        "the bill lists pyyaml, which nothing requires",
        "the bill has no version or address of pip",
    ]
    bill["metadata"]["component"]["name"] = "other"
    with pytest.raises(SbomError, match="the bill is of other"):
        finished(bill, metadata, "")
