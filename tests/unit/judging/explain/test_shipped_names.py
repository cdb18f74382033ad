"""The shipped tables of names answer messages that people really met."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.asked_names import name_facts
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.model.fact import Known
from tests.unit.judging.engine.builders import environment

FRAME = '  File "/v/lib/python3.11/site-packages/{}/x.py", line 12, in <module>\n'


@pytest.mark.parametrize(
    ("module", "name", "asker", "says", "upgrade"),
    [
        (
            "huggingface_hub",
            "cached_download",
            "sentence_transformers",
            "huggingface-hub has it up to 0.25.2. sentence-transformers asks for it up to 2.2.2",
            "sentence-transformers>=2.3.0,<=",
        ),
        (
            "transformers",
            "HybridCache",
            "peft",
            "peft asks for it from 0.16.0 to 0.17.1",
            "peft>=0.18.0,<=",
        ),
    ],
)
def test_a_name_that_went(module: str, name: str, asker: str, says: str, upgrade: str) -> None:
    found = name_facts({"module": module, "name": name}, FRAME.format(asker), environment({}))
    told, newer = (found[f"log.name_{each}"] for each in ("told", "upgrade"))
    assert isinstance(told, Known)
    assert says in str(told.value)
    assert isinstance(newer, Known)
    assert str(newer.value).startswith(upgrade)


def test_every_package_that_is_asked_was_read() -> None:
    tables = load_apart()
    read = {str(row["module"]) for row in tables["names-read"].rows}
    for name in ("names-given", "names-asked"):
        tops = {str(row["module"]).partition(".")[0] for row in tables[name].rows}
        assert tops <= read
    assert len(tables["names-given"].rows) > 500
