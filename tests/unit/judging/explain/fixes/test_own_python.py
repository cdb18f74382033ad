"""The Python that runs a program, by the paths in its log."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.own_python import (
    own_conda,
    own_folder,
    own_pip,
    own_python,
    typed_pip,
    uv_options,
)

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.mark.parametrize(
    ("lines", "python"),
    [
        ([r'"D:\ui\venv\lib\site-packages\torch\x.py", line 3'], r"D:\ui\venv\Scripts\python.exe"),
        ([r"'E:\\rvc\\runtime\\lib\\site-packages\\torch'"], r"E:\rvc\runtime\python.exe"),
        ([r"Python executable:  G:\app\pylibs_win\python.exe"], r"G:\app\pylibs_win\python.exe"),
        ([r'venv "C:\my ui\venv\Scripts\Python.exe"'], r'"C:\my ui\venv\Scripts\Python.exe"'),
        ([r"C:\Users\a\miniconda3\envs\b\Lib\site-packages\torch\x.py"], ""),
        ([r"C:\Users\a\AppData\Roaming\Python\Python312\site-packages\torch\x.py"], ""),
        ([r"D:\a\venv\Lib\site-packages\x.py", r"D:\b\venv\Lib\site-packages\x.py"], ""),
        ([r"F:\t\env\lib\queue.py", r"F:\t\env\lib\site-packages\x.py"], r"F:\t\env\python.exe"),
        ([r"C:\P\lib\ssl.py", r"D:\venv\lib\site-packages\x.py"], r"D:\venv\Scripts\python.exe"),
        ([r"D:\lip\.scribe\lib\site-packages\x.py"], r"D:\lip\.scribe\Scripts\python.exe"),
        ([r"D:\lip\parts\lib\site-packages\x.py"], ""),
        (["/opt/venv/lib/python3.11/site-packages/torch/x.py"], ""),
        (['"/home/a/ui/venv/lib/python3.10/site-packages/x.py"'], "/home/a/ui/venv/bin/python"),
        (["/opt/u/d/venv/lib/python3.10/site-packages/x.py"], "/opt/u/d/venv/bin/python"),
        (["venv ./venv/bin/python"], "./venv/bin/python"),
        (["venv made with /usr/bin/python3"], ""),
        (["/home/a/ui/.venv/lib/python3.10/site-packages/x.py"], ""),
        (["/home/a/miniconda3/envs/b/lib/python3.10/site-packages/x.py"], ""),
        (["(venv) a@b:~$ x", "/home/a/venv/lib/python3.10/site-packages/x.py"], ""),
        ([r"python : D:\Нова\.venv_x\Scripts\python.exe"], r'"D:\Нова\.venv_x\Scripts\python.exe"'),
        ([r"E:\aki-v1\python\python.exe main.py"], r"E:\aki-v1\python\python.exe"),
        ([r"C:\Python312\python.exe -m pip install torch"], ""),
        ([r"E:\! Ai\ui\venv\lib\site-packages\x.py"], r'"E:\! Ai\ui\venv\Scripts\python.exe"'),
        ([r"D:\a&calc\venv\Lib\site-packages\x.py"], ""),
        (["/home/a/tune/lib/python3.11/site-packages/x.py"], "/home/a/tune/bin/python"),
        (["/data/envs/b/lib/python3.10/site-packages/x.py"], "/data/envs/b/bin/python"),
        (["/h/a/lib/python3.9/site-packages/x", "/h/b/lib/python3.9/site-packages/y"], ""),
        (["(tune) a@b:~$ x", "/home/a/tune/lib/python3.10/site-packages/x.py"], ""),
        (["/home/a/miniconda3/lib/python3.10/site-packages/x.py"], ""),
        (["/home/a/.local/lib/python3.10/site-packages/x.py"], ""),
        (["/tmp/pip-build-env-x1/overlay/lib/python3.10/site-packages/x.py"], ""),
        (["/usr/local/lib/python3.12/site-packages/x.py"], ""),
        (["/cvmfs/soft/python/3.9.6/lib/python3.9/site-packages/x.py"], ""),
        (["/Library/Frameworks/Python.framework/Versions/3/lib/python3.11/site-packages/x"], ""),
    ],
)  # fmt: skip
def test_what_paths_show(lines: list[str], python: str) -> None:
    assert own_python(lines) == python


@pytest.mark.parametrize(
    ("lines", "pip"),
    [
        (["/home/a/.local/pipx/venvs/scribe/lib/python3.10/x.py"], "pipx runpip scribe"),
        ([r"C:\Users\a\pipx\venvs\scribe\Lib\site-packages\x.py"], "pipx runpip scribe"),
        (["/pipx/venvs/one/lib/x.py", "/pipx/venvs/two/lib/x.py"], ""),
        (["/opt/venvs/scribe/lib/python3.10/x.py"], ""),
    ],
)
def test_what_pipx_installed_is_reached_through_it(lines: list[str], pip: str) -> None:
    assert own_pip(lines) == pip


@pytest.mark.parametrize(
    ("lines", "pip"),
    [
        (["$ uv pip install vllm==0.10.0", "RUN uv pip install einops"], "uv pip"),
        (["pip3 install flash-attn"], "pip3"),
        ([r"D:\ui>.\py\python.exe -m pip install x"], r".\py\python.exe -m pip"),
        (["py -3.11 -m pip install torch"], "py -3.11 -m pip"),
        ([r'Command: "C:\my ui\venv\Scripts\python.exe" -m pip install x'],
         r'"C:\my ui\venv\Scripts\python.exe" -m pip'),
        (["pip install torch", "uv pip install torch"], ""),
        (["FOO=1 poetry run pip install x", "pipenv is here, too"], "poetry run pip"),
        (["pdm run python -m pip install x"], "pdm run python -m pip"),
        (["pip install torch"], ""),
        (["[notice] To update, run: python.exe -m pip install --upgrade pip"], ""),
        (["/tmp/$(x)/python -m pip install torch"], ""),
    ],
)  # fmt: skip
def test_pip_is_started_as_it_was_typed(lines: list[str], pip: str) -> None:
    assert typed_pip(lines) == pip


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (["[node] failed: Using Python 3.12.10 environment at: _env_x"], "--python _env_x"),
        (["Using CPython 3.11.9 environment at: D:\\my ui\\env"], '--python "D:\\my ui\\env"'),
        (["Using Python 3.12.3 environment at: .venv"], ""),
        (["Using Python 3.12.3 environment at: /usr"], "--system"),
        (["Using Python 3.12.3 environment at: a", "Using Python 3.12.3 environment at: b"], None),
        (["Using Python 3.12.3 environment at: $(x)"], None),
        (["Using Python 3.12.3"], None),
    ],
)  # fmt: skip
def test_uv_is_told_the_environment_that_it_used(lines: list[str], options: str | None) -> None:
    assert uv_options(lines) == options


def test_commands_and_advice_start_it_as_it_was_typed(knowledge: Knowledge) -> None:
    log = (
        "RUN uv pip install --system torch==2.8.0\n"
        "ImportError: cannot import name 'packaging' from 'pkg_resources' "
        "(/usr/local/lib/python3.12/dist-packages/pkg_resources/__init__.py)"
    )
    [finding, *_] = explain(read_log(io.BytesIO(log.encode()), "a", knowledge), knowledge).findings
    texts = [step.text for step in finding.fixes[0].steps]
    assert "uv pip install --system setuptools==69.5.1" in texts


def test_commands_start_it(knowledge: Knowledge) -> None:
    log = (
        r'  File "D:\ui\venv\lib\site-packages\pkg_resources\__init__.py", line 1'
        "\nImportError: cannot import name 'packaging' from 'pkg_resources' "
        r"(D:\ui\venv\lib\site-packages\pkg_resources\__init__.py)"
    )
    [finding, *_] = explain(read_log(io.BytesIO(log.encode()), "a", knowledge), knowledge).findings
    texts = [step.text for step in finding.fixes[0].steps]
    assert r"D:\ui\venv\Scripts\python.exe -m pip install setuptools==69.5.1" in texts


def test_variables_of_one_command_stay_before_pip(knowledge: Knowledge) -> None:
    log = (
        "CMAKE_ARGS='-DLLAMA_CUBLAS=on' poetry run pip install llama-cpp-python\n"
        "The log still shows BLAS = 0, so the GPU is not used.\n"
    )
    [finding, *_] = explain(read_log(io.BytesIO(log.encode()), "a", knowledge), knowledge).findings
    first = finding.fixes[0].steps[0].text
    assert first.startswith('CMAKE_ARGS="-DGGML_CUDA=on" poetry run pip install "llama-cpp-python')


@pytest.mark.parametrize(
    ("lines", "active"),
    [
        ([r"C:\Users\a\miniconda3\envs\b\Lib\site-packages\torch\x.py"], "conda activate b"),
        ([r"D:\miniconda\Lib\site-packages\torch\x.py"], r'conda activate "D:\miniconda"'),
        (
            [r"D:\a\anaconda3\envs\b\lib\site-packages\x.py", r"E:\c\venv\Lib\site-packages\y.py"],
            "",
        ),
        ([r"E:\tts\installer_files\env\lib\site-packages\torch\x.py"], ""),
        (["/home/a/miniconda3/envs/b/lib/python3.10/site-packages/x.py"], "conda activate b"),
        (["/root/micromamba/envs/b/lib/python3.9/site-packages/"], "micromamba activate b"),
        (["(base) a@c:~$ x", "/o/.conda/envs/b/lib/python3.9/site-packages/"], "conda activate b"),
        (["(b) a@c:~$ x", "/home/a/anaconda3/envs/b/lib/python3.10/site-packages/x.py"], ""),
        (["/home/a/anaconda3/lib/python3.10/site-packages/x.py"], ""),
        (["/data/envs/b/lib/python3.10/site-packages/x.py"], ""),
    ],
)
def test_conda_is_activated(lines: list[str], active: str) -> None:
    assert own_conda(lines) == active


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ([r"D:\lip\parts\Lib\site-packages\x.py"], r"D:\lip\parts: in a venv"),
        (["/root/a/.venv/lib/python3.10/site-packages/x"], "uv pip install --python /root/a/.venv"),
        (["(a) b@c:~$ x", "/root/a/.venv/lib/python3.10/site-packages/x"], ""),
        (["/home/a/tune/lib/python3.11/site-packages/x.py"], ""),
        ([r"C:\Users\a\miniconda3\envs\b\Lib\site-packages\torch\x.py"], ""),
        ([r"D:\a\Lib\site-packages\x.py", r"D:\b\Lib\site-packages\x.py"], ""),
    ],
)
def test_a_folder_is_named_where_its_start_is_open(lines: list[str], named: str) -> None:
    assert (named in own_folder(lines)) if named else own_folder(lines) == ""
