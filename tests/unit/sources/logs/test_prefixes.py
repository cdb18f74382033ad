"""What stands before a line goes; who wrote it stays known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.sources.logs.prefixes import BY_FIRST, FORMS, strip_prefixes
from tests.work import examples, which_ends

TEXT = "RuntimeError: x"


@pytest.mark.parametrize(
    ("prefix", "channel"),
    [
        ("(WorkerDict pid=4711) ", "WorkerDict pid=4711"),
        ("(RayWorkerWrapper pid=12, ip=10.0.0.2) ", "RayWorkerWrapper pid=12, ip=10.0.0.2"),
        ("(EngineCore_DP0 pid=73) ERROR 01-28 17:37:45 [core.py:866] ", "EngineCore_DP0 pid=73"),
        ("(pid=9) ", "pid=9"),
        ("[rank3]: ", "rank3"),
        ("[default6]:[rank6]: ", "default6 rank6"),
        ("0001-steps/0 [default6]:[rank6]: ", "default6 rank6"),
        ("[1,3]<stderr>: ", "1,3"),
        ("ERROR 07-31 15:13:06 async_llm_engine.py:61] ", ""),
        ("Oct 04 13:19:39 host unit[394]: ", ""),
        ("2025-10-30T21:54:45.622419515Z ", ""),
        ("2025-10-30 21:54:45,628 - lib.manager - ERROR - ", ""),
        ("[2025-10-30 21:54:45,628] [ERROR] [launch.py:325:sigkill_handler] ", ""),
        ("[2025-10-30 21:54:45 TP0] ", "TP0"),
        ("[WARNING|logging.py:328] 2024-08-21 23:47:41,888 >> ", ""),
        ("W1031 12:00:00.000000 1304 torch/distributed/run.py:792] ", ""),
        ("[rank0]:[W1031 12:00:00.000000 1304 reducer.cpp:1] ", "rank0"),
        ("2025-10-30 21:54:45.628 | ERROR    | app.run:main:12 - ", ""),
        ("[address=0.0.0.0:37093, pid=1304] ", ""),
        ("> > ", ""),
        ("│ ", ""),
        ("---> 30 ", ""),
        ("E       ", ""),
        ("#12 34.56 ", ""),
        ("0.526 ", ""),
        ("34.56 ", ""),
        ("515.6 ", ""),
        ("web-1  | ", "web-1"),
        ("##[error]", ""),
        ("WARNING:xformers:", ""),
    ],
)
def test_each_style(prefix: str, channel: str) -> None:
    assert strip_prefixes(prefix + TEXT) == (TEXT, channel)


@pytest.mark.parametrize(
    "line",
    [
        TEXT,
        "    indented code",
        "ERROR: flash_attn-2.8.3-cp310-cp310-linux_x86_64.whl is not a supported wheel",
        "(head_dim, head_dim_v)=(192, 192) is not supported",
        "[end of output]",
        "1 error generated.",
        "22.04 LTS is the system here",
        "23.65 GiB total capacity",
        "2.8.0 of torch",
        "-- The CXX compiler identification is GNU 14.2.1",
        "",
    ],
)
def test_what_is_no_prefix_stays(line: str) -> None:
    assert strip_prefixes(line) == (line, "")


def test_indentation_behind_a_prefix_stays() -> None:
    assert strip_prefixes('[rank1]:   File "a.py"') == ('  File "a.py"', "rank1")


def test_the_frame_of_rich_goes_at_both_ends() -> None:
    assert strip_prefixes("│ ❱ 42 │   x = 1      │")[0].strip() == "x = 1"


MUCH = 100_000
"""Characters; whose square is more than a processor does in a minute."""


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_no_form_runs_away(number: int) -> None:
    units = ("(", "[", "a", "1", " ", "2025-10-30 ", "│ ", "a.", "-", "(pid=", "[rank", ":")
    with which_ends():
        for unit in units:
            FORMS[number].match(unit * MUCH)
            FORMS[number].match("(" + unit * MUCH)
            FORMS[number].match("[" + unit * MUCH)


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(len(FORMS)))
@settings(deadline=None, max_examples=examples(25))
@given(data=st.data())
def test_a_form_is_tried_on_every_character_that_it_begins_with(
    number: int, data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(rf"\A{FORMS[number].pattern}"))
    forms = BY_FIRST.get(text[0])
    assert forms is None or FORMS[number] in forms
