"""No wheel helps a GPU that is too old: such a fix is not offered, beside whatever finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.diagnose import diagnose
from tests.smoke.smoke_recordings import complete
from tests.unit.judging.engine.builders import ABSENT, environment, shipped
from tests.unit.report.test_markdown import A_V100

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding

FA2 = {"config.framework": "llamafactory", "config.attention": "fa2"}


def found(**facts: object) -> Finding:
    report = diagnose(environment(complete({**A_V100, **FA2, **facts})), shipped())
    return next(each for each in report.findings if each.rule_id == "llamafactory-fa2-missing")


@pytest.mark.parametrize("capability", ["7.0", "7.5", "8.0", "9.0"])
def test_a_wheel_is_looked_for_only_where_a_gpu_can_run_it(capability: str) -> None:
    """LLaMA-Factory on a V100 got "find a prebuilt wheel"."""
    absent = {"flash_attn.version": ABSENT, "gpu[0].compute_capability": capability}
    fixes = [each.id for each in found(**absent).fixes]
    assert fixes[0] == "say-sdpa"
    assert (len(fixes) > 1) == (capability >= "8.0")
