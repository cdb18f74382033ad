"""What the fixes of all rules say: exact versions, what is at stake, and nothing with a hole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine import scope as scope_module
from fadoctor.judging.engine.fixes import command, texts_of
from fadoctor.judging.engine.judge import judge
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import Matrix, Rows
from fadoctor.model.fact import Known
from fadoctor.model.fix import Safety, StepKind
from tests.golden import cases as golden_cases
from tests.properties.worlds import cases, knowledge, of_case
from tools.write_flash_attn_fit import FILE, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXES = [(rule, fix) for rule in knowledge().rules for fix in rule.fixes]

# name, then a specifier: literal, or from a fact or a table
_ITEM = re.compile(r"([A-Za-z0-9._-]+|\{[^{}]+\})(.*)")
HOLE = "<hole>"


_WHOLE = (
    "{package.unmet_alone}",
    "{upgrade}",
    "{other}",
    "{package.pair_other}",
    "{package.unmet_fits}",
    "{package.unmet_torch}",
    "{package.fits_build}",
    "{log.name_other}",
)
"""Placeholders that stand for whole requirements, with their ends."""


def unbounded(item: str, free: set[str]) -> bool:
    """Return whether an installer may take any release that comes."""
    match = _ITEM.fullmatch(item.replace(" ", ""))
    assert match, item
    name, specifier = match[1], match[2]
    if "{" in specifier or name in _WHOLE:
        return False  # what a package's metadata or a table says
    parts = [part for part in specifier.split(",") if part]
    has_end = any(part.startswith(("==", "<", "~=")) for part in parts)
    return not has_end and not (name in free and not parts)


def test_an_open_end_is_seen() -> None:
    assert unbounded("flash-attn>=2.8.3", set())
    assert unbounded("vllm", set())
    assert unbounded("psutil", set())
    assert unbounded("{package.distribution}", set())
    assert not unbounded("psutil", {"psutil"})
    assert not unbounded("transformers>=5.4,<6", set())
    assert not unbounded("{package.distribution}=={package.version}", set())


def build_imports() -> set[str]:
    """Return what setup.py imports, where any release will do."""
    rows = knowledge().tables["flash-attn-build"].rows
    return {word for row in rows for word in str(row.get("imports") or "").split()} - {"torch"}


def test_no_requirement_is_open_ended() -> None:
    free = build_imports() | {"ninja"}
    items = [
        (rule.id, fix.id, item)
        for rule, fix in FIXES
        for step in fix.steps
        for item in step.install
    ]
    assert len(items) > 50
    assert [each for each in items if unbounded(each[2], free)] == []


# pip asks before it removes, and a line that was pasted, or a build, waits for the answer
_WAITS = re.compile(r"\bpip3? uninstall (?!-y\b|--yes\b)|\bpip3? uninstall(?![\w ])")
_PATTERNS = ("shows", "unless", "pattern", "says", "telling")
"""Columns of tables that hold what texts are searched for, and what people write."""


def printed() -> Iterator[tuple[str, str]]:
    """Yield every text of a fix, and of a table, that can be printed."""
    for rule, fix in FIXES:
        yield rule.id, f"{fix.title} {fix.side_effects}"
        for step in fix.steps:
            yield from ((rule.id, text) for text in texts_of(step))
    for name, table in knowledge().tables.items():
        cells = ((k, v) for row in table.rows for k, v in row.items() if k not in _PATTERNS)
        yield from ((name, str(value)) for _, value in cells)


def test_no_printed_command_waits_for_an_answer_of_pip() -> None:
    """A line that was pasted into a shell without a terminal waited for ever."""
    texts = list(printed())
    assert sum("pip uninstall -y" in text for _, text in texts) > 50
    assert [each for each in texts if _WAITS.search(each[1])] == []
    assert command(StepKind.UNINSTALL, ("triton",)) == "pip uninstall -y triton"


def test_what_is_at_stake_is_said() -> None:
    unsafe = [(rule.id, fix) for rule, fix in FIXES if fix.safety is not Safety.SAFE]
    assert len(unsafe) > 50
    assert [(rule_id, fix.id) for rule_id, fix in unsafe if not fix.side_effects] == []


def test_what_installs_flash_attn_says_so() -> None:
    """`explain` leaves it out where the GPU that a log names can run none of it."""
    for rule, fix in FIXES:
        asks = any(row["table"] == "flash-attn-for-torch" for row in fix.rows.values())
        names = {_ITEM.fullmatch(item.replace(" ", ""))[1] for step in fix.steps  # type: ignore[index]
                 for item in step.install}  # fmt: skip
        if asks or "flash-attn" in names:
            assert fix.brings, (rule.id, fix.id)


@pytest.mark.long
def test_no_text_has_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template whose fact is absent printed ``none``: "does not load: none."."""
    text_of = scope_module._text
    monkeypatch.setattr(
        scope_module, "_text", lambda fact: text_of(fact) if isinstance(fact, Known) else HOLE
    )
    worlds = [of_case(case) for _, case in cases()]
    worlds += [golden_cases.environment(name) for name in golden_cases.names()]
    matrix, holes = Matrix(knowledge().tables), set()
    for world in worlds:
        for finding in judge(world, knowledge(), matrix).findings:
            texts = [finding.title, finding.message, finding.why]
            for fix in finding.fixes:
                texts += [fix.title, fix.side_effects, *(step.text for step in fix.steps)]
            holes |= {(finding.rule_id, text) for text in texts if HOLE in text}
    assert holes == set()


