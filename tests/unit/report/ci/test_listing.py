"""Where a finding is listed that lies in no line: in the files that were examined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.model.place import Place
from fadoctor.report.ci.listing import listing_of
from tests.unit.report.test_markdown import report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("facts", "file"),
    [
        ({"config.dtype": Known("bf16", "train.sh:4:1 --bf16 True")}, "train.sh"),
        ({"config.purpose": Known("training", "a b/x.yaml:1:1")}, "a b/x.yaml"),
        (
            {"config.dtype": Unknown("no file says it", "train.sh does not set it")},
            "pyproject.toml",
        ),
        ({"torch.version": Known("2.6.0", "METADATA:1:1")}, "pyproject.toml"),
    ],
)
def test_a_configuration_that_was_read_is_the_place(
    facts: dict[str, Fact], file: str, tmp_path: Path
) -> None:
    document = report()
    bare = structs.replace(document.findings[0], locations=(), subject="environment", evidence=())
    listing = listing_of(structs.replace(document, findings=(bare,), environment=facts), tmp_path)

    (located,) = listing.located
    assert located.places == (Place(file, 1),)
    assert not located.is_exact
