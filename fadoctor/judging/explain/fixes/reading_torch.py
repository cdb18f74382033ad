"""Commands that read torch, and install the release of another package that was built for it.

They hold no braces, no dollar and no double quote: notebooks and shells take them as they are.
"""

from __future__ import annotations

from itertools import product, takewhile
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_older, version_key, version_part
from fadoctor.model.fix import Step, StepKind
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, XFORMERS
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fadoctor.model.rule import Table

_FLASH_FILES = "https://github.com/Dao-AILab/flash-attention/releases/download/v"
_OTHER_FILES = "https://github.com/mjun0812/flash-attention-prebuild-wheels/releases"
_INDEX = "https://download.pytorch.org/whl/"
_CUDAS = ("11", "12")
_LINUX, _WINDOWS = "linux_x86_64", "win_amd64"
_FLASH = PACKAGES[FLASH_ATTN][0]
_KEYS = ("torch", "cuda", "python")
_LEAST = compiled(r">=2\.(?P<minor>\d{1,2})")
READS = "It reads torch's version and CUDA, and installs the file for them."
WITHOUT_SAGE = "To do without it, choose sdpa as the attention of the program or node."
_READS_FLASH = (
    "It reads torch's version, CUDA and ABI, and installs flash-attn's own wheel for them and this "
    "Python. Nothing is compiled. Run it with the Python that runs the program."
)
_READS_COMMUNITY = (
    "It reads torch's version, CUDA and Python, and installs the wheel of mjun0812 for them. "
    "Nothing is compiled. If it names a page instead, no wheel there fits this torch."
)
_READS_XFORMERS = (
    "It reads torch's version, and installs the xformers that was built for it, from the index of "
    "its CUDA. torch stays as it is, and nothing is compiled."
)


def flash_steps(tables: Mapping[str, Table], torch: str, python: str, pip: str) -> list[Step]:
    """Return the one command for flash-attn's own wheel on Linux, and what it does.

    `torch`, `python`: what a text tells of them, "" for nothing; `pip`: with its options.
    """
    rows = [
        row
        for row in tables["flash-attn-for-torch"].rows
        if row["platform"] == _LINUX and torch in ("", row["torch"])
    ]
    command = flash_command(rows, python, pip)
    return [Step(StepKind.SYSTEM, command), Step(StepKind.ADVICE, _READS_FLASH)] if command else []


def windows_flash_steps(
    rows: Iterable[Mapping[str, object]], torch: str, python: str, pip: str
) -> list[Step]:
    """Return the one command for a wheel of flash-attn for Windows, and what it does.

    `rows`: the files of the community; `torch`, `python`: what a text tells, "" for nothing.
    """
    command = windows_flash_command(rows, torch, python, pip)
    said = Step(StepKind.ADVICE, _READS_COMMUNITY)
    return [Step(StepKind.SYSTEM, command), said] if command else []


def steps_for(
    tables: Mapping[str, Table], distribution: str, torch: str, platform: str
) -> list[Step]:
    """Return the steps for a distribution that is compiled for one torch; none where none is known.

    `torch`: what a text tells of it, "" for nothing.
    """
    if distribution == PACKAGES[XFORMERS][0]:
        return xformers_steps(tables, torch, platform)
    return release_steps(tables, distribution, torch) if platform == _LINUX else []


def xformers_steps(tables: Mapping[str, Table], torch: str, platform: str) -> list[Step]:
    """Return the one command for the xformers that was built for the torch that is there."""
    if torch and version_part(torch, "major") != "2":
        return []
    places = [
        row
        for row in tables["xformers-index"].rows
        if platform in cell_words(row["platform"]) or not platform
    ]
    command = xformers_command(tables["xformers-for-torch"].rows, places)
    return [Step(StepKind.SYSTEM, command), Step(StepKind.ADVICE, _READS_XFORMERS)]


