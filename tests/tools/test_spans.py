"""Tables that say from which release to which one a package has a name."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from packaging.tags import parse_tag
from packaging.version import Version

from tests.tools.tiny_index import metadata, packed
from tools.refresh import cli
from tools.refresh.index import File, Release
from tools.refresh.spans import (
    compiled_files,
    constructors,
    functions,
    headers,
    models,
    options,
    pythons,
    requires,
    tables,
    trainers,
)
from tools.refresh.spans.span import Span, spans

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tools.tiny_index import TinyIndex

ONE, TWO, THREE = (Version(f"0.{minor}.0") for minor in (6, 7, 8))
HEAD = "table: {name}\ndoc: A test.\nkeys: {{{key}: word}}\ncolumns: {{}}\nreferences: []\nrows:\n"
ARGUMENTS = "class EngineArgs:\n    {fields}\nparser.add_argument('--{literal}')\n"
FIELDS = {"0.6.0": "model: str = ''", "0.7.0": "model: str = ''\n    swap_space: int = 4"}


def test_what_stays_has_no_span_and_what_comes_back_neither() -> None:
    had = {
        ONE: frozenset({"stays", "goes", "returns"}),
        TWO: frozenset({"stays", "comes"}),
        THREE: frozenset({"stays", "comes", "returns"}),
    }
    assert spans(had) == [
        Span(("goes",), None, ONE, TWO),
        Span(("comes",), TWO, None, None),
    ]


def test_options_are_literals_and_fields() -> None:
    source = 'class MyEngineArgs:\n    max_len: int = 1\n    _own: int = 2\nadd("--api-key")\n'
    assert options.read_options(source, re.compile(r"\w+Args")) == {"max-len", "api-key"}
    assert options.read_options("def broken(:\n '--api-key'", re.compile(r"\w+")) == {"api-key"}


REGISTRY = """
_TEXT_MODELS = {"LlamaForCausalLM": ("llama", "LlamaForCausalLM"), **{}}
_PREVIOUSLY_SUPPORTED_MODELS = {"OldForCausalLM": "0.9.0"}
CONFIG_MAPPING_NAMES = OrderedDict([("bert", "BertConfig"), ("not a name", "X")])
QuantizationMethods = Literal["awq", "fp8"]
QUANTIZATION_METHODS: list[str] = list(get_args(QuantizationMethods))
"""


def test_names_of_models_are_keys_first_ones_of_pairs_and_items() -> None:
    by_kind = {what.kind: set(models.read_names(REGISTRY, what.variables)) for what in models.NAMES}
    assert by_kind == {
        "architecture": {"LlamaForCausalLM"},
        "model-type": {"bert"},
        "quantization": {"awq", "fp8"},
    }


def test_a_model_is_asked_for_below_the_next_release_that_may_break() -> None:
    transformers, vllm, _ = models.NAMES
    had = {Version(each): frozenset[str]() for each in ("4.50.0", "4.51.0", "5.2.0")}
    had |= {Version(each): frozenset({"qwen3"}) for each in ("4.51.0", "5.2.0")}
    (row,) = models.name_rows(transformers, had)
    assert row.startswith("  - {package: transformers, kind: model-type, name: qwen3,")
    assert row.endswith('first: 4.51.0, releases: ">=4.51.0,<5"}\n')
    assert '">=4.51.0,<5.3"' in models.name_rows(vllm, had)[0]


def test_what_every_release_has_is_in_a_row_of_its_own() -> None:
    """A model that was always there was said to be in no release."""
    _, vllm, _ = models.NAMES
    had = {Version(each): frozenset({"LlamaForCausalLM"}) for each in ("0.4.0", "0.5.0", "0.6.1")}
    (row,) = models.name_rows(vllm, had)
    assert row.endswith('name: LlamaForCausalLM, releases: ">=0.4.0,<0.7"}\n')


def test_a_model_that_came_back_is_there_since_then() -> None:
    _, vllm, _ = models.NAMES
    had = {Version(each): frozenset[str]() for each in ("0.5.0", "0.7.0")}
    had |= {Version(each): frozenset({"OldForCausalLM"}) for each in ("0.4.0", "0.6.0", "0.8.0")}
    (row,) = models.name_rows(vllm, had)
    assert row.endswith('name: OldForCausalLM, first: 0.8.0, releases: ">=0.8.0,<0.9"}\n')


CONSTRUCTORS = """
class {name}:
    def __init__(self, {arguments}):
        pass
