#!/usr/bin/env python3
"""The cost of --berth-recording-dir, and the size and replay of what it records.

Each round starts a sandbox and a scheduler in real time, without and with a recording, alternating, and creates pods
at a fixed rate. Prints one object per line: the CPU time of the scheduler's process (user and system) per bound pod,
from the start of the process to its end. Recordings are replayed; a difference is an error.

    bench/recording_cost.py build/bin/berth --rate 1000 --pods 30000 --rounds 3
"""

import argparse
import http.client
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS / "sandbox"), str(TESTS)]

from running import Running  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
THREADS = 4


def pod(number):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "labels": {"app": f"a{number % 20}"}},
                       "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {
                           "cpu": f"{10 + number % 7}m", "memory": "16Mi"}}}]}})


def create(url, numbers, rate, began):
    """Creates pods on one connection, each at its time."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    for number in numbers:
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        connection.request("POST", PODS, pod(number), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        reply.read()
        if reply.status != 201:
            sys.exit(f"error: pod {number}: status {reply.status}")


def create_all(url, pods, rate):
    began = time.monotonic()
    threads = [threading.Thread(target=create, args=(url, range(first, pods, THREADS), rate, began))
               for first in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return pods / (time.monotonic() - began)


def bound(running):
    return sum(1 for one in running.get(PODS)["items"] if one["spec"].get("nodeName"))


def run(berth, folder, arguments, recorded):
    running = Running(berth, folder, "--pod-start", "0")
    try:
        for number in range(arguments.nodes):
            running.add_node(f"n{number}", 64, 256, {"topology.kubernetes.io/zone": f"z{number % 3}"})
        flags = ("--berth-recording-dir", "recording", "--berth-recording-limit", arguments.limit) if recorded else ()
        running.start("scheduler", "--kubeconfig", "kubeconfig", "--leader-elect=false", "--secure-port=0",
                      "--berth-http-address=127.0.0.1:0", *flags)
        scheduler = running.children.pop()
        rate = create_all(running.url, arguments.pods, arguments.rate)
        running.wait("the last pod", lambda: bound(running) == arguments.pods)
        scheduler.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(scheduler.pid, 0)
        scheduler.returncode = os.waitstatus_to_exitcode(status)
        if scheduler.returncode != 0:
            sys.exit(f"error: the scheduler failed\n{(folder / 'log').read_text()[-3000:]}")
        return rate, usage.ru_utime + usage.ru_stime
    finally:
        running.stop()


def replay(berth, recording):
    process = subprocess.Popen((berth, "replay", recording, "-o", "json"), stdout=subprocess.PIPE, text=True)
    result = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or not result["same"] or result.get("endedBy"):
        sys.exit(f"error: the replay differs: {result}")
    files = list(recording.glob("*.zst"))
    return {"attempts": result["attempts"], "seconds recorded": result["nanoseconds"] / 1e9, "files": len(files),
            "skipped": result.get("skipped", []), "bytes": sum(file.stat().st_size for file in files),
            "replay cpu seconds": round(usage.ru_utime + usage.ru_stime, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("berth")
    parser.add_argument("--rate", type=float, default=1000, help="pods per second")
    parser.add_argument("--pods", type=int, default=30000)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", default="1Gi", help="of --berth-recording-limit")
    arguments = parser.parse_args()
    berth = os.path.abspath(arguments.berth)
    cpu = {False: [], True: []}
    for _ in range(arguments.rounds):
        for recorded in (False, True):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                rate, seconds = run(berth, folder, arguments, recorded)
                cpu[recorded].append(seconds / arguments.pods * 1e6)
                line = {"recorded": recorded, "pods/s": round(rate), "cpu us/pod": round(cpu[recorded][-1], 1)}
                if recorded:
                    line |= replay(berth, folder / "recording")
                print(json.dumps(line), flush=True)
    without, with_it = statistics.median(cpu[False]), statistics.median(cpu[True])
    print(json.dumps({"median cpu us/pod without": round(without, 1), "with": round(with_it, 1),
                      "of one core at this rate, percent": round((with_it - without) * arguments.rate / 1e4, 2)}))


if __name__ == "__main__":
    main()
