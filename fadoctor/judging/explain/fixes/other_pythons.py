r"""Advice that names the Pythons of several programs: the one of a text takes their place.

In ComfyUI's portable folder: .\python_embeded\python.exe -s -m pip install x. Elsewhere use its
venv: venv\Scripts\python.exe -m pip.
"""

from __future__ import annotations

from fadoctor.syntax.patterns import compiled

_ONE = (
    r"(?<![\w\\:/%.-])(?:(?:\.\\)?(?:python_embeded|python_standalone|runtime|system\\python"
    r"|(?:app\\)?\.?v?env(?:\\Scripts)?)\\python\.exe(?: -s)?|(?:app/)?\.?v?env/bin/python)"
    r"(?![\w\\])"
)
_WHOSE = r"(?: (?:of|for) (?:an? |the )?[\w' -]{3,40}?(?=[,;).]| or ))?"
_ALONE = compiled(_ONE)
# A sentence for several systems at once leaves the choice to the reader
_OF_LINUX = compiled(r"\bLinux\b(?!\))")
# python_embeded\\python.exe, venv\\Scripts\\python.exe or env\\python.exe in its folder
_SEVERAL = compiled(
    _ONE + _WHOSE + r"(?:(?:,? or |, |; )" + _ONE + _WHOSE + r"){1,5}(?: or libs)?"
    r"(?: in (?:its|the program's|that) (?:own )?folder)?(?: \(venv/bin/python on Linux\))?"
)
_OF_OTHERS = compiled(
    r"^(?:Elsewhere|Pinokio|(?:A clone|A package|Stability Matrix) has|Portable packages have)\b"
)
_LABEL = compiled(
    r"^In (?:the )?[A-Z][\w.]{1,20}(?:'s?)?(?: (?:portable|own|one-click|package)){0,2} folder:? "
    r"(?:run )?"
    r"(?=[\w.\\]{0,40}python\.exe)"
)
_SENTENCE = compiled(r"(?<=[\w)`\"'][.!?]) {1,2}(?=\S)")
_STARTS = ("python.exe", "python.exe -s", 'python.exe"', "python")


def with_own_python(text: str, python: str) -> str:
    """Return advice with one Python in the place of those of several programs."""
    if (
        not python.endswith(_STARTS)
        or "/" in python
        or "python" not in text
        or _ALONE.search(text) is None
    ):
        return text
    return " ".join(filter(None, (_said(each, python) for each in _SENTENCE.split(text))))


def _said(sentence: str, python: str) -> str:
    if _ALONE.search(sentence) is None or _OF_LINUX.search(sentence):
        return sentence
    if _OF_OTHERS.search(sentence):
        return ""
    own = _LABEL.sub("Run ", sentence) if _others(sentence, python) else sentence
    return _ALONE.sub(lambda _: python, _SEVERAL.sub(lambda _: python, own))


def _others(sentence: str, python: str) -> bool:
    return any(each != python for each in _ALONE.findall(sentence))
