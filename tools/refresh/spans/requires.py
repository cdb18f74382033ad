"""What each release of a package requires of the stack, by its METADATA: ``release-requires``.

The releases that follow each other and require the same share a row, which names each of them: a
command can then install exactly one that accepts what is there. Pre-releases and withdrawn
releases have no row, and releases whose METADATA the index does not have.
"""

from __future__ import annotations

import io
import re
import tarfile
from email.parser import Parser
from itertools import groupby
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from fadoctor.model.packages import PACKAGES as STACK
from tools.refresh.derive_requires import file_of, needs_in
from tools.refresh.errors import WheelError
from tools.refresh.wheel import TEXT_LIMIT, RemoteFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from email.message import Message

    from tools.refresh.index import File, Index, Release

TABLE = "release-requires"

READ = {
    "aqlm": "1.0", "anomalib": "1.0", "auto-gptq": "0.4", "autoawq": "0.1",
    "autoawq-kernels": "0.0.1", "botorch": "0.9", "compressed-tensors": "0.3", "coqui-tts": "0.22",
    "ctranslate2": "3.0", "demucs": "4.0", "descript-audiotools": "0.7", "exllamav2": "0.0.1",
    "exllamav3": "0.0.1", "f5-tts": "0.3", "fairseq": "0.10", "fastai": "2.5",
    "faster-whisper": "0.2", "fbgemm-gpu": "0.4", "fla-core": "0.3", "flair": "0.11",
    "flash-linear-attention": "0.1", "flashinfer-python": "0.2", "gptqmodel": "1.0",
    "gpytorch": "1.8", "invokeai": "4.0", "jax": "0.4.20", "jax-cuda12-plugin": "0.4.22",
    "jax-cuda12-plugin[with-cuda]": "0.4.22", "jaxlib": "0.4.20", "kornia": "0.6.8",
    "lightning": "2.0", "liger-kernel": "0.1", "llmcompressor": "0.1", "lm-eval": "0.4",
    "lmdeploy": "0.2", "mmdet": "2.25", "mmengine": "0.1", "monai": "1.0", "natten": "0.14",
    "nemo-toolkit": "1.20", "onnxruntime-gpu": "1.14", "open-clip-torch": "2.10",
    "openai-whisper": "20230117",
    "optimum": "1.14", "optimum-quanto": "0.2", "outlines": "0.0.30", "pyannote-audio": "2.1",
    "pytorch-forecasting": "1.0", "pytorch-lightning": "1.9", "quanto": "0.0.2", "rfdetr": "1.0",
    "sentence-transformers": "2.3", "spacy-transformers": "1.1", "speechbrain": "0.5.12",
    "stanza": "1.4", "tensordict": "0.1", "tensorflow": "2.11", "tensorflow[and-cuda]": "2.14",
    "timm": "0.6", "torch-geometric": "2.3", "torch-tensorrt": "1.3", "torchcodec": "0.0.1",
    "torchdata": "0.4", "torchmetrics": "0.10", "torchrec": "0.3", "torchrl": "0.1",
    "torchtext": "0.15", "torchtune": "0.0.1", "trainer": "0.0.20", "tts": "0.14",
    "whisperx": "3.2", "xgrammar": "0.1",
}  # fmt: skip
"""Packages, some with an extra, and the oldest release that is read of each."""

_OTHERS = frozenset({
    "cuda-python", "cutlass", "einops", "fsspec", "hydra-core", "jax-cuda12-pjrt", "keras",
    "librosa", "ml-dtypes", "numba", "omegaconf", "onnx", "onnxruntime", "opencv-python",
    "optree", "protobuf", "pyannote-core", "pydantic", "scipy", "tensorrt", "tensorrt-cu12",
    "tensorrt-cu12-bindings", "tensorrt-cu12-libs", "tensorrt-cu13", "tensorrt-cu13-bindings",
    "tensorrt-cu13-libs",
})  # fmt: skip
"""Packages outside of the stack and of this table, whose bounds its releases are chosen by."""

_COMPILED = re.compile(r"cp3(\d{1,2})")
_SYSTEMS = {"linux": "linux", "manylinux": "linux", "win": "windows", "macosx": "macos"}
_SDIST_LIMIT = 24 << 20
"""Bytes of an archive of sources that is read for its PKG-INFO."""


