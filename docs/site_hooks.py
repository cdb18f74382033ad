"""What the site does otherwise than a checkout: messages in metadata, the page in the browser.

Files outside the pages are named, not linked. Pages of rules get "try it"; the words of CJK texts
are told apart for the search.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "build" / "page"

_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((\.\.?/[^()\s]*)\)")
_RULE = re.compile(r"rules/([a-z0-9-]+)\.md")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\`*\[\]<>|~&$_#+=.)-])")
_OWN = ("What to do", "How to check", "Why")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_DESCRIPTION = 300
_BY_FACTS = "It is found where"
"""In the pages of causes that facts show. They come before those that only a log shows, with which
they share many words: these are narrower, and fewer people mean them."""
_BOOST = 1.5
_NOT_BUILT = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>fadoctor</title>
<p>This copy of the site was built without the page in the browser.
<code>python -m tools.page</code> builds both.</p></html>
"""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links to files beside the pages by what they say; add what a rule's page gets."""
    folder = posixpath.dirname(page.file.src_uri)

    def named(found: re.Match[str]) -> str:
        target = found[2].partition("#")[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        inside = not path.startswith("..") and target.endswith(".md")
        return found[0] if inside else found[1]

    text = _LINK.sub(named, markdown)
    rule = _RULE.fullmatch(page.file.src_uri)
    if rule is None or rule[1] == "README":
        return text
    return _of_a_rule(text, rule[1], page)


def _of_a_rule(text: str, rule_id: str, page: Any) -> str:
    """Return the page of a rule with a link that fills in its example; name its messages."""
    title, _, rest = text.partition("\n")
    headings = [_ESCAPED.sub(r"\1", each) for each in _HEADING.findall(rest)]
    messages = [each for each in headings[:1] if each not in _OWN]
    paragraphs = [each for each in rest.split("\n\n") if each and not each.startswith("#")]
    cause = _ESCAPED.sub(r"\1", paragraphs[0].strip()).removeprefix("For example: ")
    said = " - ".join((*messages, title.removeprefix("# ").strip(), cause))
    page.meta["description"] = " ".join(said.split())[:_DESCRIPTION]
    page.meta["keywords"] = ", ".join((rule_id, *messages))
    if _BY_FACTS in rest:
        page.meta["search"] = {"boost": _BOOST}
    link = (
        f'<a class="md-button" href="../page/index.html#rule={rule_id}">Try it in the browser</a>'
    )
    place = rest.find("\n## What to do")
    return f"{title}\n{rest[:place]}\n<p>{link}</p>\n{rest[place:]}"


def on_post_build(config: Any, **_: Any) -> None:
    """Put the page in the browser into the site, and make CJK words findable."""
    site = Path(config["site_dir"])
    target = site / "page"
    shutil.rmtree(target, ignore_errors=True)
    if (PAGE / "index.html").is_file():
        shutil.copytree(PAGE, target)
    else:
        target.mkdir()
        (target / "index.html").write_text(_NOT_BUILT, encoding="utf-8")
    index = site / "search" / "search_index.json"
    if index.is_file():
        found = json.loads(index.read_text(encoding="utf-8"))
        for entry in found["docs"]:
            entry["text"] = _told_apart(entry["text"])
            entry["title"] = _told_apart(entry["title"])
        index.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


def _told_apart(text: str) -> str:
    """Return a text with an invisible break after each CJK letter: the search splits there."""
    return _CJK.sub("\\g<0>\u200b", text)
