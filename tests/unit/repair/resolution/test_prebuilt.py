"""Whether a planned flash-attn comes as a file or is compiled, and what PyPI has under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Known, fact_words
from fadoctor.model.finding import Severity
from fadoctor.model.overlays import Overlays
from fadoctor.model.verdict import Backend, Dtype, Predicted
from fadoctor.repair.resolution import resolver_worlds
from fadoctor.repair.resolution.judge import foresee_planned
from fadoctor.repair.resolution.prebuilt import Prebuilt
from fadoctor.sources.targets.overlay import apply_overlays
from tests.unit.judging.engine.builders import UNREAD, environment
from tests.unit.repair.plan.problems import session
from tests.unit.repair.resolution.test_judge import findings, judged, on
from tests.unit.sources.manifests.installed.test_environment import OFFICIAL, planned

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.repair.resolution.judge import Preflight


@pytest.fixture(autouse=True)
def all_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try all versions however many there are."""
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 10_000)


APART = "--no-build-isolation"
"""Without it flash-attn is built in isolation, which fails whatever the tables say."""


def on_a100(folder: Path, *lines: str) -> Preflight:
    text = "".join(f"{line}\n" for line in (*lines, APART))
    return judged(folder, text, "A100", "580.65")


def fa2(found: Preflight) -> Predicted:
    [cell] = [
        each
        for each in found.shown.verdicts
        if (each.backend, each.dtype) == (Backend.FA2, Dtype.BF16)
    ]
    return cell.predicted


def test_beside_a_torch_without_cuda_nothing_is_built(tmp_path: Path) -> None:
    index = "--index-url https://download.pytorch.org/whl/cpu"
    text = f"{index}\ntorch==2.6.0\nflash-attn==2.7.4.post1\n{APART}\n"
    found = findings(judged(tmp_path, text, "none", ""))
    assert found["flash-attn-beside-cpu-torch"].severity is Severity.ERROR


@pytest.mark.parametrize(
    ("torch", "release"), [("2.11.0", "2.8.3"), ("2.8.0", "2.5.8"), ("2.13.0", "2.8.3.post1")]
)
def test_what_must_be_compiled_is_a_note_and_an_open_cell(
    tmp_path: Path, torch: str, release: str
) -> None:
    found = on_a100(tmp_path, f"torch=={torch}", f"flash-attn=={release}")
    note = findings(found)["prebuilt-wheel-missing"]
    assert note.severity is Severity.NOTE
    assert {at.line for at in note.locations} == {1, 2}
    assert fa2(found) is Predicted.UNKNOWN


@pytest.mark.parametrize(
    "lines",
    [
        ("torch==2.8.0", "flash-attn==2.8.3"),
        ("torch==2.4.0", "flash-attn==2.6.3"),
        ("torch==2.8.0", "flash-attn"),  # nobody has read the files of the newest one
        ("torch==2.7.1", f"flash-attn @ {OFFICIAL}"),
    ],
)
def test_what_comes_as_a_file_works(tmp_path: Path, lines: tuple[str, ...]) -> None:
    found = on_a100(tmp_path, *lines)
    assert "prebuilt-wheel-missing" not in findings(found)
    assert fa2(found) is Predicted.WORKS


def test_of_a_release_whose_files_nobody_has_read_it_is_open(tmp_path: Path) -> None:
    found = on_a100(tmp_path, "torch==2.12.0", "flash-attn")
    assert "prebuilt-wheel-missing" not in findings(found)
    assert fa2(found) is Predicted.UNKNOWN


def test_what_the_file_holds_that_comes_is_judged(tmp_path: Path) -> None:
    """Regression: of what an installer fetches nothing was known, so that it worked anywhere."""
    text = "torch==2.9.0+cu130\nflash-attn==2.8.3\n"
    text = "--extra-index-url https://download.pytorch.org/whl/cu130\n" + text
    mixed = judged(tmp_path, text, "H100", "580.65").planned.environment
    major = mixed.fact("flash_attn.wheel.cuda_major")
    assert isinstance(major, Known)
    assert major.value == "12"  # setup.py offers the file for CUDA 12 to a torch for CUDA 13
    index = "--extra-index-url https://download.pytorch.org/whl/cu128\n"
    text = f"{index}torch==2.7.1+cu128\nflash-attn==2.7.4.post1\n{APART}\n"
    assert fa2(judged(tmp_path, text, "B200", "580.65")) is Predicted.UNKNOWN
    assert fa2(judged(tmp_path, text, "H100", "580.65")) is Predicted.WORKS


