"""Pages of the Simple API, in both forms."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from tests.tools.tiny_index import TinyIndex, metadata, packed
from tools.refresh.errors import FetchError, WheelError
from tools.refresh.index import FILE_LIMIT, File, Index, parse_page
from tools.refresh.transport import Answer

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://index.test/simple/torch/"


def html(*anchors: str) -> Answer:
    return Answer("\n".join(anchors).encode(), URL, "text/html")


def names(answer: Answer) -> list[str]:
    return [file.name for file in parse_page(answer, "torch")]


def test_links_are_relative_and_yanks_and_digests_are_seen() -> None:
    page = html(
        '<a href="../../p/torch-1.0-cp311-cp311-manylinux_2_28_x86_64.whl#sha256=ab"'
        ' data-requires-python="&gt;=3.8" data-yanked="">x</a>',
        f"<A HREF='torch-1.1.tar.gz' data-core-metadata='sha256={'a' * 64}'>x</A>",
        '<a href="torch-1.2-py3-none-any.whl" data-dist-info-metadata="true">x</a>',
    )
    first, second, third = parse_page(page, "torch")
    assert first.url == "https://index.test/p/torch-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    assert (first.yanked, first.metadata, first.version) == (True, None, Version("1.0"))
    assert (second.metadata, second.tags) == ("a" * 64, frozenset())
    assert (third.metadata, third.yanked) == ("", False)


@pytest.mark.parametrize(
    "href",
    [
        "torch-1.0+cpu-cp311-cp311-linux_x86_64.whl",
        "torchvision-1.0-py3-none-any.whl",
        "torch-1.0.exe",
        "torch-not_a_version-py3-none-any.whl",
        "..%2f..%2fetc%2fpasswd",
        "torch-1.0-" + ".".join(f"cp3{number}" for number in range(60)) + "-none-any.whl",
        "file:///etc/torch-1.0-py3-none-any.whl",
    ],
)
def test_what_is_not_a_public_release_of_the_package(href: str) -> None:
    assert names(html(f'<a href="{href}">x</a>')) == []


def test_a_path_in_a_name_stays_in_the_address() -> None:
    page = html('<a href="..%2f..%2ftorch-1.0-py3-none-any.whl">x</a>')
    assert names(page) == ["torch-1.0-py3-none-any.whl"]


def test_a_page_of_this_machine_may_point_into_it() -> None:
    page = Answer(b'<a href="torch-1.0.tar.gz">x</a>', "file:///srv/simple/torch/")
    assert next(parse_page(page, "torch")).url == "file:///srv/simple/torch/torch-1.0.tar.gz"


def test_the_json_form() -> None:
    files = [
        {"url": "torch-1.0.tar.gz", "yanked": "broken", "core-metadata": {"sha256": "b" * 64}},
        {"url": "https://cdn.test/torch-1.1.tar.gz", "yanked": False, "core-metadata": True},
        {"url": "torch-1.2.tar.gz", "core-metadata": False},
    ]
    page = Answer(json.dumps({"files": files}).encode(), URL, "application/vnd.pypi.simple.v1+json")
    found = list(parse_page(page, "torch"))
    assert [file.metadata for file in found] == ["b" * 64, "", None]
    assert [file.yanked for file in found] == [True, False, False]
    assert found[1].url == "https://cdn.test/torch-1.1.tar.gz"


@pytest.mark.parametrize("text", ["[]", "{", '{"files": 3}', '{"files": [3]}', "[" * 100_000])
def test_json_of_another_form(text: str) -> None:
    with pytest.raises(FetchError, match="JSON"):
        list(parse_page(Answer(text.encode(), URL, "application/json"), "torch"))


def test_too_many_links() -> None:
    page = html(*['<a href="x">x</a>'] * (FILE_LIMIT + 1))
    with pytest.raises(FetchError, match="more than"):
        list(parse_page(page, "torch"))


@pytest.mark.parametrize("text", ["<a " * 300_000, "<a href='" * 100_000, '<a x="' + "y" * 10**6])
def test_broken_markup_is_read_in_linear_time(text: str) -> None:
    assert names(html(text)) == []


def test_releases_are_in_order_and_the_first_index_wins(index: TinyIndex, tmp_path: Path) -> None:
    index.add("torch", ("torch-1.10-py3-none-any.whl", b""), ("torch-1.9-py3-none-any.whl", b""))
    other = tmp_path / "simple" / "torch"
    other.mkdir(parents=True)
    other.joinpath("index.html").write_text(
        '<a href="torch-1.10-py3-none-any.whl">x</a><a href="torch-1.11-py3-none-any.whl">x</a>'
    )
    bases = (f"{index.origin}/missing/", index.url, other.parent.as_uri() + "/")
    releases = Index(index.transport(), bases).releases("torch")
    assert [str(version) for version in releases] == ["1.9", "1.10", "1.11"]
    assert releases[Version("1.10")].files[0].url.startswith(index.origin)


def test_python_and_day_are_told_in_both_forms() -> None:
    anchor = (
        '<a href="torch-1.0.tar.gz" data-requires-python="&gt;=3.8"'
        ' data-upload-time="2026-01-31T10:00:00.1Z">x</a>'
    )
    file = {
        "url": "torch-1.0.tar.gz",
        "requires-python": ">=3.8",
        "upload-time": "2026-01-31T10:00:00Z",
    }
    told = json.dumps({"files": [file]}).encode()
    for page in (html(anchor), Answer(told, URL, "application/json")):
        (found,) = parse_page(page, "torch")
        assert (found.python, found.uploaded) == (">=3.8", "2026-01-31")
    (silent,) = parse_page(html('<a href="torch-1.0.tar.gz">x</a>'), "torch")
    assert (silent.python, silent.uploaded) == ("", "")


def test_a_package_that_no_index_has(index: TinyIndex) -> None:
    with pytest.raises(FetchError, match="in no index"):
        index.open().releases("torch")


def test_metadata_beside_the_file_is_preferred(index: TinyIndex) -> None:
    body = metadata("a", "1.0", "torch==2")
    index.files["/a.whl.metadata"] = body
    digest = hashlib.sha256(body).hexdigest()
    file = File("a.whl", f"{index.origin}/a.whl", Version("1.0"), metadata=digest)
    assert index.open().metadata(file).get_all("Requires-Dist") == ["torch==2"]
    wrong = File("a.whl", f"{index.origin}/a.whl", Version("1.0"), metadata="0" * 64)
    with pytest.raises(FetchError, match="digest"):
        index.open().metadata(wrong)


def test_metadata_from_inside_the_wheel(index: TinyIndex) -> None:
    index.files["/a.whl"] = packed({"a-1.dist-info/METADATA": metadata("a", "1", "torch")})
    index.files["/b.whl"] = packed({"x/a-1.dist-info/METADATA": b""})
    file = File("a.whl", f"{index.origin}/a.whl", Version("1"))
    assert index.open().metadata(file)["Requires-Dist"] == "torch"
    with pytest.raises(WheelError, match="without METADATA"):
        index.open().metadata(File("b.whl", f"{index.origin}/b.whl", Version("1")))
