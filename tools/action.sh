#!/usr/bin/env bash
# What the GitHub Action runs: its inputs, as environment variables, become arguments.
# Inputs are never part of a command line that a shell reads: they may come from a pull request.
set -euo pipefail

arguments=(--output - --output "github:${FADOCTOR_ANNOTATIONS:-/dev/stdout}")
arguments+=(--output "sarif:${INPUT_SARIF_FILE:-fadoctor.sarif}" --fail-on "${INPUT_FAIL_ON:-error}")

# Adds an option for each line of an input, or each part of one between commas.
add() {
  local option=$1 part
  while IFS= read -r part; do
    part=$(printf '%s' "$part" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//')
    if [ -n "$part" ]; then arguments+=("$option=$part"); fi
  done <<<"$2"
}

add --gpu "$(printf '%s' "${INPUT_GPU:-}" | tr , '\n')"
add --driver "${INPUT_DRIVER:-}"
add --requirements "${INPUT_REQUIREMENTS:-}"
add --config "${INPUT_CONFIG:-}"
add --python "${INPUT_PYTHON:-}"
if [ "${INPUT_STRICT:-false}" = true ]; then arguments+=(--strict); fi
if [ "${INPUT_SMOKE:-false}" != true ]; then arguments+=(--no-smoke); fi

exec "${FADOCTOR:-fadoctor}" check "${arguments[@]}"