def test_an_old_glibc_is_told_of_the_file_that_comes(tmp_path: Path) -> None:
    environment = on(tmp_path, "torch==2.8.0\nflash-attn==2.8.3\n", "A100", "580.65")
    facts = environment.facts | {"host.glibc": Known("2.31", "test")}
    old = foresee_planned(msgspec.structs.replace(environment, facts=facts), session().knowledge)
    found = findings(old)["glibc-too-old"]
    assert found.severity is Severity.WARNING  # setup.py was read; nobody has run it
    assert found.message.endswith("An installer fetches that wheel, unless it is told to compile.")


@pytest.mark.parametrize("line", ["torch==2.7.5", "flash-attn==2.4.4", "transformers==4.48.9"])
def test_a_release_that_was_never_made_is_told(tmp_path: Path, line: str) -> None:
    found = findings(on_a100(tmp_path, line))["index-name-mistaken"]
    assert "PyPI has no such release" in found.message


@pytest.mark.parametrize(
    "line",
    ["torch==2.8", "transformers==4.57.0", "flash-attn==99.0", "torch==0.4.1", "vllm==0.11.1rc1",
     "torch==2.7.5+ours", "datasets==9.9.9", "torchvision==0.15.0"],
)  # fmt: skip
def test_one_that_may_exist_is_not(tmp_path: Path, line: str) -> None:
    assert "index-name-mistaken" not in findings(on_a100(tmp_path, line))


def test_the_list_of_flash_attn_is_that_of_its_table() -> None:
    rows = session().matrix.tables["flash-attn-releases"].rows
    published = {v for r in rows if r.get("on_pypi") is True for v in str(r["version"]).split()}
    cells = session().matrix.find("listed-releases", {"package": Known("flash-attn", "test")})
    assert set(fact_words(cells.cell("releases"))) == published


def test_for_rocm_there_is_no_file_and_all_else_works(tmp_path: Path) -> None:
    """It stood as works above sources that the installer compiles."""
    index = "--extra-index-url https://download.pytorch.org/whl/rocm7.2"
    lines = (index, "torch==2.13.0+rocm7.2", "flash-attn==2.8.3")
    text = "".join(f"{line}\n" for line in (*lines, APART))
    found = judged(tmp_path, text, "MI300X", "")
    assert "prebuilt-wheel-missing" in findings(found)
    assert fa2(found) is Predicted.UNKNOWN
    cells = {(each.backend, each.dtype): each.predicted for each in found.shown.verdicts}
    assert cells[Backend.SDPA_FLASH, Dtype.BF16] is Predicted.WORKS
    assert cells[Backend.SDPA_CUDNN, Dtype.BF16] is Predicted.FAILS
    isolated = judged(tmp_path, "".join(f"{line}\n" for line in lines), "MI300X", "")
    assert fa2(isolated) is Predicted.FAILS
    assert "build-no-torch-isolation" in findings(isolated)


def test_of_another_index_nothing_is_said(tmp_path: Path) -> None:
    lines = ("torch==2.11.0", "flash-attn==2.8.3", "apex", "flash-attn-3")
    for option in (
        "--extra-index-url https://wheels.example.org/simple",
        "--find-links https://wheels.example.org/",
    ):
        found = findings(on_a100(tmp_path, option, *lines))
        assert not {"prebuilt-wheel-missing", "index-name-mistaken"} & found.keys()


def test_a_torch_that_needs_a_newer_c_is_the_cause(tmp_path: Path) -> None:
    found = findings(on_a100(tmp_path, "torch==2.14.0", "flash-attn==2.8.3"))
    assert found["torch-needs-cxx20"].consequences == ("prebuilt-wheel-missing",)


@pytest.mark.parametrize(
    "line",
    ["flash-attn-3", "flash-attn-3==3.0.0", "flash-attn-3==0.0.0", "flash-attention>=1",
     "sageattention==2.2.0", "sageattention>=2,<3", "apex", "flashinfer==0.2.5"],
)  # fmt: skip
def test_a_name_that_means_something_else_is_told(tmp_path: Path, line: str) -> None:
    found = findings(on_a100(tmp_path, "torch==2.8.0", line))["index-name-mistaken"]
    assert found.severity is Severity.WARNING
    assert [at.line for at in found.locations] == [2]


