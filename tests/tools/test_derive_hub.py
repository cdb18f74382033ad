"""What transformers and kernels tell about kernels of the Hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from tests.tools.tiny_index import metadata, packed
from tools.refresh import derive_hub

if TYPE_CHECKING:
    from tests.tools.tiny_index import TinyIndex
    from tools.refresh.derive import DerivedRow

BOUNDS = b'KERNELS_MIN_VERSION = "0.90.2"\nKERNELS_MAX_VERSION = "0.91.0"\n'
ATTENTION = b"""\
FLASH_ATTN_KERNEL_FALLBACK = {
    "flash_attention_2": (
        "kernels-community/aiter" if is_rocm_platform() else "kernels-community/flash-attn2"
    ),
    "flash_attention_4": "kernels-community/flash-attn4",
}

FLASH_ATTN_KERNEL_VERSIONS = {
    # a remark
    "kernels-community/flash-attn2": 4 if is_torch_greater_or_equal("2.10", accept_dev=True) else 3,
    "kernels-community/flash-attn4": 0,
}
"""


def publish(index: TinyIndex, attention: bytes, *kernels: str) -> None:
    """Put a transformers there, and kernels of some versions."""
    members = {
        "transformers/utils/import_utils.py": BOUNDS,
        "transformers/modeling_flash_attention_utils.py": attention,
        "transformers-90.0.0.dist-info/METADATA": metadata(
            "transformers", "90.0.0", "kernels<0.91,>=0.90.2; extra == 'kernels'"
        ),
    }
    index.add("transformers", ("transformers-90.0.0-py3-none-any.whl", packed(members)))
    index.add("kernels", *((f"kernels-{each}-py3-none-any.whl", b"") for each in kernels))


def rows(index: TinyIndex, name: str) -> list[DerivedRow]:
    opened = index.open()
    release = opened.releases("transformers")[Version("90.0.0")]
    return list(getattr(derive_hub, name)(release, opened, {}))


def test_what_transformers_accepts_and_loads(index: TinyIndex) -> None:
    publish(index, ATTENTION, "0.90.1", "0.90.2", "0.90.4", "0.91.0")
    (row,) = rows(index, "transformers_hub_kernels")
    assert {name: value.text for name, value in row.cells.items()} == {
        "kernels": ">=0.90.2,<0.91.0",
        "fa2": "kernels-community/flash-attn2",
        "fa4": "kernels-community/flash-attn4",
        "installable": "0.90.4",
        "instead": None,
    }


def test_kernels_that_nobody_can_install(index: TinyIndex) -> None:
    """As transformers 5.23 asked for a kernels that was not published."""
    publish(index, b"", "0.90.1")
    (row,) = rows(index, "transformers_hub_kernels")
    assert row.cells["installable"].text == "absent"
    assert "fa2" not in row.cells


def test_a_branch_that_hangs_on_torch_is_two_rows(index: TinyIndex) -> None:
    publish(index, ATTENTION, "0.90.2")
    found = [
        (row.keys["generation"], row.keys.get("torch"), row.cells["branch"].text)
        for row in rows(index, "transformers_hub_branches")
    ]
    assert found == [("fa2", "2.10", "v4"), ("fa2", "2.0.0", "v3"), ("fa4", None, "v0")]


def test_a_release_that_lists_no_versions_tells_nothing(index: TinyIndex) -> None:
    publish(index, b"", "0.90.2")
    assert rows(index, "transformers_hub_branches") == []


def test_how_kernels_chooses_stands_in_its_sources(index: TinyIndex) -> None:
    sources = {
        "kernels/variants.py": b'def resolve_variant(): "torch-stable-abi"\n',
        "kernels/load.py": b'os.environ.get("LOCAL_KERNELS"); f(repo_type="kernel")\n',
        "kernels/layer/repos.py": b"trustedKernelPublisher",
    }
    index.add("kernels", ("kernels-0.90.0-py3-none-any.whl", packed(sources)))
    opened = index.open()
    release = opened.releases("kernels")[Version("0.90.0")]
    (row,) = derive_hub.kernels_releases(release, opened, {})
    assert {name: value.text for name, value in row.cells.items()} == {
        "by_name": "false", "stable_abi": "true", "trust": "false", "names_version": "false",
        "asks_gpu": "false", "local_kernels": "true", "repositories": "kernel",
    }  # fmt: skip
