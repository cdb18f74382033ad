"""The page of a fleet: a box for each node, and hostile texts."""

from __future__ import annotations

from fadoctor.fleet.content import failed
from fadoctor.fleet.gathered import Gathered
from fadoctor.fleet.identity import NodeIdentity
from fadoctor.fleet.summary import FleetRequest, summarise
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.report.html.fleet import render
from tests.unit.fleet.samples import content, node
from tests.unit.report.ci.hostile import HOSTILE

PLAIN = HOSTILE.encode("ascii", "replace").decode()
"""Records are ASCII: no half of a character can come in one."""
KNOWLEDGE = load_knowledge()


def page_of(total: int, **others: object) -> str:
    found = Gathered()
    for number in range(total):
        said = others.get(f"n{number}", content())
        found.add(node(number, total + 1), said)  # type: ignore[arg-type]
    return render(summarise(found, KNOWLEDGE, FleetRequest()))


def of_a_fleet() -> str:
    """Return a page with one of each kind."""
    bad = content(1, ("e flash-attn-missing", "w driver-too-old"), pkg={"flash-attn": None})
    return page_of(40, n7=content(gpu={"driver": "550.54"}), n3=bad, n9=failed(2, "no folder"))


def of_hostile_nodes() -> str:
    """Return a page whose every text is hostile."""
    found = Gathered()
    found.add(NodeIdentity(PLAIN, e=4), content(1, (f"e {PLAIN}",), pkg={PLAIN: PLAIN}))
    found.add(NodeIdentity("b"), content())
    found.add(NodeIdentity("c"), failed(2, HOSTILE))
    found.spoken(HOSTILE, HOSTILE)
    found.damaged(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    return render(summarise(found, KNOWLEDGE, FleetRequest(group_by=f"pkg.{HOSTILE}")))


def test_every_node_is_a_box_with_the_letter_of_its_group() -> None:
    page = of_a_fleet()
    assert page.count('class="node ') == 41
    assert page.count(">A</span>") == 37
    assert 'href="#group-0"' in page
    assert 'title="n07"' in page
    assert "driver 550.54 instead of 580.95.05" in page


def test_a_list_of_nodes_may_break_behind_a_comma_and_is_copied_as_it_is() -> None:
    odd = {f"n{number}": content(gpu={"driver": "550.54"}) for number in range(105, 3_000, 29)}
    page = page_of(3_000, **odd)
    assert "<p>n[105,<wbr>134,<wbr>" in page
    names = ",".join(str(number) for number in range(105, 3_000, 29))
    assert f"<p>n[{names}]</p>" in page.replace("<wbr>", "")
    assert "550.54 on 100 nodes (n[105,134," in page


def test_texts_from_outside_are_escaped() -> None:
    page = of_hostile_nodes()
    assert "<script>alert" not in page
    assert page.count("<script>") == 1


def test_ten_thousand_nodes_are_one_small_page() -> None:
    page = page_of(10_000)
    assert page.count('class="node ') == 10_001
    assert len(page) < 1_000_000


def test_of_too_many_nodes_the_lists_stand_alone() -> None:
    found = Gathered()
    found.add(NodeIdentity("n0"), content())
    (group,) = found.groups.values()
    found.nodes |= {f"n{number}": group for number in range(20_001)}
    page = render(summarise(found, KNOWLEDGE, FleetRequest()))
    assert "too many nodes for a picture" in page
