"""Ask every node of a Ray cluster once, by the cluster's own interpreter and its ray.

Usage: python _fadoctor_ray.py ADDRESS SECONDS COMMAND...    (COMMAND prints one record)

Prints JSON lines: the nodes, then a record or a problem for each of them. Python 3.8 and newer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from typing import Any, Callable

_KEPT = 4000


def _ask(name: str, command: list[str], seconds: float) -> tuple[str, str]:
    """Run the check on this node; return what it prints, or why it does not.

    A number of GPUs of zero makes some releases of Ray hide all of them: that is not the node's.
    """
    import os
    import subprocess
    import sys

    env = dict(os.environ)
    for key in list(env):
        if key.startswith(("SLURM_", "OMPI_", "PMI")) or key in ("RANK", "LOCAL_RANK"):
            del env[key]
    if env.get("CUDA_VISIBLE_DEVICES") == "":
        del env["CUDA_VISIBLE_DEVICES"]
    env["NODE_NAME"] = name
    env.pop("JOB_COMPLETION_INDEX", None)
    command = [sys.executable if part == "{python}" else part for part in command]
    try:
        done = subprocess.run(  # noqa: PLW1510
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return "", "the check gave no answer within %d s" % seconds
    except OSError as error:
        return "", "the check could not be started: %s" % error
    text = done.stdout[-4000:].decode("ascii", "replace")
    if "@fad1 " in text:
        return text, ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    return "", "the check ended with %d: %s" % (done.returncode, lines[-1][:300])


def _names(nodes: list[dict[str, Any]]) -> list[str]:
    """Return the nodes by a name: the host's, with a part of the id where several share it."""
    hosts = [str(node.get("NodeManagerHostname") or node.get("NodeName")) for node in nodes]
    return [
        host if hosts.count(host) == 1 else "%s-%s" % (host, node["NodeID"][:8])
        for host, node in zip(hosts, nodes)
    ]


def main(say: Callable[[dict[str, Any]], None]) -> None:
    """Ask, and say what comes."""
    address, seconds, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    try:
        import ray  # type: ignore[import-not-found]
        from ray.util.scheduling_strategies import (  # type: ignore[import-not-found]
            NodeAffinitySchedulingStrategy,
        )
    except ImportError as error:
        say({"failed": "there is no ray in %s: %s" % (sys.executable, error)})
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except BaseException as error:
        say({"failed": "%s: %s" % (type(error).__name__, str(error)[:_KEPT])})
        return
    nodes = ray.nodes()
    names = _names(nodes)
    say({"nodes": names})
    task = ray.remote(num_cpus=0, max_retries=0)(_ask)
    waiting = {}
    for name, node in zip(names, nodes):
        if not node.get("Alive"):
            say({"node": name, "problem": "Ray reports it as dead"})
            continue
        strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ref = task.options(scheduling_strategy=strategy).remote(name, command, seconds)
        waiting[ref] = name
    end = time.monotonic() + seconds + 2.0
    while waiting:
        left = max(0.0, end - time.monotonic())
        done, _ = ray.wait(list(waiting), num_returns=1, timeout=left)
        if not done:
            break
        name = waiting.pop(done[0])
        try:
            text, problem = ray.get(done[0], timeout=5)
            say({"node": name, "text": text, "problem": problem})
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            say({"node": name, "problem": "%s: %s" % (type(error).__name__, first[:300])})
    for ref, name in waiting.items():
        say({"node": name, "problem": "no answer within %d s" % seconds})
        with suppress(Exception):
            ray.cancel(ref, force=True)
    say({"done": True})


if __name__ == "__main__":
    # What ray prints goes to standard error; standard output is ours.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def _say(what: dict[str, Any]) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    main(_say)
    # Its own end may hang on a cluster that is half dead.
    os._exit(0)
