"""The probe of binaries: real ELF files, written here, in a system of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.binaries import SMALLEST, probe
from fadoctor.sources.probes.world import World
from tests.binaries.elf_writer import Spec, Symbol, elf_file
from tests.binaries.system import LOADER, System
from tests.unit.binary.fatbin_builder import container, elf, image, ptx
from tests.unit.sources.probes.dist_info import LINUX, no_process

if TYPE_CHECKING:
    from pathlib import Path

SITE = "/venv/lib/python3.11/site-packages"
SUFFIX = ".cpython-311-x86_64-linux-gnu.so"
FLASH = f"{SITE}/flash_attn_2_cuda{SUFFIX}"
OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
NEW = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
PADDING = bytes(SMALLEST)
"""What makes a library of a few hundred bytes as large as real ones are at least."""


class Machine(System):
    """A system with torch in a virtual environment."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        lib = f"{SITE}/torch/lib"
        exports = (Symbol(NEW), Symbol("_ZN3c104cuda9SetDeviceEab"))
        self.put(f"{lib}/libc10.so", Spec(soname="libc10.so", exports=exports))
        needs = Spec(soname="libtorch_global_deps.so", needed=("libc10.so",), runpath="$ORIGIN")
        self.put(f"{lib}/libtorch_global_deps.so", needs)
        python = Spec(needed=("libc10.so",), runpath="$ORIGIN/lib")
        self.library(f"{SITE}/torch/_C{SUFFIX}", python)

    def library(self, path: str, spec: Spec) -> str:
        return self.write(path, elf_file(spec._replace(machine=self.machine)) + PADDING)

    def extension(self, *imports: str, needed: tuple[str, ...] = ("libc10.so",)) -> str:
        symbols = tuple(Symbol(name) for name in imports)
        return self.library(FLASH, Spec(needed=needed, imports=symbols))

    def read(self, **changes: Any) -> dict[str, Fact]:
        """Return what the probe says, with these facts and variables beside the usual."""
        environ = {n: v for n, v in changes.items() if n.isupper()}
        facts = LINUX | {f"{key}.version": Known("1", "test") for key in ("torch", "flash_attn")}
        facts |= {n.replace("__", "."): v for n, v in changes.items() if not n.isupper()}
        below = f"{self.root}{SITE}"
        roots = {"site": below}
        python = f"{self.root}/venv/bin/python"
        target = Target("environment", "test", "--python", python, (below,), roots)
        return probe(World(target, environ, no_process, "linux", self.root), facts)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def told(facts: dict[str, Fact], *names: str) -> list[object]:
    """Return values of flash-attn's extension; None where a fact is Absent."""
    found = [facts[f"flash_attn.binary.{name}"] for name in names]
    assert not any(isinstance(fact, Unknown) for fact in found), found
    return [fact.value if isinstance(fact, Known) else None for fact in found]


def test_every_fact_of_the_catalogue_is_provided(machine: Machine) -> None:
    names = {n for n, spec in build_catalogue().items() if spec.provider == "binaries"}
    assert machine.read().keys() == names
    machine.extension(OLD)
    assert machine.read().keys() == names


def test_an_extension_that_fits(machine: Machine) -> None:
    machine.extension(NEW)
    facts = machine.read()
    assert facts["flash_attn.loads"] == Known(value=True, source=f"$site/flash_attn_2_cuda{SUFFIX}")
    assert facts["torch.loads"] == Known(value=True, source=f"$site/torch/_C{SUFFIX}")
    assert told(facts, "failure", "undefined", "cxx11_abi") == [None, (), True]
    assert told(facts, "needed", "file") == [("libc10.so",), f"$site/flash_attn_2_cuda{SUFFIX}"]


def test_another_string_abi_is_named_with_what_torch_has_instead(machine: Machine) -> None:
    machine.extension(OLD)
    facts = machine.read()
    assert facts["flash_attn.loads"].value is False  # type: ignore[union-attr] # Known
    assert told(facts, "failure", "cause", "missing") == ["undefined-symbol", "string-abi", OLD]
    assert told(facts, "cxx11_abi", "undefined") == [False, (OLD,)]
    [hint, says] = told(facts, "hint", "says")
    assert "it needs c10::Error::Error(c10::SourceLocation, std::string), torch has" in str(hint)
    assert says == f"$site/flash_attn_2_cuda{SUFFIX}: undefined symbol: {OLD}"