class Open{name}:
    def __init__(self, first, **rest):
        pass
"""


def test_arguments_that_constructors_got_and_lost() -> None:
    library = constructors.LIBRARIES[0]
    had = {
        version: constructors.constructors_in(
            library, CONSTRUCTORS.format(name="EarlyStopping", arguments=arguments)
        )
        for version, arguments in ((ONE, "monitor, mode"), (TWO, "monitor, patience"))
    }
    assert had[ONE] == {"EarlyStopping": frozenset({"monitor", "mode"})}
    keys = "  - {package: pytorch-lightning, class: EarlyStopping, name:"
    assert constructors.argument_rows(library, had) == [
        f'{keys} mode, last: 0.6.0, gone: 0.7.0, under: "1"}}\n',
        f'{keys} patience, first: 0.7.0, before: 0.6.0, below: "1"}}\n',
    ]


def test_releases_that_another_table_has_are_not_read() -> None:
    accelerate = constructors.LIBRARIES[1]
    assert accelerate.has(Version("0.10.0"))
    assert not accelerate.has(Version("0.26.0"))
    assert constructors.LIBRARIES[0].has(Version("3.0.0"))


TRAINER = """
class Trainer:
    def __init__(self, model):
        self.model = model
    def log(self, logs{parameter}):
        {body}
    def call(self, *args, **kwargs):
        pass
