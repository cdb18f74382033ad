#!/usr/bin/env bash
# A small Slurm on this machine, for tests: one controller, many virtual nodes, fake GPUs.
#
#   tools/slurm.sh install DIR     unpack Debian's packages into DIR; nothing is installed
#   tools/slurm.sh start DIR N [PACKAGES]   start it with nodes n01 to N; prints what to export
#   tools/slurm.sh stop DIR        end its processes, and no others
#
# Runs as root or as the user; every process is its own, by the number it wrote down.
set -euo pipefail

packages=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15
  liblua5.1-0 python3-clustershell)

install() {
  local dir=$1 found
  mkdir -p "$dir/debs" "$dir/root"
  (cd "$dir/debs" && apt-get -q -o APT::Sandbox::User=root download "${packages[@]}" >/dev/null)
  for found in "$dir"/debs/*.deb; do dpkg -x "$found" "$dir/root"; done
  rm -rf "$dir/debs"
}

start() {
  local dir count root lib port node list digits
  dir=$(cd "$1" && pwd) count=$2 root=$(cd "${3:-$1}" && pwd)/root digits=${#2}
  lib=$root/usr/lib/x86_64-linux-gnu
  [ -d "$lib" ] || lib=$(dirname "$(find "$root" -name slurm-wlm -type d | head -1)")
  export LD_LIBRARY_PATH=$lib:$lib/slurm-wlm SLURM_CONF=$dir/slurm.conf
  mkdir -p "$dir/state" "$dir/log" "$dir/dev" "$dir/bin"
  chmod 755 "$dir"
  : >"$dir/pids"
  port=${FADOCTOR_SLURM_PORT:-17000}
  list=$(printf 'n[%0*d-%d]' "$digits" 1 "$count")

  dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 status=none
  chmod 600 "$dir/munge.key"
  "$root/usr/sbin/munged" --force --foreground --socket="$dir/munge.socket" \
    --key-file="$dir/munge.key" --pid-file="$dir/munged.pid" --log-file="$dir/log/munged" \
    --seed-file="$dir/munge.seed" >>"$dir/log/munged.out" 2>&1 </dev/null &
  echo $! >>"$dir/pids"

  gpus=""
  if [ "$(id -u)" = 0 ] && mknod "$dir/dev/nvidia0" c 1 3 2>/dev/null; then
    mknod "$dir/dev/nvidia1" c 1 3
    echo "NodeName=$list Name=gpu File=$dir/dev/nvidia[0-1]" >"$dir/gres.conf"
    gpus="Gres=gpu:2"
  else
    : >"$dir/gres.conf"
  fi
  cat >"$dir/slurm.conf" <<CONF
ClusterName=fadoctor
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
PluginDir=$lib/slurm-wlm
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/slurmd.%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MpiDefault=none
${gpus:+GresTypes=gpu}
NodeName=$list NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + count))] CPUs=2 RealMemory=512 State=UNKNOWN $gpus
PartitionName=all Nodes=$list Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
  "$root/usr/sbin/slurmctld-wlm" -D -c >>"$dir/log/slurmctld.out" 2>&1 </dev/null &
  echo $! >>"$dir/pids"
  for number in $(seq "$count"); do
    node=$(printf 'n%0*d' "$digits" "$number")
    mkdir -p "$dir/spool.$node"
    "$root/usr/sbin/slurmd-wlm" -D -N "$node" -d "$root/usr/sbin/slurmstepd-wlm" \
      >>"$dir/log/slurmd.$node.out" 2>&1 </dev/null &
    echo "$! $node" >>"$dir/pids"
  done
  wait_for_nodes "$root" "$count" "$dir"
  cat <<EXPORT
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH
export SLURM_CONF=$SLURM_CONF
export PATH=$root/usr/bin:$root/usr/sbin:\$PATH
EXPORT
}

# Waits until every node is idle: at most a minute.
wait_for_nodes() {
  local idle
  for _ in $(seq 120); do
    idle=$({ "$1/usr/bin/sinfo" -h -t idle -o %D 2>/dev/null || true; } | awk '{n += $1} END {print n + 0}')
    [ "$idle" = "$2" ] && return
    sleep 0.5
  done
  echo "only $idle of $2 nodes are idle; see $3/log" >&2
  return 1
}

# Ends the daemons, and the steps whose daemon is gone: those that were started with our slurm.conf.
stop() {
  local dir pid _node
  [ -f "$1/pids" ] || return 0
  dir=$(cd "$1" && pwd)
  while read -r pid _node; do kill "$pid" 2>/dev/null || true; done <"$dir/pids"
  rm -f "$dir/pids"
  for pid in $(pgrep slurmstepd || true); do
    if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qxF "SLURM_CONF=$dir/slurm.conf"; then
      kill -9 "$pid" 2>/dev/null || true
    fi
  done
}

"$@"