def test_a_changed_signature_is_another_cause(machine: Machine) -> None:
    machine.extension("_ZN3c104cuda9SetDeviceEa")
    assert told(machine.read(), "cause") == ["torch-function"]


@pytest.mark.parametrize(
    ("soname", "cause"),
    [
        ("libcudart.so.12", "cuda-runtime"),
        ("libcublas.so.12", "cuda-library"),
        ("libtorch_cuda.so", "torch-library"),
        ("libnuma.so.1", "other"),
    ],
)
def test_a_missing_library_is_told_by_its_kind(machine: Machine, soname: str, cause: str) -> None:
    machine.extension(NEW, needed=("libc10.so", soname))
    found = told(machine.read(), "failure", "cause", "missing", "cuda_major")
    major = "12" if "cudart" in soname else None
    assert found == ["missing-library", cause, soname, major]


def test_the_library_of_the_driver_is_left_aside(machine: Machine) -> None:
    """On a machine that builds images there is none, and nothing is wrong with that."""
    machine.extension(NEW, needed=("libc10.so", "libcuda.so.1"))
    facts = machine.read()
    assert told(facts, "failure") == [None]
    assert isinstance(facts["flash_attn.loads"], Unknown)
    assert "libcuda.so.1 is missing here" in facts["flash_attn.loads"].reason
    machine.extension(OLD, needed=("libc10.so", "libcuda.so.1"))
    facts = machine.read()
    assert told(facts, "failure", "missing") == ["undefined-symbol", OLD]
    assert facts["flash_attn.loads"].value is False  # type: ignore[union-attr] # Known


def test_a_library_from_ld_library_path_is_named(machine: Machine) -> None:
    machine.put("/opt/old/libnccl.so.2", Spec(soname="libnccl.so.2"))
    python = Spec(
        needed=("libc10.so", "libnccl.so.2"),
        runpath="$ORIGIN/lib",
        imports=(Symbol("ncclCommSplit"),),
    )
    machine.library(f"{SITE}/torch/_C{SUFFIX}", python)
    facts = machine.read(LD_LIBRARY_PATH="/opt/old")
    names = ("failure", "cause", "missing", "found_by")
    found = [facts[f"torch.binary.{name}"] for name in names]
    assert [fact.value for fact in found if isinstance(fact, Known)] == [
        "undefined-symbol",
        "nccl",
        "ncclCommSplit",
        "LD_LIBRARY_PATH",
    ]


def test_beside_a_torch_that_does_not_load_nothing_else_is_blamed(machine: Machine) -> None:
    machine.library(f"{SITE}/torch/_C{SUFFIX}", Spec(needed=("libgone.so",)))
    machine.extension(OLD)
    facts = machine.read()
    assert told(facts, "failure", "missing") == ["torch", None]
    assert facts["torch.binary.missing"] == Known("libgone.so", f"$site/torch/_C{SUFFIX}")
    assert facts["flash_attn.loads"].value is False  # type: ignore[union-attr] # Known


def test_a_file_that_was_cut_off(machine: Machine) -> None:
    whole = machine.extension(NEW, *(f"symbol_{number}" for number in range(400)))
    file = machine.root / whole.lstrip("/")
    file.write_bytes(file.read_bytes()[: SMALLEST + 8])
    facts = machine.read()
    assert told(facts, "failure") == ["truncated"]
    assert "ends before" in str(told(facts, "says")[0])


def test_a_placeholder_says_nothing(machine: Machine) -> None:
    machine.write(FLASH, b"\x7fELF")
    facts = machine.read()
    assert told(facts, "failure", "size") == [None, None]
    assert isinstance(facts["flash_attn.loads"], Absent)


@pytest.mark.parametrize(
    ("content", "record"),
    [(b"", "81000000"), (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "")],
    ids=["size in RECORD", "pointer of Git LFS"],
)
def test_what_came_to_harm_is_no_placeholder(machine: Machine, content: bytes, record: str) -> None:
    machine.write(FLASH, content)
    info = f"{SITE}/flash_attn-2.8.3.dist-info/RECORD"
    line = f"flash_attn/__init__.py,sha256=x,10\nflash_attn_2_cuda{SUFFIX},sha256=x,{record}\n"
    machine.write(info, line.encode())
    facts = machine.read(flash_attn__distribution=Known("flash-attn", "test"))
    assert told(facts, "failure", "size") == ["not-elf", len(content)]
    assert told(facts, "recorded_size") == [int(record) if record else None]


