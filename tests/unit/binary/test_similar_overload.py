"""A whole torch of hand-made libraries: its ABI, its self-check, and what it has instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.abi import AbiCause, StringAbi
from fadoctor.binary.interpreter_process import LoaderTarget
from fadoctor.binary.predict import Predictor
from fadoctor.binary.prediction import LoadStage
from fadoctor.binary.reason import ReasonKind
from fadoctor.binary.search import FoundBy
from fadoctor.binary.similar_overload import hints_for, qualified_name
from tests.binaries.elf_writer import Spec, Symbol, elf_file

if TYPE_CHECKING:
    from pathlib import Path

NEW = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
ERROR = "_ZN3c105ErrorC2ENS_14SourceLocationE"
CHECK = "_ZN3c106detail14torchCheckFailEPKcS2_jRK"
VARIABLE_INFO = "_ZN5torch8autograd12VariableInfoC1ERKN2at6TensorE"
LOADER = "/lib64/ld-linux-x86-64.so.2"
EXTENSION = "/site/flash_attn_2_cuda.so"


class Torch:
    """An environment below a root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.put(LOADER, Spec(soname="ld-linux-x86-64.so.2"))
        self.put("/bin/python", Spec(interpreter=LOADER, exports=(Symbol("PyLong_FromLong"),)))
        self.c10(ERROR + NEW, CHECK + NEW, "_ZNK5torch8autograd4Node4nameB5cxx11Ev")
        self.lib("libtorch_global_deps.so")
        self.lib("libtorch_cpu.so", VARIABLE_INFO + "b", "_ZN5torch8autograd12VariableInfoC10Ev")
        needed = ("libc10.so", "libtorch_cpu.so")
        root_module = Spec(needed=needed, rpath="$ORIGIN/lib", imports=(Symbol(CHECK + NEW),))
        self.put("/site/torch/_C.cpython-311-x86_64-linux-gnu.so", root_module)

    def put(self, path: str, spec: Spec) -> None:
        """Write a file."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(elf_file(spec))

    def lib(self, soname: str, *exports: str) -> None:
        """Write one of torch's libraries."""
        symbols = tuple(Symbol(name) for name in exports)
        self.put(f"/site/torch/lib/{soname}", Spec(soname=soname, exports=symbols))

    def c10(self, *exports: str) -> None:
        """Write libc10.so."""
        self.lib("libc10.so", *exports)

    def extension(self, *imports: str) -> None:
        """Write the extension."""
        symbols = tuple(Symbol(name) for name in imports)
        self.put(EXTENSION, Spec(needed=("libc10.so",), imports=symbols))

    def predictor(self, **environ: str) -> Predictor:
        """Return the loader."""
        root = str(self.root)
        return Predictor(LoaderTarget("/bin/python", "/site/torch", ("/site",), environ, root))


@pytest.fixture
def torch(tmp_path: Path) -> Torch:
    return Torch(tmp_path)


def test_hints_name_what_torch_has(torch: Torch) -> None:
    names = (ERROR + "Ss", "_ZNK5torch8autograd4Node4nameEv", VARIABLE_INFO)
    torch.extension("PyLong_FromLong", *names, "_ZN2at4goneEv", "aoti_torch_new_thing")
    with torch.predictor() as predictor:
        found = predictor.predict(EXTENSION)
        hints = hints_for(predictor, found)
        assert predictor.string_abi(EXTENSION) is StringAbi.OLD
        assert predictor.torch_string_abi() is StringAbi.NEW
    assert found.undefined_count == 5
    assert [(hint.symbol, hint.cause) for hint in hints] == [
        (names[0], AbiCause.OLD_STRING),
        (names[1], AbiCause.OLD_STRING),
        (names[2], AbiCause.SIGNATURE_CHANGED),
        ("_ZN2at4goneEv", AbiCause.GONE),
        ("aoti_torch_new_thing", AbiCause.STABLE_SHIM),
    ]
    assert hints[0].wanted == "c10::Error::Error(c10::SourceLocation, std::string)"
    assert hints[0].nearest == "c10::Error::Error(c10::SourceLocation, std::__cxx11::string)"
    assert hints[0].provider.endswith("/torch/lib/libc10.so")
    assert hints[2].nearest.endswith("VariableInfo(at::Tensor const&, bool)")
    assert (hints[3].nearest, hints[3].provider) == ("", "")


def test_old_torch_and_new_extension(torch: Torch) -> None:
    torch.c10(CHECK + "Ss")
    torch.extension(CHECK + NEW)
    with torch.predictor() as predictor:
        hints = hints_for(predictor, predictor.predict(EXTENSION))
        assert predictor.torch_string_abi() is StringAbi.OLD
    assert [hint.cause for hint in hints] == [AbiCause.NEW_STRING]


def test_healthy_extension_needs_no_hint(torch: Torch) -> None:
    torch.extension(CHECK + NEW)
    with torch.predictor() as predictor:
        found = predictor.predict(EXTENSION)
        assert (found.loads, hints_for(predictor, found)) == (True, ())