@pytest.mark.parametrize(
    "line",
    ["sageattention", "sageattention==1.0.6", "flash-attn", "flashinfer-python",
     "flash-attn-3 @ https://example.org/flash_attn_3-3.0.0-cp39-abi3-linux_x86_64.whl",
     "apex @ git+https://github.com/NVIDIA/apex"],
)  # fmt: skip
def test_what_is_meant_is_not(tmp_path: Path, line: str) -> None:
    assert "index-name-mistaken" not in findings(on_a100(tmp_path, "torch==2.8.0", line))


@pytest.mark.parametrize(
    ("page", "platform", "glibc", "expected"),
    [
        ("v0.5.4", "linux_x86_64", "2.31", Predicted.UNKNOWN),
        ("v0.5.4", "linux_x86_64", "2.35", Predicted.WORKS),
        ("v0.7.16", "manylinux_2_24_x86_64.manylinux_2_28_x86_64", "2.31", Predicted.WORKS),
        ("v0.7.16", "manylinux_2_24_x86_64.manylinux_2_28_x86_64", "2.17", Predicted.FAILS),
    ],
)
def test_a_file_of_others_works_where_it_promises_to_load(
    tmp_path: Path, page: str, platform: str, glibc: str, expected: Predicted
) -> None:
    """Regression: any community file worked under any glibc."""
    repository = "https://github.com/mjun0812/flash-attention-prebuild-wheels/releases/download"
    name = f"flash_attn-2.8.3%2Bcu128torch2.8-cp312-cp312-{platform}.whl"
    text = f"torch==2.8.0\nflash-attn @ {repository}/{page}/{name}\n"
    machine = planned(tmp_path, text, host__glibc=glibc, host__libc="glibc", host__glibcxx="3.4.33")
    environment = apply_overlays(machine, Overlays(("A100",), "570.86"), session().matrix)
    assert fa2(foresee_planned(environment, session().knowledge)) is expected


@pytest.mark.parametrize("version", ["2.9.0", "3.0.0", "2.8.9.post1"])
def test_of_a_release_that_no_table_knows_nobody_says_that_it_has_no_wheel(
    tmp_path: Path, version: str
) -> None:
    """Regression: its absence from the lists of files was taken for the absence of files."""
    found = on_a100(tmp_path, "torch==2.10.0", f"flash-attn=={version}")
    assert "prebuilt-wheel-missing" not in findings(found)


def test_of_an_old_release_that_never_asks_for_a_file_it_is_known(tmp_path: Path) -> None:
    found = on_a100(tmp_path, "torch==2.10.0", "flash-attn==1.0.9")
    assert found.planned.environment.fact("flash_attn.wheel.prebuilt") == Known(
        value=False, source="matrix flash-attn-wheels"
    )


@pytest.mark.parametrize(("release", "is_told"), [("2.5.8", True), ("2.7.4.post1", False)])
def test_of_an_unknown_python_it_is_told_where_none_has_a_file(
    tmp_path: Path, release: str, *, is_told: bool
) -> None:
    text = (
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
        "RUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124\n"
        f"RUN pip install flash-attn=={release} --no-build-isolation\n"
    )
    found = findings(judged(tmp_path, text, "A100", "580.65"))
    assert ("build-nvcc-missing" in found) is is_told
    assert ("prebuilt-wheel-missing" in found) is is_told


@pytest.mark.parametrize(("release", "has_none"), [("2.8.3", True), ("2.7.4.post1", False)])
def test_for_a_torch_of_conda_it_is_told_where_neither_abi_has_a_file(
    release: str, *, has_none: bool
) -> None:
    facts = {
        "torch.version": "2.3.1", "torch.build": "other", "torch.installer": "conda",
        "torch.cuda": "12.1", "torch.cxx11_abi": UNREAD, "python.abi_tag": "cp310",
        "host.platform": "linux_x86_64", "flash_attn.version": release,
    }  # fmt: skip
    there = environment(facts)
    found = Prebuilt(session().matrix).facts(there, there.facts, "")
    none = Known(value=False, source="matrix flash-attn-wheels")
    assert found == ({"flash_attn.wheel.prebuilt": none} if has_none else {})