def test_gpu_code_is_read(machine: Machine) -> None:
    parts = [container(image(architecture=80), ptx(90)), container(image(architecture=90))]
    machine.write(FLASH, elf(*parts, wrappers=[(1, 0), (1, 1)]) + PADDING)
    facts = machine.read()
    found = told(facts, "code", "arch_list", "ptx")
    assert found == [{"8.0 9.0+PTX@8.4": "1", "9.0": "1"}, ("8.0", "9.0"), "9.0"]


def test_a_library_without_gpu_code(machine: Machine) -> None:
    machine.extension(NEW)
    assert told(machine.read(), "code", "arch_list", "ptx") == [None, None, None]


def test_another_system_has_no_such_extensions(machine: Machine) -> None:
    """Only where they lie is said: nothing else of them is read."""
    facts = machine.read(host__os=Known("windows", "test"))
    files = {name for name, fact in facts.items() if isinstance(fact, Known)}
    assert files == {name for name in files if name.endswith(".file")}
    assert {type(fact) for name, fact in facts.items() if name not in files} == {Absent}


def test_another_processor_cannot_be_judged(machine: Machine) -> None:
    facts = machine.read(host__machine=Known("riscv64", "test"))
    judged = {name: fact for name, fact in facts.items() if not name.endswith(".file")}
    assert {type(fact) for fact in judged.values()} == {Unknown}


def test_without_an_interpreter_nothing_can_be_told(machine: Machine) -> None:
    machine.extension(OLD)
    (machine.root / "venv/bin/python").unlink()
    facts = machine.read()
    assert isinstance(facts["flash_attn.loads"], Unknown)
    assert isinstance(facts["flash_attn.binary.failure"], Unknown)


def test_torchvision_and_torchaudio_are_read_like_any_other(machine: Machine) -> None:
    """Both end at import where their library does not load; check was silent about it."""
    imports = (Symbol("_ZN3c104cuda9SetDeviceEa"),)
    spec = Spec(needed=("libc10.so",), imports=imports)
    machine.library(f"{SITE}/torchvision/_C.so", spec)
    machine.library(f"{SITE}/torchaudio/lib/libtorchaudio.so", spec._replace(imports=()))
    there = Known("1", "test")
    found = machine.read(torchvision__version=there, torchaudio__version=there)
    failure, missing = (found[f"torchvision.binary.{name}"] for name in ("failure", "missing"))
    assert isinstance(failure, Known)
    assert isinstance(missing, Known)
    assert (failure.value, missing.value) == ("undefined-symbol", "_ZN3c104cuda9SetDeviceEa")
    loads = found["torchaudio.loads"]
    assert isinstance(loads, Known)
    assert loads.value is True


def test_a_library_that_forbids_dlopen(machine: Machine) -> None:
    machine.library(FLASH, Spec(extra=((0x6FFFFFFB, 0x40),)))
    assert told(machine.read(), "failure", "says") == [
        "refused",
        f"$site/flash_attn_2_cuda{SUFFIX}: shared object cannot be dlopen()ed",
    ]


def test_where_the_processor_decides_and_is_not_known_nothing_is_told(machine: Machine) -> None:
    loader = machine.root / LOADER[machine.machine].lstrip("/")
    loader.write_bytes(loader.read_bytes() + b"--glibc-hwcaps-mask")
    for folder, exports in (("/usr/lib", ()), ("/usr/lib/glibc-hwcaps/x86-64-v3", ("f",))):
        symbols = tuple(Symbol(name) for name in exports)
        machine.library(f"{folder}/libdep.so", Spec(soname="libdep.so", exports=symbols))
    machine.extension("f", needed=("libdep.so",))
    found = machine.read()
    loads = found["flash_attn.loads"]
    assert isinstance(loads, Unknown)
    assert "the processor" in loads.reason
    assert isinstance(found["flash_attn.binary.failure"], Unknown)
