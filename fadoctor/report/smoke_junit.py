"""JUnit XML of a smoke run: a cell is a test case, a device a suite.

A cell that was refused or not run is skipped, with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from fadoctor.model.verdict import Measured

if TYPE_CHECKING:
    from fadoctor.model.smoke import SmokeCell, SmokeReport


def render(report: SmokeReport) -> str:
    """Return the report as XML with one line end at its end."""
    root = ET.Element("testsuites", name="fadoctor smoke")
    for device in dict.fromkeys(cell.device for cell in report.cells):
        cells = [cell for cell in report.cells if cell.device == device]
        root.append(_suite(device, cells, report))
    if report.imports:
        root.append(_imports(report))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(device: str, cells: list[SmokeCell], report: SmokeReport) -> ET.Element:
    failed = sum(cell.measured is Measured.FAILED for cell in cells)
    passed = sum(cell.measured is Measured.PASSED for cell in cells)
    suite = ET.Element(
        "testsuite",
        name=device,
        tests=str(len(cells)),
        failures=str(failed),
        errors="0",
        skipped=str(len(cells) - failed - passed),
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(cells[0], report).items():
        ET.SubElement(properties, "property", name=name, value=value)
    for cell in cells:
        suite.append(_case(cell))
    return suite


def _imports(report: SmokeReport) -> ET.Element:
    failed = sum(each.measured is Measured.FAILED for each in report.imports)
    passed = sum(each.measured is Measured.PASSED for each in report.imports)
    suite = ET.Element(
        "testsuite",
        name="imports",
        tests=str(len(report.imports)),
        failures=str(failed),
        errors="0",
        skipped=str(len(report.imports) - failed - passed),
    )
    for each in report.imports:
        case = ET.SubElement(
            suite, "testcase", classname="imports", name=each.module, time=f"{each.seconds:.6f}"
        )
        if each.measured is Measured.FAILED:
            failure = ET.SubElement(case, "failure", type="import", message=each.detail)
            failure.text = _printable_lines(each.message)
        elif each.measured is Measured.PASSED:
            ET.SubElement(case, "system-out").text = each.detail
        else:
            ET.SubElement(case, "skipped", message=each.detail)
    return suite


def _properties(cell: SmokeCell, report: SmokeReport) -> dict[str, str]:
    return {
        "device": cell.device_name,
        "compute capability": cell.compute_capability,
        "torch": report.torch_version,
        "gpu tested": str(report.gpu_tested).lower(),
        "notes": "; ".join(report.notes),
    }


def _case(cell: SmokeCell) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=f"{cell.device}.{cell.backend.value}",
        name=f"{cell.dtype.value} {cell.case}",
        time=f"{_seconds(cell):.6f}",
    )
    match cell.measured:
        case Measured.PASSED:
            ET.SubElement(case, "system-out").text = cell.detail
        case Measured.FAILED:
            kind = cell.failure.value
            failure = ET.SubElement(case, "failure", type=kind, message=cell.detail)
            failure.text = _printable_lines(cell.message)
        case Measured.REFUSED | Measured.NOT_RUN:
            word = cell.measured.value.replace("_", " ")
            ET.SubElement(case, "skipped", message=f"{word}: {cell.detail}")
    return case


def _printable_lines(text: str) -> str:
    """Return text without the controls that XML forbids."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def _seconds(cell: SmokeCell) -> float:
    speed = cell.speed
    return ((speed.forward_ms + (speed.backward_ms or 0.0)) / 1000) if speed else 0.0