def test_torch_that_tells_no_abi(torch: Torch) -> None:
    torch.c10("something_else")
    with torch.predictor() as predictor:
        assert predictor.torch_string_abi() is None
        assert predictor.string_abi("/site/not-there.so") is None


def test_torch_is_checked_with_all_its_symbols(torch: Torch) -> None:
    torch.extension(CHECK + NEW)
    with torch.predictor() as predictor:
        assert predictor.check_torch().loads is True
    torch.c10(ERROR + NEW)
    with torch.predictor() as predictor:
        # Nothing looks mixed, so that an extension does not pay for torch's own symbols.
        assert predictor.predict(EXTENSION).stage is LoadStage.EXTENSION
        found = predictor.check_torch()
    assert (found.loads, found.reason and found.reason.name) == (False, CHECK + NEW)


def test_torch_that_lacks_a_library(torch: Torch) -> None:
    (torch.root / "site/torch/lib/libtorch_cpu.so").unlink()
    torch.extension(CHECK + NEW)
    with torch.predictor() as predictor:
        for found in (predictor.check_torch(), predictor.predict(EXTENSION)):
            assert (found.loads, found.stage) == (False, LoadStage.TORCH)
            assert found.reason is not None
            assert found.reason.name == "libtorch_cpu.so"
        assert found.needed == ("libc10.so",)


def test_torch_without_its_extension(torch: Torch) -> None:
    (torch.root / "site/torch/_C.cpython-311-x86_64-linux-gnu.so").unlink()
    with torch.predictor() as predictor:
        found = predictor.check_torch()
    assert (found.loads, found.reason and found.reason.kind) == (False, ReasonKind.MISSING_FILE)


def test_two_torches_that_are_mixed(torch: Torch) -> None:
    root_module = Spec(needed=("libc10.so",), runpath="$ORIGIN/lib", imports=(Symbol(CHECK + NEW),))
    torch.put("/site/torch/_C.cpython-311-x86_64-linux-gnu.so", root_module)
    torch.put("/other/libc10.so", Spec(soname="libc10.so"))
    torch.extension()
    with torch.predictor(LD_LIBRARY_PATH="/other") as predictor:
        found = predictor.predict(EXTENSION)
        (foreign,) = predictor.foreign_torch_libraries()
    assert (found.loads, found.stage) == (False, LoadStage.TORCH)
    assert (foreign.path, foreign.origin) == ("/other/libc10.so", FoundBy.LD_LIBRARY_PATH)


def test_torch_that_needs_the_driver_is_told_apart(torch: Torch) -> None:
    needed = ("libc10.so", "libcuda.so.1")
    root_module = Spec(needed=needed, rpath="$ORIGIN/lib", imports=(Symbol("cuInit"),))
    torch.put("/site/torch/_C.cpython-311-x86_64-linux-gnu.so", root_module)
    torch.extension(CHECK + "Ss")
    with torch.predictor() as predictor:
        found = predictor.predict(EXTENSION)
        own = predictor.check_torch()
    assert (found.loads, found.stage) == (False, LoadStage.TORCH)
    assert (found.reason and found.reason.name) == "libcuda.so.1"
    assert found.beyond_driver is not None
    assert (found.beyond_driver.reason and found.beyond_driver.reason.name) == CHECK + "Ss"
    assert own.beyond_driver is not None
    assert (own.beyond_driver.loads, own.unchecked) == (None, ("cuInit",))


def test_libraries_of_the_process(torch: Torch) -> None:
    with torch.predictor() as predictor:
        found = [(one.path.rpartition("/")[2], one.origin) for one in predictor.libraries()]
    assert found == [
        ("python", FoundBy.EXECUTABLE),
        ("ld-linux-x86-64.so.2", FoundBy.INTERPRETER),
        ("libtorch_global_deps.so", FoundBy.PATH),
        ("_C.cpython-311-x86_64-linux-gnu.so", FoundBy.PATH),
        ("libc10.so", FoundBy.RPATH),
        ("libtorch_cpu.so", FoundBy.RPATH),
    ]


def test_a_damaged_provider_leaves_it_open(torch: Torch) -> None:
    torch.put("/site/torch/lib/libc10.so", Spec(soname="libc10.so", extra=((0x6FFFFEF5, 1 << 40),)))
    torch.extension(CHECK + NEW)
    with torch.predictor() as predictor:
        found = predictor.predict(EXTENSION)
        assert predictor.torch_string_abi() is None
        assert hints_for(predictor, found) == ()
    assert (found.loads, found.reason and found.reason.kind) == (None, ReasonKind.MALFORMED)


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (ERROR + "Ss", "_ZN3c105ErrorC2"),
        ("_ZNK5torch8autograd4Node4nameB5cxx11Ev", "_ZNK5torch8autograd4Node4name"),
        ("_ZN2at6TensorpLERKS0_", "_ZN2at6TensorpL"),
        ("_ZN2at4callIiEEvT_", "_ZN2at4call"),
        ("_Z3fooi", "_Z3foo"),
        ("_Z99foo", ""),
        ("malloc", ""),
        ("_ZTIN3c105ErrorE", ""),
        ("", ""),
    ],
)
def test_qualified_name(symbol: str, expected: str) -> None:
    assert qualified_name(symbol) == expected
