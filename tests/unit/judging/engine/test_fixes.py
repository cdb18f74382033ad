"""Fixes: which are offered, and how their steps are written out."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.requirements import InvalidRequirement, Requirement

from fadoctor.judging.engine.possible import possible_fixes
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from tests.unit.judging.engine.builders import ABSENT, UNREAD, assess, environment, rule

TORCH = {
    "torch.version": "2.6.0+cu124",
    "torch.requires": {"triton": "==3.2.0"},
    "host.os": "linux",
}


def fix(fix_id: str, *steps: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"id": fix_id, "title": "A fix", "steps": list(steps), **keys}


def offered(facts: dict[str, Any], *fixes: dict[str, Any]) -> tuple[Fix, ...]:
    one = rule(when={"torch.version": {"present": True}}, fixes=list(fixes))
    [finding] = assess(facts, one).findings
    return finding.fixes


def step(facts: dict[str, Any], template: dict[str, Any]) -> Step:
    [only] = offered(facts, fix("only", template))
    return only.steps[0]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            {"install": ["triton{torch.requires.triton}", "einops"]},
            Step(
                StepKind.INSTALL,
                "pip install triton==3.2.0 einops",
                ("triton==3.2.0", "einops"),
            ),
        ),
        (
            {"install": ["vllm"], "index": "https://e.org/cu124", "options": ["--no-deps"]},
            Step(
                StepKind.INSTALL,
                "pip install --index-url https://e.org/cu124 --no-deps vllm",
                ("vllm",),
                "https://e.org/cu124",
                ("--no-deps",),
            ),
        ),
        (
            {"uninstall": ["triton"]},
            Step(StepKind.UNINSTALL, "pip uninstall -y triton", ("triton",)),
        ),
        (
            {"set": ["TORCH_VERSION={torch.version}"]},
            Step(StepKind.SET, "export TORCH_VERSION=2.6.0+cu124", ("TORCH_VERSION=2.6.0+cu124",)),
        ),
        ({"unset": ["CC", "CXX"]}, Step(StepKind.UNSET, "unset CC CXX", ("CC", "CXX"))),
        ({"setting": 'attn="sdpa"'}, Step(StepKind.SETTING, 'attn="sdpa"')),
        ({"system": "docker run"}, Step(StepKind.SYSTEM, "docker run")),
        ({"advice": "On {host.os}."}, Step(StepKind.ADVICE, "On linux.")),
    ],
)
def test_each_kind_of_step(template: dict[str, Any], expected: Step) -> None:
    assert step(TORCH, template) == expected


@pytest.mark.parametrize(
    ("template", "posix", "windows"),
    [
        ({"set": ["A=1", "B=x y"]}, "export A=1 B='x y'", "$env:A = '1'; $env:B = 'x y'"),
        ({"unset": ["A", "B"]}, "unset A B", "$env:A = $null; $env:B = $null"),
    ],
)
def test_what_is_set_is_a_line_that_the_shell_understands(
    template: dict[str, Any], posix: str, windows: str
) -> None:
    """``set A=1`` does nothing in a POSIX shell, and says nothing either."""
    assert step(TORCH, template).text == posix
    assert step({**TORCH, "host.os": "windows"}, template).text == windows


def test_the_index_is_filled_wherever_it_stands() -> None:
    template = {"install": ["torch"], "index": "https://e.org/{torch.version.local}"}
    found = step(TORCH, template)
    assert found.index == "https://e.org/cu124"
    assert found.text == "pip install --index-url https://e.org/cu124 torch"


def test_title_and_side_effects_are_filled_and_the_default_is_unsafe() -> None:
    [found] = offered(
        TORCH,
        fix(
            "one",
            {"advice": "Do it."},
            title="For {host.os}",
            side_effects="Loses {host.glibc|it}.",
        ),
    )
    assert (found.title, found.side_effects) == ("For linux", "Loses it.")
    assert found.safety is Safety.UNSAFE


@pytest.mark.parametrize(
    ("os", "expected"),
    [
        ("linux", ["for-linux", "for-all"]),
        ("windows", ["for-all"]),
        (UNREAD, ["for-all"]),
        (ABSENT, ["for-all"]),
    ],
)
def test_a_fix_is_offered_only_where_its_condition_surely_holds(
    os: Any, expected: list[str]
) -> None:
    fixes = (
        fix("for-linux", {"advice": "x"}, when={"host.os": "linux"}),
        fix("for-all", {"advice": "x"}),
    )
    assert [each.id for each in offered({**TORCH, "host.os": os}, *fixes)] == expected


@pytest.mark.parametrize(
    "template",
    [
        {"install": ["einops", "triton{torch.requires.triton}"]},
        {"uninstall": ["{triton.distribution}"]},
        {"set": ["CC={toolkit.gcc.path}"]},
        {"install": ["torch"], "index": "https://e.org/{torch.version.local}"},
        {"advice": "Look at {toolkit.gcc.path}."},
        {"setting": "compiler: {toolkit.gcc.path}"},
    ],
)
@pytest.mark.parametrize("missing", [ABSENT, UNREAD])
def test_a_command_that_cannot_be_written_out_is_not_offered(
    template: dict[str, Any], missing: Any
) -> None:
    facts = {
        "torch.version": "2.6.0",
        "torch.requires": missing,
        "triton.distribution": missing,
        "toolkit.gcc.path": missing,
    }
    assert offered(facts, fix("one", template)) == ()


def test_what_a_step_changes_is_left_out_where_a_part_of_it_is_not_known() -> None:
    """The advice stands all the same, and is prose: nobody knows what it comes to."""
    effects = {"toolkit.gxx.path": "{toolkit.gcc.path}", "toolkit.nvcc.path": "/nvcc"}
    template = {"advice": "Look.", "effects": effects}
    [found] = offered({**TORCH, "toolkit.gcc.path": UNREAD}, fix("one", template))
    assert found.steps[0].effects == {}
    [found] = offered({**TORCH, "toolkit.gcc.path": "/gcc"}, fix("one", template))
    assert found.steps[0].effects == {"toolkit.gxx.path": "/gcc", "toolkit.nvcc.path": "/nvcc"}


def test_conditions_of_fixes_add_nothing_to_the_evidence() -> None:
    conditional = fix("one", {"advice": "{host.glibc}"}, when={"host.os": "linux"})
    one = rule(when={"torch.version": {"present": True}}, fixes=[conditional])
    [finding] = assess(TORCH, one).findings
    assert [each.fact for each in finding.evidence] == ["torch.version"]


@pytest.mark.parametrize(
    ("name", "specifier"),
    [
        ("triton", " @ https://example.org/evil.whl"),
        ("triton", "==3.2.0 --index-url https://example.org"),
        ("-r/etc/passwd", ""),
        ("--index-url=https://example.org", ""),
        ("https://example.org/evil.whl", ""),
        ("../evil", ""),
    ],
)
def test_a_hostile_value_does_not_get_into_a_command(name: str, specifier: str) -> None:
    facts = {"torch.version": "2.6.0", "torch.requires": {"triton": specifier}}
    facts["triton.distribution"] = name
    template = {"install": ["{triton.distribution}{torch.requires.triton}"]}
    items = [item for each in offered(facts, fix("one", template)) for item in each.steps[0].items]
    assert all(is_plain_requirement(item) for item in items), items


def is_plain_requirement(text: str) -> bool:
    try:
        return Requirement(text).url is None
    except InvalidRequirement:
        return False


def possible(
    facts: dict[str, Any], log: tuple[str, ...], *fixes: dict[str, Any]
) -> tuple[Fix, ...]:
    one = rule(when={"torch.version": {"present": True}}, fixes=list(fixes))
    world = environment(facts)
    return possible_fixes(Scope(world, Matrix({}), one, {}), log)


def test_what_a_log_shows_to_be_tried_comes_last() -> None:
    """A person whose log says bf16: true was told to set bf16: true."""
    fixes = (
        fix("set-bf16", {"setting": "bf16: true"}, tried=["bf16: {0,4}true"]),
        fix("look", {"advice": "Look."}, title="Look"),
    )
    found = possible(TORCH, ("x", "bf16: true"), *fixes)
    assert [each.id for each in found] == ["look", "set-bf16"]
    assert found[1].steps[-1].text == "The log shows that this was tried."
    assert [each.id for each in possible(TORCH, ("fp16: true",), *fixes)] == ["set-bf16", "look"]


def test_what_is_not_there_is_not_removed_for_a_log_either() -> None:
    """Regression: only the fixes of an environment were checked for it."""
    gone = fix("gone", {"uninstall": ["xformers"]}, title="Remove it")
    look = fix("look", {"advice": "Look."}, title="Look")
    facts = {**TORCH, "xformers.version": ABSENT}
    assert [each.id for each in possible(facts, (), gone, look)] == ["look"]
    there = {**TORCH, "xformers.version": "0.0.35"}
    assert [each.id for each in possible(there, (), gone, look)] == ["gone", "look"]


def test_words_of_a_log_rule_a_fix_out() -> None:
    """Regression: a module of the kernel was to be loaded in WSL, which has none."""
    fixes = (
        fix("module", {"advice": "Load it."}, title="Load it", unlogged=[r"\bWSL"]),
        fix("other", {"advice": "Look."}, title="Look"),
    )
    assert [each.id for each in possible(TORCH, ("Ubuntu",), *fixes)] == ["module", "other"]
    assert [each.id for each in possible(TORCH, ("WSL 2",), *fixes)] == ["other"]


def test_what_holds_otherwise_goes_before_a_question() -> None:
    facts = {**TORCH, "host.glibc": UNREAD}
    asked = fix("command", {"install": ["triton=={host.glibc}"]}, title="Install it")
    general = fix("general", {"advice": "By hand."}, title="By hand", otherwise=True)
    proved = fix("proved", {"advice": "So."}, title="So")
    assert next(each.id for each in possible(facts, (), asked, general)) == "general"
    assert "general" not in [each.id for each in possible(facts, (), asked, general, proved)]


def test_of_fixes_that_read_alike_the_first_is_offered() -> None:
    fixes = (
        fix("one", {"install": ["triton==1"]}, title="Install it[[: {host.glibc}]]"),
        fix("other", {"advice": "By hand."}, title="Or install it"),
    )
    assert [each.id for each in possible({**TORCH, "host.glibc": UNREAD}, (), *fixes)] == ["one"]
    assert len(possible({**TORCH, "host.glibc": "2.35"}, (), *fixes)) == 2


def test_a_step_without_words_is_none() -> None:
    steps = ({"advice": "By hand."}, {"advice": "[[Here glibc is {host.glibc}.]]"})
    [found] = possible({**TORCH, "host.glibc": UNREAD}, (), fix("one", *steps))
    assert [step.text for step in found.steps] == ["By hand."]


def test_no_half_of_commands_is_printed() -> None:
    facts = {**TORCH, "triton.version": UNREAD}
    both = ({"uninstall": ["triton"]}, {"install": ["triton=={triton.version}"]})
    [found] = possible(facts, (), fix("one", *both))
    assert [step.kind for step in found.steps] == [StepKind.ADVICE]
    assert "the version of triton" in found.steps[0].text


@pytest.mark.parametrize(
    ("template", "known", "unknown"),
    [
        ("for {host.glibc|an old system}", "for 2.35", "for an old system"),
        ("old[[, {host.glibc}]].", "old, 2.35.", "old."),
        ("{gpu[0].name} is old", "T4 is old", "The GPU is old"),
        ("CC is {env.CC}", "CC is gcc", "CC is not set"),
    ],
)
def test_what_is_not_known_has_words_of_its_own(template: str, known: str, unknown: str) -> None:
    one = rule(when={"torch.version": {"present": True}}, message=template)
    there = {"host.glibc": "2.35", "gpu[0].name": "T4", "env.CC": "gcc"}
    [finding] = assess({**TORCH, **there}, one).findings
    assert finding.message == known
    [finding] = assess({**TORCH, **dict.fromkeys(there, ABSENT)}, one).findings
    assert finding.message == unknown


def test_a_list_is_as_many_requirements() -> None:
    facts = {"torch.version": "2.8.0", "gpu[0].list": ("einops", "triton==3.4.0")}
    found = step(facts, {"install": ["{gpu[0].list}"]})
    assert found.items == ("einops", "triton==3.4.0")
    hostile = {**facts, "gpu[0].list": ("einops", "--index-url=https://example.org")}
    assert offered(hostile, fix("one", {"install": ["{gpu[0].list}"]})) == ()


def test_what_is_not_there_is_not_removed() -> None:
    """Regression: a configuration on a V100 was told to uninstall a flash-attn that is absent."""
    remove = fix("remove", {"uninstall": ["flash-attn"]})
    replace = fix("replace", {"uninstall": ["flash-attn"]}, {"install": ["xformers==0.0.34"]})
    there = {**TORCH, "flash_attn.version": "2.8.3"}
    away = {**TORCH, "flash_attn.version": ABSENT}
    assert [each.id for each in offered(there, remove, replace)] == ["remove", "replace"]
    assert [each.id for each in offered(away, remove, replace)] == ["replace"]
    assert [each.id for each in offered(TORCH, remove)] == ["remove"]
