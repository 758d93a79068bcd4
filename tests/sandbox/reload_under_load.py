#!/usr/bin/env python3
"""Measures what reloads cost a scheduler that is busy: 100 changes while 1,000 pods arrive per second.

    reload_under_load.py <path of the program berth> [--nodes N] [--bound PODS] [--rate PODS] [--changes N]

A sandbox with simulated nodes and `berth scheduler` run on this host, with a configuration file like that of a volume
of a ConfigMap. Pods arrive at a constant rate, first without changes, then with. Each change is compared with the
configuration in use and applied; every fifth is refused. Prints for both phases how long pods waited until they were
bound, and the pauses of the scheduler's loop. Fails if a pod is lost or bound twice, a change has another result than
expected, or a pause is longer than --limit milliseconds.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from reload_test import BAD, PODS, POLICY, Scheduler, good, reloads_of  # noqa: E402 (needs the paths set above)
from running import Running  # noqa: E402

WAITED = "scheduler_pod_scheduling_sli_duration_seconds"
STEPS = "berth_api_loop_step_duration_seconds"
UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}


def produce(url, rate, first, ending, created):
    """Creates pods at this rate over one connection, until ending is set; created receives their number."""
    connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc)
    began, count = time.monotonic(), 0
    while not ending.is_set():
        ahead = began + count / rate - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{first + count}"},
               "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "10m"}}}]}}
        connection.request("POST", PODS, json.dumps(pod), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 201:
            sys.exit(f"error: a pod was not created: {body.decode()}")
        count += 1
    created.put((count, time.monotonic() - began))


class Load:
    def __init__(self, url, rate, first):
        self.ending, self.created = multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=produce, args=(url, rate, first, self.ending, self.created))
        self.process.start()

    def end(self):
        """Returns the number of pods and the seconds."""
        self.ending.set()
        result = self.created.get()
        self.process.join()
        return result


def buckets(text, name, label=""):
    """The counts by upper bound, summed over the series whose labels contain this text."""
    found = {}
    for labels, bound, count in re.findall(rf'^{name}_bucket{{(.*?)le="([^"]+)"}} (\d+)', text, re.M):
        if label in labels:
            bound = float(bound.replace("+Inf", "inf"))
            found[bound] = found.get(bound, 0) + int(count)
    return found


def within(before, after, share):
    """The bound of the bucket that contains this share of the observations between two reports, as text."""
    counts = sorted((bound, count - before.get(bound, 0)) for bound, count in after.items())
    bound = next((bound for bound, count in counts if count >= share * counts[-1][1]), 0)
    # The last bucket has no bound.
    return f"within {bound * 1000:g} ms" if bound < float("inf") else f"after more than {counts[-2][0] * 1000:g} ms"


def write_bound_pods(path, nodes, count):
    """Pods that run already, evenly on the nodes of a sandbox."""
    with open(path, "w") as file:
        file.write('{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bound"}}')
        for number in range(count):
            file.write(",\n" + json.dumps({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": f"b{number}", "namespace": "bound", "labels": {"app": f"a{number % 500}"}},
                "spec": {"nodeName": f"node-{number % nodes + 1:04}", "containers": [
                    {"name": "c", "image": "x", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]},
                "status": {"phase": "Running"}}))
        file.write("]}")


class Measurement:
    def __init__(self, berth, folder, options):
        self.options = options
        (folder / "policy.yaml").write_text(POLICY)
        write_bound_pods(folder / "bound.json", options.nodes, options.bound)
        self.running = Running(berth, folder, "--policy", "policy.yaml", "--nodes", str(options.nodes),
                               "--pod-start", "0", "--load", "bound.json")
        self.scheduler = Scheduler(self.running, "volume", good(0))
        self.pods = 0

    def pauses(self):
        """Milliseconds of each applied reload, as logged."""
        found = re.findall(r'The configuration was reloaded.*?pause="?([\d.]+)(ns|µs|ms|s)\b',
                           (self.running.folder / "log").read_text())
        return [float(number) * UNITS[unit] for number, unit in found]

    def phase(self, name, work):
        before = self.scheduler.metrics()
        load = Load(self.running.url, self.options.rate, self.pods)
        work()
        count, seconds = load.end()
        self.pods += count
        self.running.wait("the last pods", lambda: self.bound() == self.pods, 120)
        after = self.scheduler.metrics()
        waited = [buckets(text, WAITED) for text in (before, after)]
        print(f"{name}: {count} pods at {count / seconds:.0f}/s; time until bound: "
              + ", ".join(f"{text} {within(*waited, share)}"
                          for text, share in (("half", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("all", 1.0))))

    def bound(self):
        return sum(int(count) for count in re.findall(
            r'^scheduler_schedule_attempts_total{.*?result="scheduled".*?} (\d+)', self.scheduler.metrics(), re.M))

    def change(self):
        refused = 0
        for number in range(1, self.options.changes + 1):
            expected, text = "applied", good(number)
            if number % 5 == 0:
                _, text, expected = BAD[refused % len(BAD)]
                refused += 1
            self.scheduler.expect(expected, f"change {number}", lambda: self.scheduler.volume.write(text))

    def check(self):
        listed = self.running.get(PODS)["items"]
        unbound = [pod["metadata"]["name"] for pod in listed if not pod["spec"].get("nodeName")]
        if len(listed) != self.pods or unbound:
            sys.exit(f"error: {self.pods} pods were created, {len(listed)} exist, without a node: {unbound[:5]}")
        if self.bound() != self.pods:
            sys.exit(f"error: {self.bound()} bindings of {self.pods} pods")
        if self.scheduler.process.poll() is not None:
            sys.exit("error: the scheduler has ended")

    def report(self):
        pauses, text = sorted(self.pauses()), self.scheduler.metrics()
        print(f"reloads: {reloads_of(text)}")
        print(f"pause of an applied reload: median {pauses[len(pauses) // 2]:.2f} ms, longest {pauses[-1]:.2f} ms")
        for kind in ("reload", "preview"):
            steps = buckets(text, STEPS, f'request="{kind}"')
            print(f"longest step of the loop per {kind}: half {within({}, steps, 0.5)}, all {within({}, steps, 1.0)}")
        if pauses[-1] > self.options.limit:
            sys.exit(f"error: a pause of {pauses[-1]:.2f} ms, expected at most {self.options.limit}")


def run(options):
    with tempfile.TemporaryDirectory() as name:
        measurement = Measurement(os.path.abspath(options.berth), pathlib.Path(name), options)
        try:
            measurement.phase("without changes", lambda: time.sleep(options.seconds))
            measurement.phase(f"with {options.changes} changes", measurement.change)
            measurement.check()
            measurement.report()
        finally:
            measurement.running.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--bound", type=int, default=0, help="pods that run already at the start")
    parser.add_argument("--rate", type=float, default=1000, help="pods per second")
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20, help="of the phase without changes")
    parser.add_argument("--limit", type=float, default=50, help="milliseconds of a pause")
    run(parser.parse_args())
