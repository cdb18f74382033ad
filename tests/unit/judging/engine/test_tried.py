"""What a log shows to be done already."""

from __future__ import annotations

import pytest

from fadoctor.judging.engine.tried import is_there, is_tried, plainly
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.rule import FixTemplate

BARE = FixTemplate("a", "A", ())


def _fix(*steps: Step) -> Fix:
    return Fix("a", "A", Safety.SAFE, steps)


@pytest.mark.parametrize(
    ("step", "line", "is_done"),
    [
        (Step(StepKind.SET, "", ("A_B=1",)), 'os.environ["A_B"] = "1"', True),
        (Step(StepKind.SET, "", ("A_B=1",)), "docker run -e A_B=1 image", True),
        (Step(StepKind.SET, "", ("A_B=1",)), "export A_B=12", False),
        (Step(StepKind.SET, "", ("A_B=1",)), "# export A_B=1", False),
        (Step(StepKind.SET, "", ("HIP_X=3",)), "consider passing HIP_X=3", False),
        (Step(StepKind.SET, "", ("HIP_X=3",)), "I tried HIP_X=3 and it fails", True),
        (Step(StepKind.SETTING, 'x: attn="sdpa"'), "load(attn='sdpa')", True),
        (Step(StepKind.SETTING, 'x: attn="sdpa"'), 'load(attn="sdpa_paged")', False),
        (Step(StepKind.SETTING, "x: dtype=torch.float16"), "torch_dtype=torch.float16,", True),
        (Step(StepKind.SETTING, "x: dtype=torch.float16"), "bnb_dtype=torch.float16,", False),
        (Step(StepKind.SETTING, "x: --dtype half, --a b"), "serve --dtype=half --a b", True),
        (Step(StepKind.SETTING, "x: --dtype half, --a b"), "serve --dtype half", False),
        (Step(StepKind.SETTING, "bf16: true"), "fp16: true", False),
        (Step(StepKind.INSTALL, "", ("a==1.2",)), "$ pip install -U a==1.2", True),
        (Step(StepKind.INSTALL, "", ("a==1.2",)), "a==1.2", False),
        (Step(StepKind.INSTALL, "", ("a==1.2",)), "pip install a==1.2.1", False),
        (
            Step(StepKind.INSTALL, "", ("a==1.2",), "", ("--force-reinstall",)),
            "pip install a==1.2",
            False,
        ),
        (Step(StepKind.UNINSTALL, "", ("a",)), "pip uninstall a", False),
        (Step(StepKind.ADVICE, "Look."), "Look.", False),
    ],
)
def test_a_step_is_done_where_it_stands_as_it_would_be_typed(
    step: Step, line: str, *, is_done: bool
) -> None:
    assert is_tried(BARE, _fix(step), ["before", line]) is is_done


def test_all_steps_have_to_be_done() -> None:
    both = _fix(Step(StepKind.SET, "", ("A=1",)), Step(StepKind.SET, "", ("B=2",)))
    assert not is_tried(BARE, both, ["A=1"])
    assert is_tried(BARE, both, ["A=1", "B=2"])


def test_patterns_of_the_fix_count_by_themselves() -> None:
    template = FixTemplate("a", "A", (), tried=(r"\bdone\b",))
    assert is_tried(template, None, ["all done"])
    assert not is_tried(template, None, ["nothing"])


def test_shells_python_and_yaml_read_alike() -> None:
    assert plainly("a[\"b\"] = 'c'") == plainly("a b: c") == "a b=c"


@pytest.mark.parametrize(
    ("line", "is_done"),
    [
        ("Otherwise, install torch and re-run with `--no-build-isolation`.", False),
        ("hint: consider adding --no-build-isolation", False),
        ("pip install flash-attn --no-build-isolation", True),
        ("I ran it again with --no-build-isolation, in vain", True),
    ],
)
def test_what_a_program_advises_is_not_tried(line: str, *, is_done: bool) -> None:
    template = FixTemplate("a", "A", (), tried=("--no-build-isolation",))
    assert is_tried(template, None, [line]) is is_done