"""


def test_parameters_that_came_to_a_method_and_what_it_binds_later() -> None:
    held = {
        version: trainers.trainer_in(TRAINER.format(parameter=parameter, body=body))
        for version, parameter, body in (
            (ONE, ", flag", "self.model = logs"),
            (TWO, ", start_time=None", "self.step_count = 0"),
            (THREE, ", start_time=None", "self.step_count: int = 0"),
        )
    }
    assert trainers.method_rows(held) == [
        '  - {method: log, argument: flag, last: 0.6.0, gone: 0.7.0, under: "1"}\n',
        '  - {method: log, argument: start_time, first: 0.7.0, before: 0.6.0, below: "1"}\n',
    ]
    assert trainers.name_rows(held) == [
        '  - {name: step_count, first: 0.7.0, before: 0.6.0, below: "1"}\n'
    ]
    assert trainers.trainer_in("class Other:\n    pass\n") == trainers.Held()


def test_a_method_that_takes_any_argument_had_all_of_them() -> None:
    held = {
        ONE: trainers.Held({"save": frozenset({"**"})}),
        TWO: trainers.Held({"save": frozenset({"metrics"})}),
    }
    assert not trainers.method_rows(held)


def test_fields_that_only_configurations_have() -> None:
    fields = {"SFTConfig": frozenset({"packing", "bf16"}), "DPOConfig": frozenset({"beta"})}
    rows = trainers.field_rows(
        {ONE: trainers.Held(fields=fields)},
        {TWO: trainers.Held(fields={"TrainingArguments": frozenset({"bf16"})})},
    )
    assert rows == [
        "  - {name: beta, configs: DPOConfig}\n",
        "  - {name: packing, configs: SFTConfig}\n",
    ]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("torch/include/ATen/cuda/CUDAContext.h", "ATen/cuda/CUDAContext.h"),
        ("torch/include/torch/csrc/api/include/torch/fft.h", "torch/fft.h"),
        ("torch/include/ATen/ops/add_ops.h", ""),  # of one operator
        ("torch/include/pybind11/pybind11.h", ""),  # of another project
        ("torch/lib/ATen/Tensor.h", ""),
    ],
)
def test_headers_of_a_wheel(path: str, header: str) -> None:
    assert headers.headers_in([path]) == (frozenset({header}) if header else frozenset())


def test_a_header_of_one_platform_is_left_out() -> None:
    linux, mac = frozenset({"ATen/a.h"}), frozenset({"ATen/a.h", "ATen/mps/m.h"})
    found = headers.everywhere({ONE: [linux, mac], TWO: [mac]})
    assert found == {ONE: frozenset({"ATen/a.h"}), TWO: frozenset({"ATen/a.h"})}


def test_a_header_that_moved_names_its_new_place() -> None:
    had = {ONE: frozenset({"ATen/G.h"}), TWO: frozenset({"ATen/cuda/G.h", "c10/new.h"})}
    gone, new = headers.header_rows(had)
    assert gone == [
        "  - {header: ATen/G.h, last: 0.6.0, gone: 0.7.0, instead: ATen/cuda/G.h}\n",
    ]
    assert new == ["  - {header: ATen/cuda/G.h c10/new.h, first: 0.7.0}\n"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def load_the_model(a, *, b): ...", [("load_the_model", frozenset({"a", "b"}))]),
        ("def load_the_model(a, **more): ...", [("load_the_model", None)]),
        ("@functools.wraps(f)\ndef load_the_model(a): ...", [("load_the_model", None)]),
        (
            '@deprecate_kwarg("old", new_name="a")\ndef load_the_model(a): ...',
            [("load_the_model", frozenset({"a", "old"}))],
        ),
        ("class Model:\n    def load_the_model(self, a): ...", []),
        ("def broken(:", []),
    ],
    ids=["arguments", "any argument", "wrapped", "an older name", "a method", "no Python"],
)
def test_what_functions_take(source: str, found: list[tuple[str, frozenset[str] | None]]) -> None:
    assert list(functions.functions_in(source)) == found


def test_an_argument_has_a_row_where_it_came_once_and_stayed() -> None:
    library = functions.Library("trl", ONE, short=frozenset({"load_all"}))
    had: dict[Version, functions.Functions] = {
        ONE: {
            "load_the_model": frozenset({"a", "goes", "returns"}), "load_all": frozenset(),
            "open_the_model": frozenset(), "save_all": frozenset(),
        },
        TWO: {"load_the_model": frozenset({"a", "comes"}), "load_all": frozenset()},
        THREE: {
            "load_the_model": frozenset({"a", "comes", "returns"}), "load_all": frozenset({"late"}),
            "open_the_model": None, "save_all": frozenset({"late"}),
        },
    }  # fmt: skip
    rows, gone = functions.argument_rows(library, had)
    assert gone == []
    assert rows == [
        (
            "  - {function: load_all, name: late, package: trl, "
            'since: 0.8.0, before: 0.7.0, below: "1"}\n'
        ),
        (
            "  - {function: load_the_model, name: comes, package: trl, "
            'since: 0.7.0, before: 0.6.0, below: "1"}\n'
        ),
    ]


def test_methods_are_read_of_a_library_that_is_told_whole() -> None:
    source = (
        "class Block:\n"
        "    def __init__(self, config, *, group=None): ...\n"
        "    def forward(self, hidden, **kwargs): ...\n"
        "    def reset(self, all): ...\n"
        "class Scale:\n"
        "    @staticmethod\n"
        "    def forward(ctx, values): ...\n"
        "class _Own:\n"
        "    def __init__(self, config): ...\n"
        "def get_layer_spec(fused): ...\n"
    )
    assert list(functions.functions_in(source, methods=True)) == [
        ("Block.__init__", frozenset({"config", "group"})),
        ("Block.forward", frozenset({"hidden", "**"})),
        ("Scale.forward", None),
        ("get_layer_spec", frozenset({"fused"})),
    ]
    assert [name for name, _ in functions.functions_in(source)] == ["get_layer_spec"]


def test_a_library_that_is_told_whole_has_rows_of_what_went() -> None:
    library = functions.Library("megatron-core", ONE, folders=("megatron/core/",), whole=True)
    had: dict[Version, functions.Functions] = {
        ONE: {"Block.__init__": frozenset({"config", "old"}), "Block.forward": frozenset({"a"})},
        TWO: {
            "Block.__init__": frozenset({"config", "short_lived"}),
            "Block.forward": frozenset({"a", "mask"}),
        },
        THREE: {
            "Block.__init__": frozenset({"config", "group"}), "Block.forward": frozenset({"**"}),
        },
    }  # fmt: skip
    rows, gone = functions.argument_rows(library, had)
    assert rows == [
        (
            "  - {function: Block.__init__, name: group, package: megatron-core, "
            'since: 0.8.0, before: 0.7.0, below: "1"}\n'
        ),
        (
            "  - {function: Block.forward, name: mask, package: megatron-core, "
            'since: 0.7.0, before: 0.6.0, below: "1"}\n'
        ),
    ]
    assert gone == [
        (
            "  - {function: Block.__init__, name: old, package: megatron-core, "
            "first: 0.6.0, last: 0.6.0}\n"
        ),
        (
            "  - {function: Block.__init__, name: short_lived, package: megatron-core, "
            "first: 0.7.0, last: 0.7.0}\n"
        ),
    ]


def release_for(version: str, python: str, *, yanked: bool = False) -> tuple[Version, Release]:
    parsed = Version(version)
    file = File(f"some-{version}.tar.gz", "", parsed, python=python, yanked=yanked)
    return parsed, Release("some", parsed, [file])


def test_releases_that_take_the_same_pythons_are_one_row() -> None:
    releases = dict([
        release_for("0.1", ""),
        release_for("0.9", ">=3.8.1, <4, !=3.9.7"),
        release_for("1.0", "<4,>=3.8"),
        release_for("1.1rc1", ">=3.12"),
        release_for("1.1", ">=3.9"),
        release_for("1.2", ">=3.13", yanked=True),
        release_for("1.3", "no specifier"),
        release_for("2.0.1", ">3.9"),
    ])  # fmt: skip
    assert pythons.python_rows("some", releases) == [
        '  - {package: some, version: ">=0.9,<1.1", python: ">=3.8,<4"}\n',
        '  - {package: some, version: ">=1.1,<1.3", python: ">=3.9"}\n',
        '  - {package: some, version: ">=2.0.1,<2.1", python: ">3.9"}\n',
    ]
    assert pythons.told_python(release_for("1.2", ">=3.13", yanked=True)[1]) == ""


def test_releases_that_require_the_same_are_one_row(index: TinyIndex) -> None:
    needs = {"1.0": "torch<2.6", "1.1": "torch <2.6", "1.2rc1": "torch", "1.2": "torch<2.7"}
    index.add("fastai", *(
        (
            f"fastai-{version}-py3-none-any.whl",
            packed({
                f"fastai-{version}.dist-info/METADATA": metadata(
                    "fastai", version, text, "numpy>=1", "attrs>=20", 'scipy>1; extra == "dev"'
                )
            }),
        )
        for version, text in needs.items()
    ))  # fmt: skip
    opened = index.open()
    rows = requires.release_rows("fastai", opened.releases("fastai"), opened, Version("0.1"))
    start, end = '  - {package: "fastai", version: ', ", python: absent, systems: absent}\n"
    assert list(rows) == [
        f'{start}1.0 1.1, requires: "numpy>=1 torch<2.6"{end}',
        f'{start}1.2, requires: "numpy>=1 torch<2.7"{end}',
    ]


def offer(index: TinyIndex, server: str, path: str) -> None:
    wheels = []
    for release, fields in FIELDS.items():
        stem = f"{server}-{release}"
        source = ARGUMENTS.format(fields=fields, literal="old" if release == "0.6.0" else "new")
        members = {
            path: source.replace("EngineArgs", "ServerArgs").encode()
            if server == "sglang"
            else source.encode(),
            f"{stem}.dist-info/METADATA": metadata(server, release),
        }
        wheels.append((f"{stem}-py3-none-any.whl", packed(members)))
    index.add(server, *wheels)


def run(folder: Path, index: TinyIndex, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    fixed = ["--index-url", index.url, "--cache", str(folder / "cache"), "--tables", str(folder)]
    return cli.main([*fixed, *arguments], out, err), out.getvalue(), err.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "server-options.yaml").write_text(
        HEAD.format(name="server-options", key="option"), "utf-8"
    )
    (tmp_path / "torch-builds.yaml").write_text(
        HEAD.format(name="torch-builds", key="version") + "  []\n", "utf-8"
    )
    return tmp_path


def test_a_table_is_written_from_every_release(folder: Path, index: TinyIndex) -> None:
    offer(index, "vllm", "vllm/engine/arg_utils.py")
    offer(index, "sglang", "sglang/srt/server_args.py")
    code, out, _ = run(folder, index, "--table", "server-options", "--write")
    text = (folder / "server-options.yaml").read_text("utf-8")
    assert code == 0
    assert "+++ b/rules/matrix/server-options.yaml" in out
    assert text.partition("rows:\n")[2] == (
        '  - {server: vllm, option: old, last: 0.6.0, gone: 0.7.0, releases: "==0.6.0"}\n'
        '  - {server: vllm, option: new swap-space, first: 0.7.0, releases: ">=0.7.0,<0.8"}\n'
        '  - {server: sglang, option: old, last: 0.6.0, gone: 0.7.0, releases: "==0.6.0"}\n'
        '  - {server: sglang, option: new swap-space, first: 0.7.0, releases: ">=0.7.0,<0.7.1"}\n'
    )


def test_half_a_history_writes_no_table(folder: Path, index: TinyIndex) -> None:
    offer(index, "vllm", "vllm/engine/arg_utils.py")
    before = (folder / "server-options.yaml").read_text("utf-8")
    code, _, err = run(folder, index, "--table", "server-options", "--write")
    assert code == 3
    assert "NOT READ: sglang" in err
    assert (folder / "server-options.yaml").read_text("utf-8") == before


def test_files_of_compiled_packages_are_told_by_platform() -> None:
    def release(version: str, *tags: str) -> Release:
        files = [
            File(f"x-{version}", "", Version(version), parse_tag(tag) if tag else frozenset())
            for tag in tags
        ]
        return Release("x", Version(version), files)

    single = "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64"
    releases = [
        release("1.0", ""),
        release("1.1", "", single, "cp312-cp312-manylinux_2_28_x86_64", "cp37-none-win_amd64"),
        release("1.2", "", single, "cp312-cp312-manylinux_2_28_x86_64", "cp37-none-win_amd64"),
        release("1.3", "cp39-abi3-macosx_10_9_universal2", "cp313-cp313t-win_amd64"),
    ]
    rows = compiled_files.file_rows("x", {each.version: each for each in releases})
    assert [row.partition("version: ")[2].rstrip("}\n") for row in rows] == [
        '"1.0", platform: none, python: absent, sdist: true',
        '"1.1 1.2", platform: linux_x86_64, python: "3.11 3.12", sdist: true',
        '"1.1 1.2", platform: win_amd64, python: "3.7", sdist: true',
        '"1.3", platform: macosx_arm64 macosx_x86_64, python: ">=3.9", sdist: false',
    ]


def test_each_table_has_a_head(tmp_path: Path) -> None:
    assert tables.texts_in(cli.TABLES, tables.MAKERS).keys() == tables.MAKERS.keys()
    assert tables.texts_in(tmp_path, tables.MAKERS) == {}
