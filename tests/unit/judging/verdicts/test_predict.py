"""Predictions: a cell works only where the kernel does and nothing stands against it."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.packages import EXTENSIONS
from fadoctor.model.verdict import Dtype, Measured, Predicted
from tests.unit.judging.engine.builders import ABSENT, UNREAD, rule
from tests.unit.judging.engine.kernel_tables import on, verdicts

WORKS, FAILS, UNKNOWN = Predicted.WORKS, Predicted.FAILS, Predicted.UNKNOWN

FA2 = ("gpu[0]", "fa2", "bf16")
ROTARY = ("gpu[0]", "fa-rotary", "bf16")


def deciding(**keys: Any) -> Any:
    plain = {"affects": {"backends": ["fa2"]}, "when": {"driver.version": {"below": "525"}}}
    return rule("driver-old", **{**plain, **keys})


def test_a_healthy_a100() -> None:
    found = verdicts(on("8.0"))
    predicted = {key[1:]: verdict.predicted for key, verdict in found.items()}
    assert predicted == {
        ("fa2", "bf16"): WORKS,
        ("fa2", "fp16"): WORKS,
        ("fa2", "fp32"): FAILS,
        ("sdpa-flash", "bf16"): WORKS,
        ("sdpa-flash", "fp16"): WORKS,
        ("sdpa-flash", "fp32"): UNKNOWN,
        ("sdpa-math", "bf16"): WORKS,
        ("sdpa-math", "fp16"): WORKS,
        ("sdpa-math", "fp32"): WORKS,
        ("fa-rotary", "bf16"): WORKS,
        ("fa-rotary", "fp16"): UNKNOWN,
        ("fa-rotary", "fp32"): UNKNOWN,
    }
    assert {verdict.measured for verdict in found.values()} == {Measured.NOT_RUN}
    assert {verdict.gpu for verdict in found.values()} == {"gpu[0] GPU 8.0"}
    assert found[FA2].package_version == "2.7.4"
    assert found[FA2].because == ()


def test_an_old_gpu_fails_for_the_reason_of_the_table() -> None:
    found = verdicts(on("7.0"))
    assert found[FA2].predicted is FAILS
    assert (found[FA2].because, found[FA2].detail) == (("gpu-too-old",), "needs Ampere")
    unmeasured = found["gpu[0]", "sdpa-flash", "fp16"]
    assert (unmeasured.predicted, unmeasured.because) == (UNKNOWN, ())
    assert unmeasured.detail == "nobody has measured it"


def test_eight_bits_are_shown_only_where_the_table_knows_them() -> None:
    facts = on("9.0", "8.0", flash_attn_3__version="3.0.0")
    eight = [key for key in verdicts(facts) if key[2] == "fp8"]
    assert eight == [("gpu[0]", "fa3", "fp8")]


@pytest.mark.parametrize(
    ("driver", "severity", "expected"),
    [
        ("470", "error", FAILS),
        (UNREAD, "error", UNKNOWN),
        ("550", "error", WORKS),
        (ABSENT, "error", WORKS),
        ("470", "warning", UNKNOWN),
        (UNREAD, "warning", WORKS),
        (UNREAD, "note", WORKS),
    ],
)
def test_errors_decide_the_cells_that_they_affect(
    driver: Any, severity: str, expected: Predicted
) -> None:
    found = verdicts(on("8.0", driver__version=driver), deciding(severity=severity))
    assert found[FA2].predicted is expected
    assert found[FA2].because == (() if expected is WORKS else ("driver-old",))
    assert found["gpu[0]", "sdpa-flash", "bf16"].predicted is WORKS


def test_the_reason_of_an_undecided_rule_is_told() -> None:
    found = verdicts(on("8.0", driver__version=UNREAD), deciding())
    assert found[FA2].detail == "could not be read"


def test_a_rule_decides_only_its_dtypes() -> None:
    only_bf16 = deciding(affects={"backends": ["fa2", "sdpa-flash"], "dtypes": ["bf16"]})
    found = verdicts(on("8.0", driver__version="470"), only_bf16)
    failing = {key[1:] for key, v in found.items() if "driver-old" in v.because}
    assert failing == {("fa2", "bf16"), ("sdpa-flash", "bf16")}


def test_a_rule_that_decides_nothing_changes_nothing() -> None:
    found = verdicts(on("8.0", driver__version="470"), deciding(affects=None))
    assert found[FA2].predicted is WORKS


def test_a_rule_about_one_gpu_leaves_the_others_alone() -> None:
    per_gpu = deciding(for_each=["gpu"], when={"gpu.mig": True})
    facts = {
        **on("8.0", "8.6", "9.0"),
        "gpu[0].mig": False,
        "gpu[1].mig": True,
        "gpu[2].mig": UNREAD,
    }
    found = verdicts(facts, per_gpu)
    predicted = [found[f"gpu[{n}]", "fa2", "bf16"].predicted for n in range(3)]
    assert predicted == [WORKS, FAILS, UNKNOWN]


def test_a_failure_outweighs_what_is_undecided_and_the_table_comes_first() -> None:
    undecided = rule("a-open", affects={"backends": ["fa2"]}, when={"driver.cuda": {"below": "12"}})
    facts = on("8.0", driver__version="470", driver__cuda=UNREAD)
    found = verdicts(facts, undecided, deciding())
    assert (found[FA2].predicted, found[FA2].because) == (FAILS, ("driver-old",))
    old = verdicts({**facts, "gpu[0].compute_capability": "7.0"}, undecided, deciding())
    assert old[FA2].because == ("gpu-too-old", "driver-old")


def test_a_failure_that_is_a_consequence_still_decides() -> None:
    cause = rule("a-cause", when={"driver.version": {"present": True}})
    effect = deciding(explained_by=["a-cause"])
    found = verdicts(on("8.0", driver__version="470"), cause, effect)
    assert found[FA2].because == ("driver-old",)


@pytest.mark.parametrize(
    ("triton", "expected", "detail"),
    [
        ("3.2.0", WORKS, ""),
        (ABSENT, FAILS, "needs triton, which is not installed"),
    ],
)
def test_a_backend_needs_other_packages(triton: Any, expected: Predicted, detail: str) -> None:
    found = verdicts(on("8.0", triton__version=triton))[ROTARY]
    assert (found.predicted, found.because, found.detail) == (expected, (), detail)


def test_a_need_that_could_not_be_looked_for_is_undecided() -> None:
    assert verdicts(on("8.0", triton__version=UNREAD))[ROTARY].predicted is UNKNOWN


def test_a_rule_that_broke_leaves_its_cells_undecided() -> None:
    broken = deciding(rows={"r": {"table": "nowhere"}}, when={"r.column": "x"})
    assert verdicts(on("8.0"), broken)[FA2].predicted is UNKNOWN


@pytest.mark.parametrize(
    ("version", "rows"),
    [(ABSENT, 0), (UNREAD, 3), ("1.0.9", 3)],
)
def test_only_installed_backends_have_rows(version: Any, rows: int) -> None:
    found = verdicts(on("8.0", flash_attn__version=version))
    mine = [verdict for key, verdict in found.items() if key[1] == "fa2"]
    assert len(mine) == rows
    half = {verdict.predicted for verdict in mine if verdict.dtype is not Dtype.FP32}
    assert half <= {UNKNOWN}


def test_of_an_unknown_release_only_what_none_can_do_is_sure() -> None:
    """A notebook that installs flash-attn on a T4 got "could not be decided"."""
    found = verdicts(on("7.5", flash_attn__version=UNREAD))
    assert {found[key].predicted for key in found if key[1] == "fa2"} == {Predicted.FAILS}
    found = verdicts(on("8.0", flash_attn__version=UNREAD))
    assert found[FA2].predicted is UNKNOWN


@pytest.mark.parametrize(
    ("torch", "shown"),
    [
        ("2.0.0", True),
        ("2.0.1+cu118", True),
        ("1.13.1", False),
        (UNREAD, True),
        ("custom build", True),
        ("2.0.0a0+nv23.03", True),
    ],
)
def test_a_backend_has_rows_from_its_first_version_on(torch: Any, shown: bool) -> None:  # noqa: FBT001
    found = verdicts(on("8.0", torch__version=torch))
    assert (("gpu[0]", "sdpa-math", "fp16") in found) is shown


@pytest.mark.parametrize("capability", [ABSENT, UNREAD, "8.0a1"])
def test_a_gpu_whose_capability_is_not_known_is_never_predicted(capability: Any) -> None:
    found = verdicts(on(capability))
    assert {v.predicted for key, v in found.items() if key[1:] == ("fa2", "bf16")} == {UNKNOWN}


@pytest.mark.parametrize(
    ("visible", "subjects"),
    [
        ((True, True), {"gpu[0]", "gpu[1]"}),
        ((False, True), {"gpu[1]"}),
        ((UNREAD, ABSENT), {"gpu[0]", "gpu[1]"}),
        ((False, False), set()),
    ],
)
def test_hidden_gpus_have_no_rows(visible: tuple[Any, Any], subjects: set[str]) -> None:
    facts = {**on("8.0", "7.0"), "gpu[0].visible": visible[0], "gpu[1].visible": visible[1]}
    assert {key[0] for key in verdicts(facts)} == subjects


@pytest.mark.parametrize("count", [0, UNREAD, ABSENT])
def test_without_gpus_there_is_no_table(count: Any) -> None:
    assert verdicts({**on("8.0"), "gpu.count": count}) == {}


def test_a_gpu_without_a_name() -> None:
    found = verdicts({**on("8.0"), "gpu[0].name": UNREAD})
    assert found[FA2].gpu == "gpu[0] unknown model"


def test_an_extension_decides_what_its_package_brings_and_what_needs_it() -> None:
    broken = rule(
        "it-is-broken",
        for_each=["extension"],
        affects={"extension": True},
        when={"extension.failure": "truncated"},
    )

    def predicted(**facts: Any) -> dict[str, Predicted]:
        usual = {f"{key}.version": None for key in EXTENSIONS if key not in ("torch", "triton")}
        absent = {f"{key}.binary.failure": None for key in ("torch", "triton", "flash_attn")}
        named = {name.replace("__", "."): value for name, value in facts.items()}
        found = verdicts({**usual, **on("8.0"), **absent, **named}, broken)
        return {key[1]: each.predicted for key, each in found.items() if key[2] == "bf16"}

    assert predicted() == {
        "fa2": WORKS,
        "sdpa-flash": WORKS,
        "sdpa-math": WORKS,
        "fa-rotary": WORKS,
    }
    flash = predicted(flash_attn__binary__failure="truncated")
    assert flash == {"fa2": FAILS, "sdpa-flash": WORKS, "sdpa-math": WORKS, "fa-rotary": FAILS}
    unread = predicted(flash_attn__binary__failure=UNREAD)
    assert (unread["fa2"], unread["sdpa-flash"]) == (UNKNOWN, WORKS)
    assert set(predicted(torch__binary__failure="truncated").values()) == {FAILS}
