from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.formats.environment_yml import read, recognises
from tests.unit.sources.manifests.given import by_name, given, sample, wanted


def test_what_conda_and_pip_would_install() -> None:
    manifest = read(sample("environment.yml"))
    assert wanted(manifest) == {
        "torch": "==2.3.1", "pytorch-cuda": "==12.1.*", "xformers": "==0.0.27", "numpy": "<2",
        "einops": ">=0.7,<0.9", "cudatoolkit-dev": "==11.8.*", "pip": "", "peft": "==0.11.1",
        "flash-attn": "==2.5.9.post1", "transformers": ">=4.41", "trl": "",
    }  # fmt: skip
    found = by_name(manifest)
    assert (found["torch"].manager, found["torch"].index) == ("conda", "pytorch")
    assert found["torch"].place == Place("environment.yml", 9, 5)
    assert (found["xformers"].index, found["xformers"].build) == ("conda-forge", "cuda120_py311*")
    assert found["flash-attn"].manager == ""
    assert found["flash-attn"].place == Place("environment.yml", 19, 9)
    assert found["transformers"].place == Place("environment.yml", 20, 10)
    assert found["peft"].place == Place("extra.txt", 1, 1)
    assert manifest.python is not None
    assert manifest.python.value == "==3.11.*"
    assert manifest.facts["torch.cuda"].value == "12.1"
    assert manifest.variables["TORCH_CUDA_ARCH_LIST"].value == "8.0"
    assert [each.value for each in manifest.indexes] == ["https://example.org/simple"]
    assert not manifest.is_complete


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dependencies: torch", "given:1 at `dependencies`: should be a list"),
        ("dependencies:\n- [a]", r"given:2 at `dependencies\[0\]`: should be text"),
        ("dependencies:\n- numpy=>1", r"given:2 at `dependencies\[0\]`: '=>1' is not a version"),
        ("dependencies:\n- '@ x'", r"given:2 at `dependencies\[0\]`: '@ x' is not a package name"),
        ("dependencies:\n- pip:\n  - torch=2", "given:3: no requirement as PEP 508 has it"),
        ("dependencies:\n- pip: 3", r"given:2 at `dependencies\[0\].pip`: should be a list"),
        ('dependencies:\n- pip:\n  - "a\\x3d1"', "folded or has escapes"),
        ("dependencies:\n- pip:\n  - -r missing.txt", "missing.txt: No such file"),
        ("dependencies:\n - a\n- b", "given:3: not valid YAML: "),
        ("variables: []", "given:1 at `variables`: should be a table"),
    ],
)
def test_a_fault_names_line_and_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text))


def test_it_is_known_by_what_it_holds() -> None:
    text = "name: x\nchannels:\n  - a\ndependencies:\n  - b\n"
    assert recognises("environment.yml", text)
    assert recognises("gpu.yaml", text)
    assert recognises("env.gpu.yml", "dependencies:\n- b\n")
    assert recognises("env.yml", "name: x\ndependencies: [python=3.11, pytorch]\n")
    assert recognises("env.yml", "name: x\r\ndependencies:\r\n  - pytorch\r\n")
    assert recognises("gpu.yml", "channels: [conda-forge]\ndependencies: [pytorch]\n")
    assert not recognises("pubspec.yaml", "dependencies:\n  flutter: 1\n")
    assert not recognises("environment.yml", "model: x\n")
    assert not recognises("environment.txt", text)


def test_pip_builds_beside_the_torch_of_conda() -> None:
    text = (
        "channels: [pytorch]\ndependencies:\n- pytorch=2.3.1\n- pip:\n  - flash-attn==2.5.9.post1\n"
    )
    found = {each.name: each for each in read(given(text, "environment.yml")).requirements}
    assert found["flash-attn"].is_isolated_by_new
    told = text + "variables: {PIP_NO_BUILD_ISOLATION: '0'}\n"
    found = {each.name: each for each in read(given(told, "environment.yml")).requirements}
    assert not found["flash-attn"].is_isolated_by_new


@pytest.mark.parametrize(
    ("channels", "torch", "bound"),
    [
        ("pytorch, nvidia", "pytorch", ">=2.4.0,<=2.5.1"),
        ("pytorch, nvidia", "pytorch=2.4.1", "==2.4.1"),
        ("conda-forge, pytorch", "pytorch", ""),
        ("conda-forge", "pytorch::pytorch", ">=2.4.0,<=2.5.1"),
    ],
)
def test_the_channel_bounds_torch_by_its_cuda(channels: str, torch: str, bound: str) -> None:
    text = f"channels: [{channels}]\ndependencies:\n- {torch}\n- pytorch-cuda=12.4\n"
    assert wanted(read(given(text, "environment.yml")))["torch"] == bound


def test_an_epoch_is_passed_over() -> None:
    text = "dependencies:\n  - x264=1!161.3030=h7f98852_1\n  - pytorch=2.1.2\n"
    assert wanted(read(given(text, "environment.yml")))["torch"] == "==2.1.2"


def channels(*names: str, torch: str, python: str = "3.12") -> str:
    listed = "".join(f"  - {name}\n" for name in names)
    return (
        f"channels:\n{listed}dependencies:\n  - python={python}\n  - {torch}\n"
        "  - pytorch-cuda=11.8\n"
    )


@pytest.mark.parametrize(
    ("names", "is_alone"),
    [
        (("pytorch", "nvidia"), True),
        (("https://conda.anaconda.org/pytorch", "nodefaults"), True),
        (("pytorch", "nvidia", "conda-forge"), False),
        (("conda-forge",), False),
    ],
)
def test_torch_of_one_channel_has_no_other(names: tuple[str, ...], *, is_alone: bool) -> None:
    found = by_name(read(given(channels(*names, torch="pytorch=2.1.0"))))
    assert found["torch"].is_only_index is is_alone


@pytest.mark.parametrize(
    ("torch", "specifier"),
    [
        ("pytorch", ">=2.2.0,<=2.5.1"),  # for Python 3.12
        ("pytorch>=2.1", ">=2.1,>=2.2.0,<=2.5.1"),
        ("pytorch=2.3.1", "==2.3.1"),
        ("pytorch>=2.6", ">=2.6"),  # another channel may have it
    ],
)
def test_a_range_ends_where_the_channel_does(torch: str, specifier: str) -> None:
    found = by_name(read(given(channels("pytorch", "nvidia", torch=torch))))
    assert found["torch"].specifier == specifier