def flash_command(rows: Iterable[Mapping[str, object]], python: str, options: str) -> str:
    """Return the command for flash-attn's own wheel: it reads torch, CUDA, ABI and Python.

    `rows`: of the table that has the newest release with a wheel; "" where none serves `python`.
    """
    chosen: dict[str, str] = {}
    labels: dict[str, str] = {}
    for row in rows:
        torch, cuda, version = (str(row[name]) for name in ("torch", "cuda", "version"))
        pythons = cell_words(row["python"])
        serves = python in pythons if python else len(pythons) > 1
        if serves and cuda in _CUDAS:
            key = f"{torch} {cuda}"  # of two for the two ABIs the older one has both
            chosen[key] = min(chosen.get(key, version), version, key=version_key)
            if (label := str(row["label"]).removeprefix("cu")) != cuda:
                labels[f"{version} {cuda}"] = label
    if not chosen:
        return ""
    groups = {
        version: [key for key, each in chosen.items() if each == version]
        for version in sorted(set(chosen.values()), key=version_key, reverse=True)
    }
    known = ", ".join(f"('{version}', {keys})" for version, keys in groups.items())
    words = ", ".join(f"'{word}'" for word in options.split()[1:])
    longer = ", ".join(f"('{key}', '{label}')" for key, label in sorted(labels.items()))
    label = f"dict([{longer}]).get(r + ' ' + c, c)" if longer else "c"
    return (
        'python -c "import sys, subprocess as s, torch as t; '
        "m = '.'.join(t.__version__.split('.')[:2]); c = str(t.version.cuda)[:2]; "
        f"r = ([r for r, k in [{known}] if m + ' ' + c in k] + [''])[0]; "
        "r = '' if 'a0' in t.__version__ else r; "
        f"r or sys.exit('torch ' + t.__version__ + ': see {_OTHER_FILES}'); "
        "a = str(t._C._GLIBCXX_USE_CXX11_ABI).upper(); p = 'cp3' + str(sys.version_info[1]); "
        f"s.call([sys.executable, '-m', 'pip', {words}, '{_FLASH_FILES}' + r + '/flash_attn-' + r "
        f"+ '%2Bcu' + {label} + 'torch' + m "
        "+ 'cxx11abi' + a + '-' + p + '-' + p "
        "+ '-linux_x86_64.whl'])\""
    )


def windows_flash_command(
    rows: Iterable[Mapping[str, object]], torch: str, python: str, options: str
) -> str:
    """Return the command for a wheel of flash-attn for Windows: it reads torch, CUDA and Python.

    A file serves each minor release of its CUDA: of two the newer one has code for newer GPUs.
    "" where no file is for `torch` and `python`.
    """
    best: dict[tuple[str, str, str], tuple[Any, str, str, str]] = {}
    for row in rows:
        if row["package"] != _FLASH or _WINDOWS not in cell_words(row["platform"]):
            continue
        version = max(cell_words(row["version"]), key=version_key)
        for minor, label, tag in product(*(cell_words(row[each]) for each in _KEYS)):
            cuda = label.removeprefix("cu")
            if torch in ("", minor) and python in ("", tag) and tag[-1].isdigit():
                place = str(row["tag"])
                order = (version_key(version), int(cuda), version_key(place.removeprefix("v")))
                key = (minor, cuda[:2], tag.removeprefix("cp"))
                each = (order, f"{place} {version}", cuda, minor)
                best[key] = max(best.get(key, each), each, key=lambda known: known[0])
    served: dict[str, list[str]] = {}
    for (_, _, tag), (_, place, cuda, minor) in sorted(best.items()):
        served.setdefault(f"{place} {cuda} {minor}", []).append(tag)
    known = ", ".join(f"'{file} {' '.join(tags)}'" for file, tags in served.items())
    words = ", ".join(f"'{word}'" for word in options.split()[1:])
    return known and (
        'python -c "import sys, subprocess as s, torch as t; '
        "m = '.'.join(t.__version__.split('.')[:2]); c = str(t.version.cuda)[:2]; "
        "p = '3' + str(sys.version_info[1]); "
        f"f = [w for w in [x.split() for x in [{known}]] "
        "if w[2][:2] == c and w[3] == m and p in w[4:]]; "
        "f or sys.exit('torch ' + t.__version__ + ' and Python ' + p + "
        f"': see {_OTHER_FILES}'); w = f[0]; "
        f"s.call([sys.executable, '-m', 'pip', {words}, '{_OTHER_FILES}/download/' + w[0] + "
        "'/flash_attn-' + w[1] + '%2Bcu' + w[2] + 'torch' + m + '-cp' + p + '-cp' + p + "
        "'-win_amd64.whl'])\""
    )


