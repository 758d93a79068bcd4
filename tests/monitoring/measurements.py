#!/usr/bin/env python3
"""Tests load-aware scheduling with a real Prometheus, and during its outages.

    measurements.py <path of the program berth> [--nodes N]

Needs prometheus and prometheus-node-exporter (script/setup --monitoring). Runs a cluster in memory; an exporter that
simulates its nodes except one, which has a real node exporter; schedulers with CPUUsage, NetworkTraffic and LoadAware,
which query Prometheus through a proxy. Processes produce load on the real one, and its exporter fails (real_load.py).
--nodes sets the size of the cluster; the cost of the polls is then printed.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from check import Prometheus, free_port, get, pod, wait_for
from fake_nodes import HOSTILE, Exporter, Middle
import real_load

FAMILY = re.compile(r"^([a-z0-9_]+)\{([^}]*)\} (\S+)$")
# The kinds of outages, in order.
OUTAGES = ("error", "html", "half", "hang", *HOSTILE)
MEMORY_LIMIT = 250  # MiB, of a scheduler; each of seven answers has at most 32


class Run:
    def __init__(self, berth, nodes, directory):
        self.berth = berth
        self.directory = pathlib.Path(directory)
        self.nodes = nodes
        self.children = {}
        self.api, self.web, self.own, self.real = free_port(), free_port(), free_port(), free_port()
        self.pods = f"http://127.0.0.1:{self.api}/api/v1/namespaces/default/pods"
        self.middle = Middle(self.web)
        self.failures = []
        self.stale = None
        self.loads = {}  # of the real machine: (command of the process, threshold) by signal

    def start(self, name, *command):
        log = open(self.directory / f"{name}.log", "a")
        self.children[name] = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log)

    def stop(self):
        for child in reversed(list(self.children.values())):
            child.kill()
            child.wait()

    def restart_exporter(self):
        self.start("node-exporter", "prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{self.real}")

    def check(self, what, fine):
        if not fine:
            self.failures.append(what)
            print("WRONG", what)

    # --- the parts ---

    def cluster(self):
        self.start("sandbox", self.berth, "sandbox", f"--nodes={self.nodes}", "--node-cpus=8", f"--port={self.api}",
                   "--kubeconfig=kubeconfig")
        url = f"http://127.0.0.1:{self.api}/api/v1/nodes"
        wait_for("the cluster", lambda: len(json.loads(get(url))["items"]) == self.nodes)
        addresses = {}
        for item in json.loads(get(url))["items"]:
            inside = [a["address"] for a in item["status"]["addresses"] if a["type"] == "InternalIP"]
            addresses[item["metadata"]["name"]] = inside[0]
        return addresses

    def exporters(self, addresses):
        """The second node is idle, the first is a real machine, all others are busy.

        In a small cluster the last one's samples are of three minutes ago, when it was idle, and the clock of the one before is
        20 seconds ahead."""
        names = sorted(addresses)
        self.first, self.idle = names[0], names[1]
        instance = {name: f"{addresses[name]}:9100" for name in names}
        loads = {instance[name]: 0.02 if name == self.idle else 0.7 for name in names[1:]}
        ages = {}
        if self.nodes <= 100:
            self.stale = names[-1]
            loads[instance[self.stale]] = 0
            ages = {instance[self.stale]: 180, instance[names[-2]]: -20}
        self.exporter = Exporter(loads, ages)
        self.restart_exporter()
        interval = "500ms" if self.nodes <= 100 else "5s"
        self.prometheus_config = {
            "global": {"scrape_interval": interval, "scrape_timeout": interval},
            "scrape_configs": [
                {"job_name": "nodes", "honor_labels": True,
                 "static_configs": [{"targets": [f"127.0.0.1:{self.exporter.port}"]}]},
                {"job_name": "real", "static_configs": [{"targets": [f"127.0.0.1:{self.real}"]}],
                 "relabel_configs": [{"target_label": "instance", "replacement": self.first}]}]}
        (self.directory / "prometheus.yaml").write_text(json.dumps(self.prometheus_config))
        self.prometheus()

    def prometheus(self):
        self.start("prometheus", "prometheus", "--config.file=prometheus.yaml", f"--web.listen-address=127.0.0.1:{self.web}",
                   "--storage.tsdb.path=data")

    def scheduler(self):
        window = "4s" if self.nodes <= 100 else "30s"
        profiles = []
        for plugin, args in {
                "CPUUsage": {"prometheusAddress": "main", "window": window},
                "NetworkTraffic": {"prometheusAddress": "main", "timeRangeInMinutes": 1},
                "LoadAware": {"prometheusAddress": "main", "preset": "balanced", "holdFor": "6s",
                              "signals": [{"name": "cpu", "window": window, "threshold": 60}]}}.items():
            points = {"score": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}}
            if plugin == "LoadAware":
                points["preFilter"] = points["filter"] = {"enabled": [{"name": plugin}]}
            profiles.append({"schedulerName": plugin.lower(), "plugins": points,
                             "pluginConfig": [{"name": plugin, "args": args}]})
        # Only measured load of one signal, so that a rejection has one cause.
        for load, (_, threshold) in self.loads.items():
            points = {point: {"enabled": [{"name": "LoadAware"}]} for point in ("preFilter", "filter", "score")}
            points["score"]["disabled"] = [{"name": "*"}]
            signal_args = {"name": load, "threshold": threshold, "estimate": {"from": "none"}}
            if load != "memory":  # it has no rate, and is shared with the preset as long as the window is the same
                signal_args["window"] = window
            args = {"prometheusAddress": "main", "preset": "none", "holdFor": "6s", "hysteresis": 1, "signals": [signal_args]}
            profiles.append({"schedulerName": f"loadaware-{load}", "plugins": points,
                             "pluginConfig": [{"name": "LoadAware", "args": args}]})
        (self.directory / "config.yaml").write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles,
            "leaderElection": {"leaderElect": False}, "clientConnection": {"kubeconfig": "kubeconfig"}}))
        (self.directory / "sources.yaml").write_text(json.dumps({"sources": [
            {"name": "main", "addresses": [self.middle.url], "pollInterval": "1s" if self.nodes <= 100 else "15s",
             "timeout": "2s" if self.nodes <= 100 else "10s"}]}))
        self.start("scheduler", self.berth, "scheduler", "--config=config.yaml", "--secure-port=0",
                   "--berth-metric-sources=sources.yaml", f"--berth-http-address=127.0.0.1:{self.own}", "--berth-http-metrics")

    # --- the checks ---

    def metrics(self):
        samples = {}
        for line in get(f"http://127.0.0.1:{self.own}/metrics").splitlines():
            if found := FAMILY.match(line):
                samples[found.group(1), found.group(2)] = float(found.group(3))
        return samples

    def sample(self, name, *labels):
        return [value for (family, text), value in self.metrics().items()
                if family == name and all(label in text for label in labels)]

    def create(self, name, scheduler, cpu="100m", node=None):
        body = pod(name, cpu)
        body["spec"]["schedulerName"] = scheduler
        if node:
            body["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        get(self.pods, body)

    def delete(self, name):
        with urllib.request.urlopen(urllib.request.Request(f"{self.pods}/{name}", method="DELETE"), timeout=10) as answer:
            answer.read()

    def place(self, name, scheduler, cpu="100m"):
        self.create(name, scheduler, cpu)
        wait_for(f"the placement of {name}", lambda: self.node_of(name), 30)
        return self.node_of(name)

    def rejection_of(self, name):
        """The reason for which no node was found; empty if there is none yet."""
        conditions = json.loads(get(f"{self.pods}/{name}"))["status"].get("conditions", [])
        return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")

    def node_of(self, name):
        return json.loads(get(f"{self.pods}/{name}"))["spec"].get("nodeName")

    def measured(self):
        """The real machine has no ens192, and stale values are ignored."""
        fresh = self.nodes - (1 if self.stale else 0)
        least = {"cpu": fresh, "memory": fresh, "network receive": fresh - 1}
        return all(self.sample("berth_measurement_nodes", 'state="measured"', f'signal="{name}"')[0] >= count
                   for name, count in least.items())

    def peak_memory(self):
        """MiB that were resident in the scheduler at a time."""
        status = pathlib.Path(f"/proc/{self.children['scheduler'].pid}/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) / 1024

    def up(self):
        return self.sample("berth_measurement_source_up")[0] == 1

    def usable(self):
        return self.sample("berth_measurement_signal_usable", 'signal="cpu"')


def prepare_loads(run):
    for name, prepare in real_load.KINDS.items():
        try:
            run.loads[name] = prepare(run.directory)
        except real_load.Impossible as reason:
            print(f"skipped: real {name} load: {reason}")


def right_nodes(run):
    run.check("all nodes are measured, each series has found its node",
              sum(run.sample("berth_measurement_unmatched_series")) == 0)
    for plugin in ("cpuusage", "networktraffic", "loadaware"):
        chosen = run.place(f"{plugin}-0", plugin)
        run.check(f"{plugin} takes the idle node {run.idle}, not {chosen}", chosen in (run.idle, run.first))
    for number in range(6):
        node = run.place(f"hot-{number}", "loadaware", "500m")
        run.check(f"LoadAware avoids nodes above their threshold, chosen: {node}", node in (run.idle, run.first))
    if run.nodes > 100:
        return
    run.check(f"samples of {run.stale} that are three minutes old are not believed",
              run.sample("berth_measurement_nodes", 'state="distrusted"', 'signal="memory"') == [1])
    counts = run.sample("berth_measurement_nodes", 'state="measured"', 'signal="cpu"')
    run.check(f"a node with a fast clock is measured: {counts}", set(counts) == {run.nodes - 1})
    before = run.middle.queries
    signals = len(run.sample("berth_measurement_signal_usable"))
    time.sleep(5)
    queries = run.middle.queries - before
    run.check(f"one query per signal and poll: {queries} queries of {signals} signals in five polls",
              3 * signals <= queries <= 7 * signals)


def by_hand(run):
    """The same queries without a scheduler."""
    (run.directory / "nodes.json").write_text(get(run.pods.split("/namespaces")[0] + "/nodes"))
    body = pod("by-hand", "100m")
    body.update(apiVersion="v1", kind="Pod")
    body["spec"]["schedulerName"] = "loadaware"
    (run.directory / "pod.json").write_text(json.dumps(body))
    common = ("--config=config.yaml", "--berth-metric-sources=sources.yaml", "-f", "nodes.json")
    measured = subprocess.run([run.berth, "measure", *common], cwd=run.directory, capture_output=True, text=True, timeout=30)
    run.check("berth measure: the real machine has no ens192, one node is stale, all else is measured",
              measured.returncode == 2 and f"nodes: {run.nodes - 1} of {run.nodes} measured" in measured.stdout and
              f"nodes: {run.nodes - 2} of {run.nodes} measured" in measured.stdout and run.first in measured.stdout and
              "1 ignored (stale or too recent)" in measured.stdout)
    explained = subprocess.run([run.berth, "explain", *common, "-f", "pod.json", "-o", "json"], cwd=run.directory,
                               capture_output=True, text=True, timeout=30)
    record = json.loads(explained.stdout)
    busy = [node for node in record["nodes"] if "too much cpu load" in json.dumps(node)]
    run.check("berth explain reports the busy nodes", len(busy) >= run.nodes - 3)


def trimaran(run):
    """The plugins of scheduler-plugins: their queries, which have windows of 15 minutes."""
    plugins = ("TargetLoadPacking", "LoadVariationRiskBalancing", "LowRiskOverCommitment")
    (run.directory / "trimaran.yaml").write_text(json.dumps({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [
            {"schedulerName": plugin.lower(), "plugins": {"score": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}},
             "pluginConfig": [{"name": plugin, "args": {"metricProvider": {"type": "Prometheus", "address": run.middle.url}}}]}
            for plugin in plugins]}))
    common = ("--config=trimaran.yaml", "-f", "nodes.json")
    wanted = {f"{load} {statistic}" for load, statistic in
              (("cpu", "utilization"), ("cpu", "deviation"), ("memory", "average"), ("memory", "deviation"))}

    def measured():
        output = subprocess.run([run.berth, "measure", *common], cwd=run.directory, capture_output=True, text=True, timeout=60).stdout
        whole = {block.splitlines()[0] for block in re.split(r"\n(?=\S)", output)
                 if f"nodes: {run.nodes - 1} of {run.nodes} measured, 1 ignored" in block}
        return wanted <= whole
    # A step of the deviation's query is a minute.
    wait_for("measurements of the Trimaran plugins", measured, 150)
    scores = {}
    for plugin in plugins:
        body = pod("by-hand", "100m")
        body.update(apiVersion="v1", kind="Pod")
        body["spec"]["schedulerName"] = plugin.lower()
        (run.directory / "pod.json").write_text(json.dumps(body))
        explained = subprocess.run([run.berth, "explain", *common, "-f", "pod.json", "-o", "json"], cwd=run.directory,
                                   capture_output=True, text=True, timeout=60)
        scores[plugin] = {node["name"]: node["scores"][plugin] for node in json.loads(explained.stdout)["nodes"]}
    busy = [name for name in scores["TargetLoadPacking"] if name not in (run.idle, run.first, run.stale)]
    for plugin in plugins[:2]:
        of = scores[plugin]
        run.check(f"{plugin} prefers the idle node to busy ones: {of}", all(of[run.idle] > of[name] for name in busy))


def outages(run):
    for number, mode in enumerate(OUTAGES):
        run.middle.mode = mode
        wait_for(f"the outage ({mode}) to be noticed", lambda: not run.up(), 30)
        began = time.monotonic()
        run.place(f"outage-{number}", "loadaware")
        run.place(f"outage-cpu-{number}", "cpuusage")
        run.check(f"pods are placed at once ({mode})", time.monotonic() - began < 5)
        run.middle.mode = "pass"
        wait_for(f"the recovery ({mode})", lambda: run.up() and run.measured(), 30)
    peak = run.peak_memory()
    run.check(f"the scheduler had at most {MEMORY_LIMIT} MiB: {peak:.0f}", peak < MEMORY_LIMIT)
    events = [(event["reason"], event["type"]) for event in json.loads(get(f"http://127.0.0.1:{run.api}/api/v1/events"))["items"]
              if event["reason"].startswith("Measurements")]
    run.check(f"events report failure and recovery: {events}",
              ("MeasurementsFailed", "Warning") in events and ("MeasurementsRecovered", "Normal") in events)


def avoids_busy_nodes(run, what):
    node = run.place(f"prometheus-{what}", "loadaware")
    run.check(f"LoadAware avoids busy nodes after Prometheus is {what}, chosen: {node}", node in (run.idle, run.first))


def disappearance(run):
    """Prometheus killed and frozen: after holdFor the signals are ignored, and used again after the recovery."""
    run.children["prometheus"].kill()
    run.children["prometheus"].wait()
    wait_for("the signals of LoadAware to expire", lambda: 0 in run.usable(), 30)
    # Without measurements thresholds are ignored: any node is accepted.
    run.place("without", "loadaware")
    run.prometheus()
    wait_for("measurements after the restart", lambda: run.up() and 0 not in run.usable() and run.measured(), 60)
    avoids_busy_nodes(run, "restarted")
    prometheus = run.children["prometheus"]
    prometheus.send_signal(signal.SIGSTOP)
    wait_for("the freeze to be noticed", lambda: not run.up(), 30)
    run.place("frozen", "loadaware")
    prometheus.send_signal(signal.SIGCONT)
    wait_for("measurements after the thaw", lambda: run.up() and run.measured(), 60)
    avoids_busy_nodes(run, "thawed")


class RealLoad:
    """A process that loads the real machine. Pods that need its node prove whether the node is open or closed."""

    def __init__(self, run, name):
        self.run, self.signal, self.scheduler = run, name, f"loadaware-{name}"
        self.pods = 0
        self.process = None

    def next_pod(self):
        self.pods += 1
        return f"{self.scheduler}-{self.pods}"

    def __enter__(self):
        self.process = subprocess.Popen(self.run.loads[self.signal][0])
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.process.kill()
        self.process.wait()

    def gets_pods(self, when):
        name = self.next_pod()
        self.run.create(name, self.scheduler, "10m", self.run.first)
        self.opens(name, when)

    def opens(self, name, when):
        wait_for(f"the placement of {name} on the real node {when}", lambda: self.run.node_of(name) == self.run.first, 30)

    def closes(self, when):
        """Creates pods for the node until one is rejected, and returns it."""
        name = ""

        def attempt():
            nonlocal name
            name = self.next_pod()
            self.run.create(name, self.scheduler, "10m", self.run.first)
            wait_for(f"a decision for {name}", lambda: self.run.node_of(name) or self.run.rejection_of(name), 10)
            if not self.run.node_of(name):
                return True
            self.run.delete(name)  # a node has room for 110 pods
            return False
        wait_for(f"the rejection of a pod by the {self.signal} load of its node {when}", attempt, 30)
        message = self.run.rejection_of(name)
        self.run.check(f"the rejection names the measured {self.signal} load: {message}",
                       f"1 node(s) had too much {self.signal} load (measured)" in message)
        return name

    def avoided(self):
        node = self.run.place(self.next_pod(), self.scheduler, "10m")
        self.run.check(f"a pod that fits elsewhere avoids the node with too much {self.signal} load: {node}",
                       node != self.run.first)


def real_loads(run):
    """Processes on the real machine close its node and open it again when they end."""
    for name in run.loads:
        load = RealLoad(run, name)
        load.gets_pods("before the load")
        with load:
            waiting = load.closes("under load")
            load.avoided()
            run.check(f"{waiting} waits while there is {name} load", not run.node_of(waiting))
            load.end()
            load.opens(waiting, "after the load")
            load.gets_pods("after the load")


def exporter_failures(run):
    """Without an exporter the node has no value, and is not closed by what was measured before."""
    if "memory" not in run.loads:
        return
    with RealLoad(run, "memory") as load:
        load.pods = 100  # other names than in real_loads
        for failure in ("killed", "frozen"):
            waiting = load.closes(f"before its exporter is {failure}")
            exporter = run.children["node-exporter"]
            exporter.send_signal(signal.SIGKILL if failure == "killed" else signal.SIGSTOP)
            load.opens(waiting, f"while its exporter is {failure}")
            wait_for(f"the node without measurements while its exporter is {failure}", lambda: not run.measured(), 30)
            run.place(f"exporter-{failure}", "loadaware")
            if failure == "killed":
                exporter.wait()
                run.restart_exporter()
            else:
                exporter.send_signal(signal.SIGCONT)
        load.closes("after its exporter continues")
    wait_for("measurements of the node after its exporter continues", run.measured, 30)


def costs(run):
    time.sleep(45)
    samples = run.metrics()
    polls = sum(value for (name, _), value in samples.items() if name == "berth_measurement_poll_duration_seconds_count")
    seconds = sum(value for (name, _), value in samples.items() if name == "berth_measurement_poll_duration_seconds_sum")
    print(f"{run.nodes} nodes: {polls:.0f} queries, {seconds / polls * 1000:.0f} ms each from the beginning of its round")
    cpu = open(f"/proc/{run.children['scheduler'].pid}/stat").read().rsplit(")", 1)[1].split()
    memory = re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{run.children['scheduler'].pid}/status").read()).group(1)
    print(f"scheduler: {(int(cpu[11]) + int(cpu[12])) / 100:.2f} s CPU since its start, {int(memory) // 1024} MiB resident")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("berth")
    parser.add_argument("--nodes", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        run = Run(str(pathlib.Path(options.berth).resolve()), options.nodes, directory)
        try:
            if options.nodes <= 100:
                prepare_loads(run)
            run.exporters(run.cluster())
            prometheus = Prometheus(run.web)
            wait_for("scrapes", lambda: prometheus.query(f"count(rate(node_load1[1m])) >= {options.nodes - 1}"), 120)
            run.scheduler()
            wait_for("measurements of all nodes", run.measured, 120)
            right_nodes(run)
            if options.nodes > 100:
                costs(run)
            else:
                by_hand(run)
                trimaran(run)
                outages(run)
                disappearance(run)
                real_loads(run)
                exporter_failures(run)
        except SystemExit:
            print((run.directory / "scheduler.log").read_text()[-6000:])
            raise
        finally:
            run.stop()
            real_load.clean_up()
    print(f"placed by measurements of {options.nodes} nodes, {len(run.failures)} wrong")
    sys.exit(1 if run.failures else 0)


if __name__ == "__main__":
    main()
