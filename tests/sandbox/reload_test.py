#!/usr/bin/env python3
"""Reloads the configuration of a running `berth scheduler` again and again while pods arrive.

    reload_test.py <path of the program berth> [--changes N]

The configuration is in a folder like a volume of a ConfigMap: a link to "..data", which is a link that is replaced.
Every fifth content is one that must be refused. At the end each pod is bound exactly once, the metrics have counted
each reload, and /configz is that of the last good file.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from ports import free_port  # noqa: E402 (needs the paths set above)
from running import Running  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
HEAD = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: kubeconfig}
"""
# What is wrong, and how the file ends. The result is a label of berth_config_reloads_total.
BAD = [
    ("no YAML", "profiles: [", "invalid"),
    ("an unknown field", "profilez: []", "invalid"),
    ("an unknown plugin", "profiles: [{plugins: {filter: {enabled: [{name: Missing}]}}}]", "invalid"),
    ("wrong arguments", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 1000}}]}]",
     "invalid"),
    ("weights whose sum overflows",
     "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 92233720368547758}]}}}]", "invalid"),
    ("two profiles of one name", "profiles: [{schedulerName: a}, {schedulerName: a}]", "invalid"),
    ("a setting that needs a restart", "profiles: [{}]\nenableProfiling: false", "refused"),
]


def good(number):
    """Profiles whose weights, arguments and names change."""
    percentage = 10 + number % 90
    return (f"percentageOfNodesToScore: {percentage}\npodMaxBackoffSeconds: {5 + number % 5}\n"
            "profiles:\n- schedulerName: default-scheduler\n"
            f"  plugins: {{multiPoint: {{enabled: [{{name: ImageLocality, weight: {1 + number % 7}}}]}}}}\n"
            "  pluginConfig: [{name: InterPodAffinity, args: "
            f"{{hardPodAffinityWeight: {number % 100}}}}}]\n"
            + ("- schedulerName: batch\n" if number % 3 else ""))


class Volume:
    """A folder as kubelet maintains it for a ConfigMap."""

    def __init__(self, folder):
        self.folder = folder
        self.version = 0
        folder.mkdir()
        os.symlink("..data/config.yaml", folder / "config.yaml")

    def write(self, text):
        self.version += 1
        data = self.folder / f"..{self.version}"
        data.mkdir()
        (data / "config.yaml").write_text(HEAD + text)
        os.symlink(data.name, self.folder / "..data_tmp")
        os.rename(self.folder / "..data_tmp", self.folder / "..data")


class Test:
    def __init__(self, berth, folder):
        self.running = Running(berth, folder, "--pod-start", "0")
        self.volume = Volume(folder / "volume")
        self.volume.write(good(0))
        self.http = f"http://127.0.0.1:{(port := free_port())}"
        for number in range(5):
            self.running.add_node(f"n{number}", 64, 256, {})
        self.running.start("scheduler", "--config", "volume/config.yaml", "--berth-config-reload", "--secure-port=0",
                           f"--berth-http-address=127.0.0.1:{port}", "--berth-http-metrics")
        self.scheduler = self.running.children[-1]
        self.pods = 0

    def reloads(self):
        with urllib.request.urlopen(self.http + "/metrics", timeout=10) as reply:
            text = reply.read().decode()
        return {result: int(count)
                for result, count in re.findall(r'^berth_config_reloads_total{result="(\w+)"} (\d+)', text, re.M)}

    def add_pods(self, count, name="default-scheduler"):
        for _ in range(count):
            self.pods += 1
            self.running.post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{self.pods}"},
                                     "spec": {"schedulerName": name, "containers": [
                                         {"name": "c", "image": "x", "resources": {"requests": {"cpu": "10m"}}}]}})

    def expect(self, result, what, change):
        """After change() one more reload has this result."""
        before = self.reloads()
        change()
        self.running.wait(f"{result}: {what}", lambda: sum(self.reloads().values()) > sum(before.values()))
        after = self.reloads()
        if after != {**before, result: before[result] + 1}:
            sys.exit(f"error: {what}: expected one more {result}, got {before} and then {after}")

    def unbound(self):
        return [pod["metadata"]["name"] for pod in self.running.get(PODS)["items"]
                if not pod["spec"].get("nodeName") and pod["spec"]["schedulerName"] == "default-scheduler"]


def run(berth, changes):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test = Test(berth, folder)
        try:
            test.running.wait("the scheduler", test.reloads)
            refused = 0
            for number in range(1, changes + 1):
                test.add_pods(5)
                if number % 5 == 0:
                    what, text, result = BAD[refused % len(BAD)]
                    refused += 1
                    test.expect(result, what, lambda: test.volume.write(text))
                else:
                    test.expect("applied", f"change {number}", lambda: test.volume.write(good(number)))
            test.running.wait("the last pods", lambda: not test.unbound())

            # The profile "batch" comes and goes.
            test.expect("applied", "a file without batch", lambda: test.volume.write(good(3)))
            test.add_pods(5, "batch")
            waiting = [f"p{test.pods - i}" for i in range(5)]
            test.expect("applied", "a file with batch", lambda: test.volume.write(good(4)))
            test.running.wait("the pods of batch", lambda: all(
                test.running.get(f"{PODS}/{pod}")["spec"].get("nodeName") for pod in waiting))

            test.expect("unchanged", "SIGHUP", lambda: test.scheduler.send_signal(signal.SIGHUP))
            bound = re.findall(r"Successfully assigned default/(p\d+) to", json.dumps(
                test.running.get("/apis/events.k8s.io/v1/namespaces/default/events")))
            if test.scheduler.poll() is not None:
                sys.exit("error: the scheduler has ended")
            if len(set(bound)) != len(bound) or len(bound) != test.pods:
                sys.exit(f"error: {len(bound)} bindings of {len(set(bound))} pods, expected {test.pods}")
            print(f"{test.reloads()} with {test.pods} pods")
        finally:
            test.running.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--changes", type=int, default=100)
    arguments = parser.parse_args()
    run(os.path.abspath(arguments.berth), arguments.changes)
