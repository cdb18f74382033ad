"""Markdown of any text: a Markdown parser must read back what was written, and nothing else."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fadoctor.model.fact import printable
from fadoctor.report.page import Heading, Item, PageList, Paragraph, Span, code, spans
from fadoctor.report.page_markdown import escape, render

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PROSE = {"text", "text_special"}
TRICKY = (
    "# heading", "- item", "+ item", "1. item", "2) item", "> quote", "===", "---", "***",
    "a*b* _c_ __d__", "snake_case_name", "`code`", "``", "[a](https://example.org)", "![a](b)",
    "<script>alert(1)</script>", "&amp; &lt;", "| a | b |", "~~gone~~", "\\", "\\*", "[x] done",
    "$a$ and $b$", "http://example.org", "```", "    indented", "a\\", "1)", "[^1]: note",
)  # fmt: skip
texts = st.text(st.sampled_from("ab_*`#+-=.)1 [](){}<>!|~\\&;:$'\"\n\t\u202e\x1b"), max_size=40)


def prose(markdown: str) -> str:
    """Return the text of a document that must be one paragraph of plain text."""
    tokens = PARSER.parse(markdown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} <= PROSE
    return "".join(child.content for child in children)


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_texts_stay_text(text: str) -> None:
    assert prose(render((Paragraph(spans(text)),))) == text.strip()


@given(texts)
def test_any_text_stays_text(text: str) -> None:
    if printable(text).strip():
        assert prose(render((Paragraph(spans(text)),))) == printable(text).strip()


@given(texts)
def test_any_text_stays_code(text: str) -> None:
    tokens = PARSER.parse(render((Paragraph(spans("x ", code(text), " y")),)))
    children = tokens[1].children or []
    assert [child.type for child in children] == ["text", "code_inline", "text"]
    assert children[1].content.strip() == printable(text).strip()


@given(texts)
def test_any_text_stays_in_its_heading_and_its_item(text: str) -> None:
    blocks = (Heading(text, 2), PageList((Item(spans(text), (Item(spans(text)),)),)))
    kinds = [token.type for token in PARSER.parse(render(blocks))]
    assert kinds[:3] == ["heading_open", "inline", "heading_close"]
    assert kinds.count("bullet_list_open") == 2
    assert kinds.count("list_item_open") == 2
    assert not {"fence", "code_block", "html_block", "hr", "table_open"} & set(kinds)


def test_links_keep_their_address_and_cannot_be_left() -> None:
    address = "https://example.org/a_(b)?x=1&copy=2#[c]"
    for shown in (address, "text](evil) <b>"):
        tokens = PARSER.parse(render((Paragraph((Span(shown, href=address),)),)))
        children = tokens[1].children or []
        assert [child.type for child in children if child.type not in PROSE] == [
            "link_open",
            "link_close",
        ]
        href = str(children[0].attrs["href"])
        assert unquote(href) == address


def test_lists_are_nested_below_their_marks() -> None:
    inner = Item(spans("b"), (Item(spans("c")),))
    listing = PageList((Item(spans("a"), (inner,)), Item(spans("d"))), numbered=True)
    assert render((listing,)) == "1. a\n    - b\n        - c\n2. d\n"


def test_what_the_site_does_not_unescape_is_an_entity() -> None:
    r"""The site showed ``\$CONDA_PREFIX`` and ``\<urlopen error``."""
    assert escape("$A <b ~c |d & e*") == "&#36;A &lt;b &#126;c &#124;d &amp; e\\*"
    assert render((Paragraph(spans("= x")),)) == "&#61; x\n"
