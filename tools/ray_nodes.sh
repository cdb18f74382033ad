#!/usr/bin/env bash
# Two nodes of Ray on this machine, for tests; in a network and a list of processes of their own, which
# end with this script:
#
#   unshare --net --pid --fork --mount-proc --kill-child tools/ray_nodes.sh BIN FOLDER FADOCTOR...
#
# BIN holds `ray`; FADOCTOR is a command that asks nodes. Writes alike.json and dead.json into
# FOLDER: of two nodes, and of two of which one has just died. Where RAY_OTHER is an environment with
# another Python and ray, other.txt is what is said where that one asks.
set -euo pipefail
bin=$1 folder=$2
shift 2
ip link set lo up
# The names of its sockets must be short.
short=$(mktemp -d /tmp/ray.XXXXXX)
trap 'rm -rf "$short"' EXIT
export RAY_USAGE_STATS_ENABLED=0
options="--num-cpus=1 --object-store-memory=80000000 --disable-usage-stats --temp-dir=$short"
# shellcheck disable=SC2086
"$bin/ray" start --head --node-ip-address=127.0.0.1 --port=6399 --include-dashboard=false $options \
  >"$folder/head.log" 2>&1
first=$(pgrep -x raylet)
"$bin/ray" start --address=127.0.0.1:6399 --node-ip-address=127.0.0.1 --num-cpus=1 \
  --object-store-memory=80000000 --disable-usage-stats >"$folder/second.log" 2>&1

"$@" --ray 127.0.0.1:6399 --format json --exit-zero >"$folder/alike.json"
if [ -n "${RAY_OTHER:-}" ]; then
  code=0
  "$@" --python "$RAY_OTHER" --ray 127.0.0.1:6399 >"$folder/other.txt" 2>&1 || code=$?
  echo "exit $code" >>"$folder/other.txt"
fi
second=$(pgrep -x raylet | grep -vx "$first")
kill -9 "$second"
"$@" --ray 127.0.0.1:6399 --format json --exit-zero >"$folder/dead.json"
