"""Plans as changes of lines: what stays of a line, what is not touched, how files are written."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.errors import ApplyError
from fadoctor.model.fact import Fact, Known
from fadoctor.model.place import Place
from fadoctor.model.plan import Action, ActionKind, Conflict, Plan, PlanOutcome
from fadoctor.repair.resolution.lines import Lines, lines_of
from fadoctor.repair.resolution.requirement_line import GONE, changed_line, still_asked
from fadoctor.repair.resolution.write import write_all
from fadoctor.sources.manifests.read import read_source
from fadoctor.sources.manifests.source import open_source

URL = "https://example.org/flash_attn-2.8.3+cu12torch2.6-cp312-cp312-linux_x86_64.whl"
FLASH = f"flash-attn @ {URL}"
TEXT = "requirements.txt"


@pytest.mark.parametrize(
    ("line", "name", "wanted", "kind", "new"),
    [
        ("torch==2.7.1", "torch", "torch==2.6.0", TEXT, "torch==2.6.0"),
        ("  torch >= 2.4, <3  # why\r", "torch", "torch==2.6.0", TEXT, "  torch==2.6.0  # why\r"),
        ("Flash_Attn==2.8.3 ; os_name == 'posix'", "flash-attn", "flash-attn==2.7.3", TEXT,
         "Flash_Attn==2.7.3 ; os_name == 'posix'"),
        ("flash-attn==2.8.3;os_name=='posix'", "flash-attn", FLASH, TEXT,
         f"{FLASH} ;os_name=='posix'"),
        ("transformers[torch]~=4.50", "transformers", "transformers==4.57.1", TEXT,
         "transformers[torch]==4.57.1"),
        ("flash-attn @ https://a.org/x.whl#sha256=1", "flash-attn", FLASH, TEXT, FLASH),
        ("https://a.org/flash_attn-2.8.3-x.whl", "flash-attn", FLASH, TEXT, FLASH),
        ('    "torch>=2.4,<3",', "torch", "torch==2.6.0", "pyproject.toml", '    "torch==2.6.0",'),
        ('    "torch (>=2.4,<3) ; x > \'1\'",', "torch", "torch==2.6.0", "pyproject.toml",
         '    "torch==2.6.0 ; x > \'1\'",'),
        ('dependencies = ["torch>=2.4", "x"]', "torch", "torch==2.6.0", "pyproject.toml",
         'dependencies = ["torch==2.6.0", "x"]'),
        ("RUN pip install torch==2.7.1 x", "torch", "torch==2.6.0", "Dockerfile",
         "RUN pip install torch==2.6.0 x"),
        ("RUN pip install flash-attn==2.8.3 x", "flash-attn", FLASH, "Dockerfile",
         f"RUN pip install {URL} x"),
        ("pip install flash_attn-2.8.3-py3-none-any.whl", "flash-attn", FLASH, "install script",
         f"pip install {URL}"),
        ("uv pip install flash-attn==2.8.3 x", "flash-attn", FLASH, "install script",
         f"uv pip install {URL} x"),
        ("RUN pip install transformers>=4.55 x", "transformers", "transformers<5", "Dockerfile",
         'RUN pip install "transformers>=4.55,<5" x'),
        ("RUN pip install transformers>=5.1 x", "transformers", "transformers<5", "Dockerfile",
         'RUN pip install "transformers<5" x'),
        ("RUN pip install transformers>=4.5", "transformers", "transformers==4.57.1", "Dockerfile",
         "RUN pip install transformers==4.57.1"),
        ("torch==2.7.1 --hash=sha256:1", "torch", "torch==2.6.0", TEXT, None),
        ("torch==2.7.1 \\", "torch", "torch==2.6.0", TEXT, None),
        ("xformers==0.0.31  # fast", "xformers", "", TEXT, GONE),
        ('x = ["torch>=2.4", "einops"]', "torch", "", "pyproject.toml", 'x = ["einops"]'),
        ('x = ["einops" , "torch>=2.4"]', "torch", "", "pyproject.toml", 'x = ["einops"]'),
        ("x = ['torch>=2.4']  # one", "torch", "", "pyproject.toml", "x = []  # one"),
        ("RUN pip install einops torch", "torch", "", "Dockerfile", None),
        ('torch = "^2.4"', "torch", "", "pyproject.toml", None),
        ('torch = "^2.4"', "torch", "torch==2.6.0", "pyproject.toml", None),
        ('torch = {version = "2.4"}', "torch", "torch==2.6.0", "pixi.toml", None),
        ("RUN pip install torch==2.7.1 \\", "torch", "torch==2.6.0", "Dockerfile",
         "RUN pip install torch==2.6.0 \\"),
        ("  - torch==2.7.1", "torch", "torch==2.6.0", "environment.yml", "  - torch==2.6.0"),
        ("  - torch=2.7.1", "torch", "torch==2.6.0", "environment.yml", None),
        ("  - flash-attn==2.8.3", "flash-attn", FLASH, "environment.yml", None),
        ('"torch": "2.7.1"', "torch", "torch==2.6.0", "composer.json", None),
    ],
)  # fmt: skip
def test_a_line_keeps_all_but_what_is_asked_for(
    line: str, name: str, wanted: str, kind: str, new: str | None
) -> None:
    column = line.startswith("https") or next(
        at + 1 for word in (name.replace("-", "_"), name) if (at := line.lower().find(word)) >= 0
    )
    assert changed_line(line, column, name, wanted, kind) == new


def planned(folder: Path, text: str, *actions: Action, name: str = TEXT) -> Lines:
    path = folder / name
    if not path.exists():
        path.write_bytes(text.encode())
    plan = Plan(PlanOutcome.REPAIRS, Target("manifest", "x", "y"), "pip", actions)
    names = {n.partition("=")[0].partition(" ")[0] for a in actions for n in a.requirements}
    places: dict[str, tuple[Place, ...]] = {
        f"{name.replace('-', '_')}.version": (Place(str(path), at, 1),)
        for name in names
        for at, content in enumerate(text.split("\n"), 1)
        if content.startswith(name)
    }
    facts: dict[str, Fact] = {"torch.requires": Known({"triton": ""}, "test")}
    environment = Environment("0", plan.target, facts, places=places)
    return lines_of(plan, environment, [str(path)])


def test_what_was_wished_for_and_is_not_reached_stays(tmp_path: Path) -> None:
    """Nobody who wants flash-attn is told to take it out of the file."""
    path = tmp_path / "pixi.toml"
    path.write_text('[pypi-dependencies]\nflash-attn = "==2.7.4.post1"\n')
    target = Target("manifest", "x", "y")
    gone = Action(ActionKind.UNINSTALL, "remove", requirements=("flash-attn",))
    conflict = Conflict("fa2 on gpu[0]", ("no known combination of releases does it",), ())
    plan = Plan(PlanOutcome.REPAIRS, target, "pixi", (gone,), conflicts=(conflict,))
    places: dict[str, tuple[Place, ...]] = {"flash_attn.version": (Place(str(path), 2, 14),)}
    found = lines_of(plan, Environment("0", target, {}, places=places), [str(path)])
    assert found.rewrites == ()
    assert [each.text for each in found.edits] == [
        (
            f"{path}:2:14: keep flash-attn only if you change how it is installed: "
            "`fadoctor check` says how"
        )
    ]


def install(*requirements: str, index: str = "") -> Action:
    return Action(ActionKind.INSTALL, "install", requirements=requirements, index=index)


def test_a_diff_and_the_file_it_makes(tmp_path: Path) -> None:
    text = "# ours\r\ntorch==2.7.1\r\nxformers==0.0.31\r\nnumpy\r\n"
    gone = Action(ActionKind.UNINSTALL, "remove", requirements=("xformers",))
    found = planned(tmp_path, text, install("torch==2.6.0", "triton==3.2.0"), gone)
    [edit] = found.edits
    changed = [" # ours", "-torch==2.7.1", "-xformers==0.0.31", "+torch==2.6.0", " numpy"]
    assert edit.diff.split("\n")[2:] == ["@@ -1,4 +1,3 @@", *changed]
    (tmp_path / TEXT).chmod(0o640)
    assert write_all(found.rewrites) == (str(tmp_path / TEXT),)
    assert (tmp_path / TEXT).read_bytes() == b"# ours\r\ntorch==2.6.0\r\nnumpy\r\n"
    assert (tmp_path / TEXT).stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == [TEXT]


def test_another_distribution_of_the_package_takes_its_line(tmp_path: Path) -> None:
    text = "torch==2.7.1\ntriton==3.3.1  # compiles\n"
    gone = Action(ActionKind.UNINSTALL, "remove", requirements=("triton",))
    found = planned(tmp_path, text, gone, install("triton-windows==3.3.1.post21"))
    [edit] = found.edits
    assert "-triton==3.3.1  # compiles" in edit.diff
    assert "+triton-windows==3.3.1.post21  # compiles" in edit.diff


def test_the_index_of_a_build_comes_along(tmp_path: Path) -> None:
    cpu, cu126 = (f"https://download.pytorch.org/whl/{build}" for build in ("cpu", "cu126"))
    text = f"--index-url {cpu}\ntorch==2.7.1\n"
    found = planned(tmp_path, text, install("torch==2.7.1+cu126", index=cu126))
    assert found.rewrites[0].text == f"--index-url {cu126}\ntorch==2.7.1+cu126\n"
    (tmp_path / TEXT).unlink()
    found = planned(tmp_path, "torch==2.7.1\n", install("torch==2.7.1+cu126", index=cu126))
    assert found.rewrites[0].text == f"--extra-index-url {cu126}\ntorch==2.7.1+cu126\n"


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("pip install", "pip install --extra-index-url {index}"),
        ("pip install -i {other}", "pip install -i {index}"),
        (
            "uv pip install --system",
            "uv pip install --extra-index-url {index} --index-strategy unsafe-best-match --system",
        ),
    ],
)
def test_a_command_names_the_index_and_all_that_comes_from_it(
    tmp_path: Path, command: str, after: str
) -> None:
    """What stands further on in a line is found again where something before it has grown."""
    index, other = (f"https://download.pytorch.org/whl/{build}" for build in ("cu126", "cu130"))
    line = f"RUN {command} torch==2.12.0 x torchvision==0.27.0".format(index=index, other=other)
    file = str(tmp_path / "Dockerfile")
    Path(file).write_text(f"FROM debian\n{line}\n")
    wanted = ("torch==2.12.0+cu126", "torchvision==0.27.0+cu126")
    target = Target("manifest", "x", "y")
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (install(*wanted, index=index),))
    places: dict[str, tuple[Place, ...]] = {
        f"{name}.version": (Place(file, 2, line.index(f"{name}==") + 1),)
        for name in ("torch", "torchvision")
    }
    found = lines_of(plan, Environment("0", target, {}, places=places), [file])
    [edit] = found.edits
    told = after.format(index=index)
    assert f"+RUN {told} {wanted[0]} x {wanted[1]}" in edit.diff.split("\n")


def test_what_the_only_index_of_a_command_gives_by_itself_is_not_written(tmp_path: Path) -> None:
    """Its label would be the one letter that changes, and the same file comes."""
    index = "https://download.pytorch.org/whl/cpu"
    file = tmp_path / "Dockerfile"
    file.write_text(f"FROM debian\nRUN pip install torchvision==0.27.0 -i {index}\n")
    target = Target("manifest", "x", "y")
    moves = install("torchvision==0.27.0+cpu", index=index)
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (moves,))
    places: dict[str, tuple[Place, ...]] = {"torchvision.version": (Place(str(file), 2, 17),)}
    found = lines_of(plan, Environment("0", target, {}, places=places), [str(file)])
    assert (found.edits, found.rewrites) == ((), ())


@pytest.mark.parametrize(
    ("command", "after"),
    [
        ("torch==2.6.0 x==0.21.0 --index-url {index}", "torch==2.6.0 x==0.21.0"),
        (
            "-i {index} torch==2.6.0 && pip install x -i {index}",
            "torch==2.6.0 && pip install x -i {index}",
        ),
    ],
)
def test_a_command_of_pypis_torch_names_no_index_of_another_build(
    tmp_path: Path, command: str, after: str
) -> None:
    index = "https://download.pytorch.org/whl/cu126"
    line = f"RUN pip install {command}".format(index=index)
    file = str(tmp_path / "Dockerfile")
    Path(file).write_text(f"FROM python:3.12\n{line}\n")
    target = Target("manifest", "x", "y")
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (install("torch==2.6.0"),))
    places: dict[str, tuple[Place, ...]] = {
        "torch.version": (Place(file, 2, line.index("torch==") + 1),)
    }
    found = lines_of(plan, Environment("0", target, {}, places=places), [file])
    assert (
        found.rewrites[0].text == f"FROM python:3.12\nRUN pip install {after.format(index=index)}\n"
    )


def test_a_plan_that_changes_no_line_says_where_it_comes_from(tmp_path: Path) -> None:
    """Else its commands would be printed, and they change what is installed here."""
    found = planned(tmp_path, "torch==2.7.1\n", install("torch==2.7.1"))
    assert not found.rewrites
    told = [each.text.rpartition(":1: ")[2] for each in found.edits]
    assert told == ["install torch==2.7.1 from PyPI, so without another index"]


def test_a_build_of_an_index_that_only_hands_can_leave_is_named_with_what_belongs_to_it(
    tmp_path: Path,
) -> None:
    """`ask for torch==2.6.0` would be what the line says by now."""
    index = "https://download.pytorch.org/whl/cu126"
    file = tmp_path / ".gitlab-ci.yml"
    command = f"pip install torch==2.6.0 torchvision==0.21.0 --index-url {index}"
    file.write_text(f"test:\n  script:\n    - {command}\n    - pip install vllm==0.8.5\n")
    target = Target("manifest", "x", "y")
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (install("torch==2.6.0"),))
    [at] = [r.place for r in read_source(open_source(str(file))).requirements if r.name == "torch"]
    environment = Environment("0", target, {}, places={"torch.version": (at,)})
    found = lines_of(plan, environment, [str(file)])
    [told] = [each.text.rpartition(": ")[2] for each in found.edits]
    with_it = "from PyPI, torchvision with it, so without the index"
    assert told == f"install torch==2.6.0 {with_it} {index}"


def test_the_index_of_another_build_goes_where_torch_comes_from_pypi(tmp_path: Path) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu118\ntorch==2.5.1+cu118\n"
    [rewrite] = planned(tmp_path, text, install("torch==2.5.1")).rewrites
    assert rewrite.text == "torch==2.5.1\n"


def test_the_index_of_a_build_that_stays_stays(tmp_path: Path) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu128\ntorch==2.9.0+cu128\n"
    [rewrite] = planned(tmp_path, text, install("torch==2.9.1+cu128")).rewrites
    assert "whl/cu128" in rewrite.text


def test_the_index_of_another_kind_of_file_is_said(tmp_path: Path) -> None:
    text = '[project]\nname = "a"\ndependencies = [\n"torch==2.7.1",\n]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    file, index = str(tmp_path / "pyproject.toml"), "https://download.pytorch.org/whl/cu126"
    plan = Plan(
        PlanOutcome.REPAIRS,
        Target("manifest", "x", "y"),
        "pip",
        (install("torch==2.7.1+cu126", index=index),),
    )
    places: dict[str, tuple[Place, ...]] = {"torch.version": (Place(file, 4, 1),)}
    found = lines_of(plan, Environment("0", plan.target, {}, places=places), [file])
    assert '"torch==2.7.1+cu126",' in found.rewrites[0].text
    assert found.edits[-1].text.endswith(f"torch comes from {index}: name that index there for it")


def test_what_no_file_names_is_added_where_nothing_brings_it(tmp_path: Path) -> None:
    path = tmp_path / TEXT
    path.write_text("torch==2.7.1\n")
    plan = Plan(
        PlanOutcome.REPAIRS, Target("manifest", "x", "y"), "pip", (install("triton==3.3.1", FLASH),)
    )
    facts: dict[str, Fact] = {"torch.requires": Known({"triton": "==3.3.1"}, "test")}
    found = lines_of(plan, Environment("0", plan.target, facts), [str(path)])
    assert found.rewrites[0].text == f"torch==2.7.1\n{FLASH}\n"
    assert ["name it with --python-version" in note for note in found.notes] == [True, False]


def test_a_build_that_is_added_names_its_index(tmp_path: Path) -> None:
    """Regression: an installer that knows PyPI alone found no such release."""
    step = install("torch==2.9.1+cu128", index="https://x.org/cu128")
    [rewrite] = planned(tmp_path, "trl\n", step).rewrites
    assert rewrite.text == "trl\n--extra-index-url https://x.org/cu128\ntorch==2.9.1+cu128\n"
    [edit] = planned(tmp_path, "[project]\n", step, name="pyproject.toml").edits[:1]
    assert edit.text.endswith("name torch==2.9.1+cu128 and the index https://x.org/cu128, too")


def test_a_lock_is_left_to_its_tool(tmp_path: Path) -> None:
    text = "version = 1\n[[package]]\nname = 'torch'\nversion = '2.7.1'\nsource = {}\n"
    (tmp_path / "uv.lock").write_text(text)
    plan = Plan(
        PlanOutcome.REPAIRS, Target("manifest", "x", "y"), "pip", (install("torch==2.6.0"),)
    )
    lock = str(tmp_path / "uv.lock")
    places: dict[str, tuple[Place, ...]] = {"torch.version": (Place(lock, 4, 1),)}
    found = lines_of(plan, Environment("0", plan.target, {}, places=places), [lock])
    assert found.rewrites == ()
    assert found.edits[0].command == ("uv", "lock", "--upgrade-package", "torch==2.6.0")
    gone = Action(ActionKind.UNINSTALL, "gone", requirements=("nvidia-nccl-cu13",))
    both = msgspec.structs.replace(plan, actions=(*plan.actions, gone))
    places["packages.installed.nvidia-nccl-cu13"] = (Place(lock, 9, 1),)
    facts: dict[str, Fact] = {"torch.requires": Known({"nvidia-nccl-cu13": "==2.28.9"}, lock)}
    found = lines_of(both, Environment("0", plan.target, facts, places=places), [lock])
    assert len(found.edits) == 1  # the tool removes what no package requires any more


@pytest.mark.parametrize(
    ("project", "command"),
    [
        # triton comes along with torch
        ('[project]\nname = "x"\ndependencies = [\n"torch==2.7.1",\n]\n', ()),
        # without it in the project's list each is named, all in one command
        ("", ("--upgrade-package", "torch==2.6.0", "--upgrade-package", "triton==3.2.0")),
    ],
)
def test_a_lock_of_uv_follows_the_list_of_its_project(
    tmp_path: Path, project: str, command: tuple[str, ...]
) -> None:
    """The command for each package contradicted the pin that the same plan changes."""
    lock, toml = tmp_path / "uv.lock", tmp_path / "pyproject.toml"
    lock.write_text("version = 1\n[[package]]\nname = 'torch'\nversion = '2.7.1'\nsource = {}\n")
    toml.write_text(project or "[project]\nname = 'x'\n")
    plan = Plan(
        PlanOutcome.REPAIRS, Target("manifest", "x", "y"), "pip",
        (install("torch==2.6.0", "triton==3.2.0"),),
    )  # fmt: skip
    facts: dict[str, Fact] = {"torch.requires": Known({"triton": "==3.3.1"}, "test")}
    at = (Place(str(toml), 4, 2),) if project else ()
    places = {
        "torch.version": (*at, Place(str(lock), 4, 1)), "triton.version": (Place(str(lock), 9, 1),)
    }  # fmt: skip
    files = [str(toml), str(lock)]
    found = lines_of(plan, Environment("0", plan.target, facts, places=places), files)
    [edit] = [each for each in found.edits if each.command]
    assert edit.command == ("uv", "lock", *command)


def test_what_a_tool_has_written_is_no_file_to_edit(tmp_path: Path) -> None:
    text = "# This file was autogenerated by uv via the following command:\ntorch==2.7.1\n"
    found = planned(tmp_path, text, install("torch==2.6.0"))
    assert found.rewrites == ()
    assert found.edits[0].command[:3] == ("uv", "pip", "compile")


def test_what_cannot_be_changed_is_said(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.7.1 \\\n  ;os_name=='x'\n", install("torch==2.6.0"))
    assert found.rewrites == ()
    assert found.edits[0].text.endswith(":1:1: ask for torch==2.6.0")


def test_a_file_that_has_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.7.1\n", install("torch==2.6.0"))
    (tmp_path / TEXT).write_text("torch==2.8.0\n")
    with pytest.raises(ApplyError, match="has changed since it was read"):
        write_all(found.rewrites)
    assert (tmp_path / TEXT).read_text() == "torch==2.8.0\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"])
def test_a_file_stays_in_its_encoding(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding.startswith("utf-16") else ""
    (tmp_path / TEXT).write_bytes(f"{mark}torch==2.7.1 # ö\n".encode(encoding))
    found = planned(tmp_path, "torch==2.7.1 # ö\n", install("torch==2.6.0"))
    write_all(found.rewrites)
    assert (tmp_path / TEXT).read_bytes() == f"{mark}torch==2.6.0 # ö\n".encode(encoding)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("torch==2.7.1\n")
    (tmp_path / TEXT).symlink_to(tmp_path / "real.txt")
    write_all(planned(tmp_path, "torch==2.7.1\n", install("torch==2.6.0")).rewrites)
    assert (tmp_path / TEXT).is_symlink()
    assert Path(tmp_path / "real.txt").read_text() == "torch==2.6.0\n"


def test_an_index_stays_where_another_line_asks_for_its_label() -> None:
    index = "--extra-index-url https://download.pytorch.org/whl/cu126"
    before = [index, "torch==2.6.0+cu126", "torch-scatter==2.1.2+cu126"]
    lines = [GONE, "torch==2.6.0", before[2]]
    still_asked(lines, before)
    assert lines == [index, "torch==2.6.0", before[2]]
    lines = [GONE, "torch==2.6.0", "# torch-scatter==2.1.2+cu126"]
    still_asked(lines, before)
    assert lines[0] == GONE


def test_what_only_comes_along_is_named_where_no_other_line_is_changed(tmp_path: Path) -> None:
    """The file as a whole is where it comes from: no line of it can be changed for that."""
    path = tmp_path / TEXT
    path.write_text("unsloth==2025.8.1\n")
    target = Target("manifest", "x", "y")
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (install("torch==2.10.0"),))
    facts: dict[str, Fact] = {"unsloth.requires": Known({"torch": ">=2.4.0"}, "x")}
    places: dict[str, tuple[Place, ...]] = {"torch.version": (Place(str(path), 0),)}
    found = lines_of(plan, Environment("0", target, facts, places=places), [str(path)])
    assert found.rewrites[0].text == "unsloth==2025.8.1\ntorch==2.10.0\n"


def test_another_build_of_what_comes_along_is_named(tmp_path: Path) -> None:
    """Regression: a line with an index was all that a plan wrote, and another torch came."""
    path = tmp_path / TEXT
    path.write_text("unsloth==2025.8.1\ntransformers==4.49.0\n")
    target = Target("manifest", "x", "y")
    step = install("torch==2.10.0+cu126", "transformers==4.53.3", index="https://x.org/cu126")
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (step,))
    facts: dict[str, Fact] = {"unsloth.requires": Known({"torch": ">=2.4.0"}, "x")}
    places: dict[str, tuple[Place, ...]] = {"transformers.version": (Place(str(path), 2, 1),)}
    found = lines_of(plan, Environment("0", target, facts, places=places), [str(path)])
    lines = found.rewrites[0].text.splitlines()
    assert "torch==2.10.0+cu126" in lines
    assert "--extra-index-url https://x.org/cu126" in lines


def test_an_address_leaves_the_semicolon_to_its_marker() -> None:
    """Regression: the new line was no requirement, and nothing was planned at all."""
    marker = "; sys_platform == 'linux'"
    old = f"https://e.org/flash_attn-2.6.3+cu123-cp311-cp311-linux_x86_64.whl{marker}"
    wanted = "flash-attn @ https://e.org/b.whl"
    new = changed_line(old, 1, "flash-attn", wanted, "requirements.txt")
    assert new == f"{wanted} {marker}"


def test_a_project_that_a_script_installs_keeps_its_own_form(tmp_path: Path) -> None:
    """An address alone, as a shell takes it, made a pyproject.toml that no installer reads."""
    (tmp_path / "setup.sh").write_text("pip install -e .\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "1"\ndependencies = [\n  "flash_attn==2.8.3",\n]\n'
    )
    project = str(tmp_path / "pyproject.toml")
    environment = Environment("0", Target("manifest", "x", "y"), {})
    places = {"flash_attn.version": (Place(project, 5, 3),)}
    environment = msgspec.structs.replace(environment, places=places)
    plan = Plan(PlanOutcome.REPAIRS, Target("manifest", "x", "y"), "pip", (install(FLASH),))
    [rewrite] = lines_of(plan, environment, [str(tmp_path / "setup.sh")]).rewrites
    assert f'  "flash_attn @ {URL}",' in rewrite.text.split("\n")
