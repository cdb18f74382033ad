#!/usr/bin/env bash
# What a first release consists of, tried from its files: `tools/dry_run.sh DIST [SITE]`, a folder with the sdist and the
# wheel, and one that the site is written to.
# Nothing is uploaded. Each line that ends in "ok" was run; the first that fails ends it. Needs a package index, uv, and
# for the page npm and Node.
set -euo pipefail
cd "$(dirname "$0")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1
dist=$(realpath "${1:?a folder with sdist and wheel}")
python=${PYTHON:-python3}
root=$PWD
work=$(mktemp -d)
site=$(realpath -m "${2:-$work/site}")
trap 'rm -rf "$work"' EXIT
wheel=$(echo "$dist"/fadoctor-*.whl)
sdist=$(echo "$dist"/fadoctor-*.tar.gz)
uv=$(command -v uv || echo "$root/.venv/bin/uv")

# Runs what follows a name, in an empty folder, and says how it ended.
try() {
  local name=$1 code=0
  shift
  mkdir -p "$work/empty"
  (cd "$work/empty" && "$@") >"$work/log" 2>&1 || code=$?
  if [ "$code" != 0 ]; then
    tail -n 30 "$work/log"
    echo "$name: failed (exit $code)"
    exit 1
  fi
  echo "$name: ok"
}

by_uvx() { HOME="$work/home" "$uv" tool run --no-config --from "$wheel" fadoctor check --gpu A100 --exit-zero; }
by_pipx() {
  export PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/bin" PIPX_DEFAULT_PYTHON=$python
  "$work/tools/bin/pipx" install "$wheel" && "$work/bin/fadoctor" check --gpu A100 --exit-zero
}
by_sdist() {
  "$python" -m venv "$work/sdist" && "$work/sdist/bin/pip" install --quiet "$sdist" &&
    "$work/sdist/bin/fadoctor" rules test && "$work/sdist/bin/fadoctor" --version
}
# The steps of action.yml, with the variables that a runner sets.
by_action() {
  export RUNNER_TEMP="$work/runner" GITHUB_ACTION_PATH=$root
  mkdir -p "$RUNNER_TEMP"
  sed -n '/name: Install fadoctor/,/name: Check/p' "$root/action.yml" | sed -n 's/^        \(python3\|"\$RUNNER_TEMP\)/\1/p' >"$work/install.sh"
  [ "$(wc -l <"$work/install.sh")" = 2 ] && bash -e "$work/install.sh"
  printf 'torch==2.6.0\nflash-attn @ https://x.test/flash_attn-2.7.3+cu12torch2.5cxx11abiFALSE-cp312-cp312-linux_x86_64.whl\n' >requirements.txt
  local code=0
  INPUT_REQUIREMENTS=requirements.txt INPUT_GPU=A100 INPUT_SARIF_FILE="$work/found.sarif" \
    FADOCTOR="$RUNNER_TEMP/fadoctor/bin/fadoctor" bash "$root/tools/action.sh" || code=$?
  [ "$code" = 1 ] && grep -q '"ruleId"' "$work/found.sarif"
}
rules_alone() { cd "$root" && "$project" -m tools.rules_release "$work/rules" && "$work/tools/bin/twine" check --strict "$work"/rules/*.whl; }
site() {
  cd "$root" && "$project" -m tools.page --only-page --wheel "$wheel" &&
    NO_MKDOCS_2_WARNING=1 FADOCTOR_SITE_URL=https://docs.example/ "$work/tools/bin/python" -m mkdocs build --strict --site-dir "$site" &&
    [ -s "$site/page/packages.zip.gz" ] && grep -q gpu-too-old-fa2 "$site/sitemap.xml"
}
versions() { cd "$root" && "$project" -m tools.release check; }

# Runs this checkout's own tools.
project="$root/.venv/bin/python"
[ -x "$project" ] || project=$python
"$python" -m venv "$work/tools"
docs=$(sed -n 's/^docs = \["\([^"]*\)", "\([^"]*\)"\]$/\1 \2/p' pyproject.toml)
# shellcheck disable=SC2086  # several requirements
"$uv" pip install --quiet --python "$work/tools/bin/python" twine pipx $docs
try "version, changelog and rules agree" versions
try "descriptions of sdist and wheel" "$work/tools/bin/twine" check --strict "$wheel" "$sdist"
try "uvx --from WHEEL fadoctor check" by_uvx
try "pipx install WHEEL" by_pipx
try "pip install SDIST, and its rules' cases" by_sdist
try "the Action's own steps" by_action
try "the package of rules" rules_alone
if command -v npm >/dev/null && command -v node >/dev/null; then
  try "the site with the page in the browser" site
else
  echo "the site with the page in the browser: left out, no npm and Node"
fi
