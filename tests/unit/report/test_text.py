"""What the report says where there is nothing to show."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fadoctor.judging.diagnose import diagnose
from fadoctor.model.verdict import Measured, Predicted
from fadoctor.report import markdown
from fadoctor.report.style import Style
from fadoctor.report.text import render
from tests.smoke.smoke_recordings import complete
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment, shipped

A_GPU = {
    "gpu.count": 1,
    "gpu[0].name": "NVIDIA A100",
    "gpu[0].visible": True,
    "gpu[0].vendor": "nvidia",
}
SERVED = {"gpu.count": 1, "gpu[0].compute_capability": "8.0", "torch.cuda": "12.8"}
HEALTHY = {"torch.version": "2.8.0", "gpu.count": 0}


def text(facts: dict[str, Any]) -> str:
    return render(diagnose(environment(complete(facts)), shipped()), Style())


def test_a_configuration_without_a_gpu_asks_for_one() -> None:
    """A configuration alone, on a laptop, was told of packages only."""
    asks = "There is no GPU to judge the configuration for: add one, such as --gpu V100."
    bare = {"torch.version": ABSENT, "gpu.count": 0}
    configured = {**bare, "config.framework": "transformers", "config.dtype": "bf16"}
    assert asks in " ".join(text(configured).split())
    assert "--gpu V100" not in text(bare)
    assert "--gpu V100" not in text({**configured, **A_GPU})


def test_without_torch_that_is_what_is_said() -> None:
    """It was "No findings", "there is no GPU here" beside --gpu, and a backend of torch to use."""
    said = text({"torch.version": ABSENT, **A_GPU})
    assert "None of the packages that fadoctor checks is installed here" in said
    assert said.startswith("✗ None of the packages that fadoctor checks is installed here")
    assert "No findings" not in said
    assert "no GPU here" not in said
    assert "\nUse " not in said
    said = text({"torch.version": ABSENT, "flash_attn.version": "2.8.3", **A_GPU})
    assert "error: torch is not installed" in said
    assert said.startswith("✗ torch is not installed here: no attention can run.")
    assert "\n  Use " not in said


def test_what_is_the_answer_already_is_not_said_again() -> None:
    """A gate's one line said twice that nothing is installed, and that nothing was found."""
    facts = complete({"torch.version": ABSENT, "gpu.count": 0})
    document = diagnose(environment(facts), shipped())
    answer = "None of the packages that fadoctor checks is installed here."
    assert render(document, Style(quiet=True)).count(answer) == 1
    assert "No findings" not in render(document, Style(quiet=True))
    assert markdown.render(document).count(answer) == 1


@pytest.mark.parametrize(
    ("facts", "part"),
    [
        (HEALTHY, "There is no GPU here."),
        ({**HEALTHY, "gpu.count": UNREAD}, "fadoctor could not read which GPU is here."),
        (
            {**HEALTHY, **A_GPU, "torch.version": UNREAD, "gpu[0].visible": False},
            "fadoctor could not tell which torch is here: ",
        ),
        (
            {**HEALTHY, **A_GPU, "gpu.visible_count": 0, "gpu[0].visible": False},
            "All GPUs are hidden",
        ),
    ],
)
def test_why_there_is_no_table(facts: dict[str, Any], part: str) -> None:
    assert part in text(facts)


def test_a_backend_of_which_nothing_is_known_is_not_simply_to_be_used() -> None:
    """The heading said that something below is to be repaired, where nothing was."""
    report = diagnose(environment(complete({**HEALTHY, **A_GPU, **SERVED})), shipped())
    assert report.recommendation is not None
    unknown = tuple(
        structs.replace(verdict, predicted=Predicted.UNKNOWN, because=(), detail="")
        for verdict in report.verdicts
    )
    name = report.recommendation.backend.value
    where = "; not verified for your versions"
    for measured, words in ((Measured.NOT_RUN, where), (Measured.PASSED, "")):
        verdicts = tuple(structs.replace(each, measured=measured) for each in unknown)
        said = render(structs.replace(report, findings=(), verdicts=verdicts), Style(width=200))
        [heading] = [line for line in said.splitlines() if line.startswith("  Use ")]
        assert heading.endswith(f" ({name}){words}.")


def test_problems_are_blamed_only_for_what_fails() -> None:
    """ "Once the problems are repaired" stood over cells that nobody knows for want of --driver."""
    report = diagnose(environment(complete({**HEALTHY, **A_GPU, **SERVED})), shipped())
    without_driver = "--gpu was given without --driver"
    for predicted, detail, words in (
        (Predicted.FAILS, "", ", once the problems are repaired."),
        (Predicted.UNKNOWN, "", "; not verified for your versions."),
        (Predicted.UNKNOWN, without_driver, "; add --driver to know whether it runs."),
        (Predicted.UNKNOWN, "it depends on the version", "; not verified for your versions."),
    ):
        changed = {"predicted": predicted, "detail": detail, "because": ()}
        cells = tuple(structs.replace(each, **changed) for each in report.verdicts)
        document = structs.replace(report, verdicts=cells, overlays=("--gpu T4",))
        said = render(document, Style(width=200))
        [heading] = [line for line in said.splitlines() if line.startswith("  Use ")]
        assert heading.endswith(words)


def test_no_driver_of_nvidia_is_asked_for_beside_a_gpu_of_amd() -> None:
    facts = complete({**HEALTHY, **A_GPU, **SERVED}) | {"gpu[0].vendor": "amd"}
    report = diagnose(environment(facts), shipped())
    cells = tuple(structs.replace(each, predicted=Predicted.UNKNOWN) for each in report.verdicts)
    assumed = structs.replace(report, verdicts=cells, overlays=("--gpu MI300X",))
    [heading] = [
        x for x in render(assumed, Style(width=200)).splitlines() if x.startswith("  Use ")
    ]
    assert heading.endswith("; not verified for your versions.")
