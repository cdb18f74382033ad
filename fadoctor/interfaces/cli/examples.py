"""Examples of each command, for its help and for the manual; a test runs them as they stand."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "check": (
        "fadoctor check",
        "fadoctor check --gpu V100 --gpu A100",
        "fadoctor check --requirements requirements.txt --gpu H100 --driver 550.54",
        "fadoctor check --config train.yaml --gpu T4",
        "fadoctor check --output report.md --output report.html",
    ),
    "explain": (
        "fadoctor explain train.log",
        "tail -n 200 train.log | fadoctor explain - --python .venv",
    ),
    "fix": (
        "fadoctor fix --dry-run",
        "fadoctor fix --dry-run --want flash-attn --keep torch --gpu A100",
        "fadoctor fix --dry-run --requirements requirements.txt --gpu V100",
        "fadoctor fix --dry-run --output repair.sh",
    ),
    "run": ("fadoctor run -- python train.py",),
    "smoke": (
        "fadoctor smoke --list",
        "fadoctor smoke --require-gpu",
        "fadoctor smoke --backend fa2 --dtype bf16",
    ),
    "trace": ("fadoctor trace -- python train.py",),
    "facts": (
        "fadoctor facts > facts.json",
        "fadoctor facts --redact --output facts.json",
    ),
    "fleet": (
        "fadoctor fleet records.txt",
        "fadoctor fleet --expect 'n[00-15]' reports/",
    ),
    "mcp": ("fadoctor mcp", "fadoctor mcp --folder project"),
    "hook": ("fadoctor hook requirements requirements.txt --gpu A100",),
    "rules list": ("fadoctor rules list --area gpu-arch",),
    "rules show": (
        "fadoctor rules show gpu-too-old-fa2",
        "fadoctor rules show gpu-too-old-fa2 --facts facts.json",
    ),
    "rules search": ("fadoctor rules search undefined symbol after an upgrade of torch",),
    "rules test": ("fadoctor rules test my-rules",),
    "rules update": (
        "fadoctor rules update --dry-run",
        "fadoctor rules update --from rules.whl",
    ),
    "rules schema": ("fadoctor rules schema report",),
}


def epilog(command: str) -> str:
    """Return the end of a command's help: each example in a line of its own."""
    return "\n\n".join(("Examples:", *EXAMPLES[command]))
