#!/usr/bin/env bash
# pdsh, clush and Open MPI, for tests: Debian's packages, installed where one of them is missing.
# Ends with another code than 0, and a reason, where they are not there and cannot be installed.
set -euo pipefail

missing() {
  local command
  for command in pdsh clush mpirun; do command -v "$command" >/dev/null || return 0; done
  return 1
}

if missing; then
  [ "$(id -u)" = 0 ] || { echo "only root can install pdsh, clush and Open MPI"; exit 1; }
  packages=(pdsh clustershell openmpi-bin)
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -q --no-install-recommends "${packages[@]}" ||
    { apt-get update -q && apt-get install -y -q --no-install-recommends "${packages[@]}"; }
fi
pdsh -V | head -n 1
clush --version
mpirun --version | head -n 1
