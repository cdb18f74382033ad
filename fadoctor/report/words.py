"""Values, settings and counts as people write them."""

from __future__ import annotations


def setting_text(framework: str, settings: dict[str, str]) -> str:
    """Return a framework's settings as they are pasted: ``--dtype half``, ``fp16: true``."""
    words = [_setting(framework, name, value) for name, value in settings.items() if name != "note"]
    note = [f"({settings['note']})"] if "note" in settings else []
    return " ".join([(" " if framework == "vllm" else ", ").join(words), *note]).strip()


def _setting(framework: str, name: str, value: str) -> str:
    """Return one setting: of a command line, of YAML, or an argument or variable."""
    if name.startswith("--"):
        return f"{name} {value}"
    return f"{name}: {value}" if framework == "llamafactory" else f"{name}={value}"


def value_text(value: object) -> str:
    """Return a fact's value in one line."""
    if isinstance(value, (tuple, list)):
        return " ".join(str(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}".rstrip() for key, item in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def counted(number: int, noun: str) -> str:
    """Return ``1 case`` or ``2 cases``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
