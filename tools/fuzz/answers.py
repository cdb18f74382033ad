"""What other processes and other machines send: records of a fleet, facts, traces, releases."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.fleet.documents import document_of
from fadoctor.fleet.frames import frames_of
from fadoctor.fleet.gathered import Gathered
from fadoctor.fleet.streams import Intake
from fadoctor.fleet.summary import FleetRequest, summarise
from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.updates import FOLDER, FORMAT, ReleaseError
from fadoctor.knowledge.updates.archive import read_wheel
from fadoctor.model.errors import InputError
from fadoctor.model.trace import Call, FailedImport, NotEntered, Record, TensorSeen
from fadoctor.proof.trace.join import build_report
from fadoctor.proof.trace.parent import read_processes
from fadoctor.report.fleet_text import render as render_fleet
from fadoctor.report.style import Style
from fadoctor.report.trace_text import render as render_trace
from fadoctor.sources.targets.saved import read_facts
from tests.unit.fleet.samples import content, line, node

if TYPE_CHECKING:
    from tools.fuzz.loop import Read

_GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
_SHARES = 8
"""Into so many inputs the facts of one machine are cut: small ones are read soon."""
_EVERY = 8
"""One of so many inputs that can be read is judged, too."""
_SHOWN = 20_000
"""Characters of a page that are looked at."""


def records_corpus() -> list[bytes]:
    """Return what nodes print: records, pieces of reports, reports on one line and on many."""
    sick = content(1, ("e flash-attn-missing",))
    document = document_of(node(1), sick, None)
    pretty = msgspec.json.format(document, indent=2) + b"\n"
    return [
        b"".join(line(number) for number in range(4)) + b"3: " + line(3, sick),
        b"".join(frames_of(node(1), document)),
        b"".join(b"n01: " + piece for piece in frames_of(node(1), document * 40)),
        document + b"\n",
        b"".join(b"7: " + row for row in pretty.splitlines(keepends=True)),
        b"srun: error: n03: task 3: Exited with exit code 1\n" + line(2, content(3)),
    ]


def records_reader(_folder: Path) -> Read:
    """Return what reads a stream and writes the page of the fleet."""
    knowledge = load_knowledge()

    def read(data: bytes) -> bool:
        gathered = Gathered()
        intake = Intake(gathered)
        intake.read(io.BytesIO(data), "stream")
        intake.finish()
        page = render_fleet(summarise(gathered, knowledge, FleetRequest()), Style())
        _harmless(page)
        return bool(gathered.nodes)

    return read


def facts_corpus() -> list[bytes]:
    """Return saved facts, those of one machine cut into some."""
    found = []
    for name in ("linux-a100-healthy", "broken-everything"):
        saved = msgspec.json.decode((_GOLDEN / name / "facts.json").read_bytes())
        facts = list(saved["facts"].items())
        found += [
            msgspec.json.encode({**saved, "facts": dict(facts[share::_SHARES])})
            for share in range(_SHARES)
        ]
    return found


def facts_reader(_folder: Path) -> Read:
    """Return what reads facts; some are judged."""
    knowledge = load_knowledge()
    count = 0

    def read(data: bytes) -> bool:
        nonlocal count
        try:
            environment = read_facts(data, "facts.json")
        except InputError:
            return False
        count += 1
        if count % _EVERY == 0:
            diagnose(environment, knowledge)
        return True

    return read


def traces_corpus() -> list[bytes]:
    """Return records of traced processes."""
    seen = TensorSeen("float32", (2, 8, 4, 64), "cuda:0")
    call = Call(
        module="layers.0", entry="flash_attn.flash_attn_func", backend="fa2", times=3,
        file="model.py", line=7, q=seen, k=seen, v=None, mask=None, causal=True,
        autocast="bfloat16", grad=True, why_not_flash=("dtype",), culprits={},
    )  # fmt: skip
    whole = Record(
        pid=7, rank=0, argv=("python", "train.py"), python="3.12.3", torch="2.6.0",
        packages={"torch": "2.6.0"}, compiled=("forward",), calls=(call,),
        failed_imports=(FailedImport("flash_attn", "ImportError: x"),),
        not_entered=(NotEntered(("python", "-I"), "it runs with -I"),), faults=("KeyError",),
    )  # fmt: skip
    return [msgspec.json.encode(whole), msgspec.json.encode(Record(1, None, ()))]


def traces_reader(folder: Path) -> Read:
    """Return what reads the records of a command, and writes its page."""
    knowledge = load_knowledge()
    path = folder / "7-0.json"

    def read(data: bytes) -> bool:
        path.write_bytes(data)
        processes, problems = read_processes(folder)
        _harmless(render_trace(build_report(("true",), 0, processes, knowledge), Style()))
        return not problems

    return read


def releases_corpus() -> list[bytes]:
    """Return wheels with rules."""
    found = []
    for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", way) as archive:
            said = msgspec.json.encode({"format": FORMAT, "version": "2026.12.1"})
            archive.writestr(f"{FOLDER}/release.json", said)
            archive.writestr(f"{FOLDER}/rules/knowledge.yaml", 'version: "2026.12.1"\n')
            archive.writestr(f"{FOLDER}/rules/gpu/a-rule.yaml", "id: a-rule\n" * 50)
        found.append(buffer.getvalue())
    return found


def releases_reader(folder: Path) -> Read:
    """Return what reads a wheel."""
    path = folder / "input.whl"

    def read(data: bytes) -> bool:
        path.write_bytes(data)
        try:
            return bool(read_wheel(path).files)
        except ReleaseError:
            return False

    return read


def _harmless(page: str) -> None:
    """Refuse a page that steers a terminal."""
    bad = next((char for char in page[:_SHOWN] if not (char.isprintable() or char == "\n")), "")
    if bad:
        raise ValueError(f"a page with {bad!r}")
