#!/usr/bin/env python3
"""Reloads the configuration of a running `berth scheduler` again and again while pods arrive.

    reload_test.py <path of the program berth> [--changes N]

The configuration is in a folder like a volume of a ConfigMap: a link to "..data", which is a link that is replaced.
Every fifth content is one that must be refused. At the end each pod is bound exactly once, and the metrics have counted
each reload. Then `berth reload` previews, reloads and rolls back, and a standby that has reloaded takes over.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
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
clientConnection: {kubeconfig: kubeconfig}
"""
ALONE = "leaderElection: {leaderElect: false}\n"
REPLICA = "leaderElection: {leaderElect: true, leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}\n"
POLICY = """users:
- {name: olga, groups: [operators], token: token-of-olga}
- {name: dave, groups: [developers], token: token-of-dave}
rules:
- {effect: deny, groups: [developers]}
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


def reloads_of(metrics):
    """The number of reloads by result."""
    return {result: int(count)
            for result, count in re.findall(r'^berth_config_reloads_total{result="(\w+)"} (\d+)', metrics, re.M)}


class Volume:
    """A folder as kubelet maintains it for a ConfigMap."""

    def __init__(self, folder, head=ALONE):
        self.folder = folder
        self.head = HEAD + head
        self.version = 0
        folder.mkdir()
        os.symlink("..data/config.yaml", folder / "config.yaml")

    def write(self, text):
        self.version += 1
        data = self.folder / f"..{self.version}"
        data.mkdir()
        (data / "config.yaml").write_text(self.head + text)
        os.symlink(data.name, self.folder / "..data_tmp")
        os.rename(self.folder / "..data_tmp", self.folder / "..data")


class Scheduler:
    """A scheduler with a volume of its own, which serves its API."""

    def __init__(self, running, name, text, head=ALONE):
        self.running = running
        self.volume = Volume(running.folder / name, head)
        self.volume.write(text)
        self.http = f"http://127.0.0.1:{(port := free_port())}"
        self.url = f"https://127.0.0.1:{(secure_port := free_port())}"
        running.start("scheduler", "--config", f"{name}/config.yaml", "--berth-config-reload", "--berth-api-reload",
                      "--bind-address=127.0.0.1", f"--secure-port={secure_port}",
                      "--authentication-kubeconfig=kubeconfig", "--authorization-kubeconfig=kubeconfig",
                      f"--berth-http-address=127.0.0.1:{port}", "--berth-http-metrics")
        self.process = running.children[-1]
        running.wait(f"the scheduler of {name}", self.reloads)

    def metrics(self):
        with urllib.request.urlopen(self.http + "/metrics", timeout=10) as reply:
            return reply.read().decode()

    def reloads(self):
        return reloads_of(self.metrics())

    def leads(self):
        return re.search(r"^leader_election_master_status{.*} 1$", self.metrics(), re.M)

    def expect(self, result, what, change):
        """After change() one more reload has this result."""
        before = self.reloads()
        change()
        self.running.wait(f"{result}: {what}", lambda: sum(self.reloads().values()) > sum(before.values()))
        after = self.reloads()
        if after != {**before, result: before[result] + 1}:
            sys.exit(f"error: {what}: expected one more {result}, got {before} and then {after}")


class Test:
    def __init__(self, berth, folder):
        (folder / "policy.yaml").write_text(POLICY)
        self.running = Running(berth, folder, "--pod-start", "0", "--policy", "policy.yaml")
        for number in range(5):
            self.running.add_node(f"n{number}", 64, 256, {})
        self.pods = 0

    def add_pods(self, count, name="default-scheduler"):
        for _ in range(count):
            self.pods += 1
            self.running.post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{self.pods}"},
                                     "spec": {"schedulerName": name, "containers": [
                                         {"name": "c", "image": "x", "resources": {"requests": {"cpu": "10m"}}}]}})

    def unbound(self):
        return [pod["metadata"]["name"] for pod in self.running.get(PODS)["items"]
                if not pod["spec"].get("nodeName") and pod["spec"]["schedulerName"] == "default-scheduler"]


    def wait_until_bound(self, pods):
        self.running.wait(f"the pods {pods}", lambda: all(
            self.running.get(f"{PODS}/{pod}")["spec"].get("nodeName") for pod in pods))

    def command(self, user, scheduler, *flags):
        """Exit code and output of `berth reload` as this user."""
        path = self.running.folder / f"kubeconfig-of-{user}"
        part = lambda kind, content: [{"name": "x", kind: content}]  # noqa: E731
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": part("cluster", {"server": "https://127.0.0.1:1"}),  # not used, because of --server
            "users": part("user", {"token": f"token-of-{user}"}),
            "contexts": part("context", {"cluster": "x", "user": "x"})}))
        done = subprocess.run((self.running.berth, "reload", "--kubeconfig", path, "--server", scheduler.url,
                               "--insecure-skip-tls-verify", *flags), capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def expect_command(self, code, pattern, *arguments):
        got = self.command(*arguments)
        if got[0] != code or not re.search(pattern, got[1]):
            sys.exit(f"error: berth reload {arguments[2:]}: expected code {code} and {pattern!r}, got {got}")
        return got[1]


def change_often(test, scheduler, changes):
    refused = 0
    for number in range(1, changes + 1):
        test.add_pods(5)
        if number % 5 == 0:
            what, text, result = BAD[refused % len(BAD)]
            refused += 1
            scheduler.expect(result, what, lambda: scheduler.volume.write(text))
        else:
            scheduler.expect("applied", f"change {number}", lambda: scheduler.volume.write(good(number)))
    test.running.wait("the last pods", lambda: not test.unbound())


def add_a_profile(test, scheduler):
    """The profile "batch" comes and goes."""
    scheduler.expect("applied", "a file without batch", lambda: scheduler.volume.write(good(3)))
    test.add_pods(5, "batch")
    waiting = [f"p{test.pods - i}" for i in range(5)]
    scheduler.expect("applied", "a file with batch", lambda: scheduler.volume.write(good(4)))
    test.wait_until_bound(waiting)
    scheduler.expect("unchanged", "SIGHUP", lambda: scheduler.process.send_signal(signal.SIGHUP))


def use_the_command(test, scheduler):
    report = json.loads(test.expect_command(0, "unchanged", "olga", scheduler, "--preview", "-o", "json"))
    if report["result"] != "unchanged":
        sys.exit(f"error: a preview of the file in use: {report}")
    test.expect_command(1, "needed: post on the path /berth.dev/v1alpha1/config/reload", "dave", scheduler)
    test.expect_command(1, "--preview excludes --rollback", "olga", scheduler, "--preview", "--rollback")
    scheduler.expect("applied", "rollback", lambda: test.expect_command(
        0, "uses the configuration from now on", "olga", scheduler, "--rollback"))
    scheduler.expect("applied", "the file again", lambda: test.expect_command(
        0, r"of the last \d+ decisions would differ", "olga", scheduler))


def fail_over(test):
    """Both replicas reload; the standby decides with the reloaded configuration when the leader is killed."""
    leader, standby = (Scheduler(test.running, name, good(3), REPLICA) for name in ("one", "two"))
    test.running.wait("a leader", lambda: leader.leads() or standby.leads())
    if standby.leads():
        leader, standby = standby, leader
    for scheduler in (leader, standby):
        scheduler.expect("applied", "a file with batch", lambda: scheduler.volume.write(good(4)))
    leader.process.kill()
    test.add_pods(5, "batch")
    test.wait_until_bound([f"p{test.pods - i}" for i in range(5)])
    standby.expect("applied", "a change of the new leader", lambda: standby.volume.write(good(5)))


def check_bindings(test):
    bound = re.findall(r"Successfully assigned default/(p\d+) to", json.dumps(
        test.running.get("/apis/events.k8s.io/v1/namespaces/default/events")))
    if len(set(bound)) != len(bound) or len(bound) != test.pods:
        sys.exit(f"error: {len(bound)} bindings of {len(set(bound))} pods, expected {test.pods}")


def run(berth, changes):
    with tempfile.TemporaryDirectory() as name:
        test = Test(berth, pathlib.Path(name))
        try:
            scheduler = Scheduler(test.running, "volume", good(0))
            change_often(test, scheduler, changes)
            add_a_profile(test, scheduler)
            use_the_command(test, scheduler)
            check_bindings(test)
            if scheduler.process.poll() is not None:
                sys.exit("error: the scheduler has ended")
            print(f"{scheduler.reloads()} with {test.pods} pods")
            scheduler.process.terminate()
            scheduler.process.wait()
            fail_over(test)
            check_bindings(test)
        finally:
            test.running.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--changes", type=int, default=100)
    arguments = parser.parse_args()
    run(os.path.abspath(arguments.berth), arguments.changes)
