"""Lists of conda's packages, one a line."""

from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.formats.conda_specs import read, recognises
from fadoctor.sources.manifests.read import read_source
from tests.unit.sources.manifests.given import by_name, given, wanted

EXPORTED = (
    "# This file may be used to create an environment using:\n"
    "# $ conda create --name <env> --file <this file>\n# platform: linux-64\n"
    "python=3.10.13=h955ad1f_0\npytorch=2.1.2=py3.10_cuda11.8_cudnn8.7.0_0\n"
    "transformers=4.36.2=pypi_0\nflash-attn=2.4.2=pypi_0\n"
)


def test_an_export_names_all_that_is_there() -> None:
    found = read_source(given(EXPORTED, "requirements.txt"))
    assert wanted(found) == {
        "torch": "==2.1.2",
        "transformers": "==4.36.2",
        "flash-attn": "==2.4.2",
    }
    assert [each.manager for each in found.requirements] == ["conda", "", ""]
    assert found.is_complete
    assert found.python is not None
    assert found.python.value == "==3.10.13"


PRINTED = (
    "# packages in environment at /opt/conda/envs/train:\n#\n"
    "# Name                    Version                   Build  Channel\n"
    "python                    3.8.18               h955ad1f_0\n"
    "pytorch                   1.12.1          py3.8_cuda11.3_cudnn8.3.2_0    pytorch\n"
    "einops                    0.6.1                    pypi_0    pypi\n"
)


@pytest.mark.parametrize("name", ["conda_list.txt", "packages.log", "ENVIRONMENT"])
def test_what_conda_list_prints(name: str) -> None:
    found = read_source(given(PRINTED, name))
    assert wanted(found) == {"torch": "==1.12.1", "einops": "==0.6.1"}
    assert [each.manager for each in found.requirements] == ["conda", ""]
    assert found.is_complete
    assert found.facts["torch.cuda"].value == "11.3"


def test_a_list_of_wishes() -> None:
    found = read(given("python=3.8\npytorch=2.0.1\npytorch-cuda=11.8\nwandb # to watch\n", "x.txt"))
    assert by_name(found)["torch"].specifier == "==2.0.1"
    assert not found.is_complete
    assert found.facts["torch.cuda"].value == "11.8"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (EXPORTED, True),
        ("numpy\npython=3.8\n", True),
        ("numpy==1.26\npython=3.8\n", False),  # a slip in a list of pip
        ("einops\ntransformers=4.29.2\npeft\ntorch\n", False),  # another one
        ("numpy==1.26\n", False),
        ("numpy\ntorch\n", False),
        ("-r base.txt\npython=3.8\n", False),
        ("", False),
    ],
)
def test_one_sign_before_each_version(text: str, is_one: bool) -> None:  # noqa: FBT001
    assert recognises("requirements.txt", text) is is_one


def test_what_is_none_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"x\.txt:2"):
        read(given("python=3.8\n[[[=1\n", "x.txt"))
