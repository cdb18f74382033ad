"""What the sources of a release say of rows that people write: flash-attn, torch, transformers."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in
from tools.refresh.drawn_cells import Row, Told, wheels_of, words
from tools.refresh.names.archive import open_sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.refresh.index import Index, Release

NONE: frozenset[str] = frozenset()


def texts(index: Index, release: Release, *paths: str) -> str:
    """Return some source files of a release, one after the other; those that it lacks left out."""
    sources = open_sources(index.transport, release)
    found = sources.read(path for path in paths if path in sources.digests)
    return "\n".join(found.values())


def has(word: str, text: str) -> bool:
    """Return whether a name is in a text, as a whole word."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _since(row: Row, column: str, release: Release, text: str) -> Told:
    """Hold that a name is in a text from a release on, and not before."""
    name = str(row[column])
    said = frozenset({name}) if release.version >= Version(str(row["since"])) else NONE
    return Told(name, "since", said, frozenset({name}) if has(name, text) else NONE)


def flash_attn_variables(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold since when a variable of the environment is read."""
    sources = open_sources(index.transport, release)
    own = [p for p in sources.digests if p == "setup.py" or p.startswith("flash_attn/")]
    if "setup.py" in own:
        yield _since(row, "variable", release, "\n".join(sources.read(own).values()))


def flash_attn_arguments(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold since when the functions take an argument."""
    if text := texts(index, release, "flash_attn/flash_attn_interface.py"):
        yield _since(row, "argument", release, text)


_ONLY_ON = re.compile(r"only supported on CUDA (\d+\.\d+) and above")
_ARCH = re.compile(r"code=sm_(\d{2,3})")


def flash_attn_build(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the oldest nvcc, and what `setup.py` imports."""
    text = texts(index, release, "setup.py")
    if found := frozenset(_ONLY_ON.findall(text)):
        yield Told("", "nvcc", words(row["nvcc"]), found)
    imported = frozenset(_imported(text)) - {*sys.stdlib_module_names, "distutils", "pkg_resources"}
    if imported:
        yield Told("", "imports", words(row["imports"]), imported)


def _imported(text: str) -> Iterator[str]:
    """Yield what a module imports, in its functions too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def flash_attn_code(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that `setup.py` names each target of a row."""
    said = words(row["sm"])
    numbers = set(_ARCH.findall(texts(index, release, "setup.py")))
    found = frozenset(each for each in said if each.replace(".", "") in numbers)
    if numbers:
        yield Told("", "sm", said, found)


def sdpa_arguments(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold since when `scaled_dot_product_attention` takes an argument, by its signature."""
    text = texts(index, release, "torch/nn/functional.py")
    at = text.find("scaled_dot_product_attention(query")
    if at >= 0:
        yield _since(row, "name", release, text[at : text.find("->", at)])


def torch_names(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that a module asks torch for a name when it is imported."""
    package, name = str(row["imported"]).replace(".", "/"), str(row["name"]).rpartition(".")[2]
    sources = open_sources(index.transport, release)
    own = [path for path in sources.digests if path.startswith(f"{package}/")]
    text = "\n".join(sources.read(own).values())
    found = frozenset({name}) if has(name, text) else NONE
    yield Told(str(row["imported"]), "name", frozenset({name}), found)


_PLAIN = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4",
          "flex_attention")  # fmt: skip


def transformers_attention(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the plain names of attention."""
    text = texts(index, release, "transformers/modeling_utils.py")
    found = frozenset(each for each in _PLAIN if f'"{each}"' in text)
    yield Told("", "names", words(row["names"]) & set(_PLAIN), found)


def transformers_dtype(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold by which keywords `from_pretrained` takes the dtype."""
    text = texts(index, release, "transformers/modeling_utils.py")
    said = words(row["keyword"]) | words(row.get("older"))
    popped = frozenset(each for each in ("dtype", "torch_dtype") if f'kwargs.pop("{each}"' in text)
    yield Told("", "keyword", said, popped)


_AITER = "kernels-community/aiter-flash-attn"


def transformers_on_rocm(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that the sources name the kernels which are taken on ROCm."""
    text = texts(index, release, "transformers/modeling_flash_attention_utils.py",
                 "transformers/utils/import_utils.py",
                 "transformers/integrations/hub_kernels.py")  # fmt: skip
    said = words(row.get("fa2")) | words(row.get("fa3"))
    yield Told("", "fa3", said, frozenset({_AITER}) if _AITER in text else NONE)


def transformers_checks(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold what an import of transformers checks first."""
    text = texts(index, release, "transformers/dependency_versions_check.py")
    match = re.search(r"pkgs_to_check_at_runtime\s*=\s*(\[[^\]]*\])", text)
    if str(row["package"]) == "transformers" and match:
        listed = frozenset(map(str, ast.literal_eval(match[1])))
        only_if_there = {"python", "accelerate"}
        yield Told("", "checks", words(row["checks"]), listed - only_if_there)


def diffusers_hub(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that diffusers names the repository of a kernel, and its own name for it."""
    text = texts(index, release, "diffusers/models/attention_dispatch.py")
    for column in ("repository", "name") if text else ():
        cell = str(row[column])
        if cell != "absent":
            found = frozenset({cell}) if f'"{cell}"' in text else NONE
            yield Told(str(row["generation"]), column, frozenset({cell}), found)


_ROTARY = re.compile(
    r"@autocast\([^)]{0,40}False\)\ndef apply_rotary_pos_emb.*?(?=\n(?:@|def |class ))", re.DOTALL
)


def widening_rotary(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that rotary embeddings leave autocast, and that nothing casts their result back."""
    text = texts(index, release, "x_transformers/x_transformers.py")
    if "def apply_rotary_pos_emb" in text:
        match = _ROTARY.search(text)
        widens = match is not None and "dtype" not in match[0]
        said = is_in(str(release.version), str(row["version"])) is True
        yield Told("", "version", _truth(said), _truth(widens))


def _truth(value: object) -> frozenset[str]:
    return frozenset({str(value).lower()})


def models_with_sinks(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that the attention of a model has sinks."""
    for model in sorted(words(row["model"])):
        text = texts(index, release, f"transformers/models/{model}/modeling_{model}.py")
        if text:
            yield Told(model, "sinks", _truth(row["sinks"]), _truth(has("sinks", text)))


def admits_numpy_2(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that METADATA sets numpy no bound below 2."""
    del row
    [file, *_] = wheels_of(release) or release.files
    if not file.tags:
        return  # METADATA of an sdist is made when it is built
    lines = index.metadata(file).get_all("Requires-Dist") or []
    bounds = _unconditional(lines, "numpy")
    found = frozenset({"admitted" if all("2.0.0" in each for each in bounds) else "refused"})
    yield Told("", "releases", frozenset({"admitted"}), found)


def _unconditional(lines: Iterable[str], name: str) -> list[str]:
    """Return ``2.0.0`` for each requirement of a package that admits it, else its bound."""
    parsed = (Requirement(line) for line in lines)
    own = [each for each in parsed if each.name == name and each.marker is None]
    return ["2.0.0" if each.specifier.contains("2.0.0") else str(each.specifier) for each in own]
