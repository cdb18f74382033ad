#!/usr/bin/env bash
# Build what a release consists of, below release/: dist/ (sdist and wheel), the bill of materials of
# what the wheel is installed with, and the notes. `tools/build_release.sh 1.2.3`, or without a
# version for a build that is only tried, which has no notes.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-}
rm -rf release
mkdir -p release
# The same day for every file of the archives, whenever they are built.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH PIP_DISABLE_PIP_VERSION_CHECK=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build twine cyclonedx-bom check-wheel-contents
"$work/tools/bin/python" -m build --outdir release/dist .
"$work/tools/bin/twine" check --strict release/dist/*
# Two empty modules are alike.
"$work/tools/bin/check-wheel-contents" --ignore W002 release/dist/*.whl

# Without pip in it: what is listed is the wheel and what it requires.
python3 -m venv --without-pip "$work/installed"
"$work/tools/bin/pip" --python "$work/installed/bin/python" install --quiet release/dist/*.whl
"$work/tools/bin/cyclonedx-py" environment "$work/installed/bin/python" --pyproject pyproject.toml \
  --mc-type application --output-reproducible \
  --output-format JSON --spec-version 1.6 --output-file release/fadoctor.cdx.json
python3 -m tools.sbom release/fadoctor.cdx.json release/dist/*.whl
"$work/tools/bin/python" -c 'import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(error) if error else 0)' release/fadoctor.cdx.json

if [ -n "$version" ]; then
  python3 -m tools.release notes "$version" >release/notes.md
fi
ls -l release release/dist
