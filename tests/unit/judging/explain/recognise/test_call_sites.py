"""A frame says what failed where the exception below it was cut."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

SETUP = r'  File "{}setup.py", line 89, in get_cuda_bare_metal_version'
LINUX = "/tmp/pip-install-a1b2/flash-attn_0123456789abcdef0123456789abcdef/"
WINDOWS = "C:\\T\\pip-install-a1b2\\flash-attn_0123456789abcdef0123456789abcdef\\"
CALL = "    raw_output = subprocess.check_output([cuda_dir + '/bin/x', '-V'])\n"


def loud(knowledge: Knowledge, log: str) -> list[str]:
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    return [each.rule_id for each in report.findings if each.severity.value != "note"]


@pytest.mark.parametrize("folder", [LINUX, WINDOWS])
def test_the_last_frame_speaks(knowledge: Knowledge, folder: str) -> None:
    log = f"Traceback (most recent call last):\n{SETUP.format(folder)}\n{CALL}"
    assert loud(knowledge, log) == ["build-nvcc-missing"]


def test_a_frame_that_begins_within_a_line_speaks(knowledge: Knowledge) -> None:
    log = 'v\\Lib\\site-packages\\triton\\runtime\\driver.py", line 8, in _create_driver\n'
    assert loud(knowledge, log) == ["triton-no-active-driver"]


@pytest.mark.parametrize(
    "log",
    [
        f"{SETUP.format('/srv/other/')}\n{CALL}",
        f"{SETUP.format(LINUX)}\n{CALL}KeyboardInterrupt\n",
        f'{SETUP.format(LINUX)}\n{CALL}  File "/srv/a.py", line 3, in read\n    x()\n',
    ],
)
def test_what_is_not_the_end_says_nothing(knowledge: Knowledge, log: str) -> None:
    assert loud(knowledge, log) == []


RUN = '  File "/usr/lib/python3.11/subprocess.py", line 421, in check_output\n'


@pytest.mark.parametrize("folder", [LINUX, "/tmp/pip-req-build-x_1/"])
def test_frames_of_the_standard_library_are_skipped(knowledge: Knowledge, folder: str) -> None:
    assert loud(knowledge, f"{SETUP.format(folder)}\n{CALL}{RUN}") == ["build-nvcc-missing"]


ARCHIVED = '  File "subprocess.py", line 421, in check_output\n'


def test_frames_of_a_portable_python_are_skipped(knowledge: Knowledge) -> None:
    assert loud(knowledge, f"{SETUP.format(WINDOWS)}\n{CALL}{ARCHIVED}") == ["build-nvcc-missing"]
    other = ARCHIVED.replace("subprocess", "execution")
    assert loud(knowledge, f"{SETUP.format(WINDOWS)}\n{CALL}{other}") == []


def test_the_call_in_the_last_frame_speaks(knowledge: Knowledge) -> None:
    frame = '  File "/v/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 1, in {}\n'
    called = "    _check_if_gpu_supports_dtype(self.model_config.dtype)\n"
    assert loud(knowledge, frame.format("init_device") + called) == ["bf16-unsupported-gpu"]
    assert loud(knowledge, frame.format("init_device") + "    other(self.dtype)\n") == []


SITES = [
    ("/tmp/pip-install-ab12/apex_0123456789abcdef0123/setup.py", "get_cuda_bare_metal_version",
     "build-nvcc-missing"),
    ("/tmp/pip-install-ab12/mamba-ssm_0123456789abcdef0123/setup.py",
     "get_cuda_bare_metal_version", "build-nvcc-missing"),
    ("/v/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py",
     "_check_if_gpu_supports_dtype", "bf16-unsupported-gpu"),
    ("/v/lib/python3.12/site-packages/vllm/v1/sample/ops/topk_topp_sampler.py",
     "flashinfer_sample", "flashinfer-build-failed"),
    ("/v/lib/python3.12/site-packages/flashinfer/jit/cpp_ext.py", "run_ninja",
     "flashinfer-build-failed"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "function", "rule"), SITES)
def test_each_package_with_a_site_speaks_by_its_frame(
    knowledge: Knowledge, path: str, function: str, rule: str
) -> None:
    text = f'  File "/w/run.py", line 3, in <module>\n  File "{path}", line 40, in {function}\n'
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    assert [each.rule_id for each in report.findings] == [rule]


def test_each_site_has_a_source_of_one_release_or_commit(knowledge: Knowledge) -> None:
    table = knowledge.tables["call-sites"]
    pinned = [
        each.url for each in table.references if compiled(r"@\d|/[0-9a-f]{40}/").search(each.url)
    ]
    assert len(pinned) == len(table.references)
    named = " ".join(pinned).lower()
    for row in table.rows:
        packages = {str(each) for each in row["package"]} - {"setup"}  # type: ignore[union-attr]  # words
        assert all(each.replace("_", "-").split("-")[0] in named for each in packages), packages
