"""What fails on the way to a Hub kernel, case by case, and what only looks like it.

Each case is run by tools.provoke_hub with released packages against a Hub on the loopback.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tools.fake_hub import FakeHub, Files, kernel

FITS = "torch213-cxx11-cu130-x86_64-linux"
OLD = ("torch212-cxx11-cu130-x86_64-linux", "torch211-cxx11-cu128-x86_64-linux")
STABLE, ARM = "torch-stable-abi29-cu130-x86_64-linux", "torch213-cxx11-cu130-aarch64-linux"
FLASH, ONE = "kernels-community/flash-attn2", "kernels-community/one"
OFFLINE = {"HF_HUB_OFFLINE": "1"}
DIFFUSERS, CUTE = "diffusers-0.42.1", "flash_attn_4-4.0.0b10"
ALONE = ("flash_attn_4",)
"""Packages that are installed without what they require, which is gigabytes."""


@dataclass(frozen=True)
class Case:
    """One failure: what is done, with what, and the rule that explain must name first."""

    rule: str
    """"" where nothing of what fails is about the Hub, and explain must be silent."""
    transformers: str
    kernels: str
    job: dict[str, object]
    environ: dict[str, str] = field(default_factory=dict)
    hub: str = "trusted"
    """trusted, untrusted, fitting (its flash-attn2 has a build for this torch) or nowhere."""
    wheels: tuple[str, ...] = ()
    """Packages beside them, ``name-version``."""


def model(name: str, **other: object) -> dict[str, object]:
    """Return the job of loading a model with an attention."""
    return {"model": name, **other}


_NO_BUILD = {
    "A0": Case("hub-no-variant", "4.57.6", "0.9.0", model(FLASH)),
    "A": Case("hub-no-variant", "4.57.6", "0.10.5", model(FLASH)),
    "B": Case("hub-no-variant", "5.12.1", "0.12.3", model(FLASH)),
    "B, hidden": Case("hub-no-variant", "5.12.1", "0.12.3", model("flash_attention_2")),
    "C, 0.13": Case("hub-no-variant", "5.12.1", "0.13.0", model(FLASH)),
    "C, 0.14": Case("hub-no-variant", "5.12.1", "0.14.1", model(FLASH)),
    "C, stable ABI": Case("hub-no-variant", "5.12.1", "0.14.1", model("kernels-community/stable")),
    "D, 0.15": Case("hub-no-variant", "5.13.1", "0.15.2", model(FLASH)),
    "D, 0.16": Case("hub-no-variant", "5.17.0", "0.16.2", model(FLASH)),
    "D, 0.17": Case("hub-no-variant", "5.22.2", "0.17.2", model(FLASH)),
    "D, hidden": Case("hub-no-variant", "5.22.2", "0.17.2", model("flash_attention_2")),
    "D, a newer one fits": Case("hub-no-variant", "5.22.2", "0.17.2", model(f"{ONE}@v0")),
    "aarch64 alone": Case("hub-no-variant", "5.22.2", "0.17.2", model("kernels-community/arm")),
    "renamed": Case("hub-no-variant", "", "0.10.5", {"kernel": "kernels-community/renamed"}),
}
_VERSIONS = {
    "range, 5.23": Case("hub-kernels-out-of-range", "5.23.0", "0.17.2", model(FLASH)),
    "range, 5.13": Case("hub-kernels-out-of-range", "5.13.1", "0.17.2", model(FLASH)),
    "range, diffusers": Case(
        "hub-kernels-out-of-range", "", "0.11.7", {"diffusers": "flash_hub"}, wheels=(DIFFUSERS,)
    ),
    "none, diffusers": Case(
        "hub-kernels-out-of-range", "", "", {"diffusers": "flash_hub"}, wheels=(DIFFUSERS,)
    ),
    "none, 5.12": Case("hub-kernels-out-of-range", "5.12.1", "", model(FLASH)),
    "none, 4.57": Case("hub-kernels-out-of-range", "4.57.6", "", model(FLASH)),
    "none, hidden": Case("hf-fa2-not-installed", "5.22.2", "", model("flash_attention_2")),
    "import": Case("hub-kernels-breaks-import", "5.12.1", "0.17.2", model(FLASH)),
    "branch": Case("hub-version-missing", "5.22.2", "0.17.2", model(f"{ONE}@v9")),
    "version": Case(
        "hub-version-missing", "", "0.17.2", {"kernel": ONE, "arguments": {"version": 4}}
    ),
    "version, 0.12": Case(
        "hub-version-missing", "", "0.12.3", {"kernel": ONE, "arguments": {"version": 4}}
    ),
    "no version": Case("hub-version-not-named", "", "0.15.2", {"kernel": ONE}),
    "number": Case(
        "hub-kernels-takes-no-version", "", "0.10.5", {"kernel": ONE, "arguments": {"version": 1}}
    ),
    "number, 5.2": Case(
        "hub-kernels-takes-no-version", "5.2.0", "0.10.2", {"lazy": FLASH, "version": 1}
    ),
    "newer": Case("hub-kernel-wants-newer", "5.22.2", "0.17.2", model("kernels-community/newer")),
    "unknown": Case(
        "hub-kernel-wants-newer", "5.22.2", "0.17.2", model("kernels-community/unknown")
    ),
}
_NOT_HAD = {
    "404, 0.10": Case("hub-old-repo-type", "4.57.6", "0.10.5", model("kernels-community/moved")),
    "404, 0.12": Case("hub-old-repo-type", "5.12.1", "0.12.3", model("kernels-community/moved")),
    "404, 0.13": Case("hub-old-repo-type", "5.12.1", "0.13.0", model("kernels-community/moved")),
    "404, 0.17": Case("hub-kernel-not-found", "5.22.2", "0.17.2", model("moonlab/model")),
    "trust": Case("hub-trust", "5.22.2", "0.17.2", model(ONE), hub="untrusted"),
    "trust, 0.14": Case("hub-trust", "5.12.1", "0.14.1", model(ONE), hub="untrusted"),
    "trust, diffusers": Case(
        "hub-trust", "", "0.17.2", {"diffusers": "flash_hub"}, hub="untrusted", wheels=(DIFFUSERS,)
    ),
    "down, 0.17": Case("hub-trust", "5.22.2", "0.17.2", model(ONE), hub="nowhere"),
    "down, 0.13": Case("hub-offline", "5.12.1", "0.13.0", model(ONE), hub="nowhere"),
    "down, 0.12": Case("hub-offline", "5.12.1", "0.12.3", model(ONE), hub="nowhere"),
    "offline, 0.10": Case("hub-offline", "4.57.6", "0.10.5", model(ONE), OFFLINE),
    "offline, 0.12": Case("hub-offline", "5.12.1", "0.12.3", model(ONE), OFFLINE),
    "offline, 0.13": Case("hub-offline", "5.12.1", "0.13.0", model(ONE), OFFLINE),
    "offline, 0.14": Case("hub-trust", "5.12.1", "0.14.1", model(ONE), OFFLINE),
    "offline, 0.15": Case("hub-offline", "5.13.1", "0.15.2", model(ONE), OFFLINE),
    "offline, 0.17": Case("hub-offline", "5.22.2", "0.17.2", model(f"{ONE}@v1"), OFFLINE),
    "offline, diffusers": Case(
        "hub-offline", "", "0.17.2", {"diffusers": "flash_hub"}, OFFLINE, wheels=(DIFFUSERS,)
    ),
}
_ITSELF = {
    "needs": Case("hub-dependency-missing", "5.22.2", "0.17.2", model("kernels-community/needs")),
    "needs, 0.11": Case(
        "hub-dependency-missing", "", "0.11.7", {"kernel": "kernels-community/needs"}
    ),
    "arch": Case(
        "hub-arch-refused", "5.22.2", "0.17.2",
        model("kernels-community/hopper", capability=[12, 0]),
    ),
    "metadata": Case("hub-metadata-unreadable", "5.22.2", "0.17.2", model("moonlab/silent")),
    "metadata, 0.15": Case("hub-metadata-unreadable", "5.13.1", "0.15.2", model("moonlab/silent")),
    "metadata, 0.14": Case(
        "hub-metadata-unreadable", "", "0.14.1",
        {"kernel": "kernels-community/silent", "arguments": {"version": 1}},
    ),
    "no metadata": Case("hub-metadata-unreadable", "5.22.2", "0.17.2", model("moonlab/mute")),
    "no module": Case("hub-build-incomplete", "5.22.2", "0.17.2", model("moonlab/empty")),
    "part of it": Case("hub-build-incomplete", "5.22.2", "0.17.2", model("moonlab/torn")),
    "attribute, diffusers": Case(
        "diffusers-hub-attribute", "", "0.17.2", {"diffusers": "flash_hub"}, hub="fitting",
        wheels=("diffusers-0.38.0",),
    ),
    "folder": Case(
        "hub-local-folder-wrong", "5.22.2", "0.17.2", model(FLASH),
        {"LOCAL_KERNELS": f"{FLASH}=/nowhere"},
    ),
    "folder, 0.15": Case(
        "hub-local-folder-wrong", "5.13.1", "0.15.2", model(FLASH),
        {"LOCAL_KERNELS": f"{FLASH}=/nowhere"},
    ),
    "folder, 0.13": Case(
        "hub-local-folder-wrong", "5.12.1", "0.13.0", model(FLASH),
        {"LOCAL_KERNELS": f"{FLASH}=/nowhere"},
    ),
    "folder, no name": Case(
        "hub-local-folder-wrong", "5.22.2", "0.17.2", model(FLASH), {"LOCAL_KERNELS": "/nowhere"}
    ),
}  # fmt: skip
_BESIDE = {
    "question": Case("hf-fa2-not-installed", "4.54.1", "0.9.0", {"ask": "flash_attention_2"}),
    "FA4": Case("torch-activated-fa-refused", "", "", {"activate": "FA4"}),
    "FA3": Case("torch-activated-fa-refused", "", "", {"activate": "FA3"}),
    "FA9": Case("torch-activated-fa-refused", "", "", {"activate": "FA9"}),
    "FA4, no cutlass": Case("requirement-missing", "", "", {"activate": "FA4"}, wheels=(CUTE,)),
    "FA4, a GPU": Case(
        "torch-activated-fa-refused", "", "", {"refuse": "4", "capability": [12, 0]}
    ),
    "FA3, a GPU": Case(
        "torch-activated-fa-refused", "", "", {"refuse": "3", "capability": [8, 0]}
    ),
    "batching": Case(
        "cb-auto-flash", "5.17.0", "0.16.2", {"batching": "sdpa", "capability": [7, 5]},
        hub="fitting",
    ),
    "FA3, hidden": Case("hf-fa2-not-installed", "5.22.2", "", model("flash_attention_3")),
    "leftover": Case(
        "hf-fa2-not-installed", "5.3.0", "", model("flash_attention_2"), wheels=(CUTE,)
    ),
}  # fmt: skip
NEAR = {
    "fine, 0.12": Case("", "5.12.1", "0.12.3", model(ONE)),
    "fine, 0.15": Case("", "5.13.1", "0.15.2", model(ONE)),
    "fine, 0.17": Case("", "5.22.2", "0.17.2", model(ONE)),
    "fine, fallback": Case("", "5.22.2", "0.17.2", model("flash_attention_2"), hub="fitting"),
    "fine, sdpa": Case("", "5.23.0", "0.17.2", model("sdpa")),
    "its own error": Case("", "", "0.17.2", {"kernel": "kernels-community/raises",
                                             "arguments": {"version": 1}}),
    "no such model": Case("", "5.22.2", "0.17.2", {"pretrained": "moonlab/llama"}),
    "a model offline": Case("", "5.22.2", "0.17.2", {"pretrained": "moonlab/llama"}, OFFLINE),
    "a model, no Hub": Case("", "5.22.2", "0.17.2", {"pretrained": "moonlab/llama"}, hub="nowhere"),
    "another module": Case("", "5.22.2", "0.17.2", {"module": "moonlab"}),
}  # fmt: skip
CASES = {**_NO_BUILD, **_VERSIONS, **_NOT_HAD, **_ITSELF, **_BESIDE, **NEAR}


def publish(hub: FakeHub, fitting: tuple[str, ...] = OLD) -> None:
    """Put a kernel there for each way to fail; flash-attn2 with certain builds."""
    one = {"v1": kernel({FITS: ("8.0", "9.0")}, "one"), "v0": kernel(dict.fromkeys(OLD, ()), "one")}
    old = {
        f"v{n}": kernel(dict.fromkeys(fitting, ()), "flash-attn2", metadata={"version": n},
                        source=_FLASH_SOURCE)
        for n in (1, 2, 3, 4)
    }  # fmt: skip
    hub.put(FLASH, old)
    hub.put("kernels-community/flash-attn", old)
    hub.put("kernels-community/vllm-flash-attn3", old)
    hub.put(ONE, one)
    hub.put("kernels-community/moved", one, kinds=("kernels",))
    hub.put("moonlab/model", one, kinds=("models",))
    hub.put("kernels-community/hopper", {"v1": kernel({FITS: ("8.0", "9.0a")}, "flash-attn3")})
    hub.put("kernels-community/stable", {"v1": kernel({STABLE: ()})})
    hub.put("kernels-community/arm", {"v1": kernel({ARM: ()})})
    for name, said in (
        ("kernels-community/needs", {"python-depends": ["nvidia-cutlass-dsl"]}),
        ("kernels-community/unknown", {"python-depends": ["left-pad"]}),
        ("kernels-community/newer", {"kernels-minver": "0.99.0"}),
        ("moonlab/silent", {"license": None}),
        ("kernels-community/silent", {"license": None}),
    ):
        hub.put(name, {"v1": kernel({FITS: ()}, metadata=said)})
    for name, source in (
        ("moonlab/torn", "from . import flash_attn_config\n"),
        ("kernels-community/raises", 'raise RuntimeError("the moon is not up")\n'),
    ):
        hub.put(name, {"v1": kernel({FITS: ()}, source=source)})
    _publish_parts(hub)


def _publish_parts(hub: FakeHub) -> None:
    """Put kernels there of which some files are missing, or have another name."""
    whole = kernel({FITS: ()})
    for name, end in (("moonlab/mute", ".json"), ("moonlab/empty", ".py")):
        hub.put(name, {"v1": _without(whole, end)})
    hub.put("kernels-community/renamed", {"v1": kernel({FITS: ()}, "otherwise")})


def _without(files: Files, end: str) -> Files:
    return {path: body for path, body in files.items() if not path.endswith(end)}


_FLASH_SOURCE = """
def flash_attn_func(*given, **named):
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

flash_attn_varlen_func = flash_attn_with_kvcache = flash_attn_func
"""
