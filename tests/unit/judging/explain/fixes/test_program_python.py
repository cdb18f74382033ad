"""The Python of a program is told by its name, where no path of a text shows it."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.fixes.other_pythons import with_own_python
from fadoctor.judging.explain.fixes.program_python import TABLE, program_python
from fadoctor.judging.explain.fixes.situations import situations, suiting
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.facts import facts_of

MATRIX = Matrix(load_knowledge().tables)
WINDOWS = Known("windows", "a.txt:1")

NAMES = {
    "comfyui-zluda": "ComfyUI-Zluda",
    "stability-matrix": "Stability Matrix",
    "a1111": "AUTOMATIC1111",
    "forge": "Forge",
    "forge-neo": "Forge Neo",
    "sdnext": "SD.Next",
    "kohya": "kohya_ss",
    "ai-toolkit": "AI Toolkit",
    "rvc": "RVC",
    "gpt-sovits": "GPT-SoVITS",
    "whisper-webui": "Whisper-WebUI",
    "deep-live-cam": "Deep-Live-Cam",
    "hunyuan3d": "Hunyuan3D",
    "alltalk": "AllTalk",
    "easy-diffusion": "Easy Diffusion",
    "text-generation-webui": "oobabooga",
}


def _pip(text: str, system: object = WINDOWS) -> str:
    found = program_python(text, system, MATRIX.tables)
    return found.pip if found is not None else ""


@pytest.mark.parametrize("row", MATRIX.tables[TABLE].rows, ids=lambda row: str(row["program"]))
def test_a_name_tells_the_python_of_each_program(row: dict[str, object]) -> None:
    name = NAMES.get(str(row["program"]), str(row["program"]))
    edition = "portable" if row["edition"] == "package" else "venv"
    text = f"I start {name} ({edition}): Torch not compiled with CUDA enabled"
    found = program_python(text, WINDOWS, MATRIX.tables)
    assert found is not None
    python = row.get("python")
    assert found.pip == (f"{python} -m pip" if python else "") or edition == "venv"
    assert str(row["folder"]) in found.told or edition == "venv"


@pytest.mark.parametrize(
    ("text", "pip"),
    [
        ("The one-click package of RVC has no CUDA", r"runtime\python.exe -m pip"),
        ("A clone of RVC in a venv has no CUDA", r"venv\Scripts\python.exe -m pip"),
        ("ComfyUI in Stability Matrix has no CUDA", r"venv\Scripts\python.exe -m pip"),
        ("ComfyUI of SwarmUI", r"dlbackend\comfy\python_embeded\python.exe -s -m pip"),
        ("RVC and kohya_ss have no CUDA", ""),
        ("kohya_ss in WSL has no CUDA", ""),
        ("kohya_ss in Docker has no CUDA", ""),
        ("conda activate kohya, then kohya_ss has no CUDA", ""),
        ("We talk all day of a forge", r"system\python\python.exe -m pip"),
        ("My own script has no CUDA", ""),
    ],
)
def test_editions_and_places(text: str, pip: str) -> None:
    assert _pip(text) == pip


def test_only_a_text_about_windows_has_it() -> None:
    assert not _pip("kohya_ss has no CUDA", Known("linux", "a.txt:1"))
    assert not _pip("kohya_ss has no CUDA", None)
    assert _pip("gui.bat of kohya_ss has no CUDA", None)


def _placed(fix: Fix, *lines: str) -> tuple[str, ...]:
    said = facts_of(tuple(Line(n, text, "") for n, text in enumerate(lines, 1)), "a.txt", MATRIX)
    here = situations(lines, said.environment, MATRIX.tables)
    return tuple(step.text for step in suiting((fix,), here)[0].steps)


def test_commands_are_started_by_it_and_the_folder_is_said() -> None:
    fix = Fix("x", "Install it", Safety.SAFE, (Step(StepKind.SYSTEM, "pip install torch==2.8.0"),))
    command, told = _placed(fix, "Windows 11, kohya_ss", "Torch not compiled with CUDA enabled")
    assert command == r"venv\Scripts\python.exe -m pip install torch==2.8.0"
    assert told == "Run it in kohya_ss' folder."


def test_a_path_in_the_text_outweighs_the_name() -> None:
    fix = Fix("x", "Install it", Safety.SAFE, (Step(StepKind.SYSTEM, "pip install torch==2.8.0"),))
    shown = _placed(
        fix, r'File "D:\k\.venv\Lib\site-packages\torch\cuda.py"', "kohya_ss on Windows"
    )
    assert shown[0].startswith(r"D:\k\.venv\Scripts\python.exe -m pip")


def test_a_line_that_activates_an_environment_shows_its_python() -> None:
    fix = Fix("x", "Install it", Safety.SAFE, (Step(StepKind.SYSTEM, "pip install torch==2.8.0"),))
    shown = _placed(fix, r"C:\pinokio\api\x.git\app> C:\pinokio\api\x.git\app\env\Scripts\activate")
    assert shown[0].startswith(r"C:\pinokio\api\x.git\app\env\Scripts\python.exe -m pip")


@pytest.mark.parametrize(
    ("line", "python"),
    [
        (r"C:\AI\Wan2GP> .\env_uv\Scripts\activate.bat", r"C:\AI\Wan2GP\env_uv\Scripts\python.exe"),
        (r"PS D:\x>venv/Scripts/Activate.ps1", r"D:\x\venv\Scripts\python.exe"),
        (r"PS D:\x> echo venv/Scripts/Activate.ps1", "pip"),
    ],
)
def test_a_prompt_tells_where_the_environment_is(line: str, python: str) -> None:
    fix = Fix("x", "Install it", Safety.SAFE, (Step(StepKind.SYSTEM, "pip install torch==2.8.0"),))
    assert _placed(fix, line)[0].startswith(python)


OWN = r"D:\k\venv\Scripts\python.exe"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                r"In ComfyUI's portable folder: .\python_embeded\python.exe -s -m pip install x. "
                r"Elsewhere use its venv: venv\Scripts\python.exe -m pip."
            ),
            rf"Run {OWN} -m pip install x.",
        ),
        (
            (
                r"Use the program's own Python (runtime\python.exe, env\python.exe or "
                r"venv\Scripts\python.exe in its folder): -m pip list."
            ),
            rf"Use the program's own Python ({OWN}): -m pip list.",
        ),
        (
            (
                r"With it: python_embeded\python.exe of ComfyUI's portable version, or "
                r"system\python\python.exe of Forge's one-click package, each with -m pip."
            ),
            rf"With it: {OWN}, each with -m pip.",
        ),
        (
            r"For AMD on Linux, with the program's own Python (venv/bin/python): pip list.",
            r"For AMD on Linux, with the program's own Python (venv/bin/python): pip list.",
        ),
        ("Restart Windows after that.", "Restart Windows after that."),
    ],
)
def test_one_python_takes_the_place_of_several(text: str, said: str) -> None:
    assert with_own_python(text, OWN) == said


def test_a_python_of_linux_takes_the_place_of_none() -> None:
    text = r"Start pip with runtime\python.exe in its folder."
    assert with_own_python(text, "/srv/e/bin/python") == text
