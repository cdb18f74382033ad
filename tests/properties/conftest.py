"""Everything that is imported late is imported before the first example.

hypothesis draws constants from the modules that are loaded: a module that comes with the first
example makes the second one another, and the run ends with "inconsistent data generation".
"""

from __future__ import annotations

import pytest

from fadoctor.judging.diagnose import diagnose
from tests.properties.worlds import cases, knowledge, of_case


@pytest.fixture(autouse=True, scope="session")
def _everything_is_loaded() -> None:
    for _, case in cases():
        if case.facts:
            diagnose(of_case(case), knowledge())
            return