def names_of_table() -> frozenset[str]:
    """Return the packages whose bounds a row tells."""
    stack = {canonicalize_name(name) for names in STACK.values() for name in names}
    return frozenset({*stack, *_OTHERS, *(name.partition("[")[0] for name in READ)})


def release_rows(
    package: str, releases: Mapping[Version, Release], index: Index, oldest: Version
) -> Iterator[str]:
    """Yield the rows of a package: each for releases that follow each other and are the same."""
    name, _, extra = package.rstrip("]").partition("[")
    kept = names_of_table() - {name}
    told = [
        (version, cells)
        for version, release in sorted(releases.items())
        if version >= oldest
        and not version.is_prerelease
        and not all(file.yanked for file in release.files)
        and (cells := _cells(release, index, kept, extra)) is not None
    ]
    for cells, same in groupby(told, key=lambda each: each[1]):
        words = " ".join(str(version) for version, _ in same)
        requires, python, systems = (f'"{cell}"' if cell else "absent" for cell in cells)
        yield (
            f'  - {{package: "{package}", version: {words}, requires: {requires}, '
            f"python: {python}, systems: {systems}}}\n"
        )


def _cells(
    release: Release, index: Index, kept: frozenset[str], extra: str
) -> tuple[str, str, str] | None:
    file = file_of(release)
    message = index.metadata(file) if file else _of_sources(release, index)
    if message is None:
        return None
    needs = needs_in(_requirements(message), extra)
    words = [
        f"{name}{text}"
        for name, text in sorted(needs.items())
        if text and (name in kept or name.startswith("nvidia-"))
    ]
    return " ".join(words), _pythons(release, message), " ".join(_systems(release))


def _requirements(message: Message) -> Iterator[Requirement]:
    for line in message.get_all("Requires-Dist", [])[:2000]:
        try:
            yield Requirement(line[:2000])
        except InvalidRequirement:  # noqa: PERF203 -- each line may be one
            continue


def _of_sources(release: Release, index: Index) -> Message | None:
    """Return the PKG-INFO of a release's sources, None where it does not tell requirements."""
    files = [file for file in release.files if file.name.endswith(".tar.gz") and not file.yanked]
    if not files:
        return None
    remote = RemoteFile(index.transport, files[0].url)
    if remote.size > _SDIST_LIMIT:
        return None
    message = _pkg_info(remote.at(0, remote.size), files[0])
    dynamic = {word.lower() for word in (message.get_all("Dynamic", []) if message else [])}
    if message is None or "requires-dist" in dynamic or not message.get_all("Requires-Dist"):
        return None
    return message


def _pkg_info(body: bytes, file: File) -> Message | None:
    try:
        with tarfile.open(fileobj=io.BytesIO(body)) as archive:
            for member in archive:
                if member.name.count("/") == 1 and member.name.endswith("/PKG-INFO"):
                    stream = archive.extractfile(member)
                    text = stream.read(TEXT_LIMIT).decode("utf-8", "replace") if stream else ""
                    return Parser().parsestr(text, headersonly=True)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise WheelError(f"{file.url}: not an sdist: {type(error).__name__}") from error
    return None


def _pythons(release: Release, message: Message) -> str:
    """Return the Pythons of a release: of compiled files those of their names."""
    minors = {
        int(found[1])
        for file in release.files
        for tag in file.tags
        if (found := _COMPILED.fullmatch(tag.interpreter)) and tag.abi == tag.interpreter
    }
    if minors:
        return f">=3.{min(minors)},<3.{max(minors) + 1}"
    try:
        clauses = [str(each) for each in SpecifierSet(message["Requires-Python"] or "")]
    except InvalidSpecifier:
        return ""
    return ",".join(sorted((c for c in clauses if c[:2] != "!="), key=lambda c: (c[0] != ">", c)))


def _systems(release: Release) -> Iterable[str]:
    """Return the systems that have a file; none where a file is for all, or sources alone are."""
    tags = {tag.platform for file in release.files for tag in file.tags}
    if not tags or "any" in tags:
        return ()
    heads = {re.split(r"[_\d]", tag)[0] for tag in tags}
    return sorted({_SYSTEMS[head] for head in heads if head in _SYSTEMS})


def oldest_of(package: str) -> Version:
    """Return the oldest release that is read of a package."""
    try:
        return Version(READ[package])
    except InvalidVersion as error:
        raise WheelError(f"{package}: {READ[package]} is no version") from error