def xformers_command(
    rows: Iterable[Mapping[str, object]], places: Iterable[Mapping[str, object]]
) -> str:
    """Return the command for the xformers that was built for the torch that is there.

    `places`: the rows that tell the index which has it, where that is not the one of torch's build.
    One without an index is of releases that pip's own index has.
    """
    others = ", ".join(
        f"('{release}+{build}', '{row['index'] or ''}')"
        for row in places
        for release in cell_words(row["torch"])
        for build in cell_words(row["build"])
        if row["index"] != _INDEX + build
    )
    pairs = ", ".join(
        f"('{release}', '{row.get('windows') or row[XFORMERS]}')"
        for row in rows
        for release in cell_words(row["torch"])
    )
    return (
        'python -c "import sys, subprocess as s; from importlib.metadata import version as v; '
        f"k = v('torch'); t, _, c = k.partition('+'); x = dict([{pairs}]).get(t); "
        f"x = '' if 'rocm' in c else x; i = dict([{others}]).get(k, '{_INDEX}' + c); "
        "x or sys.exit('no xformers was built for torch ' + t); "
        "s.call([sys.executable, '-m', 'pip', 'install', '--no-deps', '--force-reinstall', "
        "'xformers==' + x] + ['--index-url', i] * bool(i and c.startswith('cu')))\""
    )


def release_steps(tables: Mapping[str, Table], distribution: str, torch: str) -> list[Step]:
    """Return the command for the release of a distribution that serves the torch that is there.

    `torch`: what a text tells of it, "" for nothing.
    """
    rows = [
        row
        for row in tables["releases-by-torch"].rows
        if distribution in cell_words(row["distribution"])
    ]
    if not rows:
        return []
    tools = cell_words(rows[0]["tools"])
    first = [_install(tools)] if tools else []
    if torch:
        fitting = [row for row in rows if not is_older(torch, str(row["least"]))]
        best = max(fitting, key=lambda row: version_key(str(row["least"])), default=None)
        return [*first, _install(cell_words(best["requirements"]))] if best else []
    command = Step(StepKind.SYSTEM, release_command(rows))
    return [*first, command, Step(StepKind.ADVICE, str(rows[0]["says"]))]


def _install(words: Sequence[str]) -> Step:
    names = tuple(word for word in words if not word.startswith("-"))
    options = tuple(word for word in words if word.startswith("-"))
    return Step(StepKind.INSTALL, f"pip install {' '.join(words)}", names, options=options)


def release_command(rows: Iterable[Mapping[str, object]]) -> str:
    """Return the command for the requirements of a row; `least` is the torch that they need."""
    listed = sorted(rows, key=lambda row: version_key(str(row["least"])), reverse=True)
    known = ", ".join(
        f"([{str(row['least']).replace('.', ', ')}], '{row['requirements']}')" for row in listed
    )
    return (
        'python -c "import sys, subprocess as s; from importlib.metadata import version as v; '
        "t = [int(n) for n in v('torch').split('.')[:2]]; "
        f"r = ([r for m, r in [{known}] if t >= m] + [''])[0]; "
        "r or sys.exit('torch ' + v('torch') + ' is too old'); "
        "s.call([sys.executable, '-m', 'pip', 'install'] + r.split())\""
    )


def triton_for_sage(tables: Mapping[str, Table]) -> Step:
    """Return what is to be installed on Windows beside sageattention, which imports it."""
    rows = tables["triton-windows-for-torch"].rows
    bounds = next(str(row["bounds"]) for row in rows if row.get("bounds"))
    says = f"It imports triton. If that is missing in the same Python, install there {bounds}."
    return Step(StepKind.ADVICE, f"{says} {WITHOUT_SAGE}")


def reading_command(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a command that installs the `url` of the row for torch and its CUDA.

    `rows`: with `torch`, a range without gaps between the rows, `cuda`, the major version, and
    `url`; "" where they are not all from one place.
    """
    urls = [str(row["url"]) for row in rows]
    bounds = [_LEAST.match(str(row["torch"])) for row in rows]
    start = _beginning(urls)
    end = _beginning([url[::-1] for url in urls])[::-1]
    if not start.startswith("https://") or not all(bounds) or not end.endswith(".whl"):
        return ""
    least = [int(bound["minor"]) if bound else 0 for bound in bounds]
    listed = sorted(zip(least, rows, urls, strict=True), key=lambda each: -each[0])
    known = ", ".join(
        f"({minor}, '{row['cuda']}', '{url.removeprefix(start).removesuffix(end)}')"
        for minor, row, url in listed
    )
    return (
        'python -c "import sys, subprocess as s, torch as t; '
        "v = int(t.__version__.split('.')[1]); c = t.version.cuda[:2]; "
        f"f = [f for m, k, f in [{known}] if v >= m and k == c][0]; "
        "s.call([sys.executable, '-m', 'pip', 'install', '--no-deps', '--force-reinstall', "
        f"'{start}' + f + '{end}'])\""
    )


def either(words: Sequence[str]) -> str:
    """Return words as alternatives: 2.4, 2.5 or 2.6."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _beginning(texts: Sequence[str]) -> str:
    """Return what all texts begin with."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in alike)