def test_setting_lines_say_what_the_recommendation_says() -> None:
    """Lines for one thing, put together, are the settings that stand in framework-settings."""
    matrix, checked = Matrix(knowledge().tables), 0
    names = {"sdpa-efficient": "sdpa", "fa2": "fa2"}
    for framework, version in (
        ("transformers", "4.40.0"), ("transformers", "4.57.1"), ("transformers", "5.23.0"),
        ("llamafactory", "0.9.4"), ("vllm", "0.33.0"), ("unsloth", "2026.10.9"),
        ("axolotl", "0.21.0"), ("ms-swift", "4.0.0"), ("openrlhf", "0.9.0"),
    ):  # fmt: skip
        for backend, attention in names.items():
            for dtype in ("bf16", "fp16"):
                asked = {"framework": framework, "version": version}
                keys = {**asked, "backend": backend, "dtype": dtype, "cc": "8.0"}
                cell = _find(matrix, "framework-settings", keys).cell("settings")
                assert isinstance(cell, Known)
                assert isinstance(cell.value, dict)
                lines = [
                    line.value
                    for topic in (f"attention-{attention}", f"dtype-{dtype}")
                    for line in [
                        _find(matrix, "setting-lines", {**asked, "setting": topic}).cell("line")
                    ]
                    if isinstance(line, Known)
                ]
                for value in cell.value.values():
                    assert any(str(value) in str(line) for line in lines), (keys, lines)
                    checked += 1
    assert checked > 20


def test_a_title_is_a_sentence_whatever_is_known() -> None:
    """A list of alternatives said "take a pair": the id of a fix whose title wanted a fact."""
    optional = re.compile(r"\[\[[^\[\]]*\]\]|\{[^{}|]*\|[^{}]*\}")
    wanting = [
        (rule.id, fix.title)
        for rule in knowledge().rules
        for fix in rule.fixes
        if "{" in optional.sub("", fix.title)
    ]
    assert wanting == []


def test_a_line_that_does_not_take_what_is_recommended_says_so() -> None:
    """Below "Use bfloat16 with FlashAttention-4" stood attn_implementation="sdpa", and no word."""
    others = {
        "fa2": "flash_attention_2 fa2",
        "fa3": "flash_attention_3",
        "fa4": "flash_attention_4",
    }
    checked = 0
    for row in knowledge().tables["framework-settings"].rows:
        if row["framework"] not in {"transformers", "llamafactory"} or row["dtype"] == "fp32":
            continue
        for backend in set(str(row["backend"]).split()) & others.keys():
            settings = row["settings"]
            assert isinstance(settings, dict)
            asks = {str(value).strip('"') for value in settings.values()}
            if "use_flash_attention_2" not in settings and not asks & {*others[backend].split()}:
                assert "note" in settings, row
                checked += 1
    assert checked > 5


def _find(matrix: Matrix, table: str, keys: dict[str, str]) -> Rows:
    return matrix.find(table, {name: Known(value, "asked") for name, value in keys.items()})


@pytest.mark.long
def test_the_table_of_fitting_releases_follows_from_those_of_wheels() -> None:
    lines = Path(FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    written = [line for line in lines if line.startswith("  - {torch:")]
    wanted = rows(load_apart(knowledge().tables))
    assert written == wanted, "write it again: python tools/write_flash_attn_fit.py"


_INSTALLS = re.compile(r"(?:pip|uv) install ([^`;\n]{1,200})")
_WITHOUT_A_RELEASE = re.compile(r"[A-Za-z][\w.-]*(?:\[[\w,]*\])?")
_EXTRAS = {"sglang[all]", "transformers[kernels]"}
"""Asked for by their extras: what is installed stays, and names the releases that it takes."""


def test_no_command_in_a_sentence_is_open_ended() -> None:
    """`pip install -U mamba-ssm` brings whatever came out last."""
    found = [
        (rule.id, word)
        for rule in knowledge().rules
        for fix in rule.fixes
        for step in fix.steps
        for command in _INSTALLS.findall(step.system or ";".join(step.advice.split("`")[1::2]))
        for word in (each.strip("\"'") for each in command.split())
        if _WITHOUT_A_RELEASE.fullmatch(word) and word not in _EXTRAS
    ]
    assert found == []
