"""Files of no format that is read: gin, Jsonnet, HCL, INI."""

from __future__ import annotations

import pytest

from fadoctor.sources.configs import loose_keys
from fadoctor.sources.configs.source import Source

GIN = 'import train\n# train.torch_dtype = "float16"\ntrain.torch_dtype = "bfloat16"\n'
JSONNET = 'local b = 4;\n{ model: { attn_implementation: "sdpa", torch_dtype: "bfloat16" } }\n'
INI = "[model]\nbf16 = true\n"


@pytest.mark.parametrize(
    ("name", "text", "fact", "value", "line"),
    [
        ("a.gin", GIN, "config.weights_dtype", "bf16", 3),
        ("a.jsonnet", JSONNET, "config.attention", "sdpa", 2),
        ("a.ini", INI, "config.autocast", "bf16", 2),
    ],
)
def test_a_key_that_means_the_same_everywhere(
    name: str, text: str, fact: str, value: str, line: int
) -> None:
    source = Source(name, text)
    assert loose_keys.recognises(source)
    found = loose_keys.read(source)
    assert (value, line) in [(e.value, e.place.line) for e in found.intents if e.name == fact]
    assert found.notes[0].startswith(f"{name}: recognised: line")


@pytest.mark.parametrize("name", ["a.gin", "a.md", "a.txt"])
def test_prose_and_other_keys_are_none(name: str) -> None:
    text = "lr = 0.1\n" if name == "a.gin" else GIN
    assert not loose_keys.recognises(Source(name, text))