INSTALL = Step(StepKind.INSTALL, "", ("a-b>=1.2,<3",))
REMOVE = Step(StepKind.UNINSTALL, "", ("a-b",))


@pytest.mark.parametrize(
    ("steps", "line", "is_known"),
    [
        ((INSTALL,), "a_b    2.0.1", True),
        ((INSTALL,), "a-b    3.0", False),
        ((INSTALL,), "a-b==2.0.1", False),
        ((INSTALL,), "we took a-b 2.0.1", False),
        ((REMOVE, INSTALL), "a-b 2.0.1", True),
        ((REMOVE,), "a-b 2.0.1", False),
        ((INSTALL, Step(StepKind.SET, "", ("A=1",))), "a-b 2.0.1", False),
        ((Step(StepKind.INSTALL, "", ("a-b==2",), "https://x.org"),), "a-b 2", False),
        ((Step(StepKind.INSTALL, "", ("a-b==2",), "", ("--force-reinstall",)),), "a-b 2", False),
    ],
)
def test_what_lists_name_is_not_installed_again(
    steps: tuple[Step, ...], line: str, *, is_known: bool
) -> None:
    """A person who had triton-windows was told to install that release."""
    assert is_there(_fix(*steps), [line], forced=False) is is_known


def test_a_broken_file_is_installed_again() -> None:
    assert not is_there(_fix(REMOVE, INSTALL), ["a-b 2.0.1"], forced=True)
    assert is_there(_fix(INSTALL), ["a-b 2.0.1"], forced=True)


@pytest.mark.parametrize(
    ("said", "line", "is_known"),
    [
        ('Run `pip install "a[all]"` again.', "$ pip install 'a[all]'", True),
        ('Run `pip install "a[all]"` again.', "(venv) D:\\x> pip install a[all]", True),
        ("Run `pip install a` again.", "you should run pip install a", False),
        ("Run `pip install a` again.", "pip install ab", False),
        ("`python -c 'import a'` says it.", "python -c 'import a'", False),
        ("Run `git pull`, then `pip install a`.", "git pull", False),
    ],
)
def test_a_command_in_words_that_was_typed(said: str, line: str, *, is_known: bool) -> None:
    fix = _fix(Step(StepKind.ADVICE, said))
    assert is_tried(BARE, fix, [line]) is is_known


@pytest.mark.parametrize(
    ("command", "line", "is_known"),
    [
        ("sudo usermod -a -G render $USER", "I ran usermod -aG render alex, no change", True),
        ("sudo usermod -a -G render $USER", "alex@box:~$ sudo usermod -aG render alex", True),
        (
            "pip install -U a",
            "C:\\x> .\\python_embeded\\python.exe -s -m pip install -U a",
            True,
        ),
        (
            "pip install -U a",
            "\u5df2\u7ecf\u8bd5\u8fc7pip install -U a\uff0c\u6ca1\u6709\u7528",
            True,
        ),
        ("pip install -U a", "Already tried `pip install --no-deps -U a`.", True),
        ("pip install -U a", "A release is out. Should I use pip install -U a then?", False),
        ("pip install -U a", "pip install -U ab", False),
        ("pip install -U a", "On my laptop pip install -U a is fine.", False),
        ("wsl --update && wsl --shutdown", "PS C:\\> wsl --update", False),
    ],
)
def test_a_command_that_was_run(command: str, line: str, *, is_known: bool) -> None:
    """What a person ran was proposed first all the same, where no package was installed by it."""
    assert is_tried(BARE, _fix(Step(StepKind.SYSTEM, command)), [line]) is is_known


def test_what_somebody_asks_about_was_not_tried() -> None:
    fix = _fix(Step(StepKind.SETTING, "x: --full --no-half"))
    assert is_tried(BARE, fix, ["I gave it --full --no-half."])
    assert not is_tried(BARE, fix, ["Can one run this with something like --full --no-half?"])
