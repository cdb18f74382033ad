"""The facts about names that are asked for in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.judging.engine.judge import judge
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known
from fadoctor.sources.targets.import_name_facts import with_contracts

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = {"peft": "0.15.0", "transformers": "5.23.0"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    for name, version in VERSIONS.items():
        (folder / name).mkdir(parents=True)
        (folder / f"{name}-{version}.dist-info").mkdir()
        (folder / f"{name}-{version}.dist-info" / "RECORD").write_text(f"{name}/__init__.py,,\n")
    (folder / "peft" / "__init__.py").write_text("\nfrom transformers import HybridCache\n")
    (folder / "transformers" / "__init__.py").write_text("class Cache: ...\n")
    return folder


def environment(site: Path, **facts: Any) -> Environment:
    target = Target("site-packages", "x", "x", site=(str(site),), roots={"site": str(site)})
    given = {"packages.installed": VERSIONS, "host.os": "linux", **facts}
    return Environment("0", target, {n: Known(v, "test") for n, v in given.items()})


def found(site: Path, tmp_path: Path, **facts: Any) -> Environment:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    return with_contracts(environment(site, **facts), load_knowledge(), environ)


def value(environment: Environment, name: str) -> object:
    fact = environment.fact(name)
    return fact.value if isinstance(fact, Known) else type(fact).__name__


def test_facts_say_who_asks_whom_and_where(site: Path, tmp_path: Path) -> None:
    after = found(site, tmp_path)
    names = ("asker_version", "provider_version", "module", "wanted", "place", "at_import")
    assert [value(after, f"contract[0].{name}") for name in names] == [
        "0.15.0", "5.23.0", "transformers", "HybridCache", "peft/__init__.py:2", True,
    ]  # fmt: skip
    assert value(after, "contract.count") == 1
    assert after.facts["contract[0].wanted"] == Known("HybridCache", "$site/peft/__init__.py:2")


def test_the_rule_says_it_and_weighs_it(site: Path, tmp_path: Path) -> None:
    findings = judge(found(site, tmp_path), load_knowledge()).findings
    [mine] = [each for each in findings if each.rule_id == "imported-name-missing"]
    assert mine.subject == "peft: HybridCache"
    assert mine.severity.value == "error"
    assert mine.message.startswith(
        "peft 0.15.0 needs HybridCache from transformers (peft/__init__.py:2), but transformers "
        "5.23.0 does not have it."
    )


def test_the_facts_survive_json_and_give_the_same_finding(site: Path, tmp_path: Path) -> None:
    after = found(site, tmp_path)
    again = msgspec.json.decode(msgspec.json.encode(after), type=Environment)
    knowledge = load_knowledge()
    assert judge(again, knowledge).findings == judge(after, knowledge).findings


def test_nothing_is_read_where_nobody_knows_what_is_installed(site: Path, tmp_path: Path) -> None:
    before = environment(site)
    before = msgspec.structs.replace(before, facts={})
    assert with_contracts(before, load_knowledge(), {}) is before
    other = environment(site, **{"packages.installed": {"numpy": "2"}})
    assert with_contracts(other, load_knowledge(), {}) is other
    assert not (tmp_path / "cache").exists()


def test_modules_that_come_in_other_ways_are_not_missed(site: Path, tmp_path: Path) -> None:
    (site / "peft" / "__init__.py").write_text(
        "try:\n    import another\nexcept ImportError:\n    from transformers import HybridCache\n"
    )
    assert value(found(site, tmp_path), "contract.count") == 1
    (site / "__editable___another_finder.py").write_text("")
    assert value(found(site, tmp_path), "contract.count") == 0


def test_a_reader_that_gives_no_answer_leaves_it_open(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fadoctor.sources.import_names.read._SCRIPT", tmp_path / "nothing.py")
    after = found(site, tmp_path)
    assert value(after, "contract.count") == "Unknown"
    assessment = judge(after, load_knowledge())
    assert "imported-name-missing" not in [each.rule_id for each in assessment.findings]
    assert "imported-name-missing" in [each.rule_id for each in assessment.unknown]


def test_it_is_told_before_it_takes_long_and_only_then(site: Path, tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        with_contracts(environment(site), load_knowledge(), {"XDG_CACHE_HOME": str(tmp_path)},
                       announce=lambda: said.append("once"))  # fmt: skip
    assert said == ["once"]


def test_without_the_cache_nothing_is_kept(site: Path, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with_contracts(environment(site), load_knowledge(), environ, keep=False)
    assert not (tmp_path / "cache").exists()


def test_an_attribute_of_a_class_is_told_by_the_tables_of_classes(
    site: Path, tmp_path: Path
) -> None:
    (site / "peft" / "__init__.py").write_text(
        "from transformers.trainer import Trainer\nx = Trainer.tokenizer\n"
    )
    (site / "transformers" / "trainer.py").write_text("class Trainer: ...\n")
    after = found(site, tmp_path)
    assert value(after, "contract[0].wanted") == "Trainer.tokenizer"
    assert value(after, "contract[0].told") == (
        "transformers has it up to 4.57.6; 5.23.0 is installed."
    )
    assert value(after, "contract[0].other") == "transformers>=4.36.0,<=4.57.6"


GONE = "from {} import Gone\n"
HF = "transformers"
ASKS = {
    "lightning-utilities": ("lightning_utilities", "import pkg_resources", "setuptools"),
    "llmcompressor": (
        "llmcompressor/modifiers/quantization",
        GONE.format("compressed_tensors") + "class GPTQModifier: ...", "compressed-tensors",
    ),
    "span-marker": ("span_marker", GONE.format("huggingface_hub"), "huggingface-hub"),
    "colpali-engine": ("colpali_engine", GONE.format(HF), HF),
    "auto-round": ("auto_round", GONE.format(HF), HF),
    "compel": ("compel", GONE.format("diffusers"), "diffusers"),
    "optimum": ("optimum/gptq", GONE.format(HF) + "class GPTQQuantizer: ...", HF),
    "flash-linear-attention": ("fla/layers", GONE.format(HF), HF),
}  # fmt: skip
"""Distribution -> a folder of it that its users import, what that asks, and whom."""


@pytest.mark.parametrize("asker", ASKS)
def test_what_users_import_of_a_package_is_followed(tmp_path: Path, asker: str) -> None:
    place, text, provider = ASKS[asker]
    file = f"{place}/__init__.py"
    folder = tmp_path / "site-packages"
    top = provider.replace("-", "_")
    files = {file: text, f"{top}/__init__.py": "class Here: ..."}
    parts = file.split("/")[:-1]
    files |= {"/".join([*parts[:n], "__init__.py"]): "" for n in range(1, len(parts))}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    installed = {asker: "1.0", provider: "1.0"}
    for name in installed:
        (folder / f"{name.replace('-', '_')}-1.0.dist-info").mkdir()
        (folder / f"{name.replace('-', '_')}-1.0.dist-info" / "RECORD").write_text("")
    after = found(folder, tmp_path, **{"packages.installed": installed})
    names = [value(after, f"contract[0].{each}") for each in ("asker", "provider", "place")]
    assert names == [asker, provider, f"{file}:1"]
