"""What a release of torch opens by itself, from its source and from the folders there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.interpreter_process import LoaderTarget
from fadoctor.binary.predict import Predictor
from fadoctor.binary.torch_process import Preloads, read_preloads
from tests.binaries.elf_writer import Spec, Symbol, elf_file

if TYPE_CHECKING:
    from pathlib import Path

EARLIER = """
            if "nvidia/cuda_runtime/lib/libcudart.so" not in _maps:
                return
            _preload_cuda_deps("cuda_nvrtc", "libnvrtc.so.*[0-9]")
            _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
    except OSError as err:
        cuda_libs: Dict[str, str] = {
            "cublas": "libcublas.so.*[0-9]",
            "nvtx": "libnvToolsExt.so.*[0-9]",
"""
LATER = """
        ("cublas", "libcublasLt.so.*[0-9]"),
        ("cublas", "libcublas.so.*[0-9]"),
    _preload_cuda_lib("nvtx", "libnvToolsExt.so.*[0-9]", required=False)
            if "libcudart.so" not in _maps:
                return
            _preload_cuda_deps(required=False)
"""
LOADER = "/lib64/ld-linux-x86-64.so.2"


def test_earlier_releases_open_two_libraries() -> None:
    assert read_preloads(EARLIER) == Preloads(
        always=(("cuda_nvrtc", "libnvrtc.so.*[0-9]"), ("nvjitlink", "libnvJitLink.so.*[0-9]")),
        after_failure=(("cublas", "libcublas.so.*[0-9]"), ("nvtx", "libnvToolsExt.so.*[0-9]")),
        marker="nvidia/cuda_runtime/lib/libcudart.so",
    )


def test_later_releases_open_a_list() -> None:
    found = read_preloads(LATER)
    assert [library for _, library in found.always] == [
        "libcublasLt.so.*[0-9]",
        "libcublas.so.*[0-9]",
        "libnvToolsExt.so.*[0-9]",
    ]
    assert found.after_failure == found.always
    assert (found.marker, found.best_effort) == ("libcudart.so", True)


@pytest.mark.parametrize("text", ["", "import ctypes\n", '("a", "b")' * 1000])
def test_other_texts_open_nothing(text: str) -> None:
    assert read_preloads(text).always == ()


class TorchTree:
    """An environment with a torch that needs libraries of nvidia-* packages."""

    def __init__(self, root: Path, source: str, *, deps_rpath: str) -> None:
        self.root = root
        self.put(LOADER, Spec(soname="ld-linux-x86-64.so.2"))
        self.put("/bin/python", Spec(interpreter=LOADER))
        deps = Spec(needed=("libcudart.so.12",), soname="libtorch_global_deps.so", rpath=deps_rpath)
        self.put("/site/torch/lib/libtorch_global_deps.so", deps)
        self.put("/site/torch/_C.cpython-311-x86_64-linux-gnu.so", Spec())
        (root / "site" / "torch" / "__init__.py").write_text(source, encoding="utf-8")

    def put(self, path: str, spec: Spec) -> str:
        """Write a library."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(elf_file(spec))
        return path

    def nvidia(self, component: str, soname: str, *exports: str) -> None:
        """Write a library of an nvidia-* package."""
        symbols = tuple(Symbol(name) for name in exports)
        path = f"/site/nvidia/{component}/lib/{soname}"
        self.put(path, Spec(soname=soname, exports=symbols))

    def predictor(self) -> Predictor:
        """Return the loader of the environment."""
        return Predictor(
            LoaderTarget("/bin/python", "/site/torch", ("/site",), root=str(self.root))
        )


RPATH = "$ORIGIN/../../nvidia/cuda_runtime/lib"


def test_preloaded_library_serves_an_extension_without_rpath(tmp_path: Path) -> None:
    tree = TorchTree(tmp_path, EARLIER, deps_rpath=RPATH)
    tree.nvidia("cuda_runtime", "libcudart.so.12")
    tree.nvidia("cuda_nvrtc", "libnvrtc.so.12", "nvrtcVersion")
    tree.nvidia("cublas", "libcublas.so.12")
    nvrtc = Spec(needed=("libnvrtc.so.12",), imports=(Symbol("nvrtcVersion"),))
    with tree.predictor() as predictor:
        assert predictor.predict(tree.put("/site/a.so", nvrtc)).loads is True
        # This release does not open it, so nothing tells the loader where it is.
        cublas = tree.put("/site/b.so", Spec(needed=("libcublas.so.12",)))
        assert predictor.predict(cublas).loads is False


def test_a_library_that_is_missing_ends_the_list(tmp_path: Path) -> None:
    tree = TorchTree(tmp_path, EARLIER, deps_rpath=RPATH)
    tree.nvidia("cuda_runtime", "libcudart.so.12")
    tree.nvidia("nvjitlink", "libnvJitLink.so.12")
    path = tree.put("/site/a.so", Spec(needed=("libnvJitLink.so.12",)))
    with tree.predictor() as predictor:
        assert predictor.predict(path).loads is False


def test_later_releases_go_on_after_a_missing_library(tmp_path: Path) -> None:
    tree = TorchTree(tmp_path, LATER, deps_rpath="$ORIGIN/../../nvidia/cu12/lib")
    tree.nvidia("cu12", "libcudart.so.12")
    tree.nvidia("cu12", "libcublas.so.12")
    path = tree.put("/site/a.so", Spec(needed=("libcublas.so.12",)))
    with tree.predictor() as predictor:
        assert predictor.predict(path).loads is True


def test_failing_global_dependencies_are_tried_again(tmp_path: Path) -> None:
    source = EARLIER + '            "cuda_runtime": "libcudart.so.*[0-9]",\n'
    tree = TorchTree(tmp_path, source, deps_rpath="/nowhere")
    for component, soname in (
        ("cublas", "libcublas.so.12"),
        ("nvtx", "libnvToolsExt.so.1"),
        ("cuda_runtime", "libcudart.so.12"),
    ):
        tree.nvidia(component, soname)
    with tree.predictor() as predictor:
        assert predictor.predict(tree.put("/site/a.so", Spec())).loads is True
    (tmp_path / "site/nvidia/cublas/lib/libcublas.so.12").unlink()
    with tree.predictor() as predictor:
        found = predictor.predict("/site/a.so")
    assert found.loads is False
    assert found.reason is not None
    assert found.reason.name == "libcudart.so.12"
