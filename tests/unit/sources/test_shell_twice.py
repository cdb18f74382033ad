"""The same script says the same to `--requirements` and to `--config`."""

from __future__ import annotations

import pytest

from fadoctor.sources.manifests.commands import install_script
from fadoctor.sources.manifests.images import dockerfile
from tests.unit.sources.configs.read import UNREAD, facts
from tests.unit.sources.manifests.given import given, wanted

PIP = "pip install torch==2.4.0 flash-attn==2.6.3\n"
SERVE = "vllm serve some/model --dtype half\n"
BOTH = PIP + SERVE

SCRIPTS = {
    "ansi quotes": f"printf $'it\\'s\\n' > /etc/x && {BOTH}",
    "ansi quotes of a separator": f"IFS=$'\\n\\t'\n{BOTH}",
    "separator and a list": "IFS=$'\\n\\t'\nPKGS=(torch==2.4.0 flash-attn==2.6.3)\n"
    f'pip install "${{PKGS[@]}}"\n{SERVE}',
    "document with a backslash": f"cat <<\\EOF >x\npip install vllm==0.5.0\nEOF\n{BOTH}",
    "apostrophe in a document": f"cat <<'EOF' >x\ndon't\nEOF\n{BOTH}",
    "apostrophe in an open document": f"cat <<EOF >x\ndon't \"\nEOF\n{BOTH}",
    "indented document": f"if a; then\n\tcat <<-EOF\n\tit's\n\tEOF\nfi\n{BOTH}",
    "document in a substitution": f'X="$(cat <<EOF\nit\'s )\nEOF\n)"\n{BOTH}',
    "lists that grow": "P=(torch==2.4.0)\nP+=(flash-attn==2.6.3)\nA=(some/model)\n"
    'A+=(--dtype half)\npip install "${P[@]}"\nvllm serve "${A[@]}"\n',
    "a list over lines": "P=(\n  torch==2.4.0 # first\n  'flash-attn==2.6.3'\n)\n"
    f"pip install ${{P[@]}}\n{SERVE}",
    "functions": 'install() { pip install "$@"; }\nserve() {\n  vllm serve "$1" --dtype half\n}\n'
    "main() { install torch==2.4.0 flash-attn==2.6.3; serve some/model; }\nmain\n",
    "a function that nothing calls": f"old() {{ pip install torch==2.0.0; vllm serve x; }}\n{BOTH}",
    "a shell in a shell": "bash -c 'pip install torch==2.4.0 flash-attn==2.6.3'\n"
    'env A=b bash -lc "vllm serve some/model \\\n  --dtype half"\n',
    "a document for a shell": f"bash <<'EOF'\n{BOTH}EOF\n",
    "prefixes": "sudo -u me env A=b pip install torch==2.4.0\n"
    "time nohup pip install flash-attn==2.6.3\nsrun -N 1 --gres gpu:1 " + SERVE,
    "conditions beside": "if a; then pip install x; else D=float; fi\n"
    f"for i in $(seq 3); do echo it; done\n{BOTH}",
    "what comes after a loop": f"while ! a; do sleep 1; done\ncase $1 in b) c;; esac\n{BOTH}",
    "set twice": "T=2.0.0\nT=2.4.0\nD=float\nD=half\npip install torch==$T flash-attn==2.6.3\n"
    "vllm serve some/model --dtype $D\n",
    "continued lines": "pip install \\\n  torch==2.4.0 \\\n  flash-attn==2.6.3\nvllm serve \\\n"
    "  some/model --dtype \\\n  half\n",
    "line ends of Windows": f"A=b\n{BOTH}".replace("\n", "\r\n"),
}
WANTED = {"torch": "==2.4.0", "flash-attn": "==2.6.3"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_read_by_both(name: str) -> None:
    text = SCRIPTS[name]
    assert wanted(install_script.read(given(text, "run.sh"))) == WANTED
    found = facts(("run.sh", text))
    assert (found["framework"], found["model"]) == ("vllm", "some/model")
    assert found["weights_dtype"] == "fp16"


@pytest.mark.parametrize("name", [name for name in SCRIPTS if "document" not in name])
def test_so_is_the_command_of_an_image(name: str) -> None:
    """Docker joins lines before a shell sees them."""
    script = SCRIPTS[name].replace("\r\n", "\n")
    if "\n" in script.strip().replace("\\\n", "") and "#" in script:
        script = script.replace(" # first", "")
    line = script.strip().replace("\\\n", " ").replace("\n", "; ")
    line = line.replace("{;", "{").replace("(; ", "(").replace("; )", " )").replace(";  '", " '")
    image = dockerfile.read(given(f"FROM python:3.11\nRUN {line}\n", "Dockerfile"))
    assert wanted(image) == WANTED
    assert facts(("Dockerfile", f"FROM python:3.11\nCMD {line}\n"))["weights_dtype"] == "fp16"


@pytest.mark.parametrize(
    "text",
    [
        f"if a; then\n{BOTH}fi\n",
        "if a; then T=2.4.0; D=half; fi\npip install torch==$T\nvllm serve m --dtype $D\n",
        "a && T=2.4.0 || T=2.5.0\nD=$(choose)\npip install torch==$T\nvllm serve m --dtype $D\n",
    ],
)
def test_what_depends_on_a_condition_is_known_to_neither(text: str) -> None:
    more = "pip install einops\npython other.py\npython another.py\n"
    assert list(wanted(install_script.read(given(text + more, "run.sh")))) == ["einops"]
    assert facts(("run.sh", text + more)).get("weights_dtype", UNREAD) == UNREAD
